/* SPDX-License-Identifier: MIT
 * Compares results of two sides cell by cell, each GPU with itself: is NEW worse than BASE? It pairs cells, finds what may
 * not be compared, compares counters and code, and leaves times to judge.h. */
#ifndef CBANK_COMPARE_H
#define CBANK_COMPARE_H

#include "calibration.h"
#include "side.h"
#include "table.h"

/* A property that may differ between two sides and make their times incomparable. */
struct context_field {
    const char *name; /* for --allow-diff */
    const char *summary;
    bool allowed;  /* may differ by default */
    size_t offset; /* of the text in struct side_identity; SIZE_MAX: cells differ, each by itself */
    bool (*cell_differs)(const struct side_cell *base, const struct side_cell *new_cell);
};

extern const struct context_field context_fields[];
extern const size_t context_field_count;

enum { CONTEXT_UUID = 2, CONTEXT_DRIVER = 3, CONTEXT_CLOCKS = 5 }; /* places of rows */

struct compare_options {
    double threshold;         /* relative change of time that counts, 0.01 for 1 % */
    double counter_threshold; /* relative change of a measured counter that is shown */
    const struct selection *allowed;       /* context fields that may differ, too; NULL: none */
    const struct calibration *calibration; /* NULL: none */
    unsigned looks;     /* interim analyses, this one among them; 0 as 1 */
    bool fixed[SIDES];  /* the side gets no more processes */
    const char *folder; /* with which a gate goes on; NULL: it is none */
};

/* A counter that moved: NEW's value is NaN where it was not read. */
struct counter_change {
    const char *name; /* of a side's texts */
    enum counter_kind kind;
    double base, new_value;
};

struct comparison_cell {
    struct cell cell;
    struct compared_gpu *gpu;
    const struct side_cell *sides[SIDES]; /* NULL where a side has no such cell */
    enum cell_verdict verdict;
    bool timed; /* `judged` has a ratio */
    struct judged_cell judged;
    uint32_t differing; /* context fields of cells that differ: bit i is row i */
    bool sass_differs, exact_differs;
    struct counter_change *changes; /* owned: exact counters that differ, measured ones beyond the threshold */
    size_t change_count;
    char note[256]; /* why it is invalid, and what is special; "" else */
};

/* The cells of a GPU: those of both sides with its UUID, or of the one GPU that there is on each side. */
struct compared_gpu {
    const struct side *sides[SIDES]; /* not owned; an empty one where a side lacks the GPU */
    uint32_t differing;              /* context fields that differ */
    bool plans_differ;               /* a side has cells that the other has not */
    bool alone;                      /* a side lacks the GPU */
    bool comparable;                 /* no context field differs that may not */
    enum cell_verdict verdict;            /* of its worst cell; missing or new where it is alone */
    size_t counts[VERDICTS];
};

struct comparison {
    const struct side *sides[SIDES]; /* not owned: totals */
    struct compare_options options;
    struct compared_gpu *gpus; /* owned; those of BASE, then those that NEW alone has */
    size_t gpu_count;
    struct comparison_cell *cells; /* owned; worst first, then by size of the change; at the end those of GPUs alone */
    size_t cell_count;
    size_t counts[VERDICTS];
    uint32_t differing; /* context fields that differ in a GPU */
    uint32_t refused; /* of those, the ones that may not */
    bool comparable; /* a GPU is, and there is a cell in common */
    bool plans_differ, boards_differ;
};

/* Compares. A comparison that is not comparable has its cells all the same, invalid where times mean nothing. The sides
 * have to live as long as *out, which the caller closes. STATUS_USAGE, logged, where UUIDs may differ and a side has
 * several GPUs; STATUS_ENVIRONMENT out of memory. */
enum status compare_sides(const struct sides sides[SIDES], const struct compare_options *options,
                          struct comparison *out);

/* How many cells both sides have. */
size_t comparison_common(const struct comparison *comparison);

/* Whether a comparison says which GPU a cell is of: there are several, or none. */
bool comparison_is_by_gpu(const struct comparison *comparison);

/* Identity of a GPU, from the side that has it. */
const struct side_identity *gpu_identity(const struct compared_gpu *gpu);

/* The exit code under --strict: STATUS_ENVIRONMENT where not comparable, then STATUS_FINDING for a regressed, missing or
 * invalid cell, then STATUS_INCONCLUSIVE for an inconclusive one. */
enum status comparison_status(const struct comparison *comparison);

/* The exit code: an inconclusive comparison is STATUS_OK without `strict`, unless it decided no cell at all. */
enum status comparison_exit(const struct comparison *comparison, bool strict);

/* Releases; accepts a zeroed struct. */
void comparison_close(struct comparison *comparison);

#endif
