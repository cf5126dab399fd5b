/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include <stdlib.h>

#include "log.h"

/* Cell `index` of the product of the axes; the last axis turns fastest. */
static struct cell plan_cell(const struct options *options, size_t index)
{
    struct cell cell;

    cell.path = options->paths.rows[index % options->paths.count];
    index /= options->paths.count;
    cell.pattern = options->patterns.rows[index % options->patterns.count];
    index /= options->patterns.count;
    cell.regime = options->regimes.rows[index % options->regimes.count];
    index /= options->regimes.count;
    cell.block_size = (uint32_t)options->block_sizes.values[index % options->block_sizes.count];
    index /= options->block_sizes.count;
    cell.elements = options->elements.values[index % options->elements.count];
    index /= options->elements.count;
    cell.workload = options->workloads.rows[index];
    return cell;
}

enum status plan_open(const struct options *options, struct plan *out)
{
    const size_t count = options->workloads.count * options->elements.count * options->block_sizes.count *
                         options->regimes.count * options->patterns.count * options->paths.count;
    struct plan plan = {.cells = calloc(count, sizeof(*plan.cells)), .count = count};

    if (!plan.cells)
        return log_error(STATUS_ENVIRONMENT, "out of memory for a plan of %zu cells", count);
    for (size_t i = 0; i < count; i++)
        plan.cells[i] = plan_cell(options, i);
    *out = plan;
    return STATUS_OK;
}

void plan_close(struct plan *plan)
{
    free(plan->cells);
    *plan = (struct plan){0};
}
