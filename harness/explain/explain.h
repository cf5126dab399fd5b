/* SPDX-License-Identifier: MIT
 * Measured beside modelled: what a card predicts of the cells of a result, part by part, and what it misses. */
#ifndef CBANK_EXPLAIN_H
#define CBANK_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "access.h"
#include "card.h"
#include "document.h"
#include "grid.h"
#include "model.h"
#include "result.h"
#include "status.h"

/* The bar: cells that take longer than EXPLAIN_LONG_NS are to be within EXPLAIN_LIMIT of their time, and the lines that come into
 * the first constant level within EXPLAIN_FILLS_LIMIT of those that were counted. */
#define EXPLAIN_LIMIT       0.1
#define EXPLAIN_LONG_NS     10e3
#define EXPLAIN_FILLS_LIMIT 0.05

/* A part of the predicted time, in the order of struct model_parts. Those with the same term add up; the longest of the
 * terms that overlap counts, beside those that do not. */
struct explain_part {
    const char *name; /* as the member, without _ns */
    size_t offset; /* of the member, a double */
    int term; /* parts of one term add up; EXPLAIN_TERM_ALONE: overlaps with nothing */
};

enum {
    EXPLAIN_TERM_ALONE = -1,
    EXPLAIN_TERMS = 4,
    EXPLAIN_PART_ISSUE = 3,
    EXPLAIN_PART_SERIALIZATION = 4,
    EXPLAIN_PARTS = 7
};

extern const struct explain_part explain_parts[EXPLAIN_PARTS];

double explain_part_ns(const struct model_parts *parts, size_t part);

/* How what was measured agrees with what is modelled. */
enum explain_agreement {
    EXPLAIN_UNKNOWN, /* not measured or not modelled */
    EXPLAIN_EQUAL,
    EXPLAIN_WITHIN, /* the model gives limits, and it is within them */
    EXPLAIN_DIFFERS,
};

extern const char *const explain_agreement_names[]; /* by enum explain_agreement; NULL for EXPLAIN_UNKNOWN */

/* An exact counter, or a quantity of the constant levels. */
struct explained_count {
    const char *name; /* "idc_hits" */
    const char *counters; /* that it is made of, for people */
    enum counter_status status;
    const char *reason; /* why that is not ok; NULL else */
    double measured; /* NaN where it is not known */
    double low, high; /* modelled, equal where there are no limits; NaN where it is not known */
    enum explain_agreement agreement;
};

/* Quantities of the constant levels: hits and misses of idc, requests, hits and misses of gcc. */
enum { EXPLAIN_LEVEL_IDC_MISSES = 1, EXPLAIN_LEVELS = 5 };

/* Why a cell may be over one of the limits. */
struct explained_reason {
    const struct explain_reason *row;
    char text[CELL_REASON_BYTES]; /* with the cell's numbers */
};

struct explained_cell {
    const struct cell_result *cell; /* of the result */
    const struct summary *time; /* of the cell; NULL where it is not timed */
    bool chosen; /* to be shown */
    bool predicted; /* access and model are valid, and there are levels */
    bool timed; /* ... and the model has a time, with its parts and what bounds it */
    struct access_counts access;
    struct model_cell model;
    uint32_t bound; /* parts of the term that is longest: a set of bits, by the index in explain_parts */
    double remainder_ns; /* measured less predicted; NaN where one of them is missing */
    double remainder; /* as a share of the measured time */
    enum explain_agreement agreement; /* EXPLAIN_WITHIN: the remainder is within EXPLAIN_LIMIT */
    struct explained_count *exact; /* owned; exact_count of exact counters, and behind them the levels */
    struct explained_count *levels; /* none or EXPLAIN_LEVELS */
    size_t exact_count, level_count;
    enum explain_agreement fills; /* of lines into the first constant level; EXPLAIN_WITHIN: EXPLAIN_FILLS_LIMIT */
    struct explained_reason *reasons; /* owned; of a cell that differs, in its time or its fills */
    size_t reason_count;
};

/* Cells of one kind, of all that were timed. */
struct explain_tally {
    uint64_t cells, within;
    double largest_remainder; /* as a share; NaN without cells */
    char largest[CELL_IDENTITY_BYTES]; /* whose that is; "" without cells */
};

/* Of all cells of a result, whether chosen or not. */
struct explain_summary {
    double limit, long_ns, fills_limit; /* EXPLAIN_LIMIT, EXPLAIN_LONG_NS, EXPLAIN_FILLS_LIMIT */
    struct explain_tally tallies[2]; /* by explain_is_long: those up to EXPLAIN_LONG_NS, the longer ones */
    uint64_t untimed; /* cells without a time */
    uint64_t exact, exact_equal; /* exact counters that were read and have an expected value */
    uint64_t single, single_equal, single_within; /* levels of cells of one warp */
    uint64_t fills, fills_within; /* cells whose fills were counted and are modelled */
    uint64_t reasons; /* of all cells that differ: a set of bits, by the index in explain_reasons */
};

struct explanation {
    const char *file;
    struct result result; /* what it owns is the caller's */
    struct index_list
        indices; /* owned: that its cells read, and those of later ones; none of one that is not the first */
    struct explained_cell *cells; /* owned; one for each cell of the result */
    size_t chosen; /* how many are */
    struct explain_summary summary;
};

struct evidence;

/* A reason why a cell may not be predicted: a row of reasons.def. */
struct explain_reason {
    const char *name;
    const char *summary;
    bool of_fills; /* why its fills are not; else why its time is not */
    bool (*applies)(const struct evidence *evidence, char text[CELL_REASON_BYTES]); /* then writes text */
};

extern const struct explain_reason explain_reasons[];
extern const size_t explain_reason_count;

/* Sets the reasons that apply to what differs of a cell. STATUS_ENVIRONMENT when out of memory. */
enum status explain_find_reasons(const struct result *result, const struct card *card, struct explained_cell *cell);

/* Whether the cell was timed and takes longer than EXPLAIN_LONG_NS. */
bool explain_is_long(const struct explained_cell *cell);

/* What a card says of several results. */
struct explained_results {
    const char *card_file; /* NULL: the built-in card */
    const struct card *card;
    struct explanation *results; /* owned */
    size_t count;
};

/* Predicts every cell of the result of `file`, and puts it beside what was measured. Chosen are the cells that are
 * named `name`, see cell_is_named (NULL: all). What file and result point to has to live as long. STATUS_ENVIRONMENT
 * when the card is of another chip, or out of memory; STATUS_USAGE where a file of indices is not there any more. On success
 * the caller closes. before: what was explained so far, NULL for nothing; what its cells ask for is not counted again, and
 * the indices that it has are its cells' and these, so that the first of it is closed last. */
enum status explain_open(const char *file, const struct result *result, const struct card *card, const char *name,
                         struct explained_results *before, struct explanation *out);

/* Releases; accepts a zeroed struct. */
void explain_close(struct explanation *explanation);

/* -- what it looks like -------------------------------------------------------------------------------- */

/* Prints the chosen cells of a result, and the summary of all, as text. STATUS_ENVIRONMENT when out of memory. */
enum status explain_print(FILE *stream, const struct explanation *explanation, const struct card *card,
                          const struct grid_look *look);

/* The document of struct explained_results: written as results/explanation.schema.json says, and not read. */
extern const struct document explain_document;

#endif
