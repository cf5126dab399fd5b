/* SPDX-License-Identifier: MIT
 * Exact counts by walking the grid. A warp's load reads the elements index[0..31]; what it costs is
 * how many different parts of memory they are in:
 *
 *   index        3 3 7 8 ...      distinct elements     addresses of a constant load
 *   index >> 3   0 0 0 1 ...      distinct sectors      requests of L2
 *   index >> 5   0 0 0 0 ...      distinct lines        tags of L1
 *
 * Most blocks read what the block before read, and most loads are of one element: both are seen
 * first, since a grid has up to 12,800,000 threads. */
#include "access.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "payload.h"
#include "table.h"
#include "user_cell.h"

/* State of the pass over the grid of one cell. */
struct pass {
    uint32_t width, copies;      /* bytes of an element; copies of the table in shared memory */
    /* scratch of distinct_groups for the table and its copies; owned, like the next ones */
    uint32_t *marks;
    /* the number of the last load that touched each, 0 for none */
    uint32_t *elements, *sectors, *lines, *tags;
    uint32_t loads, earlier; /* loads so far; those of them before this block and step */
    struct access_counts counts; /* of the payload of the last block */
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

/* Writes the distinct values of index[] >> shift into groups[], in the order of the first thread of
 * each. Elements are numbered from 0; element >> shift is the number of the line or sector that
 * holds it. marks[] has the number of the current load, and for each group the load that last read
 * it. The code avoids branches, which would be mispredicted, and bits of a word, which would wait
 * for each other. */
static uint32_t distinct_groups(const uint32_t *index, uint32_t threads, uint32_t shift,
                                uint32_t *marks, uint32_t *groups)
{
    const uint32_t load = ++marks[0];
    uint32_t count = 0;

    if (is_uniform(index, threads))
        threads = 1;
    for (uint32_t thread = 0; thread < threads; thread++) {
        const uint32_t group = index[thread] >> shift;

        groups[count] = group;
        count += marks[1 + group] != load;
        marks[1 + group] = load;
    }
    return count;
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

/* Counts in one pass what distinct_groups would count in three. */
static void count_warp(struct pass *pass, const uint32_t *index, uint32_t threads)
{
    const uint32_t to_sector = 5 - (uint32_t)__builtin_ctz(pass->width), load = ++pass->loads;
    const uint32_t different = is_uniform(index, threads) ? 1 : threads;
    uint32_t tags[ACCESS_TAG_BANKS] = {0}, fullest = 0;
    const uint32_t words = pass->width / ACCESS_BANK_BYTES;
    uint32_t elements[CBANK_WARP_THREADS], copied[CBANK_WARP_THREADS], groups[CBANK_WARP_THREADS],
        addresses = 0;

    for (uint32_t thread = 0; thread < different; thread++) {
        const uint32_t element = index[thread], sector = element >> to_sector;
        const uint32_t line = sector / (ACCESS_LINE_BYTES / ACCESS_SECTOR_BYTES);
        const uint32_t tag = line / (ACCESS_TAG_BYTES / ACCESS_LINE_BYTES);

        elements[addresses] = element;
        addresses += pass->elements[element] != load;
        pass->counts.sectors += pass->sectors[sector] != load;
        pass->counts.lines += pass->lines[line] != load;
        pass->counts.block_lines += pass->lines[line] <= pass->earlier;
        tags[tag % ACCESS_TAG_BANKS] += pass->tags[tag] != load;
        fullest += tags[tag % ACCESS_TAG_BANKS] > fullest; /* it grows by one at a time */
        pass->elements[element] = pass->sectors[sector] = pass->lines[line] = pass->tags[tag] =
            load;
    }
    pass->counts.addresses += addresses;
    pass->counts.tag_wavefronts += fullest;
    /* neighbouring threads read neighbouring copies, which lie entry by entry */
    if (pass->copies > 1) {
        for (uint32_t thread = 0; thread < threads; thread++)
            copied[thread] = index[thread] * pass->copies + thread % pass->copies;
        index = copied;
        addresses = distinct_groups(copied, threads, 0, pass->marks, elements);
    }
    /* Elements in one word are one access to its bank. Elements of several words are served part by
     * part of the warp. */
    if (words == 1 || addresses == 1) {
        pass->counts.wavefronts += fullest_bank(elements, addresses, 1);
    } else if (words == 0) {
        const uint32_t shift = ACCESS_BANK_BYTES / pass->width / 2;

        addresses = distinct_groups(elements, addresses, shift, pass->marks, groups);
        pass->counts.wavefronts += fullest_bank(groups, addresses, 1);
    } else {
        for (uint32_t first = 0, part = CBANK_WARP_THREADS / words; first < threads;
             first += part) {
            const uint32_t left = threads - first < part ? threads - first : part;

            addresses = distinct_groups(index + first, left, 0, pass->marks, groups);
            pass->counts.wavefronts += fullest_bank(groups, addresses, words);
        }
    }
}

/* Counts the loads of a warp's elements, part by part. */
static void count_parts(struct pass *pass, const uint32_t *index, uint32_t threads, uint32_t parts)
{
    uint32_t read[CBANK_WARP_THREADS];

    for (uint32_t part = 0; part < parts; part++) {
        for (uint32_t thread = 0; thread < threads; thread++)
            read[thread] = index[thread] * parts + part;
        count_warp(pass, read, threads);
    }
}

/* Goes over all blocks at one step. Most blocks read the same as the block before; then its counts
 * are used again. Where all threads of a block, or of the grid, read one element of one table,
 * every warp has the counts of one thread. STATUS_USAGE, logged, if a thread reads beyond the
 * table. */
static enum status count_blocks(const struct cell *cell, uint32_t step, struct pass *pass,
                                struct access_counts *out)
{
    const enum index_scope scope = pass->copies == 1 ? cell->pattern->scope : INDEX_THREAD;
    const bool alike =
        cell->workload->index != INDEX_LOADED && !strstr(cell->pattern->formula, "block");
    const uint64_t blocks = scope == INDEX_IMMEDIATE ? 1 : cell_blocks(cell);
    const uint32_t length = cell_length(cell), parts = table_width(cell->parameters) / pass->width;
    uint32_t buffers[2][CELL_BLOCK_SIZE_MAX], highest = 0;

    for (uint32_t block = 0; block < blocks; block++) {
        const uint32_t all = cell_block_threads(cell, block),
                       threads = scope == INDEX_THREAD ? all : 1;
        const uint64_t warps = divide_up(all, CBANK_WARP_THREADS);
        const uint64_t times = scope == INDEX_THREAD  ? 1
                               : scope == INDEX_BLOCK ? warps
                                                      : out->warps_active;
        bool same = block > 0 && cell_block_threads(cell, block - 1) == all;
        const uint32_t *index = buffers[block % 2];

        if (!same || !alike) {
            cell_indices(cell, block, threads, step, buffers[block % 2]);
            same = same && memcmp(buffers[0], buffers[1], threads * sizeof(buffers[0][0])) == 0;
        }
        for (uint32_t thread = 0; !same && thread < threads; thread++)
            highest = index[thread] > highest ? index[thread] : highest;
        if (highest >= length)
            return log_error(STATUS_USAGE,
                             "%s reads element %" PRIu32 " of a table of %" PRIu32
                             "; correct its row in %ss.def",
                             cell->pattern->name, highest, length,
                             cell_pattern_table(cell->workload)->what);
        if (!same) {
            pass->counts = (struct access_counts){0};
            pass->earlier = pass->loads;
            for (uint32_t thread = 0; thread < threads; thread += CBANK_WARP_THREADS)
                count_parts(pass, index + thread,
                            threads - thread < CBANK_WARP_THREADS ? threads - thread
                                                                  : CBANK_WARP_THREADS,
                            parts);
        }
        out->addresses += times * pass->counts.addresses;
        out->lines += times * pass->counts.lines;
        out->block_lines +=
            (scope == INDEX_IMMEDIATE ? cell_blocks(cell) : 1) * pass->counts.block_lines;
        out->sectors += times * pass->counts.sectors;
        out->wavefronts += times * pass->counts.wavefronts;
        out->tag_wavefronts += times * pass->counts.tag_wavefronts;
    }
    return STATUS_OK;
}

/* Counts everything except the payload. Blocks are whole warps: warp w of the grid has elements 32
 * w to 32 w + 31. */
static struct access_counts count_launch(const struct cell *cell)
{
    const struct problem problem = cell_problem(cell);
    const struct workload_stream stream =
        workload_stream(&problem, ACCESS_SECTOR_BYTES / sizeof(uint32_t));
    const uint64_t blocks = cell_grid_blocks(cell),
                   warps = blocks * (cell->block_size / CBANK_WARP_THREADS);
    const uint64_t active = divide_up(cell->elements, CBANK_WARP_THREADS);
    const uint64_t staged = cell_staged_bytes(cell),
                   copies = table_copies(cell->path, cell->parameters);
    const uint64_t sectors =
        divide_up(table_bytes(cell->path, cell->parameters), ACCESS_SECTOR_BYTES);
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
        /* each warp of the first round with an element loads every word */
    } else if (cell->path->unit == UNIT_SELECT) {
        counts.staging_loads = (warps < active ? warps : active) * path_held(cell->path);
        counts.staging_sectors = counts.staging_loads;
        /* each block makes the copies, a warp 32 neighbouring entries of them at a time */
    } else if (copies > 1) {
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
    /* Each instruction of a load reads a part of an element: counts are of a table of such parts.
     * Selections read it all. */
    const uint32_t pieces = payload_pieces(cell),
                   parts = cell->path->unit == UNIT_SELECT ? 1 : pieces;
    const uint32_t width = table_width(cell->parameters) / parts,
                   copies = table_copies(cell->path, cell->parameters);
    const size_t length = (size_t)cell_length(cell) * parts, marks = 1 + length * copies;
    const size_t sectors = divide_up(length * width, ACCESS_SECTOR_BYTES);
    const size_t lines = divide_up(length * width, ACCESS_LINE_BYTES);
    const size_t tags = divide_up(length * width, ACCESS_TAG_BYTES);
    struct pass pass = {.width = width, .copies = copies};
    enum status status = STATUS_OK;

    pass.marks = calloc(marks + length + sectors + lines + tags, sizeof(*pass.marks));
    if (!pass.marks)
        return log_memory("the elements of a table of %" PRIu32 " bytes",
                          table_bytes(cell->path, cell->parameters));
    pass.elements = pass.marks + marks;
    pass.sectors = pass.elements + length;
    pass.lines = pass.sectors + sectors;
    pass.tags = pass.lines + lines;
    for (uint32_t step = 0; step < steps && status == STATUS_OK; step++)
        status = count_blocks(cell, step, &pass, &counts);
    counts.payload_loads = counts.warps_active * steps * pieces;
    counts.addresses *= pieces / parts;
    counts.lines *= pieces / parts;
    counts.sectors *= pieces / parts;
    for (size_t i = 0; i < length; i++)
        counts.footprint_bytes += pass.elements[i] ? width : 0;
    for (size_t i = 0; i < lines; i++)
        counts.footprint_lines += pass.lines[i] != 0;
    free(pass.marks);
    if (status == STATUS_OK)
        *out = counts;
    return status;
}

/* Added to offsets: a whole number of lines, so that negative ones stay above 0. */
enum { OFFSET_BEGIN = 1u << 30 };

uint32_t access_warp_wavefronts(const uint32_t offsets[CBANK_WARP_THREADS], uint32_t width)
{
    const uint32_t words = width / ACCESS_BANK_BYTES, unit = words > 1 ? width : ACCESS_BANK_BYTES;
    const uint32_t part = CBANK_WARP_THREADS / (words > 1 ? words : 1);
    uint32_t wavefronts = 0;
    bool alike = true;

    for (uint32_t first = 0; first < CBANK_WARP_THREADS; first += part) {
        uint32_t elements[CBANK_WARP_THREADS], count = 0;

        for (uint32_t i = first; i < first + part; i++) {
            const uint32_t element = (OFFSET_BEGIN + offsets[i]) / unit;
            uint32_t k = 0;

            alike &= offsets[i] == offsets[0];
            while (k < count && elements[k] != element)
                k++;
            elements[k] = element;
            count += k == count;
        }
        wavefronts += fullest_bank(elements, count, words > 1 ? words : 1);
    }
    return alike ? 1 : wavefronts;
}

/* Whether a number is none of the first `count`. */
static bool is_new(const uint32_t *numbers, size_t count, uint32_t number)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return false;
    return true;
}

uint32_t access_warp_tag_wavefronts(const uint32_t offsets[CBANK_WARP_THREADS], uint32_t width)
{
    uint32_t lines[2 * CBANK_WARP_THREADS], tags[ACCESS_TAG_BANKS] = {0}, count = 0, fullest = 0;

    for (size_t i = 0; i < CBANK_WARP_THREADS; i++) {
        const uint32_t first = OFFSET_BEGIN + offsets[i], last = first + width - 1;

        for (uint32_t line = first / ACCESS_TAG_BYTES; line <= last / ACCESS_TAG_BYTES; line++) {
            if (!is_new(lines, count, line))
                continue;
            lines[count++] = line;
            fullest += tags[line % ACCESS_TAG_BANKS]++ == fullest; /* it grows by one at a time */
        }
    }
    return fullest;
}

uint32_t access_sectors(const int32_t *offsets, size_t count, uint32_t width)
{
    uint32_t found = 0, next = 0; /* sectors below `next` are counted */

    for (size_t i = 0; i < count; i++) {
        const uint32_t first = (OFFSET_BEGIN + (uint32_t)offsets[i]) / ACCESS_SECTOR_BYTES,
                       last =
                           (OFFSET_BEGIN + (uint32_t)offsets[i] + width - 1) / ACCESS_SECTOR_BYTES;

        if (last < next)
            continue;
        found += last + 1 - (first > next ? first : next);
        next = last + 1;
    }
    return found;
}

double access_requests_per_load(const struct cell *cell, const struct access_counts *access)
{
    const double loads = (double)access->payload_loads;

    if (loads == 0)
        return NAN;
    switch (cell->path->unit) {
    case UNIT_IDC:
        return (double)access->addresses / loads;
    case UNIT_L1:
    case UNIT_L2:
    case UNIT_TEXTURE:
        return (double)access->sectors / loads;
    case UNIT_SHARED:
        return (double)access->wavefronts / loads;
    default:
        return 1;
    }
}

enum status access_count_next(const struct cell *(*cell_at)(const void *list, size_t i),
                              const void *list, size_t index, struct access_counts *counts)
{
    enum { PAYLOAD = offsetof(struct access_counts, payload_loads) };
    const struct cell *b = cell_at(list, index);
    const bool loaded = b->workload->index == INDEX_LOADED;

    if (cell_blocks(b) == 0) {
        counts[index] = (struct access_counts){0};
        return STATUS_OK;
    }
    for (size_t i = 0; i < index; i++) {
        const struct cell *a = cell_at(list, i);

        /* Only the path's table matters and whether the path loads; the cache state does not
         * matter. Where indices are data, only parameters that change the table or the steps
         * matter. */
        if (counts[i].blocks == 0 || a->workload != b->workload || a->pattern != b->pattern ||
            a->elements != b->elements || a->block_size != b->block_size ||
            a->indices != b->indices || !a->path->loads != !b->path->loads ||
            table_bytes(a->path, a->parameters) != table_bytes(b->path, b->parameters) ||
            table_copies(a->path, a->parameters) != table_copies(b->path, b->parameters) ||
            payload_pieces(a) != payload_pieces(b))
            continue;
        if (loaded ? table_width(a->parameters) != table_width(b->parameters) ||
                         workload_steps(a->workload, a->parameters) !=
                             workload_steps(b->workload, b->parameters)
                   : memcmp(a->parameters, b->parameters, sizeof(a->parameters)) != 0)
            continue;
        counts[index] = count_launch(b);
        memcpy((char *)&counts[index] + PAYLOAD, (const char *)&counts[i] + PAYLOAD,
               sizeof(*counts) - PAYLOAD);
        return STATUS_OK;
    }
    return access_count(b, &counts[index]);
}
