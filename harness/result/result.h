/* SPDX-License-Identifier: MIT
 * The result of one run, in memory. result_json.c writes and reads it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cell.h"
#include "counter.h"
#include "device.h"
#include "field.h"
#include "health.h"
#include "index_list.h"
#include "sha256.h"
#include "stats.h"
#include "status.h"
#include "version.h"

struct cJSON;
struct document;

enum cell_status {
    CELL_PENDING, /* something is still missing: an interrupted run */
    CELL_OK,
    CELL_SKIPPED, /* this chip or build cannot; reason says why */
    CELL_FAILED,  /* wrong output, out of memory, launch failure; see reason */
};

/* The name of an engine in results; engine.h has its hooks. */
struct engine_kind {
    const char *name;
    bool modelled; /* its times are predictions */
};

extern const struct engine_kind engine_kinds[];
extern const size_t engine_kind_count;

/* Why sampling of a cell stopped. */
enum stop_reason { STOP_NONE, STOP_CONVERGED, STOP_SAMPLES, STOP_TIME, STOP_MODES, STOP_MODELLED };

/* Reasons to doubt a cell's time: a set of bits. */
enum cell_flag {
    FLAG_THROTTLED = 1 << 0,       /* the driver reported a throttle reason during the run */
    FLAG_UNSTABLE = 1 << 1,        /* stopped before the interval was narrow enough */
    FLAG_CLOCK_VARIED = 1 << 2,    /* the SM clock differed by more than 1 % between samples */
    FLAG_COUNTER_DIFFERS = 1 << 3, /* an exact counter differs from its expected value */
    FLAG_RESUMED = 1 << 4,         /* samples come from more than one process */
    FLAG_ERRORS_GREW = 1 << 5,     /* errors of the device grew during the run, see health.h */
    FLAG_MULTIMODAL = 1 << 6,      /* the samples have several modes */
    FLAG_CONTENDED = 1 << 7, /* another process used the device while the cell was timed */
};

enum {
    CELL_FLAG_COUNT = 8,
    FLAGS_DOUBTFUL = FLAG_UNSTABLE | FLAG_MULTIMODAL | FLAG_CONTENDED, /* with these flags, a time
                                                                        * supports no conclusion */
};

/* ns: a sample is longer by this, or by more, where another process had the device for a slice of
 * time in it. */
#define CONTENDED_SLICE_NS 0.5e6

extern const char *const cell_status_names[]; /* by enum cell_status */
extern const char *const stop_reason_names[]; /* by enum stop_reason; NULL for STOP_NONE */
extern const char *const cell_flag_names[CELL_FLAG_COUNT]; /* by bit number */
/* the meaning of the flag, for people */
extern const char *const cell_flag_reasons[CELL_FLAG_COUNT];

/* Time of one launch: the time that one more launch adds to a chain. */
struct cell_time {
    struct summary summary; /* ns */
    struct series series; /* without buffer sets: not known */
    uint32_t table_offsets; /* locations of the table in each buffer set, which launches take in
                             * turn; 0: not known, one */
    uint32_t code_copies; /* copies of code and constant bank, which buffer sets take in turn; 0:
                           * not known, one */
    uint32_t launches_per_sample;
    enum stop_reason stop_reason; /* STOP_NONE: not timed, or interrupted: there may be samples */
    double *samples_ns; /* summary.count values in the order taken; owned */
    /* SM clock of each sample, 0: not known; owned; NULL once the cell is timed */
    double *clocks_mhz;
    double cycles; /* the time in SM cycles; NaN when the clock is not known */
    double sm_clock_mhz; /* median over the samples; NaN when not known */
};

/* One launch alone, from its start to its end. The time of struct cell_time is less where the end
 * of a launch overlaps with the start of the next, and also where a launch begins with warm
 * instruction caches. */
struct cell_duration {
    bool given; /* it was asked for */
    double value, ci_low, ci_high; /* ns; NaN: not measured */
    uint32_t launches;
    struct numbers samples; /* ns of each launch; owned; none where they were not kept */
    const char *reason; /* for the absence of a value; NULL: there is one; not owned */
};

