/* SPDX-License-Identifier: MIT */
#include "compare_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "log.h"
#include "text.h"
#include "text_print.h"
#include "user_cell.h"

#define add(line, ...) text_join(line, LINE_BYTES, "", __VA_ARGS__)
#define MEMBER(name)   .offset = offsetof(struct comparing_options, name)

const struct option_row comparing_option_rows[COMPARING_OPTION_COUNT] = {
    {.name = "threshold",
     .topic = TOPIC_VERDICT,
     .argument = "PERCENT",
     .help = "change of time that counts (default 1%)",
     .kind = &option_number,
     MEMBER(threshold_percent),
     .low = 0.001,
     .high = 1000,
     .unit = "percent",
     .fallback = "1"},
    {.name = "allow-diff",
     .topic = TOPIC_VERDICT,
     .argument = "LIST",
     .help = "context that may differ; driver and VBIOS always may",
     .kind = &option_selection,
     MEMBER(allowed),
     .table = TABLE("context field", context_fields, context_field_count)},
    {.name = "calibration",
     .topic = TOPIC_VERDICT,
     .argument = "FILE",
     .help = "variation of cells between processes on this machine, from cbank calibrate",
     .kind = &option_text,
     MEMBER(calibration_path)},
    {.name = "boards",
     .topic = TOPIC_VERDICT,
     .argument = "RESULTS",
     .help = "results of other GPUs of the model: what GPUs differ by in each cell, where the "
             "sides are of two",
     .kind = &option_text,
     MEMBER(boards_path)},
    {.name = "all",
     .topic = TOPIC_VIEW,
     .help = "show the cells that are the same, too",
     .kind = &option_flag,
     MEMBER(all)},
    {.name = "junit",
     .topic = TOPIC_OUTPUT,
     .argument = "FILE",
     .help = "write a JUnit report: a test case for each cell",
     .kind = &option_text,
     .written = true,
     MEMBER(junit_path)},
    {.name = "json",
     .topic = TOPIC_OUTPUT,
     .argument = "FILE",
     .help = "write the comparison as JSON",
     .kind = &option_text,
     .written = true,
     MEMBER(json_path)},
    {.name = "strict",
     .topic = TOPIC_VERDICT,
     .help = "exit 4 if a cell is inconclusive",
     .kind = &option_flag,
     MEMBER(strict)},
    {.name = "quiet",
     .topic = TOPIC_OUTPUT,
     .help = "print only errors and warnings",
     .kind = &option_flag,
     MEMBER(quiet)},
};

enum status comparing_open(const struct comparing_options *options, struct comparing *out)
{
    *out = (struct comparing){
        .options = options,
        .as = {.judge.threshold = options->threshold_percent / 100,
               .allowed = &options->allowed,
               .calibration = options->calibration_path ? &out->calibration : NULL,
               .boards = options->boards_path ? &out->boards : NULL},
    };
    const enum status status =
        options->boards_path ? sides_add_list(&out->boards, options->boards_path) : STATUS_OK;

    return status == STATUS_OK && options->calibration_path
               ? calibration_read(options->calibration_path, &out->calibration)
               : status;
}

/* -- sentences --------------------------------------------------------------------------------- */

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

