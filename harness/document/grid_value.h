/* SPDX-License-Identifier: MIT
 * The value of a grid in a row and a column, for code that prints it. */
#ifndef CBANK_GRID_VALUE_H
#define CBANK_GRID_VALUE_H

#include "grid.h"

enum { GRID_NOTE_BYTES = 512 };

/* Row `row` of the grid. */
const void *grid_row(const struct grid *grid, size_t row);

/* Asks the column for its value in that row. */
void grid_value_at(const struct grid *grid, size_t row, const struct grid_column *column, struct grid_value *out);

/* The text for people: the value's text, its number in the column's format, or "-". `room` has space for a number. */
const char *grid_shown(const struct grid_column *column, const struct grid_value *value, char room[TEXT_NUMBER_BYTES]);

#endif
