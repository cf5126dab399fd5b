/* SPDX-License-Identifier: MIT
 * Compares two sides, cell by cell: is NEW worse than BASE? */
#ifndef CBANK_COMPARE_H
#define CBANK_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "calibration.h"
#include "facet.h"
#include "side.h"
#include "status.h"
#include "table.h"

enum verdict {
    VERDICT_SAME,         /* the whole interval lies inside the threshold; or skipped on both sides */
    VERDICT_IMPROVED,     /* faster by more than the threshold and the cell's noise, significant after Holm */
    VERDICT_REGRESSED,    /* slower by as much, or an exact counter rose or fell */
    VERDICT_INCONCLUSIVE, /* neither: the samples do not say */
    VERDICT_MISSING,      /* in BASE and not in NEW */
    VERDICT_NEW,          /* in NEW and not in BASE */
    VERDICT_INVALID,      /* failed, skipped or pending on a side, or without time */
};

/* A verdict's word, how it is counted in exit codes, and how grave it is in the order of a report. */
struct verdict_row {
    const char *name;
    const char *summary;
    enum status status; /* STATUS_FINDING fails the gate; STATUS_INCONCLUSIVE does under --strict */
    int gravity;        /* worst first */
};

extern const struct verdict_row verdict_rows[]; /* by enum verdict */
extern const size_t verdict_count;

struct compare_options {
    double threshold;         /* relative change of time that counts, 0.01 for 1 % */
    double counter_threshold; /* relative change of a measured counter that is worth showing */
    const struct selection *allowed; /* facets that may differ beside those that may by default; NULL: none */
    const struct calibration *calibration; /* noise of cells; NULL: none */
    uint64_t seed;
};

/* A counter that moved. */
struct counter_change {
    char name[96];
    enum counter_kind kind;
    double base, new_value;
};

struct comparison_cell {
    struct cell cell;
    enum verdict verdict;
    bool timed;              /* has a ratio */
    struct ratio ratio;      /* of times, new / base; NaN members where there is none */
    double base_ns, new_ns;  /* estimates of the sides; NaN where there is none */
    double adjusted_p;       /* after Holm over all cells with a ratio; NaN where there is none */
    double noise;            /* calibrated relative noise that applied; NaN where none did */
    bool underpowered;       /* so few samples that no change could be significant among these cells, or that the
                                interval is wider than the threshold */
    bool same_data;          /* both sides are the same processes with the same samples: nothing can differ */
    bool sass_differs;
    struct counter_change *changes; /* owned: exact counters that differ, measured ones beyond the threshold */
    size_t change_count;
    char note[256];          /* why invalid; which facet differs; "" else */
};

struct comparison {
    const struct side *base, *new_side; /* not owned */
    struct compare_options options;
    bool comparable;                    /* no facet differs that may not, and a cell in common */
    struct facet_difference *differences; /* owned */
    size_t difference_count;
    struct comparison_cell *cells;      /* owned; worst first: by gravity, then by size of the change */
    size_t cell_count;
    size_t counts[VERDICT_INVALID + 1]; /* cells by verdict */
};

/* Compares. A comparison that is not comparable still has its cells, with verdict invalid where time and
 * counters mean nothing. STATUS_ENVIRONMENT when out of memory. On success the caller closes *out. */
enum status compare_sides(const struct side *base, const struct side *new_side, const struct compare_options *options,
                          struct comparison *out);

/* How many cells both sides have. */
size_t comparison_common(const struct comparison *comparison);

/* The exit code: STATUS_ENVIRONMENT when not comparable; else STATUS_FINDING for a regressed, missing or
 * invalid cell; else STATUS_INCONCLUSIVE for an inconclusive one; else STATUS_OK. */
enum status comparison_status(const struct comparison *comparison);

/* Releases; accepts a zeroed struct. */
void comparison_close(struct comparison *comparison);

#endif
