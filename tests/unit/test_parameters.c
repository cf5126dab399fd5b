/* SPDX-License-Identifier: MIT
 * Each parameter has an effect: another value of it changes what the readers of its row say, in
 * every workload and with every pattern or source that takes it. A row that nothing reads would be
 * measured and reported as an axis. */
#include <stdio.h>

#include "card.h"
#include "cell_launch.h"
#include "cells.h"
#include "index_list.h"
#include "launch_path.h"
#include "source.h"
#include "test.h"

enum { READERS = 6, VALUES_MAX = 40, BLOCK = 256, FEW_ELEMENTS = 8 * BLOCK };

static const char *const reader_names[READERS] = {"pattern", "source", "indices",
                                                  "launch",  "grid",   "memory"};

static struct card card;

static int set_up(void **state)
{
    (void)state;
    return card_read(NULL, &card) == STATUS_OK ? 0 : -1;
}

AROUND_ALL(set_up, NULL)

/* -- what a launch does ------------------------------------------------------------------------ */

static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
    return hash;
}

#define ADD(hash, value) ((hash) = add_bytes((hash), &(value), sizeof(value)))

/* The elements that formulas read, in some blocks and steps. */
static uint64_t formula_effect(const struct cell *cell)
{
    static const uint32_t blocks[] = {0, 1, 37};
    uint32_t index[BLOCK];
    uint64_t hash = 1;

    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        for (uint32_t step = 0; step < 4; step++) {
            cell_indices(cell, blocks[i], BLOCK, step, index);
            hash = add_bytes(hash, index, sizeof(index));
        }
    return hash;
}

/* The indices of fewer elements: of the first step, and of all. */
static void loaded_effects(struct index_list *list, struct cell cell, uint64_t *first,
                           uint64_t *all)
{
    const struct index_array *array;

    cell.elements = FEW_ELEMENTS;
    assert_int_equal(index_list_give(list, &cell, &array), STATUS_OK);
    *first = add_bytes(1, array->made, FEW_ELEMENTS * sizeof(*array->made));
    *all = add_bytes(1, array->made, array->indices.count * sizeof(*array->made));
}

/* A number for each reader, in the order of enum parameter_reader, that changes with what it reads.
 * Cells of one plan share a list of indices. */
static void effects_of(struct index_list *list, struct cell cell, uint64_t effects[READERS])
{
    struct cell_launch launch;

    memset(effects, 0, READERS * sizeof(*effects));
    if (cell.workload->index == INDEX_LOADED)
        loaded_effects(list, cell, &effects[1], &effects[2]);
    else if (!cell_launch_path(&cell))
        effects[0] = formula_effect(&cell);
    card_set_grid(&card, &cell);
    launch = cell_launch(&cell);
    ADD(effects[3], launch.variant);
    ADD(effects[3], launch.shared_bytes);
    ADD(effects[3], launch.args);
    ADD(effects[3], launch.parameter_bytes);
    effects[4] = launch.grid_blocks;
    ADD(effects[5], launch.table_bytes);
    ADD(effects[5], launch.copied_bytes);
    ADD(effects[5], launch.other_bytes);
    ADD(effects[5], launch.modules);
}

/* -- cells ------------------------------------------------------------------------------------- */

/* Values of the other parameters that let each show its effect. */
static const uint32_t values_of_others[PARAMETERS_MAX] =
    {[PARAMETER_distinct] = 8,        [PARAMETER_stride_bytes] = 64,
     [PARAMETER_radius] = 2,          [PARAMETER_refill_bytes] = 1024,
     [PARAMETER_modules] = 1,         [PARAMETER_loads] = 4,
     [PARAMETER_in_flight] = 1,       [PARAMETER_skew_percent] = 100,
     [PARAMETER_run_threads] = 8,     [PARAMETER_window_entries] = 64,
     [PARAMETER_window_threads] = 64, [PARAMETER_parameter_bytes] = 4,
     [PARAMETER_symbol_bytes] = 4};

static struct cell make_cell(const struct workload *workload, const struct pattern *pattern,
                             const struct path *path)
{
    const uint32_t mask = cell_parameter_mask(workload, pattern);
    const bool one_warp = workload->index == INDEX_ABSENT;
    struct cell cell = {.workload = workload,
                        .path = path,
                        .pattern = pattern,
                        .elements = one_warp ? CBANK_WARP_THREADS : 1 << 20,
                        .block_size = one_warp ? CBANK_WARP_THREADS : BLOCK,
                        .cache_state = &cache_states[0]};

    for (size_t i = 0; i < parameter_count; i++)
        if (mask >> i & 1)
            cell.parameters[i] = values_of_others[i];
    return cell;
}

