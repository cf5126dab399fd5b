/* SPDX-License-Identifier: MIT
 * The verdict on a table: whether another memory space would answer its loads in less time.
 *
 * How it is made, the same for every table:
 *
 *     cost     A load costs what load_cost.h says, by its own width and a warp's addresses.
 *     weight   Nobody knows how often code runs. Loads of one basic block run equally often:
 *              their costs add up, and each block is judged by itself. Whatever the rounds of
 *              loops are, the ratio of two spaces lies between those of the blocks. Where all
 *              blocks agree, that is the verdict. Else it depends on which of them runs most.
 *     once     Constants that are read outside of all loops, by 8 loads at most, do not count
 *              in a kernel that works in loops: each thread reads them once.
 *     copy     Where no load of the table is in a loop, shared memory and registers of a warp
 *              also cost the copy that fills them: one load of a warp, and its store.
 *     unknown  Where data decide an index, those that the user described stand for them,
 *              counted for the table's own size and the load's own width. No order and no
 *              padding helps then. Without them nothing is said.
 *
 *     memory      a load is as it should be by          worse are        what may be better
 *     constant    one address                           1.25 in the      the space of the
 *     parameter   one address                           mean, or more    fewest cycles, if
 *     texture     one line in each bank of L1                            the card tells it
 *     shared      the wavefronts of its width           one more         padding
 *     global      the sectors that hold what it reads   one more         another order
 *     local       nothing                               all              see judge_local
 *
 * `unit_time_ratio` is the cycles of the table's unit over those of `better`, with every load of
 * the table once. `low` and `high` are the ends over all blocks, with the intervals of the card and
 * the error of the simple model. `high` is not known where the table exceeds the L1 constant cache.
 */
#pragma once

#include "user_code.h"

/* Counts of loads at indices that the user described. */
struct described {
    struct warp_counts counts;
    char reason[CELL_REASON_BYTES]; /* why a table of this size has no such loads; "": it has */
};

/* The user's indices. */
struct user_indices {
    /* Counts the loads of a warp from a table of `bytes`, of `width` bytes each.
     * STATUS_ENVIRONMENT, logged, when out of memory. */
    enum status (*count)(const void *context, uint64_t bytes, uint32_t width,
                         struct described *out);
    const void *context;
    struct optional table_bytes; /* of tables whose size the code does not have */
    bool of_threads; /* a pattern or a file: they also stand for loads that arguments decide */
};

/* Judges tables; remembers what was counted. Zeroed but for the first two. */
struct judge {
    const struct card *card;
    const struct user_indices *indices; /* NULL: the user described none */
    struct counted_indices *counted; /* owned */
    size_t counted_count;
};

void judge_close(struct judge *judge);

/* Sets the verdict of a table, whose loads these are, in the order of the code. STATUS_ENVIRONMENT,
 * logged, when out of memory. */
enum status verdict_make(struct judge *judge, const struct cubin_kernel *kernel,
                         const struct user_access *const *loads, size_t count,
                         struct user_table *table);

/* Whether a verdict is that another space takes fewer cycles, however often blocks run. */
bool verdict_is_gain(const struct user_table *table);
