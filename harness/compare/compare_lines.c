/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cell_json.h"
#include "compare_report.h"
#include "text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    SASS_CELLS_MAX = 10,
    CODE_LINES_MAX = 5
}; /* that are named where SASS differs; whose change is told above the cells */

/* In the order in which a summary counts them. */
static const enum verdict order[] = {VERDICT_REGRESSED, VERDICT_MISSING,  VERDICT_INVALID, VERDICT_INCONCLUSIVE,
                                     VERDICT_NEW,       VERDICT_IMPROVED, VERDICT_SAME};

/* -- sentences ---------------------------------------------------------------------------------------- */

#define add(line, ...) text_join(line, LINE_BYTES, "", __VA_ARGS__)

/* A ratio as a change. */
static void ratio_text(double ratio, char out[TEXT_NUMBER_BYTES])
{
    text_change(ratio - 1, out);
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* What the comparison comes to, in a few words. */
static const char *outcome_text(const struct comparison *comparison)
{
    const enum status status = comparison_status(comparison);

    if (!comparison->comparable)
        return "NEW cannot be compared with BASE";
    if (comparison->counts[VERDICT_REGRESSED] > 0)
        return "NEW is worse";
    if (status == STATUS_FINDING)
        return "NEW does not pass";
    if (status == STATUS_INCONCLUSIVE)
        return "NEW may be worse";
    return comparison->counts[VERDICT_IMPROVED] > 0 ? "NEW is better" : "NEW is the same";
}

/* How many GPUs have which verdict. */
static void add_gpus(const struct comparison *comparison, char line[LINE_BYTES])
{
    const char *separator = ": ";

    for (size_t i = 0; comparison_is_by_gpu(comparison) && i < COUNT(order); i++) {
        const size_t count = comparison_gpus(comparison, order[i]);

        if (count == 0)
            continue;
        add(line, "%s%zu %s", separator, count, verdict_rows[order[i]].name);
        separator = ", ";
    }
    if (comparison_is_by_gpu(comparison))
        add(line, " of %zu GPUs", comparison->gpu_count);
}

void summary_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const char *separator = comparison_is_by_gpu(comparison) ? "; " : ": ";

    snprintf(line, LINE_BYTES, "%s", outcome_text(comparison));
    for (size_t i = 0; i < comparison->difference_count; i++)
        if (!comparison->differences[i].allowed)
            add(line, ", %s differs", comparison->differences[i].facet->name);
    if (!comparison->comparable && comparison_common(comparison) == 0)
        add(line, ", no cell in common");
    add_gpus(comparison, line);
    for (size_t i = 0; i < COUNT(order); i++) {
        const enum verdict verdict = order[i];

        if (comparison->counts[verdict] == 0)
            continue;
        add(line, "%s%zu %s", separator, comparison->counts[verdict], verdict_rows[verdict].name);
        separator = ", ";
    }
    add(line, "%s of %zu cell%s", comparison->cell_count ? "" : ": none", comparison->cell_count,
        plural(comparison->cell_count));
    add(line, " (threshold %.4g %%)", 100 * comparison->options.threshold);
}

void side_line(const struct side *side, char line[LINE_BYTES])
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

/* A facet's text on one side, as it is read. */
static const char *known(const char *text)
{
    return text[0] ? text : "unknown";
}

static void difference_line(const struct facet_difference *difference, char line[LINE_BYTES])
{
    const char *base = known(difference->base), *new_text = known(difference->new_text);

    snprintf(line, LINE_BYTES, "%s differs: %s", difference->facet->name, base);
    /* A facet of cells has the same on both sides: how many of them. */
    if (strcmp(base, new_text) != 0)
        add(line, " -> %s", new_text);
    if (!difference->allowed)
        add(line, "; not comparable, unless --allow-diff %s", difference->facet->name);
}

static bool sass_known(const struct side *side)
{
    for (size_t i = 0; i < side->cell_count; i++)
        if (!side->cells[i].sha256[0])
            return false;
    return side->cell_count > 0;
}

