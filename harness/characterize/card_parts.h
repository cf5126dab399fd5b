/* SPDX-License-Identifier: MIT
 * What the two files that make a card share: card_make.c and card_quote.c. */
#ifndef CBANK_CARD_PARTS_H
#define CBANK_CARD_PARTS_H

#include "characterization.h"
#include "json.h"

/* As many digits as a card has: printed and read again it is the same. */
double card_rounded(double value);

/* Adds `evidence`, the short name of the file; nothing for "". */
void card_add_evidence(cJSON *object, const char *id);

/* Adds what papers quote of all experiments: numbers, verdicts, and why some were skipped. */
void card_quote(const struct characterization *all, const char *id, cJSON *card);

#endif
