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

/* Columns that say which cell a row is of: those keys up to regime; the parameters that are not the default, as NAME=VALUE
 * with blanks between; width_bytes and table_bytes, default or not. A new parameter adds no column. The column of parameters takes
 * those alone that are in the set that its `of` points to; NULL: all. For grids whose rows
 * begin with a `const struct cell *`. */
enum { CELL_COLUMN_COUNT = 9, CELL_PARAMETERS_COLUMN = 6, CELL_NAMING_COLUMNS = 7 /* those before width_bytes */ };

extern const struct grid_column cell_columns[CELL_COLUMN_COUNT];

/* Adds "NAME=VALUE" for each parameter of a set (of bits by enum parameter_index) that is not the default, with blanks
 * between. CELL_TRACE_BIT stands for the trace that the indices are from. out holds text, which may be "". */
#define CELL_TRACE_BIT      (UINT32_C(1) << 31)
#define CELL_PARAMETERS_ALL UINT32_MAX
void cell_parameters_text(const struct cell *cell, uint32_t set, char *out, size_t room);

/* Value of a column of the identity, for grids whose rows begin with a struct cell. */
void cell_value_identity(const struct grid_column *column, const void *row, struct grid_value *out);

#endif
