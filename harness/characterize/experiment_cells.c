/* SPDX-License-Identifier: MIT
 * Whole kernels, measured as `cbank run` measures cells: launches, the start and the life of
 * blocks, bandwidths. */
#include "experiment_cells.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "child.h"
#include "engine.h"
#include "experiment.h"
#include "log.h"
#include "parameter_index.h"
#include "result_indices.h"
#include "table.h"

/* Values in the answer to PROBE_CELL. Times are in ps. */
enum {
    ANSWER_TIME_PS,
    ANSWER_CLOCK_KHZ,
    ANSWER_LAUNCH_PS, /* of an empty kernel; the same for all cells */
    ANSWER_COUNTERS,  /* from here on, one for each of counted_text */
    ANSWER_INSTRUCTIONS = ANSWER_COUNTERS,
    ANSWER_CONSTANT_LINES,
    ANSWER_L2_SECTORS,
    ANSWER_DRAM_READ,
    ANSWER_DRAM_WRITTEN,
    ANSWER_END
};

_Static_assert(ANSWER_END - PROBE_CELL_VALUES == 0, "the length of an answer");

static const char counted_text[] =
    "instructions,idc_misses_new,l2_sectors,dram_read_bytes,dram_write_bytes";

/* The cells. Streams of `waves` full waves of blocks stay in L2. Those of `l2_quarters` quarters of
 * its size do not. A row is followed by the next shorter stream. */
static const struct cell_row {
    const char *workload, *path, *pattern;
    uint64_t elements;
    uint32_t waves, l2_quarters, block_size;
    uint32_t parameters[PARAMETERS_MAX];
} cell_rows[] = {
#define STREAM      "add", "global", "per_block"
#define ONE_ADDRESS {[PARAMETER_distinct] = 1, [PARAMETER_stride_bytes] = 4}
#define LOOKUPS     [PARAMETER_loads] = 4, [PARAMETER_in_flight] = 1
    {STREAM, .waves = 8, .block_size = 1024},
    {STREAM, .waves = 4, .block_size = 1024},
    {STREAM, .waves = 2, .block_size = 1024},
    {STREAM, .waves = 1, .block_size = 1024},
    {STREAM, .l2_quarters = 16, .block_size = 1024},
    {STREAM, .l2_quarters = 12, .block_size = 1024},
    {STREAM, .l2_quarters = 8, .block_size = 1024},
    {"stencil_1d", "constant", "lockstep", 1 << 22, .block_size = 32},
    {"stencil_1d", "param", "lockstep", 1 << 22, .block_size = 32},
    {"stencil_1d", "shared", "lockstep", 1 << 22, .block_size = 32},
    {"stencil_1d", "global", "lockstep", 1 << 22, .block_size = 32},
    {"add", "constant", "pseudo_random", 3200000, .block_size = 1024},
    {"add", "constant", "pseudo_random", 1600000, .block_size = 1024},
    {"add", "constant", "pseudo_random", 800000, .block_size = 1024},
    {"add", "global_l2", "distinct", 6400000, .block_size = 1024, .parameters = ONE_ADDRESS},
    {"add", "global_l2", "distinct", 3200000, .block_size = 1024, .parameters = ONE_ADDRESS},
    {"add", "global_l2", "distinct", 1600000, .block_size = 1024, .parameters = ONE_ADDRESS},
    {"lookup", "shared", "random", 1 << 20, .block_size = 256,
     .parameters = {LOOKUPS, [PARAMETER_table_bytes] = 512, [PARAMETER_polluter_bytes] = 1 << 20}},
    {"lookup", "global_l2", "random", 1 << 20, .block_size = 256,
     .parameters = {LOOKUPS, [PARAMETER_table_bytes] = 1 << 26}},
#undef STREAM
#undef ONE_ADDRESS
#undef LOOKUPS
};

/* The first row of each kind. */
enum { IN_L2 = 0, IN_DRAM = 4, SMALL_BLOCKS = 7, FILLS = 11, LINES = 14, CELLS = COUNT(cell_rows) };

