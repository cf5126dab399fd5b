/* SPDX-License-Identifier: MIT
 * What a comparison looks like: a table for people, and files for machines. */
#ifndef CBANK_COMPARE_REPORT_H
#define CBANK_COMPARE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "compare.h"
#include "files.h"
#include "grid.h"
#include "status.h"

/* GitHub drops a step summary over this size. */
enum { MARKDOWN_BYTES_MAX = 1 << 20 };

/* Prints to a terminal or file: one line of summary first, facets that differ, then cells worst first with
 * ratio, interval, verdict and the counters that moved; cells that are the same are one line together unless
 * `all`. Sides without a cell in common get the summary alone. STATUS_ENVIRONMENT when out of memory. */
enum status compare_print(FILE *stream, const struct comparison *comparison, bool all, const struct grid_look *look);

/* The formats of report.def: each writes a struct comparison to an open stream. */
enum report {
#define REPORT(name, help) REPORT_##name,
#include "report.def"
    REPORT_COUNT
};

#define REPORT(name, help) file_writer compare_##name;
#include "report.def"

struct report_format {
    const char *name;
    file_writer *write;
};

extern const struct report_format report_formats[REPORT_COUNT];

/* -- what all of them say ------------------------------------------------------------------------------ */

enum { LINE_BYTES = 1024 };

/* The line above everything else: how it ended, and how many cells have which verdict. */
void summary_line(const struct comparison *comparison, char line[LINE_BYTES]);

/* What a side is of. */
void side_line(const struct side *side, char line[LINE_BYTES]);

/* Line `index` of what there is to say of all cells together; false when there is none. */
bool context_line(const struct comparison *comparison, size_t index, char line[LINE_BYTES]);

/* How many processes a side would settle what is inconclusive, and the commands; "" where none would. */
void settle_line(const struct comparison *comparison, char line[LINE_BYTES]);

/* All cells that are the same, in one line. */
void same_line(const struct comparison *comparison, char line[LINE_BYTES]);

/* A cell in a sentence: what its row of the grid says. */
void cell_line(const struct comparison_cell *cell, char line[LINE_BYTES]);

/* Note `index` of a cell: a counter that moved, other code, too few samples; false when there are no more. `row` is a
 * struct comparison_cell. */
bool cell_note(const void *row, size_t index, char *out, size_t bytes);

/* A GPU in a sentence: where it is, its verdict and how many of its cells have which. */
void gpu_line(const struct compared_gpu *gpu, char line[LINE_BYTES]);

/* The grid of the GPUs; `others`: those that are the same stay out. */
struct grid comparison_gpu_grid(const struct comparison *comparison, bool others);

/* The grid of `count` of a comparison's cells. Those that are the same come after the others, and before those of GPUs
 * that a side lacks (comparison_alone). */
struct grid comparison_grid(const struct comparison *comparison, size_t first, size_t count);

#endif
