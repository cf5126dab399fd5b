/* SPDX-License-Identifier: MIT
 * The simple time, which estimate.h defines. Counts become times in two ways, and a number that the
 * card lacks makes each of them NaN:
 *
 *   by_rate: count / (units per cycle or ns)        by_cost: count x (cycles or ns of one)
 *
 * estimate_time passes over the card three times: with its values, and with the ends of their
 * intervals that make a cell fastest and slowest. */
#include "estimate.h"

#include <math.h>
#include <string.h>

#include "parameter_index.h"
#include "table.h"
#include "text.h"

const struct time_unit_row time_units[TIME_UNITS] = {
    [TIME_ISSUE] = {"issue", "issuing instructions"},
    [TIME_CONSTANT] = {"constant cache", "distinct addresses, one after the other"},
    [TIME_FILL] = {"constant fills", "lines that the L1 constant cache misses"},
    [TIME_L1] = {"L1", "loads and wavefronts of L1 and shared memory"},
    [TIME_L2] = {"L2", "bytes through L2"},
    [TIME_L2_LINE] = {"L2 line", "loads of the same line, one after the other"},
    [TIME_DRAM] = {"DRAM", "bytes through device memory"},
    [TIME_START] = {"block start", "starting the blocks"},
    [TIME_LATENCY] = {"latency", "waiting, wave after wave of blocks"},
};

/* One evaluation of the model: a value for each number of the card, and the numbers that were
 * needed but are not known. */
struct work {
    const struct cell *cell;
    const struct access_counts *access;
    const struct time_kernel *kernel;
    double number[CARD_NUMBERS];
    uint32_t missing;
    double resident;     /* blocks that an SM holds */
    /* of elements: in a grid-stride loop, a block counts once for each round */
    double blocks;
    double input, output, table; /* bytes: streamed once, and the footprint in whole lines */
    /* bytes of the footprint that the blocks of an SM read at a time */
    double near;
    double kept, far, behind; /* shares: of input and output found in L2, of the table's sectors not
                               * in L1, and of the latter not in L2 */
};

static double use(struct work *work, enum card_key key)
{
    work->missing |= (uint32_t)isnan(work->number[key]) << key;
    return work->number[key];
}

/* x / number and x x number. They need the number only if x is not 0. */
static double by_rate(struct work *work, double x, enum card_key key)
{
    return x > 0 ? x / use(work, key) : 0;
}

static double by_cost(struct work *work, double x, enum card_key key)
{
    return x > 0 ? x * use(work, key) : 0;
}

/* Converts the cycles of all SMs to the time of the busiest SM. */
static double busiest_ns(struct work *work, double cycles)
{
    const double share = ceil(work->blocks / use(work, CARD_SM_COUNT)) / work->blocks;

    return by_rate(work, cycles * share * 1000, CARD_SM_CLOCK_MHZ);
}

static double cycles_ns(struct work *work, double cycles)
{
    return by_rate(work, cycles * 1000, CARD_SM_CLOCK_MHZ);
}

/* The share of `bytes` of reused data that a cache finds: all of half its size, nothing above its
 * size. */
static double kept_of(double cache_bytes, double bytes)
{
    return fmin(fmax(2 - 2 * bytes / cache_bytes, 0), 1);
}

static bool goes_to(const struct work *work, enum load_unit a, enum load_unit b)
{
    return work->cell->path->loads && (work->cell->path->unit == a || work->cell->path->unit == b);
}

static double steps_of(const struct work *work)
{
    return workload_steps(work->cell->workload, work->cell->parameters);
}

static double instructions_of(const struct work *work)
{
    const struct access_counts *access = work->access;

    return work->kernel->instructions.known
               ? (double)work->kernel->instructions.value
               : (double)(access->payload_loads + access->stream_loads + access->staging_loads);
}

/* Waves of the grid: one, unless the cell says how many elements a thread takes. */
static double grid_waves(struct work *work)
{
    const double at_a_time = work->resident * use(work, CARD_SM_COUNT);

    return work->cell->parameters[PARAMETER_thread_elements]
               ? fmax(ceil(cell_grid_blocks(work->cell) / at_a_time), 1)
               : 1;
}

