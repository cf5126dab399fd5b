/* SPDX-License-Identifier: MIT */
#include "model_gather.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "model.h"

/* -- L2 ------------------------------------------------------------------------------------------------ */

/* What L2 keeps in one slice. */
enum { L2_LINE_BYTES = 128 };

/* Blocks that are looked at for what a launch asks L2 for, where they differ. */
enum { L2_BLOCKS = 16 };

/* Lines of L2 that hold the table; and addresses that it is tried at: multiples of 512 bytes, each of 16 within 8 KiB once. */
enum { TABLE_L2_LINES = CBANK_TABLE_BYTES / L2_LINE_BYTES, BASES = 16, BASE_LINES = 3 * 512 / L2_LINE_BYTES };

/* The slice of a line. Found for GH100: loads of 2, 4, 8, 16 and 32 lines of results/h200/serialization.json, of tables in 24
 * places, take as long as the busiest of these slices. */
static uint32_t slice_of(uint32_t line)
{
    return (((line >> 3) ^ (line >> 1 & 1) << 2) & 7) + (line >> 7 << 3);
}

enum { SLICES = 8 + ((TABLE_L2_LINES + BASES * BASE_LINES) >> 7 << 3) };

/* What was asked for: lines of each slice, by tables at each address; and of the first block, whose loads are at a time, sectors. */
struct wanted {
    double slices[BASES][SLICES];
    bool of_first; /* what comes next */
    double sectors[CBANK_TABLE_BYTES / ACCESS_SECTOR_BYTES], loads;
};

static void ask_l2(struct model_l2_asked *asked, struct wanted *wanted, const uint32_t *index, uint32_t threads,
                   uint32_t width)
{
    uint8_t sectors[TABLE_L2_LINES] = {0}; /* of each line: a set */

    for (uint32_t i = 0; i < threads; i++) {
        const uint32_t byte = index[i] * width;
        const uint32_t line = byte / L2_LINE_BYTES;
        const uint8_t sector = (uint8_t)(1u << byte % L2_LINE_BYTES / ACCESS_SECTOR_BYTES);

        for (uint32_t k = 0; sectors[line] == 0 && k < BASES; k++)
            wanted->slices[k][slice_of(line + k * BASE_LINES)]++;
        asked->lines += sectors[line] == 0;
        asked->sectors += !(sectors[line] & sector);
        wanted->sectors[byte / ACCESS_SECTOR_BYTES] += wanted->of_first && !(sectors[line] & sector);
        sectors[line] |= sector;
    }
    asked->loads++;
    wanted->loads += wanted->of_first;
}

/* The lines of the busiest slice: the mean over the addresses. */
static double find_busiest(const struct wanted *wanted)
{
    double sum = 0;

    for (uint32_t k = 0; k < BASES; k++) {
        double busiest = 0;

        for (uint32_t i = 0; i < SLICES; i++)
            busiest = fmax(busiest, wanted->slices[k][i]);
        sum += busiest;
    }
    return sum / BASES;
}

/* See struct model_l2_asked. */
static double find_alike(const struct wanted *wanted)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < sizeof(wanted->sectors) / sizeof(wanted->sectors[0]); i++) {
        sum += wanted->sectors[i];
        squares += wanted->sectors[i] * wanted->sectors[i];
    }
    return squares / sum / wanted->loads;
}

struct model_l2_asked model_l2_sample(const struct cell *cell)
{
    const uint32_t grid = cell_blocks(cell), sampled = !cell->indices ? 1 : grid < L2_BLOCKS ? grid : L2_BLOCKS;
    struct model_l2_asked asked = {0};
    struct wanted wanted = {0};
    uint32_t index[CELL_BLOCK_SIZE_MAX];

