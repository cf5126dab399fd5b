/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"

/* The axes of one workload: what the command line names, or else what the workload's row does. */
struct axes {
    const struct plan_options *options;
    const struct workload *workload;
    struct selection patterns;             /* owned where the options name none */
    struct integers elements, block_sizes; /* the same */
};

/* The numbers of a comma-separated list of a table. */
static enum status list_open(const char *list, struct integers *out)
{
    *out = (struct integers){.values = calloc(strlen(list) + 1, sizeof(uint64_t))};
    if (!out->values)
        return log_error(STATUS_ENVIRONMENT, "out of memory");
    for (char *end; *list; list = *end ? end + 1 : end)
        out->values[out->count++] = strtoull(list, &end, 10);
    return STATUS_OK;
}

static void axes_close(struct axes *axes)
{
    if (axes->options->patterns.count == 0)
        selection_close(&axes->patterns);
    if (axes->options->elements.count == 0)
        free(axes->elements.values);
    if (axes->options->block_sizes.count == 0)
        free(axes->block_sizes.values);
}

static enum status axes_open(const struct plan_options *options, const struct workload *workload, struct axes *out)
{
    static const struct table table = TABLE("pattern", patterns, pattern_count);
    enum status status = STATUS_OK;

    *out = (struct axes){options, workload, options->patterns, options->elements, options->block_sizes};
    if (options->patterns.count == 0)
        status = table_select(&table, workload->patterns, &out->patterns);
    if (status == STATUS_OK && options->elements.count == 0)
        status = list_open(workload->elements, &out->elements);
    if (status == STATUS_OK && options->block_sizes.count == 0)
        status = list_open(workload->block_sizes, &out->block_sizes);
    return status;
}

static enum status plan_add(struct plan *plan, const struct cell *cell)
{
    if ((plan->count & (plan->count - 1)) == 0) {
        struct cell *cells = realloc(plan->cells, (plan->count ? 2 * plan->count : 1) * sizeof(*cells));

        if (!cells)
            return log_error(STATUS_ENVIRONMENT, "out of memory for a plan of %zu cells", plan->count);
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
            cell.parameters[i] = takes & 1u << i ? (uint32_t)options->parameters[i].values[turn[i]] : 0;
        for (size_t i = 0; status == STATUS_OK && i < options->paths.count; i++) {
            cell.path = options->paths.rows[i];
            status = plan_add(plan, &cell);
        }
    } while (status == STATUS_OK && next_parameters(options, takes, turn));
    return status;
}

static enum status add_workload(const struct axes *axes, struct plan *plan)
{
    const struct plan_options *options = axes->options;
    const size_t count = axes->elements.count * axes->block_sizes.count * options->regimes.count * axes->patterns.count;
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        struct cell cell = {.workload = axes->workload};
        size_t index = i;

        cell.pattern = axes->patterns.rows[index % axes->patterns.count];
        index /= axes->patterns.count;
        cell.regime = options->regimes.rows[index % options->regimes.count];
        index /= options->regimes.count;
        cell.block_size = (uint32_t)axes->block_sizes.values[index % axes->block_sizes.count];
        index /= axes->block_sizes.count;
        cell.elements = axes->elements.values[index];
        status = add_paths(options, cell, plan);
    }
    return status;
}

enum status plan_open(const struct plan_options *options, struct plan *out)
{
    struct plan plan = {0};
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < options->workloads.count; i++) {
        struct axes axes;

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
