/* SPDX-License-Identifier: MIT
 * For tests: cells of the tables. */
#ifndef CBANK_TESTS_CELLS_H
#define CBANK_TESTS_CELLS_H

#include <stddef.h>
#include <string.h>

#include "cell.h"

/* The cell of a path and a pattern by their places in the tables: 128,000 elements, blocks of 256, hot. */
static inline struct cell cell_of(size_t path_index, size_t pattern_index)
{
    return (struct cell){
        .workload = &workloads[0],
        .path = &paths[path_index],
        .pattern = &patterns[pattern_index],
        .elements = 128000,
        .block_size = 256,
        .regime = &regimes[0],
    };
}

/* The same of the pattern `distinct`, with its two parameters. */
static inline struct cell cell_distinct(size_t path_index, uint32_t distinct, uint32_t stride_bytes)
{
    struct cell cell = cell_of(path_index, 0);

    for (size_t i = 0; i < pattern_count; i++)
        if (strcmp(patterns[i].name, "distinct") == 0)
            cell.pattern = &patterns[i];
    cell.parameters[PARAMETER_distinct] = distinct;
    cell.parameters[PARAMETER_stride_bytes] = stride_bytes;
    return cell;
}

#endif