static void find_sm_times(struct work *work, double busy_ns[TIME_UNITS])
{
    const struct access_counts *access = work->access;
    const double lines = (double)access->lines, block_lines = (double)access->block_lines;
    const double addresses = (double)access->addresses,
                 all = (double)work->kernel->constant_requests.value;
    const double payload = (double)access->payload_loads, wavefronts = (double)access->wavefronts;
    const bool texture = goes_to(work, UNIT_TEXTURE, UNIT_TEXTURE),
               strides = uses_grid_stride_loop(work->cell);
    /* In a grid-stride loop, the first wave of blocks copies the table before everything else. */
    const double copies = (double)access->staging_loads * (strides ? 1 - 1 / grid_waves(work) : 1);
    double loads = 0, lookups = 0;
    double shared = (double)access->warps_active *
                    workload_tile_loads(work->cell->workload, work->cell->parameters);

    busy_ns[TIME_ISSUE] =
        busiest_ns(work, by_rate(work, instructions_of(work), CARD_ISSUE_PER_CYCLE));
    busy_ns[TIME_CONSTANT] = busy_ns[TIME_FILL] = 0;
    if (goes_to(work, UNIT_IDC, UNIT_IDC)) {
        const double capacity = use(work, CARD_CONSTANT_L1_BYTES),
                     missed = fmax(1 - capacity / work->near, 0);
        /* At the start of a block, unless earlier blocks read the same. */
        const double first = block_lines / steps_of(work) * fmax(1 - capacity / work->table, 0);
        /* The warps of a block find data that another warp brought in, unless the block alone needs
         * more than the cache holds. */
        double asked =
            block_lines *
            fmax(block_lines / work->blocks / steps_of(work) * ACCESS_LINE_BYTES / capacity, 1);

        asked = fmin(strides ? lines : asked, lines);
        busy_ns[TIME_CONSTANT] =
            busiest_ns(work, by_cost(work, fmax(addresses, all), CARD_CONSTANT_ADDRESS_CYCLES));
        busy_ns[TIME_FILL] = isnan(missed)
                                 ? NAN
                                 : busiest_ns(work, by_cost(work, fmax(asked * missed, first),
                                                            CARD_CONSTANT_FILL_CYCLES));
    }
    if (texture)
        loads = by_rate(work, payload, CARD_TEXTURE_REQUESTS_PER_CYCLE);
    if (goes_to(work, UNIT_L1, UNIT_L2))
        loads = by_rate(work, payload, CARD_L1_REQUESTS_PER_CYCLE);
    if (goes_to(work, UNIT_L1, UNIT_TEXTURE))
        lookups = fmax((double)access->tag_wavefronts, texture ? 0 : wavefronts);
    if (goes_to(work, UNIT_SHARED, UNIT_SHARED))
        shared += wavefronts;
    if (goes_to(work, UNIT_REGISTERS, UNIT_REGISTERS))
        shared += payload; /* each shuffle takes a wavefront */
    if (cell_staged_bytes(work->cell) > 0)
        shared += copies;
    lookups = by_rate(work, lookups, CARD_SHARED_WAVEFRONTS_PER_CYCLE);
    busy_ns[TIME_L1] =
        busiest_ns(work, (isnan(loads + lookups) ? NAN : fmax(loads, lookups)) +
                             by_rate(work, (double)access->stream_loads + copies,
                                     CARD_L1_REQUESTS_PER_CYCLE) +
                             by_rate(work, shared, CARD_SHARED_WAVEFRONTS_PER_CYCLE));
}

static void find_chip_times(struct work *work, double busy_ns[TIME_UNITS])
{
    const struct access_counts *access = work->access;
    const double streamed = work->input + work->output, steps = steps_of(work),
                 lines = (double)access->lines;
    /* Blocks that read neighbouring rows read them from L2 again. */
    const double again =
        work->output * (workload_input_rows(work->cell->workload, work->cell->parameters) - 1);
    const double sectors = (double)access->sectors * ACCESS_SECTOR_BYTES * work->far;
    const double missed = lines * ACCESS_LINE_BYTES * work->far * work->behind;
    const double at_a_time = fmax(fmax((double)access->block_lines / work->blocks / steps,
                                       (double)access->footprint_lines / steps),
                                  1);

    busy_ns[TIME_L2] = by_rate(work, streamed + again + sectors, CARD_L2_BYTES_PER_NS);
    busy_ns[TIME_L2_LINE] = goes_to(work, UNIT_L2, UNIT_L2)
                                ? by_cost(work, lines, CARD_L2_LINE_NS) / sqrt(at_a_time)
                                : 0;
    busy_ns[TIME_DRAM] =
        by_rate(work, streamed * (1 - work->kept) + missed, CARD_DRAM_BYTES_PER_NS);
    busy_ns[TIME_START] = by_cost(work, cell_grid_blocks(work->cell), CARD_BLOCK_START_NS);
}

