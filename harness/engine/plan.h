/* SPDX-License-Identifier: MIT
 * The plan: the ordered list of cells that a command line asks for. */
#ifndef CBANK_PLAN_H
#define CBANK_PLAN_H

#include <stddef.h>

#include "cell.h"
#include "plan_options.h"
#include "status.h"

struct plan {
    struct cell *cells; /* owned */
    size_t count;
};

/* Every combination of the options' axes: workload, then elements, block size, regime, pattern, the parameters that the
 * cell takes, path. Where the options name no patterns, elements or block sizes, each workload has those of its row.
 * STATUS_ENVIRONMENT when out of memory. On success the caller closes *out. */
enum status plan_open(const struct plan_options *options, struct plan *out);

/* Releases; accepts a zeroed struct. */
void plan_close(struct plan *plan);

#endif
