/* SPDX-License-Identifier: MIT */
#include "model_touch.h"

#include <string.h>

#include "access.h"

enum { TABLE_SECTORS = CBANK_TABLE_BYTES / ACCESS_SECTOR_BYTES };

/* Sectors of the table that are in L1, and who waited for them. */
struct touched {
    bool before[TABLE_SECTORS], now[TABLE_SECTORS]; /* before the group of lookups, and with it */
    uint32_t in_flight;
    uint64_t loads, waits; /* groups of loads of warps, and those of them that waited */
};

/* A group of lookups of one warp. */
static void touch_warp(const uint32_t *index, uint32_t threads, uint32_t width, struct touched *touched, bool *waits)
{
    for (uint32_t i = 0; i < threads; i++) {
        const uint32_t sector = index[i] * width / ACCESS_SECTOR_BYTES;

        *waits |= !touched->before[sector];
        touched->now[sector] = true;
    }
}

/* A group of lookups of a block. */
static void touch(const struct cell *cell, uint32_t block, uint32_t group, struct touched *touched)
{
    const uint32_t threads = cell_block_threads(cell, block), width = table_width(cell->parameters);
    bool waits[CELL_BLOCK_SIZE_MAX / CBANK_WARP_THREADS] = {false};
    uint32_t index[CELL_BLOCK_SIZE_MAX];

    for (uint32_t k = 0; k < touched->in_flight; k++) {
        cell_indices(cell, block, threads, group * touched->in_flight + k, index);
        for (uint32_t first = 0; first < threads; first += CBANK_WARP_THREADS)
            touch_warp(index + first, threads - first < CBANK_WARP_THREADS ? threads - first : CBANK_WARP_THREADS,
                       width, touched, &waits[first / CBANK_WARP_THREADS]);
    }
    for (uint32_t first = 0; first < threads; first += CBANK_WARP_THREADS) {
        touched->loads++;
        touched->waits += waits[first / CBANK_WARP_THREADS];
    }
}

double model_first_touches(const struct cell *cell, uint32_t sms, uint32_t resident)
{
    const uint32_t groups = workload_groups(cell->workload, cell->parameters);
    struct touched touched = {.in_flight = workload_steps(cell->workload, cell->parameters) / groups};

    for (uint32_t group = 0; group < groups; group++) {
        for (uint32_t block = 0; block < resident * sms && block < cell_blocks(cell); block += sms)
            touch(cell, block, group, &touched);
        memcpy(touched.before, touched.now, sizeof(touched.now));
    }
    return (double)touched.waits / (double)touched.loads * groups;
}
