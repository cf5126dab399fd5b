/* SPDX-License-Identifier: MIT
 * `cbank advise`: lookups that options describe, the code of a kernel, or a set of tables. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise.h"
#include "advise_measure.h"
#include "code_compare.h"
#include "code_print.h"
#include "command.h"
#include "configuration.h"
#include "document.h"
#include "engine.h"
#include "files.h"
#include "log.h"
#include "parameter_index.h"
#include "plan.h"
#include "source.h"
#include "table_set.h"
#include "text_print.h"
#include "user_table.h"

struct advise_options {
    struct plan_options plan;
    struct measure_options measure;
    /* NULL: not given */
    const char *json_path, *kernel_path, *kernel_name, *against, *block, *write_path, *tables,
        *measured_path;
    uint64_t architecture; /* 0: not given */
    bool fail, all_loads;
    double threshold_percent;
    struct output_options look;
};

#define MEMBER(name) .offset = offsetof(struct advise_options, name)

static const struct option_row rows[] = {
    {.name = "kernel",
     .topic = TOPIC_KERNEL,
     .argument = "FILE",
     .help = "code of your own: a cubin, a fatbin, or a program, library, archive or object that "
             "has one",
     .kind = &option_text,
     .file = FILE_READ,
     MEMBER(kernel_path)},
    {.name = "kernel-name",
     .topic = TOPIC_KERNEL,
     .argument = "GLOB",
     .help = "with --kernel: only kernels of this name; * stands for any text",
     .kind = &option_text,
     MEMBER(kernel_name)},
    {.name = "against",
     .topic = TOPIC_KERNEL,
     .argument = "OLD",
     .help = "with --kernel: which loads, tables, registers and local memory differ from those of "
             "this file, kernel by kernel",
     .kind = &option_text,
     .file = FILE_READ,
     MEMBER(against)},
    {.name = "all-loads",
     .topic = TOPIC_KERNEL,
     .help = "with --kernel: print all tables and the loads of every kernel",
     .kind = &option_flag,
     MEMBER(all_loads)},
    {.name = "arch",
     .topic = TOPIC_KERNEL,
     .argument = "NUMBER",
     .help = "with --kernel: the architecture whose code is read, such as 90 (default the newest)",
     .kind = &option_integer,
     MEMBER(architecture),
     .low = 1,
     .high = UINT8_MAX},
    {.name = "block-dim",
     .topic = TOPIC_KERNEL,
     .argument = "X[,Y[,Z]]",
     .help = "with --kernel: blockDim of the launches, on which the addresses of a warp may depend",
     .kind = &option_text,
     MEMBER(block)},
    {.name = "fail",
     .topic = TOPIC_VERDICT,
     .help = "with --kernel: exit 1 where the lookups of a table keep their unit busy longer than "
             "elsewhere, by more than the threshold",
     .kind = &option_flag,
     MEMBER(fail)},
    {.name = "threshold",
     .topic = TOPIC_VERDICT,
     .argument = "PERCENT",
     .help = "with --fail: how much longer counts (default 10%)",
     .kind = &option_number,
     MEMBER(threshold_percent),
     .low = 0.001,
     .high = 1e6,
     .unit = "percent",
     .fallback = "10"},
    {.name = "write",
     .topic = TOPIC_KERNEL,
     .argument = "FILE.cu",
     .help = "write these lookups as a kernel file for cbank run --kernel; -: to stdout",
     .kind = &option_text,
     .file = FILE_WRITTEN,
     MEMBER(write_path)},
    {.name = "measured",
     .topic = TOPIC_PLAN,
     .argument = "FILE",
     .help = "measured lookups to answer by where nothing is measured (default: those of the "
             "program; results/lookups/ has them)",
     .kind = &option_text,
     .file = FILE_READ,
     MEMBER(measured_path)},
    {.name = "tables",
     .topic = TOPIC_PLAN,
     .argument = "SPEC",
     .help = "several tables, NAME:BYTES:WIDTH:READS[:SOURCE],...: which of them go into constant "
             "and shared memory",
     .kind = &option_text,
     MEMBER(tables)},
    {.name = "json",
     .topic = TOPIC_OUTPUT,
     .argument = "PATH",
     .help = "write JSON to a file; -: to stdout, in place of text",
     .kind = &option_text,
     .file = FILE_WRITTEN,
     MEMBER(json_path)},
};

/* The options of a plan behind --jit: without those that choose workloads and paths, and without
 * that one. */
