/* SPDX-License-Identifier: MIT
 * Two GPUs beside each other: what differs between them, in time and in cycles. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "log.h"
#include "report.h"
#include "text_print.h"

/* A cell of both GPUs. Changes are relative, NEW to BASE; NaN where they are not known. */
struct across {
    char identity[CELL_IDENTITY_BYTES];
    double ns[SIDES], cycles[SIDES], time_change, cycles_change;
    double greatest;   /* of the two, without its sign */
    double half_width; /* of both changes, with what boards of a model differ by */
};

#define OF(member) GRID_MEMBER(struct across, member)

static const struct grid_column columns[] = {
    {.heading = "cell", .value = grid_array, .member = OF(identity), .head = true},
    {.heading = "base",
     .group = "time",
     .format = text_time,
     .value = grid_number,
     .member = OF(ns[BASE])},
    {.heading = "new",
     .group = "time",
     .format = text_time,
     .value = grid_number,
     .member = OF(ns[NEW])},
    {.heading = "change",
     .group = "time",
     .format = text_change,
     .value = grid_number,
     .member = OF(time_change)},
    {.heading = "base",
     .group = "SM cycles",
     .format = text_count,
     .value = grid_number,
     .member = OF(cycles[BASE])},
    {.heading = "new",
     .group = "SM cycles",
     .format = text_count,
     .value = grid_number,
     .member = OF(cycles[NEW])},
    {.heading = "change",
     .group = "SM cycles",
     .format = text_change,
     .value = grid_number,
     .member = OF(cycles_change)},
    {.heading = "95% CI",
     .group = "both",
     .format = text_half_width,
     .value = grid_number,
     .member = OF(half_width)},
};

/* Beyond what boards of a model differ by. */
static bool time_differs(const struct across *row)
{
    return !(fabs(row->time_change) <= row->half_width);
}

static bool cycles_differ(const struct across *row)
{
    return fabs(row->cycles_change) > row->half_width;
}

static struct across row_of(const struct comparison_cell *cell)
{
    const struct judged_cell *judged = &cell->judged;
    struct across row = {.time_change = judged->ratio.value - 1, .half_width = judged->noise};

    cell_identity(&cell->cell, row.identity);
    for (size_t side = 0; side < SIDES; side++) {
        row.ns[side] = judged->sides[side].estimate.ns;
        row.cycles[side] = round(row.ns[side] * judged->sides[side].clock_mhz / 1000);
    }
    row.cycles_change =
        judged->ratio.value * judged->sides[NEW].clock_mhz / judged->sides[BASE].clock_mhz - 1;
    row.greatest = fmax(fabs(row.time_change), fabs(row.cycles_change));
    return row;
}

/* Cells of both GPUs, and how many of them differ. */
struct counts {
    size_t cells, in_time, in_cycles, shown;
};

/* Fills the rows that are shown, the greatest change first. */
static struct counts fill_rows(const struct comparison *comparison, bool all, struct across *rows)
{
    struct counts counts = {0};

    for (size_t i = 0; i < comparison->cell_count; i++) {
        const struct comparison_cell *cell = &comparison->cells[i];
        struct across row;
        size_t place = counts.shown;

        if (!cell->timed || !isfinite(cell->judged.ratio.value))
            continue;
        row = row_of(cell);
        counts.cells++;
        counts.in_time += time_differs(&row);
        counts.in_cycles += cycles_differ(&row);
        if (!all && !time_differs(&row) && !cycles_differ(&row))
            continue;
        for (counts.shown++; place > 0 && rows[place - 1].greatest < row.greatest; place--)
            rows[place] = rows[place - 1];
        rows[place] = row;
    }
    return counts;
}

static void print_side(struct text_wrap wrap, const char *name, const struct side *side)
{
    const struct device_info *device = &side->identity.device;

    text_paragraph(wrap,
                   "%s: %s, compute capability %" PRIu32 ".%" PRIu32 ", %" PRIu32
                   " SMs, driver %s: %.600s",
                   name, device->name, device->cc_major, device->cc_minor, device->sm_count,
                   device->driver[0] ? device->driver : "unknown", side->label);
}

static enum status write_across(FILE *stream, const struct comparison *comparison,
                                const struct report_view *view)
{
    const struct text_wrap wrap = {.stream = stream, .width = view->look.width, .indent = 2};
    struct across *rows = calloc(comparison->cell_count + 1, sizeof(*rows));
    struct grid grid = {GRID_COLUMNS(columns), GRID_ROWS(rows, 0)};
    struct counts counts;
    enum status status = STATUS_OK;

    if (!rows)
        return log_memory("two GPUs beside each other");
    counts = fill_rows(comparison, view->all, rows);
    print_side(wrap, "BASE", comparison->sides[BASE]);
    print_side(wrap, "NEW", comparison->sides[NEW]);
    if (counts.shown > 0) {
        grid.row_count = counts.shown;
        putc('\n', stream);
        status = grid_print(stream, &grid, &view->look);
        fputs(status == STATUS_OK ? "\n" : "", stream);
    }
    if (status == STATUS_OK)
        text_paragraph(wrap,
                       "%zu of %zu cells differ in time, %zu in cycles, by more than boards of one "
                       "model do%s.",
                       counts.in_time, counts.cells, counts.in_cycles,
                       counts.shown < counts.cells ? "; --all lists the others, too" : "");
    free(rows);
    return status;
}

const struct report_format report_across = {.write = write_across};