/* Values of a parameter: the least, the greatest, and powers of two. */
static size_t values_to_try(const struct parameter *parameter, uint32_t values[VALUES_MAX])
{
    size_t count = 0;

    for (uint32_t bit = 0; bit < 27; bit++)
        if (parameter_allows(parameter, UINT64_C(1) << bit))
            values[count++] = 1u << bit;
    if (parameter_allows(parameter, parameter->min))
        values[count++] = parameter->min;
    if (parameter_allows(parameter, parameter->max) && parameter->max <= 1u << 26)
        values[count++] = parameter->max;
    return count;
}

/* Adds the readers that see a difference between two values of a parameter, on any path. */
static uint32_t readers_that_see(const struct workload *workload, const struct pattern *pattern,
                                 size_t parameter, uint32_t wanted)
{
    uint32_t seen = 0, values[VALUES_MAX];
    const size_t count = values_to_try(&parameters[parameter], values);
    const struct table *table = cell_path_table(workload);
    char reason[CELL_REASON_BYTES];

    for (size_t p = 0; p < *table->count && (seen & wanted) == 0; p++) {
        struct cell cell = make_cell(workload, pattern, table_row(table, p));
        struct index_list list = {.unhashed = true};
        uint64_t effects[READERS], first[READERS];
        size_t tried = 0;

        for (size_t i = 0; i < count; i++) {
            cell.parameters[parameter] = parameter_kept(&parameters[parameter], values[i]);
            if (cell_obstacle(&cell, 0, reason))
                continue;
            effects_of(&list, cell, effects);
            if (tried++ == 0)
                memcpy(first, effects, sizeof(first));
            for (size_t reader = 0; reader < READERS; reader++)
                seen |= (uint32_t)(effects[reader] != first[reader]) << reader;
        }
        index_list_close(&list);
    }
    return seen;
}

/* -- the property ------------------------------------------------------------------------------ */

TEST(each_parameter_changes_what_its_readers_see_wherever_a_cell_takes_it)
{
    uint32_t seen[PARAMETERS_MAX] = {0}, taken = 0, failed = 0;

    for (const struct workload *workload = workloads; workload < workloads + workload_count;
         workload++) {
        const struct table *table = cell_pattern_table(workload);

        for (size_t p = 0; p < *table->count; p++) {
            const struct pattern *pattern = table_row(table, p);
            const uint32_t mask = cell_parameter_mask(workload, pattern);
            const struct cell cell =
                make_cell(workload, pattern,
                          workload->index == INDEX_ABSENT ? &no_load_path : path_named("global"));
            char reason[CELL_REASON_BYTES];

            /* Values of `file` come with the file. */
            if (pattern == &sources[SOURCE_file] || cell_obstacle(&cell, 0, reason))
                continue;
            taken |= mask;
            for (size_t i = 0; i < parameter_count; i++) {
                const uint32_t readers = parameters[i].readers;
                const uint32_t here =
                    mask >> i & 1 ? readers_that_see(workload, pattern, i, readers) : readers;

                seen[i] |= mask >> i & 1 ? here : 0;
                if ((here & readers) == 0) {
                    print_error("%s: nothing that %s with %s does depends on it\n",
                                parameters[i].name, workload->name, pattern->name);
                    failed++;
                }
            }
        }
    }
    for (size_t i = 0; i < parameter_count; i++)
        for (size_t reader = 0; reader < READERS; reader++)
            if (parameters[i].readers >> reader & 1 && !(seen[i] >> reader & 1)) {
                print_error("%s: its row names the reader %s, which never sees it; %s\n",
                            parameters[i].name, reader_names[reader],
                            taken >> i & 1 ? "CONTRIBUTING.md says where that reader reads"
                                           : "no row of workloads.def, patterns.def or sources.def "
                                             "has its bit");
                failed++;
            }
    assert_int_equal(failed, 0);
}

TEST(a_parameter_that_no_row_takes_has_no_effect)
{
    const struct cell cell =
        make_cell(workload_named("add"), pattern_named("per_warp"), path_named("global"));
    struct cell skewed = cell;
    struct index_list none = {0};
    uint64_t before[READERS], after[READERS];

    skewed.parameters[PARAMETER_skew_percent] = 200;
    effects_of(&none, cell, before);
    effects_of(&none, skewed, after);
    assert_memory_equal(before, after, sizeof(before));
}