enum { PLAN_OPTIONS_FIRST = PLAN_OPTION_JIT + 1 };

static const struct option_group groups[] = {
    {plan_option_rows + PLAN_OPTIONS_FIRST, PLAN_OPTION_COUNT - PLAN_OPTIONS_FIRST,
     offsetof(struct advise_options, plan)},
    {measure_option_rows, MEASURE_OPTION_DURATION, offsetof(struct advise_options, measure)},
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(output_option_rows, offsetof(struct advise_options, look)),
};

static enum status make_plan(const struct plan_options *given, const struct user_access *largest,
                             struct index_list *indices, struct plan *out)
{
    struct configuration configuration;
    enum status status = configure(given, largest, &configuration);

    if (status == STATUS_OK)
        status = plan_configuration(&configuration, indices, out);
    configuration_close(&configuration);
    return status;
}

/* The shape of a block of "X,Y,Z"; the last ones may be left out. */
static enum status read_block(const char *text, uint32_t block[3])
{
    int ends[3] = {0};
    const int count = sscanf(text, "%5" SCNu32 "%n,%5" SCNu32 "%n,%5" SCNu32 "%n", &block[0],
                             &ends[0], &block[1], &ends[1], &block[2], &ends[2]);
    uint64_t threads = 1;

    for (int i = 0; i < 3; i++) {
        block[i] = i < count ? block[i] : 1;
        threads *= block[i];
    }
    if (count < 1 || text[ends[count - 1]] != '\0' || threads == 0 || threads > BLOCK_THREADS_MAX)
        return log_error(STATUS_USAGE,
                         "--block-dim %s: a block has one to three dimensions and up to 1024 "
                         "threads, as in 16,16",
                         text);
    return STATUS_OK;
}

/* Several tables: each is advised alone, then they share the places. */
/* Adds what is known of the lookups of one table of a set. */
static enum status advise_table(const struct plan_options *given, const struct card *card,
                                struct table_set *set, size_t index)
{
    struct set_table *table = &set->tables[index];
    const void *source_rows[] = {table->source};
    struct plan_options options = *given;
    struct index_list indices = {.unhashed = true};
    struct plan plan = {0};
    struct advice advice = {0};
    enum status status;

    options.sources = (struct selection){source_rows, 1};
    configuration_give(&options, PARAMETER_table_bytes, &table->bytes);
    configuration_give(&options, PARAMETER_width_bytes, &table->width_bytes);
    status = make_plan(&options, NULL, &indices, &plan);
    if (status == STATUS_OK)
        status = advise_open(&plan, card, &indices, NULL, NULL, &advice);
    if (status == STATUS_OK)
        table_set_take(set, index, &advice);
    advise_close(&advice);
    plan_close(&plan);
    index_list_close(&indices);
    return status;
}

/* Whether an output goes to stdout, in place of text. */
static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static enum status advise_tables(const struct advise_options *options, const struct card *card,
                                 const struct print_style *look)
{
    const struct plan_options *given = &options->plan;
    struct table_set set;
    enum status status = table_set_parse(options->tables, &set);

    set.card = card;
    if (status != STATUS_OK)
        return status;
    if (options->kernel_path || options->write_path || given->sources.count ||
        given->patterns.count || given->indices_path || given->named[PARAMETER_table_bytes] ||
        given->named[PARAMETER_width_bytes] || given->named[PARAMETER_table_count])
        return log_error(
            STATUS_USAGE,
            "--tables has sizes, entries and sources itself; leave out --kernel, --write, "
            "--source, --pattern, --indices, --table-bytes, --width-bytes, --table-count");
    for (size_t i = 0; status == STATUS_OK && i < set.count; i++)
        status = advise_table(given, card, &set, i);
    if (status == STATUS_OK)
        status = table_set_solve(&set);
    if (status == STATUS_OK && options->json_path)
        status = document_write(&table_set_document, &set, options->json_path);
    if (status == STATUS_OK && !is_stdout(options->json_path))
        status = table_set_print(stdout, &set, look);
    return status;
}

/* Whether the lookups are measured: where there is a GPU, and nobody named a card or a model. */
static bool is_measured(const struct advise_options *options)
{
    const struct measure_options *measure = &options->measure;
    const char *reason;

    return !options->kernel_path && !options->tables && !measure->card_path &&
           !options->measured_path && !(measure->engine && measure->engine->engine->modelled) &&
           engine_cuda.device_count(&reason) > 0;
}

