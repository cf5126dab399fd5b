-- The store's second version: how far the processes of a cell differ, which is the noise of its time. A deviation is the
-- standard deviation of the logarithm of one process's time: 0.01 is 1 %. degrees are its degrees of freedom.

-- Calibrations that were put in (cbank calibrate), and what they are of.
CREATE TABLE calibrations (
    calibration_id INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE, -- SHA-256 of the file
    file TEXT NOT NULL,        -- as it was named
    uuid TEXT NOT NULL,
    name TEXT NOT NULL,        -- of the GPU
    driver TEXT NOT NULL,
    processes INTEGER NOT NULL
);

-- One row a cell of a calibration.
CREATE TABLE calibrated (
    identity_id INTEGER NOT NULL REFERENCES identities,
    calibration_id INTEGER NOT NULL REFERENCES calibrations,
    sass_sha256 TEXT NOT NULL, -- of the kernel
    median_ns REAL NOT NULL,   -- over the processes
    deviation REAL NOT NULL,
    degrees REAL NOT NULL,
    PRIMARY KEY (identity_id, calibration_id)
) WITHOUT ROWID;

-- What is known where nobody calibrated, of the program that wrote last: the root of relative^2 + (ns / time_ns)^2.
CREATE TABLE default_deviations (
    cause TEXT NOT NULL,  -- process; board: what another GPU of the model adds
    regime TEXT NOT NULL, -- hot, cold
    relative REAL NOT NULL,
    ns REAL NOT NULL,
    degrees REAL NOT NULL,
    PRIMARY KEY (cause, regime)
) WITHOUT ROWID;

-- The deviation that holds for each measured time. A calibration does where GPU's name, driver and code are those of the
-- run: one of that very GPU (origin 'calibration') goes before one of another board ('calibration_of_another_board', to
-- which what boards differ by is added), and a later one before an earlier one. Else the default does ('default').
CREATE VIEW process_deviations AS
    WITH measured AS (
        SELECT run_id, times.identity_id, json_extract(cell, '$.regime') AS regime, times.time_ns, uuid, gpus.name AS gpu,
               coalesce(driver, '') AS driver, sass_sha256
        FROM times JOIN identities USING (identity_id) JOIN runs USING (run_id) JOIN gpus USING (gpu_id)
             LEFT JOIN kernels USING (kernel_id)
        WHERE NOT modelled AND times.time_ns > 0
    ), chosen AS (
        SELECT measured.*,
               coalesce(max(calibration_id) FILTER (WHERE calibrations.uuid = measured.uuid), max(calibration_id))
                   AS calibration_id
        FROM measured LEFT JOIN (calibrated JOIN calibrations USING (calibration_id))
             ON calibrated.identity_id = measured.identity_id AND calibrated.sass_sha256 = measured.sass_sha256
                AND calibrations.name = measured.gpu AND calibrations.driver = measured.driver
                AND calibrations.uuid != '' AND measured.uuid != ''
        GROUP BY run_id, measured.identity_id
    ), parts AS (
        SELECT run_id, identity_id, calibrations.file,
               CASE WHEN calibration_id IS NULL THEN 'default' WHEN calibrations.uuid = chosen.uuid THEN 'calibration'
                    ELSE 'calibration_of_another_board' END AS origin,
               coalesce(deviation * deviation,
                        process.relative * process.relative + process.ns * process.ns / chosen.time_ns / chosen.time_ns)
                   AS variance,
               coalesce(calibrated.degrees, process.degrees) AS degrees,
               CASE WHEN calibrations.uuid != chosen.uuid THEN board.relative * board.relative
                         + board.ns * board.ns / calibrated.median_ns / calibrated.median_ns ELSE 0 END AS board_variance,
               board.degrees AS board_degrees
        FROM chosen LEFT JOIN calibrations USING (calibration_id) LEFT JOIN calibrated USING (calibration_id, identity_id)
             LEFT JOIN default_deviations AS process ON process.cause = 'process' AND process.regime = chosen.regime
             LEFT JOIN default_deviations AS board ON board.cause = 'board' AND board.regime = chosen.regime
    )
    SELECT run_id, identity_id, sqrt(variance + board_variance) AS deviation,
           CASE WHEN board_variance > 0 -- Satterthwaite's
                THEN (variance + board_variance) * (variance + board_variance)
                     / (variance * variance / degrees + board_variance * board_variance / board_degrees)
                ELSE degrees END AS degrees,
           origin, file AS calibration
    FROM parts;