void summary_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const enum status status = comparison_status(comparison, true);
    const char *separator = ": ";

    snprintf(line, LINE_BYTES, "%s",
             !comparison->comparable                     ? "NEW cannot be compared with BASE"
             : comparison->counts[VERDICT_REGRESSED] > 0 ? "NEW is worse"
             : status == STATUS_FINDING                  ? "NEW does not pass"
             : status == STATUS_INCONCLUSIVE             ? "NEW may be worse"
             : comparison->counts[VERDICT_IMPROVED] > 0  ? "NEW is better"
                                                         : "NEW is the same");
    if (comparison_status(comparison, false) == STATUS_INCONCLUSIVE)
        add(line, comparison->decided == 0 ? ", as no cell could be decided (exit 4)"
                                           : ", as it lacks counters of BASE (exit 4)");
    for (size_t i = 0; i < context_field_count; i++)
        if (comparison->refused >> i & 1)
            add(line, ", %s differs", context_fields[i].name);
    if (comparison->common == 0)
        add(line, ", no cell in common");
    for (size_t i = VERDICTS; i-- > 0;)
        if (comparison->counts[i] > 0) {
            add(line, "%s%zu %s", separator, comparison->counts[i], verdict_rows[i].name);
            separator = ", ";
        }
    add(line, " of %zu cell%s", comparison->cell_count, plural(comparison->cell_count));
    if (comparison->gpu_count != 1)
        add(line, " of %zu GPUs", comparison->gpu_count);
    add(line, " (threshold %.4g %%)", 100 * comparison->options.judge.threshold);
}

void context_texts(const struct comparison *comparison, size_t field,
                   char texts[SIDES][DEVICE_TEXT_BYTES])
{
    const size_t offset = context_fields[field].offset;
    /* SM clocks, MHz, of the cells that differ */
    double low[SIDES] = {INFINITY, INFINITY}, high[SIDES] = {0};
    size_t count = 0;

    for (size_t i = 0; i < comparison->cell_count; i++)
        if (comparison->cells[i].differing >> field & 1) {
            count++;
            for (size_t side = 0; side < SIDES; side++) {
                low[side] = fmin(low[side], comparison->cells[i].judged.sides[side].clock_mhz);
                high[side] = fmax(high[side], comparison->cells[i].judged.sides[side].clock_mhz);
            }
        }
    for (size_t side = 0; side < SIDES; side++)
        if (field == CONTEXT_CLOCKS && high[side] - low[side] < 1)
            snprintf(texts[side], DEVICE_TEXT_BYTES, "%.0f MHz", high[side]);
        else if (field == CONTEXT_CLOCKS)
            snprintf(texts[side], DEVICE_TEXT_BYTES, "%.0f to %.0f MHz", low[side], high[side]);
        else if (offset == SIZE_MAX)
            snprintf(texts[side], DEVICE_TEXT_BYTES, "%zu cell%s", count, plural(count));
        else
            snprintf(texts[side], DEVICE_TEXT_BYTES, "%s",
                     (const char *)&comparison->sides[side]->identity + offset);
}

uint64_t comparison_needs(const struct comparison *comparison)
{
    uint64_t most = 0;

    for (size_t i = 0; i < comparison->cell_count && !comparison->options.one_process; i++)
        if (comparison->cells[i].judged.settle > most &&
            comparison->cells[i].verdict == VERDICT_INCONCLUSIVE)
            most = comparison->cells[i].judged.settle;
    return most;
}

void settle_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const uint64_t processes = comparison_needs(comparison);

    line[0] = '\0';
    if (processes > 0)
        add(line,
            "%" PRIu64 " processes %s would settle what can be; cbank gate --processes %" PRIu64
            " measures them",
            processes, comparison->options.judge.base_fixed ? "of NEW" : "a side", processes);
}

/* -- text -------------------------------------------------------------------------------------- */

static void ratio_text(double ratio, char out[TEXT_NUMBER_BYTES])
{
    text_change(ratio - 1, out);
}

static void value_interval(const struct grid_column *column, const void *row,
                           struct grid_value *out)
{
    const struct ratio *ratio = &((const struct comparison_cell *)row)->judged.ratio;

    (void)column;
    if (!isfinite(ratio->ci_low) || !isfinite(ratio->ci_high))
        return;
    snprintf(out->room, sizeof(out->room), "%s to %s", text_of(ratio_text, ratio->ci_low).text,
             text_of(ratio_text, ratio->ci_high).text);
    out->text = out->room;
}

static void value_cell(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    cell_identity(&((const struct comparison_cell *)row)->cell, out->room);
    out->text = out->room;
}

