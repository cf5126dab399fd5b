/* SPDX-License-Identifier: MIT */
#include "cell.h"

#include <inttypes.h>
#include <stdio.h>

const struct regime regimes[] = {
    {.name = "hot", .summary = "launches back to back after warm-up", .flush = false},
    {.name = "cold", .summary = "caches flushed before every launch", .flush = true},
};

const size_t regime_count = sizeof(regimes) / sizeof(regimes[0]);

void cell_identity(const struct cell *cell, char text[CELL_IDENTITY_BYTES])
{
    snprintf(text, CELL_IDENTITY_BYTES, "%s/%s/%s/%" PRIu64 "/%" PRIu32 "/%s", cell->workload->name,
             cell->path->name, cell->pattern->name, cell->elements, cell->block_size, cell->regime->name);
}

bool cell_equal(const struct cell *a, const struct cell *b)
{
    return a->workload == b->workload && a->path == b->path && a->pattern == b->pattern &&
           a->elements == b->elements && a->block_size == b->block_size && a->regime == b->regime;
}

/* -1, 0 or 1: rows of one table, or any other addresses within one array. */
static int row_order(const void *a, const void *b)
{
    const uintptr_t left = (uintptr_t)a, right = (uintptr_t)b;

    return (left > right) - (left < right);
}

static int number_order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

int cell_order(const struct cell *a, const struct cell *b)
{
    int order = row_order(a->workload, b->workload);

    order = order ? order : row_order(a->path, b->path);
    order = order ? order : row_order(a->pattern, b->pattern);
    order = order ? order : number_order(a->elements, b->elements);
    order = order ? order : number_order(a->block_size, b->block_size);
    return order ? order : row_order(a->regime, b->regime);
}

uint32_t cell_blocks(const struct cell *cell)
{
    return (uint32_t)((cell->elements + cell->block_size - 1) / cell->block_size);
}
