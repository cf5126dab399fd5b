/* SPDX-License-Identifier: MIT
 * How far measured times lie from the simple time, by what a cell is: rows of model_errors.def. A
 * cell whose group has no row has no simple time, because no interval was shown to hold for it. */
#pragma once

#include <stdbool.h>

#include "estimate.h"

enum { MODEL_GROUP_BYTES = 96 };

/* Writes the group of an estimate: the form of the kernel, the unit that answers its loads, the
 * unit that is busy longest, and the simple time: "lookup, L1, L2, 3 to 10 us". "" if a number is
 * missing. */
void model_group(const struct cell *cell, const struct cell_estimate *estimate,
                 char out[MODEL_GROUP_BYTES]);

/* Sets *out to the time that may be said: a value, and an interval that held 85 % of such cells of
 * other plans. False: the group has no row, or the card is of an architecture that no row was
 * checked for, and *out has no value. Its low end is then what units whose work is counted exactly
 * take at least, less the error of the model. */
bool model_checked_time(const struct cell *cell, const struct card *card,
                        const struct cell_estimate *estimate, struct time_range *out);
