/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <math.h>
#include <string.h>

/* Warp instructions, guesses: the sm_90 code of add has 21 to 24, that of other workloads is within a tenth. Issue is
 * far from the longest part of add. */
enum {
    INSTRUCTIONS_PER_WARP = 18,         /* bounds, parameters, the first input load, output */
    INSTRUCTIONS_PER_STEP = 1,          /* the arithmetic on what was loaded; see struct unit for the load */
    INSTRUCTIONS_PER_INPUT_LOAD = 3,    /* after the first: bounds, load */
    INSTRUCTIONS_PER_TILE_LOAD = 4,     /* load, arithmetic, and what fills the tile */
    INSTRUCTIONS_PER_STAGING_LOAD = 7,  /* a round of the loop that copies */
};

/* ... for choosing the pattern, and dividing by the length. */
static const uint32_t index_instructions[] = {
    [INDEX_COMPILED] = 0, [INDEX_SWITCHED] = 16, [INDEX_SWITCHED_LENGTH] = 26};

/* Loads of kernel parameters that the first level answers beside the payload. A guess too: the sm_90 code of
 * add has 3 to 5. */
enum { PARAMETERS_PER_WARP = 4 };

/* What L2 keeps in one slice. */
enum { L2_LINE_BYTES = 128 };

uint32_t model_blocks_resident(const struct cell *cell, const struct card *card)
{
    const uint32_t shared = cell_staged_bytes(cell) + workload_tile_bytes(cell->workload, cell->parameters);
    uint32_t blocks = card->warps_per_sm * CBANK_WARP_THREADS / cell->block_size;

    if (shared && blocks > card->shared_bytes_per_sm / (shared + card->shared_bytes_reserved))
        blocks = card->shared_bytes_per_sm / (shared + card->shared_bytes_reserved);
    if (blocks < 1)
        return 1;
    return blocks < card->blocks_per_sm ? blocks : card->blocks_per_sm;
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
    const double first_wave = sms * fmin(ceil(blocks / card->sm_count), model_blocks_resident(cell, card));

    return fmin(fmax(even, first_wave) / blocks, 1);
}

/* What is modelled, for the units. */
struct work {
    const struct cell *cell;
    const struct access_counts *access;
    const struct card *card;
    struct model_levels levels;
};

/* What the payload loads of a path keep busy. NULL: nothing. Cycles are those of the whole grid on one SM. */
struct unit {
    size_t requests;       /* of all payload loads: offset of a count of struct access_counts */
    uint32_t instructions; /* index and load */
    bool through_levels;   /* the table comes through the constant levels */
    bool through_l1;       /* its sectors come through L1 */
    bool global;           /* loads are global loads */
    bool shared;           /* loads are answered by shared memory */
    double (*cycles)(const struct work *work);       /* of the first level, for all payload requests */
    double (*l1_cycles)(const struct work *work);    /* of L1 for them, while it takes no other loads */
    double (*other_cycles)(const struct work *work); /* of the first level, for what is no payload */
    double (*beyond_ns)(const struct work *work);    /* of what stands behind it, in the whole launch */
    double (*wait_cycles)(const struct work *work);  /* of a block, for what stands behind it */
};

static const struct unit *unit_of(const struct cell *cell);

static double optional(double (*part)(const struct work *work), const struct work *work)
{
    return part ? part(work) : 0;
}

static double warp_instructions(const struct work *work)
{
    const struct cell *cell = work->cell;
    const uint32_t payload = INSTRUCTIONS_PER_STEP + (cell->path->loads ? unit_of(cell)->instructions : 0);

    return INSTRUCTIONS_PER_WARP + index_instructions[cell->workload->index] +
           (double)payload * workload_steps(cell->workload, cell->parameters) +
           (double)INSTRUCTIONS_PER_INPUT_LOAD * (workload_input_loads(cell->workload, cell->parameters) - 1) +
           (double)INSTRUCTIONS_PER_TILE_LOAD * workload_tile_loads(cell->workload, cell->parameters);
}

static double issue_ns(const struct work *work)
{
    const double instructions = (double)work->access->warps_active * warp_instructions(work) +
                                (double)work->access->staging_loads * INSTRUCTIONS_PER_STAGING_LOAD;

    return cycles_to_ns(work->card, instructions * busiest_share(work->cell, work->card, 1)) /
           work->card->issue_per_cycle;
}

/* L1 takes loads and answers sectors of input and, where it comes that way, of the table; shared memory, which is the
 * same memory, its wavefronts. */
