/* SPDX-License-Identifier: MIT
 * What loads of the table ask L2 for: lines, sectors, and what the busiest slice does; and L1: who waits for sectors that are not
 * there yet, and for copies of the table that are made of them. */
#ifndef CBANK_MODEL_GATHER_H
#define CBANK_MODEL_GATHER_H

#include "card.h"
#include "cell.h"

/* What the payload loads of the first block ask L2 for; where indices are data, those of some blocks of all the grid. */
struct model_l2_asked {
    double loads, lines; /* lines of each load, added up */
    double turns; /* UNIT_L2: of the busiest slice, see model_gather.c: the trimmed mean of tables in several places */
};

struct model_l2_asked model_l2_sample(const struct cell *cell, const struct card *card);

/* What a load waits longer that is the first to want a sector; and what such sectors take an SM, which L2 gives 64 bytes a cycle.
 * The first is fitted. Of GH100: results/h200/sweeps and results/advise/h200.json. */
enum { MODEL_FIRST_CYCLES = 205, MODEL_FILL_BYTES_PER_CYCLE = 64 };

/* Part of a turn of a slice that such a sector takes: SMs want the same ones at about the same time. Chosen by results/advise/h200.json,
 * h100.json and h200-contested.json; h100-second-frozen.json and h100-second-contested.json try it. */
#define MODEL_FIRST_TURN 0.75

struct model_first_touches {
    uint32_t waits; /* groups of lookups of one warp */
    uint32_t sectors; /* of its SM */
    double turns; /* of the busiest slice of L2, for all SMs */
};

/* How often a warp waits for such a sector, of the warp that waits most often: the grid ends with it. All warps of an SM go group by
 * group of lookups in flight together; one waits in a group of which some sector was wanted in no earlier group, by whichever warp.
 * Where blocks are few, a warp waits more often on an SM with fewer, which fetch for each other. So of three SMs: the first, the
 * one with the last block, and the last; `resident` blocks at a time. STATUS_ENVIRONMENT when out of memory. */
enum status model_first_touches(const struct cell *cell, uint32_t sms, uint32_t resident, uint32_t slices,
                                struct model_first_touches *out);

/* Distinct sectors of the table that the first block reads in its first steps. */
uint32_t model_first_block_sectors(const struct cell *cell, uint32_t steps);

/* Cycles of a block that copies the table into shared memory, round after round, or into registers, in one round. 0 where it copies
 * nothing. */
double model_staging_cycles(const struct cell *cell, const struct card *card);

#endif
