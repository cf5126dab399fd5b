/* SPDX-License-Identifier: MIT */
#include "access.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "sass.h"
#include "table.h"

enum {
    SECTORS_OF_LINE = ACCESS_LINE_BYTES / ACCESS_SECTOR_BYTES,
    LINES_OF_TAG = ACCESS_TAG_BYTES / ACCESS_LINE_BYTES,
};

/* Distinct things that the loads of some warps touch, summed over the loads. */
struct distinct_counts {
    uint64_t addresses, lines, sectors, wavefronts, tag_wavefronts, block_lines;
};

/* State of the pass over the grid of one cell. */
struct walk {
    uint32_t width, width_log2;    /* bytes of an element */
    uint32_t copies;               /* of the table in shared memory */
    uint32_t *turns; /* scratch of distinct_groups for the table and its copies; owned, like the next ones */
    uint32_t *elements, *sectors, *lines, *tags; /* the number of the last load that touched each, 0 for none */
    uint32_t loads;
    uint32_t earlier; /* loads before those of this block and step */
    size_t length; /* of the table */
    struct distinct_counts counts; /* counts of the last block */
};

static uint64_t divide_up(uint64_t value, uint64_t by)
{
    return (value + by - 1) / by;
}

/* All threads read one element if every index equals its neighbour. */
static bool is_uniform(const uint32_t *index, uint32_t threads)
{
    return memcmp(index, index + 1, (threads - 1) * sizeof(*index)) == 0;
}

/* Writes the distinct values of index[] >> shift into groups[]. Elements are numbered from 0; element >> shift is the
 * number of the line or sector that holds it. The code avoids branches, which would be mispredicted, and bits of a
 * word, which would wait for each other. */
static uint32_t distinct_groups(const uint32_t *index, uint32_t threads, uint32_t shift, uint32_t *turns,
                                uint32_t *groups)
{
    const uint32_t turn = ++turns[0];
    uint32_t *const of = turns + 1;
    uint32_t count = 0;

    for (uint32_t thread = 0; thread < threads; thread++) {
        const uint32_t group = index[thread] >> shift;

        groups[count] = group;
        count += of[group] != turn;
        of[group] = turn;
    }
    return count;
}

uint32_t access_distinct(const uint32_t *index, uint32_t threads, uint32_t *turns, uint32_t *distinct)
{
    if (is_uniform(index, threads)) {
        distinct[0] = index[0];
        return 1;
    }
    return distinct_groups(index, threads, 0, turns, distinct);
}

/* The largest number of these elements that are in one bank. Elements have several words each. */
static uint32_t fullest_bank(const uint32_t *elements, uint32_t count, uint32_t words)
{
    uint8_t banks[ACCESS_BANKS] = {0};
    uint32_t fullest = 0;

    for (uint32_t i = 0; i < count; i++)
        for (uint32_t word = 0; word < words; word++) /* the fullest grows by one at a time */
            fullest += banks[(elements[i] * words + word) % ACCESS_BANKS]++ == fullest;
    return fullest;
}

/* The serialized cycles of a load whose distinct elements are in `elements`. Elements in one word are one access to its
 * bank. */
static uint32_t count_wavefronts(struct walk *walk, const uint32_t *index, uint32_t threads, const uint32_t *elements,
                                 uint32_t addresses)
{
    const uint32_t words = walk->width / ACCESS_BANK_BYTES;
    uint32_t groups[CBANK_WARP_THREADS], wavefronts = 0;

    if (words == 1 || addresses == 1)
        return fullest_bank(elements, addresses, 1);
    if (words == 0) {
        const uint32_t shift = ACCESS_BANK_BYTES / walk->width / 2;

        return fullest_bank(groups, distinct_groups(elements, addresses, shift, walk->turns, groups), 1);
    }
    for (uint32_t first = 0, part = CBANK_WARP_THREADS / words; first < threads; first += part) {
        const uint32_t left = threads - first < part ? threads - first : part;

        wavefronts += fullest_bank(groups, access_distinct(index + first, left, walk->turns, groups), words);
    }
    return wavefronts;
}

