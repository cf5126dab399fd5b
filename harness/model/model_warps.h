/* SPDX-License-Identifier: MIT
 * The first constant level with the warps of an SM side by side, event by event.
 *
 * Blocks 0, sm_count, 2 sm_count ... run on the simulated SM, as many at a time as are resident; one begins when
 * another has ended. A warp asks for the lines of its parameters, then makes its payload loads, one after the other; the pieces
 * of a wide element are under way together, each coming as the one before passes. Where the grid strides, a warp goes on to the
 * next block of its seat by itself, reads a line of its kernel's parameters again there, beside the index (the length of a
 * row, by the code for sm_90), waits for an index before each group of lookups, and the lookups of a group are under way
 * together, too:
 *   - warps belong to the four quarters of the SM in turn. Two loads of a quarter pass the level at a time, others wait
 *     in the order of their coming;
 *   - a pass looks up one address of a load and takes 11 cycles; passes of several loads overlap, a lookup every
 *     request_cycles. Addresses follow each other in the order of the threads: the next passes when the one before is
 *     read;
 *   - the line of an address that is not there is fetched, and the load sleeps until it comes, 70 cycles later; lines
 *     of one SM come as far apart as the SMs that share the second level leave room for (its request_cycles), and the sooner
 *     the fewer of these have a block, down to a pass;
 *   - a load that finds its line on its way sleeps, too. A line that comes wakes who waits one after the other, each
 *     4 cycles after the lookup of the one before. Who sleeps takes no turn, who is woken needs none;
 *   - a line takes the place that replacement chooses, no other: where the line there is still to come, or was not read
 *     by whoever fetched it, the address is refused. The load tries again three passes later and keeps its turn, or,
 *     where it was woken beyond the two, waits for one before those that have not passed yet.
 * What uses a line for replacement: its coming, a hit, and a load that finds it on its way. LRU, FIFO and tree are
 * simulated; of others the oldest line goes.
 *
 * The numbers are of GH100; others may differ. What says so (results of an H200, the same on an H100 where both have
 * it):
 *   - a load of n addresses by one warp takes 28 + 11 (n - 1) cycles, and 70 more for each that misses, 2609 of 32: so
 *     addresses of a load follow each other, hit or miss (serialization_constant, latency);
 *   - eight warps fill the level's time, four do not (throughput_constant);
 *   - requests, idc_misses and idc_misses_retried together are half of idc_active_cycles: each is a lookup of two
 *     cycles;
 *   - in a first wave each other warp of the block adds one to idc_misses_pending for a line that comes from L2, and
 *     six or seven do for one that the second level has, as many as follow within its 70 cycles if 11 are between two
 *     of them;
 *   - while all lines of a set are on their way, idc_misses_retried grows by one every four cycles: eight loads, 32
 *     cycles each.
 * That a cache defers a miss, and tells who asked to ask again when the line is there, is in NVIDIA's patent US
 * 8,266,383. The choice among rules that these leave open (what is used, who keeps a turn) was made by the counters of
 * results/h200/serialization.json; docs/chip.md says how far they are met. */
#ifndef CBANK_MODEL_WARPS_H
#define CBANK_MODEL_WARPS_H

#include "access.h"
#include "card.h"

/* Lookups that are simulated of one launch, refusals aside: more of it goes on as the second half of them. Three waves of
 * blocks are, whatever they are. */
enum { MODEL_WARPS_LOOKUPS = 1 << 15 };

/* Cycles of one pass through the level, and from a block's beginning to a warp's first load: of the second a guess, of all
 * warps together the time hardly depends on it. */
enum { MODEL_WARPS_PASS_CYCLES = 11, MODEL_WARPS_BEGIN_CYCLES = 300 };

/* What an SM has to do. */
struct model_sm {
    double blocks; /* its part of the grid, need not be whole */
    uint32_t resident; /* blocks at a time */
    double life_cycles; /* of a block that waits for no constant */
    double input_cycles; /* from a warp's parameters to its first load of the table, at least */
    double end_cycles; /* from the last constant of a block to its end, at least */
    double index_cycles; /* of a grid that strides, before each group of loads of a warp; else 0 */
    double next_cycles; /* from an SM's first blocks to the next, of a grid that strides */
    bool whole; /* simulates all blocks */
};

/* Of the whole part of one SM. */
struct model_warps {
    double fills; /* of lines of the table */
    double parameter_refills; /* of lines of parameters that were there before */
    double refills; /* of those, the fills of lines that were there before: 0 where lines do not conflict */
    double lookups; /* hits, misses and refusals */
    double cycles; /* from the first block's beginning to the last one's end */
};

/* Runs the SM. STATUS_ENVIRONMENT when out of memory. */
enum status model_warps_run(const struct cell *cell, const struct card *card, const struct model_sm *sm,
                            struct model_warps *out);

#endif
