/* SPDX-License-Identifier: MIT */
#include "model_gather.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "log.h"
#include "model.h"
#include "stats.h"

/* -- L2 ------------------------------------------------------------------------------------------------ */

/* What L2 keeps in one slice. */
enum { L2_LINE_BYTES = 128, LINE_SECTORS = L2_LINE_BYTES / ACCESS_SECTOR_BYTES, MASKS = 1 << LINE_SECTORS };

/* Blocks that are looked at for what a launch asks L2 for, where they differ. */
enum { L2_BLOCKS = 16 };

/* Lines of L2 that hold the table; and places that it is tried at: those that it is measured in. */
enum { TABLE_L2_LINES = CBANK_TABLE_BYTES / L2_LINE_BYTES, PLACES = TABLE_PLACEMENTS };

/* Where lines lie. Found for GH100, by the times that lookups at random in tables of 33 bytes to 52 KB take in each of 24 places
 * (results/advise/h200.json): a page of 4 KB is in one stack of slices, eight of them. Four pages behind each other are in two
 * stacks, two in each; which, 16 bits of an address do not say. The next four pages have one of those stacks, and another. A
 * kilobyte of a page has two slices, for 256 bytes in turn; the next kilobyte has the next two. */
enum { PAGE_LINES = 32, CHUNK_PAGES = 4, KILOBYTE_LINES = 8, HALF_LINES = 2, STACK_SLICES = 8 };

enum { STACKS_MAX = 2 * TABLE_L2_LINES / PAGE_LINES / CHUNK_PAGES + 1 };

/* Which of the two stacks a page is in, for three ways of pairing four pages. */
static const uint8_t pairs[][CHUNK_PAGES] = {{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0}};

enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };

/* Of a chip with so many slices. */
static uint32_t stacks_of(uint32_t slices)
{
    return slices > STACK_SLICES ? slices / STACK_SLICES : 1;
}

/* Lines of L2 that hold the table of a cell. */
static uint32_t lines_of(const struct cell *cell)
{
    return (table_bytes(cell->path, cell->parameters) + L2_LINE_BYTES - 1) / L2_LINE_BYTES;
}

static uint32_t stack_of(uint32_t page, uint32_t place, uint32_t stacks)
{
    const uint32_t chunk = page / CHUNK_PAGES, turn = (13 * place + chunk) / CHUNK_PAGES;

    return (chunk + (pairs[turn % PAIRS][page % CHUNK_PAGES] ^ (turn / PAIRS & 1))) % stacks;
}

static uint32_t slice_of(uint32_t line, uint32_t place, uint32_t stacks)
{
    const uint32_t at = line + table_placement_bytes(place) / L2_LINE_BYTES, page = at / PAGE_LINES;

    return stack_of(page, place, stacks) * STACK_SLICES + at / KILOBYTE_LINES % 4 * 2 + ((at / HALF_LINES ^ page) & 1);
}

/* Turns of a slice for a request of so many sectors of a line: one that it answers alone, and one that it answers with another's;
 * and of a line, which is not read for the next before it was for this. By the same lookups; what is answered with another's,
 * by loads of the same lines in results/h200/serialization.json. */
static const double turns_alone[LINE_SECTORS + 1] = {0, 1, 1, 1.21, 1.66};
static const double turns_shared[LINE_SECTORS + 1] = {0, 0.47, 0.48, 0.495, 0.51};
static const double turns_line[LINE_SECTORS + 1] = {0, 0.495, 0.533, 0.64, 0.745};

/* Of requests that are alike with this chance a power of it is answered with another's. By the lookups. */
enum { ALIKE_POWER = 3 };

/* Requests for each set of sectors of a line; the first, of none: all of the line. */
struct requests {
    uint16_t counts[TABLE_L2_LINES][MASKS];
};

/* What was asked for: of each line, requests for so many of its sectors; and requests of this step and of the one before, whose
 * loads are at a time. */
struct wanted {
    uint32_t lines; /* that hold the table */
    uint8_t sectors[TABLE_L2_LINES]; /* of each line: a set, that a load asks for */
    uint32_t asked[TABLE_L2_LINES][LINE_SECTORS + 1];
    struct requests now, before;
    double warps, before_warps; /* of these steps */
    /* Of all steps: pairs of a request and another load; of those, what wants the same sectors, or, of one step, the same line. */
    double pairs, alike, step_pairs, lines_alike;
};

