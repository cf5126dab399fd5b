/* SPDX-License-Identifier: MIT
 * Ranks the memory spaces of a user's kernel: which is the fastest, and which differ from it by
 * more than noise. Without a GPU it says what compilers make of it; it also writes a first kernel
 * file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell_row.h"
#include "command.h"
#include "comparing.h"
#include "files.h"
#include "log.h"
#include "plan_kernels.h"
#include "run.h"
#include "series.h"
#include "side.h"
#include "spaces_check.h"
#include "text.h"
#include "user_cell.h"

struct spaces_options {
    struct run_options run;
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

/* -- reasons ----------------------------------------------------------------------------------- */

/* Reasons for a time, from counters: the ratio of two of them, where it is at least 1.5. */
static const struct {
    const char *counter, *over, *reason; /* `reason` has the ratio */
} reasons[] = {
    {"idc_requests", "ldc_instructions", "an LDC reads %.1f addresses, one after the other"},
    {"shared_wavefronts", "shared_load_instructions",
     "an LDS takes %.1f turns, for bank conflicts"},
    {"l1_sectors", "l1_requests", "a global load reads %.1f sectors"},
};

/* How many of the first counter there are for one of the second; NaN if it is not known. */
static double counted(const struct cell_result *cell, size_t reason)
{
    return counter_counted(cell->counters, cell->counter_count, reasons[reason].counter) /
           counter_counted(cell->counters, cell->counter_count, reasons[reason].over);
}

/* -- ranks ------------------------------------------------------------------------------------- */

/* The greatest time by the least, of addresses that are told. */
static const double addresses_apart = 1.05;
/* Of pairs of addresses, one of each memory space: where fewer are slower, it is so on average. */
static const double slower_share = 0.95;

/* A memory space in the table of a size and a cache state. */
struct rank {
    struct cell_row row; /* the first member, as the columns require */
    struct judged_cell judged; /* BASE is the fastest */
    bool timed;
    double ratio, ratio_half_width; /* to the fastest: see struct cell_row */
    const char *verdict;
    char space[USER_KERNEL_SPACES_BYTES + 16]; /* with a mark where the file has it */
    char why[GRID_NOTE_BYTES];
};

static int compare_ranks(const void *left, const void *right)
{
    const struct rank *a = left, *b = right;
    const double a_ns = a->row.found->time.summary.value, b_ns = b->row.found->time.summary.value;

    if (a->timed != b->timed)
        return a->timed ? -1 : 1;
    return !a->timed ? cell_order(a->row.cell, b->row.cell) : (a_ns > b_ns) - (a_ns < b_ns);
}

/* The times of a cell by the addresses of its buffers: the median of each buffer set. 0: it has
 * fewer samples than buffer sets. */
static size_t times_by_address(const struct cell_result *cell, double out[TABLE_BUFFER_SETS])
{
    const struct cell_time *time = &cell->time;
    const size_t sets = time->series.buffer_sets;
    double *const sorted = calloc(time->summary.count + 1, sizeof(*sorted));

    if (!sorted || sets < 2 || sets > TABLE_BUFFER_SETS || time->summary.count < sets) {
        free(sorted);
        return 0;
    }
    series_set_medians(time->samples_ns, time->summary.count, sets, sorted, out);
    free(sorted);
    return sets;
}

/* What the address of its buffers does to a rank: a user's table has one address, and the time is
 * the mean over many. Says so where it matters. */
static void judge_addresses(struct rank *rank, const struct rank *best)
{
    double times[TABLE_BUFFER_SETS], best_times[TABLE_BUFFER_SETS], least = INFINITY, most = 0;
    const size_t count = times_by_address(rank->row.found, times),
                 best_count = times_by_address(best->row.found, best_times);
    size_t slower = 0;

    for (size_t i = 0; i < count; i++) {
        least = fmin(least, times[i]);
        most = fmax(most, times[i]);
        for (size_t k = 0; k < best_count; k++)
            slower += times[i] > best_times[k];
    }
    if (count == 0 || most < addresses_apart * least)
        return;
    text_join(rank->why, sizeof(rank->why), "; ", "%s to %s by the address of its memory",
              text_of(text_time, least).text, text_of(text_time, most).text);
    if (rank->judged.verdict != VERDICT_REGRESSED || best_count == 0 ||
        (double)slower >= slower_share * (double)(count * best_count))
        return;
    rank->verdict = "slower on average";
    text_join(rank->why, sizeof(rank->why), "; ", "slower at %.0f %% of addresses",
              100 * (double)slower / (double)(count * best_count));
}

