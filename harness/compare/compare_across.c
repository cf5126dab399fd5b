/* SPDX-License-Identifier: MIT
 * Two GPUs beside each other: what differs between them, in time and in cycles. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare_report.h"
#include "log.h"
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
    {.heading = "cell", .value = grid_array, .of = OF(identity), .head = true},
    {.heading = "base",
     .group = "time",
     .format = text_time,
     .value = grid_number,
     .of = OF(ns[BASE])},
    {.heading = "new",
     .group = "time",
     .format = text_time,
     .value = grid_number,
     .of = OF(ns[NEW])},
    {.heading = "change",
     .group = "time",
     .format = text_change,
     .value = grid_number,
     .of = OF(time_change)},
    {.heading = "base",
     .group = "SM cycles",
     .format = text_count,
     .value = grid_number,
     .of = OF(cycles[BASE])},
    {.heading = "new",
     .group = "SM cycles",
     .format = text_count,
     .value = grid_number,
     .of = OF(cycles[NEW])},
    {.heading = "change",
     .group = "SM cycles",
     .format = text_change,
     .value = grid_number,
     .of = OF(cycles_change)},
    {.heading = "95% CI",
     .group = "both",
     .format = text_half_width,
     .value = grid_number,
     .of = OF(half_width)},
};

enum status compare_across(FILE *stream, const struct comparison *comparison, bool all,
                           const struct print_style *look)
{
    const struct text_wrap wrap = {.stream = stream, .width = look->width, .indent = 2};
    struct across *rows = calloc(comparison->cell_count + 1, sizeof(*rows));
    size_t count = 0, in_time = 0, in_cycles = 0, shown = 0;
    struct grid grid = {GRID_COLUMNS(columns), GRID_ROWS(rows, 0)};
    enum status status = rows ? STATUS_OK : log_memory("two GPUs beside each other");

    for (size_t i = 0; rows && i < comparison->cell_count; i++) {
        const struct comparison_cell *cell = &comparison->cells[i];
        const struct judged_cell *judged = &cell->judged;
        struct across row = {0};
        size_t at = shown; /* the greatest change comes first */
        bool time_differs, cycles_differ;

        if (!cell->timed || !isfinite(judged->ratio.value))
            continue;
        row = (struct across){.time_change = judged->ratio.value - 1, .half_width = judged->noise};
        cell_identity(&cell->cell, row.identity);
        for (size_t side = 0; side < SIDES; side++) {
            row.ns[side] = judged->sides[side].estimate.ns;
            row.cycles[side] = round(row.ns[side] * judged->sides[side].clock_mhz / 1000);
        }
        row.cycles_change =
            judged->ratio.value * judged->sides[NEW].clock_mhz / judged->sides[BASE].clock_mhz - 1;
        time_differs = !(fabs(row.time_change) <= row.half_width);
        cycles_differ = fabs(row.cycles_change) > row.half_width;
        count++;
        in_time += time_differs;
        in_cycles += cycles_differ;
        if (!all && !time_differs && !cycles_differ)
            continue;
        row.greatest = fmax(fabs(row.time_change), fabs(row.cycles_change));
        for (shown++; at > 0 && rows[at - 1].greatest < row.greatest; at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
    for (size_t i = 0; status == STATUS_OK && i < SIDES; i++) {
        const struct device_info *device = &comparison->sides[i]->identity.device;

        text_paragraph(wrap,
                       "%s: %s, compute capability %" PRIu32 ".%" PRIu32 ", %" PRIu32
                       " SMs, driver %s: %.600s",
                       i == BASE ? "BASE" : "NEW", device->name, device->cc_major, device->cc_minor,
                       device->sm_count, device->driver[0] ? device->driver : "unknown",
                       comparison->sides[i]->label);
    }
    if (status == STATUS_OK && shown > 0) {
        grid.row_count = shown;
        putc('\n', stream);
        status = grid_print(stream, &grid, look);
    }
    if (status == STATUS_OK)
        fputs(shown ? "\n" : "", stream);
    if (status == STATUS_OK)
        text_paragraph(wrap,
                       "%zu of %zu cells differ in time, %zu in cycles, by more than boards of one "
                       "model do%s.",
                       in_time, count, in_cycles,
                       shown < count ? "; --all lists the others, too" : "");
    free(rows);
    return status;
}
