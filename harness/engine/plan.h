/* SPDX-License-Identifier: MIT
 * The plan: the ordered list of cells that a command line selects. */
#pragma once

#include <stddef.h>

#include "cell.h"
#include "index_list.h"
#include "plan_options.h"
#include "status.h"

/* Most cells of a plan. A result of twice as many is larger than cbank reads (json.h), without any
 * samples. */
enum { PLAN_CELLS_MAX = 10000 };

struct plan {
    struct cell *cells; /* owned */
    size_t count;
};

/* Makes every combination of the options' axes, in this order: workload, elements, block size,
 * cache state, pattern (or source), the parameters that the cell takes, path. Where the options
 * name no patterns, sources, elements or block sizes, each workload has those of its row. A file of
 * indices is mapped into the list, and its cells follow those of sources. STATUS_USAGE, logged, for
 * a bad file, for kernel files (see plan_kernels.h), for options that no workload takes, and for
 * more than PLAN_CELLS_MAX cells;
 * STATUS_ENVIRONMENT when out of memory. On success the caller closes *out. */
enum status plan_open(const struct plan_options *options, struct index_list *indices,
                      struct plan *out);

/* Adds a cell. STATUS_USAGE, logged, for more than PLAN_CELLS_MAX; STATUS_ENVIRONMENT when out of
 * memory. */
enum status plan_add(struct plan *plan, const struct cell *cell);

/* Releases; accepts a zeroed struct. */
void plan_close(struct plan *plan);