static void ask_l2(struct model_l2_asked *asked, struct wanted *wanted, const uint32_t *index, uint32_t threads,
                   uint32_t width)
{
    uint32_t lines[CBANK_WARP_THREADS], count = 0;

    for (uint32_t i = 0; i < threads; i++) {
        const uint32_t byte = index[i] * width, line = byte / L2_LINE_BYTES;

        lines[count] = line;
        count += wanted->sectors[line] == 0;
        wanted->sectors[line] |= (uint8_t)(1u << byte % L2_LINE_BYTES / ACCESS_SECTOR_BYTES);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *const sectors = &wanted->sectors[lines[i]];

        wanted->asked[lines[i]][__builtin_popcount(*sectors)]++;
        wanted->now.counts[lines[i]][*sectors]++;
        wanted->now.counts[lines[i]][0]++;
        *sectors = 0;
    }
    asked->lines += count;
    asked->loads++;
    wanted->warps++;
}

/* The step ends: counts pairs within it, and with the step before. */
static void end_step(struct wanted *wanted)
{
    for (uint32_t line = 0; line < wanted->lines; line++) {
        const uint16_t *const now = wanted->now.counts[line], *const before = wanted->before.counts[line];

        wanted->step_pairs += now[0] * (wanted->warps - 1);
        wanted->lines_alike += (double)now[0] * (now[0] - 1);
        wanted->pairs += now[0] * (wanted->warps - 1 + wanted->before_warps);
        for (uint32_t mask = 1; mask < MASKS; mask++)
            wanted->alike += (double)now[mask] * (now[mask] - 1 + before[mask]);
    }
    memcpy(wanted->before.counts, wanted->now.counts, wanted->lines * sizeof(*wanted->now.counts));
    memset(wanted->now.counts, 0, wanted->lines * sizeof(*wanted->now.counts));
    wanted->before_warps = wanted->warps;
    wanted->warps = 0;
}

/* A load that is alone is like another one. */
static double share_of(double count, double of)
{
    return of > 0 ? count / of : 1;
}

/* Turns for all that was asked of a line, where a part of it is answered with another's, in so many turns each. */
static double line_turns(const struct wanted *wanted, uint32_t line, double part, const double with[LINE_SECTORS + 1])
{
    double turns = 0;

    for (uint32_t i = 1; i <= LINE_SECTORS; i++)
        turns += wanted->asked[line][i] * ((1 - part) * turns_alone[i] + part * with[i]);
    return turns;
}

/* What the busiest slice has of what there is of each line: over the places, as a time is (series.h). */
static double busiest_slice(const double *of_lines, uint32_t lines, uint32_t stacks)
{
    double busiest[PLACES], scratch[PLACES];

    for (uint32_t k = 0; k < PLACES; k++) {
        double sums[STACKS_MAX * STACK_SLICES] = {0}, most = 0;

        for (uint32_t line = 0; line < lines; line++) {
            double *const sum = &sums[slice_of(line, k, stacks)];

            *sum += of_lines[line];
            most = fmax(most, *sum);
        }
        busiest[k] = most;
    }
    return stats_trimmed_mean(busiest, PLACES, 1, scratch).value;
}

static double busiest_turns(const struct wanted *wanted, double part, uint32_t stacks)
{
    double turns[TABLE_L2_LINES];

    for (uint32_t line = 0; line < wanted->lines; line++)
        turns[line] = line_turns(wanted, line, part, turns_shared);
    return busiest_slice(turns, wanted->lines, stacks);
}

/* And the lines that loads ask for at a time are one by one. */
static double find_turns(const struct wanted *wanted, const struct model_l2_asked *asked, uint32_t stacks)
{
    const double part = pow(share_of(wanted->alike, wanted->pairs), ALIKE_POWER);
    const double lines_alike = share_of(wanted->lines_alike, wanted->step_pairs);
    double one_by_one = 0;

    for (uint32_t line = 0; line < wanted->lines; line++)
        one_by_one += line_turns(wanted, line, part, turns_line);
    return fmax(busiest_turns(wanted, part, stacks), one_by_one * lines_alike * asked->loads / asked->lines);
}

