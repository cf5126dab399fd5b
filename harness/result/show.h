/* SPDX-License-Identifier: MIT
 * Prints a result for people, and for scripts as CSV. */
#ifndef CBANK_SHOW_H
#define CBANK_SHOW_H

#include "grid.h"
#include "show_result.h"

/* Prints the tables as Markdown, with all columns. */
enum status show_markdown(FILE *stream, const struct result *result);

/* CSV of one row a cell. `file` is where the result is from. name: of those cells alone that this identity or glob
 * names; NULL: of all. like: a grid with raw and continued set. STATUS_USAGE when no cell is named so. */
enum status show_csv(FILE *stream, const struct result *result, const char *file, const char *name,
                     const struct grid *like);

/* All that is known of the cells that `name` names. STATUS_USAGE when there is none. */
enum status show_cells(FILE *stream, const struct result *result, const char *file, const char *name);

#endif
