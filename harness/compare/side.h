/* SPDX-License-Identifier: MIT
 * One side of a comparison: the results of one or more processes of the same thing, merged cell by cell. */
#ifndef CBANK_SIDE_H
#define CBANK_SIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "grid.h"
#include "pool.h"
#include "ratio.h"
#include "result.h"
#include "status.h"

/* A counter of a cell, or its clock, over the processes of a side. */
struct side_counter {
    const char *name; /* the side's */
    enum counter_kind kind;
    uint32_t read;    /* processes that read it */
    double value;     /* median over those; NaN when read is 0 */
    double *values;   /* owned: of the processes that read it, ascending; NULL where there are less than two */
};

struct side_cell {
    struct cell cell;
    enum cell_status status;           /* the gravest over the processes: failed, then skipped, pending, ok */
    char *reason;                      /* owned: of that process, "" none; NULL where it is ok */
    uint32_t flags;                    /* of any process */
    struct process_time *processes; /* owned; those with at least one sample, each once */
    size_t process_count;
    uint32_t sites, code_copies; /* most of any process, see result.h */
    bool modelled; /* a prediction: one sample, the predicted time */
    struct side_counter clock; /* of the SMs, MHz */
    char sha256[SASS_HASH_HEX_BYTES]; /* of the kernel; "" not known, "mixed" when processes differ */
    char *code; /* owned: of the first process that holds it, see sass_code.h; NULL none does */
    struct side_counter *counters; /* owned */
    size_t counter_count;
    size_t files; /* results of the side that were read when the last one had it, that one included */
};

/* What a side is of. Text that differs between its processes is "mixed". */
struct side_identity {
    char engine[16];
    bool modelled; /* times of any process are predictions */
    struct device_info device; /* numbers are of the first process; not known where names of devices differ */
    struct host host; /* of the process that was read last */
    char started_utc[32]; /* of the first process */
};

struct side {
    char label[256]; /* what the user called it */
    size_t files; /* results that were read, one a process */
    size_t incomplete; /* of those, how many are of an interrupted run */
    struct texts texts; /* names of counters, and which process each is */
    const char *process; /* of the result that was read last, one of these */
    char argv[RESULT_ARGV_BYTES]; /* command line of the first */
    struct side_identity identity;
    struct side_cell *cells; /* owned; in the order of the first file, then of later ones */
    size_t cell_count;
};

/* Calls take(context, path, result) for what a file holds, or every *.json file of a folder in
 * the order of their names; files are read on all processors, some at a time. Ends with the first that is not STATUS_OK:
 * of take, or STATUS_USAGE naming the first file that cannot be read, or an empty folder. */
enum status results_read(const char *path,
                         enum status (*take)(void *context, const char *path, const struct result *result),
                         void *context);

/* Reads a file or a folder. On success the caller closes. */
enum status side_read(const char *path, struct side *out);

/* Adds what a file or folder holds to a side, which may be zeroed: a side may be given as several. What the side has
 * already, the same samples of the same process, counts once, and a warning says so. On an error the caller has a side
 * still, to close. */
enum status side_add(struct side *side, const char *path);

/* Adds a result in memory, which is from `path`; it stays the caller's to close. On an error as side_add. */
enum status side_take(struct side *side, const char *path, const struct result *result);

/* Adds to a side without cells what another one is of: identity, and how many results. */
void side_sum(struct side *total, const struct side *side);

/* The cells of a side by cell_order. The array is the caller's to free; NULL when out of memory. */
struct side_cell **side_sorted(const struct side *side);

/* How often the cell has this very process: the same run of the program, with the same samples. */
size_t side_count_process(const struct side_cell *cell, const struct process_time *process);

/* The counter of that name, which is most often the one at `hint`; NULL where there is none. */
struct side_counter *side_counter(const struct side_cell *cell, const char *name, size_t hint);

/* Whether a text says that the processes of a side differ in it. */
bool side_is_mixed(const char *text);

/* A UUID up to its first group, "GPU-33a20bea"; "" where there is none, NULL or "". And as the value of a grid. */
enum { UUID_SHORT_BYTES = DEVICE_TEXT_BYTES };
void uuid_short(const char *uuid, char out[UUID_SHORT_BYTES]);
void value_short_uuid(const char *uuid, struct grid_value *out);

/* Releases; accepts a zeroed struct. */
void side_close(struct side *side);

#endif
