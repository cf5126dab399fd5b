/* SPDX-License-Identifier: MIT */
#include "model_l2.h"

#include "access.h"

/* What L2 keeps in one slice. */
enum { L2_LINE_BYTES = 128 };

/* Blocks that are looked at for what a launch asks L2 for, where they differ. */
enum { L2_BLOCKS = 16 };

/* Lines of L2 that hold the table. */
enum { TABLE_L2_LINES = CBANK_TABLE_BYTES / L2_LINE_BYTES };

/* The slice of a line of the table. Found for GH100: loads of 2, 4, 8, 16 and 32 lines of results/h200/serialization.json take as
 * long as the busiest of these slices. */
static uint32_t slice_of(uint32_t line)
{
    return (((line >> 3) ^ (line >> 1 & 1) << 2) & 7) + (line >> 7 << 3);
}

static void ask_l2(struct model_l2_asked *asked, const uint32_t *index, uint32_t threads, uint32_t width)
{
    uint8_t sectors[TABLE_L2_LINES] = {0}; /* of each line: a set */

    for (uint32_t i = 0; i < threads; i++) {
        const uint32_t byte = index[i] * width;

        sectors[byte / L2_LINE_BYTES] |= (uint8_t)(1u << byte % L2_LINE_BYTES / ACCESS_SECTOR_BYTES);
    }
    asked->loads++;
    for (uint32_t line = 0; line < TABLE_L2_LINES; line++) {
        asked->lines += sectors[line] != 0;
        asked->sectors += __builtin_popcount(sectors[line]);
        asked->slices[slice_of(line)] += sectors[line] != 0;
    }
}

struct model_l2_asked model_l2_sample(const struct cell *cell)
{
    const uint32_t grid = cell_blocks(cell), sampled = !cell->indices ? 1 : grid < L2_BLOCKS ? grid : L2_BLOCKS;
    struct model_l2_asked asked = {0};
    uint32_t index[CELL_BLOCK_SIZE_MAX];

    for (uint32_t i = 0; i < sampled * workload_steps(cell->workload, cell->parameters); i++) {
        const uint32_t block = (uint32_t)((uint64_t)(i % sampled) * grid / sampled);
        const uint32_t threads = cell->pattern->scope == INDEX_IMMEDIATE ? 1 : cell_block_threads(cell, block);

        cell_indices(cell, block, threads, i / sampled, index);
        for (uint32_t first = 0; first < threads; first += CBANK_WARP_THREADS)
            ask_l2(&asked, index + first, threads - first < CBANK_WARP_THREADS ? threads - first : CBANK_WARP_THREADS,
                   table_width(cell->parameters));
    }
    return asked;
}
