/* SPDX-License-Identifier: MIT */
#include "model_levels.h"

#include <math.h>
#include <stdlib.h>

#include "kernel_args.h"
#include "log.h"
#include "model.h"
#include "sass.h"

struct simulation {
    const struct cell *cell;
    const struct card *card;
    uint32_t sms;             /* simulated: SM 0 .. sms - 1 */
    uint32_t blocks_resident; /* on an SM at a time */
    uint64_t waves;           /* sm_count x blocks_resident blocks each */
    struct cache *caches[CARD_LEVELS_MAX]; /* owned arrays: the instances of each level that the simulated SMs share */
    struct cache *before[CARD_LEVELS_MAX]; /* as many, owned: as the last wave found them */
    uint64_t read_bytes; /* from the first of the bank to the last that is read */
    uint32_t turns[ACCESS_TURNS(CBANK_TABLE_BYTES)]; /* scratch of access_distinct */
    struct model_levels tally; /* of the simulated SMs, so far */
    struct model_levels wave; /* where `settled`, of every wave that is like the last one */
    bool settled; /* the last wave left the caches as it found them */
};

uint32_t model_table_begin(const struct cell *cell)
{
    const uint32_t width = table_width(cell->parameters);
    /* kernel_args.h: the table by value is the last of three parameters, the second is a pointer; at a whole element. */
    const uint32_t before = MODEL_PARAMETERS_BEGIN + sizeof(struct kernel_args) + sizeof(uint64_t);

    return cell->path->home == TABLE_PARAMETER ? (before + width - 1) / width * width : 0;
}

static uint32_t instances(const struct simulation *simulation, uint32_t level)
{
    return (simulation->sms + simulation->card->levels[level].sms - 1) / simulation->card->levels[level].sms;
}

static void simulation_close(struct simulation *simulation)
{
    for (uint32_t l = 0; l < simulation->card->level_count; l++)
        for (uint32_t of = 0; of < 2; of++) {
            struct cache *caches = of ? simulation->before[l] : simulation->caches[l];

            for (uint32_t i = 0; caches && i < instances(simulation, l); i++)
                cache_close(&caches[i]);
            free(caches);
        }
}

/* The instances of a level; on failure, logged, those that are open. */
static enum status open_level(const struct simulation *simulation, uint32_t l, struct cache **out)
{
    const struct card_level *level = &simulation->card->levels[l];
    enum status status = STATUS_OK;

    *out = calloc(instances(simulation, l), sizeof(**out));
    if (!*out)
        return log_memory("the simulated caches");
    for (uint32_t i = 0; i < instances(simulation, l) && status == STATUS_OK; i++)
        status = cache_open(&(*out)[i], level->capacity_bytes, level->line_bytes, level->ways, level->replacement);
    return status;
}

/* On failure too, the caller closes. Without `every`, as many SMs as share an instance stand for all. */
static enum status simulation_open(struct simulation *simulation, const struct cell *cell, const struct card *card,
                                   bool every)
{
    enum status status = STATUS_OK;
    uint64_t wave_blocks;

    *simulation =
        (struct simulation){.cell = cell, .card = card, .sms = 1, .blocks_resident = model_blocks_resident(cell, card)};
    for (uint32_t l = 0; l < card->level_count; l++)
        simulation->sms = card->levels[l].sms > simulation->sms ? card->levels[l].sms : simulation->sms;
    simulation->sms = simulation->sms < card->sm_count && !every ? simulation->sms : card->sm_count;
    wave_blocks = (uint64_t)card->sm_count * simulation->blocks_resident;
    simulation->waves = (cell_blocks(cell) + wave_blocks - 1) / wave_blocks;

    for (uint32_t l = 0; l < card->level_count && status == STATUS_OK; l++) {
        status = open_level(simulation, l, &simulation->caches[l]);
        if (status == STATUS_OK)
            status = open_level(simulation, l, &simulation->before[l]);
    }
    return status;
}