static struct cell cell_of(const struct cell_row *row, const struct device_info *device)
{
    struct cell cell = {.workload = table_find(&table_of_workloads, row->workload),
                        .path = table_find(&table_of_paths, row->path),
                        .cache_state = &cache_states[0],
                        .block_size = row->block_size,
                        .elements = row->elements};

    cell.pattern = table_find(cell_pattern_table(cell.workload), row->pattern);
    cell.elements +=
        (uint64_t)row->waves * device->sm_count * device->warps_per_sm * CBANK_WARP_THREADS;
    cell.elements += row->l2_quarters * (device->l2_bytes / 4) / (2 * sizeof(uint32_t));
    memcpy(cell.parameters, row->parameters, sizeof(cell.parameters));
    return cell;
}

/* -- the source -------------------------------------------------------------------------------- */

/* A signal ends it. */
static bool go_on(void *context, const char *phase, size_t done, size_t total)
{
    (void)context, (void)phase, (void)done, (void)total;
    return interrupted();
}

/* The phases of a run, on all cells. The caller closes *session, also after an error. */
static enum status run_phases(const struct engine_options *options, struct index_list *indices,
                              struct result *result, struct engine_session **session)
{
    engine_phase *const phases[] = {engine_cuda.prepare, engine_cuda.verify, engine_cuda.time,
                                    engine_cuda.set_up_counting, engine_cuda.count};
    const struct progress progress = {.step = go_on};
    struct device_info device;
    struct cell cells[CELLS];
    enum status status = engine_cuda.describe(options->device, NULL, &device);

    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < CELLS; i++)
        cells[i] = cell_of(&cell_rows[i], &device);
    status = result_open(result, cells, CELLS);
    if (status != STATUS_OK)
        return status;
    result->device = device;
    status = result_give_indices(result, indices, NULL);
    if (status != STATUS_OK)
        return status;
    status = engine_cuda.open(options, result, session);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < COUNT(phases); i++) {
        status = phases[i](*session, result, &progress);
        if (status != STATUS_OK || interrupted())
            return status == STATUS_OK ? STATUS_ENVIRONMENT : status;
    }
    return STATUS_OK;
}

enum status cells_measure(uint32_t ordinal, struct watchdog *watchdog, double watchdog_slack,
                          struct cells_source *out)
{
    struct counter_set counted = {0};
    const struct engine_options options = {.device = ordinal,
                                           .counters = &counted,
                                           .seed = 1,
                                           .max_noise = 0.005,
                                           .sample_ns = 1e5,
                                           .samples_max = 800,
                                           .seconds_max = 2,
                                           .watchdog = watchdog,
                                           .watchdog_slack = watchdog_slack};
    struct index_list indices = {.unhashed = true};
    struct engine_session *session = NULL;
    const char *reason;
    enum status status = counter_set_parse(counted_text, &counted);

    /* Without that device, opening the probes says why. */
    if (status != STATUS_OK || ordinal >= engine_cuda.device_count(&reason))
        goto out;
    status = run_phases(&options, &indices, &out->result, &session);
    if (status == STATUS_FINDING)
        status = log_error(STATUS_ENVIRONMENT,
                           "the cells of the experiment whole_kernels failed: %s%s%s",
                           out->result.end.reason, out->result.end.cell[0] ? " at " : "",
                           out->result.end.cell);
out:
    if (session)
        engine_cuda.close(session);
    counter_set_close(&counted);
    index_list_close(&indices);
    return status;
}

static uint32_t whole(double value)
{
    return value >= 0 && value < PROBE_NOT_COUNTED ? (uint32_t)(value + 0.5) : PROBE_NOT_COUNTED;
}

static enum status answer_cell(void *context, const struct probe_request *request, uint32_t *answer)
{
    const struct cells_source *source = context;

