/* SPDX-License-Identifier: MIT
 * The unit of the chip that bounds a measured cell, from its counters and the numbers of the
 * card. */
#pragma once

#include "model_error.h"
#include "result.h"

struct document;

/* A unit that is busy for at least this share of the time bounds the cell. If no unit can be,
 * waiting does: latency. */
#define EXPLAIN_THRESHOLD 0.6

/* A unit that is busier than this for sure is faster than its card says, or had less to do than was
 * counted. Its share tells nothing. */
#define EXPLAIN_IMPOSSIBLE 1.05

/* A unit's work, and the number of a card for its cost. */
struct explain_unit {
    const char *name, *counter, *more; /* names of counters, which are added; more may be NULL */
    enum card_key key;
    enum card_key limit; /* of streams, in place of the key where the card has it */
    double scale; /* units of the key in one unit of the counter: bytes of a sector */
    bool cost; /* the key is cycles of one; else it is a rate */
    bool chip; /* the key is for the whole chip, in ns; else for an SM, in cycles */
    /* the counter also counts loads without an active thread, which ask nothing of the unit */
    bool active_only;
};

enum { EXPLAIN_UNITS = 9 };

extern const struct explain_unit explain_units[EXPLAIN_UNITS];

struct explained_cell {
    const struct cell_result *cell;
    char identity[CELL_IDENTITY_BYTES];
    /* share of the time in which the unit is busy, from the least to the most that the interval of
     * the card's number allows; NaN: no counter, or no number on the card */
    struct time_range share[EXPLAIN_UNITS];
    int longest; /* the unit with the largest share; -1: no share is known */
    /* the name of a unit whose share reaches the threshold throughout, and is possible; "latency":
     * every unit is known and none can reach it; NULL: what is known does not tell */
    const char *bound;
    char busiest[96]; /* the longest unit with its share: "DRAM 42% to 68%"; "": not known */
    /* the units for which a counter or a number of the card is missing, with commas */
    char unknown[160];
    struct time_range model_ns; /* the simple time; NaN: not known, or not to be said */
    char model_group[MODEL_GROUP_BYTES]; /* of cells whose errors it shares; "": not known */
};

/* Finds the bound of a cell of a result. `counts` are its exact counts; NULL if there are none.
 * `unchecked`: the simple time as it is, also where its interval was not shown to hold. */
void explain_cell(const struct cell_result *cell, const struct access_counts *counts,
                  const struct card *card, bool unchecked, struct explained_cell *out);

/* What cbank explain --json prints, as in results/explanation.schema.json; it is not read. */
extern const struct document explain_document;
