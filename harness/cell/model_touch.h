/* SPDX-License-Identifier: MIT
 * Who waits for sectors of the table that are not in L1 yet, in a grid that strides. */
#ifndef CBANK_MODEL_TOUCH_H
#define CBANK_MODEL_TOUCH_H

#include "cell.h"

/* How often a warp of the first blocks of an SM waits for such a sector, on average: blocks 0, sms, 2 sms ..., `resident` of them.
 * All warps go group by group of lookups in flight together; one waits in a group of which some sector was wanted in no earlier
 * group, by whichever warp. */
double model_first_touches(const struct cell *cell, uint32_t sms, uint32_t resident);

#endif
