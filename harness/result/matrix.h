/* SPDX-License-Identifier: MIT
 * The matrices of a result: cells of one workload, size, block size, cache state and size of table,
 * paths by patterns, or for a user's kernel memory spaces by sizes and cache states. */
#pragma once

#include "cell_row.h"

struct axis;
struct cell_quantity;

struct matrix {
    char title[TEXT_PARAGRAPH_BYTES];
    /* Patterns go down and paths across, or the other way round if there are fewer patterns. */
    struct grid grid;
    const struct cell_row **notes; /* owned: a row for each footnote, which has its mark and text */
    size_t note_count;
    struct axis *axes; /* owned, as the next two; what the grid refers to */
    struct grid_column *columns;
    struct cell_quantity *quantities;
};

/* How many rows from the first on are of one matrix. *kept: one of them was not skipped. A matrix
 * without any is not shown. */
size_t matrix_rows(const struct cell_row *rows, size_t count, bool *kept);

/* The columns that matrices with this row show: of enum cell_view. */
unsigned matrix_view(const struct cell_row *row);

/* Makes the matrix of rows, and sets their marks. Paths and patterns whose cells are all skipped
 * have no row or column. The rows must live as long. STATUS_ENVIRONMENT, logged, when out of
 * memory. The caller closes it, even after an error. */
enum status matrix_open(struct cell_row *rows, size_t count, struct matrix *out);

/* Releases; accepts a zeroed struct. */
void matrix_close(struct matrix *matrix);
