/* SPDX-License-Identifier: MIT
 * `cbank spaces`: the ranks of the memory spaces of a user's kernel, as text or JSON. Without a GPU
 * it says what compilers make of it; it also writes a first kernel file. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "comparing.h"
#include "files.h"
#include "log.h"
#include "plan_kernels.h"
#include "ranking.h"
#include "run.h"
#include "spaces_check.h"
#include "text.h"
#include "user_cell.h"

struct spaces_options {
    struct run_options run; /* the first member: who ranks a result is given it */
    const char *ranks_path; /* NULL: they are not written */
    bool silent; /* --quiet; a run is quiet anyway */
    bool compile_only, first;
    struct integers architectures;
};

/* The kernel file that --new writes. */
extern const char spaces_first_kernel[];

#define MEMBER(name) .offset = offsetof(struct spaces_options, run.name)
#define OWN(name)    .offset = offsetof(struct spaces_options, name)

static const struct option_row own_rows[] = {
    {.name = "json",
     .topic = TOPIC_OUTPUT,
     .argument = "FILE",
     .help = "keep the result in this file",
     .kind = &option_text,
     .file = FILE_WRITTEN,
     .numbered = true,
     MEMBER(json_path)},
    {.name = "ranks",
     .topic = TOPIC_OUTPUT,
     .argument = "FILE",
     .help = "write the ranking as JSON, a row for each memory space; - prints it instead of text",
     .kind = &option_text,
     .file = FILE_WRITTEN,
     OWN(ranks_path)},
    {.name = "resume",
     .topic = TOPIC_RESUME,
     .argument = "FILE",
     .help = "measure what an interrupted result of this kernel file lacks, with its plan, into it "
             "or --json",
     .kind = &option_text,
     .file = FILE_UPDATED,
     MEMBER(resume_path)},
    {.name = "quiet",
     .topic = TOPIC_OUTPUT,
     .help = "print only errors and warnings",
     .kind = &option_flag,
     MEMBER(quiet)},
    {.name = "compile-only",
     .topic = TOPIC_KERNEL,
     .help = "need no GPU: say what the compiler makes of each memory space, and run the case and "
             "its check on the processor",
     .kind = &option_flag,
     OWN(compile_only)},
    {.name = "arch",
     .topic = TOPIC_KERNEL,
     .argument = "LIST",
     .help = "with --compile-only: the architectures to compile for, such as 75,90,120 (default "
             "90)",
     .kind = &option_integers,
     OWN(architectures),
     .low = 50,
     .high = UINT8_MAX},
    {.name = "new",
     .topic = TOPIC_KERNEL,
     .help =
         "write a first kernel file, with its table and its case, as FILE, which must not exist",
     .kind = &option_flag,
     OWN(first)},
};

static const struct option_group groups[] = {
    /* Without the first, --kernel, which FILE stands for; and of those that choose cells --jit and
     * --cache-state. */
    {kernel_option_rows + 1, KERNEL_OPTION_COUNT - 1,
     offsetof(struct spaces_options, run.plan.kernel)},
    {plan_option_rows + PLAN_OPTION_JIT, 1, offsetof(struct spaces_options, run.plan)},
    {plan_option_rows + PLAN_OPTION_CACHE_STATE, 1, offsetof(struct spaces_options, run.plan)},
    OPTION_GROUP(measure_option_rows, offsetof(struct spaces_options, run.measure)),
    OPTION_GROUP(own_rows, 0),
    OPTION_GROUP(threshold_option_rows, offsetof(struct spaces_options, run.threshold_percent)),
    OPTION_GROUP(output_option_rows, offsetof(struct spaces_options, run.look)),
};

/* -- tables ------------------------------------------------------------------------------------ */

static bool note_rank(const void *row, size_t index, char *out, size_t bytes)
{
    const struct rank *rank = row;
    const char *notes[] = {rank->row.note, rank->why};
    size_t seen = 0;

    for (size_t i = 0; i < 2; i++)
        if (*notes[i] && seen++ == index) {
            snprintf(out, bytes, "%s", notes[i]);
            return true;
        }
    return false;
}

/* The verdict; without a rank, the status of the cell. */
static void grid_verdict(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct rank *rank = row;

    (void)column;
    out->text = rank->timed ? rank_verdict_words[rank->verdict]
                            : cell_status_names[rank->row.found->status];
}

#define CELL_MEMBER(member) GRID_BEHIND(struct cell_row, found, struct cell_result, member)