/* One address: asks the levels in turn until one has it. */
static void simulate_lookup(struct simulation *simulation, uint32_t sm, uint64_t address)
{
    simulation->read_bytes = address >= simulation->read_bytes ? address + 1 : simulation->read_bytes;
    for (uint32_t l = 0; l < simulation->card->level_count; l++) {
        simulation->tally.requests[l]++;
        if (cache_lookup(&simulation->caches[l][sm / simulation->card->levels[l].sms], address))
            return;
        simulation->tally.misses[l]++;
    }
}

static void simulate_block(struct simulation *simulation, uint32_t sm, uint32_t block, uint32_t step)
{
    const struct cell *cell = simulation->cell;
    const uint32_t threads = cell_block_threads(cell, block), begin = model_table_begin(cell);
    const uint32_t width = table_width(cell->parameters), pieces = image_pieces(cell);
    uint32_t index[CELL_BLOCK_SIZE_MAX];
    uint32_t distinct[CBANK_WARP_THREADS];

    cell_indices(cell, block, threads, step, index);
    for (uint32_t first = 0; first < threads; first += CBANK_WARP_THREADS) {
        const uint32_t active = threads - first < CBANK_WARP_THREADS ? threads - first : CBANK_WARP_THREADS;
        const uint32_t count = access_distinct(index + first, active, simulation->turns, distinct);

        for (uint32_t i = 0; i < count * pieces; i++)
            simulate_lookup(simulation, sm,
                            begin + (uint64_t)distinct[i % count] * width + i / count * (width / pieces));
    }
}

static void simulate_wave(struct simulation *simulation, uint64_t wave)
{
    const uint32_t resident = simulation->blocks_resident;

    for (uint32_t step = 0; step < workload_steps(simulation->cell->workload, simulation->cell->parameters); step++)
        for (uint64_t turn = wave * resident; turn < (wave + 1) * resident; turn++)
            for (uint32_t sm = 0; sm < simulation->sms; sm++) {
                const uint64_t block = turn * simulation->card->sm_count + sm;

                if (block < cell_blocks(simulation->cell))
                    simulate_block(simulation, sm, (uint32_t)block, step);
            }
}

static void remember_caches(struct simulation *simulation)
{
    for (uint32_t l = 0; l < simulation->card->level_count; l++)
        for (uint32_t i = 0; i < instances(simulation, l); i++)
            cache_copy(&simulation->before[l][i], &simulation->caches[l][i]);
}

static bool caches_are_as_before(const struct simulation *simulation)
{
    for (uint32_t l = 0; l < simulation->card->level_count; l++)
        for (uint32_t i = 0; i < instances(simulation, l); i++)
            if (!cache_same(&simulation->before[l][i], &simulation->caches[l][i]))
                return false;
    return true;
}

static void add_levels(struct model_levels *sum, const struct model_levels *levels, double sign)
{
    for (uint32_t l = 0; l < CARD_LEVELS_MAX; l++) {
        sum->requests[l] += sign * levels->requests[l];
        sum->misses[l] += sign * levels->misses[l];
    }
}

/* Waves first .. last - 1 on the simulated SMs. Where all waves ask for the same, one that leaves the caches as it found them
 * stands for those after it. The last is another, as it may be of fewer blocks. */
