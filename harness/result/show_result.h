/* SPDX-License-Identifier: MIT
 * Prints a result for people: its tables, as a run ends with them, or all that is known of single
 * cells. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "result.h"

/* Prints a table for each workload, size, block size and cache state, as wide as the terminal.
 * Rows are patterns with their parameters and columns paths, or the other way round where there
 * are fewer patterns. A cell has time with interval, ratio to the fastest path of the pattern,
 * requests per load and GB/s, as far as there is room. Then follow failed and skipped cells with
 * their reasons, counters that differ, and where the time went. Paths and patterns whose cells
 * are all skipped have no row or column. color: use ANSI attributes. STATUS_ENVIRONMENT when out
 * of memory. */
enum status show_result(FILE *stream, const struct result *result, bool color);

/* Prints everything known about the cells that `name`, an identity or a glob, selects. `file` is
 * the origin of the result. STATUS_USAGE, logged, if there are none. */
enum status show_cells(FILE *stream, const struct result *result, const char *file,
                       const char *name);
