/* SPDX-License-Identifier: MIT
 * What results say over time: the runs, the series of each cell on each GPU, and where the level of a series changed. */
#ifndef CBANK_HISTORY_H
#define CBANK_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "noise.h"
#include "pool.h"
#include "result.h"

/* A GPU with an engine. */
struct history_gpu {
    const char *uuid, *name, *engine; /* as runs have them */
    size_t rank; /* by these, once the history is sorted */
};

/* A run. Texts are the history's, each once; NULL: not known. */
struct history_run {
    const struct history_gpu *gpu;
    char started_utc[32];
    const char *name, *uuid, *host, *slot, *driver, *vbios, *engine, *file, *hash;
    bool modelled;
    size_t place;  /* by start, and then by file */
    size_t cells;  /* of it that were read */
    double failed; /* of those */
};

/* A cell of a run. */
struct history_point {
    const struct history_run *run;
    const struct cell *cell;
    size_t order; /* among those of the cell: by GPU and engine, then by start */
    double time_ns, half_width; /* the latter relative; NaN without */
    double change; /* since the latest earlier run of that GPU and engine that has the cell; NaN: none */
    uint32_t flags;
    const char *sha256; /* of the kernel */
};

/* Where the level of a series changed. */
struct history_change {
    const struct cell *cell;
    const struct history_run *before, *after; /* the last run of the old level, the first of the new */
    double change, ci_low, ci_high; /* of the level, relative, with the interval of STATS_CONFIDENCE */
    size_t runs_before, runs_after; /* of the two levels */
    struct deviation noise; /* between processes, that the change was held against */
    char with[256]; /* what changed at the same time: driver, VBIOS, code; "": none of these */
};

/* A run that was taken out of a store. */
struct history_forgotten {
    const char *file, *uuid, *hash, *why;
    char started_utc[32], forgotten_utc[32];
};

struct history {
    struct history_run **runs; /* by place once it is sorted */
    size_t run_count;
    struct history_point *points; /* owned; by cell, then by GPU and engine, then by start */
    size_t point_count;
    struct history_change *changes; /* owned; the latest first */
    size_t change_count;
    struct history_forgotten *forgotten; /* owned */
    size_t forgotten_count;
    struct noise noise; /* what stores know of it */
    struct cell **cells;
    size_t cell_count;
    struct history_gpu **gpus;
    size_t gpu_count;
    struct pool pool; /* of runs, cells, GPUs and texts that are of one run alone */
    struct texts texts; /* that others have, too */
};

/* Adds what a file, a folder or a store holds: of all cells, or of those that are named so (cell_is_named). Files are
 * read and released one after the other. On an error there is a history still, to close. */
enum status history_add(struct history *history, const char *path, const char *name);

/* Sorts what was added, and finds what changed from run to run. A run that was added twice counts once, and a warning says so. */
void history_sort(struct history *history);

/* Whether two points are of one cell, GPU and engine. */
bool history_same_series(const struct history_point *a, const struct history_point *b);

/* Finds where levels changed: of every series of four points or more whose times settled, by change_point.h with the
 * deviation between processes as its noise (history->noise, to which a caller may add). A level holds for two runs at
 * least. Changes of less than `threshold`, relative, are left out. */
enum status history_find_changes(struct history *history, double threshold);

/* Releases; accepts a zeroed struct. */
void history_close(struct history *history);

#endif