static enum status read_card(const struct advise_options *options, struct card *out)
{
    const struct integers *devices = &options->measure.devices;
    const char *const path = options->measure.card_path;
    struct device_info device;
    const char *reason;
    enum status status;

    if (path || engine_cuda.device_count(&reason) == 0)
        return card_read(path, out);
    status = engine_cuda.describe(devices->count ? (uint32_t)devices->values[0] : 0, NULL, &device);
    if (status == STATUS_OK && is_measured(options) && !card_known(&device)) {
        card_of_device(&device, out);
        return STATUS_OK;
    }
    return status == STATUS_OK ? card_read_of(NULL, &device, "this machine", out) : status;
}

/* What an advice is made of; owned. */
struct session {
    const struct invocation *invocation;
    enum status found; /* of what was measured: a finding does not stop the advice */
    struct index_list indices;
    struct configuration configuration;
    struct measured measured;
    struct plan plan;
    struct card card;
    char *cubin, *old_cubin;
    struct user_code code; /* its path is NULL where --kernel was not given */
    struct user_code old; /* of --against; likewise */
    struct code_comparison comparison;
    struct advice advice;
};

static void session_close(struct session *session)
{
    advise_close(&session->advice);
    measured_close(&session->measured);
    configuration_close(&session->configuration);
    code_comparison_close(&session->comparison);
    user_code_close(&session->code);
    user_code_close(&session->old);
    free(session->cubin);
    free(session->old_cubin);
    plan_close(&session->plan);
    index_list_close(&session->indices);
}

static enum status check_options(const struct advise_options *options)
{
    const enum status status =
        options->write_path ? advise_write_check(&options->plan, options->write_path) : STATUS_OK;

    if (status != STATUS_OK)
        return status;
    if (options->measure.devices.all || options->measure.devices.count > 1)
        return log_error(STATUS_USAGE, "--device: advice is of one GPU; name one");
    if (options->fail && !options->kernel_path)
        return log_error(STATUS_USAGE,
                         "--fail judges the tables of your own code: name it by --kernel FILE");
    if (!options->kernel_path &&
        (options->block || options->kernel_name || options->against || options->all_loads))
        return log_error(STATUS_USAGE, "%s is of your own code: name it by --kernel FILE",
                         options->block         ? "--block-dim"
                         : options->kernel_name ? "--kernel-name"
                         : options->against     ? "--against"
                                                : "--all-loads");
    return STATUS_OK;
}

/* Reads the code that --kernel names. */
static enum status read_code(const struct advise_options *options, struct session *session)
{
    enum { KERNEL_BYTES_MAX = 1 << 28 };
    struct code_choice choice = {.architecture = (uint32_t)options->architecture,
                                 .kernel_name = options->kernel_name};
    enum status status = options->block ? read_block(options->block, choice.block) : STATUS_OK;
    size_t bytes;

    if (status != STATUS_OK || !options->kernel_path)
        return status;
    status = file_read(options->kernel_path, KERNEL_BYTES_MAX, &session->cubin, &bytes);
    if (status == STATUS_OK)
        status =
            user_code_parse(options->kernel_path, session->cubin, bytes, &choice, &session->code);
    if (status != STATUS_OK || !options->against)
        return status;
    status = file_read(options->against, KERNEL_BYTES_MAX, &session->old_cubin, &bytes);
    if (status == STATUS_OK)
        status =
            user_code_parse(options->against, session->old_cubin, bytes, &choice, &session->old);
    return status;
}

/* Ranks the memory spaces for the lookups. Beside code, they must be asked for. */
static enum status rank_spaces(const struct advise_options *options, struct session *session)
{
    const struct plan_options *plan = &options->plan;
    const struct user_access *largest = user_code_largest(&session->code, "constant");
    enum status status;

