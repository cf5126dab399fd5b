/* SPDX-License-Identifier: MIT */
#include "compare_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "cell_json.h"
#include "code_change.h"
#include "log.h"
#include "text.h"

#define COUNT(array)   (sizeof(array) / sizeof((array)[0]))
#define add(line, ...) text_join(line, LINE_BYTES, "", __VA_ARGS__)
#define MEMBER(name)   .offset = offsetof(struct comparing_options, name)

/* GitHub drops a step summary above 1 MiB. */
enum { MARKDOWN_ROWS_MAX = 2000 };

/* clang-format off */
const struct option_row comparing_option_rows[COMPARING_OPTION_COUNT] = {
    {.name = "threshold", .argument = "PERCENT", .help = "change of time that counts (default 1%)",
     .kind = &option_number, MEMBER(threshold_percent), .low = 0.001, .high = 1000, .unit = "percent", .fallback = "1"},
    {.name = "counter-threshold", .argument = "PERCENT",
     .help = "change of a measured counter that is shown (default 5%); exact ones are compared exactly",
     .kind = &option_number, MEMBER(counter_threshold_percent), .low = 0, .high = 1e6, .unit = "percent", .fallback = "5"},
    {.name = "allow-diff", .argument = "LIST", .help = "what may differ and still be compared; driver and VBIOS always may",
     .kind = &option_selection, MEMBER(allowed), .table = TABLE("context field", context_fields, context_field_count)},
    {.name = "calibration", .argument = "FILE", .help = "how much cells differ between processes here, from cbank calibrate",
     .kind = &option_text, MEMBER(calibration_path)},
    {.name = "all", .help = "show the cells that are the same, too", .kind = &option_flag, MEMBER(all)},
    {.name = "markdown", .argument = "FILE", .help = "write a report for people, such as a step summary of GitHub",
     .kind = &option_text, .written = true, MEMBER(markdown_path)},
    {.name = "junit", .argument = "FILE", .help = "write a JUnit report: a test case a cell",
     .kind = &option_text, .written = true, MEMBER(junit_path)},
    {.name = "json", .argument = "FILE", .help = "write the comparison as JSON",
     .kind = &option_text, .written = true, MEMBER(json_path)},
    {.name = "strict", .help = "exit 4 when a cell is inconclusive", .kind = &option_flag, MEMBER(strict)},
    {.name = "quiet", .help = "print errors and warnings alone", .kind = &option_flag, MEMBER(quiet)},
};
/* clang-format on */

struct compare_options comparing_as(const struct comparing_options *options, const struct calibration *calibration)
{
    return (struct compare_options){.threshold = options->threshold_percent / 100,
                                    .counter_threshold = options->counter_threshold_percent / 100,
                                    .allowed = &options->allowed,
                                    .calibration = calibration};
}

/* -- sentences ----------------------------------------------------------------------------------------- */

/* In the order in which a summary counts them. */
static const enum cell_verdict counted[VERDICTS] = {VERDICT_REGRESSED,    VERDICT_MISSING, VERDICT_INVALID,
                                                    VERDICT_INCONCLUSIVE, VERDICT_NEW,     VERDICT_IMPROVED,
                                                    VERDICT_SAME};

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* A UUID up to its first group, "GPU-33a20bea". */
static void uuid_short(const char *uuid, char out[DEVICE_TEXT_BYTES])
{
    snprintf(out, DEVICE_TEXT_BYTES, "%.*s", (int)strcspn(uuid, "-") + 9, uuid);
}

/* "2 regressed, 22 same". */
static void add_counts(char line[LINE_BYTES], const char *separator, const size_t counts[VERDICTS])
{
    for (size_t i = 0; i < VERDICTS; i++)
        if (counts[counted[i]] > 0) {
            add(line, "%s%zu %s", separator, counts[counted[i]], verdict_rows[counted[i]].name);
            separator = ", ";
        }
}

