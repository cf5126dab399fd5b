/* SPDX-License-Identifier: MIT
 * Checks outputs against the CPU reference.
 *
 * Paths that differ only in the location of the table write the same output, bit by bit. An output
 * that passed is kept, and outputs of other paths are compared with it first. */
#pragma once

#include <stdbool.h>

#include "cell.h"
#include "workload.h"

/* An output that was compared element by element. */
struct reference {
    const struct cell *cell; /* NULL: there is none; not owned */
    const uint32_t *values; /* the table that it read; not owned */
    uint32_t *output; /* owned */
    uint64_t room; /* capacity of `output` in elements */
    uint32_t refilled[CBANK_TABLE_LENGTH]; /* scratch of reference_check */
};

/* Compares the output of a cell, on all processors. False, with the first wrong element in *where,
 * if it differs. The cell and the table of `data` must not change during the life of the reference,
 * since a right output may be kept. `refilled`: the cell read only the part of the table that it
 * refills, and zeros after it. */
bool reference_check(struct reference *reference, const struct cell *cell,
                     const struct workload_data *data, bool refilled, struct mismatch *first);

/* Releases; accepts a zeroed struct. */
void reference_close(struct reference *reference);
