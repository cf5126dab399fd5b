/* SPDX-License-Identifier: MIT
 * One side of a comparison: results of one or more processes, merged cell by cell, separately for
 * each GPU. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "energy_change.h"
#include "invalid.h"
#include "judge.h"
#include "result.h"
#include "status.h"
#include "texts.h"

/* A counter of a cell, or its clock, over the processes of a side. */
struct side_counter {
    const char *name; /* of the side's texts */
    enum counter_kind kind;
    uint32_t read;  /* number of processes that read it */
    double value;   /* median over those; NaN if read is 0 */
    double *values; /* owned: ascending */
};

struct side_cell {
    struct cell cell;
    bool jit; /* the driver compiled it, also where the cell does not say so */
    enum cell_status status; /* the worst over the processes: failed, skipped, pending, ok */
    char *reason;            /* owned: of that process; NULL if it is ok */
    uint32_t flags;          /* of any process */
    uint32_t invalid;        /* the same: causes of invalid.h */
    struct process_time *processes; /* owned; those with a sample, each once */
    size_t process_count;
    /* largest number of any process, at least 1, see result.h */
    uint32_t table_offsets, code_copies;
    bool modelled;               /* the time is a prediction */
    struct side_counter clock;   /* of the SMs, MHz */
    struct side_energy energy;   /* of a launch */
    char sha256[SHA256_HEX_BYTES]; /* of the kernel; "" not known, "mixed" if processes differ */
    /* owned: of the first process that has it, see sass_code.h; NULL: none */
    char *code;
    struct side_counter *counters; /* owned */
    size_t counter_count;
    size_t files; /* number of results read when the last one with this cell was read */
};

/* Origin of a side. Text that differs between its processes is "mixed". */
struct side_identity {
    char engine[16];
    bool modelled; /* some times are predictions */
    struct device_info device; /* numbers come from the first process; unknown if names differ */
    struct host host; /* of the last process */
    char started_utc[32]; /* of the first process */
};

/* Results of one GPU. */
struct side {
    char label[256]; /* the user's name for it */
    size_t files; /* number of results read, one for each process */
    size_t incomplete; /* number of interrupted runs among them */
    size_t findings; /* programs that exited with 1; of the total of a gate */
    double *moments; /* owned: when each began, see clock_read */
    struct texts texts; /* names of counters and processes */
    const char *process; /* of the last result; one of these texts */
    struct side_identity identity;
    struct side_cell *cells; /* owned; by cell_order */
    size_t cell_count;
};

/* A kernel file that cells of a side were compiled from. */
struct side_kernel {
    char name[USER_KERNEL_NAME_BYTES];
    char sha256[SHA256_HEX_BYTES];
    const char *file, *options; /* texts of the total; options NULL: none */
};

/* Results of any number of GPUs. Zeroed: empty. */
struct sides {
    struct side total; /* of all GPUs, without cells; the caller sets its label */
    struct side *gpus; /* owned: one for each UUID and name, in order of appearance */
    size_t count;
    struct side_kernel *kernels; /* owned: each once */
    size_t kernel_count;
    bool timely; /* no result may have begun later than now and a day: set it before */
    /* a cell is the same whether the driver compiled it or the toolkit: set it before */
    bool any_compiler;
};

/* Asks about two measured cells of one process. STATUS_ENVIRONMENT, logged, when out of memory. */
enum status judged_cell_of(const struct cell_result *base, const struct cell_result *new_cell,
                           struct judged_cell *out);

/* Adds a file, or every *.json file of a folder in the order of names. The same samples of the same
 * process count once. STATUS_USAGE, logged, for an unreadable file, an empty folder, a duplicate
 * cell in one result, a result that is not timely, or where any compiler counts for two compilers
 * of a cell. The caller closes *sides, even after an error. */
enum status sides_add(struct sides *sides, const char *path);

/* Like sides_add, for paths with commas between; they become the label. */
enum status sides_add_list(struct sides *sides, const char *paths);

/* Like sides_add, for a result in memory, which the caller keeps; messages call it `path`. */
enum status sides_take(struct sides *sides, const char *path, const struct result *result);

/* Whether nothing was measured of what processes of a cell differ by on such a GPU: a user's
 * kernel, or a model, kernel or memory space without data of its own. */
bool side_unmeasured(const struct side_identity *identity, const struct cell *cell);

/* The cell of a side, as it counts there; NULL if there is none. */
struct side_cell *side_find(const struct side *side, const struct cell *cell);

/* The kernel file of that name; NULL if there is none. */
const struct side_kernel *sides_kernel(const struct sides *sides, const char *name);

/* The side of that GPU; NULL if there is none. */
struct side *sides_find(const struct sides *sides, const struct device_info *device);

/* GPUs of a model differ by this in the time of a cell. The model is that of the first of two
 * sides; both are left out. Where both are of one kind, boards of that kind count alone. They count
 * with the same code, and without a flag that makes a time doubtful. *deviation has no degrees for
 * fewer than two. STATUS_ENVIRONMENT, logged, when out of memory. */
enum status sides_between(const struct sides *boards, const struct side_cell *cell,
                          const struct side *const without[SIDES], struct deviation *deviation);

/* Whether both cells have the same samples of the same processes. */
bool side_same_data(const struct side_cell *first, const struct side_cell *second);

/* Text for what differs between the processes of a side. */
#define SIDE_MIXED "mixed"

/* Releases; accepts a zeroed struct. */
void sides_close(struct sides *sides);