void summary_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const enum status status = comparison_status(comparison);
    const bool by_gpu = comparison_is_by_gpu(comparison);
    size_t gpus[VERDICTS] = {0};

    snprintf(line, LINE_BYTES, "%s",
             !comparison->comparable                     ? "NEW cannot be compared with BASE"
             : comparison->counts[VERDICT_REGRESSED] > 0 ? "NEW is worse"
             : status == STATUS_FINDING                  ? "NEW does not pass"
             : status == STATUS_INCONCLUSIVE             ? "NEW may be worse"
             : comparison->counts[VERDICT_IMPROVED] > 0  ? "NEW is better"
                                                         : "NEW is the same");
    for (size_t i = 0; i < context_field_count; i++)
        if (comparison->refused >> i & 1)
            add(line, ", %s differs", context_fields[i].name);
    if (!comparison->comparable && comparison_common(comparison) == 0)
        add(line, ", no cell in common");
    for (size_t i = 0; i < comparison->gpu_count; i++)
        gpus[comparison->gpus[i].verdict]++;
    if (by_gpu) {
        add_counts(line, ": ", gpus);
        add(line, " of %zu GPUs", comparison->gpu_count);
    }
    add_counts(line, by_gpu ? "; " : ": ", comparison->counts);
    add(line, "%s of %zu cell%s (threshold %.4g %%)", comparison->cell_count ? "" : ": none", comparison->cell_count,
        plural(comparison->cell_count), 100 * comparison->options.threshold);
}

static void side_line(const struct side *side, char line[LINE_BYTES])
{
    const struct side_identity *identity = &side->identity;
    const struct device_info *device = &identity->device;

    snprintf(line, LINE_BYTES, "%zu %sresult%s of %s, engine %s", side->files, identity->modelled ? "modelled " : "",
             plural(side->files), device->name[0] ? device->name : "an unknown device", identity->engine);
    if (device->driver[0])
        add(line, ", driver %s", device->driver);
    if (identity->started_utc[0])
        add(line, ", %s", identity->started_utc);
    if (side->incomplete)
        add(line, ", %zu of an interrupted run", side->incomplete);
}

void context_texts(const struct comparison *comparison, size_t field, char base[DEVICE_TEXT_BYTES],
                   char new_text[DEVICE_TEXT_BYTES])
{
    char *const out[SIDES] = {base, new_text};
    const size_t offset = context_fields[field].offset;
    size_t count = 0;

    base[0] = new_text[0] = '\0';
    for (size_t i = 0; offset == SIZE_MAX && i < comparison->cell_count; i++)
        count += comparison->cells[i].differing >> field & 1;
    for (size_t side = 0; side < SIDES; side++) {
        const char *first = NULL;

        if (offset == SIZE_MAX)
            snprintf(out[side], DEVICE_TEXT_BYTES, "%zu cell%s", count, plural(count));
        for (size_t i = 0; offset != SIZE_MAX && i < comparison->gpu_count; i++) {
            const char *text = (const char *)&comparison->gpus[i].sides[side]->identity + offset;

            if (!(comparison->gpus[i].differing >> field & 1))
                continue;
            snprintf(out[side], DEVICE_TEXT_BYTES, "%s", first && strcmp(first, text) != 0 ? "several" : text);
            if (first && strcmp(first, text) != 0)
                break;
            first = text;
        }
    }
}

const char *measured_text(const bool fixed[SIDES])
{
    return fixed[BASE] ? "of NEW" : fixed[NEW] ? "of BASE" : "a side";
}

void settle_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const struct compare_options *options = &comparison->options;
    uint64_t processes = 0;
    size_t count = 0;

    line[0] = '\0';
    for (size_t i = 0; i < comparison->cell_count; i++) {
        const uint64_t settle = comparison->cells[i].judged.settle;

        count += settle > 0;
        processes = settle > processes ? settle : processes;
    }
    if (count == 0)
        return;
    add(line, "%" PRIu64 " processes %s would settle %zu of the %zu that are inconclusive", processes,
        measured_text(options->fixed), count, comparison->counts[VERDICT_INCONCLUSIVE]);
    if (options->folder)
        add(line, "; the same command with --keep %s --processes %" PRIu64 " goes on", options->folder, processes);
    else
        add(line, "; cbank gate measures as many as it takes");
}

/* Whoever takes lines: put(to, line). */
struct lines {
    void (*put)(void *to, const char *line);
    void *to;
};

__attribute__((format(printf, 2, 3))) static void say(const struct lines *lines, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    lines->put(lines->to, line);
}