/* What the warps of a block want in a step. */
static void ask_block(const struct cell *cell, uint32_t block, uint32_t step, struct model_l2_asked *asked,
                      struct wanted *wanted)
{
    const uint32_t threads = cell->pattern->scope == INDEX_IMMEDIATE ? 1 : cell_block_threads(cell, block);
    uint32_t index[CELL_BLOCK_SIZE_MAX];

    cell_indices(cell, block, threads, step, index);
    for (uint32_t first = 0; first < threads; first += CBANK_WARP_THREADS)
        ask_l2(asked, wanted, index + first,
               threads - first < CBANK_WARP_THREADS ? threads - first : CBANK_WARP_THREADS,
               table_width(cell->parameters));
}

struct model_l2_asked model_l2_sample(const struct cell *cell, const struct card *card)
{
    const uint32_t grid = cell_blocks(cell), sampled = !cell->indices ? 1 : grid < L2_BLOCKS ? grid : L2_BLOCKS;
    const uint32_t steps = workload_steps(cell->workload, cell->parameters);
    struct model_l2_asked asked = {0};
    struct wanted wanted = {.lines = lines_of(cell)};

    for (uint32_t step = 0; step < steps; step++) {
        for (uint32_t i = 0; i < sampled; i++)
            ask_block(cell, (uint32_t)((uint64_t)i * grid / sampled), step, &asked, &wanted);
        if (cell->path->unit == UNIT_L2 && (cell->indices || step + 1 == steps))
            end_step(&wanted);
    }
    asked.turns = cell->path->unit == UNIT_L2 ? find_turns(&wanted, &asked, stacks_of(card->l2_slices)) : 0;
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
    uint32_t in_flight, sectors;
    double turns; /* of slices of L2, for what the loads are the first to ask for */
    uint32_t *waits; /* of each warp that is there, groups that waited */
};

/* A group of lookups of one warp: whether it waits. */
static bool touch_warp(const uint32_t *index, uint32_t threads, uint32_t width, struct touched *touched)
{
    uint32_t lines[CBANK_WARP_THREADS], count = 0;
    uint8_t asked[TABLE_L2_LINES] = {0};
    bool waits = false;

    for (uint32_t i = 0; i < threads; i++) {
        const uint32_t sector = index[i] * width / ACCESS_SECTOR_BYTES, line = sector / LINE_SECTORS;

        waits |= !touched->before[sector];
        if (touched->now[sector])
            continue;
        touched->sectors++;
        touched->now[sector] = true;
        lines[count] = line;
        count += asked[line]++ == 0;
    }
    for (uint32_t i = 0; i < count; i++)
        touched->turns += turns_alone[asked[lines[i]]];
    return waits;
}

/* A group of lookups of a block, whose warps count in waits[]. Whether one waited. */
static bool touch(const struct cell *cell, uint32_t block, uint32_t group, struct touched *touched, uint32_t *waits)
{
    const uint32_t threads = cell_block_threads(cell, block), width = table_width(cell->parameters);
    bool waited[CELL_BLOCK_SIZE_MAX / CBANK_WARP_THREADS] = {false}, any = false;
    uint32_t index[CELL_BLOCK_SIZE_MAX];

    for (uint32_t k = 0; k < touched->in_flight; k++) {
        cell_indices(cell, block, threads, group * touched->in_flight + k, index);
        for (uint32_t first = 0; first < threads; first += CBANK_WARP_THREADS)
            waited[first / CBANK_WARP_THREADS] |=
                touch_warp(index + first, threads - first < CBANK_WARP_THREADS ? threads - first : CBANK_WARP_THREADS,
                           width, touched);
    }
    for (uint32_t warp = 0; warp < cell->block_size / CBANK_WARP_THREADS; warp++) {
        waits[warp] += waited[warp];
        any |= waited[warp];
    }
    return any;
}

