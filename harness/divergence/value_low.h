/* SPDX-License-Identifier: MIT
 * Some bits of a value are known, and the value is not.
 *
 * Low bits that are known: a table that has a copy for each bank of shared memory is read at 128 *
 * data + 4 * lane, in the lane's own bank.
 *
 * High bits that all lanes share: a loop from threadIdx.x to 1024 in steps of 256 has (1023 -
 * threadIdx.x) / 256 more rounds, the same in a warp. Where a warp as a whole has one of several
 * such values, its lanes are apart in ways that are not known, in the low bits alone. */
#pragma once

#include "value.h"

struct value_low {
    unsigned bits; /* that are known of each lane */
    uint32_t lanes[WARP_LANES];
};

/* How many low bits are known of each lane of a value. */
unsigned value_low_bits(const struct value *value);

struct value_low value_low_of(const struct lane_tables *tables, const struct value *value);

/* The value, with these low bits, if its lanes are not known. */
struct value value_with_low(struct lane_tables *tables, struct value value,
                            const struct value_low *low);

/* All lanes have the same bits from this one on; WORD_BITS: not known. If the value has FLAG_WHOLE,
 * that relies on blocks of whole warps. */
unsigned value_uniform_from(const struct lane_tables *tables, const struct value *value);

/* What follows from the bits that all lanes share, and from nothing else of the value. */
struct value value_of_shared_bits(const struct value *value);

/* Whether each lane of a warp reads a word in a bank of shared memory of its own. */
bool value_banks_are_apart(const struct lane_tables *tables, const struct value *address);
