/* SPDX-License-Identifier: MIT
 * One side of a comparison: the results of one or more launches of the same thing, merged cell by cell. */
#ifndef CBANK_SIDE_H
#define CBANK_SIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "resample.h"
#include "result.h"
#include "status.h"

/* A counter of a cell over the launches of a side. */
struct side_counter {
    char name[96];
    enum counter_kind kind;
    size_t read;      /* launches that read it */
    double value;     /* median over those; NaN when read is 0 */
    double low, high; /* least and greatest value of a launch */
    double *values;   /* owned: of the launches that read it, ascending */
};

struct side_cell {
    struct cell cell;
    enum cell_status status;         /* the gravest over the launches: failed, then skipped, pending, ok */
    char reason[256];                /* of that launch */
    uint32_t flags;                  /* of any launch */
    struct launch_samples *launches; /* owned, and so are their samples; those with at least one sample */
    size_t launch_count;
    bool modelled;                   /* a prediction: one sample, the predicted time */
    double sm_clock_mhz;             /* median over the launches; NaN when not known */
    double *clocks_mhz;              /* owned: of the launches that know it, ascending */
    size_t clock_count;
    char sha256[SASS_HASH_HEX_BYTES]; /* of the kernel; "" not known, "mixed" when launches differ */
    struct side_counter *counters;   /* owned */
    size_t counter_count;
};

/* What a side is of. Text that differs between its files is "mixed". */
struct side_identity {
    char engine[16];
    char device[DEVICE_TEXT_BYTES];
    char uuid[DEVICE_TEXT_BYTES];
    char compute_capability[16];
    char driver[DEVICE_TEXT_BYTES];
    char vbios[DEVICE_TEXT_BYTES];
    char ecc[DEVICE_TEXT_BYTES];
    char mig[DEVICE_TEXT_BYTES];
    char started_utc[32]; /* of the first launch */
};

struct side {
    char label[256];          /* what the user called it */
    size_t files;             /* results that were read */
    size_t incomplete;        /* of those, how many are of an interrupted run */
    struct side_identity identity;
    struct side_cell *cells;  /* owned; in the order of the first file, then of later ones */
    size_t cell_count;
};

/* Reads a file, or every *.json file of a folder (in the order of their names), on all processors.
 * STATUS_USAGE naming the first file that cannot be read, or an empty folder. On success the caller closes. */
enum status side_read(const char *path, struct side *out);

/* Adds what a further file or folder holds: a side may be given as several. */
enum status side_add(struct side *side, const char *path);

/* Releases; accepts a zeroed struct. */
void side_close(struct side *side);

#endif
