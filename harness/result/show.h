/* SPDX-License-Identifier: MIT
 * Prints a result as a table. */
#ifndef CBANK_SHOW_H
#define CBANK_SHOW_H

#include <stdbool.h>
#include <stdio.h>

#include "result.h"

/* One table for each workload, size, block size and regime: rows are patterns with their parameters, columns paths,
 * or the other way round where the paths do not fit beside each other; a cell holds time with its interval, ratio to
 * the fastest path of the pattern, and requests per load. Workloads that multiply and add have a second table, of
 * operations per byte. Then flags, failed and skipped cells, counters that differ, and where the time went. A path or
 * a pattern of which every cell is skipped is named below the table, with the reason. color: use ANSI attributes. */
void show_result(FILE *stream, const struct result *result, bool color);

#endif
