/* SPDX-License-Identifier: MIT
 * For tests: cells of the tables. */
#ifndef CBANK_TESTS_CELLS_H
#define CBANK_TESTS_CELLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cell.h"
#include "parameter_index.h"
#include "table.h"

/* The row of that name, which must be there. */
static inline const void *row_named(struct table table, const char *name)
{
    const void *row = table_find(&table, name);

    assert_non_null(row);
    return row;
}

static inline const struct workload *workload_named(const char *name)
{
    return row_named((struct table)TABLE("workload", workloads, workload_count), name);
}

static inline const struct path *path_named(const char *name)
{
    return row_named((struct table)TABLE("path", paths, path_count), name);
}

static inline const struct pattern *pattern_named(const char *name)
{
    return row_named((struct table)TABLE("pattern", patterns, pattern_count), name);
}

static inline const struct cache_state *cache_state_named(const char *name)
{
    return row_named((struct table)TABLE("cache_state", cache_states, cache_state_count), name);
}

/* The cell of a path and a pattern by their places in the tables: 128,000 elements, blocks of 256,
 * hot. */
static inline struct cell cell_of(size_t path_index, size_t pattern_index)
{
    return (struct cell){
        .workload = &workloads[0],
        .path = &paths[path_index],
        .pattern = &patterns[pattern_index],
        .elements = 128000,
        .block_size = 256,
        .cache_state = &cache_states[0],
    };
}

/* The same of the pattern `distinct`, with its two parameters. */
static inline struct cell cell_distinct(size_t path_index, uint32_t distinct, uint32_t stride_bytes)
{
    struct cell cell = cell_of(path_index, 0);

    cell.pattern = pattern_named("distinct");
    cell.parameters[PARAMETER_distinct] = distinct;
    cell.parameters[PARAMETER_stride_bytes] = stride_bytes;
    return cell;
}

/* How many different values of bytes[] / unit there are, each compared with all before. */
static inline uint64_t distinct_units(const uint64_t *bytes, uint32_t count, uint32_t unit)
{
    uint64_t distinct = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t before = 0;

        while (bytes[before] / unit != bytes[i] / unit)
            before++;
        distinct += before == i;
    }
    return distinct;
}

#endif
