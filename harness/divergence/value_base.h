/* SPDX-License-Identifier: MIT
 * The base of values: the number beside a scaled index, by which the table is told. See enum base.
 *
 *     4 * (64 - k) + 0x100    0x100, if a table begins there
 *     256 - 4 * k             BASE_DOWNWARD: also a table at 0 is read so */
#pragma once

#include "value.h"

/* Of a sum. */
uint16_t value_base_added(const struct value *a, const struct value *b);

/* Of a value that is one or the other. */
uint16_t value_base_either(const struct value *a, const struct value *b);

/* Of a value that follows from both in another way: it is an index, unless addresses are among
 * them. Numbers are masks, limits and the like. */
uint16_t value_base_joined(const struct value *a, const struct value *b);

/* Of a value at the begin of a loop: before it, after a round, and as values join. What a round
 * adds to an index is part of the index. */
uint16_t value_base_of_rounds(const struct value *before, const struct value *after,
                              uint16_t joined);