/* How the durations of a result were measured. */
struct duration_method {
    bool given; /* they were asked for */
    double empty_ns; /* of a kernel that does nothing; NaN: not measured */
    /* range of 95 % of its durations, at least a tick of the GPU's timer; NaN: not measured */
    double resolution_ns;
    double tick_ns; /* of the timer that durations are read from; NaN: not known */
    struct numbers samples; /* durations of the empty kernel, in ns; owned; none: not kept */
    char reason[512]; /* for the absence of all durations; else "" */
};

/* Joules, with a 95 % interval; NaN: not known. */
struct energy_value {
    double value, ci_low, ci_high;
};

enum { ENERGY_REASON_BYTES = 192 };

/* What held the clock or the power down meanwhile: a set of bits, NVML's numbers. */
enum { ENERGY_LIMIT_COUNT = 9, ENERGY_LIMITS_UNKNOWN = 1 << (ENERGY_LIMIT_COUNT - 1) };

extern const char *const energy_limit_names[ENERGY_LIMIT_COUNT]; /* by bit number */

/* Energy of a cell's launches, one after the other for seconds. */
struct cell_energy {
    bool given; /* it was asked for */
    struct energy_value launch, /* of one launch, with what the device takes when it is idle */
        empty, /* of one launch of an empty kernel with the same grid, beyond idle */
        lookup; /* of one lookup, or of one item of a user's kernel, beyond idle and `empty` */
    uint64_t lookups; /* of a launch: loads of its threads, or items; 0: not known */
    double watts; /* mean power of the stretch, and its interval; NaN: not known */
    double watts_low, watts_high;
    double launch_ns; /* time a launch took in the stretch; NaN: not known */
    double seconds;   /* of the stretch, between two steps of the counter; NaN: not known */
    uint32_t steps;   /* of the counter in it */
    double sm_clock_mhz; /* median in the stretch; NaN: not known */
    double celsius;      /* of the GPU at its end; NaN: not known */
    uint32_t limits;
    /* for the absence of `launch`; of `lookup` alone; "": it is there */
    char reason[ENERGY_REASON_BYTES], lookup_reason[ENERGY_REASON_BYTES];
};

/* How the energy of a result was measured. */
struct energy_method {
    bool given; /* it was asked for */
    double seconds; /* of a stretch, at least, as requested */
    double period_ms; /* median time between two steps of the counter; NaN: not measured */
    double unit_mj;   /* that all its readings are multiples of; NaN: not measured */
    struct energy_value idle; /* watts of the idle device, before and after the cells */
    char reason[ENERGY_REASON_BYTES]; /* for the absence of all energy; else "" */
};

enum { CODE_CHANGE_BYTES = 320 };

/* Code of a kernel, as a compiler made it. */
struct kernel_made {
    char sha256[SHA256_HEX_BYTES]; /* "": not known */
    uint64_t bytes; /* 0: not known */
    struct optional registers, local_bytes; /* as its cubin says */
};

/* What the driver compiled. */
struct kernel_jit {
    bool given; /* it did */
    const char *compute_cache; /* the driver's own cache: "off"; NULL: not known; not owned */
    double compile_ms; /* of the module; NaN: not known */
    uint64_t cubin_bytes; /* of the module */
    uint32_t cubin_kernels; /* kernels in it */
    struct optional registers, local_bytes; /* of the kernel, as that cubin says */
    /* the toolkit's code beside it, of the same kernel */
    char toolkit_image[64]; /* member of the archive, or the kernel file; "": there is none */
    struct kernel_made toolkit;
    uint32_t moved; /* parts that differ: a set of enum code_part */
    char change[CODE_CHANGE_BYTES]; /* from the toolkit's code; "": it is the same, or not known */
};

/* The kernel that ran, read from the image that was loaded. */
struct cell_kernel {
    char symbol[256]; /* "": the kernel is not known */
    char image[64]; /* member of the program's image archive */
    char sha256[SHA256_HEX_BYTES];
    const char *instruction; /* of the payload load; NULL if not known; not owned */
    uint32_t registers; /* in each thread; 0 if not known (model engine) */
    uint64_t code_bytes; /* 0: not known */
    struct optional local_bytes; /* of a thread: what is spilled, and arrays */
    struct kernel_jit jit;
    /* short form, see sass_code.h: `made`, or in the tree of a file; NULL: not known */
    const char *code;
    char *made; /* owned */
};

