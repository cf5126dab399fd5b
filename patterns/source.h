/* SPDX-License-Identifier: MIT
 * Index sources: rows that make the indices of lookups. */
#pragma once

#include "pattern.h"

/* Index of each row of sources.def. `file`, the last, makes nothing. */
enum source_index {
#define SOURCE(name, summary, parameter_mask, formula) SOURCE_##name,
#include "sources.def"
    SOURCE_COUNT
};

/* All sources in the order of sources.def, as patterns of INDEX_THREAD without an index
 * function. */
extern const struct pattern sources[];
extern const size_t source_count;
extern const size_t source_made_count; /* number of sources before `file` */

/* The numbers that determine indices. */
struct source_numbers {
    uint64_t elements;
    uint32_t steps;
    uint32_t length; /* entries of the table, 1 or more */
    uint64_t seed;
    const uint32_t *parameters; /* by enum parameter_index */
};

/* Makes the indices of a source but `file`, all below numbers->length, into index[steps x
 * elements], in the order [step][element]. A warp is 32 elements of a step, starting at a multiple
 * of 32. distinct and window_entries must not exceed numbers->length. Returns 0 when out of memory,
 * else 1. The same numbers give the same indices anywhere. */
int source_make(const struct pattern *source, const struct source_numbers *numbers,
                uint32_t *index);
