/* SPDX-License-Identifier: MIT */
#include "model_unit.h"
#include "model_warps.h"
#include "sass.h"

#include <math.h>
#include <string.h>

/* Loads of kernel parameters beside the payload: add has 3 to 5. */
enum { PARAMETERS_PER_WARP = 4 };

/* Parts of an SM, each of which has every fourth warp. */
enum { SM_QUARTERS = 4 };

/* What a sector of a texture's load takes, and what it returns in a cycle: by sweeps/lookup.json, and by results/advise/h200.json. */
#define TEXTURE_SECTOR_CYCLES   0.5
#define TEXTURE_BYTES_PER_CYCLE 64

double model_to_ns(const struct card *card, double cycles)
{
    return cycles * 1000 / card->sm_clock_mhz;
}

/* Blocks go where others have ended, which evens out what the units have to do, but not within the first wave, when a unit of
 * more SMs has more blocks. */
double model_busiest_share(const struct cell *cell, const struct card *card, uint32_t sms)
{
    const double blocks = cell_blocks(cell);
    const double units = ceil((double)card->sm_count / sms);
    const double even = ceil(blocks / units);
    const double first_wave =
        fmin(ceil(sms * blocks / card->sm_count), (double)sms * model_blocks_resident(cell, card));

    return fmin(fmax(even, first_wave) / blocks, 1);
}

/* Blocks that do not fill their last round are taken to be spread over all rounds. */
double model_quarter_warps(const struct model_work *work)
{
    const double blocks = model_busiest_share(work->cell, work->card, 1) * cell_blocks(work->cell);
    const double rounds = ceil(blocks / model_blocks_resident(work->cell, work->card));

    return fmax(blocks / rounds * work->cell->block_size / CBANK_WARP_THREADS / SM_QUARTERS, 1);
}

uint64_t model_unit_requests(const struct model_unit *unit, const struct access_counts *access)
{
    uint64_t requests;

    memcpy(&requests, (const char *)access + unit->requests, sizeof(requests));
    return requests;
}

double model_part_of(model_part *part, const struct model_work *work)
{
    return part ? part(work) : 0;
}

bool model_gathers(const struct model_work *work)
{
    return cell_strides(work->cell) && work->unit->through_l1;
}

double model_turns(const struct model_work *work)
{
    const double loads = (double)work->access->payload_loads;

    if (loads == 0 || !cell_strides(work->cell))
        return 1;
    if (model_gathers(work))
        return fmax(work->asked.lines / work->asked.loads, (double)work->access->wavefronts / loads);
    return work->unit->shared ? (double)model_unit_requests(work->unit, work->access) / loads : 1;
}

/* What reading the table takes L1: its banks are those of shared memory, and it looks up lines, in banks, too. These, and the banks
 * of a texture, bound grids that stride alone. */
static double gather_cycles(const struct model_work *work)
{
    const uint64_t lines = model_gathers(work) ? work->access->tag_wavefronts : 0;

    if (!work->unit->through_l1 || !(work->unit->global || model_gathers(work)))
        return 0;
    return fmax((double)lines, (double)work->access->wavefronts) +
           (double)work->access->stream_loads / work->card->l1_requests_per_cycle;
}

/* L1 takes loads and answers sectors of input and, where it comes that way, of the table; shared memory, which is the
 * same memory, its wavefronts. Blocks of a grid that strides copy the table once, all of them before any lookup: that is time of the
 * first wave. */
double model_l1_cycles(const struct model_work *work)
{
    const struct access_counts *access = work->access;
    const struct card *card = work->card;
    const struct model_unit *unit = work->unit;
    const bool strides = cell_strides(work->cell);
    const uint64_t staging_loads = strides ? 0 : access->staging_loads;
    const double loads = (double)(access->stream_loads + staging_loads + (unit->global ? access->payload_loads : 0));
    const double sectors = (double)(access->stream_sectors + (strides ? 0 : access->staging_sectors) +
                                    (unit->global || unit->through_l1 ? access->sectors : 0));
    const double outputs = strides ? (double)work->cell->elements / CBANK_WARP_THREADS : 0;
    const double wavefronts =
        (double)access->warps_active * workload_tile_loads(work->cell->workload, work->cell->parameters) +
        (cell_staged_bytes(work->cell) ? (double)staging_loads : 0) +
        (unit->shared ? (double)model_unit_requests(unit, access) : 0);

    return fmax(fmax(loads / card->l1_requests_per_cycle + model_part_of(unit->l1_cycles, work),
                     sectors / card->l1_sectors_per_cycle),
                gather_cycles(work)) +
           outputs * unit->output_cycles + wavefronts / card->shared_wavefronts_per_cycle;
}

/* -- units: the indexed constant cache ---------------------------------------------------------------- */

static double idc_cycles(const struct model_work *work)
{
    return work->levels.requests[0] * work->card->levels[0].request_cycles;
}

static double parameter_cycles(const struct model_work *work)
{
    return (double)work->access->warps_active * PARAMETERS_PER_WARP * work->card->levels[0].request_cycles;
}

/* Cycles that the first level is not busy where an SM has room for two blocks. Found, not explained: loads of 16 and of 32
 * addresses that hit take as much longer as if one load of each block had the level to itself. Its addresses pass one
 * after the other. Of four blocks or more the level is busy (results/h200/model/changes.json). */
static double change_cycles(const struct model_work *work)
{
    const double addresses = work->levels.requests[0] / (double)work->access->payload_loads;
    const bool two = model_blocks_resident(work->cell, work->card) == 2;

    return two ? (double)work->access->blocks * addresses * MODEL_WARPS_PASS_CYCLES : 0;
}