/* -- latency ----------------------------------------------------------------------------------- */

/* A block copies its part of the table: a thread waits for four words at a time, or for one where
 * there are several copies. */
static double staging_ns(struct work *work)
{
    const struct cell *cell = work->cell;
    const double words = ceil(cell_staged_bytes(cell) / 4.0 / cell->block_size);
    const double rounds = ceil(words / (table_copies(cell->path, cell->parameters) > 1 ? 1 : 4));

    return cycles_ns(work, by_cost(work, rounds, CARD_L2_LATENCY_CYCLES));
}

/* The additional cycles of device memory compared with L2, for a share of loads. */
static double dram_cycles(struct work *work, double share)
{
    return share > 0 ? share * (use(work, CARD_BLOCK_DRAM_NS) - use(work, CARD_BLOCK_L2_NS)) *
                           use(work, CARD_SM_CLOCK_MHZ) / 1000
                     : 0;
}

static double latency_ns(struct work *work, const double busy_ns[TIME_UNITS])
{
    const struct cell *cell = work->cell;
    const double waves = fmax(work->blocks / (use(work, CARD_SM_COUNT) * work->resident), 1);
    const double own =
        fmax(fmax(busy_ns[TIME_ISSUE], busy_ns[TIME_CONSTANT]), busy_ns[TIME_L1]) / work->resident;
    const double block_l2 = use(work, CARD_BLOCK_L2_NS);
    double life;

    if (uses_grid_stride_loop(cell)) {
        /* One round of a thread: its indices, one group after the other, and their lookups. */
        const double groups = workload_groups(cell->workload, cell->parameters);
        const double l2 = use(work, CARD_L2_LATENCY_CYCLES), l1 = use(work, CARD_L1_LATENCY_CYCLES);
        const double index = l2 + dram_cycles(work, 1 - work->kept);
        const double behind =
            work->far > 0 ? work->far * (l2 + dram_cycles(work, work->behind)) : 0;
        const double instructions = instructions_of(work) / (double)work->access->warps_active;

        life = cycles_ns(work, groups * (index + (1 - work->far) * l1 + behind) +
                                   by_cost(work, instructions, CARD_ALU_LATENCY_CYCLES));
        return ceil(waves) * life + (grid_waves(work) - 1) * (staging_ns(work) + block_l2) + own;
    }
    life = work->kept < 1 ? work->kept * block_l2 + (1 - work->kept) * use(work, CARD_BLOCK_DRAM_NS)
                          : block_l2;
    life += staging_ns(work);
    if (goes_to(work, UNIT_L2, UNIT_L2)) /* half of the later loads wait for the previous one */
        life += cycles_ns(work, by_cost(work, (steps_of(work) - 1) / 2, CARD_L2_LATENCY_CYCLES));
    return waves * life + own;
}

/* -- the time ---------------------------------------------------------------------------------- */

struct time_kernel estimate_kernel(const struct expectation *expectation)
{
    static const struct table table = TABLE("counter", counters, counter_count);
    const struct counter *instructions = table_find(&table, "instructions"),
                         *requests = table_find(&table, "idc_requests");

    return (struct time_kernel){.instructions = counter_expected(instructions, expectation),
                                .constant_requests = counter_expected(requests, expectation)};
}

/* What the cell needs of the chip, whatever the numbers of the card are. */
static struct work work_of(const struct cell *cell, const struct access_counts *access,
                           const struct card *card, const struct time_kernel *kernel)
{
    struct work work = {.cell = cell, .access = access, .kernel = kernel};
    const double block = cell->block_size, threads = cell->parameters[PARAMETER_window_threads];
    const double window = /* of a block */
        cell->parameters[PARAMETER_window_entries] * fmax(block / fmax(threads, 1), 1);

    work.resident = card_blocks_resident(card, cell, kernel->registers);
    work.blocks = (double)cell_blocks(cell);
    work.table = fmax((double)access->footprint_lines, 1) * ACCESS_LINE_BYTES;
    work.near = window > 0
                    ? fmin(work.table, work.resident * window * table_width(cell->parameters))
                    : work.table;
    work.output = sizeof(uint32_t) * (double)cell->elements;
    work.input = work.output * workload_streamed(cell->workload, cell->parameters);
    return work;
}