/* Says in how many cells SASS differs, and names the first; nothing where it does in none. */
static void sass_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    char identity[CELL_IDENTITY_BYTES], names[LINE_BYTES - 128] = "";
    size_t named = 0, differing = 0;

    for (size_t i = 0; i < comparison->cell_count; i++) {
        if (!comparison->cells[i].sass_differs)
            continue;
        cell_identity(&comparison->cells[i].cell, identity);
        if (differing++ == named && named < SASS_CELLS_MAX && strlen(names) + strlen(identity) + 3 < sizeof(names)) {
            text_join(names, sizeof(names), ", ", "%s", identity);
            named++;
        }
    }
    if (differing > 0)
        snprintf(line, LINE_BYTES, "SASS differs in %zu of %zu cells, the code changed there: %s", differing,
                 comparison_common(comparison), names);
    if (differing > named)
        add(line, " and %zu more", differing - named);
}

/* Whether two cells are of the same two kernels. */
static bool is_same_change(const struct comparison_cell *one, const struct comparison_cell *other)
{
    for (size_t i = 0; i < SIDES; i++)
        if (strcmp(one->sides[i]->sha256, other->sides[i]->sha256) != 0)
            return false;
    return true;
}

/* The first cell of change `index` of a kernel's code; NULL where there are no more. */
static const struct comparison_cell *changed_cell(const struct comparison *comparison, size_t index)
{
    for (size_t i = 0; i < comparison->cell_count; i++) {
        const struct comparison_cell *cell = &comparison->cells[i];
        size_t before = 0;

        while (cell->code && before < i &&
               !(comparison->cells[before].code && is_same_change(cell, &comparison->cells[before])))
            before++;
        if (cell->code && before == i && index-- == 0)
            return cell;
    }
    return NULL;
}

static void change_line(const struct comparison_cell *cell, char line[LINE_BYTES])
{
    char identity[CELL_IDENTITY_BYTES], change[512];

    cell_identity(&cell->cell, identity);
    code_change_text(cell->code, change, sizeof(change));
    snprintf(line, LINE_BYTES, "code of %s: %s", identity, change);
}

/* Whether the kernels' code changed, and what follows from it; nothing where the sides have no cell in common. */
static void code_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const char *base = comparison->sides[BASE]->identity.device.driver,
               *driver = comparison->sides[NEW]->identity.device.driver;

    sass_line(comparison, line);
    if (line[0] || comparison_common(comparison) == 0)
        return;
    if (!sass_known(comparison->sides[BASE]) || !sass_known(comparison->sides[NEW]))
        add(line, "SASS is not known of every cell: the code may have changed");
    else if (strcmp(base, driver) != 0 && comparison->difference_count == 1)
        add(line, "SASS is equal and the driver alone differs: a change is the driver's doing");
    else
        add(line, "SASS is equal: the code did not change");
}

/* In how many cells there is nothing to compare. */
static void data_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    size_t same = 0;

    for (size_t i = 0; i < comparison->cell_count; i++)
        same += comparison->cells[i].same_data;
    if (same > 0)
        add(line, "the sides are the same data in %zu of %zu cells: the same processes with the same samples", same,
            comparison_common(comparison));
}

/* What was taken for the deviation between processes before the sides said anything, of the cells of an origin. */
static void deviation_line(const struct comparison *comparison, enum deviation_origin origin, char line[LINE_BYTES])
{
    const struct calibration *calibration = comparison->options.calibration;
    double low = INFINITY, high = 0, sides = 0;
    size_t count = 0;

    for (size_t i = 0; i < comparison->cell_count; i++) {
        const struct comparison_cell *cell = &comparison->cells[i];

        if (!cell->has_deviation || cell->deviation.origin != origin || cell->same_data)
            continue;
        count++;
        low = fmin(low, cell->deviation.value);
        high = fmax(high, cell->deviation.value);
        sides = fmax(sides, cell->side_degrees);
    }
    if (count == 0)
        return;
    add(line, "process to process a time differs by %.2f%%", 100 * low);
    if (low < high)
        add(line, " to %.2f%%", 100 * high);
    add(line, " (standard deviation, sd) in %zu cell%s: ", count, plural(count));
    if (origin == DEVIATION_DEFAULT)
        add(line, "the default, assumed of this GPU; cbank calibrate measures it");
    else if (origin == DEVIATION_PROCESSES)
        add(line, "by the processes of the sides alone");
    else
        add(line, "calibrated over %u %sprocesses%s", calibration->processes, calibration->modelled ? "modelled " : "",
            origin == DEVIATION_OTHER_BOARD ? " on another GPU of the model, with what GPUs differ by added" : "");
    if (origin != DEVIATION_PROCESSES && sides > 0)
        add(line, ", and what the processes of the sides show");
}

