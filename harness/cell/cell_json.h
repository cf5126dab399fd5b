/* SPDX-License-Identifier: MIT
 * A cell in documents and grids: which one it is, written the same way in all of them. */
#ifndef CBANK_CELL_JSON_H
#define CBANK_CELL_JSON_H

#include "cell.h"
#include "field.h"
#include "grid.h"

/* Kind of a field whose member is a struct cell. Its keys are members of the object itself: identity, workload, path,
 * pattern, elements, block_size, regime, the object `parameters` of those that the cell takes, and array_bytes, the
 * size of the path's table. The identity follows from the others and is not read. */
extern const struct field_kind field_cell;

/* Columns that name the cell of a row: those keys. All parameters share one column, so that a new one changes no table of
 * users. For grids whose rows begin with a `const struct cell *`. */
enum { CELL_COLUMN_COUNT = 7 };

extern const struct grid_column cell_columns[CELL_COLUMN_COUNT];

/* Value of a column of the identity, for grids whose rows begin with a struct cell. */
void cell_value_identity(const struct grid_column *column, const void *row, struct grid_value *out);

#endif
