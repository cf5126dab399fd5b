/* SPDX-License-Identifier: MIT
 * One cell, or each, for people: a section of facts each, and the table of its counters. */
#include <stdlib.h>

#include "cell_row.h"
#include "show_result.h"
#include "table.h"

static void value_reading(const struct grid_column *column, const void *row, struct grid_value *out)
{
    grid_number(column, row, out);
    out->style = counter_differs(row) ? GRID_BAD : GRID_PLAIN;
}

static void value_expected(const struct grid_column *column, const void *row,
                           struct grid_value *out)
{
    grid_optional(column, row, out);
    out->style = counter_differs(row) ? GRID_BAD : GRID_PLAIN;
}

#define MEMBER(name) .member = GRID_MEMBER(struct counter_value, name)
#define WORDS(name, words)                                                                         \
    .member = &(const struct grid_member)                                                          \
    {                                                                                              \
        .offset = offsetof(struct counter_value, name), .bytes = sizeof(int), .pointer = SIZE_MAX, \
        .names = words                                                                             \
    }

static const struct grid_column counter_columns[] = {
    {.key = "counter", .heading = "counter", .value = grid_text, MEMBER(name), .head = true},
    {.key = "value",
     .heading = "value",
     .format = text_count,
     .value = value_reading,
     MEMBER(value)},
    {.key = "expected",
     .heading = "expected",
     .format = text_count,
     .value = value_expected,
     MEMBER(expected)},
    {.key = "kind", .heading = "kind", .value = grid_name, WORDS(kind, counter_kind_names)},
    {.key = "status", .heading = "status", .value = grid_name, WORDS(status, counter_status_names)},
    {.key = "unit", .heading = "unit", .value = grid_text, MEMBER(unit)},
    {.key = "metric", .heading = "metric", .value = grid_text, MEMBER(metric)},
    {.key = "reason", .heading = "reason", .value = grid_text, MEMBER(reason), .below = true},
};

static const struct section {
    const char *title;
    enum cell_view view;
} sections[] = {{NULL, VIEW_TIME},
                {"code", VIEW_CODE},
                {"counts", VIEW_COUNTS},
                {"origin", VIEW_ORIGIN}};

enum status show_cells(FILE *stream, const struct result *result, const char *file,
                       const char *name)
{
    const struct print_style look = {.width = text_width(stream), .indent = 2};
    struct cell_rows rows;
    enum status status = cell_rows_open(result, file, name, &rows);

    for (size_t i = 0; status == STATUS_OK && i < rows.count; i++) {
        const struct cell_row *row = &rows.rows[i];
        const struct grid counted = {.title = "counters",
                                     GRID_COLUMNS(counter_columns),
                                     GRID_ROWS(row->found->counters, row->found->counter_count)};

        fprintf(stream, "%s%s%s\n", i ? "\n" : "", row->identity,
                result->modelled_time ? " (modelled)" : "");
        for (size_t s = 0; s < COUNT(sections); s++) {
            struct grid_column columns[CELL_ROW_COLUMNS_MAX];
            struct grid grid = cell_row_grid(row, 1, sections[s].view, columns);

            grid.title = sections[s].title;
            grid_print_records(stream, &grid, &look);
        }
        status = grid_print(stream, &counted, &look);
    }
    free(rows.rows);
    return status;
}
