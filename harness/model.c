/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <math.h>

#include <stdlib.h>

#include "cache.h"
#include "log.h"

/* Warp instructions around the payload loads (bounds, parameters, input, output) and for each of them (index,
 * load, add). A guess: the sm_90 code of add has 21 to 24. Issue is far from the longest part. */
enum { INSTRUCTIONS_PER_WARP = 18, INSTRUCTIONS_PER_STEP = 4 };

/* Instances of one level that the simulated SMs share. */
struct level {
    const struct card_level *card;
    struct cache *caches; /* owned array, each open up to count */
    uint32_t count;
};

struct tally {
    double requests[CARD_LEVELS_MAX];
    double misses[CARD_LEVELS_MAX];
};

struct simulation {
    const struct cell *cell;
    const struct card *card;
    uint32_t blocks;          /* of the grid */
    uint32_t sms;             /* simulated: SM 0 .. sms - 1 */
    uint32_t blocks_resident; /* on an SM at a time */
    uint64_t waves;           /* sm_count x blocks_resident blocks each */
    struct level levels[CARD_LEVELS_MAX];
    struct access_set seen;   /* scratch of access_distinct */
    struct tally tally;
};

/* -- the constant levels ------------------------------------------------------------------------------ */

static void simulation_close(struct simulation *simulation)
{
    for (uint32_t l = 0; l < simulation->card->level_count; l++) {
        struct level *level = &simulation->levels[l];

        for (uint32_t i = 0; i < level->count; i++)
            cache_close(&level->caches[i]);
        free(level->caches);
    }
}

static enum status level_open(struct level *level, const struct card_level *card, uint32_t sms)
{
    const uint32_t count = (sms + card->sms - 1) / card->sms;

    level->card = card;
    level->caches = calloc(count, sizeof(*level->caches));
    if (level->caches == NULL)
        return log_error(STATUS_ENVIRONMENT, "out of memory for the simulated caches; free some memory");
    while (level->count < count) {
        const enum status status = cache_open(&level->caches[level->count], card->capacity_bytes,
                                              card->line_bytes, card->ways);

        if (status != STATUS_OK)
            return status;
        level->count++;
    }
    return STATUS_OK;
}

