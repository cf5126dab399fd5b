/* SPDX-License-Identifier: MIT
 * The cells of a comparison as a grid: a line for each, with its notes below. */
#include <math.h>
#include <string.h>

#include "report_words.h"
#include "text.h"

void change_text(double ratio, char out[TEXT_NUMBER_BYTES])
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
    snprintf(out->room, sizeof(out->room), "%s to %s", text_of(change_text, ratio->ci_low).text,
             text_of(change_text, ratio->ci_high).text);
    out->text = out->room;
}

/* A share as whole percent. */
static void share_text(double share, char out[TEXT_NUMBER_BYTES])
{
    snprintf(out, TEXT_NUMBER_BYTES, "%.0f%%", 100 * share);
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

bool cell_note(const void *compared, size_t index, char *out, size_t bytes)
{
    const struct comparison_cell *cell = compared;
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
    if (verdict_rows[cell->verdict].status == STATUS_INCONCLUSIVE && index-- == 0) {
        snprintf(out, bytes, "%s",
                 cell->verdict == VERDICT_CONTENDED
                     ? "another process used the GPU: measure again alone"
                 : judged->held
                     ? "beyond the threshold, and flagged (exit 4): see why, and measure again"
                 : judged->withheld
                     ? "beyond the threshold by the widest noise known (exit 4): its own is not "
                       "known; measure three processes a side"
                 : judged_noise_unknown(judged)
                     ? "nothing was measured of its noise: measure three processes a side"
                 : judged->settle > 0     ? "more processes would settle it"
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
     .member = GRID_BEHIND(struct comparison_cell, gpu, struct compared_gpu, name),
     .head = true},
    {.heading = "cell", .value = value_cell, .head = true},
    {.heading = "base",
     .format = text_time,
     .value = grid_number,
     .member = OF(judged.sides[BASE].estimate.ns)},
    {.heading = "new",
     .format = text_time,
     .value = grid_number,
     .member = OF(judged.sides[NEW].estimate.ns)},
    {.heading = "change",
     .format = change_text,
     .value = grid_number,
     .member = OF(judged.ratio.value)},
    {.heading = "interval", .format = text_change, .value = value_interval},
    {.heading = "assumed",
     .format = share_text,
     .value = grid_number,
     .member = OF(judged.assumed)},
    {.heading = "verdict", .value = value_verdict},
};

struct grid comparison_grid(const struct comparison *comparison, bool all)
{
    const size_t first = comparison->gpu_count != 1 ? 0 : 1;
    struct grid grid = {
        .columns = columns + first,
        .column_count = sizeof(columns) / sizeof(columns[0]) - first,
        GRID_ROWS(comparison->cells, all ? comparison->unlisted : 0),
        .note = cell_note,
    };

    for (size_t i = 0; i < comparison->cell_count; i++)
        grid.row_count += comparison->cells[i].listed;
    if (!comparison->comparable)
        grid.row_count = 0;
    return grid;
}
