/* SPDX-License-Identifier: MIT */
#include "model.h"
#include "model_gather.h"
#include "model_unit.h"
#include "model_warps.h"

#include <math.h>
#include <string.h>

#include "sass.h"

/* Warp instructions, guesses: the sm_90 code of add has 21 to 24, that of other workloads is within a tenth. Issue is
 * far from the longest part of add. */
enum {
    INSTRUCTIONS_PER_WARP = 18,         /* bounds, parameters, the first input load, output */
    INSTRUCTIONS_PER_STEP = 1,          /* the arithmetic on what was loaded; see struct model_unit for the load */
    INSTRUCTIONS_PER_INPUT_LOAD = 3,    /* after the first: bounds, load */
    INSTRUCTIONS_PER_TILE_LOAD = 4,     /* load, arithmetic, and what fills the tile */
    INSTRUCTIONS_PER_STAGING_LOAD = 7,  /* a round of the loop that copies */
};

/* ... for choosing the pattern, and dividing by the length. */
static const uint32_t index_instructions[] = {
    [INDEX_COMPILED] = 0, [INDEX_SWITCHED] = 16, [INDEX_SWITCHED_LENGTH] = 26, [INDEX_LOADED] = 0};

/* From a block's last constant to its end, adding and storing: a guess. Where a block in a loop of loads is alone on its
 * SM, nothing hides the rest of its life: all of it comes on top of the loads. */
enum { LAST_LOAD_CYCLES = 68 };

/* What a block that is alone on its SM has of the life of one that is not, at least: nothing is known of less. */
#define LIFE_LEAST 0.5

/* From a lookup to the next of a warp whose grid strides, less its own latency: its index comes from L2, or from DRAM, and the
 * address is made of it. It waits for the slowest of the loads that go together: indices of what is in flight, and other data.
 * Fitted, of GH100: results/h200/sweeps/warps.json, and results/advise/h200.json for loads that go together and for DRAM. */
enum { INDEX_CYCLES = 308, INDEX_LOAD_CYCLES = 18, INDEX_DRAM_CYCLES = 800 };

/* Where warps answer their lookups by instructions, they take turns at these, and all end at about the same time: little of that is
 * hidden behind waiting for indices, as much as there is from the first to come to the last. Those of DRAM come to one warp
 * while others work. Fitted to the cells of UNIT_SELECT in results/advise/h200.json. */
enum { TURNS_HIDDEN_CYCLES = 75 };

/* Indices are read only: of so much of L2 all stay there, and none where they are so much. Likewise. */
#define INDICES_KEPT_SHARE 0.62
#define INDICES_LOST_SHARE 0.9

/* A first wave of few elements is sooner done than a full one. Likewise. */
enum { FEW_NS = 190, FEW_ELEMENTS = 12000 };

/* Blocks that an SM begins at once; of a grid that strides the later ones end later, the less the more rounds they make. And what
 * lookups of kernel parameters take less than those of constants: their first lines come with the launch. Likewise. */
enum { AT_ONCE = 2, STRIDED_PARAMETER_CYCLES = -150 };

/* What a strided grid keeps busy overlaps, but not wholly: parts add by this power. A guess by the same cells. */
#define OVERLAP_POWER 2.7

static double staging_instructions(const struct model_work *work)
{
    const bool copies = cell_staged_bytes(work->cell) > 0;

    return (double)work->access->staging_loads * (copies ? INSTRUCTIONS_PER_STAGING_LOAD : 1);
}

/* Without those that copy the table. */
static double warp_instructions(const struct model_work *work)
{
    const struct workload *workload = work->cell->workload;
    const uint32_t *parameters = work->cell->parameters;
    const double known = (work->kernel->instructions - staging_instructions(work)) / (double)work->access->warps_active;
    const uint32_t payload =
        INSTRUCTIONS_PER_STEP + (work->cell->path->loads ? work->unit->instructions + image_pieces(work->cell) - 1 : 0);

    if (known > INSTRUCTIONS_PER_WARP)
        return known;
    return INSTRUCTIONS_PER_WARP + index_instructions[workload->index] + payload * work->steps +
           (double)INSTRUCTIONS_PER_INPUT_LOAD * (workload_input_loads(workload, parameters) - 1) +
           (double)INSTRUCTIONS_PER_TILE_LOAD * workload_tile_loads(workload, parameters);
}

