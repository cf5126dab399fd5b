/* SPDX-License-Identifier: MIT
 * For tests: cells of the tables. */
#ifndef CBANK_TESTS_CELLS_H
#define CBANK_TESTS_CELLS_H

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

#endif
