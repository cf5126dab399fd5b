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

/* Columns that say which cell a row is of: those keys, each parameter being a column of its own, empty where the cell
 * does not take it. For grids whose rows begin with a `const struct cell *`. */
enum { CELL_COLUMN_COUNT = 6 + PARAMETER_COUNT };

extern const struct grid_column cell_columns[CELL_COLUMN_COUNT];

/* Value of a column of the identity, for grids whose rows begin with a struct cell. */
void cell_value_identity(const struct grid_column *column, const void *row, struct grid_value *out);

#endif
