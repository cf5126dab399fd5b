/* SPDX-License-Identifier: MIT
 * What the formats of a comparison share: its sentences, and its cells as a grid. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "compare.h"
#include "grid.h"

enum { LINE_BYTES = 1024 };

/* The outcome, and the number of cells with each verdict. */
void summary_line(const struct comparison *comparison, char line[LINE_BYTES]);

/* Writes how two GPUs are related: two models, one kind, two kinds and their difference, or kinds
 * that are not known. Returns line. */
char *kinds_words(const struct comparison *comparison, char line[LINE_BYTES]);

/* How many processes would decide every cell that more processes can decide; 0: there is no such
 * cell. */
uint64_t comparison_needs(const struct comparison *comparison);

/* The number of processes that would decide the inconclusive cells, and how to measure them; "" if
 * there is none. */
void settle_line(const struct comparison *comparison, char line[LINE_BYTES]);

/* Writes a context field of both sides as text: "mixed" if results disagree; a count of cells for a
 * field of cells. */
void context_texts(const struct comparison *comparison, size_t field,
                   char texts[SIDES][DEVICE_TEXT_BYTES]);

/* A format's way to put a sentence down. */
struct remark_sink {
    FILE *stream;
    int width; /* of a line; for text */
    void (*put)(const struct remark_sink *sink, const char *sentence);
};

/* Why kernels of BASE are missing in NEW, each reason once. */
void remark_missing(const struct comparison *comparison, const struct remark_sink *sink);

/* What holds for the whole: the sides, the context fields that differ with what they are on each
 * side, GPUs that are not the same, what intervals hold beside the samples, and what would settle
 * the rest. */
void remark_whole(const struct comparison *comparison, const struct remark_sink *sink);

/* The cells that are not the same, or with `all` every one, with their notes. No cells where
 * nothing can be compared: that is said once, and not for each cell. Columns are for people: they
 * have no keys. */
struct grid comparison_grid(const struct comparison *comparison, bool all);

/* Note `index` of a cell, a struct comparison_cell: a counter that changed, other code, why the
 * cell is not decided, and the rest. False after the last. */
bool cell_note(const void *cell, size_t index, char *out, size_t bytes);

/* The change of a ratio, "+1.20%". */
void change_text(double ratio, char out[TEXT_NUMBER_BYTES]);

/* "s", but for one. */
const char *plural(size_t count);
