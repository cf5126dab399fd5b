/* SPDX-License-Identifier: MIT
 * What results say over time: a line a run, or the series of cells, and where their levels changed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell_json.h"
#include "command.h"
#include "document.h"
#include "grid.h"
#include "history.h"
#include "log.h"
#include "side.h"
#include "text.h"

/* A row of a grid: a cell of a run. In the list of runs it is the cell that became slower most. */
struct row {
    const struct history_run *run;
    const struct history_point *point; /* NULL: nothing changed */
};

/* Of the row's cell: "unstable", or NULL. */
static const char *state_of(const struct row *row)
{
    return row->point && row->point->flags & FLAGS_DOUBTFUL ? "unstable" : NULL;
}

/* -- columns ------------------------------------------------------------------------------------------- */

/* Below a run: how many cells failed, and which became slower most. */
static bool run_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct row *of = row;
    const size_t first = of->run->failed > 0 ? 1 : 0;
    char identity[CELL_IDENTITY_BYTES];

    if (index < first) {
        snprintf(out, bytes, "%.0f failed", of->run->failed);
    } else if (index == first && of->point) {
        cell_identity(of->point->cell, identity);
        snprintf(out, bytes, "worst: %s%s", identity, state_of(of) ? " (unstable)" : "");
    }
    return index < first || (index == first && of->point);
}

static void value_gpu(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    value_short_uuid(((const struct row *)row)->run->uuid, out);
}

static void value_times(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->text = ((const struct row *)row)->run->modelled ? "modelled" : "measured";
}

static void value_state(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->text = state_of(row);
}

static void value_cell(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct history_point *point = ((const struct row *)row)->point;

    if (point)
        cell_value_identity(column, point->cell, out);
}

#define OF_RUN(member)   GRID_BEHIND(struct row, run, struct history_run, member)
#define OF_POINT(member) GRID_BEHIND(struct row, point, struct history_point, member)

/* Columns that say which run it is; ranks of the device's name, UUID and host. Then those for programs alone. */
/* clang-format off */
#define RUN_COLUMNS(device_, uuid_, host_) \
    {.key = "started_utc", .heading = "started", .value = grid_array, .of = OF_RUN(started_utc), .head = true}, \
    {.key = "engine", .heading = "engine", .value = grid_text, .of = OF_RUN(engine), .rank = 5}, \
    {.key = "times", .heading = "times", .value = value_times}, \
    {.key = "device", .heading = "device", .value = grid_text, .of = OF_RUN(name), .rank = device_}, \
    {.key = "gpu", .heading = "UUID", .value = value_gpu, .rank = uuid_}, \
    {.key = "host", .heading = "host", .value = grid_text, .of = OF_RUN(host), .rank = host_}, \
    {.key = "driver", .heading = "driver", .value = grid_text, .of = OF_RUN(driver)}
#define CHANGE_COLUMN \
    {.key = "change", .heading = "change", .format = text_change, .value = grid_number, .of = OF_POINT(change)}
#define DATA_COLUMNS \
    {.key = "uuid", .value = grid_text, .of = OF_RUN(uuid)}, \
    {.key = "cell", .value = value_cell}, \
    {.key = "state", .value = value_state}, \
    {.key = "failed", .format = text_count, .value = grid_number, .of = OF_RUN(failed)}, \
    {.key = "slot", .value = grid_text, .of = OF_RUN(slot)}, \
    {.key = "vbios", .value = grid_text, .of = OF_RUN(vbios)}, \
    {.key = "file", .value = grid_text, .of = OF_RUN(file)}, \
    {.key = "hash", .value = grid_text, .of = OF_RUN(hash)}
enum { DATA_COLUMN_COUNT = 8 };

static const struct grid_column run_columns[] = {
    RUN_COLUMNS(4, 1, 2),
    {.key = "cells", .heading = "cells", .format = text_count, .value = grid_integer, .of = OF_RUN(cells)},
    CHANGE_COLUMN,
    DATA_COLUMNS,
};
static const struct grid_column series_columns[] = {
    RUN_COLUMNS(4, 1, 2),
    {.key = "time_ns", .heading = "time", .format = text_time, .value = grid_number, .of = OF_POINT(time_ns)},
    {.key = "relative_half_width", .heading = "95% CI", .format = text_half_width, .value = grid_number, .of = OF_POINT(half_width), .rank = 3},
    CHANGE_COLUMN,
    DATA_COLUMNS,
};
/* clang-format on */

#define GRID(array, type) \
    .columns = array, .column_count = sizeof(array) / sizeof((array)[0]), .row_bytes = sizeof(type)

/* Without their rows. */
static const struct grid run_grid = {GRID(run_columns, struct row), .note = run_note};
static const struct grid series_grid = {GRID(series_columns, struct row)};

