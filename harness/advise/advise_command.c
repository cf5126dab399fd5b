/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advise.h"
#include "command.h"
#include "document.h"
#include "log.h"
#include "source.h"
#include "table.h"
#include "text_print.h"
#include "user_code.h"

struct advise_options {
    uint64_t table_bytes, width; /* 0: not given */
    const struct pattern *source, *pattern;
    const char *indices_path;
    uint64_t elements, block_size; /* 0: the workload's own */
    uint64_t parameters[PARAMETER_COUNT]; /* those with a row here, ... */
    bool given[PARAMETER_COUNT];          /* ... and whether they were given */
    const char *card_path, *json_path;
    const char *kernel_path, *function; /* NULL: not given */
    struct output_options look;
};

#define MEMBER(name) .offset = offsetof(struct advise_options, name)

/* A parameter as an option with one value. */
#define NUMBER(name_, option_, fallback_, help_, low_, high_, unit_)                                                 \
    .name = option_, .argument = "N", .help = help_, .kind = &option_integer, MEMBER(parameters[PARAMETER_##name_]), \
    .given = offsetof(struct advise_options, given[PARAMETER_##name_]), .low = low_, .high = high_, .unit = unit_,   \
    .fallback = fallback_

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "table-bytes", .argument = "BYTES", .help = "size of the table", .kind = &option_integer,
     MEMBER(table_bytes), .low = 16, .high = 1e12, .unit = "bytes"},
    {.name = "width", .argument = "BYTES", .help = "bytes of an entry: 1, 2, 4, 8 or 16 (default 4)",
     .kind = &option_integer, MEMBER(width), .low = 1, .high = 16, .power_of_two = true, .unit = "bytes", .fallback = "4"},
    {.name = "source", .argument = "NAME", .help = "where the indices come from: a source of cbank list (default random)",
     .kind = &option_choice, MEMBER(source), .table = TABLE("source", sources, source_made_count)},
    {.name = "indices", .argument = "FILE", .help = "a .npy file of indices, integers [load][thread]", .kind = &option_text,
     MEMBER(indices_path)},
    {.name = "pattern", .argument = "NAME", .help = "indices from a formula, one lookup for each element: a pattern of cbank list",
     .kind = &option_choice, MEMBER(pattern), .table = TABLE("pattern", patterns, pattern_count)},
    {NUMBER(distinct, "distinct", "8", "of source or pattern distinct: addresses that a warp reads at once (default 8)", 1, 32, "addresses")},
    {NUMBER(stride_bytes, "stride-bytes", NULL, "of pattern distinct: from one address to the next (default: an entry)", 4, 2048, "bytes"),
     .multiple = 4},
    {NUMBER(skew_percent, "skew-percent", "100", "of source zipf: its exponent, in hundredths (default 100)", 1, 400, "percent")},
    {NUMBER(run_threads, "run-threads", "8", "of source runs: threads in a row that read one entry (default 8)", 1, 1024, "threads")},
    {NUMBER(loads, "loads", "4", "lookups that a thread makes for one element (default 4)", 1, 64, "lookups")},
    {NUMBER(in_flight, "in-flight", "1", "lookups at a time: 1, 2 or 4 (default 1)", 1, 4, "lookups"),
     .power_of_two = true},
    {NUMBER(polluter_bytes, "polluter-bytes", NULL, "other data that is streamed through L1 beside the table", 4096, 1073741824, "bytes"),
     .power_of_two = true},
    {.name = "elements", .argument = "N", .help = "output elements, one for each thread (default: the workload's own)",
     .kind = &option_integer, MEMBER(elements), .low = 1, .high = (double)CELL_ELEMENTS_MAX, .unit = "elements"},
    {.name = "block-size", .argument = "N", .help = "threads in a block, a multiple of 32 (default: the workload's own)",
     .kind = &option_integer, MEMBER(block_size), .low = 32, .high = CELL_BLOCK_SIZE_MAX, .multiple = CBANK_WARP_THREADS,
     .unit = "threads"},
    {.name = "card", .argument = "CARD", .help = "chip card for the times: a file, or a name of cbank list cards (default h200)", .kind = &option_text,
     MEMBER(card_path)},
    {.name = "kernel", .argument = "FILE", .help = "a cubin of your own: compare the loads of its kernels with the advice",
     .kind = &option_text, MEMBER(kernel_path)},
    {.name = "function", .argument = "NAME", .help = "with --kernel: only this kernel, by its name, mangled or not",
     .kind = &option_text, MEMBER(function)},
    {.name = "json", .argument = "PATH", .help = "write JSON to a file; -: to stdout, in place of text", .kind = &option_text,
     MEMBER(json_path)},
};
/* clang-format on */

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(output_option_rows, offsetof(struct advise_options, look)),
};

/* -- the configuration --------------------------------------------------------------------------------- */

static enum status check_options(const struct advise_options *options)
{
    if (!options->table_bytes)
        return log_error(STATUS_USAGE,
                         "name the size of the table: --table-bytes BYTES, and --width BYTES of an entry");
    if (options->table_bytes % options->width)
        return log_error(STATUS_USAGE,
                         "a table of %" PRIu64 " bytes has no whole number of entries of %" PRIu64
                         "; name a --table-bytes that is a multiple of --width",
                         options->table_bytes, options->width);
    if (!!options->source + !!options->pattern + !!options->indices_path > 1)
        return log_error(STATUS_USAGE, "--source, --pattern and --indices say each where indices come from; name one");
    if (options->function && !options->kernel_path)
        return log_error(STATUS_USAGE, "--function is a kernel of a file; name that with --kernel FILE");
    if (options->parameters[PARAMETER_polluter_bytes] &&
        (options->pattern || options->parameters[PARAMETER_in_flight] > 1))
        return log_error(STATUS_USAGE, "--polluter-bytes is of other data beside one lookup in flight; leave out %s",
                         options->pattern ? "--pattern" : "--in-flight");
    return STATUS_OK;
}

/* Refuses an option that has no effect with these indices. */
static enum status check_given(const struct advise_options *options, const struct cell *cell)
{
    const uint32_t parameter_mask = cell_parameter_mask(cell->workload, cell->pattern);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const bool *given = (const bool *)((const char *)options + rows[i].given);

        if (rows[i].given && *given && !(parameter_mask >> (given - options->given) & 1))
            return log_error(STATUS_USAGE, "%s %s takes no --%s; leave it out", options->pattern ? "pattern" : "source",
                             cell->pattern->name, rows[i].name);
    }
    return STATUS_OK;
}