/* A round: an element of each warp that is there. Whether one waited. */
static bool touch_round(const struct cell *cell, uint64_t first, uint32_t sms, uint32_t resident,
                        struct touched *touched)
{
    const uint32_t groups = workload_groups(cell->workload, cell->parameters);
    bool waited = false;

    for (uint32_t group = 0; group < groups; group++) {
        for (uint64_t i = 0, block = first; i < resident && block < cell_blocks(cell); i++, block += sms)
            waited |= touch(cell, (uint32_t)block, group, touched,
                            touched->waits + i * cell->block_size / CBANK_WARP_THREADS);
        memcpy(touched->before, touched->now, sizeof(touched->now));
    }
    return waited;
}

/* The part of a table's lines that the busiest slice of L2 has. */
static double busiest_share(const struct cell *cell, uint32_t stacks)
{
    const uint32_t lines = lines_of(cell);
    double ones[TABLE_L2_LINES];

    for (uint32_t line = 0; line < lines; line++)
        ones[line] = 1;
    return busiest_slice(ones, lines, stacks) / lines;
}

/* On the SM whose first block is `first`, in all rounds: until there is one in which no warp waits. */
static struct model_first_touches touches_of_sm(const struct cell *cell, uint64_t first, uint32_t sms,
                                                uint32_t resident, uint32_t *waits)
{
    const uint32_t warps = resident * (cell->block_size / CBANK_WARP_THREADS);
    const uint64_t grid = (uint64_t)sms * resident;
    struct touched touched = {.in_flight = cell->parameters[PARAMETER_in_flight], .waits = waits};
    uint32_t most = 0;

    memset(waits, 0, warps * sizeof(*waits));
    for (uint64_t block = first; block < cell_blocks(cell); block += grid)
        if (!touch_round(cell, block, sms, resident, &touched))
            break;
    for (uint32_t warp = 0; warp < warps; warp++)
        most = waits[warp] > most ? waits[warp] : most;
    return (struct model_first_touches){most, touched.sectors, touched.turns};
}

enum status model_first_touches(const struct cell *cell, uint32_t sms, uint32_t resident, uint32_t slices,
                                struct model_first_touches *out)
{
    const uint64_t blocks = cell_blocks(cell), room = (uint64_t)resident * sms;
    const uint64_t last = (blocks < room ? blocks : room) - 1;
    const uint64_t firsts[] = {0, last % sms, last < sms ? 0 : sms - 1};
    uint32_t *const waits = calloc(resident, CELL_BLOCK_SIZE_MAX / CBANK_WARP_THREADS * sizeof(*waits));

    *out = (struct model_first_touches){0};
    if (!waits)
        return log_memory("%u blocks", resident);
    for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
        const struct model_first_touches touches = touches_of_sm(cell, firsts[i], sms, resident, waits);

        if (touches.waits > out->waits || (touches.waits == out->waits && touches.sectors > out->sectors))
            *out = touches;
    }
    free(waits);
    out->turns *= (double)(blocks < sms ? blocks : sms) * busiest_share(cell, stacks_of(slices));
    return STATUS_OK;
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

/* Rounds of copying a table several times, what those take more that wait for a sector, and rounds of copying it once where nothing
 * is in L1 yet. Of GH100: results/advise/h200.json and h200-contested.json. */
enum { COPIES_ROUND_CYCLES = 64, COPIES_SECTOR_CYCLES = 269, COPY_CYCLES = 380 };

/* Copying the table several times: an entry a thread and round, and rounds wait for sectors that are not there. */
static double copies_cycles(const struct cell *cell, double copies)
{
    const double rounds = ceil(cell_length(cell) * copies / cell->block_size);
    const double sectors = ceil((double)table_bytes(cell->path, cell->parameters) / ACCESS_SECTOR_BYTES);

    return rounds * COPIES_ROUND_CYCLES + fmin(rounds, sectors) * COPIES_SECTOR_CYCLES;
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
    const double words = cell_staged_bytes(cell) / (double)sizeof(uint32_t);
    const uint32_t copies = table_copies(cell->path, cell->parameters);

    if (words == 0)
        return 0;
    if (copies > 1)
        return card->staging_wait_cycles + copies_cycles(cell, copies);
    return once_cycles(cell, card, words / cell->block_size);
}