/* Differences between the sides, and the verdict on each GPU. */
static void say_differences(const struct comparison *comparison, const struct lines *lines)
{
    for (size_t i = 0; i < context_field_count; i++) {
        const char *name = context_fields[i].name;
        const bool refused = comparison->refused >> i & 1;
        char base[DEVICE_TEXT_BYTES], new_text[DEVICE_TEXT_BYTES];
        bool same;

        if (!(comparison->differing >> i & 1))
            continue;
        context_texts(comparison, i, base, new_text);
        same = strcmp(base, new_text) == 0;
        say(lines, "%s differs: %s%s%s%s%s", name, base, same ? "" : " -> ", same ? "" : new_text,
            refused ? "; not comparable, unless --allow-diff " : "", refused ? name : "");
    }
    for (size_t i = 0; comparison_is_by_gpu(comparison) && i < comparison->gpu_count; i++) {
        const struct compared_gpu *gpu = &comparison->gpus[i];
        const struct host *host = &gpu_identity(gpu)->host;
        char uuid[DEVICE_TEXT_BYTES], line[LINE_BYTES] = "";

        if (gpu->verdict == VERDICT_SAME)
            continue;
        uuid_short(gpu_identity(gpu)->device.uuid, uuid);
        add_counts(line, "", gpu->counts);
        say(lines, "%s%s%s%s%s: %s: %s", uuid, *host->name ? " on " : "", host->name, *host->slot ? " in " : "",
            host->slot, verdict_rows[gpu->verdict].name, line);
    }
}

/* Whether the kernels' code changed, and how in the first cell. */
static void say_code(const struct comparison *comparison, const struct lines *lines)
{
    const char *base = comparison->sides[BASE]->identity.device.driver;
    const char *driver = comparison->sides[NEW]->identity.device.driver;
    char names[LINE_BYTES / 2] = "", text[LINE_BYTES / 2] = "";
    struct code_change change;
    size_t differing = 0;
    bool known = true;

    for (size_t i = 0; i < comparison->cell_count; i++) {
        const struct comparison_cell *cell = &comparison->cells[i];
        char identity[CELL_IDENTITY_BYTES];

        for (size_t k = 0; k < SIDES; k++)
            known = known && (!cell->sides[k] || cell->sides[k]->sha256[0]);
        if (!cell->sass_differs)
            continue;
        if (differing == 0 && code_compare(cell->sides[BASE]->code, cell->sides[NEW]->code, &change))
            code_change_text(&change, text, sizeof(text));
        cell_identity(&cell->cell, identity);
        if (differing++ < 3)
            text_join(names, sizeof(names), ", ", "%s", identity);
    }
    if (differing > 0)
        say(lines, "SASS differs in %zu of %zu cells, the code changed there: %s%s%s%s", differing,
            comparison_common(comparison), names, differing > 3 ? " and others" : "", *text ? "; in the first " : "",
            text);
    else
        say(lines, "%s",
            !known ? "SASS is not known of every cell: the code may have changed"
            : strcmp(base, driver) != 0 && comparison->differing == 1u << CONTEXT_DRIVER
                ? "SASS is equal and the driver alone differs: a change is the driver's doing"
                : "SASS is equal: the code did not change");
}