/* -- units: what a block waits for -------------------------------------------------------------------- */

/* Instructions that add does not have. All blocks of the SM want theirs at once where they choose the pattern or read a tile
 * behind a barrier; those of a loop of loads are issued while other blocks wait. */
static double extra_issue_cycles(const struct model_work *work)
{
    const struct workload *workload = work->cell->workload;
    const double add = INSTRUCTIONS_PER_WARP + INSTRUCTIONS_PER_STEP + model_units[UNIT_L1].instructions;
    const double together = index_instructions[workload->index] +
                            (double)INSTRUCTIONS_PER_TILE_LOAD * workload_tile_loads(workload, work->cell->parameters);
    const double others = fmax(warp_instructions(work) - add - together, 0);
    const double warps = work->cell->block_size / CBANK_WARP_THREADS;

    return (together * model_blocks_resident(work->cell, work->card) + others) * warps / work->card->issue_per_cycle;
}

/* -- parts of the time --------------------------------------------------------------------------------- */

static double output_bytes(const struct cell *cell)
{
    return sizeof(uint32_t) * (double)cell->elements;
}

static double input_bytes(const struct cell *cell)
{
    return output_bytes(cell) * workload_streamed(cell->workload, cell->parameters);
}

/* Hot: what the launch before left in L2 stays there, all of it if it fits; of twice as much, nothing;
 * between the two this interpolates. Output that does not stay is written back a launch later, at the
 * latest. Cold: nothing stays, and L2 takes output until it has no more room for it. */
static void find_stream(struct model_work *work)
{
    const double bytes = input_bytes(work->cell) + output_bytes(work->cell);
    const double room = (double)work->card->l2_kept_bytes, share = bytes / (double)work->card->l2_bytes;

    work->kept = bytes <= room ? 1 : fmax(0, 2 * room - bytes) / bytes;
    if (cell_strides(work->cell))
        work->kept = fmin(fmax((INDICES_LOST_SHARE - share) / (INDICES_LOST_SHARE - INDICES_KEPT_SHARE), 0), 1);
    work->written = 1 - work->kept;
    if (work->cell->regime->flush) {
        work->kept = 0;
        work->written = fmax(0, 1 - (double)work->card->l2_dirty_bytes / output_bytes(work->cell));
    }
}

/* Blocks that read neighbouring rows read them from L2 again. */
static double stream_ns(const struct model_work *work)
{
    const double input = input_bytes(work->cell), output = output_bytes(work->cell);
    const double dram = output * (1 - work->kept + work->written) + (input - output) * (1 - work->kept);
    const double again = output * (workload_input_rows(work->cell->workload, work->cell->parameters) - 1);

    return (input + output - dram + again) / work->card->l2_bytes_per_ns + dram / work->card->dram_bytes_per_ns;
}

/* Input that each thread of a block that is alone loads before it waits for the table; 0 where it does not wait, or where
 * table and input come through L1 alike. */
static double input_loads_first(const struct model_work *work)
{
    const double input = workload_input_loads(work->cell->workload, work->cell->parameters);
    const uint32_t registers = work->kernel->registers;

    if (!work->alone || work->unit->global || work->unit->through_l1 || work->unit->shared ||
        input + work->steps <= registers)
        return 0;
    return fmin(input, registers);
}

static double input_first_cycles(const struct model_work *work)
{
    return input_loads_first(work) * work->cell->block_size / CBANK_WARP_THREADS / work->card->l1_requests_per_cycle;
}

/* What the payload of one block adds to its life: the slowest of its loads and instructions, and waiting. */
static double block_payload_ns(const struct model_work *work)
{
    const double own_cycles = work->unit->through_levels ? 0 : model_part_of(work->unit->cycles, work);
    const double loads = fmax(own_cycles, model_l1_cycles(work)) / cell_blocks(work->cell);
    const double waits = model_part_of(work->unit->wait_cycles, work) + model_staging_cycles(work->cell, work->card);
    const double warps = work->cell->block_size / CBANK_WARP_THREADS;
    const double issued_first =
        input_loads_first(work) * INSTRUCTIONS_PER_INPUT_LOAD * warps / work->card->issue_per_cycle;
    const double issue = extra_issue_cycles(work) + fmax(input_first_cycles(work) - issued_first, 0);

    return model_to_ns(work->card, fmax(loads, issue) + waits);
}