    if (!largest && plan_options_given(plan))
        largest = user_code_largest(&session->code, "global");
    if (options->write_path && plan->named[PARAMETER_width_bytes] &&
        !CBANK_WIDTH_IS_PLAIN((uint32_t)plan->parameters[PARAMETER_width_bytes].values[0]))
        return log_error(STATUS_USAGE, "--write has entries of 1, 2, 4, 8 or 16 bytes");
    session->advice.card = session->card;
    session->advice.facts.given =
        !session->code.path || options->write_path || plan_options_given(plan);
    if (!session->advice.facts.given)
        return STATUS_OK;
    status = configure(plan, largest, &session->configuration);
    if (status == STATUS_OK)
        status = plan_configuration(&session->configuration, &session->indices, &session->plan);
    if (status == STATUS_OK)
        status = measured_read(options->measured_path, session->card.name, &session->measured);
    if (status == STATUS_OK)
        status = advise_open(&session->plan, &session->card, &session->indices, plan->indices_path,
                             &session->measured, &session->advice);
    if (status != STATUS_OK || !is_measured(options))
        return status;
    session->found = advise_measure(&options->measure, &session->configuration.options,
                                    session->invocation, &session->advice);
    return session->advice.device[0] ? STATUS_OK : session->found;
}

/* The lookups that options describe, for tables of any size. */
struct lookups {
    const struct plan_options *options;
    const struct card *card;
};

/* Counts the loads of a warp from global memory, which are those of a plain load. */
static enum status count_plan(const struct lookups *lookups, const struct plan *plan,
                              struct index_list *indices, struct described *out)
{
    static const struct table paths_table = TABLE("path", paths, path_count);
    const struct path *global = table_find(&paths_table, space_rows[SPACE_GLOBAL].path);
    const struct index_array *array;
    struct access_counts access;
    struct cell cell = {0};
    double loads;
    enum status status;

    for (size_t i = 0; i < plan->count; i++)
        if (plan->cells[i].path == global)
            cell = plan->cells[i];
    if (cell_obstacle(&cell, 0, out->reason))
        return STATUS_OK;
    card_set_grid(lookups->card, &cell);
    status = index_list_give(indices, &cell, &array);
    if (status == STATUS_OK)
        status = access_count(&cell, &access);
    if (status != STATUS_OK)
        return status;
    loads = (double)access.payload_loads;
    out->counts =
        (struct warp_counts){(double)access.addresses / loads, (double)access.wavefronts / loads,
                             (double)access.tag_wavefronts / loads, (double)access.sectors / loads};
    return STATUS_OK;
}

/* Counts the lookups of a table that has another size than --table-bytes says. What does not fit
 * this size is no error, but a reason. */
static enum status count_lookups(const void *context, uint64_t bytes, uint32_t width,
                                 struct described *out)
{
    const struct lookups *lookups = context;
    struct plan_options options = *lookups->options;
    uint64_t width_bytes = width, table_bytes = bytes / width * width;
    struct index_list indices = {.unhashed = true};
    struct plan plan = {0};
    enum status status;

    options.named[PARAMETER_table_bytes] = options.named[PARAMETER_width_bytes] = false;
    configuration_give(&options, PARAMETER_table_bytes, &table_bytes);
    configuration_give(&options, PARAMETER_width_bytes, &width_bytes);
    if (!parameter_allows(&parameters[PARAMETER_table_bytes], table_bytes)) {
        snprintf(out->reason, sizeof(out->reason),
                 "lookups have tables of %" PRIu32 " bytes or more",
                 parameters[PARAMETER_table_bytes].min);
        return STATUS_OK;
    }
    log_capture(out->reason, sizeof(out->reason));
    status = make_plan(&options, NULL, &indices, &plan);
    if (status == STATUS_OK)
        status = count_plan(lookups, &plan, &indices, out);
    log_capture(NULL, 0);
    plan_close(&plan);
    index_list_close(&indices);
    if (status == STATUS_USAGE)
        return STATUS_OK;
    return status == STATUS_OK ? status : log_error(status, "%s", out->reason);
}

/* Judges the tables of the code, and compares it with the older one. Indices that the user
 * described stand for those that are data. */
static enum status judge_tables(const struct advise_options *options, struct session *session)
{
    const struct plan_options *plan = &options->plan;
    const struct lookups lookups = {plan, &session->card};
    const bool of_threads = plan->patterns.count || plan->indices_path;
    const struct user_indices indices =
        {.count = count_lookups,
         .context = &lookups,
         .table_bytes = {plan->named[PARAMETER_table_bytes],
                         plan->named[PARAMETER_table_bytes]
                             ? plan->parameters[PARAMETER_table_bytes].values[0]
                             : 0},
         .of_threads = of_threads};

    const struct user_indices *described = of_threads || plan->sources.count ? &indices : NULL;
    enum status status;