/* The basis of intervals. */
static void say_noise(const struct comparison *comparison, const struct lines *lines)
{
    const struct calibration *calibration = comparison->options.calibration;
    const struct judge_options options = {.looks = comparison->options.looks};
    double low[DEVIATION_ORIGINS], high[DEVIATION_ORIGINS] = {0}, sides[DEVIATION_ORIGINS] = {0}, most = 1;
    size_t counts[DEVIATION_ORIGINS] = {0}, same = 0, moved = 0;

    for (size_t i = 0; i < comparison->cell_count; i++) {
        const struct judged_cell *cell = &comparison->cells[i].judged;
        const enum deviation_origin origin = cell->deviation.origin;

        same += cell->same_data;
        moved += cell->clock_ratio != 1;
        if (fabs(log(cell->clock_ratio)) > fabs(log(most)))
            most = cell->clock_ratio;
        if (!cell->has_deviation || cell->same_data)
            continue;
        low[origin] = fmin(counts[origin]++ ? low[origin] : INFINITY, cell->deviation.value);
        high[origin] = fmax(high[origin], cell->deviation.value);
        sides[origin] = fmax(sides[origin], cell->side_degrees);
    }
    if (same > 0)
        say(lines, "the sides are the same data in %zu of %zu cells: the same processes with the same samples", same,
            comparison_common(comparison));
    if (comparison->plans_differ)
        say(lines, "the plans differ, and with them where buffers lie: intervals hold what that adds; measure one plan "
                   "on both sides");
    if (comparison->boards_differ)
        say(lines, "the sides are of two GPUs: intervals hold what GPUs of a model differ by");
    if (moved > 0)
        say(lines,
            "in %zu cell%s the SM clock of NEW is %s%.2f%% %s: intervals hold both times and cycles, and a change shows in "
            "both; --allow-diff clocks takes times as they are",
            moved, plural(moved), moved > 1 ? "up to " : "", 100 * fabs(1 / most - 1), most > 1 ? "lower" : "higher");
    for (size_t i = 0; i < DEVIATION_ORIGINS; i++) {
        char line[LINE_BYTES] = "";

        if (counts[i] == 0)
            continue;
        add(line, "between processes a time differs by %.2f%%", 100 * low[i]);
        if (high[i] - low[i] > 0.00005)
            add(line, " to %.2f%%", 100 * high[i]);
        add(line, " (standard deviation, sd) in %zu cell%s: ", counts[i], plural(counts[i]));
        if (i == DEVIATION_DEFAULT)
            add(line, "the default, assumed of this GPU; cbank calibrate measures it");
        else if (i == DEVIATION_PROCESSES)
            add(line, "by the processes of the sides alone");
        else
            add(line, "calibrated over %u %sprocesses%s", calibration->processes,
                calibration->modelled ? "modelled " : "",
                i == DEVIATION_OTHER_BOARD ? " on another GPU of the model, with what GPUs differ by added" : "");
        say(lines, "%s%s", line,
            i != DEVIATION_PROCESSES && sides[i] > 0 ? ", and what the processes of the sides show" : "");
    }
    if (options.looks > 1)
        say(lines,
            "one of at most %u interim analyses of growing data: intervals are of %.4g%%, and p is multiplied, so that "
            "all of them together keep the level of one (Bonferroni)",
            options.looks, 100 * (1 - judge_level(&options)));
}

/* Everything that concerns all cells together. */
static void say_context(const struct comparison *comparison, const struct lines *lines)
{
    char line[LINE_BYTES];

    say_differences(comparison, lines);
    if (comparison_common(comparison) > 0)
        say_code(comparison, lines);
    if (comparison_common(comparison) > 0)
        say_noise(comparison, lines);
    settle_line(comparison, line);
    if (line[0])
        say(lines, "%s", line);
}

/* All cells that are the same, in one line. */
static void same_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const size_t count = comparison->counts[VERDICT_SAME];
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < comparison->cell_count; i++)
        if (comparison->cells[i].verdict == VERDICT_SAME) {
            low = fmin(low, comparison->cells[i].judged.ratio.value);
            high = fmax(high, comparison->cells[i].judged.ratio.value);
        }
    snprintf(line, LINE_BYTES, "%zu cell%s the same", count, count == 1 ? " is" : "s are");
    if (low <= high)
        add(line, ": %s", text_of(text_change, low - 1).text);
    if (low < high)
        add(line, " to %s", text_of(text_change, high - 1).text);
}

/* -- the grid of cells --------------------------------------------------------------------------------- */

static void ratio_text(double ratio, char out[TEXT_NUMBER_BYTES])
{
    text_change(ratio - 1, out);
}

static void text_p(double p, char out[TEXT_NUMBER_BYTES])
{
    snprintf(out, TEXT_NUMBER_BYTES, "%.2g", p);
}

static void text_deviation(double deviation, char out[TEXT_NUMBER_BYTES])
{
    snprintf(out, TEXT_NUMBER_BYTES, "%.2f%%", 100 * deviation);
}

static void value_interval(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct ratio *ratio = &((const struct comparison_cell *)row)->judged.ratio;

    (void)column;
    if (isfinite(ratio->ci_low) && isfinite(ratio->ci_high))
        grid_range(ratio_text, ratio->ci_low, ratio->ci_high, out);
}

static void value_verdict(const struct grid_column *column, const void *row, struct grid_value *out)
{
    static const enum grid_style styles[VERDICTS] = {
        [VERDICT_SAME] = GRID_PLAIN,        [VERDICT_IMPROVED] = GRID_GOOD, [VERDICT_REGRESSED] = GRID_BAD,
        [VERDICT_MISSING] = GRID_BAD,       [VERDICT_INVALID] = GRID_BAD,   [VERDICT_NEW] = GRID_DOUBT,
        [VERDICT_INCONCLUSIVE] = GRID_DOUBT};
    const enum cell_verdict verdict = ((const struct comparison_cell *)row)->verdict;

    (void)column;
    out->text = verdict_rows[verdict].name;
    out->style = styles[verdict];
}

