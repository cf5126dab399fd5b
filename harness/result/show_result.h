/* SPDX-License-Identifier: MIT
 * The tables of a result, as a run ends with them. */
#ifndef CBANK_SHOW_RESULT_H
#define CBANK_SHOW_RESULT_H

#include <stdbool.h>
#include <stdio.h>

#include "result.h"

/* Prints a table for each workload, size, block size and cache state, as wide as the terminal. Rows are patterns with
 * their parameters and columns paths, or the other way round where there are fewer patterns. A cell has time with
 * interval, ratio to the fastest path of the pattern, requests per load and GB/s, as far as there is room. Workloads
 * that multiply and add have a second table, of operations per byte. Then flags, failed and skipped cells, counters
 * that differ, and where the time went. A path or pattern whose cells are all skipped is named below the table, with
 * the reason. color: use ANSI attributes. STATUS_ENVIRONMENT when out of memory. */
enum status show_result(FILE *stream, const struct result *result, bool color);

#endif