/* On failure too, the caller closes. */
static enum status simulation_open(struct simulation *simulation, const struct cell *cell,
                                   const struct card *card)
{
    const uint32_t warps = cell->block_size / CBANK_WARP_THREADS;
    const uint32_t resident = card->warps_per_sm / warps;
    uint64_t wave_blocks;
    uint32_t sms = 1;

    for (uint32_t l = 0; l < card->level_count; l++)
        sms = card->levels[l].sms > sms ? card->levels[l].sms : sms;
    *simulation = (struct simulation){
        .cell = cell,
        .card = card,
        .blocks = cell_blocks(cell),
        .sms = sms < card->sm_count ? sms : card->sm_count,
        .blocks_resident = resident > 0 ? resident : 1,
    };
    wave_blocks = (uint64_t)card->sm_count * simulation->blocks_resident;
    simulation->waves = (simulation->blocks + wave_blocks - 1) / wave_blocks;

    for (uint32_t l = 0; l < card->level_count; l++) {
        const enum status status = level_open(&simulation->levels[l], &card->levels[l], simulation->sms);

        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* One address: asks the levels in turn until one has it. */
static void simulate_lookup(struct simulation *simulation, uint32_t sm, uint64_t address)
{
    for (uint32_t l = 0; l < simulation->card->level_count; l++) {
        struct level *level = &simulation->levels[l];

        simulation->tally.requests[l]++;
        if (cache_lookup(&level->caches[sm / level->card->sms], address))
            return;
        simulation->tally.misses[l]++;
    }
}

static void simulate_block(struct simulation *simulation, uint32_t sm, uint32_t block, uint32_t step)
{
    const struct cell *cell = simulation->cell;
    const uint64_t left = cell->elements - (uint64_t)block * cell->block_size;
    const uint32_t threads = left < cell->block_size ? (uint32_t)left : cell->block_size;
    uint32_t index[CELL_BLOCK_SIZE_MAX];
    uint32_t distinct[CBANK_WARP_THREADS];

    cell->pattern->block_indices(block, threads, step, CBANK_TABLE_LENGTH, index);
    for (uint32_t first = 0; first < threads; first += CBANK_WARP_THREADS) {
        const uint32_t active = threads - first < CBANK_WARP_THREADS ? threads - first : CBANK_WARP_THREADS;
        const uint32_t count = access_distinct(index + first, active, &simulation->seen, distinct);

        for (uint32_t i = 0; i < count; i++)
            simulate_lookup(simulation, sm, (uint64_t)distinct[i] * sizeof(uint32_t));
    }
}

/* Waves first .. last - 1 on the simulated SMs. */
static void simulate_waves(struct simulation *simulation, uint64_t first, uint64_t last)
{
    const uint32_t resident = simulation->blocks_resident;

    for (uint64_t wave = first; wave < last; wave++)
        for (uint32_t step = 0; step < simulation->cell->workload->steps; step++)
            for (uint64_t turn = wave * resident; turn < (wave + 1) * resident; turn++)
                for (uint32_t sm = 0; sm < simulation->sms; sm++) {
                    const uint64_t block = turn * simulation->card->sm_count + sm;

                    if (block < simulation->blocks)
                        simulate_block(simulation, sm, (uint32_t)block, step);
                }
}

/* How many waves to simulate: all, or as many as MODEL_LOOKUPS_MAX allows, two at least. */
static uint64_t waves_simulated(const struct simulation *simulation, const struct access_counts *access)
{
    const double block_lookups = (double)access->addresses / (double)access->blocks;
    const double waves = MODEL_LOOKUPS_MAX / (block_lookups * simulation->sms * simulation->blocks_resident);
    const uint64_t most = waves < 2 ? 2 : (uint64_t)waves;

    return simulation->waves < most ? simulation->waves : most;
}

/* Lookups of the first level that the simulated SMs make in the whole launch. */
static double launch_lookups(const struct simulation *simulation, const struct access_counts *access)
{
    const uint32_t rounds = simulation->blocks / simulation->card->sm_count;
    const uint32_t left = simulation->blocks % simulation->card->sm_count;
    const double blocks =
        (double)rounds * simulation->sms + (left < simulation->sms ? left : simulation->sms);

    return (double)access->addresses * blocks / simulation->blocks;
}

/* Runs the launch, and gives its lookups on the whole grid. */
static void simulate_launch(struct simulation *simulation, const struct access_counts *access,
                            struct model_levels *out)
{
    const struct tally *end = &simulation->tally;
    const uint64_t waves = waves_simulated(simulation, access);
    struct tally half;
    double lookups, rest, scale;

    if (!simulation->cell->regime->flush)
        simulate_waves(simulation, 0, waves);
    simulation->tally = (struct tally){0};
    simulate_waves(simulation, 0, waves / 2);
    half = simulation->tally;
    simulate_waves(simulation, waves / 2, waves);

    /* What was not simulated is so many times the second half; the grid so many times these SMs. */
    lookups = waves < simulation->waves ? launch_lookups(simulation, access) : end->requests[0];
    rest = (lookups - end->requests[0]) / (end->requests[0] - half.requests[0]);
    scale = (double)access->addresses / lookups;
    for (uint32_t l = 0; l < simulation->card->level_count; l++) {
        out->requests[l] = (end->requests[l] + (end->requests[l] - half.requests[l]) * rest) * scale;
        out->misses[l] = (end->misses[l] + (end->misses[l] - half.misses[l]) * rest) * scale;
    }
}

static enum status predict_levels(const struct cell *cell, const struct access_counts *access,
                                  const struct card *card, struct model_levels *out)
{
    struct simulation simulation;
    const enum status status = simulation_open(&simulation, cell, card);

    if (status == STATUS_OK)
        simulate_launch(&simulation, access, out);
    simulation_close(&simulation);
    return status;
}

/* -- time --------------------------------------------------------------------------------------------- */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double cycles_to_ns(const struct card *card, double cycles)
{
    return cycles * 1000 / card->sm_clock_mhz;
}

/* Part of the grid's work that falls on the busiest of the units that `sms` SMs share. */
static double busiest_share(const struct access_counts *access, const struct card *card, uint32_t sms)
{
    const uint64_t blocks_per_sm = (access->blocks + card->sm_count - 1) / card->sm_count;
    const double share = (double)(sms * blocks_per_sm) / (double)access->blocks;

    return share < 1 ? share : 1;
}

static double issue_ns(const struct cell *cell, const struct access_counts *access, const struct card *card)
{
    const double instructions = (double)access->warps_active *
                                (INSTRUCTIONS_PER_WARP + INSTRUCTIONS_PER_STEP * cell->workload->steps);

    return cycles_to_ns(card, instructions * busiest_share(access, card, 1) / card->issue_per_cycle);
}

/* The constant levels: the first answers requests; what the busiest level takes beyond that is misses. */
static void predict_constant(const struct access_counts *access, const struct card *card,
                             const struct model_levels *levels, struct model_parts *parts)
{
    double busiest = 0;

    for (uint32_t l = 0; l < card->level_count; l++) {
        const struct card_level *level = &card->levels[l];
        const double share = busiest_share(access, card, level->sms);
        const double requests_ns = cycles_to_ns(card, levels->requests[l] * share * level->request_cycles);
        const double misses_ns = cycles_to_ns(card, levels->misses[l] * share * level->miss_cycles);

        if (l == 0)
            parts->serialization_ns = requests_ns;
        busiest = larger(busiest, requests_ns + misses_ns);
    }
    parts->misses_ns = busiest - parts->serialization_ns;
}

/* L1 takes loads and answers sectors; the input goes through it too. Its misses are left out: the table
 * stays in it, and the input's are in the stream. */
static double l1_ns(const struct access_counts *access, const struct card *card)
{
    const double share = busiest_share(access, card, 1);
    const double loads = (double)(access->payload_loads + access->stream_loads) * share;
    const double sectors = (double)(access->sectors + access->stream_sectors) * share;

    return cycles_to_ns(card,
                        larger(loads / card->l1_requests_per_cycle, sectors / card->l1_sectors_per_cycle));
}

/* Input and output. Hot: what the launch before left in L2 stays there. Up to the size of L2 that is all;
 * a sweep over twice as much leaves nothing; between the two this interpolates. Cold: all from DRAM. */
static double stream_ns(const struct cell *cell, const struct card *card)
{
    const double bytes = 2.0 * sizeof(uint32_t) * (double)cell->elements;
    const double l2_bytes = (double)card->l2_bytes;
    double stays = bytes <= l2_bytes ? bytes : larger(0, 2 * l2_bytes - bytes);

    if (cell->regime->flush)
        stays = 0;
    return stays / card->l2_bytes_per_ns + (bytes - stays) / card->dram_bytes_per_ns;
}

enum status model_predict(const struct cell *cell, const struct access_counts *access,
                          const struct card *card, struct model_cell *out)
{
    struct model_cell model = {.footprint_bytes = access->footprint_bytes};
    struct model_parts *parts = &model.parts;
    const double loads = (double)access->payload_loads;
    enum status status = STATUS_OK;

    parts->launch_ns = card->launch_ns;
    parts->ramp_ns = card->ramp_ns;
    parts->issue_ns = issue_ns(cell, access, card);
    parts->stream_ns = stream_ns(cell, card);

    switch (cell->path->unit) {
    case UNIT_IDC:
        model.requests_per_load = (double)access->addresses / loads;
        status = predict_levels(cell, access, card, &model.levels);
        if (status != STATUS_OK)
            return status;
        predict_constant(access, card, &model.levels, parts);
        break;
    case UNIT_L1:
        model.requests_per_load = (double)access->sectors / loads;
        parts->serialization_ns = l1_ns(access, card);
        break;
    }
    model.time_ns = parts->launch_ns + parts->ramp_ns +
                    larger(larger(parts->issue_ns, parts->serialization_ns + parts->misses_ns),
                           parts->stream_ns);
    *out = model;
    return status;
}

enum status model_explain(const struct cell *cell, const struct access_counts *access, uint32_t cc_major,
                          uint32_t cc_minor, uint32_t sm_count, const struct card *card, struct model_cell *out)
{
    const enum status status = model_predict(cell, access, card, out);

    if (card->cc_major != cc_major || card->cc_minor != cc_minor || card->sm_count != sm_count) {
        out->time_ns = NAN;
        out->parts = (struct model_parts){NAN, NAN, NAN, NAN, NAN, NAN};
        out->levels = (struct model_levels){0};
    }
    return status;
}