    if (request->kind != PROBE_CELL)
        return source->probes.ask(source->probes.context, request, answer);
    for (size_t i = 0; i < PROBE_CELL_VALUES; i++)
        answer[i] = PROBE_NOT_COUNTED;
    for (size_t i = 0; i < source->result.cell_count; i++) {
        const struct cell_result *cell = &source->result.cells[i];

        if (!cell->verified || cell->time.stop_reason == STOP_NONE ||
            cell_order(&cell->cell, request->cell) != 0)
            continue;
        answer[ANSWER_TIME_PS] = whole(1000 * cell->time.summary.value);
        answer[ANSWER_CLOCK_KHZ] = whole(1000 * cell->time.sm_clock_mhz);
        answer[ANSWER_LAUNCH_PS] = whole(1000 * source->result.device.launch_ns);
        for (size_t k = 0; k < cell->counter_count; k++) /* in the order of the set */
            answer[ANSWER_COUNTERS + k] = whole(cell->counters[k].value);
        if (answer[ANSWER_INSTRUCTIONS] == PROBE_NOT_COUNTED)
            answer[ANSWER_INSTRUCTIONS] = cell->counter_count
                                              ? whole(optional_number(cell->counters[0].expected))
                                              : PROBE_NOT_COUNTED;
    }
    return STATUS_OK;
}

static const struct probe_kernel *kernel_of_probes(void *context, enum probe_kind kind,
                                                   const struct path *path)
{
    const struct probe_source *probes = &((const struct cells_source *)context)->probes;

    return probes->kernel(probes->context, kind, path);
}

struct probe_source cells_source_with(struct cells_source *source,
                                      const struct probe_source *probes)
{
    struct probe_source both = *probes;

    source->probes = *probes;
    both.context = source;
    both.ask = answer_cell;
    both.kernel = kernel_of_probes;
    return both;
}

/* -- the experiment ---------------------------------------------------------------------------- */

/* warp instructions that an SM issues a cycle: NVIDIA's tuning guides, Kepler and later */
enum { SCHEDULERS = 4 };

/* The answers; NaN for what was not measured or counted. */
struct kernels {
    const struct device_info *device;
    double answer[CELLS][PROBE_CELL_VALUES];
    double elements[CELLS];
};

static double ns(const struct kernels *kernels, size_t cell)
{
    return kernels->answer[cell][ANSWER_TIME_PS] / 1000;
}

static double launch_ns(const struct kernels *kernels, size_t cell)
{
    return kernels->answer[cell][ANSWER_LAUNCH_PS] / 1000;
}

static double start_ns(const struct kernels *kernels, size_t cell)
{
    return (ns(kernels, cell) - launch_ns(kernels, cell)) * cell_rows[cell].block_size /
           kernels->elements[cell];
}

/* A wave of blocks, without issuing the instructions of one of them: the slope from the next
 * shorter stream on. */
static double life_ns(const struct kernels *kernels, size_t cell)
{
    const double *more = kernels->answer[cell], *less = kernels->answer[cell + 1];
    const double wave = kernels->device->warps_per_sm * CBANK_WARP_THREADS;
    const double issued =
        (more[ANSWER_INSTRUCTIONS] - less[ANSWER_INSTRUCTIONS]) / kernels->device->sm_count;
    const double own_ns =
        issued / SCHEDULERS / (wave / cell_rows[cell].block_size) * 1e6 / more[ANSWER_CLOCK_KHZ];
    const double waves =
        (kernels->elements[cell] - kernels->elements[cell + 1]) / wave / kernels->device->sm_count;

    return (ns(kernels, cell) - ns(kernels, cell + 1) - own_ns) / waves;
}

/* The slope from the next smaller number of lines on. */
static double fill_cycles(const struct kernels *kernels, size_t cell)
{
    const double *more = kernels->answer[cell], *less = kernels->answer[cell + 1];
    const double cycles =
        (ns(kernels, cell) - ns(kernels, cell + 1)) * more[ANSWER_CLOCK_KHZ] / 1e6;

    return cycles * kernels->device->sm_count /
           (more[ANSWER_CONSTANT_LINES] - less[ANSWER_CONSTANT_LINES]);
}

static double line_ns(const struct kernels *kernels, size_t cell)
{
    const double loads =
        (kernels->elements[cell] - kernels->elements[cell + 1]) / CBANK_WARP_THREADS;

    return (ns(kernels, cell) - ns(kernels, cell + 1)) / loads;
}

static double l2_rate(const struct kernels *kernels, size_t cell)
{
    return kernels->answer[cell][ANSWER_L2_SECTORS] * ACCESS_SECTOR_BYTES / ns(kernels, cell);
}

