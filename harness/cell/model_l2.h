/* SPDX-License-Identifier: MIT
 * What a launch asks L2 for, where its loads go past L1: lines, sectors, and the slices that these are in. */
#ifndef CBANK_MODEL_L2_H
#define CBANK_MODEL_L2_H

#include "cell.h"

/* Slices that lines of the table are in, at most. */
enum { MODEL_TABLE_SLICES = 32 };

/* What the payload loads of the first block ask L2 for; where indices are data, those of some blocks of all the grid. */
struct model_l2_asked {
    double loads, lines, sectors; /* lines and sectors of each load, added up */
    double slices[MODEL_TABLE_SLICES]; /* lines */
};

struct model_l2_asked model_l2_sample(const struct cell *cell);

#endif
