/* SPDX-License-Identifier: MIT
 * What the model says of a cell: predicted cache behaviour and time, from exact counts and a card.
 * What the constant levels do is simulated: see model_levels.h, and model_warps.h for warps that share them.
 * Payload of UNIT_UNIFORM and UNIT_IMC is not simulated: a load is one request, and each SM waits once for every line.
 *
 * Time: blocks come in waves, as many at a time as have room on the SMs: room for threads, for blocks, in shared memory
 * and, where the kernel is known, in registers. The first wave is latency; later ones start as blocks end, and the work
 * of the units overlaps with them. A block that is alone on its SM has nothing that hides what it waits for:
 *   - its life is shorter, since memory answers faster where fewer wait for it: block_l2_ns and the others are lives of
 *     blocks on full SMs, and a part of its warps has that part of it, half at least;
 *   - where its threads have no registers for their input beside their elements of the table, they load input first, as
 *     much as registers hold, and wait. So it is in the code of conv_2d and conv_3d for compute capability 9.0. */
#ifndef CBANK_MODEL_H
#define CBANK_MODEL_H

#include "device.h"
#include "model_levels.h"

/* Parts of the predicted time of one launch, ns. The parts of overlapping units do not add up: time is
 * launch + wave + max(residency, issue, unit (serialization + misses), stream), and where the grid strides somewhat more than
 * the longest, since these parts get into each other's way: see model.c. What a unit does is that of the busiest SM or instance. */
struct model_parts {
    double launch_ns;        /* one more launch: the card's launch_ns; where the table is written before it
                                copy_ns + bytes / copy_bytes_per_ns more (nothing where the parameters hold it),
                                where modules alternate alternate_ns more */
    double wave_ns;          /* the first wave, which nothing hides: the card's wave_ns, cold_ns after a
                                flush, l1_miss_cycles for each sector of the table that its block brings into L1
                                (UNIT_L1, UNIT_TEXTURE; not where the grid strides), and copying the table on UNIT_SHARED:
                                staging_wait_cycles, and staging_round_cycles for each element of a thread */
    double residency_ns;     /* the later waves, a block's life each: its input and output; the longer of its loads
                                in the first level and of the instructions that add does not have; the wait for a
                                line of UNIT_UNIFORM, UNIT_IMC; and copying the table. Not the loads of UNIT_IDC.
                                Or starting all blocks, if that takes longer. Where the grid strides, a wave is a
                                round of the loop: for each group of lookups in flight the wait for indices, and the
                                unit's latency, longer by the turns that a load takes; of UNIT_SELECT the
                                instructions, at which the warps take turns. Sectors that no warp wanted before keep
                                those that do waiting, and late blocks end late */
    double issue_ns;         /* warp instructions (where not known a guess: see model.c) / issue_per_cycle */
    double serialization_ns; /* the first level answering requests one after the other: the longer of the path's unit
                                and of L1.
                                UNIT_IDC: distinct addresses, and loads of kernel parameters (a guess:
                                see model.c), x request_cycles. UNIT_UNIFORM, UNIT_IMC: loads x
                                uniform_request_cycles, immediate_request_cycles.
                                L1: the longer of loads / l1_requests_per_cycle and sectors / l1_sectors_per_cycle,
                                of input, copies of the table, and payload of UNIT_L1 and UNIT_L2; of UNIT_TEXTURE,
                                which L1 takes no other loads beside, loads / texture_requests_per_cycle more; where the
                                grid strides that or its bytes or its sectors, whichever takes longest, and the lines
                                that it looks up and the banks that it reads, if that takes longer; and the wavefronts
                                of shared memory / shared_wavefronts_per_cycle. Not the instructions of UNIT_SELECT */
    double misses_ns;        /* what stands behind the first level adds to that.
                                UNIT_IDC: the longer of two. A level is busy for requests x request_cycles +
                                misses x miss_cycles, levels work at the same time: the busiest. Where an SM has room
                                 for several blocks, one load of each has the first alone. And the busiest SM by model_warps.h: its warps wait for lines and for turns. Less serialization_ns.
                                 UNIT_L2: what the busiest slice of L2 takes, see model_gather.c: its turns x
                                 l2_request_ns; one a line, more for many sectors, half where loads ask for the same */
    double
        stream_ns; /* 4 bytes an element in (of a lookup, for each index) and out: at the rate of L2 what stays in it, else of
                                DRAM; input rows that are read for their neighbours' sake once more each, from L2 */
};

