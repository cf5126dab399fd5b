/* SPDX-License-Identifier: MIT
 * The tables of show: cells of one workload, size, block size, cache state and size of table, paths
 * by patterns. */
#pragma once

#include "cell_row.h"

/* Prints the table of the rows, and the footnotes of its cells. Patterns go down and paths across,
 * or the other way round if there are fewer patterns. Sets the rows' marks. STATUS_ENVIRONMENT when
 * out of memory. */
enum status show_matrix(FILE *stream, const struct print_style *look, struct cell_row *rows,
                        size_t count);