/* Counts in one pass what distinct_groups would count in three. */
static void count_warp(struct walk *walk, const uint32_t *index, uint32_t threads)
{
    const uint32_t to_sector = 5 - walk->width_log2, load = ++walk->loads;
    const uint32_t different = is_uniform(index, threads) ? 1 : threads;
    uint32_t *const touched = walk->elements, *const in_sectors = walk->sectors, *const in_lines = walk->lines;
    uint32_t *const in_tags = walk->tags, tags[ACCESS_TAG_BANKS] = {0}, fullest = 0;
    uint32_t elements[CBANK_WARP_THREADS], addresses = 0, sectors = 0, lines = 0, block_lines = 0;

    for (uint32_t thread = 0; thread < different; thread++) {
        const uint32_t element = index[thread], sector = element >> to_sector, line = sector / SECTORS_OF_LINE;
        const uint32_t tag = line / LINES_OF_TAG;

        elements[addresses] = element;
        addresses += touched[element] != load;
        sectors += in_sectors[sector] != load;
        lines += in_lines[line] != load;
        block_lines += in_lines[line] <= walk->earlier;
        tags[tag % ACCESS_TAG_BANKS] += in_tags[tag] != load;
        fullest += tags[tag % ACCESS_TAG_BANKS] > fullest; /* it grows by one at a time */
        touched[element] = in_sectors[sector] = in_lines[line] = in_tags[tag] = load;
    }
    walk->counts.addresses += addresses;
    walk->counts.sectors += sectors;
    walk->counts.lines += lines;
    walk->counts.block_lines += block_lines;
    walk->counts.tag_wavefronts += fullest;
    if (walk->copies > 1) { /* neighbouring threads read neighbouring copies, which lie entry by entry */
        uint32_t place[CBANK_WARP_THREADS];

        for (uint32_t thread = 0; thread < threads; thread++)
            place[thread] = index[thread] * walk->copies + thread % walk->copies;
        walk->counts.wavefronts +=
            count_wavefronts(walk, place, threads, elements, access_distinct(place, threads, walk->turns, elements));
    } else {
        walk->counts.wavefronts += count_wavefronts(walk, index, threads, elements, addresses);
    }
}

/* Counts the loads of a block's threads into walk->counts. STATUS_USAGE, logged, if one reads beyond the table. */
static enum status count_block(const struct cell *cell, struct walk *walk, const uint32_t *index, uint32_t threads)
{
    const uint32_t length = table_length(cell->path, cell->parameters);
    uint32_t highest = 0;

    for (uint32_t thread = 0; thread < threads; thread++)
        highest = index[thread] > highest ? index[thread] : highest;
    if (highest >= length)
        return log_error(STATUS_USAGE,
                         "%s reads element %" PRIu32 " of a table of %" PRIu32 "; correct its row in %ss.def",
                         cell->pattern->name, highest, length, cell_pattern_table(cell->workload)->what);
    walk->counts = (struct distinct_counts){0};
    walk->earlier = walk->loads;
    for (uint32_t thread = 0; thread < threads; thread += CBANK_WARP_THREADS) {
        const uint32_t left = threads - thread;

        count_warp(walk, index + thread, left < CBANK_WARP_THREADS ? left : CBANK_WARP_THREADS);
    }
    return STATUS_OK;
}

/* Goes over all blocks at one step. Most blocks read the same as the block before; then its counts are used again.
 * Where all threads of a block, or of the grid, read one element of one table, every warp has the counts of one
 * thread. */
static enum status count_blocks(const struct cell *cell, uint32_t step, struct walk *walk, struct access_counts *out)
{
    const enum index_scope scope = walk->copies == 1 ? cell->pattern->scope : INDEX_THREAD;
    const bool alike = cell_blocks_alike(cell);
    const uint64_t blocks = scope == INDEX_IMMEDIATE ? 1 : cell_blocks(cell);
    uint32_t buffers[2][CELL_BLOCK_SIZE_MAX];