/* A file determines the numbers of elements and loads. */
static enum status set_file(const struct advise_options *options, struct index_list *indices, struct cell *cell)
{
    const char *path = options->indices_path;
    const struct index_array *file;
    const struct parameter *loads = &parameters[PARAMETER_loads];
    enum status status = index_list_map(indices, path, &file);

    if (status != STATUS_OK)
        return status;
    if (!parameter_allows(loads, file->rows) || file->elements > CELL_ELEMENTS_MAX)
        return log_error(STATUS_USAGE,
                         "%s: %" PRIu64 " lookups of %" PRIu64 " threads; a thread makes %u to %u: give the "
                         "array the shape [load][thread]",
                         path, file->rows, file->elements, loads->min, loads->max);
    if (options->elements && options->elements != file->elements)
        return log_error(STATUS_USAGE,
                         "%s has indices of %" PRIu64 " threads, not of %" PRIu64 "; leave out --elements", path,
                         file->elements, options->elements);
    if (options->given[PARAMETER_loads] && options->parameters[PARAMETER_loads] != file->rows)
        return log_error(STATUS_USAGE,
                         "%s has indices of %" PRIu64 " loads a thread, not of %" PRIu64 "; leave out --loads", path,
                         file->rows, options->parameters[PARAMETER_loads]);
    cell->elements = file->elements;
    cell->index_file_hash = file->index_file_hash;
    cell->parameters[PARAMETER_loads] = (uint32_t)file->rows;
    return STATUS_OK;
}

static enum status make_cell(const struct advise_options *options, struct index_list *indices, struct cell *out)
{
    static const struct table workload_table = TABLE("workload", workloads, workload_count);
    struct cell cell = {
        .workload = table_find(&workload_table, options->pattern ? "add" : "lookup"),
        .pattern = options->pattern        ? options->pattern
                   : options->indices_path ? &sources[SOURCE_file]
                   : options->source       ? options->source
                                           : &sources[SOURCE_random],
        .cache_state = &cache_states[0],
    };
    enum status status = check_given(options, &cell);
    uint32_t parameter_mask;

