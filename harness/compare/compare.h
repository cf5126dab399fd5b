/* SPDX-License-Identifier: MIT
 * Compares two sides, cell by cell: is NEW worse than BASE? */
#ifndef CBANK_COMPARE_H
#define CBANK_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "calibration.h"
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

/* What may differ between two sides: a row of the table of facets. */
struct facet {
    const char *name;    /* for --allow-diff: engine, device, uuid, driver, vbios, clocks, ecc, mig, sass */
    const char *summary;
    bool allowed;        /* may differ by default */
    size_t offset;       /* of the text in struct side_identity; SIZE_MAX: a facet of cells (clocks, sass) */
};

extern const struct facet facets[];
extern const size_t facet_count;

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
    struct ratio ratio;      /* of times, new / base; NaN members where there is none */
    double base_ns, new_ns;  /* estimates of the sides; NaN where there is none */
    double adjusted_p;       /* after Holm over all cells with a ratio; NaN where there is none */
    double noise;            /* calibrated relative noise that applied; 0 where none did */
    bool noise_known;
    bool underpowered;       /* so few samples that the adjusted p can never be significant, or the interval never
                                inside the threshold */
    bool sass_differs;
    struct counter_change *changes; /* owned: exact counters that differ, measured ones beyond the threshold */
    size_t change_count;
    char note[256];          /* why invalid; which facet differs; "" else */
};

/* A facet that differs. */
struct facet_difference {
    const struct facet *facet;
    bool allowed;
    char base[DEVICE_TEXT_BYTES], new_text[DEVICE_TEXT_BYTES]; /* "3 cells" for facets of cells */
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

/* The exit code: STATUS_ENVIRONMENT when not comparable; else STATUS_FINDING for a regressed, missing or
 * invalid cell; else STATUS_INCONCLUSIVE for an inconclusive one; else STATUS_OK. */
enum status comparison_status(const struct comparison *comparison);

/* Releases; accepts a zeroed struct. */
void comparison_close(struct comparison *comparison);

#endif
