/* SPDX-License-Identifier: MIT
 * Kernels by their names, and what a launch of one costs. */
#include "kernel.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estimate.h"
#include "parameter_index.h"
#include "source.h"
#include "user_kernel.h"

/* -- tools ------------------------------------------------------------------------------------- */

static int run_empty(struct device *device, struct launch *launch, double *work_ns)
{
    *work_ns = chip.launch_ns;
    return 0;
}

static int run_flush(struct device *device, struct launch *launch, double *work_ns)
{
    const struct tool_flush_args *const args = &launch->args.flush;
    const uint64_t bytes = args->words * sizeof(uint32_t);

    if (!memory_at(args->buffer, bytes))
        return cudaErrorIllegalAddress;
    *work_ns = chip.launch_ns + (double)bytes / chip.dram_bytes_per_ns;
    probe_caches_launch();
    device->flushed = true;
    return 0;
}

/* Only the clock's launch reads its output. */
static int run_stamp(struct device *device, struct launch *launch, double *work_ns)
{
    const struct tool_stamp_args *const args = &launch->args.stamp;
    struct tool_stamps *const stamps = memory_at(args->stamps, sizeof(*stamps));

    if (!stamps)
        return cudaErrorIllegalAddress;
    *work_ns = chip.launch_ns + (double)args->wait_ns;
    stamps->draw_ns[args->number] = (uint64_t)(device->now_ns + *work_ns);
    if (args->number == TOOL_DRAW_STAMPS - 1)
        memcpy(&stamps->kept_ns[stamps->draws++ % TOOL_DRAWS_MAX * TOOL_DRAW_STAMPS],
               stamps->draw_ns, sizeof(stamps->draw_ns));
    return 0;
}

/* The one that writes at once: into memory of the host. */
static int run_clock(struct device *device, struct launch *launch, double *work_ns)
{
    const struct tool_clock_args *const args = &launch->args.clock;
    struct clock_reading *const reading = memory_at(args->reading, sizeof(*reading));
    const uint64_t ns = args->spin_ns + 32;
    const struct tool_stamps *const stamps = memory_at(args->stamps, sizeof(*stamps));

    if (!reading || !stamps)
        return cudaErrorIllegalAddress;
    for (uint32_t i = 0; i < args->draws * TOOL_DRAW_STAMPS; i++)
        reading->stamps_ns[i] =
            stamps
                ->kept_ns[((stamps->draws - args->draws) * TOOL_DRAW_STAMPS + i) % TOOL_STAMPS_MAX];
    reading->ns = ns;
    reading->cycles = (uint64_t)((double)ns * device_clock_mhz(device) / 1000);
    /* It spins by the timer, whatever the clock of the SMs. */
    *work_ns = (chip.launch_ns + (double)ns) * device_clock_mhz(device) / chip.sm_clock_mhz /
               device->factor;
    return 0;
}

/* -- names ------------------------------------------------------------------------------------- */

const struct kernel_row kernel_rows[] = {
    {"_Z6kernelI", sizeof(struct kernel_args), true, true, false, run_cell},
    {"_Z8launchedI", 0, false, false, true, run_launched},
    {"launch_held", sizeof(uint32_t *), false, false, false, run_held},
    {"tool_empty", 0, false, false, false, run_empty},
    {"tool_stir", 0, false, false, false, run_empty},
    {"tool_flush", sizeof(struct tool_flush_args), false, false, false, run_flush},
    {"tool_stamp", sizeof(struct tool_stamp_args), false, false, false, run_stamp},
    {"tool_clock", sizeof(struct tool_clock_args), false, false, false, run_clock},
    {"_Z11probe_chaseI", sizeof(struct probe_args), true, false, false, run_chase},
    {"_Z11probe_chainI", sizeof(struct probe_args), true, false, false, run_chain},
    {"_Z12probe_streamI", sizeof(struct probe_args), true, false, false, run_stream},
    {"probe_sharing", sizeof(struct probe_sharing_args), false, false, false, run_sharing},
    {"probe_transfer", sizeof(struct probe_transfer_args), false, false, false, run_transfer},
    {"probe_relay", sizeof(struct probe_relay_args), false, false, false, run_relay},
};

const size_t kernel_row_count = sizeof(kernel_rows) / sizeof(kernel_rows[0]);