static const struct grid_column columns[] = {
    {.key = "memory_space",
     .heading = "memory space",
     .value = grid_array,
     .member = GRID_MEMBER(struct rank, space),
     .head = true},
    {.key = "time_ns",
     .heading = "time",
     .format = text_time,
     .value = grid_number,
     .member = CELL_MEMBER(time.summary.value)},
    {.key = "half_width",
     .heading = "95% CI",
     .format = text_half_width,
     .value = grid_number,
     .member = GRID_MEMBER(struct cell_row, half_width),
     .rank = 3},
    {.key = "ratio",
     .heading = "ratio",
     .format = text_ratio,
     .value = grid_number,
     .member = GRID_MEMBER(struct rank, ratio.value)},
    {.key = "ratio_half_width",
     .heading = "its CI",
     .format = text_half_width,
     .value = grid_number,
     .member = GRID_MEMBER(struct rank, ratio.half_width),
     .rank = 4},
    {.key = "verdict", .heading = "verdict", .value = grid_verdict},
    {.key = "loads",
     .heading = "loads",
     .value = grid_array,
     .member = CELL_MEMBER(of_case.instructions),
     .rank = 1},
    {.key = "registers",
     .heading = "registers",
     .format = text_count,
     .value = grid_integer,
     .member = CELL_MEMBER(kernel.registers),
     .rank = 2},
    {.key = "blocks_per_sm",
     .heading = "blocks an SM",
     .format = text_count,
     .value = grid_integer,
     .member = CELL_MEMBER(of_case.blocks_per_sm),
     .rank = 2},
};

/* Prints the lines of the kernel file that define tables, with the memory spaces of a cell. A file
 * that is not there any more has none. */
static void print_lines(const char *path, const struct user_kernel *kernel)
{
    char line[512], name[USER_KERNEL_NAME_BYTES];
    struct stat about;
    const char *why;
    const int descriptor = file_open(path, &about, &why);
    FILE *const file = descriptor < 0 ? NULL : fdopen(descriptor, "r");

    for (unsigned number = 1; file && fgets(line, sizeof(line), file); number++) {
        char *comma, *end = strstr(line, ");"), space[USER_KERNEL_NAME_BYTES];

        if (end)
            *end = '\0'; /* a comment may follow */
        comma = strrchr(line, ',');
        if (comma && sscanf(line, " CBANK_TABLE ( %63[A-Za-z0-9_]", name) == 1 &&
            user_table_space(kernel, name, space))
            text_line(stdout, "write in %s, line %u: %.*s, %s);", path, number, (int)(comma - line),
                      line, space);
    }
    if (file)
        fclose(file);
    else if (descriptor >= 0)
        close(descriptor);
}

/* Prints the ranks of one kernel, size and cache state, and the lines to write. */
static enum status print_ranks(const struct result *result, const struct rank *ranks, size_t count,
                               const struct print_style *look)
{
    const struct cell *cell = ranks->row.cell;
    const struct result_kernel *kernel = result_kernel(result, cell);
    char title[TEXT_PARAGRAPH_BYTES];
    const struct grid grid = {.title = title,
                              GRID_COLUMNS(columns),
                              GRID_ROWS(ranks, count),
                              .note = note_rank};
    enum status status;

    snprintf(title, sizeof(title), "\n%s, size %s, %s", cell->kernel.name,
             text_of(text_count, (double)cell->elements).text, cell->cache_state->name);
    status = grid_print(stdout, &grid, look);
    if (status == STATUS_OK && ranks->timed && kernel && kernel->file)
        print_lines(kernel->file, &cell->kernel);
    return status;
}

static enum status print_ranking(const struct ranking *ranking, const struct print_style *look)
{
    const struct result *result = ranking->result;
    enum status status = STATUS_OK;

    text_line(stdout, "%s, driver %s", result->device.name, result->device.driver);
    for (size_t first = 0, end; first < ranking->count && status == STATUS_OK; first = end) {
        end = ranking_group_end(ranking, first);
        status = print_ranks(result, &ranking->ranks[first], end - first, look);
    }
    return status;
}

/* STATUS_USAGE, logged, if the result has no kernel file. */
static enum status need_users_kernel(const struct result *result)
{
    if (result->kernel_count > 0)
        return STATUS_OK;
    return log_error(STATUS_USAGE, "the result has no user's kernel; cbank run --kernel FILE.cu "
                                   "measures one");
}

/* Ranks the cells of a result, and prints and writes that as was asked for. `options` lie in a
 * struct spaces_options. */
static enum status rank_result(const struct result *result, const struct run_options *options)
{
    const struct spaces_options *const asked = (const struct spaces_options *)options;
    const char *const path = asked->ranks_path;
    const struct print_style look = output_style(&options->look);
    struct ranking ranking;
    enum status status = ranking_open(result, options->threshold_percent / 100, &ranking);

    if (status == STATUS_OK && !asked->silent && !(path && strcmp(path, "-") == 0))
        status = print_ranking(&ranking, &look);
    if (status == STATUS_OK && path)
        status = document_write(&ranking_document, &ranking, path);
    ranking_close(&ranking);
    return status;
}