static void value_verdict(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const enum cell_verdict verdict = ((const struct comparison_cell *)row)->verdict;

    (void)column;
    out->text = verdict_rows[verdict].name;
    out->style = verdict_rows[verdict].status == STATUS_FINDING ? GRID_BAD
                 : verdict == VERDICT_IMPROVED                  ? GRID_GOOD
                 : verdict == VERDICT_SAME                      ? GRID_PLAIN
                                                                : GRID_DOUBT;
}

/* Note `index` of a cell: a counter that changed, other code, why the cell is not decided, and the
 * rest. False after the last. */
static bool cell_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct comparison_cell *cell = row;
    const struct judged_cell *judged = &cell->judged;

    if (index < cell->change_count) {
        const struct counter_change *change = &cell->changes[index];

        snprintf(out, bytes, "%s %.17g -> %.17g", change->name, change->base, change->new_value);
        return true;
    }
    index -= cell->change_count;
    if ((cell->sass_differs || cell->code_moved) && index-- == 0) {
        snprintf(out, bytes, cell->sass_differs ? "SASS differs: " : "not other code for a time: ");
        if (!code_change(cell->sides[BASE]->code, cell->sides[NEW]->code, out + strlen(out),
                         bytes - strlen(out)))
            text_join(out, bytes, "", "the results do not say how");
        return true;
    }
    if (cell->verdict == VERDICT_INCONCLUSIVE && index-- == 0) {
        snprintf(out, bytes, "%s",
                 judged->settle > 0       ? "more processes would settle it"
                 : !judged->has_deviation ? "too few samples to tell: take six or more in a process"
                 : judged->doubtful       ? "its time is flagged: see why, and measure again"
                 : judged->clock_ratio != 1
                     ? "its clock moved: lock the clocks, or raise --threshold"
                     : "too noisy to settle: raise --threshold");
        return true;
    }
    snprintf(out, bytes, "%s", cell->note);
    return cell->note[0] && index == 0 && !cell->note_shared; /* which stands above the cells */
}

#define OF(member) GRID_MEMBER(struct comparison_cell, member)

/* The first column is left out where there is one GPU. */
static const struct grid_column columns[] = {
    {.heading = "GPU",
     .value = grid_array,
     .of = GRID_BEHIND(struct comparison_cell, gpu, struct compared_gpu, name),
     .head = true},
    {.heading = "cell", .value = value_cell, .head = true},
    {.heading = "base",
     .format = text_time,
     .value = grid_number,
     .of = OF(judged.sides[BASE].estimate.ns)},
    {.heading = "new",
     .format = text_time,
     .value = grid_number,
     .of = OF(judged.sides[NEW].estimate.ns)},
    {.heading = "change", .format = ratio_text, .value = grid_number, .of = OF(judged.ratio.value)},
    {.heading = "interval", .format = text_change, .value = value_interval},
    {.heading = "verdict", .value = value_verdict},
};

#define say(...)                                                                            \
    text_paragraph((struct text_wrap){.stream = stream, .width = look->width, .indent = 2}, \
                   __VA_ARGS__)

/* Lines for context fields that differ, with what they are on each side, for GPUs that are not the
 * same, and for what intervals hold beside the samples. */
