/* SPDX-License-Identifier: MIT
 * What the results of a folder say over time: a line a run, or the series of cells. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "files.h"
#include "grid.h"
#include "log.h"
#include "result.h"
#include "text.h"

/* -- what is known of a run ---------------------------------------------------------------------------- */

/* A result and the file it is from. */
struct run {
    struct result result;
    const char *path;
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

/* A row of a grid: a cell of a run, and how it changed since the latest earlier run of the same device and engine that
 * has it. In the list of runs it is the cell that became slower most. */
struct row {
    const struct run *run;
    const struct cell_result *cell; /* NULL: nothing changed */
    char identity[CELL_IDENTITY_BYTES]; /* of the cell; "": nothing changed */
    const char *times;             /* measured, modelled */
    const char *state;             /* of the cell: "unstable", or NULL */
    char gpu[DEVICE_TEXT_BYTES];   /* its UUID up to the first group: "GPU-33a20bea" */
    double failed;                 /* cells of the run */
    double half_width, change;     /* of the cell; change is NaN where nothing came before */
};

static double change_of(const struct run *first, const struct run *run, const struct cell_result *cell)
{
    for (const struct run *old = run; old-- > first;) {
        const struct cell_result *before =
            same_device(&old->result, &run->result) ? find_cell(&old->result, &cell->cell) : NULL;

        if (before)
            return cell->time.summary.median / before->time.summary.median - 1;
    }
    return NAN;
}

/* Fills what follows from the run; the cell may be NULL. */
static struct row row_of(const struct run *run, const struct cell_result *cell, double change)
{
    const struct result *result = &run->result;
    const char *uuid = result->device.uuid;
    struct row row = {.run = run, .cell = cell, .change = change};

    row.times = result->modelled_time ? "modelled" : "measured";
    row.state = cell && cell->flags & FLAGS_DOUBTFUL ? "unstable" : NULL;
    if (cell)
        cell_identity(&cell->cell, row.identity);
    row.half_width = cell ? stats_relative_half_width(&cell->time.summary) : NAN;
    snprintf(row.gpu, sizeof(row.gpu), "%.*s", (int)strcspn(uuid, "-") + 9, uuid);
    for (size_t i = 0; i < result->cell_count; i++)
        row.failed += result->cells[i].status == CELL_FAILED;
    return row;
}

static struct row worst_of(const struct run *first, const struct run *run)
{
    const struct cell_result *worst = NULL;
    double most = NAN;

    for (size_t i = 0; i < run->result.cell_count; i++) {
        const double change = change_of(first, run, &run->result.cells[i]);

        if (!isnan(change) && !(change <= most)) {
            worst = &run->result.cells[i];
            most = change;
        }
    }
    return row_of(run, worst, most);
}

/* -- columns ------------------------------------------------------------------------------------------- */

/* Below a run: how many cells failed, and which became slower most. */
static bool run_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct row *of = row;
    const size_t first = of->failed > 0 ? 1 : 0;

    if (index < first)
        snprintf(out, bytes, "%.0f failed", of->failed);
    else if (index == first && of->cell)
        snprintf(out, bytes, "worst: %s%s", of->identity, of->state ? " (unstable)" : "");
    return index < first || (index == first && of->cell);
}

#define OF_ROW(member)  GRID_MEMBER(struct row, member)
#define OF_RUN(member)  GRID_BEHIND(struct row, run, struct run, result.member)
#define OF_CELL(member) GRID_BEHIND(struct row, cell, struct cell_result, member)

/* Columns that say which run it is; ranks of the device's name and UUID. Then those for programs alone. */
/* clang-format off */
#define RUN_COLUMNS(device_, uuid_) \
    {.key = "started_utc", .heading = "started", .value = grid_array, .of = OF_RUN(started_utc), .head = true}, \
    {.key = "engine", .heading = "engine", .value = grid_text, .of = OF_RUN(engine)}, \
    {.key = "times", .heading = "times", .value = grid_text, .of = OF_ROW(times)}, \
    {.key = "device", .heading = "device", .value = grid_array, .of = OF_RUN(device.name), .rank = device_}, \
    {.key = "gpu", .heading = "UUID", .value = grid_array, .of = OF_ROW(gpu), .rank = uuid_}, \
    {.key = "driver", .heading = "driver", .value = grid_array, .of = OF_RUN(device.driver)}
#define CHANGE_COLUMN \
    {.key = "change", .heading = "change", .format = text_change, .value = grid_number, .of = OF_ROW(change)}