/* Part of the loads of other data that come from L2: all, or what an SM asks for first where L1, which is one memory with shared
 * memory, keeps it. */
static double other_from_l2(const struct model_work *work)
{
    const struct cell *cell = work->cell;
    const double bytes = cell->parameters[PARAMETER_pressure_bytes];
    const double shared = (double)model_blocks_resident(cell, work->card) * cell_shared_bytes(cell);
    const double asked = model_busiest_share(cell, work->card, 1) * output_bytes(cell) *
                         workload_groups(cell->workload, cell->parameters);

    return bytes + shared > work->card->shared_bytes_per_sm ? 1 : fmin(bytes / asked, 1);
}

/* That a thread waits for the indices of a group of lookups. */
static double index_cycles(const struct model_work *work)
{
    const double loads = work->cell->parameters[PARAMETER_in_flight] + other_from_l2(work);
    const double l2 = INDEX_CYCLES + INDEX_LOAD_CYCLES * loads;

    return work->kept * l2 + (1 - work->kept) * INDEX_DRAM_CYCLES;
}

/* A block of a later wave, without its payload; not of a grid that strides. */
static double block_base_ns(const struct model_work *work)
{
    const struct card *card = work->card;
    const double input_ns = work->kept * card->block_l2_ns + (1 - work->kept) * card->block_dram_ns;
    const double full = input_ns + work->written * card->block_write_back_ns;
    const double part = (double)work->cell->block_size / (card->warps_per_sm * CBANK_WARP_THREADS);

    return work->alone ? full * fmax(fmin(part, 1), LIFE_LEAST) : full;
}

/* A group of lookups of a warp that strides: from its indices to the next. */
static double group_ns(const struct model_work *work)
{
    const double index = index_cycles(work), latency = work->unit->latency_cycles + model_turns(work) - 1;
    const double turn = model_part_of(work->unit->turn_cycles, work), turns = turn * model_quarter_warps(work);
    const double hidden = work->kept * TURNS_HIDDEN_CYCLES + (1 - work->kept) * index;

    return model_to_ns(work->card, index + fmax(latency, fmax(turn, turns - hidden)));
}

/* With it; of a grid that strides, an element of each thread. */
static double block_life_ns(const struct model_work *work)
{
    if (cell_strides(work->cell))
        return group_ns(work) * workload_groups(work->cell->workload, work->cell->parameters);
    return block_base_ns(work) + block_payload_ns(work);
}

/* What comes into L1 for the first time: who waits for it, or, where a table is in few slices of L2, the busiest of these, of which
 * all SMs want it. */
static double first_touches_ns(const struct model_work *work)
{
    const double filled = (double)work->first.sectors * ACCESS_SECTOR_BYTES / MODEL_FILL_BYTES_PER_CYCLE;
    const double waits = model_to_ns(work->card, work->first.waits * MODEL_FIRST_CYCLES + filled);

    return fmax(waits, MODEL_FIRST_TURN * work->first.turns * work->card->l2_request_ns);
}

/* What warps that stride wait, where their blocks do not all begin at once: the late ones have the SM to themselves in the end. */
static double strided_ns(double waits_ns, double launching_ns, double rounds)
{
    const double late_ns = fmax(launching_ns, 0);

    return fmax(waits_ns + late_ns / rounds, late_ns + waits_ns / rounds);
}

/* Waves after the first are whole or not: blocks end one by one. A warp that strides ends where the others do. */
static double residency_ns(const struct model_work *work)
{
    const struct card *card = work->card;
    const double blocks = cell_blocks(work->cell);
    const double waves = blocks / ((double)card->sm_count * model_blocks_resident(work->cell, card));
    const double later = cell_strides(work->cell) ? ceil(waves) : fmax(waves - 1, 0);
    const double launching = cell_grid_blocks(work->cell) * card->block_launch_ns;

    if (cell_strides(work->cell))
        return strided_ns(later * block_life_ns(work) + first_touches_ns(work),
                          launching - AT_ONCE * card->sm_count * card->block_launch_ns, later);
    return fmax(later * block_life_ns(work), launching);
}