static double l1_cycles(const struct work *work)
{
    const struct access_counts *access = work->access;
    const struct card *card = work->card;
    const struct unit *unit = unit_of(work->cell);
    const double loads =
        (double)(access->stream_loads + access->staging_loads + (unit->global ? access->payload_loads : 0));
    const double sectors = (double)(access->stream_sectors + access->staging_sectors +
                                    (unit->global || unit->through_l1 ? access->sectors : 0));
    const double wavefronts =
        (double)access->warps_active * workload_tile_loads(work->cell->workload, work->cell->parameters) +
        (double)(access->staging_loads + (unit->shared ? access->wavefronts : 0));

    return fmax(loads / card->l1_requests_per_cycle + optional(unit->l1_cycles, work),
                sectors / card->l1_sectors_per_cycle) +
           wavefronts / card->shared_wavefronts_per_cycle;
}

/* Distinct sectors of the table that the first block reads in its first steps. */
static uint32_t first_block_sectors(const struct cell *cell, uint32_t steps)
{
    const uint32_t in_block = cell->elements < cell->block_size ? (uint32_t)cell->elements : cell->block_size;
    const uint32_t threads = cell->pattern->scope == INDEX_IMMEDIATE ? 1 : in_block;
    bool seen[CBANK_TABLE_LENGTH * sizeof(uint32_t) / ACCESS_SECTOR_BYTES] = {false};
    uint32_t index[CELL_BLOCK_SIZE_MAX];
    uint32_t sectors = 0;

    for (uint32_t step = 0; step < steps; step++) {
        cell->pattern->block_indices(0, threads, step, path_length(cell->path), pattern_numbers(cell->parameters),
                                     index);
        for (uint32_t thread = 0; thread < threads; thread++) {
            bool *sector = &seen[index[thread] * sizeof(uint32_t) / ACCESS_SECTOR_BYTES];

            sectors += !*sector;
            *sector = true;
        }
    }
    return sectors;
}

/* -- units: the indexed constant cache ---------------------------------------------------------------- */

static double idc_cycles(const struct work *work)
{
    return work->levels.requests[0] * work->card->levels[0].request_cycles;
}

static double parameter_cycles(const struct work *work)
{
    return (double)work->access->warps_active * PARAMETERS_PER_WARP * work->card->levels[0].request_cycles;
}

/* What a warp of the first wave waits for its lines after the first, which come one after the other: there is nothing
 * else to do for an SM whose warps all wait. The first is part of the card's wave_ns. */
static double first_lines_cycles(const struct work *work)
{
    const double lines = work->levels.misses[0] / (double)work->access->warps_active;

    return fmax(lines - 1, 0) * work->card->levels[0].miss_latency_cycles;
}

/* The busiest level. */
static double levels_ns(const struct work *work)
{
    const struct card *card = work->card;
    double busiest = 0;

    for (uint32_t l = 0; l < card->level_count; l++) {
        const struct card_level *level = &card->levels[l];
        const double share = busiest_share(work->cell, card, level->sms);
        const double cycles = work->levels.requests[l] * level->request_cycles + (l == 0 ? parameter_cycles(work) : 0) +
                              work->levels.misses[l] * level->miss_cycles;

        busiest = fmax(busiest, cycles_to_ns(card, cycles * share + (l == 0 ? first_lines_cycles(work) : 0)));
    }
    return busiest;
}

/* A line of each level may have to come. */
static double levels_wait_cycles(const struct work *work)
{
    double cycles = 0;

    for (uint32_t l = 0; l < work->card->level_count; l++)
        cycles +=
            fmin(work->levels.misses[l] / (double)work->access->blocks, 1) * work->card->levels[l].miss_latency_cycles;
    return cycles;
}

/* -- units: the constant caches that a warp's load asks once ------------------------------------------ */

static double uniform_cycles(const struct work *work)
{
    return (double)work->access->payload_loads * work->card->uniform_request_cycles;
}

static double immediate_cycles(const struct work *work)
{
    return (double)work->access->payload_loads * work->card->immediate_request_cycles;
}

/* Not simulated: each SM waits once for every line that the grid reads, as long as at the first level. */
static double line_wait_cycles(const struct work *work)
{
    const double lines = ceil((double)work->access->footprint_bytes / ACCESS_LINE_BYTES);
    const double blocks = (double)work->access->blocks;

    return fmin(lines * fmin(blocks, work->card->sm_count) / blocks, 1) * work->card->levels[0].miss_latency_cycles;
}

/* -- units: global and shared memory ------------------------------------------------------------------ */