    for (uint32_t i = 0; i < sampled * workload_steps(cell->workload, cell->parameters); i++) {
        const uint32_t block = (uint32_t)((uint64_t)(i % sampled) * grid / sampled);
        const uint32_t threads = cell->pattern->scope == INDEX_IMMEDIATE ? 1 : cell_block_threads(cell, block);

        wanted.of_first = i % sampled == 0;
        cell_indices(cell, block, threads, i / sampled, index);
        for (uint32_t first = 0; first < threads; first += CBANK_WARP_THREADS)
            ask_l2(&asked, &wanted, index + first,
                   threads - first < CBANK_WARP_THREADS ? threads - first : CBANK_WARP_THREADS,
                   table_width(cell->parameters));
    }
    asked.busiest = find_busiest(&wanted);
    asked.alike = find_alike(&wanted);
    return asked;
}

/* -- L1 ------------------------------------------------------------------------------------------------ */

/* Tables of CBANK_TABLE_BYTES stayed in L1 in all that was measured. Cards say nothing of its size. */
bool model_lacks(const struct cell *cell, const struct card *card, char out[CARD_LACKS_BYTES])
{
    if (card_lacks(card, out))
        return true;
    if (table_is_large(cell->path, cell->parameters))
        snprintf(out, CARD_LACKS_BYTES, "how much L1 keeps of a table of more than %u bytes", CBANK_TABLE_BYTES);
    return table_is_large(cell->path, cell->parameters);
}

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

uint32_t model_first_block_sectors(const struct cell *cell, uint32_t steps)
{
    const uint32_t threads = cell->pattern->scope == INDEX_IMMEDIATE ? 1 : cell_block_threads(cell, 0);
    bool seen[CBANK_TABLE_BYTES / ACCESS_SECTOR_BYTES] = {false};
    uint32_t index[CELL_BLOCK_SIZE_MAX];
    const uint32_t width = table_width(cell->parameters);
    uint32_t sectors = 0;

    for (uint32_t step = 0; step < steps; step++) {
        cell_indices(cell, 0, threads, step, index);
        for (uint32_t thread = 0; thread < threads; thread++) {
            bool *sector = &seen[index[thread] * width / ACCESS_SECTOR_BYTES];

            sectors += !*sector;
            *sector = true;
        }
    }
    return sectors;
}

/* -- copies of the table ----------------------------------------------------------------------------------- */

/* Rounds of copying a table several times, or once where nothing is in L1 yet. Of GH100: results/advise/h200.json. */
enum { COPIES_ROUND_CYCLES = 55, COPY_CYCLES = 380 };

/* Copying the table several times: an entry a thread and round, and rounds wait for sectors that are not there. */
static double copies_cycles(const struct cell *cell, double copies)
{
    const double rounds = ceil(cell_length(cell) * copies / cell->block_size);
    const double sectors = ceil((double)table_bytes(cell->path, cell->parameters) / ACCESS_SECTOR_BYTES);

    return rounds * COPIES_ROUND_CYCLES + fmin(rounds, sectors) * MODEL_FIRST_CYCLES;
}

/* Copying the table once: four words of a thread at a time, and what is left of them one by one. All blocks of a grid that strides
 * do so at the same time, when nothing is in L1 yet. */
static double once_cycles(const struct cell *cell, const struct card *card, double rounds)
{
    const double whole = floor(rounds / 4), left = ceil(rounds - 4 * whole);

    return cell_strides(cell) ? (whole + left) * COPY_CYCLES
                              : card->staging_wait_cycles + ceil(rounds) * card->staging_round_cycles;
}

double model_staging_cycles(const struct cell *cell, const struct card *card)
{
    const bool exchanged = cell->path->unit == UNIT_REGISTERS;
    const double words = cell_staged_bytes(cell) / (double)sizeof(uint32_t);
    const uint32_t copies = table_copies(cell->path, cell->parameters);

    if (words == 0)
        return 0;
    if (copies > 1)
        return card->staging_wait_cycles + copies_cycles(cell, copies);
    return once_cycles(cell, card, exchanged ? 1 : words / cell->block_size);
}