/* The indices that a cell's lookups read. */
struct cell_indices {
    bool given; /* they are known: the cell reads indices, and was prepared */
    const char *source; /* its name; not owned */
    const char *file; /* for the source `file`: its path; not owned; else NULL */
    char sha256[SHA256_HEX_BYTES]; /* of the indices as 32-bit integers, or of the file */
};

/* Exact counts of a cell's loads, which follow from its pattern: see access.h. */
struct cell_counts {
    bool given; /* the loads were counted */
    double requests_per_load; /* access_requests_per_load; NaN if nothing is loaded */
    uint64_t footprint_bytes; /* distinct bytes of the table that the grid reads */
};

/* How the output of a user's kernel was checked. */
enum case_reference {
    REFERENCE_NONE, /* the case has none: memory spaces were compared with each other */
    REFERENCE_GPU, /* its function, on the GPU */
    REFERENCE_CPU, /* the same on the CPU */
    REFERENCE_FILE, /* a .npy file */
};

/* Errors of a user's kernel: a set of bits. */
enum case_finding {
    FINDING_GUARD_ZONE = 1 << 0,
    FINDING_INPUT_CHANGED = 1 << 1,
    FINDING_NOT_A_NUMBER = 1 << 2,
    FINDING_EARLIER_LAUNCH = 1 << 3,
    FINDING_NOT_DETERMINISTIC = 1 << 4,
};

enum { CASE_FINDING_COUNT = 5, CASE_INSTRUCTIONS_BYTES = 96 };

/* by enum case_reference; NULL for none */
extern const char *const case_reference_names[];
extern const char *const case_finding_names[CASE_FINDING_COUNT]; /* by bit number */
extern const char *const case_finding_reasons[CASE_FINDING_COUNT]; /* the meaning, for people */

/* The launch of a user's kernel in a cell, as its case says, and the findings. */
struct cell_case {
    bool given; /* the cell was prepared */
    bool as_written; /* its tables are where the kernel file has them */
    uint32_t grid[3], block[3];
    uint64_t shared_bytes; /* static and dynamic, of a block */
    uint32_t blocks_per_sm; /* that fit at a time */
    uint64_t items; /* that a launch works on */
    /* loads of the kernel by class, "32 LDC, 1 LDG"; "": not known */
    char instructions[CASE_INSTRUCTIONS_BYTES];
    enum case_reference reference;
    uint32_t findings; /* set of enum case_finding */
};

struct cell_result {
    struct cell cell;
    enum cell_status status;
    char reason[256]; /* "" unless the cell is skipped or failed, or the card gives no times */
    bool verified;
    struct cell_indices indices;
    struct cell_time time;
    struct cell_duration duration;
    struct cell_energy energy;
    uint32_t flags;
    struct counter_value *counters; /* counter_count values; owned */
    size_t counter_count;
    /* arithmetic operations of one launch: access_counts.operations; 0: not known */
    uint64_t operations;
    struct cell_kernel kernel;
    struct cell_counts counts;
    struct cell_case of_case; /* of a user's kernel */
};

/* A kernel file that cells of a result were compiled from. */
struct result_kernel {
    char name[USER_KERNEL_NAME_BYTES];
    const char *file; /* as the command line named it; not owned */
    uint32_t line; /* of its case */
    char sha256[SHA256_HEX_BYTES]; /* its first 64 bits are the hash of struct user_kernel */
    char compiler[128]; /* "nvcc 13.0.88" */
    /* of the files of toolkit and system that it read; "": not known. Not a part of the identity */
    char headers_sha256[SHA256_HEX_BYTES];
    const char *options; /* of --compiler-options; NULL: none; not owned */
    double compile_seconds; /* of all builds; 0: all were compiled before */
    bool against; /* of --against: compared with the one before */
};

