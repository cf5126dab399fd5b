/* SPDX-License-Identifier: MIT
 * The tables of show: cells of one workload, size, block size and cache state, paths by patterns. */
#ifndef CBANK_SHOW_MATRIX_H
#define CBANK_SHOW_MATRIX_H

#include "cell_row.h"
#include "show_page.h"

/* Prints the table of the rows: times with their footnotes, and the axes that were left out because all their cells are
 * skipped. A second table has operations per byte if there are any. Patterns go down and paths across, or the other way
 * round if there are fewer patterns. Sets the rows' marks. STATUS_ENVIRONMENT when out of memory. */
enum status show_matrix(struct page *page, struct cell_row *rows, size_t count);

#endif
