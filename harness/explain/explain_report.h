/* SPDX-License-Identifier: MIT
 * What explanations look like: text for people, and JSON. */
#ifndef CBANK_EXPLAIN_REPORT_H
#define CBANK_EXPLAIN_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "explain.h"

/* Prints the cells whose identity has `part` in it (NULL: all), and a summary of all cells. */
void explain_print(FILE *stream, const struct explanation *explanation, const char *part, bool color);

/* A document as results/explanation.schema.json says, with no result in it yet; explain_json adds those of a card, as
 * explain_print prints them; file is the name of the result. Both are the caller's, and NULL when out of memory. */
cJSON *explain_json_open(const struct card *card, const char *card_path);
void explain_json_add(cJSON *document, const struct explanation *explanation, const char *file, const char *part);

#endif