static double texture_cycles(const struct work *work)
{
    return (double)work->access->payload_loads / work->card->texture_requests_per_cycle;
}

/* A line is in one slice of L2, which answers one request after the other. Warps are about as far as each other: what
 * they ask for at a time is what the grid reads in one step. */
static double l2_ns(const struct work *work)
{
    const double steps = workload_steps(work->cell->workload, work->cell->parameters);
    const double bytes = fmax(first_block_sectors(work->cell, 1) * (double)ACCESS_SECTOR_BYTES,
                              (double)work->access->footprint_bytes / steps);

    return (double)work->access->lines * work->card->l2_request_ns /
           fmin(ceil(bytes / L2_LINE_BYTES), work->card->l2_slices);
}

static const struct unit units[] = {
    [UNIT_IDC] = {.requests = offsetof(struct access_counts, addresses),
                  .instructions = 3,
                  .through_levels = true,
                  .cycles = idc_cycles,
                  .other_cycles = parameter_cycles,
                  .beyond_ns = levels_ns,
                  .wait_cycles = levels_wait_cycles},
    [UNIT_UNIFORM] = {.requests = offsetof(struct access_counts, payload_loads),
                      .instructions = 3,
                      .cycles = uniform_cycles,
                      .wait_cycles = line_wait_cycles},
    [UNIT_IMC] = {.requests = offsetof(struct access_counts, payload_loads),
                  .instructions = 1,
                  .cycles = immediate_cycles,
                  .wait_cycles = line_wait_cycles},
    [UNIT_L1] = {.requests = offsetof(struct access_counts, sectors),
                 .instructions = 3,
                 .through_l1 = true,
                 .global = true},
    [UNIT_L2] = {.requests = offsetof(struct access_counts, sectors),
                 .instructions = 3,
                 .global = true,
                 .beyond_ns = l2_ns},
    [UNIT_TEXTURE] = {.requests = offsetof(struct access_counts, sectors),
                      .instructions = 3,
                      .through_l1 = true,
                      .l1_cycles = texture_cycles},
    [UNIT_SHARED] = {.requests = offsetof(struct access_counts, wavefronts), .instructions = 1, .shared = true},
};

static const struct unit *unit_of(const struct cell *cell)
{
    return &units[cell->path->unit];
}

static void predict_unit(const struct work *work, struct model_parts *parts)
{
    const struct unit *unit = unit_of(work->cell);
    const double unit_cycles = optional(unit->cycles, work) + optional(unit->other_cycles, work);
    const double cycles = fmax(unit_cycles, l1_cycles(work));
    const double beyond_ns = optional(unit->beyond_ns, work);

    parts->serialization_ns = cycles_to_ns(work->card, cycles * busiest_share(work->cell, work->card, 1));
    parts->misses_ns = fmax(beyond_ns - parts->serialization_ns, 0);
}

/* -- units: what a block waits for -------------------------------------------------------------------- */

/* Copying the table, round after round. */
static double staging_wait_cycles(const struct cell *cell, const struct card *card)
{
    const double rounds = ceil(cell_staged_bytes(cell) / (sizeof(uint32_t) * (double)cell->block_size));

    return rounds > 0 ? card->staging_wait_cycles + rounds * card->staging_round_cycles : 0;
}

/* Instructions that add does not have, while all blocks of the SM want theirs. */
static double extra_issue_cycles(const struct work *work)
{
    const double add = INSTRUCTIONS_PER_WARP + INSTRUCTIONS_PER_STEP + units[UNIT_L1].instructions;
    const double blocks = model_blocks_resident(work->cell, work->card);
    const double warps = blocks * work->cell->block_size / CBANK_WARP_THREADS;

    return fmax(warp_instructions(work) - add, 0) * warps / work->card->issue_per_cycle;
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
    const double kept = bytes <= room ? 1 : fmax(0, 2 * room - bytes) / bytes;

    if (cell->regime->flush)
        return (struct stream){.written_back = fmax(0, 1 - (double)card->l2_dirty_bytes / output)};
    return (struct stream){.kept = kept, .written_back = 1 - kept};
}

/* Blocks that read neighbouring rows read them from L2 again. */
static double stream_ns(const struct cell *cell, const struct card *card, const struct stream *stream)
{
    const double output = sizeof(uint32_t) * (double)cell->elements;
    const double dram = output * (1 - stream->kept + stream->written_back);
    const double again = output * (workload_input_rows(cell->workload, cell->parameters) - 1);

    return (2 * output - dram + again) / card->l2_bytes_per_ns + dram / card->dram_bytes_per_ns;
}