    /* The workload's own: the first of its numbers. */
    cell.elements = options->elements ? options->elements : strtoull(cell.workload->elements, NULL, 10);
    cell.block_size =
        (uint32_t)(options->block_size ? options->block_size : strtoull(cell.workload->block_sizes, NULL, 10));
    parameter_mask = cell_parameter_mask(cell.workload, cell.pattern);
    for (size_t i = 0; i < parameter_count; i++)
        if (parameter_mask >> i & 1)
            cell.parameters[i] = parameter_kept(&parameters[i], (uint32_t)options->parameters[i]);
    /* A table too large for all paths stays too large when cut to 32 bits. */
    cell.parameters[PARAMETER_table_bytes] = options->table_bytes < UINT32_MAX
                                                 ? (uint32_t)options->table_bytes
                                                 : UINT32_MAX / 16 * 16 - (uint32_t)options->width + 1;
    cell.parameters[PARAMETER_width_bytes] =
        parameter_kept(&parameters[PARAMETER_width_bytes], (uint32_t)options->width);
    if (parameter_mask >> PARAMETER_stride_bytes & 1 && !options->parameters[PARAMETER_stride_bytes])
        cell.parameters[PARAMETER_stride_bytes] = options->width < 4 ? 4 : (uint32_t)options->width;
    if (status == STATUS_OK && options->indices_path)
        status = set_file(options, indices, &cell);
    *out = cell;
    return status;
}

/* -- the command --------------------------------------------------------------------------------------- */

static enum status advise(const void *parsed, const struct invocation *invocation)
{
    const struct advise_options *options = parsed;
    const struct print_style look = {.width = text_width(stdout), .color = output_color(&options->look, STDOUT_FILENO)};
    struct index_list indices = {.unhashed = true};
    struct advice advice = {0};
    struct user_code code = {0};
    struct card card;
    struct cell cell;
    enum status status = check_options(options);

    (void)invocation;
    if (status == STATUS_OK)
        status = card_read(options->card_path, &card);
    if (status == STATUS_OK && options->kernel_path)
        status = user_code_open(options->kernel_path, options->function, &code);
    if (status == STATUS_OK)
        status = make_cell(options, &indices, &cell);
    if (status == STATUS_OK)
        status = advise_open(&cell, &card, &indices, options->indices_path, &advice);
    if (status == STATUS_OK && code.path) {
        user_code_judge(&code, &advice);
        advice.code = &code;
    }
    if (status == STATUS_OK)
        status = options->json_path ? document_write(&advise_document, &advice, options->json_path) : STATUS_OK;
    if (status == STATUS_OK && (!options->json_path || strcmp(options->json_path, "-") != 0))
        status = advise_print(stdout, &advice, &look);
    advise_close(&advice);
    user_code_close(&code);
    index_list_close(&indices);
    return status;
}

const struct command advise_command = {
    .name = "advise",
    .summary = "Say where a table should live: the requests of its lookups in each memory space, and their time",
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct advise_options),
    .details =
        "The indices determine the requests of a warp's load exactly: distinct addresses, lines, sectors, wavefronts of shared\n"
        "memory, and the memory spaces that can hold the table. Times come from the simple model and a card; no GPU is needed.\n"
        "Nine of ten cells lie within the interval, so spaces whose intervals overlap are too close to call. If the card lacks a\n"
        "number, a time is a lower bound. Then follow the C++ to write, the instruction to look for in the SASS, and the command\n"
        "that measures.\n"
        "\n"
        "With --kernel: the loads of the kernels of a cubin, how many there are, how many in loops, and their memory space.\n"
        "\n"
        "Exit code 3: with --kernel, code before sm_35 or after sm_121, which cannot be read.\n"
        "Exit code 2: no path can hold the table, the width does not divide it, or an index is beyond it. With --kernel also:\n"
        "the file is not a cubin or is damaged, or has no such kernel.",
    .run = advise,
};
