/* SPDX-License-Identifier: MIT
 * Prints a result for people, and for scripts as CSV. */
#ifndef CBANK_SHOW_H
#define CBANK_SHOW_H

#include "grid.h"
#include "show_result.h"

/* Prints the tables as Markdown, with all columns. */
enum status show_markdown(FILE *stream, const struct result *result);

/* CSV with one row for each cell. `file` is the origin of the result. name: an identity or a glob that selects cells;
 * NULL: all. like: a grid with raw and continued set. STATUS_USAGE if no cell has that name. */
enum status show_csv(FILE *stream, const struct result *result, const char *file, const char *name,
                     const struct grid *like);

/* Prints everything known about the cells that `name` selects. STATUS_USAGE if there are none. */
enum status show_cells(FILE *stream, const struct result *result, const char *file, const char *name);

#endif