/* Where the SM clock differs, and by how much at most. */
static void clock_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    double most = 1;
    size_t count = 0;

    for (size_t i = 0; i < comparison->cell_count; i++) {
        const double ratio = comparison->cells[i].clock_ratio;

        count += ratio != 1;
        if (fabs(log(ratio)) > fabs(log(most)))
            most = ratio;
    }
    if (count > 0)
        add(line,
            "in %zu cell%s the SM clock of NEW is %s%.2f%% %s: intervals hold what that explains, and a change is one in "
            "time and in cycles; --allow-diff clocks takes times as they are",
            count, plural(count), count > 1 ? "up to " : "", 100 * fabs(1 / most - 1), most > 1 ? "lower" : "higher");
}

/* What no number of processes takes away. */
static void between_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    if (comparison_common(comparison) == 0)
        return;
    if (comparison->plans_differ)
        add(line,
            "the plans differ, and with them where buffers lie: what plans differ by was added; measure one plan on "
            "both sides");
    if (comparison->boards_differ)
        add(line, "%sthe sides are of two GPUs: what GPUs differ by was added", line[0] ? "; " : "");
}

/* What a comparison that is one of several looks says of its level. */
static void looks_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const unsigned looks = comparison->options.looks;

    if (looks > 1)
        add(line,
            "one of at most %u looks at growing data: intervals are of %.4g%%, and p is times the looks, so that all of "
            "them together keep the level of one (Bonferroni)",
            looks, 100 * (1 - compare_level(&comparison->options)));
}

static const struct {
    void (*line)(const struct comparison *comparison, char *line);
    enum deviation_origin origin; /* where there is no function: of deviation_line */
} context_lines[] = {
    {.line = code_line},
    {.line = data_line},
    {.line = between_line},
    {.line = clock_line},
    {.origin = DEVIATION_DEFAULT},
    {.origin = DEVIATION_CALIBRATED},
    {.origin = DEVIATION_OTHER_BOARD},
    {.origin = DEVIATION_PROCESSES},
    {.line = looks_line},
    {.line = settle_line},
};

bool context_line(const struct comparison *comparison, size_t index, char line[LINE_BYTES])
{
    if (index < comparison->difference_count) {
        difference_line(&comparison->differences[index], line);
        return true;
    }
    index -= comparison->difference_count;
    for (size_t i = 0; i < CODE_LINES_MAX; i++) {
        const struct comparison_cell *cell = changed_cell(comparison, i);

        if (!cell)
            break;
        if (index-- == 0) {
            change_line(cell, line);
            return true;
        }
    }
    for (size_t i = 0; i < COUNT(context_lines); i++) {
        line[0] = '\0';
        if (context_lines[i].line)
            context_lines[i].line(comparison, line);
        else
            deviation_line(comparison, context_lines[i].origin, line);
        if (line[0] && index-- == 0)
            return true;
    }
    return false;
}

void same_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const size_t count = comparison->counts[VERDICT_SAME];
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < comparison->cell_count; i++)
        if (comparison->cells[i].verdict == VERDICT_SAME) {
            low = fmin(low, comparison->cells[i].ratio.value);
            high = fmax(high, comparison->cells[i].ratio.value);
        }
    snprintf(line, LINE_BYTES, "%zu cell%s the same", count, count == 1 ? " is" : "s are");
    if (low <= high)
        add(line, ": %s", text_of(text_change, low - 1).text);
    if (low < high)
        add(line, " to %s", text_of(text_change, high - 1).text);
}

/* -- the grid of cells --------------------------------------------------------------------------------- */

static const struct comparison_cell *cell_at(const void *row)
{
    return row;
}

static void value_interval(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct ratio *ratio = &cell_at(row)->ratio;

    (void)column;
    if (isfinite(ratio->ci_low) && isfinite(ratio->ci_high))
        grid_range(ratio_text, ratio->ci_low, ratio->ci_high, out);
}

static void value_verdict(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->text = verdict_rows[cell_at(row)->verdict].name;
    out->style = verdict_rows[cell_at(row)->verdict].style;
}

static void value_gpu(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    value_short_uuid(gpu_identity(cell_at(row)->gpu)->device.uuid, out);
}

static void text_p(double p, char out[TEXT_NUMBER_BYTES])
{
    snprintf(out, TEXT_NUMBER_BYTES, "%.2g", p);
}

static void text_deviation(double deviation, char out[TEXT_NUMBER_BYTES])
{
    snprintf(out, TEXT_NUMBER_BYTES, "%.2f%%", 100 * deviation);
}

