/* SPDX-License-Identifier: MIT
 * What the parts of making a card share (card_make.h): finding the value of a key, quoting numbers. */
#ifndef CBANK_CARD_PARTS_H
#define CBANK_CARD_PARTS_H

#include <stdbool.h>

#include "characterize.h"

/* -- card_find.c --------------------------------------------------------------------------------------- */

struct card_row;

/* What an experiment says of a key: a number with what it takes to believe it, or NaN and the reason. */
struct card_found {
    struct number number;
    const char *text; /* of a key that is a name; NULL of others */
};

typedef void card_finder(const struct card_row *row, const struct outcome *outcome, struct card_found *out);

/* One way to find the value of a key. */
struct card_row {
    const char *level; /* of the card; NULL: a key of the card itself */
    const char *key;
    const char *experiment;
    const char *number; /* or verdict */
    uint32_t of_level;  /* from 1; 0 where that does not apply */
    uint32_t stride;    /* 0 likewise */
    const char *before; /* NULL likewise */
    card_finder *find;
    double sign;        /* find_number: of several that with the least sign x value; 0: the first */
    const char *verdict, *expected; /* what else the experiment has to say; NULL: nothing */
    bool inverse;       /* the key is 1 / what was found */
    bool geometry;      /* has to go with the other values of its level */
    bool truth;         /* the key is true or false */
};

/* The first row of a key; NULL where it has none. */
const struct card_row *card_row(const char *level, const char *key);

/* The first row, from `first` on, of the same key that finds a value; NULL where none does, with what the first of them
 * said. */
const struct card_row *card_find(const struct card_row *first, const struct characterization *all,
                                 struct card_found *out);

/* SMs of the largest group. */
struct number card_largest_group(const struct outcome *outcome);

/* -- card_quote.c -------------------------------------------------------------------------------------- */

/* As many digits as a card has: printed and read again it is the same. */
double card_rounded(double value);

/* Adds `evidence`, the short name of the file; nothing for "". */
void card_add_evidence(cJSON *object, const char *id);

/* Adds what papers quote of all experiments: numbers, verdicts, and why some were skipped. */
void card_quote(const struct characterization *all, const char *id, cJSON *card);

#endif
