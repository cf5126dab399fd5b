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
    uint64_t addresses, lines, sectors, wavefronts;
};

/* What the walk of one cell carries along. */
struct walk {
    struct access_set seen; /* scratch of distinct_groups */
    struct access_set used; /* elements that any load has read */
};

/* Distinct values of index[] >> shift, into groups[]. Branches would be mispredicted: there are none. */
static uint32_t distinct_groups(const uint32_t *index, uint32_t threads, uint32_t shift, struct access_set *seen,
                                uint32_t *groups)
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

/* The most of these elements that are in one bank. */
static uint32_t fullest_bank(const uint32_t *elements, uint32_t count)
{
    uint8_t banks[ACCESS_BANKS] = {0};
    uint8_t fullest = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint8_t in_bank = ++banks[elements[i] % ACCESS_BANKS];

        fullest = in_bank > fullest ? in_bank : fullest;
    }
    return fullest;
}

static void set_add(struct access_set *set, uint32_t element)
{
    set->words[element / 64] |= UINT64_C(1) << element % 64;
}

static void count_warp(struct walk *walk, const uint32_t *index, uint32_t threads, struct distinct_counts *counts)
{
    uint32_t elements[CBANK_WARP_THREADS], groups[CBANK_WARP_THREADS];
    const uint32_t addresses = access_distinct(index, threads, &walk->seen, elements);

    counts->addresses += addresses;
    counts->lines += distinct_groups(elements, addresses, LINE_SHIFT, &walk->seen, groups);
    counts->sectors += distinct_groups(elements, addresses, SECTOR_SHIFT, &walk->seen, groups);
    counts->wavefronts += fullest_bank(elements, addresses);
    for (uint32_t i = 0; i < addresses; i++)
        set_add(&walk->used, elements[i]);
}

static enum status check_index(const struct cell *cell, uint32_t index)
{
    if (index < path_length(cell->path))
        return STATUS_OK;
    return log_error(STATUS_USAGE,
                     "pattern %s reads element %" PRIu32 " of a table of %" PRIu32
                     "; correct its formula in patterns.def",
                     cell->pattern->name, index, path_length(cell->path));
}

static enum status count_block(const struct cell *cell, struct walk *walk, const uint32_t *index, uint32_t threads,
                               struct distinct_counts *counts)
{
    uint32_t highest = 0;
    enum status status;

    for (uint32_t thread = 0; thread < threads; thread++)
        highest = index[thread] > highest ? index[thread] : highest;
    status = check_index(cell, highest);
    if (status != STATUS_OK)
        return status;

    *counts = (struct distinct_counts){0};
    for (uint32_t thread = 0; thread < threads; thread += CBANK_WARP_THREADS) {
        const uint32_t left = threads - thread;

        count_warp(walk, index + thread, left < CBANK_WARP_THREADS ? left : CBANK_WARP_THREADS, counts);
    }
    return STATUS_OK;
}

/* Walks all blocks at one step. In most patterns most blocks read what the block before them read: their
 * counts are those of that block. */
static enum status count_blocks(const struct cell *cell, uint32_t step, struct walk *walk, struct access_counts *out)
{
    const struct pattern_numbers numbers = pattern_numbers(cell->parameters);
    uint32_t buffers[2][CELL_BLOCK_SIZE_MAX];
    uint32_t threads_before = 0;
    struct distinct_counts counts = {0};

    for (uint32_t block = 0; block < out->blocks; block++) {
        const uint64_t left = cell->elements - (uint64_t)block * cell->block_size;
        const uint32_t threads = left < cell->block_size ? (uint32_t)left : cell->block_size;
        uint32_t *index = buffers[block % 2];
        const uint32_t *before = buffers[(block + 1) % 2];

        cell->pattern->block_indices(block, threads, step, path_length(cell->path), numbers, index);
        if (threads != threads_before || memcmp(index, before, threads * sizeof(*index)) != 0) {
            const enum status status = count_block(cell, walk, index, threads, &counts);

            if (status != STATUS_OK)
                return status;
        }
        out->addresses += counts.addresses;
        out->lines += counts.lines;
        out->sectors += counts.sectors;
        out->wavefronts += counts.wavefronts;
        threads_before = threads;
    }
    return STATUS_OK;
}

