/* SPDX-License-Identifier: MIT */
#include "compare_lines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cell_json.h"
#include "text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { SASS_CELLS_MAX = 10 }; /* that are named where SASS differs */

const struct aspect aspects[VERDICT_INVALID + 1] = {
    {VERDICT_REGRESSED, OUTCOME_FAILED, GRID_BAD}, {VERDICT_MISSING, OUTCOME_FAILED, GRID_BAD},
    {VERDICT_INVALID, OUTCOME_FAILED, GRID_BAD},   {VERDICT_INCONCLUSIVE, OUTCOME_SKIPPED, GRID_DOUBT},
    {VERDICT_NEW, OUTCOME_SKIPPED, GRID_DOUBT},    {VERDICT_IMPROVED, OUTCOME_PASSED, GRID_GOOD},
    {VERDICT_SAME, OUTCOME_PASSED, GRID_PLAIN},
};

const struct aspect *aspect_of(enum verdict verdict)
{
    size_t i = 0;

    while (aspects[i].verdict != verdict)
        i++;
    return &aspects[i];
}

/* -- sentences ---------------------------------------------------------------------------------------- */

#define add(line, ...) text_join(line, LINE_BYTES, "", __VA_ARGS__)

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

void summary_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const char *separator = ": ";

    snprintf(line, LINE_BYTES, "%s", outcome_text(comparison));
    for (size_t i = 0; i < comparison->difference_count; i++)
        if (!comparison->differences[i].allowed)
            add(line, ", %s differs", comparison->differences[i].facet->name);
    if (!comparison->comparable && comparison_common(comparison) == 0)
        add(line, ", no cell in common");
    for (size_t i = 0; i < COUNT(aspects); i++) {
        const enum verdict verdict = aspects[i].verdict;

        if (comparison->counts[verdict] == 0)
            continue;
        add(line, "%s%zu %s", separator, comparison->counts[verdict], verdict_rows[verdict].name);
        separator = ", ";
    }
    add(line, "%s of %zu cell%s (threshold %.4g %%)", comparison->cell_count ? "" : ": none", comparison->cell_count,
        plural(comparison->cell_count), 100 * comparison->options.threshold);
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

/* Whether the kernels' code changed, and what follows from it; nothing where the sides have no cell in common. */
static void code_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const char *base = comparison->base->identity.device.driver, *driver = comparison->new_side->identity.device.driver;

    sass_line(comparison, line);
    if (line[0] || comparison_common(comparison) == 0)
        return;
    if (!sass_known(comparison->base) || !sass_known(comparison->new_side))
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

/* To how many cells the calibration applies; nothing without one. */
static void calibration_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const struct calibration *calibration = comparison->options.calibration;
    size_t count = 0;

    for (size_t i = 0; i < comparison->cell_count; i++)
        count += !isnan(comparison->cells[i].noise);
    if (calibration)
        add(line, "the noise of %zu of %zu cells is calibrated, over %u %sprocesses", count,
            comparison_common(comparison), calibration->processes, calibration->modelled ? "modelled " : "");
}

bool context_line(const struct comparison *comparison, size_t index, char line[LINE_BYTES])
{
    static void (*const lines[])(const struct comparison *, char *) = {code_line, data_line, calibration_line};

    if (index < comparison->difference_count) {
        difference_line(&comparison->differences[index], line);
        return true;
    }
    index -= comparison->difference_count;
    for (size_t i = 0; i < COUNT(lines); i++) {
        line[0] = '\0';
        lines[i](comparison, line);
        if (line[0] && index-- == 0)
            return true;
    }
    return false;
}

void same_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const size_t count = comparison->counts[VERDICT_SAME];
    char from[TEXT_NUMBER_BYTES], to[TEXT_NUMBER_BYTES];
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < comparison->cell_count; i++)
        if (comparison->cells[i].verdict == VERDICT_SAME) {
            low = fmin(low, comparison->cells[i].ratio.value);
            high = fmax(high, comparison->cells[i].ratio.value);
        }
    text_change(low - 1, from);
    text_change(high - 1, to);
    snprintf(line, LINE_BYTES, "%zu cell%s the same", count, count == 1 ? " is" : "s are");
    if (low <= high)
        add(line, ": %s", from);
    if (low < high)
        add(line, " to %s", to);
}

/* -- the grid of cells --------------------------------------------------------------------------------- */

static const struct comparison_cell *cell_at(const void *row)
{
    return row;
}

