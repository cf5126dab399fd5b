/* SPDX-License-Identifier: MIT
 * The options of plans and of measuring, as rows, and the sweeps, which are presets of options.
 * Axes of parameters come from parameters.def, a row each. What options demand of each other is
 * checked in plan_options_check. */
#include "plan_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "launch_path.h"
#include "log.h"
#include "parameter_index.h"
#include "plan_kernels.h"
#include "source.h"

static enum status parse_counters(const struct option_row *option, const char *text, void *member)
{
    struct counters_option *counters = member;

    (void)option;
    counter_set_close(&counters->set);
    counters->text = text;
    return counter_set_parse(text, &counters->set);
}

static void close_counters(void *member)
{
    counter_set_close(&((struct counters_option *)member)->set);
}

static const struct option_kind option_counters = {.parse = parse_counters,
                                                   .close = close_counters};

/* "PATH:PERCENT". */
static enum status parse_slow(const struct option_row *option, const char *text, void *member)
{
    struct slow_option *slow = member;
    const size_t colon = strcspn(text, ":");
    char name[64];

    snprintf(name, sizeof(name), "%.*s", (int)colon, text);
    slow->path = table_find(&option->table, name);
    if (!slow->path)
        return table_unknown(&option->table, name);
    return option_number.parse(option, text[colon] ? text + colon + 1 : "", &slow->percent);
}

static const struct option_kind option_slow = {.parse = parse_slow};

/* -- sweeps ------------------------------------------------------------------------------------ */

#define SWEPT_PATHS "constant,param,global,readonly,texture,shared"

enum { SWEEP_QUICK };

const struct preset sweeps[] = {
    [SWEEP_QUICK] = {.name = "quick",
                     .summary = "one table by five paths, without counters: a first look",
                     .values = {{"path", "constant,global,readonly,texture,shared"},
                                {"pattern", "per_thread"},
                                {"elements", "1280000"},
                                {"counters", "none"},
                                {"max-noise", "2"}}},
    {.name = "widths",
     .summary = "what one more address of a warp's load costs, with elements of 1 to 16 bytes in a "
                "table of 2 KB",
     .values = {{"path", SWEPT_PATHS},
                {"pattern", "per_warp,per_thread,distinct"},
                {"elements", "128000"},
                {"distinct", "2,4,8,16,32"},
                {"stride-bytes", "16,64"},
                {"width-bytes", "1,2,4,8,16"},
                {"table-bytes", "2048"}}},
    {.name = "sizes",
     .summary = "time against the size of the table, from 16 bytes to 64 KB",
     .values = {{"path", SWEPT_PATHS},
                {"pattern", "per_block,per_thread,hashed"},
                {"elements", "12800000"},
                {"table-bytes", "16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536"}}},
    {.name = "distinct",
     .summary =
         "time against the distinct addresses of a warp's load, near each other and far apart",
     .values = {{"path", SWEPT_PATHS},
                {"pattern", "distinct"},
                {"elements", "12800000"},
                {"distinct", "1,2,4,8,16,32"},
                {"stride-bytes", "4,64,128,1024"}}},
    {.name = "lookup",
     .summary = "lookups of data from every source, in tables of three sizes",
     .values = {{"workload", "lookup"},
                {"path", SWEPT_PATHS ",shared_copies"},
                {"source", "all"},
                {"distinct", "4,32"},
                {"table-bytes", "128,2048,16384"}}},
    {.name = "warps",
     .summary = "lookups against the warps that an SM runs at a time, from 4 to 64",
     .values = {{"workload", "lookup"},
                {"path", SWEPT_PATHS ",shared_copies"},
                {"source", "random,distinct"},
                {"block-size", "128"},
                {"distinct", "2,16"},
                {"width-bytes", "4,16"},
                {"table-bytes", "512,16384"},
                {"warps-per-sm", "4,8,16,32,64"}}},
    {.name = "pressure",
     .summary = "lookups against other data that is streamed through L1 beside the table, from 4 "
                "KB to 1 MB",
     .values = {{"workload", "lookup"},
                {"path", SWEPT_PATHS ",shared_copies"},
                {"source", "random,zipf"},
                {"table-bytes", "512,16384"},
                {"polluter-bytes", "4096,16384,65536,131072,262144,1048576"}}},
    {.name = "large",
     .summary =
         "lookups in tables of 128 KB to 128 MB, from what L1 has room for to what L2 has none for",
     .values = {{"workload", "lookup"},
                {"path", "global,readonly,global_l2,texture"},
                {"source", "random,zipf"},
                {"width-bytes", "4,16"},
                {"table-bytes",
                 "131072,262144,524288,2097152,8388608,33554432,67108864,134217728"}}},
    {.name = "copies",
     .summary =
         "lookups in small tables: one copy in shared memory, several, or registers of the warp",
     .values = {{"workload", "lookup"},
                {"path", "constant,global,shared,shared_copies,shuffle"},
                {"source", "random,distinct"},
                {"distinct", "4,32"},
                {"table-bytes", "64,128,256,512,1024,2048,4096,8192,16384"}}},
};