static void value_cell_gpu(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    uuid_short(gpu_identity(((const struct comparison_cell *)row)->gpu)->device.uuid, out->room);
    out->text = out->room[0] ? out->room : NULL;
}

/* Note `index` of a cell: a counter that moved, other code, too few samples; false where there are no more. */
static bool cell_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct comparison_cell *cell = row;
    const struct judged_cell *judged = &cell->judged;

    if (index < cell->change_count) {
        const struct counter_change *change = &cell->changes[index];
        const double relative = change->new_value / change->base - 1;

        if (change->kind == COUNTER_EXACT || !isfinite(relative))
            snprintf(out, bytes, "%s %.17g -> %.17g", change->name, change->base, change->new_value);
        else
            snprintf(out, bytes, "%s %s (%.6g -> %.6g)", change->name, text_of(text_change, relative).text,
                     change->base, change->new_value);
        return true;
    }
    index -= cell->change_count;
    if (cell->sass_differs && index-- == 0) {
        struct code_change change;

        snprintf(out, bytes, "SASS differs: the code changed; ");
        if (code_compare(cell->sides[BASE]->code, cell->sides[NEW]->code, &change))
            code_change_text(&change, out + strlen(out), bytes - strlen(out));
        else
            text_join(out, bytes, "", "the results do not say how");
        return true;
    }
    if (cell->verdict == VERDICT_INCONCLUSIVE && index-- == 0) {
        if (judged->settle > 0)
            snprintf(out, bytes, "%" PRIu64 " processes would settle it", judged->settle);
        else
            snprintf(out, bytes, "%s",
                     !judged->has_deviation ? "too few samples to tell: take six or more in a process"
                     : judged->doubtful     ? "its time is flagged: see why, and measure again"
                                            : "too noisy to settle: raise --threshold");
        return true;
    }
    if (!cell->note[0] || index > 0)
        return false;
    snprintf(out, bytes, "%s", cell->note);
    return true;
}

#define OF(member) GRID_MEMBER(struct comparison_cell, member)

/* clang-format off */
#define CELL_COLUMNS_OF(interval) { \
    {.heading = "GPU", .value = value_cell_gpu, .head = true}, \
    {.heading = "cell", .value = cell_value_identity, .head = true}, \
    {.heading = "base", .format = text_time, .value = grid_number, .of = OF(judged.sides[BASE].estimate.ns)}, \
    {.heading = "new", .format = text_time, .value = grid_number, .of = OF(judged.sides[NEW].estimate.ns)}, \
    {.heading = "change", .format = ratio_text, .value = grid_number, .of = OF(judged.ratio.value)}, \
    {.heading = interval, .format = text_change, .value = value_interval}, \
    {.heading = "verdict", .value = value_verdict}, \
    {.heading = "p", .format = text_p, .value = grid_number, .of = OF(judged.adjusted_p)}, \
    {.heading = "sd", .format = text_deviation, .value = grid_number, .of = OF(judged.deviation.value)}, \
}

static const struct grid_column columns[] = CELL_COLUMNS_OF("95% CI"), look_columns[] = CELL_COLUMNS_OF("99% CI");
/* clang-format on */

static struct grid cell_grid(const struct comparison *comparison, size_t first, size_t count)
{
    const size_t without = comparison_is_by_gpu(comparison) ? 0 : 1; /* the first column */

    return (struct grid){
        .columns = (comparison->options.looks > 1 ? look_columns : columns) + without,
        .column_count = COUNT(columns) - without,
        .rows = comparison->cells + first,
        .row_count = count,
        .row_bytes = sizeof(*comparison->cells),
        .note = cell_note,
        .stacked = true,
    };
}

/* -- text and Markdown --------------------------------------------------------------------------------- */

/* How many cells come before those that are the same, which are followed by those of GPUs that a side lacks. */
static size_t cells_to_show(const struct comparison *comparison)
{
    size_t alone = 0;

    for (size_t i = 0; comparison_is_by_gpu(comparison) && i < comparison->cell_count; i++)
        alone += comparison->cells[i].gpu->alone;
    return comparison->cell_count - alone - comparison->counts[VERDICT_SAME];
}

struct printing {
    FILE *stream;
    const struct grid_look *look; /* NULL: Markdown */
};