/* The busiest level, and that the first cannot be busy all the time: what one SM takes longer than its first wave. At the
 * first a warp of the first wave waits for its lines after the first, when an SM has nothing else to do; in a grid that strides
 * it does so all the time, which is simulated. */
static double levels_ns(const struct model_work *work)
{
    const struct card *card = work->card;
    const double first_lines =
        cell_strides(work->cell) ? 0 : fmax(work->levels.misses[0] / (double)work->access->warps_active - 1, 0);
    double busiest = 0;

    for (uint32_t l = 0; l < card->level_count; l++) {
        const struct card_level *level = &card->levels[l];
        const double share = model_busiest_share(work->cell, card, level->sms);
        const double cycles = work->levels.requests[l] * level->request_cycles +
                              (l == 0 ? parameter_cycles(work) + change_cycles(work) : 0) +
                              work->levels.misses[l] * level->miss_cycles;

        busiest =
            fmax(busiest, model_to_ns(card, cycles * share + (l == 0 ? first_lines * level->miss_latency_cycles : 0)));
    }
    return fmax(busiest, work->waits_ns);
}

/* -- units: the constant caches that a warp's load asks once ------------------------------------------ */

static double uniform_cycles(const struct model_work *work)
{
    return (double)work->access->payload_loads * work->card->uniform_request_cycles;
}

static double immediate_cycles(const struct model_work *work)
{
    return (double)work->access->payload_loads * work->card->immediate_request_cycles;
}

/* Not simulated: each SM waits once for every line that the grid reads, as long as at the first level. */
static double line_wait_cycles(const struct model_work *work)
{
    const double lines = ceil((double)work->access->footprint_bytes / ACCESS_LINE_BYTES);
    const double blocks = (double)work->access->blocks;

    return fmin(lines * fmin(blocks, work->card->sm_count) / blocks, 1) * work->card->levels[0].miss_latency_cycles;
}

/* -- units: global and shared memory ------------------------------------------------------------------ */

static double texture_cycles(const struct model_work *work)
{
    const double loads = (double)work->access->payload_loads, requests = loads / work->card->texture_requests_per_cycle;
    const double bytes = loads * CBANK_WARP_THREADS * table_width(work->cell->parameters);

    if (!cell_strides(work->cell))
        return requests;
    return fmax(fmax(requests, bytes / TEXTURE_BYTES_PER_CYCLE), (double)work->access->sectors * TEXTURE_SECTOR_CYCLES);
}

/* An SM has its part of what L2 delivers: of a small grid that is less than slices do. */
static double l2_cycles(const struct model_work *work)
{
    const double ns = (double)work->access->sectors * ACCESS_SECTOR_BYTES / work->card->l2_bytes_per_ns;

    return ns * work->card->sm_count * work->card->sm_clock_mhz / 1000;
}

/* Comparisons and selections take a quarter of an SM two cycles: an SM makes 64 of a thread a cycle, says the table of throughputs of
 * the CUDA C++ Programming Guide, of compute capability 5.0 to 9.0. Beside selecting, predicates are made of the index, and the loop
 * ends; other data is waited for: so by the code for sm_90, one more or less by the width. */
enum { COMPARE_CYCLES = 2, BESIDE_SELECTING = 5, BESIDE_OTHER_DATA = 2 };

static double select_cycles(const struct model_work *work)
{
    const double other = work->cell->parameters[PARAMETER_pressure_bytes] ? BESIDE_OTHER_DATA : 0;

    return work->cell->parameters[PARAMETER_in_flight] * (image_pieces(work->cell) + BESIDE_SELECTING + other) *
           COMPARE_CYCLES;
}

static double l2_ns(const struct model_work *work)
{
    return (double)work->access->payload_loads * work->asked.turns / work->asked.loads * work->card->l2_request_ns;
}

/* clang-format off */
#define REQUESTS(count) .requests = offsetof(struct access_counts, count)

const struct model_unit model_units[] = {
    [UNIT_IDC] = {REQUESTS(addresses), .instructions = 3, .strided_cycles = -110, .through_levels = true,
                  .cycles = idc_cycles, .other_cycles = parameter_cycles, .beyond_ns = levels_ns},
    [UNIT_UNIFORM] = {REQUESTS(payload_loads), .instructions = 3, .cycles = uniform_cycles, .wait_cycles = line_wait_cycles},
    [UNIT_IMC] = {REQUESTS(payload_loads), .instructions = 1, .cycles = immediate_cycles, .wait_cycles = line_wait_cycles},
    [UNIT_L1] = {REQUESTS(sectors), .instructions = 3, .latency_cycles = 41, .output_cycles = 8, .through_l1 = true,
                 .global = true},
    [UNIT_L2] = {REQUESTS(sectors), .instructions = 3, .latency_cycles = 300, .strided_cycles = 100, .output_cycles = 8,
                 .global = true, .cycles = l2_cycles, .beyond_ns = l2_ns},
    [UNIT_TEXTURE] = {REQUESTS(sectors), .instructions = 3, .latency_cycles = 94, .strided_cycles = 200,
                      .output_cycles = 8, .through_l1 = true, .l1_cycles = texture_cycles},
    [UNIT_SHARED] = {REQUESTS(wavefronts), .instructions = 1, .latency_cycles = 23, .strided_cycles = -110, .output_cycles = 8,
                     .shared = true},
    /* A shuffle goes the way of a load from shared memory, in one turn: 32 results a cycle and SM, says the manual. */
    [UNIT_REGISTERS] = {REQUESTS(payload_loads), .instructions = 1, .latency_cycles = 23, .output_cycles = 8, .shared = true},
    [UNIT_SELECT] = {REQUESTS(payload_loads), .instructions = 6, .output_cycles = 8, .turn_cycles = select_cycles},
};
/* clang-format on */