/* -- changes and forgotten runs ------------------------------------------------------------------------ */

static const struct history_change *change_at(const void *row)
{
    return row;
}

static void value_change_cell(const struct grid_column *column, const void *row, struct grid_value *out)
{
    cell_value_identity(column, change_at(row)->cell, out);
}

static void value_change_gpu(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    value_short_uuid(change_at(row)->after->uuid, out);
}

static void value_interval(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    grid_range(text_change, change_at(row)->ci_low, change_at(row)->ci_high, out);
}

static void value_origin(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->text =
        change_at(row)->noise.origin == DEVIATION_UNKNOWN ? NULL : deviation_origin_names[change_at(row)->noise.origin];
}

static bool change_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct history_change *change = change_at(row);

    if (index > 0 || !change->with[0])
        return false;
    snprintf(out, bytes, "with it: %s", change->with);
    return true;
}

#define OF_CHANGE(member) GRID_MEMBER(struct history_change, member)
#define BEFORE(member)    GRID_BEHIND(struct history_change, before, struct history_run, member)
#define AFTER(member)     GRID_BEHIND(struct history_change, after, struct history_run, member)

/* clang-format off */
static const struct grid_column change_columns[] = {
    {.key = "since_utc", .heading = "since", .value = grid_array, .of = AFTER(started_utc), .head = true},
    {.key = "gpu", .heading = "UUID", .value = value_change_gpu, .head = true},
    {.key = "host", .heading = "host", .value = grid_text, .of = AFTER(host)},
    {.key = "cell", .heading = "cell", .value = value_change_cell, .below = true},
    {.key = "change", .heading = "change", .format = text_change, .value = grid_number, .of = OF_CHANGE(change)},
    {.heading = "95% CI", .format = text_change, .value = value_interval},
};
static const struct grid_column change_data[] = {
    {.key = "since_utc", .value = grid_array, .of = AFTER(started_utc)},
    {.key = "until_utc", .value = grid_array, .of = BEFORE(started_utc)},
    {.key = "uuid", .value = grid_text, .of = AFTER(uuid)},
    {.key = "device", .value = grid_text, .of = AFTER(name)},
    {.key = "host", .value = grid_text, .of = AFTER(host)},
    {.key = "slot", .value = grid_text, .of = AFTER(slot)},
    {.key = "cell", .value = value_change_cell},
    {.key = "change", .format = text_change, .value = grid_number, .of = OF_CHANGE(change)},
    {.key = "ci_low", .format = text_change, .value = grid_number, .of = OF_CHANGE(ci_low)},
    {.key = "ci_high", .format = text_change, .value = grid_number, .of = OF_CHANGE(ci_high)},
    {.key = "runs_before", .format = text_count, .value = grid_integer, .of = OF_CHANGE(runs_before)},
    {.key = "runs_after", .format = text_count, .value = grid_integer, .of = OF_CHANGE(runs_after)},
    {.key = "driver_before", .value = grid_text, .of = BEFORE(driver)},
    {.key = "driver_after", .value = grid_text, .of = AFTER(driver)},
    {.key = "vbios_before", .value = grid_text, .of = BEFORE(vbios)},
    {.key = "vbios_after", .value = grid_text, .of = AFTER(vbios)},
    {.key = "with", .value = grid_array, .of = OF_CHANGE(with)},
    {.key = "noise", .format = text_count, .value = grid_number, .of = OF_CHANGE(noise.value)},
    {.key = "noise_origin", .value = value_origin},
};
#define FORGOTTEN(member) GRID_MEMBER(struct history_forgotten, member)
static const struct grid_column forgotten_columns[] = {
    {.key = "started_utc", .heading = "started", .value = grid_array, .of = FORGOTTEN(started_utc), .head = true},
    {.key = "uuid", .heading = "UUID", .value = grid_text, .of = FORGOTTEN(uuid)},
    {.key = "file", .heading = "file", .value = grid_text, .of = FORGOTTEN(file)},
    {.key = "forgotten_utc", .heading = "forgotten", .value = grid_array, .of = FORGOTTEN(forgotten_utc)},
    {.key = "why", .heading = "why", .value = grid_text, .of = FORGOTTEN(why), .below = true},
    {.key = "hash", .heading = "hash", .value = grid_text, .of = FORGOTTEN(hash), .rank = 1},
};
/* clang-format on */

static const struct grid change_grid = {GRID(change_columns, struct history_change), .note = change_note,
                                        .title = "Levels that changed:"};
static const struct grid change_data_grid = {GRID(change_data, struct history_change)};
static const struct grid forgotten_grid = {GRID(forgotten_columns, struct history_forgotten),
                                           .title = "Runs that cbank forget took out:"};

