/* SPDX-License-Identifier: MIT
 * Whether an output is what the CPU reference says.
 *
 * Paths that differ in nothing but where the table lies write the same, bit by bit. So an output that was compared element by
 * element is kept, and those of further paths are compared with it first. */
#ifndef CBANK_REFERENCE_H
#define CBANK_REFERENCE_H

#include <stdbool.h>

#include "cell.h"
#include "workload.h"

/* An output that was compared, element by element. */
struct reference {
    const struct cell *cell; /* NULL: there is none; not owned */
    const uint32_t *values; /* the table that it read: not owned */
    uint32_t *output; /* owned */
    uint64_t room; /* elements that it has room for */
    uint32_t refilled[CBANK_TABLE_LENGTH]; /* scratch of reference_check */
};

/* Compares what a cell wrote, by all processors; false, with the first element that is wrong, where it is. The cell and
 * the table of `data` stay as they are for as long as the reference: what was right may be kept. `refilled`: the cell read
 * as much of that table as it refills, and zeros behind. */
bool reference_check(struct reference *reference, const struct cell *cell, const struct workload_data *data,
                     bool refilled, struct mismatch *first);

/* Releases; accepts a zeroed struct. */
void reference_close(struct reference *reference);

#endif
