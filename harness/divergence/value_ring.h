/* SPDX-License-Identifier: MIT
 * Lanes that lie on a ring: an index that goes around, such as (threadIdx.x + n) & 31.
 *
 *     lanes     0  1  2 ... 31
 *     n = 0     0  1  2 ... 31
 *     n = 5     5  6  7 ...  4
 *
 * n is not known, and so no distance between lanes: one of them has 31, and the next 0. But the sum
 * adds one number to all lanes, and a ring has a place for each of its numbers. So two lanes have
 * one value where they have one for n = 0.
 *
 * A value has a ring if each lane has (turn + lane) modulo a size, times a factor, and one number
 * that all lanes share. `turn` is the same in all lanes. Two lanes then have the same value exactly
 * where they have it in the table `ring`, which is worked out for some turn. It stays so when all
 * lanes add one number, and when a factor is so small that nothing overflows. */
#pragma once

#include "value.h"

/* `out`, which is `value` AND `mask`, with its ring: where the mask is of bits beside each other,
 * and no carry that is not known comes from those below. */
struct value value_ring_of_mask(struct lane_tables *tables, const struct value *value,
                                uint32_t mask, struct value out);

/* `out`, which is `factor` times a number that is not 0, with its ring. */
struct value value_ring_of_product(struct lane_tables *tables, const struct value *factor,
                                   uint32_t number, struct value out);

/* Gives a sum its ring. */
void value_ring_of_sum(const struct value *a, const struct value *b, struct value *sum);

/* Gives a value its ring that is one of two, the same one in all lanes. */
void value_ring_of_either(const struct value *a, const struct value *b, struct value *out);

/* The lanes of a value's ring. False: it has none. */
bool value_ring_lanes(const struct lane_tables *tables, const struct value *value,
                      uint32_t lanes[WARP_LANES]);
