/* SPDX-License-Identifier: MIT
 * Ranges of words: where a value may lie, in all threads and at all times.
 *
 *     0                          2^32        A range goes around: it may begin before 0 and end
 *     |---[first ... + span]-------|         behind it. Zeroed, it has all words.
 *
 * A sum, a product or a shift of words that stay in their ranges stays in the range that is worked
 * out here; where that has 2^32 words or more, it is all of them. So a range is a proof, also of an
 * index that comes from memory: (data & 15) * 4 + 0x100 stays between 0x100 and 0x13c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct range {
    uint32_t first;
    uint32_t left_out; /* words that are not in it */
};

/* From the first to the last, going up; last - first of UINT32_MAX: all words. */
struct range range_of(uint32_t first, uint32_t last);

uint32_t range_last(struct range range);
bool range_is_all(struct range range);
bool range_equal(struct range a, struct range b);

/* The smallest that has both. */
struct range range_joined(struct range a, struct range b);

struct range range_added(struct range a, struct range b);
struct range range_multiplied(struct range range, uint32_t number);
struct range range_shifted_right(struct range range, unsigned by, bool is_signed);

/* Of the lesser, or the greater, of two. */
struct range range_of_least(struct range a, struct range b, bool greatest, bool is_signed);

/* Bits that may be 1 in its words. */
uint32_t range_ones(struct range range);