static struct grid with_rows(const struct grid *grid, const void *rows, size_t count)
{
    struct grid made = *grid;

    made.rows = rows;
    made.row_count = count;
    return made;
}

/* -- the command --------------------------------------------------------------------------------------- */

struct history_options {
    const char *cell, *calibration_path;
    double threshold_percent;
    struct format_options format;
    struct look_options look;
};

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "cell", .argument = "CELL",
     .help = "the series of this cell, by its identity WORKLOAD/PATH/PATTERN/..., or of those that a glob names",
     .kind = &option_text, .offset = offsetof(struct history_options, cell)},
    {.name = "calibration", .argument = "FILE", .help = "how much cells differ between processes here, from cbank calibrate",
     .kind = &option_text, .offset = offsetof(struct history_options, calibration_path)},
    {.name = "threshold", .argument = "PERCENT", .help = "change of a level that is listed (default 0.5%)",
     .kind = &option_number, .offset = offsetof(struct history_options, threshold_percent), .low = 0, .high = 1000,
     .unit = "percent", .fallback = "0.5"},
};
/* clang-format on */

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(format_option_rows, offsetof(struct history_options, format)),
    OPTION_GROUP(look_option_rows, offsetof(struct history_options, look)),
};

/* A history, and the rows that are made of it. */
struct view {
    const struct history_options *options;
    struct history history;
    struct row *rows; /* owned */
    size_t row_count;
};

static const struct cell *cell_at(const void *history, size_t i)
{
    return ((const struct history *)history)->cells[i];
}

/* Adds a row of each point of a cell, first .. end - 1, in the order of runs. at[]: room for a number a run, and one. */
static void add_series_rows(struct view *view, const struct history_point *first, const struct history_point *end,
                            size_t *at)
{
    const size_t runs = view->history.run_count;

    memset(at, 0, (runs + 1) * sizeof(*at));
    for (const struct history_point *point = first; point < end; point++)
        at[point->run->place + 1]++;
    for (size_t i = 0; i < runs; i++)
        at[i + 1] += at[i];
    for (const struct history_point *point = first; point < end; point++)
        view->rows[view->row_count + at[point->run->place]++] = (struct row){point->run, point};
    view->row_count += (size_t)(end - first);
}

/* A row of each point: by cell, as points are already, and the runs of each in their order. */
static bool make_series_rows(struct view *view)
{
    const struct history *history = &view->history;
    const struct history_point *end = history->points + history->point_count, *next;
    size_t *at = malloc((history->run_count + 1) * sizeof(*at));

    for (const struct history_point *first = history->points; at && first < end; first = next) {
        for (next = first; next < end && next->cell == first->cell;)
            next++;
        add_series_rows(view, first, next, at);
    }
    free(at);
    return at;
}

/* A row of each run, with the cell that became slower most. */
static bool make_run_rows(struct view *view)
{
    const struct history *history = &view->history;

    view->row_count = history->run_count;
    for (size_t i = 0; i < history->run_count; i++)
        view->rows[i].run = history->runs[i];
    for (size_t i = 0; i < history->point_count; i++) {
        const struct history_point *point = &history->points[i];
        struct row *row = &view->rows[point->run->place];

        if (!isnan(point->change) && !(row->point && point->change <= row->point->change))
            row->point = point;
    }
    return true;
}

static enum status make_rows(struct view *view)
{
    const struct history *history = &view->history;
    const size_t count = view->options->cell ? history->point_count : history->run_count;

    view->rows = calloc(count + 1, sizeof(*view->rows));
    if (!view->rows || !(view->options->cell ? make_series_rows : make_run_rows)(view))
        return log_memory("a history");
    return STATUS_OK;
}

/* -- printing ------------------------------------------------------------------------------------------ */

static void write_rows(cJSON *object, const struct field *field, const void *base)
{
    const struct view *view = base;
    const struct grid grid = with_rows(view->options->cell ? &series_grid : &run_grid, view->rows, view->row_count);

    json_add(object, field->key, grid_to_json(&grid));
}

static void write_changes(cJSON *object, const struct field *field, const void *base)
{
    const struct history *history = &((const struct view *)base)->history;
    const struct grid grid = with_rows(&change_data_grid, history->changes, history->change_count);

    json_add(object, field->key, grid_to_json(&grid));
}

static void write_forgotten(cJSON *object, const struct field *field, const void *base)
{
    const struct history *history = &((const struct view *)base)->history;
    const struct grid grid = with_rows(&forgotten_grid, history->forgotten, history->forgotten_count);

    json_add(object, field->key, grid_to_json(&grid));
}

static const struct field_kind kind_rows = {write_rows, NULL}, kind_changes = {write_changes, NULL},
                               kind_forgotten = {write_forgotten, NULL};