static void print_context(FILE *stream, const struct comparison *comparison,
                          const struct print_style *look)
{
    const struct judge_options *judge = &comparison->options.judge;
    const struct judged_cell *furthest = NULL; /* whose clock moved most */
    size_t assumed = 0, moved = 0;
    double occasions = 0, later = 0; /* the most of any cell */
    /* of GPUs of the model: the most, and the fewest degrees */
    struct deviation board = {.degrees = INFINITY};
    size_t by_boards = 0, repeated = 0;

    for (size_t i = 0; i < context_field_count; i++) {
        const bool refused = comparison->refused >> i & 1,
                   of_sides = i == CONTEXT_CLOCKS || context_fields[i].offset != SIZE_MAX;
        char texts[SIDES][DEVICE_TEXT_BYTES];

        if (!(comparison->differing >> i & 1))
            continue;
        context_texts(comparison, i, texts);
        say("%s differs: %s%s%s%s%s%s%s", context_fields[i].name, texts[BASE],
            of_sides ? " -> " : "", of_sides ? texts[NEW] : "",
            !refused                 ? ""
            : context_fields[i].then ? "; not comparable, unless --allow-diff "
                                     : "; not comparable: measure both sides alike",
            refused && context_fields[i].then ? context_fields[i].name : "",
            refused && context_fields[i].then ? ", with which " : "",
            refused && context_fields[i].then ? context_fields[i].then : "");
    }
    if (comparison->counters_lost > 0)
        say("NEW lacks counters of BASE in %zu of %zu cells, such as %s; with --allow-diff "
            "counters times alone are compared",
            comparison->counters_lost, comparison->common, comparison->lost_counter);
    for (size_t i = 0; i < SIDES; i++)
        if (comparison->findings[i] > 0)
            say("%s: a program exited with 1 in %zu of %zu processes", side_names[i],
                comparison->findings[i], comparison->sides[i]->files);
    for (size_t i = 0; comparison->gpu_count != 1 && i < comparison->gpu_count; i++) {
        const struct compared_gpu *gpu = &comparison->gpus[i];

        if (gpu->verdict != VERDICT_SAME)
            say("%s%s%s: %s", gpu->name, *gpu->identity->host.name ? " on " : "",
                gpu->identity->host.name, verdict_rows[gpu->verdict].name);
    }
    for (size_t i = 0; i < comparison->cell_count; i++) {
        const struct judged_cell *judged = &comparison->cells[i].judged;

        repeated += judged->same_data;
        moved += judged->clock_ratio != 1;
        if (judged->clock_ratio != 1 &&
            (!furthest || fabs(log(judged->clock_ratio)) > fabs(log(furthest->clock_ratio))))
            furthest = judged;
        assumed += judged->has_deviation && judged->deviation.origin == DEVIATION_DEFAULT;
        occasions = fmax(occasions, judged->occasion_error);
        later = fmax(later, judged->later);
        if (judged->has_board) {
            by_boards += judged->board.origin == DEVIATION_BOARDS;
            board.value = fmax(board.value, judged->board.value);
            board.degrees = fmin(board.degrees, judged->board.degrees);
        }
    }
    if (repeated > 0)
        say("%zu of %zu cells have the same samples on both sides: that is one measurement",
            repeated, comparison->common);
    if (comparison->plans_differ)
        say("the plans differ: intervals hold what other buffers add; measure one plan on both "
            "sides");
    if (board.value > 0)
        say("the sides are of two GPUs: intervals hold what GPUs of a model differ by, a deviation "
            "up to %.2g %%. It has %.2g "
            "degrees of freedom or more: by default, and in %zu cell%s by other GPUs (--boards)",
            100 * board.value, board.degrees, by_boards, plural(by_boards));
    if (occasions > 0)
        say("the sides were measured on other occasions: intervals hold what these differ by, up "
            "to %.2g %% (%s)",
            100 * occasions, later > 0 ? LATER_BASIS : OCCASION_BASIS);
    if (moved > 0)
        say("the SM clock of NEW is up to %.2f%% %s (%.0f -> %.0f MHz) in %zu cell%s: a change "
            "must show in times and in "
            "cycles; with --allow-diff clocks %s",
            100 * fabs(1 / furthest->clock_ratio - 1),
            furthest->clock_ratio > 1 ? "lower" : "higher", furthest->sides[BASE].clock_mhz,
            furthest->sides[NEW].clock_mhz, moved, plural(moved),
            context_fields[CONTEXT_CLOCKS].then);
    if (assumed > 0 && !comparison->options.one_process)
        say("intervals of %zu cell%s rest on a default deviation between processes; cbank "
            "calibrate measures it",
            assumed, plural(assumed));
    if (judge->other_analyses > 0)
        say("one of at most %u interim analyses: intervals are of %.4g %%, and p counts the "
            "analyses",
            1 + judge->other_analyses, 100 * (1 - judge_level(judge)));
}

