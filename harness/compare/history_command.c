/* SPDX-License-Identifier: MIT
 * What the results of a folder say over time: a line a run, or the series of cells. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell_json.h"
#include "command.h"
#include "files.h"
#include "log.h"
#include "result.h"
#include "text.h"

/* -- what is known of a run ---------------------------------------------------------------------------- */

/* A result and the file it is from. */
struct run {
    const char *path;
    struct result result;
};

static int by_start(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    const int order = strcmp(x->result.started_utc, y->result.started_utc);

    return order ? order : strcmp(x->path, y->path);
}

static const struct cell_result *find_cell(const struct result *result, const struct cell *cell)
{
    for (size_t i = 0; i < result->cell_count; i++)
        if (cell_equal(&result->cells[i].cell, cell))
            return &result->cells[i];
    return NULL;
}

static bool same_device(const struct result *a, const struct result *b)
{
    return strcmp(a->device.uuid, b->device.uuid) == 0 && strcmp(a->device.name, b->device.name) == 0 &&
           strcmp(a->engine, b->engine) == 0;
}

/* A row of a grid: a cell of a run and how it changed since the latest earlier run of the same device and engine that has
 * it. In the list of runs it is the cell that became slower most. */
struct row {
    const struct cell *identity; /* NULL: there is no such cell */
    const struct cell_result *cell;
    const struct run *run;
    const struct result *result; /* of that run */
    double change; /* NaN where nothing came before */
};

static struct row row_of(const struct run *first, const struct run *run, const struct cell_result *cell)
{
    struct row row = {.identity = &cell->cell, .cell = cell, .run = run, .result = &run->result, .change = NAN};

    for (const struct run *old = run; old-- > first;) {
        const struct cell_result *before =
            same_device(&old->result, &run->result) ? find_cell(&old->result, &cell->cell) : NULL;

        if (before) {
            row.change = cell->time.summary.median / before->time.summary.median - 1;
            break;
        }
    }
    return row;
}

static struct row worst_of(const struct run *first, const struct run *run)
{
    struct row worst = {.run = run, .result = &run->result, .change = NAN};

    for (size_t i = 0; i < run->result.cell_count; i++) {
        const struct row row = row_of(first, run, &run->result.cells[i]);

        if (!isnan(row.change) && !(row.change <= worst.change))
            worst = row;
    }
    return worst;
}

/* -- columns ------------------------------------------------------------------------------------------- */

static void value_times(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->text = ((const struct row *)row)->result->modelled_time ? "modelled" : "measured";
}

/* A UUID up to its first group: "GPU-33a20bea". */
static void value_short_uuid(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const char *uuid = ((const struct row *)row)->result->device.uuid;

    (void)column;
    snprintf(out->room, sizeof(out->room), "%.*s", (int)strcspn(uuid, "-") + 9, uuid);
    out->text = uuid[0] ? out->room : NULL;
}

static size_t count_failed(const struct result *result)
{
    size_t failed = 0;

    for (size_t i = 0; i < result->cell_count; i++)
        failed += result->cells[i].status == CELL_FAILED;
    return failed;
}

static void value_failed(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->number = (double)count_failed(((const struct row *)row)->result);
}

static void value_cell(const struct grid_column *column, const void *row, struct grid_value *out)
{
    if (((const struct row *)row)->identity)
        cell_identity_column.value(column, row, out);
}

static void value_unstable(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct cell_result *cell = ((const struct row *)row)->cell;

    (void)column;
    out->text = cell && cell->flags & FLAG_UNSTABLE ? "unstable" : NULL;
}

static void value_half_width(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->number = stats_relative_half_width(&((const struct row *)row)->cell->time.summary);
}

/* Below a run: how many cells failed, and which became slower most. */
static bool run_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct row *of = row;
    const size_t failed = count_failed(of->result), first = failed > 0 ? 1 : 0;
    char identity[CELL_IDENTITY_BYTES];

    if (index < first) {
        snprintf(out, bytes, "%zu failed", failed);
        return true;
    }
    if (index > first || !of->identity)
        return false;
    cell_identity(of->identity, identity);
    snprintf(out, bytes, "worst: %s%s", identity, of->cell->flags & FLAG_UNSTABLE ? " (unstable)" : "");
    return true;
}