/* The name at *rest, of the Itanium ABI, "12workload_add", without its first `skip` characters. */
static bool take_name(const char **rest, size_t skip, char *out, size_t bytes)
{
    char *end;
    const size_t length = strtoul(*rest, &end, 10);

    if (end == *rest || length <= skip || length - skip >= bytes || strlen(end) < length)
        return false;
    snprintf(out, bytes, "%.*s", (int)(length - skip), end + skip);
    *rest = end + length;
    return true;
}

#define FIND(rows, count, text, out)                  \
    do {                                              \
        for (size_t i_ = 0; i_ < (count); i_++)       \
            if (strcmp((rows)[i_].name, (text)) == 0) \
                (out) = &(rows)[i_];                  \
    } while (0)

static bool name_path(const char **rest, const struct path **path)
{
    char name[64];

    if (!take_name(rest, strlen("path_"), name, sizeof(name)))
        return false;
    FIND(paths, path_count, name, *path);
    return *path;
}

/* path_P, or sized<path_P, width> */
static bool name_table(const char **rest, struct CUfunc_st *function)
{
    static const char sized[] = "5sizedI";
    const bool is_sized = strncmp(*rest, sized, strlen(sized)) == 0;

    *rest += is_sized ? strlen(sized) : 0;
    if (!name_path(rest, &function->path) ||
        (is_sized && sscanf(*rest, "Lj%uEE", &function->width) != 1))
        return false;
    *rest = is_sized ? strstr(*rest, "EE") + 2 : *rest;
    return true;
}

/* workload_W<variant>, path_P, pattern_T */
static bool name_cell(struct CUfunc_st *function, const char *rest)
{
    char name[64];

    if (!take_name(&rest, strlen("workload_"), name, sizeof(name)) ||
        sscanf(rest, "ILj%uEE", &function->variant) != 1)
        return false;
    FIND(workloads, workload_count, name, function->workload);
    rest = strstr(rest, "EE") + 2;
    if (!name_table(&rest, function) || !take_name(&rest, strlen("pattern_"), name, sizeof(name)))
        return false;
    FIND(patterns, pattern_count, name, function->pattern);
    if (function->workload && function->workload->index == INDEX_LOADED)
        function->pattern = &sources[SOURCE_file];
    return function->workload && function->pattern;
}

static const struct kernel_row user_row = {.prefix = "", .run = run_user};

bool kernel_name(struct CUfunc_st *function)
{
    if (function->module->user) {
        function->row = &user_row;
        return true;
    }
    for (size_t i = 0; i < kernel_row_count; i++) {
        const struct kernel_row *const row = &kernel_rows[i];
        const char *rest = function->symbol + strlen(row->prefix);

        if (strncmp(function->symbol, row->prefix, strlen(row->prefix)) != 0)
            continue;
        function->row = row;
        if (row->of_launch_path)
            return sscanf(rest, "Lj%uEE", &function->parameter_bytes) == 1;
        return row->of_cell ? name_cell(function, rest)
                            : !row->of_path || name_path(&rest, &function->path);
    }
    return false;
}

/* -- what a launch of a cell costs ------------------------------------------------------------- */

/* The cell that would be launched so. The host's work before a launch is a separate operation.
 * Indices are those of the memory that they are in, whatever made them. */
static struct cell cell_of(const struct launch *launch)
{
    const struct CUfunc_st *const function = launch->function;
    const struct kernel_args *const args = &launch->args.cell;
    const bool switched = function->workload->index == INDEX_SWITCHED ||
                          function->workload->index == INDEX_SWITCHED_LENGTH;
    const bool loaded = function->workload->index == INDEX_LOADED;
    struct cell cell = {.workload = function->workload,
                        .path = function->path,
                        .pattern = switched ? &patterns[args->pattern] : function->pattern,
                        .elements = args->elements,
                        .block_size = launch->threads,
                        .cache_state = &cache_states[0],
                        .index_file_hash = loaded ? (uintptr_t)args->input : 0,
                        .grid_blocks = loaded ? launch->blocks : 0};
    const uint32_t parameter_mask = cell_parameter_mask(cell.workload, cell.pattern);
    const uint32_t bytes = function->width * args->length;
    const uint32_t values[PARAMETERS_MAX] = {
        [PARAMETER_distinct] = args->numbers.distinct,
        [PARAMETER_stride_bytes] = (function->width ? function->width : 4) * args->numbers.stride,
        [PARAMETER_radius] = function->variant,
        [PARAMETER_refill_bytes] = 4,
        [PARAMETER_modules] = 1,
        [PARAMETER_width_bytes] =
            parameter_kept(&parameters[PARAMETER_width_bytes], function->width),
        [PARAMETER_table_bytes] = bytes == function->path->bytes ? 0 : bytes,
        [PARAMETER_loads] = args->rows,
        [PARAMETER_in_flight] = loaded ? (function->variant - 1) % CBANK_IN_FLIGHT_MAX + 1 : 0,
        [PARAMETER_polluter_bytes] =
            loaded && function->variant > CBANK_IN_FLIGHT_MAX ? 4 * (args->polluter_mask + 1) : 0,
    };

