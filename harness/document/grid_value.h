/* SPDX-License-Identifier: MIT
 * What a grid has in a row and a column, for whoever prints it. */
#ifndef CBANK_GRID_VALUE_H
#define CBANK_GRID_VALUE_H

#include "grid.h"

enum { GRID_NOTE_BYTES = 512 };

/* Row `row` of the grid. */
const void *grid_row(const struct grid *grid, size_t row);

/* Asks the column for what that row has. */
void grid_value_at(const struct grid *grid, size_t row, const struct grid_column *column, struct grid_value *out);

/* The text for people: the value's text, its number by the column's format, or "-". `room` is for a number. */
const char *grid_shown(const struct grid_column *column, const struct grid_value *value, char room[TEXT_NUMBER_BYTES]);

#endif
