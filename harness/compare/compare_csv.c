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
    const struct comparison_cell *cell;
    const char *verdict, *quantity, *kind;
    double base, new_value;
    struct ratio ratio; /* NaN but for value, where the row is of a counter; so are the next two */
    double adjusted_p, noise;
};

#define OF(member)      GRID_MEMBER(struct csv_row, member)
#define OF_CELL(member) GRID_BEHIND(struct csv_row, cell, struct comparison_cell, member)

/* clang-format off */
static const struct grid_column own_columns[] = {
    {.key = "verdict", .value = grid_text, .of = OF(verdict)},
    {.key = "quantity", .value = grid_text, .of = OF(quantity)},
    {.key = "kind", .value = grid_text, .of = OF(kind)},
    {.key = "base", .format = text_count, .value = grid_number, .of = OF(base)},
    {.key = "new", .format = text_count, .value = grid_number, .of = OF(new_value)},
    {.key = "ratio", .format = text_count, .value = grid_number, .of = OF(ratio.value)},
    {.key = "ci_low", .format = text_count, .value = grid_number, .of = OF(ratio.ci_low)},
    {.key = "ci_high", .format = text_count, .value = grid_number, .of = OF(ratio.ci_high)},
    {.key = "p", .format = text_count, .value = grid_number, .of = OF(ratio.p)},
    {.key = "adjusted_p", .format = text_count, .value = grid_number, .of = OF(adjusted_p)},
    {.key = "noise", .format = text_count, .value = grid_number, .of = OF(noise)},
    {.key = "underpowered", .value = grid_bool, .of = OF_CELL(underpowered)},
    {.key = "sass_differs", .value = grid_bool, .of = OF_CELL(sass_differs)},
    {.key = "note", .value = grid_array, .of = OF_CELL(note)},
    {.key = "same_data", .value = grid_bool, .of = OF_CELL(same_data)},
};
/* clang-format on */

enum { OWN_COLUMNS = sizeof(own_columns) / sizeof(own_columns[0]) };

static struct csv_row time_row(const struct comparison_cell *cell)
{
    return (struct csv_row){&cell->cell,  cell,        verdict_rows[cell->verdict].name,
                            "time_ns",    "time",      cell->base_ns,
                            cell->new_ns, cell->ratio, cell->adjusted_p,
                            cell->noise};
}

static struct csv_row change_row(const struct comparison_cell *cell, const struct counter_change *change)
{
    struct csv_row row = time_row(cell);

    row.quantity = change->name;
    row.kind = counter_kind_names[change->kind];
    row.base = change->base;
    row.new_value = change->new_value;
    row.ratio = (struct ratio){.value = change->new_value / change->base, .ci_low = NAN, .ci_high = NAN, .p = NAN};
    row.adjusted_p = row.noise = NAN;
    return row;
}

enum status compare_csv(FILE *stream, const struct comparison *comparison)
{
    struct grid_column columns[CELL_COLUMN_COUNT + OWN_COLUMNS];
    struct grid grid = {.columns = columns,
                        .column_count = CELL_COLUMN_COUNT + OWN_COLUMNS,
                        .row_bytes = sizeof(struct csv_row)};
    size_t room = comparison->cell_count + 1;
    struct csv_row *rows;

    for (size_t i = 0; i < comparison->cell_count; i++)
        room += comparison->cells[i].change_count;
    rows = malloc(room * sizeof(*rows));
    if (!rows)
        return log_error(STATUS_ENVIRONMENT, "out of memory for a report");
    for (const struct comparison_cell *cell = comparison->cells; cell < comparison->cells + comparison->cell_count;
         cell++) {
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