    for (size_t i = 0; i < PARAMETER_COUNT; i++)
        cell.parameters[i] = parameter_mask & 1u << i ? values[i] : 0;
    if (parameter_mask & PARAMETER_BIT(extra_shared_bytes))
        cell.parameters[PARAMETER_extra_shared_bytes] =
            launch->shared_bytes - cell_staged_bytes(&cell);
    return cell;
}

static bool is_of(const struct behaviour *behaviour, const struct cell *cell)
{
    return cell_order(&behaviour->cell, cell) == 0 &&
           behaviour->cell.grid_blocks == cell->grid_blocks;
}

/* The counts of a cell, which several kernels and places of the same indices share: counting takes
 * long. */
static const struct access_counts *counts_of(struct cell cell)
{
    static struct counted {
        struct cell cell;
        struct access_counts access;
        struct counted *next;
    } *all;
    struct counted *counted;

    if (cell.indices) {
        const uint32_t *const words = cell.indices->values;

        cell.index_file_hash = 0xcbf29ce484222325; /* FNV-1a, by words */
        for (uint64_t i = 0; words && i < cell.indices->count; i++)
            cell.index_file_hash = (cell.index_file_hash ^ words[i]) * 0x100000001b3;
    }
    for (counted = all; counted; counted = counted->next)
        if (cell_order(&counted->cell, &cell) == 0 && counted->cell.grid_blocks == cell.grid_blocks)
            return &counted->access;
    counted = calloc(1, sizeof(*counted));
    if (!counted || access_count(&cell, &counted->access) != STATUS_OK)
        abort();
    counted->cell = cell;
    counted->next = all;
    all = counted;
    return &counted->access;
}

static struct behaviour *behaviour_of(struct launch *launch)
{
    struct cell cell;
    struct behaviour *behaviour;

    if (launch->behaviour)
        return launch->behaviour;
    cell = cell_of(launch);
    for (behaviour = launch->function->behaviours; behaviour && !is_of(behaviour, &cell);
         behaviour = behaviour->next)
        ;
    if (!behaviour) {
        behaviour = calloc(1, sizeof(*behaviour));
        if (!behaviour)
            abort();
        if (cell.index_file_hash) {
            behaviour->indices = cell_launch_indices(launch);
            cell.indices = &behaviour->indices;
        }
        behaviour->access = *counts_of(cell);
        behaviour->cell = cell;
        behaviour->next = launch->function->behaviours;
        launch->function->behaviours = behaviour;
    }
    launch->behaviour = behaviour;
    return behaviour;
}

/* The factor on the time of a launch: it depends on the addresses of its input, its table and its
 * code. */
static double place_factor(const struct launch *launch)
{
    const struct CUfunc_st *const function = launch->function;
    uint64_t place = (uint64_t)settings.seed + (uintptr_t)launch->args.cell.input;
    uint64_t table_place = (uint64_t)settings.seed + (uintptr_t)launch->args.cell.table;
    uint64_t code_place = (uint64_t)settings.seed + (uintptr_t)function->module->bank->address;
    const bool lies = function->path->home == TABLE_GLOBAL;

    return (1 + settings.buffer_set * device_gauss(&place)) *
           (1 + (lies ? settings.table_buffer_set * device_gauss(&table_place) : 0)) *
           (1 + settings.code_buffer_set * device_gauss(&code_place));
}

