/* SPDX-License-Identifier: MIT
 * Numbers and verdicts as documents have them, for characterizations and cards. */
#ifndef CBANK_CHARACTERIZE_FIELDS_H
#define CBANK_CHARACTERIZE_FIELDS_H

#include "characterize.h"
#include "field.h"
#include "geometry.h"

/* Rows of struct number: its name and what it is of, then the value with what it takes to believe it; of struct verdict,
 * those of cards first. */
enum { NUMBER_ROWS = 15, VALUE_ROWS = 7, VERDICT_ROWS = 7, CARD_VERDICT_ROWS = 5 };
extern const struct field number_field_rows[NUMBER_ROWS];
extern const struct field verdict_field_rows[VERDICT_ROWS];

/* What a geometry says of a level as numbers: its latency, without a name, and what was found, by its key. Of an integer
 * that was found there is no interval. */
struct number number_of_latency(const struct summary *latency);
struct number number_of_finding(const struct geometry_level *level, const struct geometry_finding *finding);

#endif