/* What the busiest SM has to do. */
static struct model_sm busiest_sm(const struct model_work *work)
{
    const struct cell *cell = work->cell;
    const struct card *card = work->card;
    const double to_cycles = card->sm_clock_mhz / 1000;
    struct model_sm sm = {.blocks = model_busiest_share(cell, card, 1) * cell_blocks(cell),
                          .resident = model_blocks_resident(cell, card),
                          .end_cycles = LAST_LOAD_CYCLES};

    if (cell_strides(work->cell)) {
        sm.index_cycles = index_cycles(work);
        sm.next_cycles = card->sm_count * card->block_launch_ns * to_cycles;
        return sm;
    }
    sm.life_cycles = block_life_ns(work) * to_cycles;
    sm.input_cycles = input_first_cycles(work);
    if (work->alone)
        sm.end_cycles = fmax(block_base_ns(work) * to_cycles - MODEL_WARPS_BEGIN_CYCLES, LAST_LOAD_CYCLES);
    return sm;
}

/* The warps of the busiest SM side by side: what they wait for, and how often a line comes that was there before. */
static enum status simulate_warps(struct model_work *work)
{
    const struct cell *cell = work->cell;
    const struct card *card = work->card;
    const struct model_sm sm = busiest_sm(work);
    struct model_warps warps;
    const enum status status = model_warps_run(cell, card, &sm, &warps);

    if (status != STATUS_OK)
        return status;
    /* The first wave of a grid that strides is like the others, and takes most of the time where the grid is small. */
    work->waits_ns =
        fmax(model_to_ns(card, warps.cycles - (cell_strides(work->cell) ? MODEL_WARPS_BEGIN_CYCLES : sm.life_cycles)),
             0);
    warps.fills *= cell_blocks(cell) / sm.blocks;
    work->levels.parameter_refills = warps.parameter_refills * cell_blocks(cell) / sm.blocks;
    /* Without the warps side by side each would fetch by itself what conflicts. */
    if (warps.refills > 0 || warps.fills < work->levels.misses[0]) {
        work->levels.misses[0] = fmin(warps.fills, work->levels.requests[0]);
        work->levels.requests[1] = work->levels.misses[0];
        work->levels.misses[1] = fmin(work->levels.misses[1], work->levels.requests[1]);
    }
    return status;
}

static struct model_parts predict_parts(const struct model_work *work)
{
    const struct cell *cell = work->cell;
    const struct card *card = work->card;
    const struct model_unit *unit = work->unit;
    const double busiest = model_busiest_share(cell, card, 1);
    const double copied_bytes = cell_copied_bytes(cell);
    const bool alternates = cell->parameters[PARAMETER_modules] > 1;
    /* L1 is empty when a launch begins. */
    const double sectors =
        unit->through_l1 && !model_gathers(work) ? model_first_block_sectors(cell, (uint32_t)work->steps) : 0;
    const double parameter = cell->path->home == TABLE_PARAMETER ? STRIDED_PARAMETER_CYCLES : 0;
    const double strided = cell_strides(cell) ? unit->strided_cycles + parameter : 0;
    const double few_ns = cell_strides(cell) ? FEW_NS * fmin(1, FEW_ELEMENTS / (double)cell->elements) : 0;
    const double instructions =
        (double)work->access->warps_active * warp_instructions(work) + staging_instructions(work);
    const double unit_cycles = model_part_of(unit->cycles, work) + model_part_of(unit->other_cycles, work);
    const double serialization_ns = model_to_ns(card, fmax(unit_cycles, model_l1_cycles(work)) * busiest);

