/* SPDX-License-Identifier: MIT
 * A cell in documents and grids, written the same way in all of them. */
#pragma once

#include "cell.h"
#include "field.h"
#include "grid.h"

/* Kind of a field whose member is a struct cell. Its keys are members of the object itself. They
 * are identity, workload, path, pattern, elements, block_size, cache state, `parameters` (an object
 * with those that the cell takes), and array_bytes (the size of the path's table). A cell with the
 * object kernel_file (hash, spaces) is one of a user's kernel, which is its workload. The identity
 * follows from the others, so it is not read. */
extern const struct field_kind field_cell;

/* Columns that identify the cell of a row: the keys up to cache state, parameters that are not the
 * default, width_bytes and table_bytes. Parameters are NAME=VALUE with blanks between, so a new
 * parameter adds no column. For grids whose rows begin with a `const struct cell *`. */
enum { CELL_COLUMN_COUNT = 9 };

extern const struct grid_column cell_columns[CELL_COLUMN_COUNT];
