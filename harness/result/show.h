/* SPDX-License-Identifier: MIT
 * Prints a result for people, and for scripts as CSV. */
#ifndef CBANK_SHOW_H
#define CBANK_SHOW_H

#include "grid.h"
#include "result.h"

/* Prints a table for each workload, size, block size and regime, as wide as the terminal. Rows are patterns with
 * their parameters and columns paths, or the other way round where there are fewer patterns. A cell has time with
 * interval, ratio to the fastest path of the pattern, requests per load and GB/s, as far as there is room. Workloads
 * that multiply and add have a second table, of operations per byte. Then flags, failed and skipped cells, counters
 * that differ, and where the time went. A path or pattern whose cells are all skipped is named below the table, with
 * the reason. color: use ANSI attributes. STATUS_ENVIRONMENT when out of memory. */
enum status show_result(FILE *stream, const struct result *result, bool color);

/* Prints the tables as Markdown, with all columns. */
enum status show_markdown(FILE *stream, const struct result *result);

/* CSV of one row a cell. `file` is where the result is from. name: of those cells alone that this identity or glob
 * names; NULL: of all. like: a grid with raw and continued set. STATUS_USAGE when no cell is named so. */
enum status show_csv(FILE *stream, const struct result *result, const char *file, const char *name,
                     const struct grid *like);

/* All that is known of the cells that `name` names. STATUS_USAGE when there is none. */
enum status show_cells(FILE *stream, const struct result *result, const char *file, const char *name);

#endif