/* One more launch, and what is done before it. */
static double launch_ns(const struct cell *cell, const struct card *card)
{
    const bool copies = cell->workload->before == BEFORE_REFILL && cell->path->home != TABLE_PARAMETER;
    const bool alternates = cell->parameters[PARAMETER_modules] > 1;

    return card->launch_ns + (alternates ? card->alternate_ns : 0) +
           (copies ? card->copy_ns + cell->parameters[PARAMETER_refill_bytes] / card->copy_bytes_per_ns : 0);
}

/* The first wave: see model.h. L1 is empty when a launch begins. */
static double wave_ns(const struct cell *cell, const struct card *card)
{
    const double cold_ns = cell->regime->flush ? card->cold_ns : 0;
    const uint32_t steps = workload_steps(cell->workload, cell->parameters);
    const double sectors = unit_of(cell)->through_l1 ? first_block_sectors(cell, steps) : 0;

    return card->wave_ns + cold_ns +
           cycles_to_ns(card, sectors * card->l1_miss_cycles + staging_wait_cycles(cell, card));
}

/* What the payload of one block adds to its life: what is slowest of its loads and instructions, and waiting. */
static double block_payload_ns(const struct work *work)
{
    const struct unit *unit = unit_of(work->cell);
    const double loads = fmax(optional(unit->cycles, work), l1_cycles(work)) / (double)work->access->blocks;
    const double waits = optional(unit->wait_cycles, work) + staging_wait_cycles(work->cell, work->card);

    return cycles_to_ns(work->card, fmax(loads, extra_issue_cycles(work)) + waits);
}

/* Waves after the first are whole or not: blocks end one by one. */
static double residency_ns(const struct cell *cell, const struct card *card, const struct stream *stream,
                           double payload_ns)
{
    const double blocks = cell_blocks(cell);
    const double waves = blocks / ((double)card->sm_count * model_blocks_resident(cell, card));
    const double block_ns = stream->kept * card->block_l2_ns + (1 - stream->kept) * card->block_dram_ns +
                            stream->written_back * card->block_write_back_ns + payload_ns;

    return fmax(fmax(waves - 1, 0) * block_ns, blocks * card->block_launch_ns);
}

/* What depends on the pattern alone. */
static struct model_cell describe_loads(const struct cell *cell, const struct access_counts *access)
{
    uint64_t requests;

    memcpy(&requests, (const char *)access + unit_of(cell)->requests, sizeof(requests));
    return (struct model_cell){
        .footprint_bytes = access->footprint_bytes,
        .requests_per_load = access->payload_loads ? (double)requests / (double)access->payload_loads : NAN,
    };
}

enum status model_predict(const struct cell *cell, const struct access_counts *access, const struct card *card,
                          struct model_cell *out)
{
    const struct stream stream = find_stream(cell, card);
    struct model_cell model = describe_loads(cell, access);
    struct work work = {.cell = cell, .access = access, .card = card};
    struct model_parts *parts = &model.parts;
    enum status status = STATUS_OK;

    if (unit_of(cell)->through_levels)
        status = model_simulate(cell, access, card, &work.levels);
    if (status != STATUS_OK)
        return status;
    model.levels = work.levels;
    predict_unit(&work, parts);
    parts->launch_ns = launch_ns(cell, card);
    parts->wave_ns = wave_ns(cell, card);
    parts->residency_ns = residency_ns(cell, card, &stream, block_payload_ns(&work));
    parts->issue_ns = issue_ns(&work);
    parts->stream_ns = stream_ns(cell, card, &stream);

    model.time_ns = parts->launch_ns + parts->wave_ns +
                    fmax(fmax(parts->residency_ns, parts->issue_ns),
                         fmax(parts->serialization_ns + parts->misses_ns, parts->stream_ns));
    *out = model;
    return status;
}

bool model_knows(const struct device_info *device, const struct card *card)
{
    return device->cc_major == card->cc_major && device->cc_minor == card->cc_minor &&
           device->sm_count == card->sm_count &&
           (!device->chip[0] || !card->chip[0] || strcmp(device->chip, card->chip) == 0);
}

enum status model_explain(const struct cell *cell, const struct access_counts *access, const struct device_info *device,
                          const struct card *card, struct model_cell *out)
{
    if (model_knows(device, card))
        return model_predict(cell, access, card, out);
    *out = describe_loads(cell, access);
    out->time_ns = NAN;
    out->parts = (struct model_parts){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    return STATUS_OK;
}
