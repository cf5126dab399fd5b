/* SPDX-License-Identifier: MIT
 * What all reports of a comparison say: its sentences, and the grid of its cells. */
#ifndef CBANK_COMPARE_LINES_H
#define CBANK_COMPARE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "compare.h"
#include "grid.h"

enum { LINE_BYTES = 1024 };

/* What a verdict is to a tester, and how it looks. */
struct aspect {
    enum verdict verdict;
    enum outcome { OUTCOME_PASSED, OUTCOME_FAILED, OUTCOME_SKIPPED } outcome; /* in JUnit */
    enum grid_style style;
};

/* In the order in which a summary counts verdicts. */
extern const struct aspect aspects[VERDICT_INVALID + 1];

const struct aspect *aspect_of(enum verdict verdict);

/* The line above everything else: how it ended, and how many cells have which verdict. */
void summary_line(const struct comparison *comparison, char line[LINE_BYTES]);

/* What a side is of. */
void side_line(const struct side *side, char line[LINE_BYTES]);

/* Line `index` of what there is to say of all cells together; false when there is none. */
bool context_line(const struct comparison *comparison, size_t index, char line[LINE_BYTES]);

/* All cells that are the same, in one line. */
void same_line(const struct comparison *comparison, char line[LINE_BYTES]);

/* A cell in a sentence: what its row of the grid says. */
void cell_line(const struct comparison_cell *cell, char line[LINE_BYTES]);

/* Note `index` of a cell: a counter that moved, other code, too few samples; false when there are no more. `row` is a
 * struct comparison_cell. */
bool cell_note(const void *row, size_t index, char *out, size_t bytes);

/* The grid of a run of a comparison's cells. Those that are the same come last in a comparison. */
struct grid comparison_grid(const struct comparison_cell *cells, size_t count);

#endif