static void value_change(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->number = cell_at(row)->ratio.value - 1;
}

static void value_interval(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct ratio *ratio = &cell_at(row)->ratio;
    char low[TEXT_NUMBER_BYTES], high[TEXT_NUMBER_BYTES];

    (void)column;
    if (!isfinite(ratio->ci_low) || !isfinite(ratio->ci_high))
        return;
    text_change(ratio->ci_low - 1, low);
    text_change(ratio->ci_high - 1, high);
    snprintf(out->room, sizeof(out->room), "%s to %s", low, high);
    out->text = out->room;
}

static void value_verdict(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->text = verdict_rows[cell_at(row)->verdict].name;
    out->style = aspect_of(cell_at(row)->verdict)->style;
}

static void text_p(double p, char out[TEXT_NUMBER_BYTES])
{
    snprintf(out, TEXT_NUMBER_BYTES, "%.2g", p);
}

static void text_noise(double noise, char out[TEXT_NUMBER_BYTES])
{
    snprintf(out, TEXT_NUMBER_BYTES, "%.2f%%", 100 * noise);
}

#define OF(member) GRID_MEMBER(struct comparison_cell, member)

/* clang-format off */
static const struct grid_column columns[] = {
    {.heading = "cell", .value = cell_value_identity, .head = true},
    {.heading = "base", .format = text_time, .value = grid_number, .of = OF(base_ns)},
    {.heading = "new", .format = text_time, .value = grid_number, .of = OF(new_ns)},
    {.heading = "change", .format = text_change, .value = value_change},
    {.heading = "95% CI", .format = text_change, .value = value_interval},
    {.heading = "verdict", .value = value_verdict},
    {.heading = "p", .format = text_p, .value = grid_number, .of = OF(adjusted_p)},
    {.heading = "noise", .format = text_noise, .value = grid_number, .of = OF(noise)},
};
/* clang-format on */

static void change_note(const struct counter_change *change, char *out, size_t bytes)
{
    const double relative = change->new_value / change->base - 1;
    char percent[TEXT_NUMBER_BYTES];

    text_change(relative, percent);
    if (!isfinite(change->base) || !isfinite(change->new_value))
        snprintf(out, bytes, "%s was read on one side alone", change->name);
    else if (change->kind == COUNTER_EXACT || !isfinite(relative))
        snprintf(out, bytes, "%s %.17g -> %.17g", change->name, change->base, change->new_value);
    else
        snprintf(out, bytes, "%s %s (%.6g -> %.6g)", change->name, percent, change->base, change->new_value);
}

bool cell_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct comparison_cell *cell = row;
    const char *texts[3];
    size_t count = 0;

    if (index < cell->change_count) {
        change_note(&cell->changes[index], out, bytes);
        return true;
    }
    if (cell->sass_differs)
        texts[count++] = "SASS differs: the code changed";
    /* What was found all the same needs no more samples. */
    if (cell->underpowered && cell->verdict == VERDICT_INCONCLUSIVE)
        texts[count++] = "too few samples to tell: take more processes or more samples";
    if (cell->note[0])
        texts[count++] = cell->note;
    if (index - cell->change_count >= count)
        return false;
    snprintf(out, bytes, "%s", texts[index - cell->change_count]);
    return true;
}

struct grid comparison_grid(const struct comparison_cell *cells, size_t count)
{
    return (struct grid){
        .columns = columns,
        .column_count = COUNT(columns),
        .rows = cells,
        .row_count = count,
        .row_bytes = sizeof(*cells),
        .note = cell_note,
        .stacked = true,
    };
}

void cell_line(const struct comparison_cell *cell, char line[LINE_BYTES])
{
    char change[TEXT_NUMBER_BYTES], low[TEXT_NUMBER_BYTES], high[TEXT_NUMBER_BYTES];
    char base[TEXT_NUMBER_BYTES], new_text[TEXT_NUMBER_BYTES];

    snprintf(line, LINE_BYTES, "%s", verdict_rows[cell->verdict].name);
    if (!isfinite(cell->ratio.value))
        return;
    text_change(cell->ratio.value - 1, change);
    text_change(cell->ratio.ci_low - 1, low);
    text_change(cell->ratio.ci_high - 1, high);
    text_time(cell->base_ns, base);
    text_time(cell->new_ns, new_text);
    add(line, ": %s (%s to %s), %s -> %s, p %.2g", change, low, high, base, new_text, cell->adjusted_p);
}
