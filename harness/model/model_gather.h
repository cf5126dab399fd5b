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

/* What a load waits longer that is the first to want a sector. Of GH100: results/h200/sweeps and results/advise/h200.json. */
enum { MODEL_FIRST_CYCLES = 215 };

/* How often a warp of an SM waits for such a sector, on average, where it waits most: where blocks are few, those of a warp less
 * or of a block less have fewer that fetch for each other, and the grid ends with its last warp. Of three SMs: the first, the one
 * with the last block, and the last, of the blocks that they begin with: `resident` each. All warps go group by group of lookups
 * in flight together; one waits in a group of which some sector was wanted in no earlier group, by whichever warp. */
double model_first_touches(const struct cell *cell, uint32_t sms, uint32_t resident);

/* Distinct sectors of the table that the first block reads in its first steps. */
uint32_t model_first_block_sectors(const struct cell *cell, uint32_t steps);

/* Cycles of a block that copies the table into shared memory, round after round, or into registers, in one round. 0 where it copies
 * nothing. */
double model_staging_cycles(const struct cell *cell, const struct card *card);

#endif
