/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include <stdlib.h>

#include "log.h"

/* The axes of one workload: what the command line names, or else what the workload's row does. */
struct axes {
    const struct plan_options *options;
    const struct workload *workload;
    const struct selection *patterns;
    const struct integers *elements, *block_sizes;
    struct selection own_patterns; /* owned: the row's */
    struct integers own_elements, own_block_sizes;
};

static void axes_close(struct axes *axes)
{
    selection_close(&axes->own_patterns);
    integers_close(&axes->own_elements);
    integers_close(&axes->own_block_sizes);
}

static enum status axes_open(const struct plan_options *options, const struct workload *workload, struct axes *out)
{
    static const struct table table = TABLE("pattern", patterns, pattern_count);
    static const struct option_row numbers = {.name = "plan", .high = (double)CELL_ELEMENTS_MAX};
    enum status status = table_select(&table, workload->patterns, &out->own_patterns);

    if (status == STATUS_OK)
        status = option_integers.parse(&numbers, workload->elements, &out->own_elements);
    if (status == STATUS_OK)
        status = option_integers.parse(&numbers, workload->block_sizes, &out->own_block_sizes);
    out->options = options;
    out->workload = workload;
    out->patterns = options->patterns.count ? &options->patterns : &out->own_patterns;
    out->elements = options->elements.count ? &options->elements : &out->own_elements;
    out->block_sizes = options->block_sizes.count ? &options->block_sizes : &out->own_block_sizes;
    return status;
}

static enum status plan_add(struct plan *plan, const struct cell *cell)
{
    if ((plan->count & (plan->count - 1)) == 0) {
        struct cell *cells = realloc(plan->cells, (plan->count ? 2 * plan->count : 1) * sizeof(*cells));

        if (!cells)
            return log_memory("a plan of %zu cells", plan->count);
        plan->cells = cells;
    }
    plan->cells[plan->count++] = *cell;
    return STATUS_OK;
}

/* The next combination of the parameters that the cell takes, the last turning fastest; false after the last. */
static bool next_parameters(const struct plan_options *options, uint32_t takes, size_t turn[PARAMETER_COUNT])
{
    for (size_t i = parameter_count; i-- > 0;) {
        if (!(takes & 1u << i))
            continue;
        if (++turn[i] < options->parameters[i].count)
            return true;
        turn[i] = 0;
    }
    return false;
}

/* All parameters and paths of what is else said of the cell. */
static enum status add_paths(const struct plan_options *options, struct cell cell, struct plan *plan)
{
    const uint32_t takes = cell_takes(cell.workload, cell.pattern);
    size_t turn[PARAMETER_COUNT] = {0};
    enum status status = STATUS_OK;

    do {
        for (size_t i = 0; i < parameter_count; i++)
            cell.parameters[i] =
                takes & 1u << i ? parameter_kept(&parameters[i], (uint32_t)options->parameters[i].values[turn[i]]) : 0;
        for (size_t i = 0; status == STATUS_OK && i < options->paths.count; i++) {
            cell.path = options->paths.rows[i];
            status = plan_add(plan, &cell);
        }
    } while (status == STATUS_OK && next_parameters(options, takes, turn));
    return status;
}

static enum status add_workload(const struct axes *axes, struct plan *plan)
{
    const struct selection *regimes_asked = &axes->options->regimes;
    const size_t patterns_count = axes->patterns->count, sizes = axes->block_sizes->count;
    const size_t count = axes->elements->count * sizes * regimes_asked->count * patterns_count;
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        const size_t per_size = i / patterns_count / regimes_asked->count;
        const struct cell cell = {
            .workload = axes->workload,
            .pattern = axes->patterns->rows[i % patterns_count],
            .regime = regimes_asked->rows[i / patterns_count % regimes_asked->count],
            .block_size = (uint32_t)axes->block_sizes->values[per_size % sizes],
            .elements = axes->elements->values[per_size / sizes],
        };

        status = add_paths(axes->options, cell, plan);
    }
    return status;
}

enum status plan_open(const struct plan_options *options, struct plan *out)
{
    struct plan plan = {0};
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < options->workloads.count; i++) {
        struct axes axes = {0};

        status = axes_open(options, options->workloads.rows[i], &axes);
        if (status == STATUS_OK)
            status = add_workload(&axes, &plan);
        axes_close(&axes);
    }
    if (status == STATUS_OK)
        *out = plan;
    else
        plan_close(&plan);
    return status;
}

void plan_close(struct plan *plan)
{
    free(plan->cells);
    *plan = (struct plan){0};
}
