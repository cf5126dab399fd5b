-- SPDX-License-Identifier: MIT
-- The schema of a store. docs/fleet.md shows questions to ask. NULL means not known.
-- Times of day are milliseconds since 1970, in UTC. Sums are checksums: cbank refuses a store with a row that does not fit.

-- A GPU as runs met it. Runs that met it alike share a row.
CREATE TABLE setups (
    setup_id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE, -- a hash of the other columns
    uuid TEXT, -- NULL in predictions
    name TEXT NOT NULL,
    engine TEXT NOT NULL,
    modelled INTEGER NOT NULL, -- 1: times are predictions
    host TEXT,
    slot TEXT,
    driver TEXT,
    vbios TEXT,
    geometry TEXT NOT NULL, -- JSON: SMs, caches, memory; alike on all GPUs of one name
    part_number TEXT,
    constant_cache_groups TEXT -- JSON: numbers of SMs that share an L1.5 constant cache
) STRICT;

-- One row for each result.
CREATE TABLE runs (
    run_id INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE, -- SHA-256 of the file
    file TEXT NOT NULL, -- the path that cbank ingest was given
    started_ms INTEGER NOT NULL,
    finished_ms INTEGER,
    setup_id INTEGER NOT NULL REFERENCES setups,
    job TEXT, -- the batch job on the host
    tool_version TEXT,
    git_commit TEXT,
    complete INTEGER NOT NULL, -- 0: the run was interrupted
    cells INTEGER NOT NULL,
    failed INTEGER NOT NULL, -- cells that failed or are invalid
    time_sum INTEGER NOT NULL, -- of its rows in times: of time_ns
    rest_sum INTEGER NOT NULL -- of the other columns
) STRICT;
CREATE INDEX runs_by_start ON runs (started_ms);

CREATE TABLE identities (
    identity_id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE -- workload/path/pattern/elements/block_size/cache_state, then /parameter=value
) STRICT;

CREATE TABLE kernels (
    kernel_id INTEGER PRIMARY KEY,
    sass_sha256 TEXT NOT NULL UNIQUE
) STRICT;

-- Exact counters of a cell. Cells that read the same share a row.
CREATE TABLE counter_sets (
    counter_set_id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE, -- a hash of the next column
    counters TEXT NOT NULL -- JSON: {name: [status, value, expected]}
) STRICT;

-- One row for each cell of a run.
CREATE TABLE times (
    identity_id INTEGER NOT NULL REFERENCES identities,
    run_id INTEGER NOT NULL REFERENCES runs,
    time_ns REAL CHECK (time_ns > 0), -- NULL unless status is ok
    ci_low_ns REAL,
    ci_high_ns REAL,
    flags TEXT, -- names with a space between them; NULL: none
    sm_clock_mhz REAL,
    status TEXT NOT NULL, -- ok, skipped, failed, pending, invalid
    reason TEXT, -- why a cell was skipped or failed
    verified INTEGER NOT NULL,
    kernel_id INTEGER REFERENCES kernels,
    counter_set_id INTEGER NOT NULL REFERENCES counter_sets,
    PRIMARY KEY (identity_id, run_id)
) STRICT, WITHOUT ROWID;

-- Runs that cbank ingest --forget took out. Their files do not come back.
CREATE TABLE forgotten (
    hash TEXT PRIMARY KEY,
    file TEXT NOT NULL,
    uuid TEXT,
    started_ms INTEGER NOT NULL,
    forgotten_ms INTEGER NOT NULL,
    why TEXT
) STRICT, WITHOUT ROWID;

-- Calibrations (cbank calibrate): how far the processes of a cell differ.
CREATE TABLE calibrations (
    calibration_id INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE, -- SHA-256 of the file
    file TEXT NOT NULL,
    uuid TEXT NOT NULL,
    name TEXT NOT NULL, -- of the GPU
    driver TEXT NOT NULL
) STRICT;
CREATE TABLE calibrated (
    identity_id INTEGER NOT NULL REFERENCES identities,
    calibration_id INTEGER NOT NULL REFERENCES calibrations,
    sass_sha256 TEXT NOT NULL,
    median_ns REAL NOT NULL, -- over the processes
    deviation REAL NOT NULL, -- standard deviation of the logarithm of one process's time: 0.01 is 1 %
    degrees REAL NOT NULL, -- its degrees of freedom
    PRIMARY KEY (identity_id, calibration_id)
) STRICT, WITHOUT ROWID;

-- Checksums of tables, and of the times of cells.
CREATE TABLE sums (
    of TEXT NOT NULL, -- the table; checked: not a sum, but the runs when ingest last checked all of the store
    identity_id INTEGER NOT NULL, -- the cell, where the table is times, else 0
    sum INTEGER NOT NULL,
    PRIMARY KEY (of, identity_id)
) STRICT, WITHOUT ROWID;

-- The two views that answer most questions: every time, and every exact counter.
CREATE VIEW history AS
    SELECT identity, datetime(started_ms / 1000, 'unixepoch') AS started, host, slot, uuid, name, driver, vbios, status,
           time_ns, ci_low_ns, ci_high_ns, sm_clock_mhz, flags, sass_sha256, file, run_id
    FROM times JOIN identities USING (identity_id) JOIN runs USING (run_id) JOIN setups USING (setup_id)
         LEFT JOIN kernels USING (kernel_id);
CREATE VIEW counters AS
    SELECT run_id, identity_id, one.key AS name, json_extract(one.value, '$[0]') AS status,
           json_extract(one.value, '$[1]') AS value, json_extract(one.value, '$[2]') AS expected
    FROM times JOIN counter_sets USING (counter_set_id), json_each(counters) AS one;
