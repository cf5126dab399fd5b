/* SPDX-License-Identifier: MIT
 * Single cells: as rows of CSV, and with all known facts. */
#include <stdlib.h>
#include <string.h>

#include "cell_row.h"
#include "show.h"
#include "text_print.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { INDENT = 2 };

enum status show_csv(FILE *stream, const struct result *result, const char *file, const char *name,
                     const struct grid *like)
{
    struct grid_column columns[CELL_ROW_COLUMNS_MAX];
    struct cell_rows rows;
    const enum status status = cell_rows_open(result, file, name, &rows);
    struct grid grid = cell_row_grid(rows.rows, rows.count, VIEW_CELLS, columns);

    grid.continued = like->continued;
    grid.raw = like->raw;
    if (status == STATUS_OK)
        grid_print_csv(stream, &grid);
    free(rows.rows);
    return status;
}

/* -- counters ------------------------------------------------------------------------------------------ */

static void value_quantity(const struct grid_column *column, const void *row, struct grid_value *out)
{
    grid_number(column, row, out);
    out->style = counter_differs(row) ? GRID_BAD : GRID_PLAIN;
}

static void value_status(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct counter_value *value = row;

    (void)column;
    snprintf(out->room, sizeof(out->room), "%s %s", counter_kind_names[value->kind],
             counter_status_names[value->status]);
    out->text = out->room;
}

static bool note_reason(const void *row, size_t index, char *out, size_t bytes)
{
    const char *reason = index == 0 ? ((const struct counter_value *)row)->reason : NULL;

    snprintf(out, bytes, "%s", reason ? reason : "");
    return reason;
}

/* clang-format off */
#define MEMBER(name) .of = GRID_MEMBER(struct counter_value, name)

static const struct grid_column counter_columns[] = {
    {.key = "counter", .heading = "counter", .value = grid_text, MEMBER(name), .head = true},
    {.key = "value", .heading = "value", .format = text_count, .value = value_quantity, MEMBER(value)},
    {.key = "expected", .heading = "expected", .format = text_count, .value = value_quantity, MEMBER(expected)},
    {.key = "status", .heading = "status", .value = value_status},
    {.key = "unit", .heading = "unit", .value = grid_text, MEMBER(unit)},
    {.key = "metric", .heading = "metric", .value = grid_text, MEMBER(metric)},
};
/* clang-format on */

/* -- all of it ----------------------------------------------------------------------------------------- */

static const struct section {
    const char *title;
    enum cell_view view;
} sections[] = {{NULL, VIEW_TIME}, {"code", VIEW_CODE}, {"counts", VIEW_COUNTS}, {"origin", VIEW_ORIGIN}};

/* The name of a cell. A name wider than the terminal continues on the next line, after a slash. */
static void print_name(FILE *stream, const struct cell_row *row, size_t width)
{
    char name[CELL_IDENTITY_BYTES + 16];
    const char *rest = name;

    snprintf(name, sizeof(name), "%s%s", row->identity, row->result->modelled_time ? " (modelled)" : "");
    while (strlen(rest) > width) {
        size_t end = width;

        while (end > 0 && rest[end - 1] != '/')
            end--;
        end = end > 0 ? end : width;
        fprintf(stream, "%.*s\n", (int)end, rest);
        rest += end;
    }
    fprintf(stream, "%s\n", rest);
}

static enum status print_cell(FILE *stream, const struct cell_row *row)
{
    const struct print_style look = {.width = text_width(stream), .indent = INDENT};
    const struct grid counters = {.title = "counters",
                                  .columns = counter_columns,
                                  .column_count = COUNT(counter_columns),
                                  .rows = row->found->counters,
                                  .row_count = row->found->counter_count,
                                  .row_bytes = sizeof(*row->found->counters),
                                  .note = note_reason};

    print_name(stream, row, (size_t)look.width);
    for (size_t i = 0; i < COUNT(sections); i++) {
        struct grid_column columns[CELL_ROW_COLUMNS_MAX];
        struct grid grid = cell_row_grid(row, 1, sections[i].view, columns);

        grid.title = sections[i].title;
        grid_print_records(stream, &grid, &look);
    }
    return grid_print(stream, &counters, &look);
}

enum status show_cells(FILE *stream, const struct result *result, const char *file, const char *name)
{
    struct cell_rows rows;
    enum status status = cell_rows_open(result, file, name, &rows);

    for (size_t i = 0; status == STATUS_OK && i < rows.count; i++) {
        fputs(i ? "\n" : "", stream);
        status = print_cell(stream, &rows.rows[i]);
    }
    free(rows.rows);
    return status;
}
