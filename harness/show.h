/* SPDX-License-Identifier: MIT
 * Prints a result as a table. */
#ifndef CBANK_SHOW_H
#define CBANK_SHOW_H

#include <stdbool.h>
#include <stdio.h>

#include "result.h"

/* One table for each workload, size, block size and regime: rows are patterns, columns paths; a cell holds
 * time with its interval, ratio to the fastest path of the row, and requests per load. Then flags, failed
 * cells, counters that differ, and where the time went. color: use ANSI attributes. */
void show_result(FILE *stream, const struct result *result, bool color);

#endif