/* How much of the data each cache keeps, by the numbers that work has. */
static void find_shares(struct work *work)
{
    const struct access_counts *access = work->access;
    const double l2 = use(work, CARD_L2_BYTES);

    work->kept = work->cell->cache_state->flush ? 0 : kept_of(l2, work->input + work->output);
    work->behind = 1 - kept_of(l2, work->table);
    work->far = goes_to(work, UNIT_L2, UNIT_L2);
    /* warps of a block share data from beyond L1 */
    if (goes_to(work, UNIT_L1, UNIT_TEXTURE)) {
        const double l1 = use(work, CARD_SHARED_BYTES_PER_SM);

        work->far =
            fmax(fmax(1 - l1 / work->near, 0), fmax(1 - l1 / work->table, 0) / steps_of(work)) *
            fmin((double)access->block_lines / fmax((double)access->lines, 1), 1);
    }
}

/* The time by the numbers that work has, the busy time of each unit, and the longest one. */
static double find_time(struct work *work, double busy_ns[TIME_UNITS], enum time_unit *longest)
{
    double first, most = 0;

    find_shares(work);
    first = use(work, CARD_LAUNCH_NS);
    if (uses_grid_stride_loop(work->cell))
        first += staging_ns(work) + use(work, CARD_BLOCK_L2_NS);
    find_sm_times(work, busy_ns);
    find_chip_times(work, busy_ns);
    busy_ns[TIME_LATENCY] = latency_ns(work, busy_ns);
    for (int unit = 0; unit < TIME_UNITS; unit++)
        if (busy_ns[unit] > most) {
            most = busy_ns[unit];
            *longest = (enum time_unit)unit;
        }
    return (isnan(first) ? 0 : first) + most;
}

/* The end of a number's interval that makes cells fast, or slow. */
static double card_end(const struct card *card, size_t key, bool fast)
{
    return fast == card_rows[key].faster ? card->number[key].high : card->number[key].low;
}

/* The other units' work rests on what caches keep, which is a model. */
static void find_least(const double busy_ns[TIME_UNITS], struct cell_estimate *out)
{
    static const enum time_unit exact[] = {TIME_ISSUE, TIME_CONSTANT, TIME_L1};

    for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
        if (busy_ns[exact[i]] > out->least_ns) {
            out->least_ns = busy_ns[exact[i]];
            out->least_unit = exact[i];
        }
}

void estimate_time(const struct cell *cell, const struct access_counts *access,
                   const struct card *card, const struct time_kernel *kernel,
                   struct cell_estimate *out)
{
    static const struct time_kernel unknown = {0};
    struct work work = work_of(cell, access, card, kernel ? kernel : &unknown);
    double ends_ns[TIME_UNITS];
    enum time_unit longest;

    *out = (struct cell_estimate){.longest = TIME_ISSUE};
    for (size_t key = 0; key < CARD_NUMBERS; key++)
        work.number[key] = card->number[key].value;
    out->time_ns.value = find_time(&work, out->busy_ns, &out->longest);
    out->copy_ns = staging_ns(&work);
    for (size_t key = 0; key < CARD_NUMBERS; key++)
        work.number[key] = card_end(card, key, true);
    out->time_ns.low = find_time(&work, ends_ns, &longest);
    find_least(ends_ns, out);
    for (size_t key = 0; key < CARD_NUMBERS; key++)
        work.number[key] = card_end(card, key, false);
    out->time_ns.high = find_time(&work, ends_ns, &longest);
    out->missing = work.missing | (cell_copied_bytes(cell) > 0 ? ESTIMATE_HOST_COPY : 0);
    out->time_ns.low /= TIME_MODEL_ERROR;
    out->time_ns.high *= TIME_MODEL_ERROR;
    if (out->missing) {
        out->time_ns.value = NAN;
        out->time_ns.high = INFINITY;
    }
}

void estimate_missing_text(const struct cell_estimate *estimate, char out[CARD_TEXT_BYTES])
{
    card_keys_text(estimate->missing, out);
    if (estimate->missing & ESTIMATE_HOST_COPY)
        text_join(out, CARD_TEXT_BYTES, ", ", "what the host takes to write the table");
}
