/* SPDX-License-Identifier: MIT */
#include "access.h"

#include <inttypes.h>
#include <string.h>

#include "log.h"

/* Table elements are numbered from 0; element >> shift numbers what holds it. */
enum { ELEMENT_SHIFT = 0, SECTOR_SHIFT = 3, LINE_SHIFT = 4 };

_Static_assert(sizeof(uint32_t) << SECTOR_SHIFT == ACCESS_SECTOR_BYTES, "elements in a sector");
_Static_assert(sizeof(uint32_t) << LINE_SHIFT == ACCESS_LINE_BYTES, "elements in a line");

/* Distinct things that the loads of some warps touch, summed over the loads. */
struct distinct_counts {
    uint64_t addresses, lines, sectors;
};

/* What the walk of one cell carries along. */
struct walk {
    struct access_set seen; /* scratch of distinct_groups */
    struct access_set used; /* elements that any load has read */
};

/* Distinct values of index[] >> shift, into groups[]. Branches would be mispredicted: there are none. */
static uint32_t distinct_groups(const uint32_t *index, uint32_t threads, uint32_t shift,
                                struct access_set *seen, uint32_t *groups)
{
    uint32_t count = 0;

    for (uint32_t thread = 0; thread < threads; thread++) {
        const uint32_t group = index[thread] >> shift;
        uint64_t *word = &seen->words[group / 64];
        const uint64_t bit = UINT64_C(1) << group % 64;

        groups[count] = group;
        count += (*word & bit) == 0;
        *word |= bit;
    }
    for (uint32_t i = 0; i < count; i++)
        seen->words[groups[i] / 64] = 0;
    return count;
}

/* Whether all threads read one element: every index equals its neighbour. */
static bool is_uniform(const uint32_t *index, uint32_t threads)
{
    return memcmp(index, index + 1, (threads - 1) * sizeof(*index)) == 0;
}

uint32_t access_distinct(const uint32_t *index, uint32_t threads, struct access_set *seen, uint32_t *distinct)
{
    if (is_uniform(index, threads)) {
        distinct[0] = index[0];
        return 1;
    }
    return distinct_groups(index, threads, ELEMENT_SHIFT, seen, distinct);
}

static void count_warp(struct walk *walk, const uint32_t *index, uint32_t threads,
                       struct distinct_counts *counts)
{
    uint32_t elements[CBANK_WARP_THREADS], groups[CBANK_WARP_THREADS];
    const uint32_t addresses = access_distinct(index, threads, &walk->seen, elements);

    counts->addresses += addresses;
    counts->lines += distinct_groups(elements, addresses, LINE_SHIFT, &walk->seen, groups);
    counts->sectors += distinct_groups(elements, addresses, SECTOR_SHIFT, &walk->seen, groups);
    for (uint32_t i = 0; i < addresses; i++)
        walk->used.words[elements[i] / 64] |= UINT64_C(1) << elements[i] % 64;
}

static enum status count_block(const struct cell *cell, struct walk *walk, const uint32_t *index,
                               uint32_t threads, struct distinct_counts *counts)
{
    uint32_t highest = 0;

    for (uint32_t thread = 0; thread < threads; thread++)
        highest = index[thread] > highest ? index[thread] : highest;
    if (highest >= path_length(cell->path))
        return log_error(STATUS_USAGE,
                         "pattern %s reads element %" PRIu32
                         " of a table of %u; correct its formula in patterns.def",
                         cell->pattern->name, highest, path_length(cell->path));

    *counts = (struct distinct_counts){0};
    for (uint32_t thread = 0; thread < threads; thread += CBANK_WARP_THREADS) {
        const uint32_t left = threads - thread;

        count_warp(walk, index + thread, left < CBANK_WARP_THREADS ? left : CBANK_WARP_THREADS, counts);
    }
    return STATUS_OK;
}

/* Walks all blocks at one step. In most patterns most blocks read what the block before them read: their
 * counts are those of that block. */
static enum status count_step(const struct cell *cell, uint32_t step, struct walk *walk,
                              struct access_counts *out)
{
    uint32_t buffers[2][CELL_BLOCK_SIZE_MAX];
    uint32_t threads_before = 0;
    struct distinct_counts counts = {0};

    for (uint32_t block = 0; block < out->blocks; block++) {
        const uint64_t left = cell->elements - (uint64_t)block * cell->block_size;
        const uint32_t threads = left < cell->block_size ? (uint32_t)left : cell->block_size;
        uint32_t *index = buffers[block % 2];
        const uint32_t *before = buffers[(block + 1) % 2];

        cell->pattern->block_indices(block, threads, step, path_length(cell->path), pattern_numbers(cell->parameters), index);
        if (threads != threads_before || memcmp(index, before, threads * sizeof(*index)) != 0) {
            const enum status status = count_block(cell, walk, index, threads, &counts);

            if (status != STATUS_OK)
                return status;
        }
        out->addresses += counts.addresses;
        out->lines += counts.lines;
        out->sectors += counts.sectors;
        threads_before = threads;
    }
    return STATUS_OK;
}

static uint64_t divide_up(uint64_t value, uint64_t by)
{
    return (value + by - 1) / by;
}

enum status access_count(const struct cell *cell, struct access_counts *out)
{
    struct walk walk = {0};
    struct access_counts counts = {.blocks = cell_blocks(cell)};
    uint64_t footprint = 0;

    for (uint32_t step = 0; step < workload_steps(cell->workload, cell->parameters); step++) {
        const enum status status = count_step(cell, step, &walk, &counts);

        if (status != STATUS_OK)
            return status;
    }
    for (size_t i = 0; i < sizeof(walk.used.words) / sizeof(walk.used.words[0]); i++)
        footprint += (uint64_t)__builtin_popcountll(walk.used.words[i]);

    /* Blocks are whole warps, so that warp w of the grid has elements 32 w .. 32 w + 31. */
    counts.warps_launched = counts.blocks * (cell->block_size / CBANK_WARP_THREADS);
    counts.warps_active = divide_up(cell->elements, CBANK_WARP_THREADS);
    counts.payload_loads = counts.warps_active * workload_steps(cell->workload, cell->parameters);
    counts.stream_loads = counts.warps_active;
    counts.stream_sectors = divide_up(cell->elements * sizeof(uint32_t), ACCESS_SECTOR_BYTES);
    counts.footprint_bytes = footprint * sizeof(uint32_t);
    *out = counts;
    return STATUS_OK;
}

/* Whether the counts of one cell are those of the other: path and regime do not matter. */
static bool same_loads(const struct cell *a, const struct cell *b)
{
    return a->workload == b->workload && a->pattern == b->pattern && a->elements == b->elements &&
           a->block_size == b->block_size;
}

enum status access_count_next(const struct cell *(*cell_at)(const void *list, size_t i), const void *list,
                              size_t index, struct access_counts *counts)
{
    const struct cell *cell = cell_at(list, index);

    for (size_t i = 0; i < index; i++)
        if (same_loads(cell_at(list, i), cell)) {
            counts[index] = counts[i];
            return STATUS_OK;
        }
    return access_count(cell, &counts[index]);
}