static void put_line(const struct printing *to, int indent, const char *line)
{
    if (to->look) {
        text_paragraph((struct text_wrap){.stream = to->stream, .width = to->look->width, .indent = indent}, "%s",
                       line);
        return;
    }
    text_put(to->stream, escapes_markdown, line);
    putc('\n', to->stream);
}

static void put_context(void *context, const char *line)
{
    const struct printing *to = context;

    fputs(to->look ? "" : "- ", to->stream);
    put_line(to, 2, line);
}

/* The lines above the grid. */
static void put_head(const struct printing *to, const struct comparison *comparison)
{
    char line[LINE_BYTES], what[LINE_BYTES];

    for (size_t i = 0; i < SIDES; i++) {
        side_line(comparison->sides[i], what);
        fputs(to->look ? i == BASE ? "BASE " : "NEW  " : i == BASE ? "- **BASE** " : "- **NEW** ", to->stream);
        snprintf(line, sizeof(line), "%s: %.700s", comparison->sides[i]->label, what);
        put_line(to, 5, line);
    }
    say_context(comparison, &(const struct lines){put_context, (void *)to});
}

enum status compare_print(FILE *stream, const struct comparison *comparison, bool all, const struct grid_look *look)
{
    const size_t same = comparison->counts[VERDICT_SAME];
    const struct grid grid = cell_grid(comparison, 0, cells_to_show(comparison) + (all ? same : 0));
    const struct printing to = {stream, look};
    enum status status = STATUS_OK;
    char line[LINE_BYTES];

    summary_line(comparison, line);
    fputs(look->color ? "\033[1m" : "", stream);
    put_line(&to, 0, line);
    fputs(look->color ? "\033[m" : "", stream);
    if (comparison_common(comparison) == 0 && !comparison_is_by_gpu(comparison))
        return STATUS_OK;
    putc('\n', stream);
    put_head(&to, comparison);
    if (grid.row_count > 0)
        putc('\n', stream);
    status = grid_print(stream, &grid, look);
    if (same > 0 && !all && status == STATUS_OK) {
        same_line(comparison, line);
        text_join(line, sizeof(line), "; ", "--all lists them");
        putc('\n', stream);
        put_line(&to, 2, line);
    }
    return status;
}

enum status compare_markdown(FILE *stream, const void *compared)
{
    const struct comparison *comparison = compared;
    const size_t others = cells_to_show(comparison);
    const struct grid grid = cell_grid(comparison, 0, others < MARKDOWN_ROWS_MAX ? others : MARKDOWN_ROWS_MAX);
    struct printing to = {stream, NULL};
    char line[LINE_BYTES];

    summary_line(comparison, line);
    fputs("### ", stream);
    put_line(&to, 0, line);
    putc('\n', stream);
    put_head(&to, comparison);
    if (comparison->counts[VERDICT_SAME] > 0) {
        same_line(comparison, line);
        put_context(&to, line);
    }
    if (grid.row_count > 0) {
        putc('\n', stream);
        grid_print_markdown(stream, &grid);
    }
    if (others > MARKDOWN_ROWS_MAX)
        fprintf(stream, "\nThe %zu least severe cells are left out: the file would be too large.\n",
                others - MARKDOWN_ROWS_MAX);
    return STATUS_OK;
}

/* -- JUnit --------------------------------------------------------------------------------------------- */

static void put_property(FILE *stream, const char *name, const char *value)
{
    text_put_tag(stream, "      <property", (const char *[]){"name", name, "value", value, NULL});
    fputs("/>\n", stream);
}

static void put_note(void *stream, const char *line)
{
    put_property(stream, "note", line);
}

