/* SPDX-License-Identifier: MIT
 * Low bits that are known though the value is not: a table that has a copy for each bank of shared
 * memory is read at 128 * data + 4 * lane, in the lane's own bank. */
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

/* Whether each lane of a warp reads a word in a bank of shared memory of its own. */
bool value_banks_are_apart(const struct lane_tables *tables, const struct value *address);