    return (struct model_parts){
        .launch_ns = card->launch_ns + (alternates ? card->alternate_ns : 0) +
                     (copied_bytes > 0 ? card->copy_ns + copied_bytes / card->copy_bytes_per_ns : 0),
        .wave_ns = card->wave_ns + (cell->regime->flush ? card->cold_ns : 0) - few_ns +
                   model_to_ns(card, sectors * card->l1_miss_cycles + model_staging_cycles(cell, card) + strided),
        .residency_ns = residency_ns(work),
        .issue_ns = model_to_ns(card, instructions * busiest) / card->issue_per_cycle,
        .serialization_ns = serialization_ns,
        .misses_ns = fmax(model_part_of(unit->beyond_ns, work) - serialization_ns, 0),
        .stream_ns = stream_ns(work),
    };
}

/* -- predictions --------------------------------------------------------------------------------------- */

static const struct model_parts no_parts = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};

/* What depends on the pattern alone. */
static struct model_cell describe_loads(const struct cell *cell, const struct access_counts *access)
{
    const uint64_t requests = model_unit_requests(&model_units[cell->path->unit], access);

    return (struct model_cell){
        .footprint_bytes = access->footprint_bytes,
        .requests_per_load = access->payload_loads ? (double)requests / (double)access->payload_loads : NAN,
    };
}

/* Of what overlaps the longest counts, or most. */
static double overlapped_ns(const struct model_work *work, const struct model_parts *parts)
{
    /* Of a grid that strides the simulation of the constant levels has the blocks' lives. */
    const double lives = cell_strides(work->cell) && work->unit->through_levels ? 0 : parts->residency_ns;
    const double together[] = {lives, parts->issue_ns, parts->serialization_ns + parts->misses_ns, parts->stream_ns};
    double longest = 0, sum = 0;

    for (size_t i = 0; i < sizeof(together) / sizeof(together[0]); i++) {
        longest = fmax(longest, together[i]);
        sum += pow(together[i], OVERLAP_POWER);
    }
    return cell_strides(work->cell) ? pow(sum, 1.0 / OVERLAP_POWER) : longest;
}

/* What the loads ask of L2 and of L1. */
static enum status sample_loads(struct model_work *work, uint32_t resident)
{
    const bool gathers = model_gathers(work);

    if (gathers || work->cell->path->unit == UNIT_L2)
        work->asked = model_l2_sample(work->cell, work->card);
    return gathers
               ? model_first_touches(work->cell, work->card->sm_count, resident, work->card->l2_slices, &work->first)
               : STATUS_OK;
}

enum status model_predict(const struct cell *cell, const struct access_counts *access, const struct card *card,
                          const struct model_kernel *kernel, struct model_cell *out)
{
    static const struct model_kernel unknown = {.instructions = NAN};
    const struct card room = model_card_for(card, cell, kernel ? kernel : &unknown);
    struct model_cell model = describe_loads(cell, access);
    struct model_work work = {.cell = cell,
                              .access = access,
                              .card = &room,
                              .kernel = kernel ? kernel : &unknown,
                              .unit = &model_units[cell->path->unit],
                              .steps = workload_steps(cell->workload, cell->parameters)};
    struct model_parts *parts = &model.parts;
    char lacks[CARD_LACKS_BYTES];
    enum status status = STATUS_OK;

    model.resident = model_blocks_resident(cell, &room);
    work.alone = work.steps > 1 && model.resident == 1;
    if (work.unit->through_levels)
        status = model_simulate(cell, access, &room, &work.levels);
    if (model_lacks(cell, card, lacks)) {
        model.levels = work.levels;
        model.time_ns = NAN;
        model.parts = no_parts;
        *out = model;
        return status;
    }
    find_stream(&work);
    status = status_worse(status, sample_loads(&work, model.resident));
    if (status == STATUS_OK && work.unit->through_levels && !room.levels[0].kept_between_launches)
        status = simulate_warps(&work);
    if (status != STATUS_OK)
        return status;
    model.levels = work.levels;
    *parts = predict_parts(&work);
    model.time_ns = parts->launch_ns + parts->wave_ns + overlapped_ns(&work, parts);
    *out = model;
    return status;
}

enum status model_explain(const struct cell *cell, const struct access_counts *access, const struct device_info *device,
                          const struct card *card, struct model_cell *out)
{
    if (model_knows(device, card))
        return model_predict(cell, access, card, NULL, out);
    *out = describe_loads(cell, access);
    out->time_ns = NAN;
    out->parts = no_parts;
    return STATUS_OK;
}
