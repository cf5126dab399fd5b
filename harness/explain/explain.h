/* SPDX-License-Identifier: MIT
 * Measured beside modelled: what a card predicts of the cells of a result, part by part, and what it misses. */
#ifndef CBANK_EXPLAIN_H
#define CBANK_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "card.h"
#include "model.h"
#include "result.h"
#include "status.h"

/* The bar: cells that take longer than EXPLAIN_LONG_NS are to be within EXPLAIN_LIMIT of their time. */
#define EXPLAIN_LIMIT   0.1
#define EXPLAIN_LONG_NS 10e3

/* A part of the predicted time, in the order of struct model_parts. Those with the same term add up; the longest of the
 * terms that overlap counts, beside those that do not. */
struct explain_part {
    const char *name; /* as the member, without _ns */
    size_t offset; /* of the member, a double */
    int term; /* parts of one term add up; EXPLAIN_TERM_ALONE: overlaps with nothing */
};

enum { EXPLAIN_TERM_ALONE = -1, EXPLAIN_TERMS = 4, EXPLAIN_PARTS = 7 };

extern const struct explain_part explain_parts[EXPLAIN_PARTS];

double explain_part_ns(const struct model_parts *parts, size_t part);

/* What is modelled of the constant levels beside what counters say. NaN where it is not known. */
struct explain_level {
    double measured;
    struct model_count modelled;
};

/* One quantity of the constant levels. */
struct explain_level_row {
    const char *name; /* "idc hits" */
    const char *counted; /* the counters it is made of, for people */
    const char *plus; /* counter */
    const char *minus; /* counter that is taken from it; NULL for none */
};

enum { EXPLAIN_LEVELS = 5 };

extern const struct explain_level_row explain_levels[EXPLAIN_LEVELS];

enum explain_verdict {
    EXPLAIN_UNKNOWN, /* not measured or not modelled */
    EXPLAIN_EQUAL,
    EXPLAIN_WITHIN, /* the model gives limits, and it is within them */
    EXPLAIN_DIFFERS,
};

extern const char *const explain_verdict_names[]; /* by enum explain_verdict; NULL for EXPLAIN_UNKNOWN */

enum explain_verdict explain_level_verdict(const struct explain_level *level);

struct explained_cell {
    const struct cell_result *cell; /* of the result */
    bool predicted; /* what follows is valid: the cell can be */
    struct access_counts access;
    struct model_cell model;
    int bound; /* the term that is longest */
    double remainder_ns; /* measured less predicted; NaN without a median */
    double remainder; /* the same as a share of the measured time */
    struct explain_level levels[EXPLAIN_LEVELS];
    uint32_t reasons; /* why it may be over the limit: a set of bits of explain_reasons */
};

/* Cells of one kind, of all that were timed. */
struct explain_tally {
    size_t cells, within;
    const struct explained_cell *largest; /* the one with the largest remainder as a share; NULL without cells */
};

struct explanation {
    const struct result *result;
    const struct card *card;
    struct explained_cell *cells; /* owned; one for each cell of the result */
    struct explain_tally tallies[2]; /* by explain_is_long: those up to EXPLAIN_LONG_NS, the longer ones */
    size_t untimed; /* cells without a time */
    size_t exact, exact_equal; /* exact counters that were read and have an expected value */
    size_t single, single_equal, single_within; /* hits, misses and requests of cells of one warp */
};

/* A reason why a cell may not be predicted: what the data and the card say, no more. */
struct explain_reason {
    const char *name;
    const char *summary;
    /* Whether it applies; then with the text in out. */
    bool (*applies)(const struct explanation *explanation, const struct explained_cell *cell, char *out, size_t bytes);
};

extern const struct explain_reason explain_reasons[];
extern const size_t explain_reason_count;

/* Whether the cell was timed and takes longer than EXPLAIN_LONG_NS. */
bool explain_is_long(const struct explained_cell *cell);

/* Whether the cell was timed and its remainder is beyond EXPLAIN_LIMIT. */
bool explain_is_over(const struct explained_cell *cell);

/* Predicts every cell of a result, which `name` is for messages, and puts it beside what was measured. Both have to
 * live as long. STATUS_ENVIRONMENT when the card is of another chip, or out of memory. On success the caller closes. */
enum status explain_open(const char *name, const struct result *result, const struct card *card,
                         struct explanation *out);

/* Releases; accepts a zeroed struct. */
void explain_close(struct explanation *explanation);

#endif
