/* SPDX-License-Identifier: MIT
 * Tidy CSV: a row for the time of a cell, and one for each counter of it that moved. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cell_json.h"
#include "compare_report.h"
#include "log.h"

struct csv_row {
    const struct cell *identity; /* the first member, as cell_columns take it */
    struct comparison_cell cell; /* in the row of a counter with its values, and NaN for what it has not */
    const char *verdict, *quantity, *kind, *origin; /* origin NULL: no deviation */
    double settle;
    char code[512]; /* how it differs; "" it does not, or that is not known */
    const char *uuid;
};

#define OF(member)      GRID_MEMBER(struct csv_row, member)
#define OF_CELL(member) GRID_MEMBER(struct csv_row, cell.member)

/* clang-format off */
static const struct grid_column own_columns[] = {
    {.key = "verdict", .value = grid_text, .of = OF(verdict)},
    {.key = "quantity", .value = grid_text, .of = OF(quantity)},
    {.key = "kind", .value = grid_text, .of = OF(kind)},
    {.key = "base", .format = text_count, .value = grid_number, .of = OF_CELL(ns[BASE])},
    {.key = "new", .format = text_count, .value = grid_number, .of = OF_CELL(ns[NEW])},
    {.key = "ratio", .format = text_count, .value = grid_number, .of = OF_CELL(ratio.value)},
    {.key = "ci_low", .format = text_count, .value = grid_number, .of = OF_CELL(ratio.ci_low)},
    {.key = "ci_high", .format = text_count, .value = grid_number, .of = OF_CELL(ratio.ci_high)},
    {.key = "p", .format = text_count, .value = grid_number, .of = OF_CELL(ratio.p)},
    {.key = "adjusted_p", .format = text_count, .value = grid_number, .of = OF_CELL(adjusted_p)},
    {.key = "noise", .format = text_count, .value = grid_number, .of = OF_CELL(noise)},
    {.key = "underpowered", .value = grid_bool, .of = OF_CELL(underpowered)},
    {.key = "sass_differs", .value = grid_bool, .of = OF_CELL(sass_differs)},
    {.key = "note", .value = grid_array, .of = OF_CELL(note)},
    {.key = "same_data", .value = grid_bool, .of = OF_CELL(same_data)},
    {.key = "process_deviation", .format = text_count, .value = grid_number, .of = OF_CELL(deviation.value)},
    {.key = "degrees_of_freedom", .format = text_count, .value = grid_number, .of = OF_CELL(deviation.degrees)},
    {.key = "deviation_origin", .value = grid_text, .of = OF(origin)},
    {.key = "processes_to_settle", .format = text_count, .value = grid_number, .of = OF(settle)},
    {.key = "code", .value = grid_array, .of = OF(code)},
    {.key = "uuid", .value = grid_text, .of = OF(uuid)},
    {.key = "clock_ratio", .format = text_count, .value = grid_number, .of = OF_CELL(clock_ratio)},
};
/* clang-format on */

enum { OWN_COLUMNS = sizeof(own_columns) / sizeof(own_columns[0]) };

/* Of the GPU; NULL where it is not known. */
static const char *uuid_of(const struct comparison_cell *cell)
{
    const char *uuid = gpu_identity(cell->gpu)->device.uuid;

    return *uuid ? uuid : NULL;
}

static struct csv_row row_of(const struct comparison_cell *cell, const char *quantity, const char *kind)
{
    return (struct csv_row){.identity = &cell->cell,
                            .cell = *cell,
                            .verdict = verdict_rows[cell->verdict].name,
                            .quantity = quantity,
                            .kind = kind,
                            .settle = NAN,
                            .uuid = uuid_of(cell)};
}

static struct csv_row time_row(const struct comparison_cell *cell)
{
    struct csv_row row = row_of(cell, "time_ns", "time");

    if (cell->code)
        code_change_text(cell->code, row.code, sizeof(row.code));
    if (cell->has_deviation)
        row.origin = deviation_origin_names[cell->deviation.origin];
    if (cell->settle > 0)
        row.settle = (double)cell->settle;
    return row;
}

static struct csv_row change_row(const struct comparison_cell *cell, const struct counter_change *change)
{
    struct csv_row row = row_of(cell, change->name, counter_kind_names[change->kind]);

    row.cell.ns[BASE] = change->base;
    row.cell.ns[NEW] = change->new_value;
    row.cell.ratio = (struct ratio){.value = change->new_value / change->base, .ci_low = NAN, .ci_high = NAN, .p = NAN};
    row.cell.adjusted_p = row.cell.noise = row.cell.clock_ratio = NAN;
    row.cell.deviation = no_deviation;
    return row;
}

enum status compare_csv(FILE *stream, const void *compared)
{
    const struct comparison *comparison = compared;
    const struct comparison_cell *end = comparison->cells + comparison->cell_count;
    struct grid_column columns[CELL_COLUMN_COUNT + OWN_COLUMNS];
    struct grid grid = {.columns = columns,
                        .column_count = CELL_COLUMN_COUNT + OWN_COLUMNS,
                        .row_bytes = sizeof(struct csv_row),
                        .raw = comparison->options.raw};
    size_t room = comparison->cell_count + 1;
    struct csv_row *rows;

    for (const struct comparison_cell *cell = comparison->cells; cell < end; cell++)
        room += cell->change_count;
    rows = malloc(room * sizeof(*rows));
    if (!rows)
        return log_memory("a report");
    for (const struct comparison_cell *cell = comparison->cells; cell < end; cell++) {
        rows[grid.row_count++] = time_row(cell);
        for (size_t i = 0; i < cell->change_count; i++)
            rows[grid.row_count++] = change_row(cell, &cell->changes[i]);
    }
    memcpy(columns, cell_columns, sizeof(cell_columns));
    memcpy(columns + CELL_COLUMN_COUNT, own_columns, sizeof(own_columns));
    grid.rows = rows;
    grid_print_csv(stream, &grid);
    free(rows);
    return STATUS_OK;
}
