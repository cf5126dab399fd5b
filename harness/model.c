/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <math.h>

#include <stdlib.h>

#include "cache.h"
#include "log.h"

/* Warp instructions around the payload loads (bounds, parameters, input, output) and for each of them (index,
 * load, add). A guess: the sm_90 code of add has 21 to 24. Issue is far from the longest part. */
enum { INSTRUCTIONS_PER_WARP = 18, INSTRUCTIONS_PER_STEP = 4 };

/* Loads of kernel parameters that the first level answers beside the payload. A guess too: the sm_90 code of
 * add has 3 to 5. */
enum { PARAMETERS_PER_WARP = 4 };

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

/* Blocks that an SM has room for. */
static uint32_t blocks_resident(const struct cell *cell, const struct card *card)
{
    const uint32_t blocks = card->warps_per_sm * CBANK_WARP_THREADS / cell->block_size;

    if (blocks < 1)
        return 1;
    return blocks < card->blocks_per_sm ? blocks : card->blocks_per_sm;
}

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
    uint64_t wave_blocks;
    uint32_t sms = 1;

    for (uint32_t l = 0; l < card->level_count; l++)
        sms = card->levels[l].sms > sms ? card->levels[l].sms : sms;
    *simulation = (struct simulation){
        .cell = cell,
        .card = card,
        .blocks = cell_blocks(cell),
        .sms = sms < card->sm_count ? sms : card->sm_count,
        .blocks_resident = blocks_resident(cell, card),
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

    cell->pattern->block_indices(block, threads, step, path_length(cell->path), pattern_numbers(cell->parameters), index);
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
        for (uint32_t step = 0; step < workload_steps(simulation->cell->workload, simulation->cell->parameters); step++)
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

/* Leaves in the levels that are kept between launches what the launch before left. */
static void simulate_launch_before(struct simulation *simulation, uint64_t waves)
{
    const struct card *card = simulation->card;
    bool kept = false;

    for (uint32_t l = 0; l < card->level_count; l++)
        kept |= card->levels[l].kept_between_launches;
    if (!kept || simulation->cell->regime->flush)
        return;
    simulate_waves(simulation, 0, waves);
    simulation->tally = (struct tally){0};
    for (uint32_t l = 0; l < card->level_count; l++)
        for (uint32_t i = 0; i < simulation->levels[l].count && !card->levels[l].kept_between_launches; i++)
            cache_clear(&simulation->levels[l].caches[i]);
}

/* Runs the launch, and gives its lookups on the whole grid. */
static void simulate_launch(struct simulation *simulation, const struct access_counts *access,
                            struct model_levels *out)
{
    const struct tally *end = &simulation->tally;
    const uint64_t waves = waves_simulated(simulation, access);
    struct tally half;
    double lookups, rest, scale;

    simulate_launch_before(simulation, waves);
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

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double cycles_to_ns(const struct card *card, double cycles)
{
    return cycles * 1000 / card->sm_clock_mhz;
}

/* Part of the grid's work that falls on the busiest of the units that `sms` SMs share. Blocks go where others
 * have ended, which evens out what the units have to do, but not within the first wave, when a unit of
 * more SMs has more blocks. */
static double busiest_share(const struct cell *cell, const struct card *card, uint32_t sms)
{
    const double blocks = cell_blocks(cell);
    const double units = ceil((double)card->sm_count / sms);
    const double even = ceil(blocks / units);
    const double first_wave = sms * smaller(ceil(blocks / card->sm_count), blocks_resident(cell, card));

    return smaller(larger(even, first_wave) / blocks, 1);
}

static double issue_ns(const struct cell *cell, const struct access_counts *access, const struct card *card)
{
    const double instructions = (double)access->warps_active *
                                (INSTRUCTIONS_PER_WARP + INSTRUCTIONS_PER_STEP * workload_steps(cell->workload, cell->parameters));

    return cycles_to_ns(card, instructions * busiest_share(cell, card, 1) / card->issue_per_cycle);
}

/* The constant levels: the first answers requests; what the busiest level takes beyond that is misses. */
static void predict_constant(const struct cell *cell, const struct access_counts *access,
                             const struct card *card, const struct model_levels *levels,
                             struct model_parts *parts)
{
    double busiest = 0;

    for (uint32_t l = 0; l < card->level_count; l++) {
        const struct card_level *level = &card->levels[l];
        const double share = busiest_share(cell, card, level->sms);
        const double parameters = l == 0 ? (double)access->warps_active * PARAMETERS_PER_WARP : 0;
        const double requests = levels->requests[l] + parameters;
        const double requests_ns = cycles_to_ns(card, requests * share * level->request_cycles);
        const double misses_ns = cycles_to_ns(card, levels->misses[l] * share * level->miss_cycles);

        if (l == 0)
            parts->serialization_ns = requests_ns;
        busiest = larger(busiest, requests_ns + misses_ns);
    }
    parts->misses_ns = busiest - parts->serialization_ns;
}

/* L1 takes loads and answers sectors; the input goes through it too. All of the grid's on one SM. */
static double l1_cycles(const struct access_counts *access, const struct card *card)
{
    const double loads = (double)(access->payload_loads + access->stream_loads);
    const double sectors = (double)(access->sectors + access->stream_sectors);

    return larger(loads / card->l1_requests_per_cycle, sectors / card->l1_sectors_per_cycle);
}

/* Distinct sectors of the table that the first block reads: L1 is empty when a launch begins. */
static uint32_t first_block_sectors(const struct cell *cell)
{
    const uint32_t threads = cell->elements < cell->block_size ? (uint32_t)cell->elements : cell->block_size;
    bool seen[CBANK_TABLE_LENGTH * sizeof(uint32_t) / ACCESS_SECTOR_BYTES] = {false};
    uint32_t index[CELL_BLOCK_SIZE_MAX];
    uint32_t sectors = 0;

    for (uint32_t step = 0; step < workload_steps(cell->workload, cell->parameters); step++) {
        cell->pattern->block_indices(0, threads, step, path_length(cell->path), pattern_numbers(cell->parameters), index);
        for (uint32_t thread = 0; thread < threads; thread++) {
            bool *sector = &seen[index[thread] * sizeof(uint32_t) / ACCESS_SECTOR_BYTES];

            sectors += !*sector;
            *sector = true;
        }
    }
    return sectors;
}

/* Where input and output are, as parts of 1. */
struct stream {
    double kept;         /* of the input, and of the output that the launch before wrote: still in L2 */
    double written_back; /* of the output's size: what L2 writes to DRAM during the launch */
};

/* Hot: what the launch before left in L2 stays there, all of it if it fits; of twice as much, nothing;
 * between the two this interpolates. Output that does not stay is written back a launch later, at the
 * latest. Cold: nothing stays, and L2 takes output until it has no more room for it. */
static struct stream find_stream(const struct cell *cell, const struct card *card)
{
    const double output = sizeof(uint32_t) * (double)cell->elements;
    const double bytes = 2 * output;
    const double room = (double)card->l2_kept_bytes;
    const double kept = bytes <= room ? 1 : larger(0, 2 * room - bytes) / bytes;

    if (cell->regime->flush)
        return (struct stream){.written_back = larger(0, 1 - (double)card->l2_dirty_bytes / output)};
    return (struct stream){.kept = kept, .written_back = 1 - kept};
}

static double stream_ns(const struct cell *cell, const struct card *card, const struct stream *stream)
{
    const double output = sizeof(uint32_t) * (double)cell->elements;
    const double dram = output * (1 - stream->kept + stream->written_back);

    return (2 * output - dram) / card->l2_bytes_per_ns + dram / card->dram_bytes_per_ns;
}

/* The first wave: see model.h. */
static double wave_ns(const struct cell *cell, const struct card *card)
{
    const double cold_ns = cell->regime->flush ? card->cold_ns : 0;
    const double sectors = cell->path->unit == UNIT_L1 ? first_block_sectors(cell) : 0;

    return card->wave_ns + cold_ns + cycles_to_ns(card, sectors * card->l1_miss_cycles);
}

/* What the payload of one block adds to its life: the first level answers it, and a line may have to come. */
static double block_payload_ns(const struct cell *cell, const struct access_counts *access,
                               const struct card *card, const struct model_levels *levels)
{
    const double blocks = (double)access->blocks;
    double cycles = 0;

    switch (cell->path->unit) {
    case UNIT_IDC:
        cycles = (double)access->addresses / blocks * card->levels[0].request_cycles;
        for (uint32_t l = 0; l < card->level_count; l++)
            cycles += smaller(levels->misses[l] / blocks, 1) * card->levels[l].miss_latency_cycles;
        break;
    case UNIT_L1:
        cycles = l1_cycles(access, card) / blocks;
        break;
    default:
        break;
    }
    return cycles_to_ns(card, cycles);
}

/* Waves after the first are whole or not: blocks end one by one. */
static double residency_ns(const struct cell *cell, const struct card *card, const struct stream *stream,
                           double payload_ns)
{
    const double blocks = cell_blocks(cell);
    const double waves = blocks / ((double)card->sm_count * blocks_resident(cell, card));
    const double block_ns = stream->kept * card->block_l2_ns + (1 - stream->kept) * card->block_dram_ns +
                            stream->written_back * card->block_write_back_ns + payload_ns;

    return larger(larger(waves - 1, 0) * block_ns, blocks * card->block_launch_ns);
}

/* What depends on the pattern alone. */
static struct model_cell describe_loads(const struct cell *cell, const struct access_counts *access)
{
    const uint64_t requests = cell->path->unit == UNIT_IDC ? access->addresses : access->sectors;

    return (struct model_cell){
        .footprint_bytes = access->footprint_bytes,
        .requests_per_load = (double)requests / (double)access->payload_loads,
    };
}

enum status model_predict(const struct cell *cell, const struct access_counts *access,
                          const struct card *card, struct model_cell *out)
{
    const struct stream stream = find_stream(cell, card);
    struct model_cell model = describe_loads(cell, access);
    struct model_parts *parts = &model.parts;
    enum status status = STATUS_OK;

    switch (cell->path->unit) {
    case UNIT_IDC:
        status = predict_levels(cell, access, card, &model.levels);
        if (status != STATUS_OK)
            return status;
        predict_constant(cell, access, card, &model.levels, parts);
        break;
    case UNIT_L1:
        parts->serialization_ns = cycles_to_ns(card, l1_cycles(access, card) * busiest_share(cell, card, 1));
        break;
    default:
        break;
    }
    parts->launch_ns = card->launch_ns;
    parts->wave_ns = wave_ns(cell, card);
    parts->residency_ns =
        residency_ns(cell, card, &stream, block_payload_ns(cell, access, card, &model.levels));
    parts->issue_ns = issue_ns(cell, access, card);
    parts->stream_ns = stream_ns(cell, card, &stream);

    model.time_ns = parts->launch_ns + parts->wave_ns +
                    larger(larger(parts->residency_ns, parts->issue_ns),
                           larger(parts->serialization_ns + parts->misses_ns, parts->stream_ns));
    *out = model;
    return status;
}

enum status model_explain(const struct cell *cell, const struct access_counts *access, uint32_t cc_major,
                          uint32_t cc_minor, uint32_t sm_count, const struct card *card, struct model_cell *out)
{
    if (card->cc_major == cc_major && card->cc_minor == cc_minor && card->sm_count == sm_count)
        return model_predict(cell, access, card, out);
    *out = describe_loads(cell, access);
    out->time_ns = NAN;
    out->parts = (struct model_parts){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    return STATUS_OK;
}