#define OF_RUN(member)  GRID_BEHIND(struct row, result, struct result, member)
#define OF_CELL(member) GRID_BEHIND(struct row, cell, struct cell_result, member)

/* Columns that say which run it is; ranks of the device's name and UUID. Then those for programs alone. */
/* clang-format off */
#define RUN_COLUMNS(device_, uuid_)                                                                                       \
    {.key = "started_utc", .heading = "started", .value = grid_array, .of = OF_RUN(started_utc), .head = true},           \
    {.key = "engine", .heading = "engine", .value = grid_text, .of = OF_RUN(engine)},                                     \
    {.key = "times", .heading = "times", .value = value_times},                                                           \
    {.key = "device", .heading = "device", .value = grid_array, .of = OF_RUN(device.name), .rank = device_},              \
    {.key = "gpu", .heading = "UUID", .value = value_short_uuid, .rank = uuid_},                                          \
    {.key = "driver", .heading = "driver", .value = grid_array, .of = OF_RUN(device.driver)}
#define CHANGE_COLUMN {.key = "change", .heading = "change", .format = text_change, .value = grid_number,                 \
                       .of = GRID_MEMBER(struct row, change)}
#define DATA_COLUMNS                                                                                                      \
    {.key = "uuid", .value = grid_array, .of = OF_RUN(device.uuid)},                                                      \
    {.key = "cell", .value = value_cell},                                                                                 \
    {.key = "state", .value = value_unstable}

static const struct grid_column run_columns[] = {
    RUN_COLUMNS(1, 0),
    {.key = "cells", .heading = "cells", .format = text_count, .value = grid_integer, .of = OF_RUN(cell_count)},
    CHANGE_COLUMN,
    DATA_COLUMNS,
    {.key = "failed", .format = text_count, .value = value_failed},
};
static const struct grid_column series_columns[] = {
    RUN_COLUMNS(2, 1),
    {.key = "median_ns", .heading = "median", .format = text_time, .value = grid_number, .of = OF_CELL(time.summary.median)},
    {.key = "relative_half_width", .heading = "95% CI", .format = text_half_width, .value = value_half_width},
    CHANGE_COLUMN,
    DATA_COLUMNS,
};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Without the rows; people do not see the last columns. */
static const struct grid run_grid = {.columns = run_columns,
                                     .column_count = COUNT(run_columns),
                                     .row_bytes = sizeof(struct row),
                                     .note = run_note};
static const struct grid series_grid = {.columns = series_columns,
                                        .column_count = COUNT(series_columns),
                                        .row_bytes = sizeof(struct row)};
enum { RUN_DATA_COLUMNS = 4, SERIES_DATA_COLUMNS = 3 };

/* -- the command --------------------------------------------------------------------------------------- */

struct history_options {
    const char *cell;
    struct format_options format;
    struct look_options look;
};

