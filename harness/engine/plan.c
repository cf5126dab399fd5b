/* SPDX-License-Identifier: MIT
 * From the axes of a command line to cells, in the order in which they are reported:
 *
 *   workload > elements > block size > cache state > pattern > parameters > path
 *
 * A plan also has cells that cannot be: they are skipped later, with their reason (cell_obstacle).
 * With --indices the file says how many elements and loads there are. */
#include "plan.h"

#include <inttypes.h>
#include <stdlib.h>

#include "launch_path.h"
#include "log.h"
#include "memory.h"
#include "parameter_index.h"
#include "source.h"

/* The axes of one workload: from the command line, else from the workload's row. */
struct axes {
    const struct plan_options *options;
    const struct workload *workload;
    const struct selection *patterns; /* or sources, or launch paths */
    const struct selection *paths;
    const struct integers *elements, *block_sizes;
    struct selection own_patterns; /* owned: the row's */
    struct integers own_elements, own_block_sizes;
};

/* The parameters that a plan sets in a cell. A file of indices determines the number of loads
 * itself. */
static uint32_t taken_parameters(const struct cell *cell)
{
    return cell_parameter_mask(cell->workload, cell->pattern) &
           ~(cell->index_file_hash ? PARAMETER_BIT(loads) : 0);
}

enum status plan_add(struct plan *plan, const struct cell *cell)
{
    if (plan->count == PLAN_CELLS_MAX)
        return log_error(STATUS_USAGE,
                         "the plan has more than %d cells, and cbank could not read its result; "
                         "name fewer values of an option, or make several runs",
                         PLAN_CELLS_MAX);
    if (!memory_grow(&plan->cells, plan->count, sizeof(*plan->cells)))
        return log_memory("a plan of %zu cells", plan->count);
    plan->cells[plan->count++] = *cell;
    return STATUS_OK;
}

/* Adds all parameters and paths for the other axes of a cell; the last parameter varies fastest. */
static enum status add_paths(const struct axes *axes, struct cell cell, struct plan *plan)
{
    const struct plan_options *options = axes->options;
    const uint32_t parameter_mask = taken_parameters(&cell);
    size_t turn[PARAMETER_COUNT] = {0}, k;

    do {
        for (size_t i = 0; i < parameter_count; i++)
            if (parameter_mask & 1u << i)
                cell.parameters[i] =
                    parameter_kept(&parameters[i],
                                   (uint32_t)options->parameters[i].values[turn[i]]);
        for (size_t i = 0; i < axes->paths->count; i++) {
            enum status status;

            cell.path = axes->paths->rows[i];
            status = plan_add(plan, &cell);
            if (status != STATUS_OK)
                return status;
        }
        for (k = parameter_count; k > 0; k--) {
            if (!(parameter_mask & 1u << (k - 1)))
                continue;
            if (++turn[k - 1] < options->parameters[k - 1].count)
                break;
            turn[k - 1] = 0;
        }
    } while (k > 0);
    return STATUS_OK;
}

/* Adds all cells of the axes; `like` has the members that they share. */
static enum status add_cells(const struct axes *axes, struct cell like, struct plan *plan)
{
    const struct selection *cache_states_asked = &axes->options->cache_states;
    const size_t patterns_count = axes->patterns->count, sizes = axes->block_sizes->count;
    const size_t count = axes->elements->count * sizes * cache_states_asked->count * patterns_count;