/* The whole grid reads one element at this step. */
static enum status count_immediate(const struct cell *cell, uint32_t step, struct walk *walk, struct access_counts *out)
{
    const uint32_t index = cell->pattern->index(0, 0, step, path_length(cell->path), pattern_numbers(cell->parameters));
    const enum status status = check_index(cell, index);

    if (status != STATUS_OK)
        return status;
    set_add(&walk->used, index);
    out->addresses += out->warps_active;
    out->lines += out->warps_active;
    out->sectors += out->warps_active;
    out->wavefronts += out->warps_active;
    return STATUS_OK;
}

static enum status count_payload(const struct cell *cell, struct access_counts *out)
{
    const uint32_t steps = cell->path->loads ? workload_steps(cell->workload, cell->parameters) : 0;
    const bool immediate = cell->pattern->scope == INDEX_IMMEDIATE;
    struct walk walk = {0};

    for (uint32_t step = 0; step < steps; step++) {
        const enum status status =
            immediate ? count_immediate(cell, step, &walk, out) : count_blocks(cell, step, &walk, out);

        if (status != STATUS_OK)
            return status;
    }
    out->payload_loads = out->warps_active * steps;
    for (size_t i = 0; i < sizeof(walk.used.words) / sizeof(walk.used.words[0]); i++)
        out->footprint_bytes += sizeof(uint32_t) * (uint64_t)__builtin_popcountll(walk.used.words[i]);
    return STATUS_OK;
}

static uint64_t divide_up(uint64_t value, uint64_t by)
{
    return (value + by - 1) / by;
}

/* Every block copies the table, a warp 32 neighbouring elements at a time. */
static void count_staging(const struct cell *cell, struct access_counts *out)
{
    const uint64_t bytes = cell_staged_bytes(cell);

    out->staging_loads = out->blocks * divide_up(bytes, CBANK_WARP_THREADS * sizeof(uint32_t));
    out->staging_sectors = out->blocks * divide_up(bytes, ACCESS_SECTOR_BYTES);
}

enum status access_count(const struct cell *cell, struct access_counts *out)
{
    const struct problem problem = cell_problem(cell);
    const struct workload_stream stream = workload_stream(&problem, ACCESS_SECTOR_BYTES / sizeof(uint32_t));
    /* Blocks are whole warps, so that warp w of the grid has elements 32 w .. 32 w + 31. */
    struct access_counts counts = {
        .blocks = cell_blocks(cell),
        .warps_launched = (uint64_t)cell_blocks(cell) * (cell->block_size / CBANK_WARP_THREADS),
        .warps_active = divide_up(cell->elements, CBANK_WARP_THREADS),
        .stream_loads = stream.loads,
        .stream_sectors = stream.sectors,
        .operations = workload_operations(&problem),
    };
    const enum status status = count_payload(cell, &counts);

    count_staging(cell, &counts);
    if (status == STATUS_OK)
        *out = counts;
    return status;
}

/* Whether two cells have the same counts. A path matters by its table, by whether that is staged, and by whether it is
 * loaded from; the regime does not matter. */
static bool same_loads(const struct cell *a, const struct cell *b)
{
    return a->workload == b->workload && a->pattern == b->pattern && a->elements == b->elements &&
           a->block_size == b->block_size && memcmp(a->parameters, b->parameters, sizeof(a->parameters)) == 0 &&
           path_length(a->path) == path_length(b->path) && !a->path->loads == !b->path->loads &&
           cell_staged_bytes(a) == cell_staged_bytes(b);
}

enum status access_count_next(const struct cell *(*cell_at)(const void *list, size_t i), const void *list, size_t index,
                              struct access_counts *counts)
{
    const struct cell *cell = cell_at(list, index);

    for (size_t i = 0; i < index; i++)
        if (counts[i].blocks && same_loads(cell_at(list, i), cell)) {
            counts[index] = counts[i];
            return STATUS_OK;
        }
    return access_count(cell, &counts[index]);
}
