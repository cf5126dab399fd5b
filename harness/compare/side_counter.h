/* SPDX-License-Identifier: MIT
 * Counters of two sides: which belongs to which, and whether it changed. */
#ifndef CBANK_SIDE_COUNTER_H
#define CBANK_SIDE_COUNTER_H

#include <stdbool.h>
#include <stddef.h>

#include "side.h"

/* The counter of that name, which is most often the one at `hint`; NULL where no process read it. */
const struct side_counter *side_counter_find(const struct side_cell *cell, const char *name, size_t hint);

/* Whether a counter changed, to *value in NEW: an exact one at all, a measured one by more than `threshold`, a share of
 * the value in BASE. */
bool side_counter_changed(const struct side_counter *base, const struct side_counter *new_counter, double threshold,
                          double *value);

#endif