    like.workload = axes->workload;
    for (size_t i = 0; i < count; i++) {
        enum status status;
        const size_t per_size = i / patterns_count / cache_states_asked->count;

        like.pattern = axes->patterns->rows[i % patterns_count];
        like.cache_state = cache_states_asked->rows[i / patterns_count % cache_states_asked->count];
        like.block_size = (uint32_t)axes->block_sizes->values[per_size % sizes];
        like.elements = axes->elements->values[per_size / sizes];
        status = add_paths(axes, like, plan);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Opens the file of --indices. A cell must be able to have its shape, and --elements, if given,
 * must agree with it. */
static enum status open_file(const struct plan_options *options, struct index_list *indices,
                             const struct index_array **out)
{
    const struct parameter *loads = &parameters[PARAMETER_loads];
    const struct integers *elements = &options->elements;
    enum status status = index_list_map(indices, options->indices_path, out);

    if (status != STATUS_OK)
        return status;
    if (!parameter_allows(loads, (*out)->rows))
        return log_error(STATUS_USAGE,
                         "%s: [load][thread] is [%" PRIu64 "][%" PRIu64
                         "], and a thread has %" PRIu32 " loads at most; give a file of fewer rows",
                         options->indices_path, (*out)->rows, (*out)->elements, loads->max);
    if ((*out)->indices.count > CELL_INDICES_MAX)
        return log_error(STATUS_USAGE,
                         "%s has %" PRIu64 " indices, and a file has %" PRIu64 " at most",
                         options->indices_path, (*out)->indices.count, CELL_INDICES_MAX);
    if (elements->count && (elements->count > 1 || elements->values[0] != (*out)->elements))
        return log_error(STATUS_USAGE,
                         "%s has indices of %" PRIu64 " threads, not of %" PRIu64
                         "; leave out --elements",
                         options->indices_path, (*out)->elements,
                         elements->values[elements->values[0] == (*out)->elements]);
    return STATUS_OK;
}

/* Sets the axes of a workload: those that were asked for, else its own. The caller closes *out,
 * also after an error. */
static enum status open_axes(const struct plan_options *options, const struct workload *workload,
                             struct axes *out)
{
    static const struct table data = TABLE("source", sources, source_made_count);
    static const void *no_load_paths[] = {&no_load_path};
    static const struct selection no_paths = {.rows = no_load_paths, .count = 1};
    const bool loaded = workload->index == INDEX_LOADED, none = workload->index == INDEX_ABSENT;
    enum status status = STATUS_OK;

    *out = (struct axes){.options = options, .workload = workload};
    /* If only a file is named, sources are not wanted. */
    if (!loaded || !options->indices_path)
        status = table_select(loaded ? &data : cell_pattern_table(workload), workload->patterns,
                              &out->own_patterns);
    if (status != STATUS_OK)
        return status;
    status = plan_integers("elements", workload->elements, &out->own_elements);
    if (status != STATUS_OK)
        return status;
    status = plan_integers("block-size", workload->block_sizes, &out->own_block_sizes);
    out->paths = none ? &no_paths : &options->paths;
    out->patterns = loaded ? &options->sources : none ? &options->launch_paths : &options->patterns;
    if (out->patterns->count == 0)
        out->patterns = &out->own_patterns;
    out->elements = options->elements.count ? &options->elements : &out->own_elements;
    out->block_sizes = options->block_sizes.count ? &options->block_sizes : &out->own_block_sizes;
    return status;
}

static void close_axes(struct axes *axes)
{
    selection_close(&axes->own_patterns);
    integers_close(&axes->own_elements);
    integers_close(&axes->own_block_sizes);
}

/* Adds the cells whose indices are in the file, which determines elements and loads. */
static enum status add_file_cells(const struct axes *axes, const struct index_array *file,
                                  struct plan *plan)
{
    const void *rows[] = {&sources[SOURCE_file]};
    const struct selection pattern = {.rows = rows, .count = 1};
    uint64_t values[] = {file->elements};
    const struct integers elements = {.values = values, .count = 1};
    const struct cell like = {.parameters = {[PARAMETER_loads] = (uint32_t)file->rows},
                              .index_file_hash = file->index_file_hash,
                              .jit = axes->options->jit};
    struct axes of_file = *axes;

    of_file.patterns = &pattern;
    of_file.elements = &elements;
    return add_cells(&of_file, like, plan);
}

static enum status add_workload(const struct plan_options *options, const struct workload *workload,
                                const struct index_array *file, struct plan *plan)
{
    struct axes axes;
    enum status status = open_axes(options, workload, &axes);

    if (status != STATUS_OK)
        goto out;
    status = add_cells(&axes, (struct cell){.jit = options->jit}, plan);
    if (status != STATUS_OK)
        goto out;
    if (file && workload->index == INDEX_LOADED)
        status = add_file_cells(&axes, file, plan);
out:
    close_axes(&axes);
    return status;
}

/* A parameter that the user named must be taken by a cell. */
static enum status check_taken(const struct plan_options *options, const struct plan *plan)
{
    uint32_t taken = 0;

    for (size_t i = 0; i < plan->count; i++)
        taken |= taken_parameters(&plan->cells[i]);
    for (size_t i = 0; i < parameter_count; i++)
        if (options->named[i] && !(taken >> i & 1))
            return log_error(STATUS_USAGE,
                             "--%s: no cell of this plan takes it; cbank list names those that do",
                             parameters[i].option);
    return STATUS_OK;
}

enum status plan_open(const struct plan_options *options, struct index_list *indices,
                      struct plan *out)
{
    const struct index_array *file = NULL;
    struct plan plan = {0};
    enum status status = plan_options_check(options);

    if (status != STATUS_OK)
        return status;
    if (options->kernel.paths)
        return log_error(STATUS_USAGE,
                         "--kernel: its cells are known once it is compiled for a device; cbank "
                         "run does both");
    if (options->indices_path) {
        status = open_file(options, indices, &file);
        if (status != STATUS_OK)
            return status;
    }
    for (size_t i = 0; i < options->workloads.count; i++) {
        status = add_workload(options, options->workloads.rows[i], file, &plan);
        if (status != STATUS_OK)
            goto out;
    }
    status = check_taken(options, &plan);
    if (status != STATUS_OK)
        goto out;
    *out = plan;
    return STATUS_OK;
out:
    plan_close(&plan);
    return status;
}

void plan_close(struct plan *plan)
{
    free(plan->cells);
    *plan = (struct plan){0};
}
