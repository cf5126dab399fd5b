/* SPDX-License-Identifier: MIT
 * One side of a comparison: results of one or more processes, merged cell by cell, each GPU by itself. */
#ifndef CBANK_SIDE_H
#define CBANK_SIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "judge.h"
#include "result.h"
#include "status.h"
#include "texts.h"

/* A counter of a cell, or its clock, over the processes of a side. */
struct side_counter {
    const char *name; /* of the side's texts */
    enum counter_kind kind;
    uint32_t read;  /* processes that read it */
    double value;   /* median over those; NaN where read is 0 */
    double least, greatest;
    double *values; /* owned: ascending; NULL where less than two read it */
};

struct side_cell {
    struct cell cell;
    enum cell_status status; /* the worst over the processes: failed, skipped, pending, ok */
    char *reason;            /* owned: of that process; NULL where it is ok */
    uint32_t flags;          /* of any process */
    struct process_time *processes; /* owned; those with a sample, each once */
    size_t process_count;
    uint32_t sites, code_copies; /* most of any process, see result.h */
    bool modelled;               /* the time is a prediction */
    struct side_counter clock;   /* of the SMs, MHz */
    char sha256[SASS_HASH_HEX_BYTES]; /* of the kernel; "" not known, "mixed" where processes differ */
    char *code;                       /* owned: of the first process that holds it, see sass_code.h; NULL: none */
    struct side_counter *counters;    /* owned */
    size_t counter_count;
    size_t files; /* results that the side had read with the last that has the cell */
};

/* Origin of a side. Text that differs between its processes is "mixed". */
struct side_identity {
    char engine[16];
    bool modelled;             /* times of any process are predictions */
    struct device_info device; /* numbers are of the first process; unknown where names differ */
    struct host host;          /* of the last process */
    char started_utc[32];      /* of the first process */
};

/* Results of one GPU. */
struct side {
    char label[256];     /* what the user called it */
    size_t files;        /* results that were read, one a process */
    size_t incomplete;   /* of those, interrupted runs */
    struct texts texts;  /* names of counters and processes */
    const char *process; /* of the last result, one of these */
    struct side_identity identity;
    struct side_cell *cells; /* owned; in the order of the first file, then of later ones */
    size_t cell_count;
};

/* Results of any number of GPUs. Zeroed is empty. */
struct sides {
    struct side total; /* of all GPUs, without cells; the caller sets its label */
    struct side *gpus; /* owned: one a UUID and name, in the order in which they came */
    size_t count;
};

/* Summarizes samples (ns, count >= 1), taken on so many buffer sets in turn (0: not known); `scratch` has room for as many.
 * The error has nothing of what buffer sets differ by (stats_trimmed_mean). */
struct process_time process_of(const double *samples, size_t count, uint32_t placements, double *scratch);

/* Adds what a file, or every *.json file of a folder in the order of names, holds. The same samples of the same process
 * count once, with a warning. STATUS_USAGE, logged, for what cannot be read, an empty folder, or a cell that is twice in
 * one result. The caller closes *sides, after an error too. */
enum status sides_add(struct sides *sides, const char *path);

/* As sides_add, for paths with commas between; they become the label. Warns of interrupted runs. */
enum status sides_add_list(struct sides *sides, const char *paths);

/* As sides_add, for a result in memory, which stays the caller's; `path` names it in messages. */
enum status sides_take(struct sides *sides, const char *path, const struct result *result);

/* The side of that GPU; NULL where there is none. */
struct side *sides_find(const struct sides *sides, const struct device_info *device);

/* The cells of a side by cell_order. The caller frees the array; NULL out of memory. */
struct side_cell **side_sorted(const struct side *side);

/* Whether both cells are the same processes with the same samples. */
bool side_same_data(const struct side_cell *one, const struct side_cell *other);

/* The counter of that name, most often the one at `hint`; NULL where there is none. */
struct side_counter *side_counter(const struct side_cell *cell, const char *name, size_t hint);

/* Whether a text says that the processes of a side differ in it. */
bool side_is_mixed(const char *text);

/* Releases; accepts a zeroed struct. */
void sides_close(struct sides *sides);

#endif
