/* SPDX-License-Identifier: MIT
 * Indices that are data: an array of integers, one for each lookup, in the order
 * [step][element]. */
#pragma once

#include <stdint.h>

/* An array in memory, made or mapped. The struct does not own it. */
struct indices {
    const void *values; /* little-endian; need not be aligned */
    uint32_t bytes;     /* of one index: 1, 2, 4 or 8 */
    int is_signed;
    uint64_t count;
};

/* Writes `count` indices from number `first` on into index[0] to index[count - 1]. They must lie in
 * the array and fit into 32 bits. */
void indices_read(const struct indices *indices, uint64_t first, uint32_t count, uint32_t *index);

/* The highest index; a negative one counts modulo 2^64. 0 for an empty array. */
uint64_t indices_highest(const struct indices *indices);

/* The position of the first index that is not below `length`; indices->count where there is
 * none. */
uint64_t indices_first_beyond(const struct indices *indices, uint64_t length);

/* The index at a position, as a signed number: one of 2^63 or more counts less 2^64. */
int64_t indices_at(const struct indices *indices, uint64_t position);