    for (uint32_t block = 0; block < blocks; block++) {
        const uint32_t all = cell_block_threads(cell, block), threads = scope == INDEX_THREAD ? all : 1;
        const uint64_t warps = divide_up(all, CBANK_WARP_THREADS);
        const uint64_t times = scope == INDEX_THREAD ? 1 : scope == INDEX_BLOCK ? warps : out->warps_active;
        bool same = block > 0 && cell_block_threads(cell, block - 1) == all;

        if (!same || !alike) {
            cell_indices(cell, block, threads, step, buffers[block % 2]);
            same = same && memcmp(buffers[0], buffers[1], threads * sizeof(buffers[0][0])) == 0;
        }
        if (!same) {
            const enum status status = count_block(cell, walk, buffers[block % 2], threads);

            if (status != STATUS_OK)
                return status;
        }
        out->addresses += times * walk->counts.addresses;
        out->lines += times * walk->counts.lines;
        out->block_lines += (scope == INDEX_IMMEDIATE ? cell_blocks(cell) : 1) * walk->counts.block_lines;
        out->sectors += times * walk->counts.sectors;
        out->wavefronts += times * walk->counts.wavefronts;
        out->tag_wavefronts += times * walk->counts.tag_wavefronts;
    }
    return STATUS_OK;
}

/* Counts everything except the payload. Blocks are whole warps: warp w of the grid has elements 32 w to 32 w + 31. */
static struct access_counts count_launch(const struct cell *cell)
{
    const struct problem problem = cell_problem(cell);
    const struct workload_stream stream = workload_stream(&problem, ACCESS_SECTOR_BYTES / sizeof(uint32_t));
    const uint64_t blocks = cell_grid_blocks(cell), warps = blocks * (cell->block_size / CBANK_WARP_THREADS);
    const uint64_t active = divide_up(cell->elements, CBANK_WARP_THREADS);
    const uint64_t staged = cell_staged_bytes(cell), copies = table_copies(cell->path, cell->parameters);
    const uint64_t sectors = divide_up(table_bytes(cell->path, cell->parameters), ACCESS_SECTOR_BYTES);
    const uint64_t copied = divide_up(cell_length(cell) * copies, CBANK_WARP_THREADS);
    struct access_counts counts = {
        .blocks = blocks,
        .warps_launched = warps,
        .warps_active = active,
        .stream_loads = stream.loads,
        .stream_sectors = stream.sectors,
        .operations = workload_operations(&problem),
    };

    if (cell->path->unit == UNIT_REGISTERS) { /* each warp loads the entries that it exchanges */
        counts.staging_loads = warps;
        counts.staging_sectors = warps * sectors;
    } else if (cell->path->unit == UNIT_SELECT) { /* each warp of the first round with an element loads every word */
        counts.staging_loads = (warps < active ? warps : active) * path_held(cell->path);
        counts.staging_sectors = counts.staging_loads;
    } else if (copies > 1) { /* each block makes the copies, a warp 32 neighbouring entries of them at a time */
        counts.staging_loads = blocks * copied;
        counts.staging_sectors = blocks * (copied > sectors ? copied : sectors);
    } else { /* each block copies the table, a warp 32 neighbouring words at a time */
        counts.staging_loads = blocks * divide_up(staged, CBANK_WARP_THREADS * sizeof(uint32_t));
        counts.staging_sectors = blocks * divide_up(staged, ACCESS_SECTOR_BYTES);
    }
    return counts;
}

enum status access_count(const struct cell *cell, struct access_counts *out)
{
    struct access_counts counts = count_launch(cell);
    const uint32_t steps = cell->path->loads ? workload_steps(cell->workload, cell->parameters) : 0;
    const uint32_t pieces = image_pieces(cell);
    const uint32_t width = table_width(cell->parameters), copies = table_copies(cell->path, cell->parameters);
    const size_t length = cell_length(cell), turns = ACCESS_TURNS(length * copies);
    const size_t sectors = divide_up(length * width, ACCESS_SECTOR_BYTES);
    const size_t lines = divide_up(length * width, ACCESS_LINE_BYTES);
    const size_t tags = divide_up(length * width, ACCESS_TAG_BYTES);
    struct walk walk = {
        .width = width,
        .width_log2 = (uint32_t)__builtin_ctz(width),
        .copies = copies,
        .length = length,
        .turns = calloc(turns + length + sectors + lines + tags, sizeof(*walk.turns)),
    };
    enum status status = STATUS_OK;

