/* SPDX-License-Identifier: MIT
 * Which cells of a result are timed together, their samples interleaved. Times that are compared with each other are to be of
 * the same moments: a group has whole lines of the tables of `cbank show`, whose cells differ by the path alone. */
#ifndef CBANK_TIMING_GROUP_H
#define CBANK_TIMING_GROUP_H

#include "result.h"

enum { TIMING_GROUP_MAX = 64 };

/* Takes the next cells of those that are verified and lack a time, and marks them in grouped[] (one for each cell of the
 * result), so that they are not taken again. A line of more than a group goes over several. Returns how many. */
size_t timing_group_next(const struct result *result, bool *grouped, size_t cells[TIMING_GROUP_MAX]);

#endif