struct model_cell {
    double requests_per_load; /* transactions of the path's unit per payload load: distinct addresses for
                                 UNIT_IDC, sectors for UNIT_L1, UNIT_L2 and UNIT_TEXTURE, wavefronts for
                                 UNIT_SHARED, 1 for UNIT_UNIFORM, UNIT_IMC, UNIT_REGISTERS and UNIT_SELECT; NaN where nothing is
                                 loaded */
    uint64_t footprint_bytes; /* distinct table bytes that the grid reads */
    uint32_t resident; /* blocks that an SM has room for */
    double time_ns;
    struct model_parts parts;
    struct model_levels levels;
};

/* What is known of a cell's kernel beside the cell. */
struct model_kernel {
    uint32_t registers; /* of a thread; 0: not known, and taken to be few */
    double instructions; /* that the warps of a launch execute; NaN: not known, and guessed */
};

/* Blocks that an SM has room for: of threads, of blocks, and in shared memory. */
uint32_t model_blocks_room(const struct cell *cell, const struct card *card);

/* Blocks that it runs at a time: as many, or fewer where the cell says so. */
uint32_t model_blocks_resident(const struct cell *cell, const struct card *card);

/* The card for a kernel: with room for the blocks that there are registers for. Warps get registers in whole steps, and
 * an SM's are in four parts, each for every fourth warp. */
struct card model_card_for(const struct card *card, const struct cell *cell, const struct model_kernel *kernel);

/* Makes the grid of a cell that strides as large as the chip has room for. */
void model_set_grid(struct cell *cell, const struct card *card);

/* Predicts one cell; access are its exact counts, kernel NULL where nothing is known. Time and parts are NaN where the card
 * lacks what they follow from, see model_lacks. STATUS_ENVIRONMENT when out of
 * memory. */
enum status model_predict(const struct cell *cell, const struct access_counts *access, const struct card *card,
                          const struct model_kernel *kernel, struct model_cell *out);

/* Whether the card lacks what the cell's time is predicted from, as card_lacks says, or, of a table that is larger than those of
 * patterns, how much of it stays in L1. */
bool model_lacks(const struct cell *cell, const struct card *card, char out[CARD_LACKS_BYTES]);

/* Whether the card is of that device's chip: same compute capability, number of SMs and, where both are known, chip. */
bool model_knows(const struct device_info *device, const struct card *card);

/* Predicts a cell that was measured on `device`: what depends on the pattern alone always, the rest NaN unless the card
 * is of its chip. */
enum status model_explain(const struct cell *cell, const struct access_counts *access, const struct device_info *device,
                          const struct card *card, struct model_cell *out);

/* What a counter counts in a launch: at least low, at most high. Both NaN, and why, where the model does not say it. */
struct model_count {
    double low, high;
    const char *reason; /* NULL where it does */
};

/* What the counter of that name counts, by the levels that model_predict gave: lookups of the table, and the lines that
 * every SM with a block fetches beside it. Those are parameter_lines into the first level, what more a kernel reads that chooses
 * its pattern at run time, and what of them comes again; and, from the second for its
 * immediate constant caches, one a partition, the share of immediate_lines of the partitions that have a warp. Whether
 * the second level holds those lines when they are asked for is not known: hence low and high. */
struct model_count model_counter(const char *name, const struct cell *cell, const struct access_counts *access,
                                 const struct card *card, const struct model_levels *levels);

#endif
