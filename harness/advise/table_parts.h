/* SPDX-License-Identifier: MIT
 * The work on the verdict of one table, which table_blocks.c and table_verdict.c share. */
#pragma once

#include "table_verdict.h"

/* A memory whose loads have a cost that is counted. */
struct memory_row {
    const char *memory;
    enum space space;
    const char *unit; /* what its loads take more of, the worse they are; with s for several */
    const char *worse; /* the verdict, where no space is better */
};

/* A block of code, or all that count: sums over its loads. */
struct sums {
    struct warp_counts counts;
    double taken, least; /* of what the unit of the memory counts: see struct memory_row */
    /* the least by padding or another order, which help where the code decides the index, and not
     * where data do */
    double ordered_least;
    double sectors_least, wavefronts_least;
    struct cycles cycles[SPACES];
    uint32_t loads, open; /* open: those of them whose addresses are not known */
    bool passed_on; /* all of them go on by a shuffle */
};

/* How the loads of a block of code are judged. */
enum state { STATE_FINE, STATE_WORSE, STATE_OPEN, STATES };

/* The work on one table. */
struct work {
    struct judge *judge;
    const struct cubin_kernel *kernel;
    const struct memory_row *memory;
    const struct user_access *const *loads;
    size_t count;
    struct user_table *table;
    struct sums all;
    enum space better; /* SPACES: there is none */
    double low, high; /* ends of the ratio over the blocks */
    uint32_t blocks[STATES], gains; /* gains: blocks that `better` answers in less time */
    uint32_t narrowest, widest; /* bytes that a thread reads by a load that counts */
    bool in_loops; /* a load that counts is in a loop */
    bool has_copy; /* other loads fill a copy in shared memory */
    bool left_out; /* loads outside of loops do not count */
    bool differ; /* and threads of a warp may differ there */
    const struct user_access *most, *least, *open; /* loads that the text names */
    double most_taken, most_best, least_taken, least_best; /* what they take, and at best */
    char reason[CELL_REASON_BYTES]; /* why the user's indices do not stand for a load; "" */
};

/* Whether the table is in constant memory, or among the parameters. */
bool work_is_constant(const struct work *work);

/* Decides which loads count, notes these in the table, adds up their costs, chooses the space that
 * takes the fewest cycles, and judges each block of code. STATUS_ENVIRONMENT, logged, when out of
 * memory. */
enum status work_judge_blocks(struct work *work);

/* Whether the user's indices stand for those of a load, whatever the size of its table. */
bool work_may_describe(const struct work *work, const struct user_access *load);

/* Whether a space has room for the table. */
bool work_may_hold(const struct work *work, enum space space);

/* Whether the card tells the units of two spaces apart: the first is busy for less time. */
bool cycles_are_below(const struct cycles *less, const struct cycles *more);
