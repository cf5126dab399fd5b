/* SPDX-License-Identifier: MIT
 * Which cells of a result are timed together, their samples interleaved. Times that are compared with each other are to be of
 * the same moments: a group has whole lines of the tables of `cbank show`, whose cells differ by the path alone. A plan of
 * TIMING_GROUP_MAX cells is one group; of a larger one the first groups are smaller. */
#ifndef CBANK_TIMING_GROUP_H
#define CBANK_TIMING_GROUP_H

#include "result.h"

enum { TIMING_GROUP_MAX = 64 };

/* How many cells are verified, lack a time and are not marked in grouped[] (one for each cell of the result). */
size_t timing_group_left(const struct result *result, const bool *grouped);

/* Takes the next of these, and marks them, so that they are not taken again. A line of more than a group goes over several. Returns how many. */
size_t timing_group_next(const struct result *result, bool *grouped, size_t cells[TIMING_GROUP_MAX]);

#endif