    if (!session->code.path)
        return STATUS_OK;
    session->advice.code = &session->code;
    session->advice.all_loads = options->all_loads;
    status = user_tables_judge(&session->code, &session->card, described);
    if (status != STATUS_OK || !session->old.path)
        return status;
    status = user_tables_judge(&session->old, &session->card, described);
    if (status == STATUS_OK)
        status = code_comparison_open(&session->old, &session->code, &session->comparison);
    session->advice.comparison = &session->comparison;
    return status;
}

static enum status put_advice(const struct advise_options *options, const struct print_style *look,
                              struct session *session)
{
    struct advice *advice = &session->advice;
    enum status status = STATUS_OK;

    advice->written_path = options->write_path;
    if (options->write_path)
        status = advise_write(advice, options->write_path);
    if (status == STATUS_OK && options->json_path)
        status = document_write(&advise_document, advice, options->json_path);
    if (status == STATUS_OK && !is_stdout(options->json_path) && !is_stdout(options->write_path))
        status = advise_print(stdout, advice, look);
    return status;
}

static enum status advise(const void *parsed, const struct invocation *invocation)
{
    const struct advise_options *options = parsed;
    const struct print_style look = output_style(&options->look);
    struct session session = {.invocation = invocation, .indices = {.unhashed = true}};
    enum status status = check_options(options);

    if (status == STATUS_OK)
        status = read_card(options, &session.card);
    if (status != STATUS_OK)
        return status;
    if (options->tables)
        return advise_tables(options, &session.card, &look);
    status = read_code(options, &session);
    if (status == STATUS_OK)
        status = rank_spaces(options, &session);
    if (status == STATUS_OK)
        status = judge_tables(options, &session);
    if (status == STATUS_OK)
        status = put_advice(options, &look, &session);
    if (status == STATUS_OK && options->fail)
        status = user_code_fail(&session.code, &session.card, options->threshold_percent / 100);
    status = status_worse(session.found, status);
    session_close(&session);
    return status;
}

const struct command advise_command = {
    .name = "advise",
    .summary = "Say where a table should live: measure its lookups in each memory space, or count "
               "them",
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct advise_options),
    .common = "pattern,source,indices,table-bytes,width-bytes,tables,kernel,kernel-name,against,"
              "write,fail,json",
    .details =
        "The indices determine the requests of a warp's load exactly: distinct addresses, lines, "
        "sectors, wavefronts of shared\n"
        "memory, and the memory spaces that can hold the table. With a GPU the lookups are "
        "measured in all of them, in seconds, and\n"
        "ranked as cbank spaces does; --card leaves that out. Without a GPU the card says how long "
        "units are busy at least, and\n"
        "memory spaces are ranked only where lookups near these were measured; which, is told. "
        "Then follow the instruction to look\n"
        "for in the SASS, and the command that measures.\n"
        "A kernel with arithmetic of its own has another ranking: --write makes a kernel file to "
        "put it into,\n"
        "and cbank spaces measures that.\n"
        "\n"
        "The options of the lookups are those of cbank run, with one value each. Without "
        "--pattern, --source and --indices the\n"
        "indices are random. An option that is not given has the first of its default values.\n"
        "\n"
        "With --kernel: which tables the kernels of a file read, how the addresses of a warp vary, "
        "and whether each table\n"
        "should live where it does. A summary comes first. The loads follow for one kernel or one "
        "template, and with --all-loads.\n"
        "With --against, the answer is what differs from an older file. Memory spaces are ranked "
        "only where lookups are described;\n"
        "without --table-bytes these are of the largest __constant__ table, of those whose index "
        "is "
        "not proven if there are any.\n"
        "\n"
        "With --tables: NAME:BYTES:WIDTH:READS[:SOURCE] of each, with commas between. READS are "
        "the lookups of an\n"
        "element, SOURCE as for --source. All assignments to 64 KB of constant memory, 48 KB of "
        "shared memory, 32 KB of\n"
        "parameters (2 KB before sm_70) and other memory are tried. It takes the one whose longest "
        "unit is busy for the shortest time.\n"
        "\n"
        "Exit code 1: with --fail, which ends by naming the tables.\n"
        "Exit code 3: with --kernel, code before sm_70 or after sm_121, which cannot be read. With "
        "--against: no kernel is in both.\n"
        "Exit code 2: no path can hold the table, the width does not divide it, or an index is "
        "beyond it. With --kernel also:\n"
        "the file has no code of a GPU, no kernel of that name, or is damaged. With --write: the "
        "file exists, or --pattern "
        "gives the indices.",
    .run = advise,
};
