/* SPDX-License-Identifier: MIT
 * Counters of a result: a row for each cell, and a column for each counter. */
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
    if (counter->kind == COUNTER_EXACT && counter->expected.known)
        mark = counter_differs(counter) ? '!' : '=';
    out->number = counter->value;
    snprintf(out->room, sizeof(out->room), "%.*f%c",
             counter->value == floor(counter->value) || fabs(counter->value) >= 1000 ? 0 : 2,
             counter->value, mark);
    out->text = out->room;
    out->style = mark == '!' ? GRID_BAD : GRID_PLAIN;
}

/* The counters of all cells, each once. Sets *count; the caller frees them. NULL, logged, when out
 * of memory. */
static const char **counter_names_of(const struct result *result, size_t *count)
{
    size_t room = 1; /* one more than needed: calloc may return NULL for none */
    const char **names;

    for (size_t i = 0; i < result->cell_count; i++)
        room += result->cells[i].counter_count;
    names = calloc(room, sizeof(*names));
    *count = 0;
    if (!names) {
        log_memory("the names of counters");
        return NULL;
    }

    const struct table table = TABLE("counter", names, *count);

    for (size_t i = 0; i < result->cell_count; i++)
        for (size_t k = 0; k < result->cells[i].counter_count; k++)
            if (!table_find(&table, result->cells[i].counters[k].name))
                names[(*count)++] = result->cells[i].counters[k].name;
    return names;
}

/* The column of each counter that was asked for, or of all. STATUS_USAGE, logged, for one that the
 * result has not. */
static enum status counter_columns(const struct table *known, char *const *asked,
                                   size_t asked_count, struct grid_column *columns, size_t *count)
{
    for (size_t i = 0; i < (asked_count ? asked_count : *known->count); i++) {
        const char *name = asked_count ? asked[i] : *(const char *const *)table_row(known, i);

        if (!table_find(known, name))
            return table_unknown(known, name);
        columns[(*count)++] = (struct grid_column){.key = name,
                                                   .heading = name,
                                                   .format = text_count,
                                                   .value = value_counter};
    }
    return STATUS_OK;
}

/* Prints the counters of cells. */
static enum status print_counters(const struct result *result, const struct cell_rows *rows,
                                  const struct counters_options *options, size_t format,
                                  char *const *asked, size_t asked_count)
{
    const bool text = format == GRID_FORMAT_COUNT;
    const struct print_style look = output_style(&options->look);
    struct grid grid = {GRID_ROWS(rows->rows, rows->count)};
    struct grid_column *columns = NULL;
    size_t name_count;
    const char **names = counter_names_of(result, &name_count);
    enum status status = STATUS_ENVIRONMENT;

    if (!names)
        return status;

    const struct table known = TABLE("counter", names, name_count);

    columns = calloc(CELL_ROW_COLUMNS_MAX + name_count + asked_count, sizeof(*columns));
    if (!columns) {
        status = log_memory("the columns of counters");
        goto out;
    }
    grid.columns = columns;
    grid.column_count = cell_row_columns(text ? VIEW_NAME : VIEW_COUNTERS, columns);
    status = counter_columns(&known, asked, asked_count, columns, &grid.column_count);
    if (status != STATUS_OK)
        goto out;
    if (text && result->modelled_time)
        puts("modelled: nothing was measured");
    status = text ? grid_print(stdout, &grid, &look) : grid_formats[format]->print(stdout, &grid);
out:
    free(columns);
    free(names);
    return status;
}

static enum status counters_of(const void *parsed, const struct invocation *invocation)
{
    const struct counters_options *options = parsed;
    const char *file = invocation->arguments[0];
    struct cell_rows rows = {0};
    struct result result = {0};
    size_t format;
    enum status status = format_taken(&options->format, &format);

    if (status == STATUS_OK)
        status = result_read(file, &result);
    if (status != STATUS_OK)
        return status;
    status = cell_rows_open(&result, file, options->cell, &rows);
    if (status == STATUS_OK)
        status = print_counters(&result, &rows, options, format, invocation->arguments + 1,
                                invocation->argument_count - 1);
    free(rows.rows);
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