static const struct option_row rows[] = {
    {.name = "cell",
     .argument = "CELL",
     .help = "the series of this cell, by its identity WORKLOAD/PATH/PATTERN/..., or of those that a glob names",
     .kind = &option_text,
     .offset = offsetof(struct history_options, cell)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(format_option_rows, offsetof(struct history_options, format)),
    OPTION_GROUP(look_option_rows, offsetof(struct history_options, look)),
};

/* What was read, and the rows that are made of it. */
struct history {
    struct run *runs; /* owned; by start */
    size_t run_count;
    struct row *rows; /* owned */
    size_t row_count;
};

static enum status out_of_memory(void)
{
    return log_error(STATUS_ENVIRONMENT, "out of memory; read fewer results at a time");
}

static enum status read_runs(struct history *history, const struct file_list *files)
{
    enum status status = STATUS_OK;

    history->runs = calloc(files->count, sizeof(*history->runs));
    if (!history->runs)
        return out_of_memory();
    for (size_t i = 0; status == STATUS_OK && i < files->count; i++) {
        history->runs[i].path = files->paths[i];
        status = result_read(files->paths[i], &history->runs[i].result);
        history->run_count += status == STATUS_OK;
    }
    qsort(history->runs, history->run_count, sizeof(*history->runs), by_start);
    return status;
}

static size_t count_cells(const struct history *history)
{
    size_t count = 0;

    for (size_t i = 0; i < history->run_count; i++)
        count += history->runs[i].result.cell_count;
    return count;
}

/* Cell i of all runs; `context` is a history. */
static const struct cell *cell_at(const void *context, size_t i)
{
    const struct run *run = ((const struct history *)context)->runs;

    for (; i >= run->result.cell_count; run++)
        i -= run->result.cell_count;
    return &run->result.cells[i].cell;
}

/* By cell; the runs of each in their order. */
static int by_cell(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    const int order = cell_order(x->identity, y->identity);

    return order ? order : (x->run > y->run) - (x->run < y->run);
}

/* Makes a row of each cell of each run that is named so. */
static enum status make_series(struct history *history, const char *name)
{
    for (const struct run *run = history->runs; run < history->runs + history->run_count; run++)
        for (size_t i = 0; i < run->result.cell_count; i++)
            if (cell_is_named(&run->result.cells[i].cell, name))
                history->rows[history->row_count++] = row_of(history->runs, run, &run->result.cells[i]);
    if (history->row_count == 0)
        return cell_unknown(name, cell_at, history, count_cells(history));
    qsort(history->rows, history->row_count, sizeof(*history->rows), by_cell);
    return STATUS_OK;
}

static enum status make_rows(struct history *history, const char *name)
{
    history->rows = calloc(count_cells(history) + history->run_count + 1, sizeof(*history->rows));
    if (!history->rows)
        return out_of_memory();
    if (name)
        return make_series(history, name);
    while (history->row_count < history->run_count) {
        const size_t i = history->row_count++;

        history->rows[i] = worst_of(history->runs, &history->runs[i]);
    }
    return STATUS_OK;
}

static enum status print_grid(const struct history_options *options, const struct grid *grid)
{
    const struct grid_look look = {.width = text_width(stdout), .color = look_color(&options->look, STDOUT_FILENO)};

    if (options->format.json)
        return json_put_owned(stdout, grid_to_json(grid));
    if (!options->format.csv && !options->format.markdown)
        return grid_print(stdout, grid, &look);
    (options->format.csv ? grid_print_csv : grid_print_markdown)(stdout, grid);
    return STATUS_OK;
}

/* Prints the rows from `first` on that are one table, and returns where the next begins. People get a table for each
 * cell, programs one of all. */
static size_t print_table(const struct history_options *options, const struct history *history, size_t first,
                          enum status *status)
{
    const bool data = options->format.json || options->format.csv, series = options->cell && !data;
    const struct row *row = &history->rows[first], *end = history->rows + history->row_count, *next = row + 1;
    struct grid grid = options->cell ? series_grid : run_grid;
    char identity[CELL_IDENTITY_BYTES];

    while (next < end && (!series || cell_equal(row->identity, next->identity)))
        next++;
    grid.rows = row;
    grid.row_count = (size_t)(next - row);
    if (!data)
        grid.column_count -= options->cell ? SERIES_DATA_COLUMNS : RUN_DATA_COLUMNS;
    if (series) {
        cell_identity(row->identity, identity);
        grid.title = identity;
    }
    *status = print_grid(options, &grid);
    return first + grid.row_count;
}

static enum status print_history(const struct history_options *options, const struct history *history)
{
    enum status status = STATUS_OK;

    for (size_t first = 0; status == STATUS_OK && first < history->row_count;) {
        if (first > 0)
            putchar('\n');
        first = print_table(options, history, first, &status);
    }
    return status;
}

static enum status history(const void *parsed, const struct invocation *invocation)
{
    const struct history_options *options = parsed;
    struct history history = {0};
    struct file_list files = {0};
    enum status status = format_check(&options->format);

    for (size_t i = 0; status == STATUS_OK && i < invocation->argument_count; i++)
        status = files_add(&files, invocation->arguments[i]);
    if (status == STATUS_OK)
        status = read_runs(&history, &files);
    if (status == STATUS_OK)
        status = make_rows(&history, options->cell);
    if (status == STATUS_OK)
        status = print_history(options, &history);
    for (size_t i = 0; i < history.run_count; i++)
        result_close(&history.runs[i].result);
    free(history.rows);
    free(history.runs);
    files_close(&files);
    return status;
}

const struct command history_command = {
    .name = "history",
    .summary = "Print one line a run, or the series of one cell",
    .arguments = "PATH...",
    .arguments_min = 1,
    .arguments_max = 1000,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct history_options),
    .run = history,
};
