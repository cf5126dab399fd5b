/* SPDX-License-Identifier: MIT
 * What the parts of making a card share (card_make.h): finding the value of a key, quoting numbers. */
#ifndef CBANK_CARD_PARTS_H
#define CBANK_CARD_PARTS_H

#include "characterization.h"

/* -- card_find.c --------------------------------------------------------------------------------------- */

struct card_row;

/* What an experiment says of a key: a number with what it takes to believe it, or NaN and the reason. */
struct card_found {
    const struct card_row *row; /* that found it, else one of those that looked for it; NULL: no row does */
    struct number number;
    const char *text; /* of a key that is a name; NULL of others */
};

/* One way to find the value of a key. Gets NaN, and says why where it leaves that. */
typedef void card_finder(const struct card_row *row, const struct outcome *outcome, struct card_found *out);

struct card_row {
    const char *level; /* of the card; "": a key of the card itself */
    const char *key;
    card_finder *find;
    const char *experiment;
    const char *number; /* or verdict */
    uint32_t of_level;  /* from 1; 0 where that does not apply */
    bool geometry;      /* has to go with the other values of its level */
    uint32_t stride;    /* 0 where that does not apply */
    const char *before; /* NULL likewise */
    double sign;        /* find_number: of several that with the least sign x value; 0: the first */
    const char *verdict, *expected; /* what else the experiment has to say; NULL: nothing */
    bool inverse;       /* the key is 1 / what was found */
    bool truth;         /* the key is true or false */
};

/* What the first row of a key that finds a value found, else why none did. */
void card_find(const struct characterization *all, const char *level, const char *key, struct card_found *out);

/* SMs of the largest group. */
card_finder card_largest_group;

/* -- card_quote.c -------------------------------------------------------------------------------------- */

/* As many digits as a card has: printed and read again it is the same. */
double card_rounded(double value);

/* Adds `evidence`, the short name of the file; nothing for "". */
void card_add_evidence(cJSON *object, const char *id);

/* Adds what papers quote of all experiments: numbers, verdicts, and why some were skipped. */
void card_quote(const struct characterization *all, const char *id, cJSON *card);

#endif