/* Sorts the ranks, the fastest first, and judges the others against it. */
static enum status judge_ranks(struct rank *ranks, size_t count,
                               const struct judge_options *options)
{
    static const char *const words[VERDICTS] = {[VERDICT_SAME] = "as fast",
                                                [VERDICT_INCONCLUSIVE] = "too close to call",
                                                [VERDICT_REGRESSED] = "slower"};
    struct judged_cell **judged = calloc(count + 1, sizeof(*judged));
    enum status status = judged ? STATUS_OK : log_memory("ranks");
    size_t timed = 0;

    qsort(ranks, count, sizeof(*ranks), compare_ranks);
    for (; status == STATUS_OK && timed < count && ranks[timed].timed; timed++) {
        judged[timed] = &ranks[timed].judged;
        status = judged_cell_of(ranks[0].row.found, ranks[timed].row.found, judged[timed]);
    }
    if (status == STATUS_OK && timed > 1)
        status = judge(judged + 1, timed - 1, options);
    free(judged);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        const struct cell_result *found = ranks[i].row.found, *best = ranks[0].row.found;

        ranks[i].ratio =
            ranks[i].timed ? found->time.summary.value / best->time.summary.value : NAN;
        ranks[i].ratio_half_width =
            ranks[i].timed && i > 0 ? hypot(ranks[i].row.half_width, ranks[0].row.half_width) : NAN;
        ranks[i].verdict = !ranks[i].timed ? cell_status_names[found->status]
                           : i == 0        ? "fastest"
                                           : words[ranks[i].judged.verdict];
        if (i < timed)
            judge_addresses(&ranks[i], &ranks[0]);
        if (i == 0 || i >= timed || ranks[i].judged.verdict != VERDICT_REGRESSED)
            continue;
        /* Why it may be slower: what it does more often than the fastest. */
        for (size_t k = 0; k < sizeof(reasons) / sizeof(reasons[0]); k++) {
            const double ratio = counted(found, k), best_count = counted(best, k);

            if (ratio >= 1.5 && !(best_count >= ratio / 1.2))
                text_join(ranks[i].why, sizeof(ranks[i].why), "; ", reasons[k].reason, ratio);
        }
        if (found->of_case.blocks_per_sm < best->of_case.blocks_per_sm)
            text_join(ranks[i].why, sizeof(ranks[i].why), "; ",
                      "an SM has room for %u blocks, not %u", found->of_case.blocks_per_sm,
                      best->of_case.blocks_per_sm);
    }
    return status;
}

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
     .member = GRID_MEMBER(struct rank, ratio)},
    {.key = "ratio_half_width",
     .heading = "its CI",
     .format = text_half_width,
     .value = grid_number,
     .member = GRID_MEMBER(struct rank, ratio_half_width),
     .rank = 4},
    {.key = "verdict",
     .heading = "verdict",
     .value = grid_text,
     .member = GRID_MEMBER(struct rank, verdict)},
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

/* Prints the ranks of the rows of one kernel, size and cache state, and the lines to write. */
static enum status print_ranks(const struct cell_row *rows, size_t count,
                               const struct print_style *look, const struct judge_options *options)
{
    const struct cell *cell = rows->cell;
    const struct result_kernel *kernel = result_kernel(rows->result, cell);
    struct rank *ranks = calloc(count, sizeof(*ranks));
    char title[TEXT_PARAGRAPH_BYTES];
    struct grid grid = {.title = title,
                        GRID_COLUMNS(columns),
                        GRID_ROWS(ranks, count),
                        .note = note_rank};
    enum status status = ranks ? STATUS_OK : log_memory("ranks");

    for (size_t i = 0; ranks && i < count; i++) {
        ranks[i] =
            (struct rank){.row = rows[i],
                          .judged = judged_unknown,
                          .timed = rows[i].found->status == CELL_OK && rows[i].found->verified};
        snprintf(ranks[i].space, sizeof(ranks[i].space), "%s%s", rows[i].cell->kernel.spaces,
                 rows[i].found->of_case.as_written ? " (as written)" : "");
    }
    snprintf(title, sizeof(title), "\n%s, size %s, %s", cell->kernel.name,
             text_of(text_count, (double)cell->elements).text, cell->cache_state->name);
    if (status == STATUS_OK)
        status = judge_ranks(ranks, count, options);
    if (status == STATUS_OK)
        status = grid_print(stdout, &grid, look);
    if (status == STATUS_OK && ranks[0].timed && kernel && kernel->file)
        print_lines(kernel->file, &ranks[0].row.cell->kernel);
    free(ranks);
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

static enum status print_result(const struct result *result, const struct run_options *options)
{
    const struct judge_options judging = {.threshold = options->threshold_percent / 100};
    const struct print_style look = output_style(&options->look);
    struct cell_rows rows;
    enum status status = cell_rows_open(result, NULL, NULL, &rows);

    if (status == STATUS_OK)
        text_line(stdout, "%s, driver %s", result->device.name, result->device.driver);
    /* Rows of one kernel, size and cache state are neighbours. */
    for (size_t first = 0, end; first < rows.count && status == STATUS_OK; first = end) {
        for (end = first + 1;
             end < rows.count &&
             cell_order_before(rows.rows[first].cell, rows.rows[end].cell, AXIS_PATTERN) == 0;)
            end++;
        status = print_ranks(&rows.rows[first], end - first, &look, &judging);
    }
    free(rows.rows);
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
    const struct spaces_options *const given = parsed;
    struct run_options options = given->run;
    const char *file = invocation->arguments[0], *point = strrchr(file, '.');
    const bool quiet = options.quiet, measured = point && strcmp(point, ".json") == 0;
    struct result result;
    enum status status = check_options(given, file, measured);

    if (status != STATUS_OK)
        return status;
    if (given->first)
        return write_first(file);
    if (given->compile_only)
        return check_file(file, given);
    if (!measured) {
        options.plan.kernel.paths = file;
        if (!options.json_path && !options.resume_path)
            options.json_path = RUN_NO_FILE;
        options.quiet = true;
        return run_plan(&options, invocation, quiet ? NULL : print_result);
    }
    status = result_read(file, &result);
    if (status == STATUS_OK)
        status = need_users_kernel(&result);
    if (status == STATUS_OK && !quiet)
        status = print_result(&result, &options);
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
