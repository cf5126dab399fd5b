/* SPDX-License-Identifier: MIT
 * What value.c, value_join.c and value_logic.c share. */
#pragma once

#include "value.h"

/* The reason that counts of two. */
enum why worse(enum why a, enum why b);

/* Whether what lanes add is known. */
bool value_is_followed(const struct value *value);

/* How many lanes are to be looked at: one, where all add the same. */
unsigned lanes_apart(const struct value *value);

/* The low bits of a word. */
uint32_t low_bits(unsigned bits);

/* Gives the value these lanes, whose first goes to the uniform part. */
struct value value_with_lanes(struct lane_tables *tables, struct value value,
                              const uint32_t lanes[WARP_LANES]);

/* Level, flags and reason of what follows from both; the rest is zero. */
struct value value_joined(const struct value *a, const struct value *b);

/* The value, whose level and flags say no more and no less than its bits and lanes. */
struct value value_leveled(struct value value);

/* The value as a number. An address of the stack is followed as if that began at 0: as a number,
 * nothing of it is known. */
struct value value_as_number(struct value value);

/* A value whose lanes are apart in a way that is not followed: by what is given, or by anything. */
struct value value_not_followed(struct value value, bool given, enum why why);