/* A test of class "add.constant"; of several GPUs "GPU-33a20bea.add.constant". */
static void put_cell(FILE *stream, const struct comparison *comparison, const struct comparison_cell *cell)
{
    const struct verdict_row *verdict = &verdict_rows[cell->verdict];
    const struct judged_cell *judged = &cell->judged;
    const struct ratio *ratio = &judged->ratio;
    char class[CELL_IDENTITY_BYTES], identity[CELL_IDENTITY_BYTES], gpu[DEVICE_TEXT_BYTES] = "", line[LINE_BYTES];

    if (comparison_is_by_gpu(comparison))
        uuid_short(gpu_identity(cell->gpu)->device.uuid, gpu);
    snprintf(class, sizeof(class), "%s%s%s.%s", gpu, gpu[0] ? "." : "", cell->cell.workload->name,
             cell->cell.path->name);
    cell_identity(&cell->cell, identity);
    text_put_tag(stream, "    <testcase", (const char *[]){"classname", class, "name", identity, NULL});
    if (isfinite(judged->sides[NEW].estimate.ns))
        fprintf(stream, " time=\"%.9f\"", judged->sides[NEW].estimate.ns * 1e-9);
    if (!verdict->junit) {
        fputs("/>\n", stream);
        return;
    }
    snprintf(line, LINE_BYTES, "%s", verdict->name);
    if (isfinite(ratio->value))
        add(line, ": %s (%s to %s), %s -> %s, p %.2g", text_of(ratio_text, ratio->value).text,
            text_of(text_change, ratio->ci_low - 1).text, text_of(text_change, ratio->ci_high - 1).text,
            text_of(text_time, judged->sides[BASE].estimate.ns).text,
            text_of(text_time, judged->sides[NEW].estimate.ns).text, judged->adjusted_p);
    fprintf(stream, ">\n      <%s", verdict->junit);
    text_put_tag(stream, "", (const char *[]){"type", verdict->name, "message", line, NULL});
    putc('>', stream);
    for (size_t i = 0; cell_note(cell, i, line, sizeof(line)); i++) {
        fputs(i ? "\n" : "", stream);
        text_put(stream, escapes_xml, line);
    }
    fprintf(stream, "</%s>\n    </testcase>\n", verdict->junit);
}

enum status compare_junit(FILE *stream, const void *compared)
{
    const struct comparison *comparison = compared;
    const size_t errors = comparison->comparable ? 0 : 1;
    size_t failures = 0, skipped = 0;
    char line[LINE_BYTES], counts[160];

    for (size_t i = 0; i < VERDICTS; i++)
        *(verdict_rows[i].status == STATUS_FINDING ? &failures : &skipped) +=
            verdict_rows[i].junit ? comparison->counts[i] : 0;
    snprintf(counts, sizeof(counts),
             " name=\"cbank compare\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"",
             comparison->cell_count + errors, failures, errors, skipped);
    fprintf(stream, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites%s>\n  <testsuite%s>\n    <properties>\n",
            counts, counts);
    for (size_t i = 0; i < SIDES; i++) {
        put_property(stream, side_names[i], comparison->sides[i]->label);
        side_line(comparison->sides[i], line);
        put_property(stream, i == BASE ? "base_of" : "new_of", line);
    }
    say_context(comparison, &(const struct lines){put_note, stream});
    summary_line(comparison, line);
    put_property(stream, "summary", line);
    fputs("    </properties>\n", stream);
    if (errors > 0) { /* must not pass for want of cells */
        fputs("    <testcase classname=\"cbank\" name=\"comparable\">\n", stream);
        text_put_tag(stream, "      <error", (const char *[]){"type", "not comparable", "message", line, NULL});
        fputs("/>\n    </testcase>\n", stream);
    }
    for (size_t i = 0; i < comparison->cell_count; i++)
        put_cell(stream, comparison, &comparison->cells[i]);
    fputs("  </testsuite>\n</testsuites>\n", stream);
    return STATUS_OK;
}

/* -- all of them --------------------------------------------------------------------------------------- */

enum status comparing_report(const struct comparing_options *options, bool color, const struct comparison *comparison)
{
    const struct {
        const char *path;
        file_writer *write;
    } reports[] = {{options->markdown_path, compare_markdown},
                   {options->junit_path, compare_junit},
                   {options->json_path, compare_json}};
    const enum status verdict = comparison_exit(comparison, options->strict);
    enum status status = STATUS_OK;
    bool silent = options->quiet;

    for (size_t i = 0; i < COUNT(reports); i++)
        silent = silent || (reports[i].path && strcmp(reports[i].path, "-") == 0);
    if (!silent)
        status = compare_print(stdout, comparison, options->all,
                               &(const struct grid_look){.width = text_width(stdout), .color = color});
    for (size_t i = 0; i < COUNT(reports); i++)
        if (reports[i].path)
            status = status_worse(status, file_write(reports[i].path, reports[i].write, comparison));
    if (verdict == STATUS_ENVIRONMENT && silent)
        log_error(verdict, "the sides are not comparable; the table, which --quiet leaves out, says why");
    return status_worse(status, verdict);
}