static const struct field document_rows[] = {
    {.key = "rows", .kind = &kind_rows},
    {.key = "changes", .kind = &kind_changes},
    {.key = "forgotten", .kind = &kind_forgotten},
};
static const struct document document = {
    .schema = "cbank-history",
    .what = "history",
    .major = 1,
    .minor = 1,
    .root = {.fields = FIELDS(document_rows), .given = SIZE_MAX},
};

static enum status print_grid(const struct history_options *options, const struct grid *grid)
{
    const struct grid_look look = {.width = text_width(stdout), .color = look_color(&options->look, STDOUT_FILENO)};

    if (!options->format.csv && !options->format.markdown)
        return grid_print(stdout, grid, &look);
    (options->format.csv ? grid_print_csv : grid_print_markdown)(stdout, grid);
    return STATUS_OK;
}

/* What people are told below the rows. */
static enum status print_below(const struct view *view)
{
    const struct history *history = &view->history;
    const struct grid grids[] = {with_rows(&change_grid, history->changes, history->change_count),
                                 with_rows(&forgotten_grid, history->forgotten, history->forgotten_count)};
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < 2; i++)
        if (grids[i].row_count > 0) {
            if (view->options->format.markdown)
                printf("\n%s\n", grids[i].title);
            putchar('\n');
            status = print_grid(view->options, &grids[i]);
        }
    return status;
}

/* People get a table for each cell, programs one of all. */
static enum status print_history(const struct view *view)
{
    const struct history_options *options = view->options;
    const bool series = options->cell && !options->format.csv;
    const struct row *end = view->rows + view->row_count;
    enum status status = STATUS_OK;

    if (options->format.json)
        return json_put_owned(stdout, document_to_json(&document, view));
    for (const struct row *row = view->rows, *next; status == STATUS_OK && row < end; row = next) {
        char identity[CELL_IDENTITY_BYTES];
        struct grid grid;

        for (next = row + 1; next < end; next++)
            if (series && row->point->cell != next->point->cell)
                break;
        grid = with_rows(options->cell ? &series_grid : &run_grid, row, (size_t)(next - row));
        grid.raw = options->format.raw;
        grid.column_count -= options->format.csv ? 0 : DATA_COLUMN_COUNT;
        if (series)
            cell_identity(row->point->cell, identity);
        grid.title = series ? identity : NULL;
        fputs(row > view->rows ? "\n" : "", stdout);
        status = print_grid(options, &grid);
    }
    return status == STATUS_OK && !options->format.csv ? print_below(view) : status;
}

/* Says that there is no such cell, with the nearest of those that there are. */
static enum status say_unknown(const struct view *view, const struct invocation *invocation)
{
    struct history all = {0};
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < invocation->argument_count; i++)
        status = history_add(&all, invocation->arguments[i], NULL);
    if (status == STATUS_OK)
        status = cell_unknown(view->options->cell, cell_at, &all, all.cell_count);
    history_close(&all);
    return status;
}

static enum status read_history(struct view *view, const struct invocation *invocation)
{
    const char *path = view->options->calibration_path;
    struct calibration calibration;
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < invocation->argument_count; i++)
        status = history_add(&view->history, invocation->arguments[i], view->options->cell);
    /* The last one goes first. */
    if (status == STATUS_OK && path)
        status = calibration_read(path, &calibration);
    if (status == STATUS_OK && path)
        status = noise_add(&view->history.noise, &calibration);
    if (status == STATUS_OK) {
        history_sort(&view->history);
        status = history_find_changes(&view->history, view->options->threshold_percent / 100);
    }
    return status;
}

static enum status history(const void *parsed, const struct invocation *invocation)
{
    struct view view = {.options = parsed};
    enum status status = format_check(&view.options->format);

    if (status == STATUS_OK)
        status = read_history(&view, invocation);
    if (status == STATUS_OK && view.options->cell && view.history.point_count == 0)
        status = say_unknown(&view, invocation);
    else if (status == STATUS_OK)
        status = make_rows(&view);
    if (status == STATUS_OK)
        status = print_history(&view);
    free(view.rows);
    history_close(&view.history);
    return status;
}

const struct command history_command = {
    .name = "history",
    .summary = "Print one line a run, or the series of one cell, and since when levels changed",
    .arguments = "PATH...",
    .arguments_min = 1,
    .arguments_max = 1000,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct history_options),
    .details =
        "PATH is a result, a folder of them, or a store. Below the runs stand the levels that changed: since which run, on which\n"
        "GPU, in which cell, by how much, and whether the driver, the VBIOS or the code changed with it. A level holds for two\n"
        "runs at least. Runs that cbank forget took out of a store are listed.",
    .run = history,
};
