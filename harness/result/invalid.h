/* SPDX-License-Identifier: MIT
 * What makes a cell invalid although it has a time: the one table that every verdict on results
 * reads. A time of an invalid cell is no measurement, and a gate must not pass it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "result.h"

enum invalid_cause {
    INVALID_DEVICE_ERRORS,
    INVALID_REMAP_FAILED,
    INVALID_RUN_ENDED,
    INVALID_NOT_VERIFIED,
    INVALID_EXACT_COUNTER,
    INVALID_CAUSES
};

/* A row: its name in documents, and the words for people, which follow "the cell is invalid: ". */
struct invalid_row {
    const char *name, *words;
    bool (*holds)(const struct result *result, const struct cell_result *cell);
};

extern const struct invalid_row invalid_rows[INVALID_CAUSES];

/* The causes that hold for a cell with status ok: a set of bits of enum invalid_cause. A cell that
 * failed, was skipped or not measured has none: its status says what it is. */
uint32_t result_cell_invalid(const struct result *result, const struct cell_result *cell);