#define OF(member) GRID_MEMBER(struct comparison_cell, member)

/* clang-format off */
#define CELL_COLUMNS_OF(interval) { \
    {.heading = "GPU", .value = value_gpu, .head = true}, \
    {.heading = "cell", .value = cell_value_identity, .head = true}, \
    {.heading = "base", .format = text_time, .value = grid_number, .of = OF(ns[BASE])}, \
    {.heading = "new", .format = text_time, .value = grid_number, .of = OF(ns[NEW])}, \
    {.heading = "change", .format = ratio_text, .value = grid_number, .of = OF(ratio.value)}, \
    {.heading = interval, .format = text_change, .value = value_interval}, \
    {.heading = "verdict", .value = value_verdict}, \
    {.heading = "p", .format = text_p, .value = grid_number, .of = OF(adjusted_p)}, \
    {.heading = "sd", .format = text_deviation, .value = grid_number, .of = OF(deviation.value)}, \
}

static const struct grid_column columns[] = CELL_COLUMNS_OF("95% CI"), look_columns[] = CELL_COLUMNS_OF("99% CI");
/* clang-format on */

static void change_note(const struct counter_change *change, char *out, size_t bytes)
{
    const double relative = change->new_value / change->base - 1;

    if (!isfinite(change->base) || !isfinite(change->new_value))
        snprintf(out, bytes, "%s was read on one side alone", change->name);
    else if (change->kind == COUNTER_EXACT || !isfinite(relative))
        snprintf(out, bytes, "%s %.17g -> %.17g", change->name, change->base, change->new_value);
    else
        snprintf(out, bytes, "%s %s (%.6g -> %.6g)", change->name, text_of(text_change, relative).text, change->base,
                 change->new_value);
}

/* How the code differs, as far as results hold it. */
static const char *code_note(const struct comparison_cell *cell, char *out, size_t bytes)
{
    static const char begin[] = "SASS differs: the code changed";

    if (!cell->sass_differs)
        return "";
    snprintf(out, bytes, "%s; how is not known: results before schema 2.2 do not hold it", begin);
    if (cell->code) {
        snprintf(out, bytes, "%s; ", begin);
        code_change_text(cell->code, out + strlen(out), bytes - strlen(out));
    }
    return out;
}

/* What would settle a cell that is inconclusive. */
static const char *settle_note(const struct comparison_cell *cell, char *out, size_t bytes)
{
    if (cell->verdict != VERDICT_INCONCLUSIVE)
        return "";
    if (cell->settle > 0)
        snprintf(out, bytes, "%" PRIu64 " processes %s would settle it", cell->settle, measured_names[cell->settle_of]);
    else
        snprintf(out, bytes, "%s",
                 !cell->has_deviation ? "too few samples to tell: take six or more in a process"
                 : cell->doubtful     ? "its time is flagged: see why, and measure again"
                                      : "too noisy to settle: raise --threshold");
    return out;
}

bool cell_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct comparison_cell *cell = row;
    char settle[128], code[512];
    const char *const texts[] = {code_note(cell, code, sizeof(code)), settle_note(cell, settle, sizeof(settle)),
                                 cell->note};

    if (index < cell->change_count) {
        change_note(&cell->changes[index], out, bytes);
        return true;
    }
    index -= cell->change_count;
    for (size_t i = 0; i < COUNT(texts); i++)
        if (texts[i][0] && index-- == 0) {
            snprintf(out, bytes, "%s", texts[i]);
            return true;
        }
    return false;
}

struct grid comparison_grid(const struct comparison *comparison, size_t first, size_t count)
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

void cell_line(const struct comparison_cell *cell, char line[LINE_BYTES])
{
    const struct ratio *ratio = &cell->ratio;

    snprintf(line, LINE_BYTES, "%s", verdict_rows[cell->verdict].name);
    if (!isfinite(ratio->value))
        return;
    add(line, ": %s (%s to %s), %s -> %s", text_of(ratio_text, ratio->value).text,
        text_of(text_change, ratio->ci_low - 1).text, text_of(text_change, ratio->ci_high - 1).text,
        text_of(text_time, cell->ns[BASE]).text, text_of(text_time, cell->ns[NEW]).text);
    if (!isnan(cell->adjusted_p))
        add(line, ", p %.2g", cell->adjusted_p);
    if (cell->has_deviation)
        add(line, ", process deviation %.2f%% (%s)", 100 * cell->deviation.value,
            deviation_origin_names[cell->deviation.origin]);
}