const size_t sweep_count = sizeof(sweeps) / sizeof(sweeps[0]);

static enum status parse_quick(const struct option_row *option, const char *text, void *member)
{
    (void)option, (void)text;
    *(const struct preset **)member = &sweeps[SWEEP_QUICK];
    return STATUS_OK;
}

static const struct option_kind option_quick = {.parse = parse_quick};

#define PLAN(member) \
    .offset = offsetof(struct plan_options, member), .given = offsetof(struct plan_options, given)

const struct option_row plan_option_rows[] = {
    {.name = "sweep",
     .topic = TOPIC_PLAN,
     .argument = "NAME",
     .help = "a plan by its name; other options override it: see cbank list sweeps",
     .kind = &option_preset,
     PLAN(sweep),
     .table = TABLE("sweep", sweeps, sweep_count)},
    {.name = "quick",
     .topic = TOPIC_PLAN,
     .help = "a first look, in about a second: --sweep quick",
     .kind = &option_quick,
     PLAN(sweep)},
    {.name = "workload",
     .topic = TOPIC_PLAN,
     .argument = "LIST",
     .help = "workloads, comma-separated, or all (default add)",
     .kind = &option_selection,
     PLAN(workloads),
     .table = TABLE("workload", workloads, workload_count),
     .fallback = "add"},
    {.name = "path",
     .topic = TOPIC_PLAN,
     .argument = "LIST",
     .help = "load paths, or all (default constant,global,readonly)",
     .kind = &option_selection,
     .offset = offsetof(struct plan_options, paths),
     .given = offsetof(struct plan_options, paths_given),
     .table = TABLE("path", paths, path_count),
     .fallback = "constant,global,readonly"},
    {.name = "launch-path",
     .topic = TOPIC_PLAN,
     .argument = "LIST",
     .help = "launch paths of launch_overhead, or all (default: the workload's own)",
     .kind = &option_selection,
     PLAN(launch_paths),
     .table = TABLE("launch path", launch_paths, launch_path_count)},
    {.name = "jit",
     .topic = TOPIC_PLAN,
     .help = "let the driver compile the kernels, from PTX, in place of the toolkit",
     .kind = &option_flag,
     .offset = offsetof(struct plan_options, jit)},
    {.name = "pattern",
     .topic = TOPIC_PLAN,
     .argument = "LIST",
     .help = "access patterns, or all (default: the workload's own)",
     .kind = &option_selection,
     PLAN(patterns),
     .table = TABLE("pattern", patterns, pattern_count)},
    {.name = "source",
     .topic = TOPIC_PLAN,
     .argument = "LIST",
     .help = "where the indices of lookup come from, or all (default: the workload's own, or only "
             "the file)",
     .kind = &option_selection,
     PLAN(sources),
     .table = TABLE("source", sources, source_made_count)},
    {.name = "indices",
     .topic = TOPIC_PLAN,
     .argument = "FILE",
     .help = "a .npy file of indices, integers [step][thread], for lookup",
     .kind = &option_text,
     .file = FILE_READ,
     PLAN(indices_path)},
    {.name = "elements",
     .topic = TOPIC_PLAN,
     .argument = "LIST",
     .help = "output elements, one for each thread (default: the workload's own)",
     .kind = &option_integers,
     PLAN(elements),
     .low = 1,
     .high = (double)CELL_ELEMENTS_MAX,
     .unit = "elements"},
    {.name = "block-size",
     .topic = TOPIC_PLAN,
     .argument = "LIST",
     .help = "threads a block, multiples of 32 (default: the workload's own)",
     .kind = &option_integers,
     PLAN(block_sizes),
     .low = 32,
     .high = CELL_BLOCK_SIZE_MAX,
     .multiple = CBANK_WARP_THREADS,
     .unit = "threads"},
/* PARAMETER_POWERS and PARAMETER_WIDTHS, which plan_options_check looks at, are no multiple
 * here. */
#define PARAMETER(name_, option_, summary_, unit_, min_, max_, multiple_, fallback_, left_out_, \
                  ...)                                                                          \
    {.name = option_,                                                                           \
     .topic = TOPIC_PARAMETERS,                                                                 \
     .argument = "LIST",                                                                        \
     .help = summary_ " (default " fallback_ ")",                                               \
     .kind = &option_integers,                                                                  \
     .offset = offsetof(struct plan_options, parameters[PARAMETER_##name_]),                    \
     .given = offsetof(struct plan_options, named[PARAMETER_##name_]),                          \
     .low = min_,                                                                               \
     .high = max_,                                                                              \
     .multiple = multiple_ % PARAMETER_WIDTHS,                                                  \
     .unit = unit_,                                                                             \
     .fallback = fallback_,                                                                     \
     .otherwise = left_out_ == 0 ? fallback_ : NULL},
#include "parameters.def"
    {.name = "cache-state",
     .topic = TOPIC_PLAN,
     .argument = "LIST",
     .help = "hot (launches back to back after warm-up), cold (caches flushed before every "
             "launch), or all (default hot)",
     .kind = &option_selection,
     .offset = offsetof(struct plan_options, cache_states),
     .given = offsetof(struct plan_options, cache_states_given),
     .table = TABLE("cache_state", cache_states, cache_state_count),
     .fallback = "hot"},
};

#define KERNEL(member)    .offset = offsetof(struct kernel_options, member)
#define OF_KERNEL(member) KERNEL(member), .given = offsetof(struct kernel_options, given)

const struct option_row kernel_option_rows[] = {
    {.name = "kernel",
     .topic = TOPIC_KERNEL,
     .argument = "LIST",
     .help = "kernel files (.cu with a CBANK_CASE): measure their kernels, with the tables in each "
             "memory space",
     .kind = &option_text,
     .file = FILE_READ,
     .reads = kernels_read,
     KERNEL(paths)},
    {.name = "space",
     .topic = TOPIC_KERNEL,
     .argument = "LIST",
     .help = "memory spaces of the kernel's tables: one for all, TABLE=SPACE with + between, or "
             "all (default)",
     .kind = &option_text,
     OF_KERNEL(spaces)},
    {.name = "size",
     .topic = TOPIC_KERNEL,
     .argument = "LIST",
     .help = "sizes of the kernel's case (default: those in the file)",
     .kind = &option_integers,
     OF_KERNEL(sizes),
     .low = 1,
     .high = (double)CELL_ELEMENTS_MAX,
     .unit = "as a size"},
    {.name = "compiler",
     .topic = TOPIC_KERNEL,
     .argument = "PATH",
     .help = "an nvcc for the kernel, or nvrtc (default: CBANK_NVCC, nvcc on PATH, "
             "/usr/local/cuda, NVRTC)",
     .kind = &option_text,
     .file = FILE_READ,
     KERNEL(compiler)},
    {.name = "compiler-options",
     .topic = TOPIC_KERNEL,
     .argument = "TEXT",
     .help = "options for the kernel's compiler, with blanks between",
     .kind = &option_text,
     KERNEL(compiler_options)},
    {.name = "compiler-seconds",
     .topic = TOPIC_KERNEL,
     .argument = "SECONDS",
     .help = "end a call of nvcc that takes longer (default 900)",
     .kind = &option_number,
     KERNEL(compiler_seconds),
     .low = 0.001,
     .high = 1e6,
     .unit = "seconds",
     .fallback = "900"},
    {.name = "against",
     .topic = TOPIC_KERNEL,
     .argument = "FILE",
     .help = "a second kernel file, or the same: measure both in turn, hold their outputs against "
             "each other, and compare",
     .kind = &option_text,
     .file = FILE_READ,
     .reads = kernels_read,
     OF_KERNEL(against)},
    {.name = "against-compiler",
     .topic = TOPIC_KERNEL,
     .argument = "PATH",
     .help = "its compiler (default: that of the first)",
     .kind = &option_text,
     .file = FILE_READ,
     OF_KERNEL(against_compiler)},
    {.name = "against-options",
     .topic = TOPIC_KERNEL,
     .argument = "TEXT",
     .help = "its compiler's options (default: those of the first)",
     .kind = &option_text,
     KERNEL(against_options)},
    {.name = "kernel-sha256",
     .topic = TOPIC_KERNEL,
     .argument = "LIST",
     .help = "refuse a kernel file whose hash, as results have it, is none of these, before it is "
             "compiled",
     .kind = &option_text,
     KERNEL(expected)},
};

#define MEASURE(member)                                 \
    .offset = offsetof(struct measure_options, member), \
    .given = offsetof(struct measure_options, given)

const struct option_row measure_option_rows[] = {
    {.name = "engine",
     .topic = TOPIC_GPU,
     .argument = "NAME",
     .help =
         "cuda, model, or auto: cuda if there is a GPU, else model where CI is not set (default)",
     .kind = &option_choice,
     MEASURE(engine),
     .table = TABLE("engine", engine_rows, engine_count),
     .otherwise = "auto",
     .fallback = "auto"},
    {.name = "device",
     .topic = TOPIC_GPU,
     .argument = "LIST",
     .help = "GPU ordinals, or all; one result file each (default 0)",
     .kind = &option_integers,
     MEASURE(devices),
     .low = 0,
     .high = 1023,
     .unit = "as a device",
     .otherwise = "all",
     .fallback = "0"},
    {.name = "counters",
     .topic = TOPIC_MEASURING,
     .argument = "LIST",
     .help = "default, none, or names of the table and of CUPTI metrics with their rollup, as "
             "sm__cycles_active.sum",
     .kind = &option_counters,
     MEASURE(counters),
     .fallback = "default"},
    {.name = "max-noise",
     .topic = TOPIC_MEASURING,
     .argument = "PERCENT",
     .help = "half the interval at which a cell has enough samples, as a share of its time "
             "(default 0.5)",
     .kind = &option_number,
     MEASURE(max_noise_percent),
     .low = 0.001,
     .high = 100,
     .unit = "percent",
     .fallback = "0.5"},
    {.name = "sample-us",
     .topic = TOPIC_MEASURING,
     .argument = "US",
     .help = "length of a hot sample; up to ten times as long for slow kernels (default 100)",
     .kind = &option_number,
     MEASURE(sample_us),
     .low = 10,
     .high = 1e6,
     .unit = "microseconds",
     .fallback = "100"},
    {.name = "max-samples",
     .topic = TOPIC_MEASURING,
     .argument = "N",
     .help = "most samples of a cell (default 800)",
     .kind = &option_integer,
     MEASURE(samples_max),
     .low = 6,
     .high = 10000,
     .unit = "samples",
     .fallback = "800"},
    {.name = "max-seconds",
     .topic = TOPIC_MEASURING,
     .argument = "SECONDS",
     .help = "most sampling time of a cell (default 2)",
     .kind = &option_number,
     MEASURE(seconds_max),
     .low = 0.001,
     .high = 3600,
     .unit = "seconds",
     .fallback = "2"},
    {.name = "watchdog-slack",
     .topic = TOPIC_MEASURING,
     .argument = "SECONDS",
     .help = "extra time for a call to the GPU before the run ends (default 20 times the expected "
             "time, at least 10 seconds)",
     .kind = &option_number,
     .offset = offsetof(struct measure_options, watchdog_slack_seconds),
     .low = 0.001,
     .high = 86400,
     .unit = "seconds"},
    {.name = "seed",
     .topic = TOPIC_MEASURING,
     .argument = "N",
     .help = "seed of inputs and order, for a kernel file of order alone; recorded (default: from "
             "the clock)",
     .kind = &option_seed,
     .offset = offsetof(struct measure_options, seed),
     .given = offsetof(struct measure_options, seed_given)},
    {.name = "card",
     .topic = TOPIC_GPU,
     .argument = "CARD",
     .help = "chip card of the model engine: a file, or a name of cbank list cards (default h200)",
     .kind = &option_text,
     .file = FILE_READ,
     .offset = offsetof(struct measure_options, card_path)},
    {.name = "duration",
     .topic = TOPIC_MEASURING,
     .help = "also measure how long a launch alone takes from start to end, by CUPTI's activity",
     .kind = &option_flag,
     MEASURE(durations)},
    {.name = "energy",
     .topic = TOPIC_MEASURING,
     .help = "also measure the joules of a launch and of a lookup, by NVML's counter of energy",
     .kind = &option_flag,
     MEASURE(energy)},
    {.name = "energy-seconds",
     .topic = TOPIC_MEASURING,
     .argument = "SECONDS",
     .help = "with --energy: how long each cell, its empty kernel and the idle GPU are measured "
             "(default 2)",
     .kind = &option_number,
     MEASURE(energy_seconds),
     .low = 0.1,
     .high = 3600,
     .unit = "seconds",
     .fallback = "2"},
    {.name = "anonymous",
     .topic = TOPIC_OUTPUT,
     .help = "leave host, slot and job out of the result",
     .kind = &option_flag,
     MEASURE(anonymous)},
    {.name = "fault",
     .argument = "NAME",
     .help = "plant a fault",
     .kind = &option_choice,
     MEASURE(fault),
     .table = TABLE("fault", faults, fault_count),
     .otherwise = "none",
     .fallback = "none",
     .hidden = true},
    {.name = "slow",
     .argument = "PATH:PERCENT",
     .help = "add work to the cells of a path",
     .kind = &option_slow,
     MEASURE(slow),
     .table = TABLE("path", paths, path_count),
     .low = 0,
     .high = 1000,
     .unit = "percent",
     .hidden = true},
};

enum status plan_integers(const char *option, const char *text, struct integers *out)
{
    const struct option_row *row = plan_option_rows;

    while (strcmp(row->name, option) != 0)
        row++;
    return option_integers.parse(row, text, out);
}

bool plan_options_given(const struct plan_options *options)
{
    bool given = options->given || options->paths_given || options->cache_states_given ||
                 options->kernel.given || options->jit;

    for (size_t i = 0; i < PARAMETER_COUNT; i++)
        given = given || options->named[i];
    return given;
}

/* What workloads of a plan take. */
struct taken {
    bool patterns, sources, launch_paths, paths;
};

static struct taken what_is_taken(const struct plan_options *options)
{
    struct taken taken = {0};

    for (size_t i = 0; i < options->workloads.count; i++) {
        const struct workload *workload = options->workloads.rows[i];
        const bool none = workload->index == INDEX_ABSENT;

        taken.launch_paths = taken.launch_paths || none;
        taken.paths = taken.paths || !none;
        taken.sources = taken.sources || workload->index == INDEX_LOADED;
        taken.patterns = taken.patterns || (!none && workload->index != INDEX_LOADED);
    }
    return taken;
}

/* Checks the options for workloads of some kinds: one of the workloads must be of it. */
static enum status check_kinds(const struct plan_options *options)
{
    const struct integers *bytes = &options->parameters[PARAMETER_table_bytes];
    const struct taken taken = what_is_taken(options);
    bool large = false; /* a table is larger than those of patterns */

    for (size_t i = 0; i < bytes->count; i++)
        large = large || bytes->values[i] > CBANK_TABLE_BYTES;
    if (options->paths_given && !taken.paths)
        return log_error(STATUS_USAGE, "--path: these workloads read no table; name their "
                                       "--launch-path");
    if (options->launch_paths.count && !taken.launch_paths)
        return log_error(STATUS_USAGE, "--launch-path: these workloads read tables; name "
                                       "--workload launch_overhead");
    if (options->patterns.count && !taken.patterns)
        return taken.sources
                   ? log_error(STATUS_USAGE, "--pattern: the indices of these workloads are data; "
                                             "name their --source")
                   : log_error(STATUS_USAGE, "--pattern: these workloads read no table");
    if (!taken.sources && large)
        return log_error(STATUS_USAGE,
                         "--table-bytes: the table of a pattern has %u bytes at most; larger ones "
                         "are for --workload lookup",
                         CBANK_TABLE_BYTES);
    if ((options->sources.count || options->indices_path) && !taken.sources)
        return log_error(STATUS_USAGE,
                         "--%s: no indices of these workloads are data; name --workload lookup",
                         options->sources.count ? "source" : "indices");
    return STATUS_OK;
}

enum status plan_options_check(const struct plan_options *options)
{
    const struct kernel_options *kernel = &options->kernel;
    bool others = options->given || options->paths_given; /* than a kernel takes */
    char values[PARAMETER_VALUES_BYTES];

    for (size_t i = 0; i < PARAMETER_COUNT; i++)
        others = others || options->named[i];
    if (kernel->paths && others)
        return log_error(STATUS_USAGE, "--kernel: the file says what is measured; of the options "
                                       "that choose cells, only --space, "
                                       "--size, --jit and --cache-state go with it");
    if (!kernel->paths &&
        (kernel->given || kernel->compiler || kernel->compiler_options || kernel->expected))
        return log_error(STATUS_USAGE, "--space, --size, --compiler, --compiler-options, "
                                       "--kernel-sha256 and --against go with --kernel FILE");
    if (kernel->against && strchr(kernel->paths, ','))
        return log_error(STATUS_USAGE, "--against: name one file by --kernel");
    if (!kernel->against && (kernel->against_compiler || kernel->against_options))
        return log_error(STATUS_USAGE,
                         "--against-compiler and --against-options go with --against FILE");
    if (kernel->paths)
        return STATUS_OK;
    for (size_t i = 0; i < PARAMETER_COUNT; i++)
        for (size_t k = 0; k < options->parameters[i].count; k++)
            if (options->parameters[i].values[k] &&
                !parameter_allows(&parameters[i], options->parameters[i].values[k]))
                return log_error(STATUS_USAGE, "--%s: %" PRIu64 " is not %s %s",
                                 parameters[i].option, options->parameters[i].values[k],
                                 parameter_values_text(&parameters[i], values), parameters[i].unit);
    return check_kinds(options);
}
