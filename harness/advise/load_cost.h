/* SPDX-License-Identifier: MIT
 * What a load of a warp costs in each memory space: exact counts of its addresses, times a number
 * of the card. These are the busy times of units of counts/estimate.h, in cycles of an SM:
 *
 *     space      cycles of a load
 *     constant   distinct addresses x constant_address_cycles
 *     shared     wavefronts / shared_wavefronts_per_cycle
 *     shuffle    words of an entry / shared_wavefronts_per_cycle, whatever the index
 *     global     the longer one of 1 / l1_requests_per_cycle
 *                and of wavefronts, by banks or by lines of L1, / shared_wavefronts_per_cycle
 *     texture    the longer one of 1 / texture_requests_per_cycle
 *                and of wavefronts by lines of L1 / shared_wavefronts_per_cycle
 *
 * Global memory and texture are those of a table in L1. Lines that a cache misses come on top. */
#pragma once

#include "card.h"

/* In the order in which the first of equals is taken. Where a warp has several addresses in a small
 * table, measured lookups have this order in every cell: results/h200/lookups.json. */
enum space { SPACE_SHUFFLE, SPACE_SHARED, SPACE_GLOBAL, SPACE_CONSTANT, SPACE_TEXTURE, SPACES };

/* What a space can hold. */
struct space_row {
    const char *path; /* its name among the paths */
    uint64_t bytes_most; /* of a table */
    uint32_t entries_most, width_most; /* entries, and bytes of one; 0: no limit */
    bool copied; /* a block or a warp copies the table before it reads it */
    uint32_t copy_stores; /* of a warp that copies */
};

extern const struct space_row space_rows[SPACES];

/* Counts of one load of a warp, or their means over several. */
struct warp_counts {
    double addresses; /* distinct ones */
    double wavefronts; /* of shared memory: see access_counts */
    double tag_wavefronts; /* of L1: see access_counts */
    double sectors;
};

/* Cycles of an SM, by the values of the card and the ends of their intervals. NaN where the card
 * lacks a number. */
struct cycles {
    double value, low, high;
};

/* What one load of a warp costs. Each of its threads reads `width` bytes. */
struct cycles load_cycles(enum space space, const struct warp_counts *counts, uint32_t width,
                          const struct card *card);

/* What a warp's copy costs: it loads from global memory and stores to the space. */
struct cycles copy_cycles(enum space space, const struct card *card);

void cycles_add(struct cycles *sum, struct cycles more);