/* Stores the kept part of a cell's exact counts: its counts, and its operations. Counts of no block
 * are not known. */
void result_set_counts(struct cell_result *cell, const struct access_counts *access);

/* A timed stretch of the run. */
struct phase_time {
    const char *name;
    double seconds;
};

/* The early end of a run: the device no longer worked. */
struct run_end {
    bool given;
    char reason[300];
    char cell[CELL_IDENTITY_BYTES]; /* the cell that caused it; "" if not known */
};

/* The host of a run; "" for facts that were not recorded. */
struct host {
    char name[96];
    char slot[96]; /* of the board in the host */
    char job[96]; /* of the batch system */
};

/* A host in a document. */
extern const struct object host_object;

enum { RESULT_PHASES_MAX = 12, RESULT_ARGV_BYTES = 1024, RESULT_ARCHITECTURES_BYTES = 256 };

struct result {
    struct tool tool; /* the program that measured */
    /* of the kernels in it, with blanks between: "sm_90 compute_90" */
    char architectures[RESULT_ARCHITECTURES_BYTES];
    struct host host;
    const char *engine; /* name of the engine */
    bool modelled_time; /* times are predictions */
    char started_utc[32], finished_utc[32]; /* ISO 8601; finished "" while incomplete */
    bool complete;
    struct run_end end; /* for a run that is not complete */
    uint64_t seed;
    double confidence; /* of all intervals */
    double max_noise; /* relative half width at which a cell stops */
    double sample_us; /* length of a hot sample, as requested */
    uint32_t timing_scheme; /* what a sample is: see struct engine; 0: not known, or a prediction */
    uint32_t samples_max;
    double seconds_max;
    char argv[RESULT_ARGV_BYTES];
    char counters_asked[RESULT_ARGV_BYTES]; /* the text of --counters */
    char counters_reason[512]; /* why no counter could be read; else "" */
    struct device_info device;
    struct health health; /* of the device; not known for predictions */
    struct temperature temperature; /* of the device; not known for predictions */
    struct duration_method duration_method;
    struct energy_method energy_method;
    struct phase_time phases[RESULT_PHASES_MAX];
    size_t phase_count;
    struct result_kernel *kernels; /* owned; of users */
    size_t kernel_count;
    struct cell_result *cells; /* owned */
    size_t cell_count;
    struct cJSON *storage; /* owns the strings of a result that was read; NULL: none */
    void (*free_storage)(struct cJSON *storage);
};

/* A struct result as a document. */
extern const struct document result_document;

/* Opens a result of this program with one pending cell for each of `count` cells.
 * STATUS_ENVIRONMENT when out of memory. */
enum status result_open(struct result *result, const struct cell *cells, size_t count);

/* Records that this program measures, whichever program started the result. */
void result_sign(struct result *result);

/* Cell i of a result, for functions that walk a list of cells; `result` is a const struct result
 * *. */
const struct cell *result_cell(const void *result, size_t i);

/* The kernel file of a user's cell; NULL if the result does not say. */
const struct result_kernel *result_kernel(const struct result *result, const struct cell *cell);

/* Whether the driver compiled a cell. */
bool result_has_jit(const struct result *result);

/* Releases everything; accepts a zeroed struct. */
void result_close(struct result *result);

/* Writes a file atomically to path; "-" is stdout. */
enum status result_write(const struct result *result, const char *path);

/* Writes the document to an open stream. STATUS_ENVIRONMENT, logged, when out of memory. */
enum status result_put(FILE *stream, const struct result *result);

/* Reads a result. STATUS_USAGE, logged with file and place, on failure. Cells whose workload, path,
 * pattern, cache state or parameters this build does not know are also an error. The caller closes
 * *out with result_close. */
#define result_read(path, out) result_parse(path, NULL, 0, out)

/* Like result_read, of a tree that json_read_file made of the file `name`. The result owns it;
 * after an error it is deleted. */
enum status result_take(const char *name, struct cJSON *tree, struct result *out);

/* Like result_read, for text in memory; messages call it `name`. */
enum status result_parse(const char *name, const char *text, size_t bytes, struct result *out);
