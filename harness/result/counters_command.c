/* SPDX-License-Identifier: MIT
 * `cbank counters`: the counters of cells, one a line, with what was expected. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cell_row.h"
#include "command.h"
#include "log.h"

struct counters_options {
    const char *cell; /* NULL: all */
    struct format_options format;
    struct output_options look;
};

static const struct option_row option_rows[] = {
    {.name = "cell",
     .topic = TOPIC_VIEW,
     .argument = "CELL",
     .help = "the cell with this identity, or the cells of a glob",
     .kind = &option_text,
     .offset = offsetof(struct counters_options, cell)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(option_rows, 0),
    OPTION_GROUP(format_option_rows, offsetof(struct counters_options, format)),
    OPTION_GROUP(output_option_rows, offsetof(struct counters_options, look)),
};

static void value_counter(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct cell_result *found = ((const struct cell_row *)row)->found;
    const struct counter_value *counter =
        counter_find(found->counters, found->counter_count, column->key);
    char mark = ' ';

    out->text = "- ";
    if (!counter || counter->status != COUNTER_OK)
        return;
    if (counter->kind == COUNTER_EXACT && isfinite(counter->expected))
        mark = counter_differs(counter) ? '!' : '=';
    out->number = counter->value;
    snprintf(out->room, sizeof(out->room), "%.*f%c",
             counter->value == floor(counter->value) || fabs(counter->value) >= 1000 ? 0 : 2,
             counter->value, mark);
    out->text = out->room;
    out->style = mark == '!' ? GRID_BAD : GRID_PLAIN;
}

static enum status counters_of(const void *parsed, const struct invocation *invocation)
{
    const struct counters_options *options = parsed;
    const char *file = invocation->arguments[0];
    const bool text = !options->format.csv && !options->format.json;
    const size_t asked = invocation->argument_count - 1;
    const struct print_style look = output_style(&options->look);
    struct cell_rows rows = {0};
    struct grid_column *columns = NULL;
    struct result result = {0};
    struct grid grid = {.row_bytes = sizeof(*rows.rows)};
    const char **names = NULL; /* of the counters of all cells, each once */
    size_t name_count = 0, room = 1;
    enum status status = format_check(&options->format);

    if (status == STATUS_OK)
        status = result_read(file, &result);
    if (status == STATUS_OK)
        status = cell_rows_open(&result, file, options->cell, &rows);
    if (status != STATUS_OK)
        goto out;
    for (size_t i = 0; i < result.cell_count; i++)
        room += result.cells[i].counter_count;
    names = calloc(room, sizeof(*names));
    columns = calloc(CELL_ROW_COLUMNS_MAX + room + asked, sizeof(*columns));
    if (!names || !columns) {
        status = log_memory("the columns of counters");
        goto out;
    }

    const struct table table = TABLE("counter", names, name_count);

    for (size_t i = 0; i < result.cell_count; i++)
        for (size_t k = 0; k < result.cells[i].counter_count; k++)
            if (!table_find(&table, result.cells[i].counters[k].name))
                names[name_count++] = result.cells[i].counters[k].name;
    grid.column_count = cell_row_columns(text ? VIEW_NAME : VIEW_COUNTERS, columns);
    for (size_t i = 0; status == STATUS_OK && i < (asked ? asked : name_count); i++) {
        const char *name = asked ? invocation->arguments[1 + i] : names[i];

        columns[grid.column_count++] = (struct grid_column){.key = name,
                                                            .heading = name,
                                                            .format = text_count,
                                                            .value = value_counter};
        if (!table_find(&table, name))
            status = table_unknown(&table, name);
    }
    grid.columns = columns;
    grid.rows = rows.rows;
    grid.row_count = rows.count;
    if (status == STATUS_OK && options->format.json) {
        status = json_put_owned(stdout, grid_to_json(&grid));
    } else if (status == STATUS_OK && options->format.csv) {
        grid_print_csv(stdout, &grid);
    } else if (status == STATUS_OK) {
        if (result.modelled_time)
            puts("modelled: nothing was measured");
        status = grid_print(stdout, &grid, &look);
    }
out:
    free(names);
    free(rows.rows);
    free(columns);
    result_close(&result);
    return status;
}

const struct command counters_command = {
    .name = "counters",
    .summary = "Print counters of a result, of one launch",
    .arguments = "FILE [COUNTER...]",
    .arguments_min = 1,
    .arguments_max = 1000,
    OPTION_GROUPS(groups),
    .options_bytes = sizeof(struct counters_options),
    .details = "Without names: all counters of the result. An exact counter is followed by = where "
               "it is as expected and\n"
               "by ! where it is not; \"-\" stands for a counter that was not read.",
    .run = counters_of,
};