/* Whether the table lies where the first one did that such paths read. */
static bool is_odd(struct device *device, const struct launch *launch)
{
    if (settings.odd_table <= 0 || launch->function->path->home != TABLE_GLOBAL)
        return false;
    if (!device->first_table)
        device->first_table = launch->args.cell.table;
    return launch->args.cell.table == device->first_table;
}

/* By the simple model, without what the host copies before the launch. */
static double cell_ns(struct device *device, struct launch *launch)
{
    struct behaviour *const behaviour = behaviour_of(launch);
    const struct CUfunc_st *const function = launch->function;
    double *const known = &behaviour->time_ns[device->flushed];
    const bool slow = settings.slow[0] && strcmp(function->path->name, settings.slow) == 0 &&
                      (settings.slow_device < 0 || device_ordinal(device) == settings.slow_device);
    const bool waking = device->now_ns < device->made_ns + 1e6 * settings.making_ms;

    if (*known == 0) {
        struct cell cell = behaviour->cell;
        const struct sass_counts *const sass =
            function->sass.counted ? &function->sass.counts : NULL;
        const struct time_kernel code =
            estimate_kernel(&(struct expectation){&cell, &behaviour->access, sass});
        struct cell_estimate estimate;

        cell.cache_state = &cache_states[device->flushed];
        estimate_time(&cell, &behaviour->access, &card, &code, &estimate);
        *known = isnan(estimate.time_ns.value) ? chip.launch_ns + estimate.busy_ns[estimate.longest]
                                               : estimate.time_ns.value;
    }
    return (*known * (slow ? settings.slow_factor : 1) + (waking ? 170 : 0)) *
           place_factor(launch) * (is_odd(device, launch) ? settings.odd_table : 1);
}

double launch_mj(struct launch *launch)
{
    const struct CUfunc_st *const function = launch->function;
    const struct cell *cell;
    double lookups = 0;

    if (function->row->of_cell && function->path->loads) {
        cell = &behaviour_of(launch)->cell;
        lookups = (double)cell->elements * workload_steps(cell->workload, cell->parameters);
    }
    return 1e-3 * settings.launch_uj + 1e-9 * settings.lookup_pj * lookups;
}

/* -- faults ------------------------------------------------------------------------------------ */

static bool is_named(struct launch *launch, const char *name, bool flushed)
{
    char identity[CELL_IDENTITY_BYTES];
    struct cell cell;

    if (strcmp(launch->function->symbol, name) == 0)
        return true;
    if (launch->user)
        return !user_is_case(launch->function) &&
               user_is_named(launch->function->module->user, name);
    if (!launch->function->row->of_cell)
        return false;
    cell = behaviour_of(launch)->cell;
    cell.cache_state = &cache_states[flushed];
    cell_identity(&cell, identity);
    return strncmp(identity, name, strlen(name)) == 0 || fnmatch(name, identity, 0) == 0;
}

/* The fault that is planted for this launch of a kernel; NULL where there is none. Counts how often
 * it came by. */
static struct planted *kernel_planted(struct planted_list *list, struct launch *launch,
                                      bool flushed)
{
    for (size_t i = 0; i < list->count; i++)
        if (is_named(launch, list->faults[i].name, flushed) &&
            ++list->faults[i].seen == list->faults[i].nth)
            return &list->faults[i];
    return NULL;
}

/* -- a launch ---------------------------------------------------------------------------------- */

int launch_run(struct device *device, struct launch *launch, double *end_ns)
{
    static uint64_t cells;
    const struct kernel_row *const row = launch->function->row;
    const bool flushed = device->flushed;
    struct planted *planted;
    double work_ns = 0;
    int code;

    if (kernel_planted(&settings.hang_kernel, launch, flushed))
        return CODE_NEVER;
    planted = kernel_planted(&settings.kernel_fault, launch, flushed);
    if (planted)
        return error_code(API_RUNTIME, planted->error);
    if (row->of_cell) {
        work_ns = cell_ns(device, launch);
        launch->wrong = (double)++cells == settings.wrong;
    }
    code = row->run(device, launch, &work_ns);
    if (code)
        return code;
    if (row->of_cell) {
        device->flushed = false;
        device->module = launch->function->module;
    }
    *end_ns = device_end(device, work_ns);
    activity_launched(device->now_ns, *end_ns);
    counting_launched(device, launch, (*end_ns - device->now_ns) * device_clock_mhz(device) / 1000);
    return 0;
}