static double dram_rate(const struct kernels *kernels, size_t cell)
{
    return (kernels->answer[cell][ANSWER_DRAM_READ] + kernels->answer[cell][ANSWER_DRAM_WRITTEN]) /
           ns(kernels, cell);
}

/* The numbers: a value of each of `count` cells from `first` on. The number is the first, smallest
 * or largest of them, and its interval reaches from the smallest to the largest, or to the largest
 * of all cells. */
static const struct kernel_number {
    const char *name, *unit, *method;
    double (*value)(const struct kernels *kernels, size_t cell);
    size_t first, count;
    enum { FIRST, SMALLEST, LARGEST } choice;
    bool below_all;
} kernel_numbers[] = {
    {"launch_ns", "ns", "one more launch of an empty kernel in a chain of them", launch_ns, IN_L2,
     .count = 1},
    {"block_start_ns", "ns",
     "time less a launch over blocks of stencil_1d/PATH/lockstep/4194304/32/hot, the shortest of "
     "four paths",
     start_ns, SMALL_BLOCKS, 4, .choice = SMALLEST},
    {"block_l2_ns", "ns",
     "slope between add/global/per_block of 4 and 8 waves of blocks, in waves, less issue; "
     "interval: fewer waves",
     life_ns, IN_L2, .count = 3},
    {"block_dram_ns", "ns",
     "slope between add/global/per_block of 3 and 4 times L2, in waves of blocks, less issue; "
     "interval: 2 and 3 times",
     life_ns, IN_DRAM, .count = 2},
    {"constant_fill_cycles", "cycles",
     "slope of the cycles of all SMs over idc_misses_new between add/constant/pseudo_random of 1.6 "
     "and 3.2 M elements; "
     "interval: 0.8 and 1.6 M",
     fill_cycles, FILLS, .count = 2},
    {"l2_line_ns", "ns",
     "slope of the time over warp loads between add/global_l2/distinct of 3.2 and 6.4 M elements, "
     "one address; interval: 1.6 "
     "and 3.2 M",
     line_ns, LINES, .count = 2},
    {"l2_bytes_per_ns", "bytes/ns",
     "largest rate of l2_sectors of add/global/per_block; high: of any cell", l2_rate, IN_L2,
     IN_DRAM, LARGEST, .below_all = true},
    {"dram_bytes_per_ns", "bytes/ns",
     "largest rate of dram_read_bytes and dram_write_bytes of any cell", dram_rate, 0, CELLS,
     .choice = LARGEST},
};

void experiment_cells(struct experiment_run *run)
{
    struct kernels kernels = {.device = &run->out->device};

    for (size_t i = 0; i < CELLS; i++) {
        const struct cell cell = cell_of(&cell_rows[i], kernels.device);
        struct probe_request request = {.kind = PROBE_CELL, .cell = &cell};
        uint32_t answer[PROBE_CELL_VALUES] = {0};

        experiment_ask(run, &request, answer);
        kernels.elements[i] = (double)cell.elements;
        for (size_t k = 0; k < PROBE_CELL_VALUES; k++)
            kernels.answer[i][k] = answer[k] == PROBE_NOT_COUNTED ? NAN : (double)answer[k];
    }
    for (size_t i = 0; i < COUNT(kernel_numbers); i++) {
        const struct kernel_number *row = &kernel_numbers[i];
        struct number number = {.name = row->name,
                                .unit = row->unit,
                                .method = row->method,
                                .samples = row->count};

        number.value = number.low = number.high = row->value(&kernels, row->first);
        for (size_t k = 0; k < CELLS; k++) {
            const bool own = k >= row->first && k < row->first + row->count;
            const double value = own || row->below_all ? row->value(&kernels, k) : NAN;

            number.high = fmax(number.high, value);
            if (own && row->choice != FIRST)
                number.value =
                    row->choice == LARGEST ? fmax(number.value, value) : fmin(number.value, value);
            if (own)
                number.low = fmin(number.low, value);
        }
        if (row->choice == LARGEST) /* a lower rate is no sign of a lower limit */
            number.low = number.value;
        if (!isfinite(number.value))
            number = experiment_unknown(number, "a cell was not measured, or a counter not read");
        experiment_number(run, number);
    }
}
