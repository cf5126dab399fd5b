/* SPDX-License-Identifier: MIT
 * Measured lookups that are near those that are asked about, and what they say of memory spaces
 * where nothing is measured.
 *
 * Lookups are near by the sum of the distances of what may differ: each factor of two in the bytes
 * of the table or of an entry, in the distinct addresses, sectors and wavefronts of a load, or in
 * the warps of an SM counts 1, and one of other data that is streamed through L1 1/4. All else must
 * be equal: source, launch, cache state, lookups of an element and how many are in flight. A launch
 * with as many warps as fit is like none with a number of warps. The very lookups, where they were
 * measured, answer alone.
 *
 * A memory space is known where two near lookups were measured there: one in a table of at least
 * the size that is asked about, and one in a table of at most that size. Nothing is said beyond
 * what was measured. Where a memory space without them may be the best, nothing is said at all. One
 * that was measured nowhere near may be, unless the one that stands for its kind is known (global,
 * constant, shared): those of a kind were never faster than it by more than 4 %. */
#pragma once

#include "measured.h"

struct advice;
struct advised_facts;

enum { NEAR_MAX = 4 };

struct near_lookups {
    const struct measured_lookup *lookups[NEAR_MAX]; /* the nearest first */
    double distances[NEAR_MAX];
    size_t count;
    bool same; /* the very lookups, which stand alone */
};

/* What near lookups say of a memory space: its time over that of the fastest there. */
struct near_space {
    size_t count; /* of near lookups that were measured there; 0: the others are not set */
    double mean, least, most;
    bool known; /* as above */
};

/* The nearest measured lookups; none where all are too far. */
void near_find(const struct measured *measured, const struct cell *cell,
               const struct advised_facts *facts, struct near_lookups *out);

/* Sets near and standing of all spaces that can hold the table, and the answer. */
void near_judge(struct advice *advice);