/* -- the command ------------------------------------------------------------------------------- */

static enum status put_first(FILE *stream, const void *context)
{
    (void)context;
    fputs(spaces_first_kernel, stream);
    return STATUS_OK;
}

/* Writes the first kernel file. */
static enum status write_first(const char *path)
{
    enum status status;

    if (access(path, F_OK) == 0)
        return log_error(STATUS_USAGE, "--new: %s is there; name a file that is not", path);
    status = file_write(path, put_first, NULL);
    if (status != STATUS_OK)
        return status;
    log_note(false,
             "%s: put your table, kernel and data there; cbank spaces %s --compile-only checks "
             "it, and without that option a GPU measures it",
             path, path);
    return STATUS_OK;
}

/* Checks a kernel file without a GPU. */
static enum status check_file(const char *path, const struct spaces_options *options)
{
    uint64_t newest = 90;
    const struct integers default_one = {.values = &newest, .count = 1};
    const struct integers *const architectures =
        options->architectures.count ? &options->architectures : &default_one;
    const struct run_options *const run = &options->run;
    const struct print_style look = output_style(&run->look);

    if (run->json_path || run->resume_path)
        return log_error(STATUS_USAGE, "--compile-only measures nothing; leave out --json and "
                                       "--resume");
    return spaces_check(path, &run->plan.kernel, architectures, run->measure.card_path, &look);
}

static enum status check_options(const struct spaces_options *options, const char *file,
                                 bool measured)
{
    if (options->first && options->compile_only)
        return log_error(STATUS_USAGE,
                         "--new writes a file and --compile-only checks one; give one "
                         "of them");
    if (options->ranks_path && (options->first || options->compile_only))
        return log_error(STATUS_USAGE, "--ranks writes what was measured; leave it out with --new "
                                       "and --compile-only");
    if (options->ranks_path &&
        (options->run.measure.devices.all || options->run.measure.devices.count > 1))
        return log_error(STATUS_USAGE, "--ranks holds the ranks of one GPU; name one by --device, "
                                       "or keep results by --json and rank each");
    if (options->architectures.count && !options->compile_only)
        return log_error(STATUS_USAGE, "--arch goes with --compile-only: a GPU has its own");
    if (measured && (options->first || options->compile_only))
        return log_error(STATUS_USAGE,
                         "%s is a result; --new and --compile-only take a kernel file", file);
    if (measured && (options->run.json_path || options->run.resume_path))
        return log_error(STATUS_USAGE,
                         "--json and --resume go with a kernel file, whose result they keep; %s is "
                         "a result",
                         file);
    return STATUS_OK;
}

static enum status spaces(const void *parsed, const struct invocation *invocation)
{
    struct spaces_options options = *(const struct spaces_options *)parsed;
    const char *file = invocation->arguments[0], *point = strrchr(file, '.');
    const bool measured = point && strcmp(point, ".json") == 0;
    struct run_options *const run = &options.run;
    struct result result;
    enum status status = check_options(&options, file, measured);

    if (status != STATUS_OK)
        return status;
    if (options.first)
        return write_first(file);
    if (options.compile_only)
        return check_file(file, &options);
    options.silent = run->quiet;
    if (!measured) {
        run->plan.kernel.paths = file;
        if (!run->json_path && !run->resume_path)
            run->json_path = RUN_NO_FILE;
        run->quiet = true;
        return run_plan(run, invocation, rank_result);
    }
    status = result_read(file, &result);
    if (status == STATUS_OK)
        status = need_users_kernel(&result);
    if (status == STATUS_OK)
        status = rank_result(&result, run);
    result_close(&result);
    return status;
}

const struct command spaces_command = {
    .name = "spaces",
    .summary = "Measure a user's kernel in every memory space, and rank them",
    .arguments = "FILE",
    .arguments_min = 1,
    .arguments_max = 1,
    .reads = kernels_read,
    OPTION_GROUPS(groups),
    .options_bytes = sizeof(struct spaces_options),
    .common =
        "space,size,compiler-options,against,cache-state,device,max-noise,threshold,json,quiet,"
        "compile-only,new",
    .details =
        "FILE is a kernel file (.cu), or a result (.json) of one. Memory spaces are ranked "
        "by the time of the kernel. One that is\n"
        "slower is so by more than --threshold, as compare judges it. The last line is what "
        "to write into the kernel file.\n"
        "\n"
        "--new writes a first kernel file. --compile-only checks one on a machine without a "
        "GPU: of each memory space it prints\n"
        "whether the tables fit there, registers, local and shared memory of the code, its "
        "loads, and what the analysis of cbank\n"
        "advise says of the tables. It runs the case on the processor: what it launches, and "
        "its check. Exit code 1: a finding.",
    .run = spaces,
};