enum status compare_print(FILE *stream, const struct comparison *comparison, bool all,
                          const struct print_style *look)
{
    const size_t first = comparison->gpu_count != 1 ? 0 : 1,
                 same = comparison->counts[VERDICT_SAME];
    struct grid grid = {
        .columns = columns + first,
        .column_count = sizeof(columns) / sizeof(columns[0]) - first,
        GRID_ROWS(comparison->cells, all ? same : 0),
        .note = cell_note,
    };
    enum status status = STATUS_OK;
    char line[LINE_BYTES];

    summary_line(comparison, line);
    fputs(look->color ? "\033[1m" : "", stream);
    text_paragraph((struct text_wrap){.stream = stream, .width = look->width}, "%s", line);
    fputs(look->color ? "\033[m" : "", stream);
    for (size_t i = 0; i < comparison->cell_count; i++) {
        const struct comparison_cell *cell = &comparison->cells[i];
        bool before =
            cell->verdict != VERDICT_MISSING || !cell_is_user(&cell->cell) || !cell->note[0];

        for (size_t k = 0; k < i && !before; k++)
            before = strcmp(comparison->cells[k].note, cell->note) == 0;
        if (!before)
            say("%s", cell->note);
    }
    if (comparison->common == 0 && comparison->gpu_count == 1)
        return STATUS_OK;
    putc('\n', stream);
    for (size_t i = 0; i < SIDES; i++) {
        const struct side *side = comparison->sides[i];
        const struct device_info *device = &side->identity.device;

        say("%s: %.600s: %zu result%s of %s, engine %s, driver %s", i == BASE ? "BASE" : "NEW",
            side->label, side->files, plural(side->files), device->name, side->identity.engine,
            device->driver[0] ? device->driver : "unknown");
    }
    print_context(stream, comparison, look);
    for (size_t i = 0; i < comparison->cell_count; i++)
        grid.row_count +=
            !comparison->cells[i].gpu->alone && comparison->cells[i].verdict != VERDICT_SAME;
    settle_line(comparison, line);
    if (line[0])
        say("%s", line);
    if (comparison->cell_count > 0 && comparison->cells[0].note_shared && comparison->comparable)
        say("every cell below: %s", comparison->cells[0].note);
    /* Where nothing can be compared, that is said once, and not for each cell. */
    if (grid.row_count > 0 && comparison->comparable) {
        putc('\n', stream);
        status = grid_print(stream, &grid, look);
    }
    if (same > 0 && !all)
        fprintf(stream, "\n  %zu cell%s the same; --all lists them\n", same,
                same == 1 ? " is" : "s are");
    return status;
}

/* -- JUnit ------------------------------------------------------------------------------------- */

/* A test of class "add.constant" for each cell; of several GPUs "GPU-33a20bea.add.constant". */
enum status compare_junit(FILE *stream, const void *compared)
{
    const struct comparison *comparison = compared;
    /* A comparison must not pass without a cell that is decided. */
    const size_t errors =
        !comparison->comparable || comparison_status(comparison, false) == STATUS_INCONCLUSIVE;
    const char *const error = comparison->comparable ? "not decided" : "not comparable";
    size_t failures = 0, skipped = 0, notes;
    char line[LINE_BYTES];

