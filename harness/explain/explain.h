/* SPDX-License-Identifier: MIT
 * Which unit of the chip bounds a measured cell: what the counters saw, by what the card says that the units do. */
#ifndef CBANK_EXPLAIN_H
#define CBANK_EXPLAIN_H

#include "estimate.h"
#include "result.h"

/* A unit that is busy for this share of the time or more bounds the cell. Where none is, waiting does: latency. */
#define EXPLAIN_THRESHOLD 0.6

/* A unit's work, and the number of a card for its cost. */
struct explain_unit {
    const char *name, *counter, *more; /* names of counters, whose values add; more may be NULL */
    enum card_key key;
    double scale; /* of the key's unit in one of the counter: bytes of a sector */
    bool cost;    /* the key is cycles for each; else it is a rate */
    bool chip;    /* the key is of the whole chip, in ns; else of an SM, in cycles */
};

enum { EXPLAIN_UNITS = 8 };

extern const struct explain_unit explain_units[EXPLAIN_UNITS];

struct explained_cell {
    const struct cell_result *cell;
    double share[EXPLAIN_UNITS]; /* of the time that the unit is busy; NaN: no counter, or no number of the card */
    int longest;                 /* the unit with the largest share; -1: no share is known */
    const char *bound;           /* its name, or "latency"; NULL: not known */
    struct time_range model_ns;  /* the simple time; NaN: not known */
};

/* Says of a cell of a result what bounds it. `counts` are the exact counts of the cell, NULL where there are none. */
void explain_cell(const struct cell_result *cell, const struct access_counts *counts, const struct card *card,
                  struct explained_cell *out);

#endif
