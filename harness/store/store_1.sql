-- The store's first version. docs/fleet.md explains it; store.c runs it once in a new file.
-- Times are seconds since 1970, in UTC. NULL is not known.

-- GPUs by UUID; predictions, and results without a UUID, by name.
CREATE TABLE gpus (
    gpu_id INTEGER PRIMARY KEY,
    uuid TEXT NOT NULL, -- '' not known
    name TEXT NOT NULL,
    UNIQUE (uuid, name)
);

-- What a GPU was when a run met it. GPUs of one name should be alike.
CREATE TABLE geometries (
    geometry_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    chip TEXT NOT NULL,
    compute_capability TEXT NOT NULL,
    sm_count INTEGER NOT NULL,
    warps_per_sm INTEGER NOT NULL, -- 0 not known, as in the next
    blocks_per_sm INTEGER NOT NULL,
    shared_bytes_per_sm INTEGER NOT NULL,
    shared_bytes_reserved INTEGER NOT NULL,
    l2_bytes INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL,
    UNIQUE (name, chip, compute_capability, sm_count, warps_per_sm, blocks_per_sm, shared_bytes_per_sm,
            shared_bytes_reserved, l2_bytes, memory_bytes)
);

-- One row a result.
CREATE TABLE runs (
    run_id INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE, -- SHA-256 of the file
    file TEXT NOT NULL,        -- as it was named
    started_utc INTEGER NOT NULL,
    finished_utc INTEGER,
    gpu_id INTEGER NOT NULL REFERENCES gpus,
    geometry_id INTEGER NOT NULL REFERENCES geometries,
    host_name TEXT,
    host_slot TEXT,
    host_job TEXT,
    engine TEXT NOT NULL,
    modelled INTEGER NOT NULL, -- 1: times are predictions
    driver TEXT,
    vbios TEXT,
    ecc TEXT,
    mig TEXT,
    pci_bus_id TEXT,
    cuda_driver_api INTEGER,
    sm_clock_max_mhz REAL,
    memory_clock_max_mhz REAL,
    launch_ns REAL,
    throttle INTEGER,          -- NVML's bits, before and after
    health TEXT,               -- errors of the device that grew
    tool_version TEXT NOT NULL,
    git_commit TEXT,
    cuda_toolkit TEXT,
    argv TEXT NOT NULL,
    complete INTEGER NOT NULL,
    ended TEXT                 -- why a run ended before its time
);
CREATE INDEX runs_of_gpus ON runs (gpu_id, started_utc);

CREATE TABLE identities (
    identity_id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE, -- workload/path/pattern/elements/block_size/regime, /name=value
    cell TEXT NOT NULL             -- the same as JSON, as results have it
);

CREATE TABLE kernels (
    kernel_id INTEGER PRIMARY KEY,
    sass_sha256 TEXT NOT NULL UNIQUE,
    code TEXT -- in short, as results have it
);

-- One row a cell of a run. The flags' bits are in the table flags.
CREATE TABLE times (
    identity_id INTEGER NOT NULL REFERENCES identities,
    run_id INTEGER NOT NULL REFERENCES runs,
    time_ns REAL,
    ci_low_ns REAL,
    ci_high_ns REAL,
    flags INTEGER NOT NULL,
    sm_clock_mhz REAL,
    status TEXT NOT NULL, -- ok, skipped, failed, pending
    reason TEXT,          -- of skipped and failed
    verified INTEGER NOT NULL,
    min_ns REAL,
    mad_ns REAL,
    sample_count INTEGER NOT NULL,
    effective_samples REAL,
    stop_reason TEXT,
    cycles REAL,
    kernel_id INTEGER REFERENCES kernels,
    counter_set_id INTEGER NOT NULL REFERENCES counter_sets,
    PRIMARY KEY (identity_id, run_id)
) WITHOUT ROWID;

CREATE TABLE flags (
    bit INTEGER PRIMARY KEY, -- its value: 1, 2, 4 ...
    name TEXT NOT NULL,
    reason TEXT NOT NULL
);

CREATE TABLE counter_names (
    counter_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL, -- exact, measured
    unit TEXT NOT NULL,
    UNIQUE (name, kind, unit)
);

-- Exact counters, and measured ones that were not read: most cells share theirs with those of other runs.
CREATE TABLE counter_sets (
    counter_set_id INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE
);
CREATE TABLE set_counters (
    counter_set_id INTEGER NOT NULL REFERENCES counter_sets,
    counter_id INTEGER NOT NULL REFERENCES counter_names,
    status TEXT NOT NULL, -- ok, unsupported, unavailable, no_permission, not_collected
    value REAL,
    expected REAL,
    PRIMARY KEY (counter_set_id, counter_id)
) WITHOUT ROWID;

-- Measured counters that were read.
CREATE TABLE measured_counters (
    run_id INTEGER NOT NULL REFERENCES runs,
    identity_id INTEGER NOT NULL REFERENCES identities,
    counter_id INTEGER NOT NULL REFERENCES counter_names,
    value REAL NOT NULL,
    PRIMARY KEY (run_id, identity_id, counter_id)
) WITHOUT ROWID;

-- Runs that were taken out. A file with such a hash does not come back.
CREATE TABLE forgotten (
    hash TEXT PRIMARY KEY,
    file TEXT NOT NULL,
    gpu_id INTEGER NOT NULL REFERENCES gpus,
    started_utc INTEGER NOT NULL,
    forgotten_utc INTEGER NOT NULL,
    why TEXT
) WITHOUT ROWID;

-- For questions: all counters of all cells, and what people ask for most.
CREATE VIEW counters AS
    SELECT run_id, identity_id, name, kind, unit, set_counters.status, value, expected
    FROM times JOIN set_counters USING (counter_set_id) JOIN counter_names USING (counter_id)
    UNION ALL
    SELECT run_id, identity_id, name, kind, unit, 'ok', value, NULL
    FROM measured_counters JOIN counter_names USING (counter_id);
CREATE VIEW history AS
    SELECT identity, datetime(started_utc, 'unixepoch') AS started, host_name, host_slot, uuid, gpus.name AS gpu, driver,
           vbios, status, time_ns, ci_low_ns, ci_high_ns, sm_clock_mhz, times.flags, sass_sha256, file, run_id
    FROM times JOIN identities USING (identity_id) JOIN runs USING (run_id) JOIN gpus USING (gpu_id)
         LEFT JOIN kernels USING (kernel_id);