    for (size_t i = 0; i < VERDICTS; i++)
        *(verdict_rows[i].status == STATUS_FINDING ? &failures : &skipped) +=
            verdict_rows[i].junit ? comparison->counts[i] : 0;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", stream);
    snprintf(line, sizeof(line),
             " name=\"cbank compare\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
             "skipped=\"%zu\">\n",
             comparison->cell_count + errors, failures, errors, skipped);
    fprintf(stream, "%s  <testsuite%s", line, line);
    summary_line(comparison, line);
    if (errors > 0) {
        fprintf(stream, "    <testcase classname=\"cbank\" name=\"%s\">\n", error + strlen("not "));
        text_put_tag(stream, "      <error",
                     (const char *[]){"type", error, "message", line, NULL});
        fputs("/>\n    </testcase>\n", stream);
    }
    for (const struct comparison_cell *cell = comparison->cells;
         cell < comparison->cells + comparison->cell_count; cell++) {
        const struct verdict_row *verdict = &verdict_rows[cell->verdict];
        const struct judged_cell *judged = &cell->judged;
        const bool named = comparison->gpu_count != 1 && cell->gpu->name[0];
        char class[CELL_IDENTITY_BYTES], identity[CELL_IDENTITY_BYTES];

        snprintf(class, sizeof(class), "%s%s%s.%s", named ? cell->gpu->name : "", named ? "." : "",
                 cell_workload_name(&cell->cell), cell->cell.path->name);
        cell_identity(&cell->cell, identity);
        text_put_tag(stream, "    <testcase",
                     (const char *[]){"classname", class, "name", identity, NULL});
        if (isfinite(judged->sides[NEW].estimate.ns))
            fprintf(stream, " time=\"%.9f\"", judged->sides[NEW].estimate.ns * 1e-9);
        fputs(verdict->junit ? ">\n" : "/>\n", stream);
        if (!verdict->junit)
            continue;
        snprintf(line, LINE_BYTES, "%s%s%s", verdict->name,
                 isfinite(judged->ratio.value) ? ": " : "",
                 isfinite(judged->ratio.value) ? text_of(ratio_text, judged->ratio.value).text
                                               : "");
        fprintf(stream, "      <%s", verdict->junit);
        text_put_tag(stream, "", (const char *[]){"type", verdict->name, "message", line, NULL});
        putc('>', stream);
        for (notes = 0; cell_note(cell, notes, line, sizeof(line)); notes++) {
            fputs(notes ? "\n" : "", stream);
            text_put(stream, escapes_xml, line);
        }
        fputs(notes && cell->note_shared ? "\n" : "", stream);
        text_put(stream, escapes_xml, cell->note_shared ? cell->note : "");
        fprintf(stream, "</%s>\n    </testcase>\n", verdict->junit);
    }
    fputs("  </testsuite>\n</testsuites>\n", stream);
    return STATUS_OK;
}

enum status comparing_close(struct comparing *comparing, enum status status,
                            struct print_style look)
{
    const struct comparing_options *options = comparing->options;
    const struct comparison *comparison = &comparing->comparison;
    const bool compared = status == STATUS_OK && comparison->gpus;
    const bool silent = options->quiet ||
                        (options->junit_path && strcmp(options->junit_path, "-") == 0) ||
                        (options->json_path && strcmp(options->json_path, "-") == 0);

    if (compared && !silent)
        status = (comparing->across && comparison->comparable
                      ? compare_across
                      : compare_print)(stdout, comparison, options->all, &look);
    if (compared && options->junit_path)
        status = status_worse(status, file_write(options->junit_path, compare_junit, comparison));
    if (compared && options->json_path)
        status = status_worse(status, file_write(options->json_path, compare_json, comparison));
    if (compared && silent && !comparison->comparable)
        log_error(STATUS_ENVIRONMENT,
                  "the sides are not comparable; the table, which --quiet leaves out, says why");
    if (compared && !(comparing->across && comparison->comparable))
        status = status_worse(status, comparison_status(comparison, options->strict));
    comparison_close(&comparing->comparison);
    calibration_close(&comparing->calibration);
    sides_close(&comparing->boards);
    for (size_t i = 0; i < SIDES; i++)
        sides_close(&comparing->sides[i]);
    return status;
}