    if (!walk.turns)
        return log_memory("the elements of a table of %" PRIu32 " bytes", table_bytes(cell->path, cell->parameters));
    walk.elements = walk.turns + turns;
    walk.sectors = walk.elements + length;
    walk.lines = walk.sectors + sectors;
    walk.tags = walk.lines + lines;
    for (uint32_t step = 0; step < steps && status == STATUS_OK; step++)
        status = count_blocks(cell, step, &walk, &counts);
    counts.payload_loads = counts.warps_active * steps * pieces;
    counts.addresses *= pieces;
    counts.lines *= pieces;
    counts.sectors *= pieces;
    for (size_t i = 0; status == STATUS_OK && i < walk.length; i++)
        counts.footprint_bytes += walk.elements[i] ? walk.width : 0;
    for (size_t i = 0; status == STATUS_OK && walk.lines + i < walk.tags; i++)
        counts.footprint_lines += walk.lines[i] != 0;
    free(walk.turns);
    if (status == STATUS_OK)
        *out = counts;
    return status;
}

/* Whether two cells make the same payload loads. Only the path's table matters and whether the path loads; the cache
 * state does not matter. */
static bool same_loads(const struct cell *a, const struct cell *b)
{
    const bool loaded = a->workload->index == INDEX_LOADED;

    if (a->workload != b->workload || a->pattern != b->pattern || a->elements != b->elements ||
        a->block_size != b->block_size || a->indices != b->indices || !a->path->loads != !b->path->loads)
        return false;
    /* Where indices are data, only parameters that change the table or the steps matter. */
    return (loaded ? table_width(a->parameters) == table_width(b->parameters) &&
                         workload_steps(a->workload, a->parameters) == workload_steps(b->workload, b->parameters)
                   : memcmp(a->parameters, b->parameters, sizeof(a->parameters)) == 0) &&
           table_bytes(a->path, a->parameters) == table_bytes(b->path, b->parameters) &&
           table_copies(a->path, a->parameters) == table_copies(b->path, b->parameters) &&
           image_pieces(a) == image_pieces(b);
}

double access_requests_per_load(const struct cell *cell, const struct access_counts *access)
{
    static const size_t requests[] = {
        [UNIT_IDC] = offsetof(struct access_counts, addresses),
        [UNIT_UNIFORM] = offsetof(struct access_counts, payload_loads),
        [UNIT_IMC] = offsetof(struct access_counts, payload_loads),
        [UNIT_L1] = offsetof(struct access_counts, sectors),
        [UNIT_L2] = offsetof(struct access_counts, sectors),
        [UNIT_TEXTURE] = offsetof(struct access_counts, sectors),
        [UNIT_SHARED] = offsetof(struct access_counts, wavefronts),
        [UNIT_REGISTERS] = offsetof(struct access_counts, payload_loads),
        [UNIT_SELECT] = offsetof(struct access_counts, payload_loads),
    };
    const char *counts = (const char *)access;

    if (access->payload_loads == 0)
        return NAN;
    return (double)*(const uint64_t *)(counts + requests[cell->path->unit]) / (double)access->payload_loads;
}

bool access_take(const struct cell *other, const struct access_counts *its, const struct cell *cell,
                 struct access_counts *counts)
{
    if (its->blocks == 0 || !same_loads(other, cell))
        return false;
    *counts = count_launch(cell);
    counts->payload_loads = its->payload_loads;
    counts->addresses = its->addresses;
    counts->lines = its->lines;
    counts->block_lines = its->block_lines;
    counts->sectors = its->sectors;
    counts->wavefronts = its->wavefronts;
    counts->tag_wavefronts = its->tag_wavefronts;
    counts->footprint_bytes = its->footprint_bytes;
    counts->footprint_lines = its->footprint_lines;
    return true;
}

enum status access_count_next(const struct cell *(*cell_at)(const void *list, size_t i), const void *list, size_t index,
                              struct access_counts *counts)
{
    const struct cell *cell = cell_at(list, index);

    for (size_t i = 0; i < index; i++)
        if (access_take(cell_at(list, i), &counts[i], cell, &counts[index]))
            return STATUS_OK;
    return access_count(cell, &counts[index]);
}