static void simulate_waves(struct simulation *simulation, uint64_t first, uint64_t last)
{
    const bool alike = cell_blocks_alike(simulation->cell);

    for (uint64_t wave = first; wave < last; wave++) {
        const bool like_others = alike && wave + 1 < simulation->waves;
        const struct model_levels begin = simulation->tally;

        if (like_others && simulation->settled) {
            add_levels(&simulation->tally, &simulation->wave, 1);
            continue;
        }
        remember_caches(simulation);
        simulate_wave(simulation, wave);
        simulation->settled = like_others && caches_are_as_before(simulation);
        simulation->wave = simulation->tally;
        add_levels(&simulation->wave, &begin, -1);
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
    const uint32_t grid = cell_blocks(simulation->cell);
    const uint32_t rounds = grid / simulation->card->sm_count, left = grid % simulation->card->sm_count;
    const double blocks = (double)rounds * simulation->sms + (left < simulation->sms ? left : simulation->sms);

    return (double)access->addresses * blocks / grid;
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
    simulation->tally = (struct model_levels){0};
    simulation->settled = false;
    for (uint32_t l = 0; l < card->level_count; l++)
        for (uint32_t i = 0; i < instances(simulation, l) && !card->levels[l].kept_between_launches; i++)
            cache_clear(&simulation->caches[l][i]);
}

/* Runs the launch, and gives its lookups on the whole grid. */
static void simulate_launch(struct simulation *simulation, const struct access_counts *access, struct model_levels *out)
{
    const struct model_levels *end = &simulation->tally;
    const uint64_t waves = waves_simulated(simulation, access);
    struct model_levels half;
    double lookups, rest, scale;

    simulate_launch_before(simulation, waves);
    simulate_waves(simulation, 0, waves / 2);
    half = simulation->tally;
    simulate_waves(simulation, waves / 2, waves);

    if (waves < simulation->waves)
        simulation->read_bytes = model_table_begin(simulation->cell) +
                                 (uint64_t)table_bytes(simulation->cell->path, simulation->cell->parameters);
    /* What was not simulated is so many times the second half; the grid so many times these SMs. */
    lookups = waves < simulation->waves ? launch_lookups(simulation, access) : end->requests[0];
    rest = (lookups - end->requests[0]) / (end->requests[0] - half.requests[0]);
    scale = (double)access->addresses / lookups;
    for (uint32_t l = 0; l < simulation->card->level_count; l++) {
        out->requests[l] = (end->requests[l] + (end->requests[l] - half.requests[l]) * rest) * scale;
        out->misses[l] = (end->misses[l] + (end->misses[l] - half.misses[l]) * rest) * scale;
    }
}

/* Whether what a level misses may follow from what is known of it. Unknown ways are then all. */
static bool may_follow(const struct cell *cell, struct card_level *level)
{
    const bool kept_matters = !cell->regime->flush;

    if (!level->capacity_bytes || !level->line_bytes || !level->sms || (level->kept_unknown && kept_matters))
        return false;
    level->ways = level->ways ? level->ways : level->capacity_bytes / level->line_bytes;
    return true;
}

/* Levels from the first of which it does: one whose ways are not known and that has no room for what is read is not among
 * them. Where it has, every line comes once, however many ways there are and whichever line goes. */
static size_t levels_that_follow(const struct simulation *simulation, const struct card *card)
{
    size_t count = 0;

    while (count < simulation->card->level_count &&
           (card->levels[count].ways || simulation->read_bytes <= card->levels[count].capacity_bytes))
        count++;
    return count;
}

enum status model_simulate(const struct cell *cell, const struct access_counts *access, const struct card *card,
                           struct model_levels *out)
{
    struct simulation simulation;
    struct card known = *card; /* as many levels as there are of which what they miss may follow */
    size_t follow;
    enum status status;

    for (known.level_count = 0; known.level_count < card->level_count; known.level_count++)
        if (!may_follow(cell, &known.levels[known.level_count]))
            break;
    status = simulation_open(&simulation, cell, &known, known.level_count < card->level_count);
    if (status == STATUS_OK && known.level_count > 0)
        simulate_launch(&simulation, access, out);
    follow = levels_that_follow(&simulation, card);
    simulation_close(&simulation);
    for (size_t l = follow; l < card->level_count; l++) {
        out->requests[l] = l == 0 ? (double)access->addresses : l == follow ? out->misses[l - 1] : NAN;
        out->misses[l] = NAN;
    }
    return status;
}