#define DATA_COLUMNS \
    {.key = "uuid", .value = grid_array, .of = OF_RUN(device.uuid)}, \
    {.key = "cell", .value = grid_array, .of = OF_ROW(identity)}, \
    {.key = "state", .value = grid_text, .of = OF_ROW(state)}, \
    {.key = "failed", .format = text_count, .value = grid_number, .of = OF_ROW(failed)}
enum { DATA_COLUMN_COUNT = 4 };

static const struct grid_column run_columns[] = {
    RUN_COLUMNS(1, 0),
    {.key = "cells", .heading = "cells", .format = text_count, .value = grid_integer, .of = OF_RUN(cell_count)},
    CHANGE_COLUMN,
    DATA_COLUMNS,
};
static const struct grid_column series_columns[] = {
    RUN_COLUMNS(2, 1),
    {.key = "median_ns", .heading = "median", .format = text_time, .value = grid_number, .of = OF_CELL(time.summary.median)},
    {.key = "relative_half_width", .heading = "95% CI", .format = text_half_width, .value = grid_number, .of = OF_ROW(half_width)},
    CHANGE_COLUMN,
    DATA_COLUMNS,
};
/* clang-format on */

#define GRID(array) \
    .columns = array, .column_count = sizeof(array) / sizeof((array)[0]), .row_bytes = sizeof(struct row)

/* Without their rows. */
static const struct grid run_grid = {GRID(run_columns), .note = run_note}, series_grid = {GRID(series_columns)};

/* -- the command --------------------------------------------------------------------------------------- */

struct history_options {
    const char *cell;
    struct format_options format;
    struct look_options look;
};

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "cell", .argument = "CELL",
     .help = "the series of this cell, by its identity WORKLOAD/PATH/PATTERN/..., or of those that a glob names",
     .kind = &option_text, .offset = offsetof(struct history_options, cell)},
};
/* clang-format on */

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
    return log_memory("a history");
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

/* Cell i of all runs. */
static const struct cell *cell_at(const void *history, size_t i)
{
    const struct run *run = ((const struct history *)history)->runs;

    while (i >= run->result.cell_count)
        i -= run++->result.cell_count;
    return result_cell(&run->result, i);
}

/* By cell; the runs of each in their order. */
static int by_cell(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    const int order = cell_order(&x->cell->cell, &y->cell->cell);

    return order ? order : (x->run > y->run) - (x->run < y->run);
}

/* Makes a row of each run, or of each cell of each that is named so. */
static enum status make_rows(struct history *history, const char *name)
{
    const struct run *first = history->runs, *end = first + history->run_count;
    size_t cells = 0;

    for (const struct run *run = first; run < end; run++)
        cells += run->result.cell_count;
    history->rows = calloc(history->run_count + cells + 1, sizeof(*history->rows));
    if (!history->rows)
        return out_of_memory();
    for (const struct run *run = first; run < end; run++) {
        if (!name)
            history->rows[history->row_count++] = worst_of(first, run);
        for (const struct cell_result *cell = run->result.cells;
             name && cell < run->result.cells + run->result.cell_count; cell++)
            if (cell_is_named(&cell->cell, name))
                history->rows[history->row_count++] = row_of(run, cell, change_of(first, run, cell));
    }
    if (name && history->row_count == 0)
        return cell_unknown(name, cell_at, history, cells);
    if (name)
        qsort(history->rows, history->row_count, sizeof(*history->rows), by_cell);
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

/* People get a table for each cell, programs one of all. */
static enum status print_history(const struct history_options *options, const struct history *history)
{
    const bool data = options->format.json || options->format.csv, series = options->cell && !data;
    const struct row *end = history->rows + history->row_count;
    struct grid grid = options->cell ? series_grid : run_grid;
    enum status status = STATUS_OK;

    grid.raw = options->format.raw;
    grid.column_count -= data ? 0 : DATA_COLUMN_COUNT;
    for (const struct row *row = history->rows, *next; status == STATUS_OK && row < end; row = next) {
        for (next = row + 1; next < end; next++)
            if (series && !cell_equal(&row->cell->cell, &next->cell->cell))
                break;
        grid.rows = row;
        grid.row_count = (size_t)(next - row);
        grid.title = series ? row->identity : NULL;
        fputs(row > history->rows ? "\n" : "", stdout);
        status = print_grid(options, &grid);
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
