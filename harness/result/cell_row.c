/* SPDX-License-Identifier: MIT
 * Rows for tables of cells: what is printed of a cell, each column as a row of table[], with the
 * views that have it. Ratios are found last: each to the best of the cells that differ by their
 * path alone. */
#include "cell_row.h"
#include "table.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "parameter_index.h"
#include "result_cell_json.h"
#include "text_print.h"
#include "user_cell.h"

enum { ELEMENT_BYTES = 4 };

static const double narrow = 0.005; /* intervals that tell cells of different paths apart */

/* -- values ------------------------------------------------------------------------------------ */

/* Whether there is a time to print. */
static bool is_timed(const struct cell_row *row)
{
    const enum cell_status status = row->found->status;
    const struct summary *summary = &row->found->time.summary;
    /* Nobody knows how far a prediction without an interval is from the truth. */
    const bool is_unchecked = row->result->modelled_time && isnan(summary->ci_low);

    return (status == CELL_OK || status == CELL_PENDING) && isfinite(summary->value) &&
           !is_unchecked;
}

/* The time with the mark of the cell's footnote, or the reason for its absence. */
static void value_time(const struct grid_column *column, const void *data, struct grid_value *out)
{
    const struct cell_row *row = data;
    const enum cell_status status = row->found->status;
    char time[TEXT_NUMBER_BYTES];

    grid_number(column, row, out);
    text_time(out->number, time);
    snprintf(out->room, sizeof(out->room), "%s%s",
             is_timed(row)            ? time
             : status == CELL_OK      ? "not timed"
             : status == CELL_SKIPPED ? "-"
                                      : cell_status_names[status],
             row->mark);
    out->text = out->room;
    if (status == CELL_FAILED)
        out->style = GRID_BAD;
    else if (row->best)
        out->style = GRID_BOLD;
}

/* -- columns ----------------------------------------------------------------------------------- */

#define VALUE(key_, heading_, format_, value_) \
    .key = key_, .heading = heading_, .format = format_, .value = value_
#define ROW(name)    .member = GRID_MEMBER(struct cell_row, name)
#define RESULT(name) .member = GRID_BEHIND(struct cell_row, result, struct result, name)
#define CELL(name)   .member = GRID_BEHIND(struct cell_row, found, struct cell_result, name)

/* What is not a member of a cell in a result, and times with the marks of matrices. The values of
 * the document have their columns in its rows (result_cell_json.c). */
static const struct cell_column table[] = {
    {.column = {VALUE("file", "file", NULL, grid_text), ROW(file)},
     .views = VIEW_CELLS | VIEW_ORIGIN,
     .place = 10},
    {.column = {VALUE("identity", "cell", NULL, grid_array), ROW(identity), .head = true},
     .views = VIEW_CELLS | VIEW_NAME,
     .place = 20},
    {.column = {VALUE("started_utc", "started", NULL, grid_array), RESULT(started_utc)},
     .views = VIEW_ORIGIN,
     .place = 30},
    {.column = {VALUE("engine", "engine", NULL, grid_text), RESULT(engine)},
     .views = VIEW_ORIGIN,
     .place = 40},
    {.column = {VALUE("device", "device", NULL, grid_array), RESULT(device.name)},
     .views = VIEW_ORIGIN,
     .place = 50},
    {.column = {VALUE("uuid", "UUID", NULL, grid_array), RESULT(device.uuid)},
     .views = VIEW_ORIGIN,
     .place = 60},
    {.column = {VALUE("part_number", "part number", NULL, grid_array),
                RESULT(device.board.part_number)},
     .views = VIEW_ORIGIN,
     .place = 70},
    {.column = {VALUE("constant_cache_groups", "SMs of each L1.5 constant cache", NULL, grid_array),
                ROW(constant_cache_groups)},
     .views = VIEW_ORIGIN,
     .place = 80},
    {.column = {VALUE("driver", "driver", NULL, grid_array), RESULT(device.driver)},
     .views = VIEW_ORIGIN,
     .place = 90},
    {.column = {VALUE("host", "host", NULL, grid_array), RESULT(host.name)},
     .views = VIEW_ORIGIN,
     .place = 100},
    {.column = {VALUE("slot", "slot", NULL, grid_array), RESULT(host.slot)},
     .views = VIEW_ORIGIN,
     .place = 110},
    {.column = {VALUE("job", "job", NULL, grid_array), RESULT(host.job)},
     .views = VIEW_ORIGIN,
     .place = 120},
    {.column = {VALUE("version", "cbank", NULL, grid_text), RESULT(tool.version)},
     .views = VIEW_ORIGIN,
     .place = 130},
    {.column = {VALUE("git_commit", "commit", NULL, grid_text), RESULT(tool.git_commit)},
     .views = VIEW_ORIGIN,
     .place = 140},
    {.column = {VALUE("argv", "command", NULL, grid_array), RESULT(argv)},
     .views = VIEW_ORIGIN,
     .place = 150},
    {.cell = true, .views = VIEW_CELLS | VIEW_COUNTERS, .place = 160},
    {.column = {VALUE("note", "note", NULL, grid_array), ROW(note)},
     .views = VIEW_TIME,
     .place = 210},
    {.column = {VALUE("time_ns", "time", text_time, value_time), CELL(time.summary.value)},
     .views = VIEW_MEASURED | VIEW_KERNEL | VIEW_LAUNCH,
     .place = 220},
    {.column = {VALUE("time_ns", "modelled", text_time, value_time), CELL(time.summary.value)},
     .views = VIEW_MODELLED,
     .place = 230},
    {.column = {VALUE("half_width", "95% CI", text_half_width, grid_number), ROW(half_width),
                .rank = 5},
     .views = VIEW_MEASURED | VIEW_KERNEL | VIEW_LAUNCH | VIEW_TIME,
     .interval = true,
     .place = 250},
    {.column = {VALUE("samples", "samples", text_count, grid_integer), CELL(time.summary.count)},
     .views = VIEW_CELLS | VIEW_TIME,
     .place = 300},
    {.column = {VALUE("ratio", "ratio", text_ratio, grid_number), ROW(ratio)},
     .views = VIEW_MATRICES | VIEW_CELLS | VIEW_TIME,
     .legend = "to the fastest path that loads, of the same pattern and size of table",
     .place = 320},
    {.column = {VALUE("ratio", "ratio", text_ratio, grid_number), ROW(ratio)},
     .views = VIEW_KERNEL,
     .legend = "to the fastest memory space that is verified",
     .place = 330},
    {.column = {VALUE("ratio_half_width", "its CI", text_half_width, grid_number),
                ROW(ratio_half_width), .rank = 6},
     .views = VIEW_MEASURED | VIEW_KERNEL | VIEW_TIME,
     .legend = "95% CI of the ratio, as if the two times were independent",
     .place = 332},
    {.column = {VALUE("ratio_ci_low", "from", text_ratio, grid_number), ROW(ratio_ci_low)},
     .views = VIEW_CELLS,
     .place = 334},
    {.column = {VALUE("ratio_ci_high", "to", text_ratio, grid_number), ROW(ratio_ci_high)},
     .views = VIEW_CELLS,
     .place = 336},
    {.column = {VALUE("item_ns", "an item", text_time, grid_number), ROW(item_ns), .rank = 2},
     .views = VIEW_KERNEL | VIEW_CELLS | VIEW_TIME,
     .place = 340},
    {.column = {VALUE("gigabytes_per_second", "GB/s", text_tenths, grid_number), ROW(rate),
                .rank = 3},
     .views = VIEW_MATRICES | VIEW_CELLS | VIEW_TIME,
     .legend = "an element in, one out and one a payload load, 4 bytes each, over the time",
     .place = 360},
    {.column = {VALUE("operations_per_byte_ideal", "operations a byte, ideal", text_hundredths,
                      grid_number),
                ROW(operations.ideal)},
     .views = VIEW_CELLS,
     .place = 370},
    {.column = {VALUE("operations_per_byte_dram", "of DRAM", text_hundredths, grid_number),
                ROW(operations.dram)},
     .views = VIEW_CELLS,
     .place = 380},
    {.column = {VALUE("operations_per_byte_l2", "of L2", text_hundredths, grid_number),
                ROW(operations.l2)},
     .views = VIEW_CELLS,
     .place = 390},
    {.column = {VALUE("modelled", "modelled", NULL, grid_bool), RESULT(modelled_time)},
     .views = VIEW_CELLS | VIEW_COUNTERS,
     .place = 560},
};

/* All columns, by their places, and the members of those of the document. */
static struct cell_column every[CELL_ROW_COLUMNS_MAX];
static struct grid_member members[CELL_ROW_COLUMNS_MAX];
static size_t every_count;

/* Adds a column after those with a lower place. */
static void add_column(const struct cell_column *column)
{
    size_t i = every_count++;

    assert(CELL_COLUMN_COUNT + every_count <= CELL_ROW_COLUMNS_MAX);
    for (; i > 0 && every[i - 1].place > column->place; i--)
        every[i] = every[i - 1];
    every[i] = *column;
}

/* Adds the columns of fields. The object that they are of lies at `base` in struct cell_result, and
 * exists if the bool at `given` says so. */
static void add_fields(const struct fields *fields, size_t base, size_t given)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct field *field = &fields->rows[i];
        const struct field_column *shown = field->column;
        struct grid_member *member = &members[every_count];
        struct cell_column made;

        if (field->kind == &field_object)
            add_fields(&field->object->fields, base + field->offset,
                       field->object->given == SIZE_MAX ? given : base + field->object->given);
        if (!shown || !shown->heading)
            continue;
        made = (struct cell_column){.column = field_grid_column(field, member),
                                    .views = shown->views,
                                    .place = shown->place,
                                    .legend = shown->legend};
        member->offset += base;
        member->pointer = offsetof(struct cell_row, found);
        member->given = given;
        add_column(&made);
    }
}

const struct cell_column *cell_column_next(const struct cell_column *column, unsigned views)
{
    for (size_t i = 0; every_count < COUNT(table); i++)
        add_column(&table[i]);
    if (every_count == COUNT(table))
        add_fields(&result_cells.fields, 0, 0);
    for (column = column ? column + 1 : every; column < every + every_count; column++)
        if (column->views & views)
            return column;
    return NULL;
}

unsigned cell_column_rank(const struct cell_column *column, const struct cell_row *row)
{
    return column->interval && row->widest > narrow ? 0 : column->column.rank;
}

size_t cell_row_columns(unsigned views, struct grid_column out[CELL_ROW_COLUMNS_MAX])
{
    size_t count = 0;

    for (const struct cell_column *column = NULL; (column = cell_column_next(column, views));) {
        const size_t copied = column->cell ? CELL_COLUMN_COUNT : 1;

        memcpy(&out[count], column->cell ? cell_columns : &column->column, copied * sizeof(*out));
        count += copied;
    }
    return count;
}

struct grid cell_row_grid(const struct cell_row *rows, size_t count, unsigned views,
                          struct grid_column columns[CELL_ROW_COLUMNS_MAX])
{
    return (struct grid){.columns = columns,
                         .column_count = cell_row_columns(views, columns),
                         GRID_ROWS(rows, count)};
}

/* -- rows -------------------------------------------------------------------------------------- */

bool cell_row_same(const struct cell_row *a, const struct cell_row *b, enum cell_axis end)
{
    return a->table_bytes == b->table_bytes &&
           cell_order_before(a->cell, b->cell,
                             end == AXIS_PATTERN ? cell_origin(a->cell)->table_end : end) == 0;
}

/* The largest table first. */
static int order_of_rows(const void *left, const void *right)
{
    const struct cell_row *a = left, *b = right;
    const int order = cell_order_before(a->cell, b->cell, AXIS_PATTERN);

    if (order != 0 || a->table_bytes == b->table_bytes)
        return order ? order : cell_order_before(a->cell, b->cell, AXIS_COUNT);
    return a->table_bytes > b->table_bytes ? -1 : 1;
}

/* Whether others are compared with its time. */
static bool may_be_best(const struct cell_row *row)
{
    return is_timed(row) && row->cell->path->loads &&
           (row->found->verified || !cell_origin(row->cell)->compiled);
}

/* Writes why there is no time, or why to doubt it, and the flags and findings by their names. */
static void describe_doubts(struct cell_row *row)
{
    const struct cell_result *found = row->found;

    if (found->status == CELL_PENDING)
        snprintf(row->note, sizeof(row->note), "pending: the run ended before the cell was done");
    else if (found->status != CELL_OK)
        snprintf(row->note, sizeof(row->note), "%s: %s", cell_status_names[found->status],
                 found->reason[0] ? found->reason : "no reason given");
    else if (!found->verified && !row->result->modelled_time)
        snprintf(row->note, sizeof(row->note), "the output was not verified");
    for (size_t bit = 0; bit < CELL_FLAG_COUNT; bit++)
        if (found->flags >> bit & 1) {
            text_join(row->note, sizeof(row->note), "; ", "%s: %s", cell_flag_names[bit],
                      cell_flag_reasons[bit]);
        }
    for (size_t bit = 0; found->of_case.given && bit < CASE_FINDING_COUNT; bit++)
        if (found->of_case.findings >> bit & 1) {
            text_join(row->note, sizeof(row->note), "; ", "%s: %s", case_finding_names[bit],
                      case_finding_reasons[bit]);
        }
}

/* Sets what follows from the time of a cell that has one. */
static void derive_rates(struct cell_row *row)
{
    const struct cell_result *found = row->found;
    const struct cell *cell = row->cell;
    uint32_t loads;

    row->half_width = stats_relative_half_width(&found->time.summary);
    if (found->of_case.given)
        row->item_ns = found->time.summary.value / (double)found->of_case.items;
    if (cell_table_bytes(cell) == 0)
        return;
    loads = cell->path->loads ? workload_steps(cell->workload, cell->parameters) : 0;
    row->rate = (ELEMENT_BYTES * (1.0 + workload_streamed(cell->workload, cell->parameters)) +
                 loads * table_width(cell->parameters)) *
                (double)cell->elements / found->time.summary.value;
    if (found->operations > 0 && workload_multiplies(cell->workload))
        row->operations = cell_operations_per_byte(found);
}

static struct cell_row row_of(const struct result *result, const char *file, size_t i)
{
    const struct cell_result *found = &result->cells[i];
    const struct cell *cell = &found->cell;
    struct cell_row row = {.cell = cell,
                           .found = found,
                           .result = result,
                           .file = file,
                           .operations = {NAN, NAN, NAN}};

    row.half_width = row.ratio = row.rate = row.item_ns = NAN;
    row.ratio_half_width = row.ratio_ci_low = row.ratio_ci_high = NAN;
    cell_identity(cell, row.identity);
    board_sizes(&result->device.board, row.constant_cache_groups);
    if (!cell->parameters[PARAMETER_table_bytes])
        row.table_bytes = cell_table_bytes(cell);
    describe_doubts(&row);
    if (is_timed(&row))
        derive_rates(&row);
    return row;
}

/* Sets the ratio of a row to the best one. */
static void set_ratio(struct cell_row *row, const struct cell_row *best)
{
    if (!is_timed(row) || !best)
        return;
    row->ratio = row->found->time.summary.value / best->found->time.summary.value;
    row->best = may_be_best(row) && row->ratio <= 1;
    if (row->best)
        return;
    row->ratio_half_width = hypot(row->half_width, best->half_width);
    row->ratio_ci_low = row->ratio * (1 - row->ratio_half_width);
    row->ratio_ci_high = row->ratio * (1 + row->ratio_half_width);
}

/* Sets the ratio of each row to the best one of those that differ by their path alone. The rows are
 * sorted. */
static void find_ratios(struct cell_row *rows, size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        const struct cell_row *best = NULL;

        for (end = first; end < count && cell_row_same(&rows[first], &rows[end], AXIS_PATH); end++)
            if (may_be_best(&rows[end]) &&
                (!best || rows[end].found->time.summary.value < best->found->time.summary.value))
                best = &rows[end];
        for (size_t i = first; i < end; i++)
            set_ratio(&rows[i], best);
    }
}

enum status cell_rows_open(const struct result *result, const char *file, const char *name,
                           struct cell_rows *out)
{
    /* One more than needed: calloc may return NULL for none. */
    struct cell_row *rows = calloc(result->cell_count + 1, sizeof(*out->rows));
    double widest = NAN;

    *out = (struct cell_rows){.rows = rows};
    if (!rows)
        return log_memory("the table of %zu cells", result->cell_count);
    for (size_t i = 0; i < result->cell_count; i++) {
        rows[i] = row_of(result, file, i);
        widest = fmax(widest, rows[i].half_width);
    }
    qsort(rows, result->cell_count, sizeof(*rows), order_of_rows);
    find_ratios(rows, result->cell_count);
    for (size_t i = 0; i < result->cell_count; i++) {
        rows[i].widest = widest;
        if (!name || cell_is_named(rows[i].cell, name))
            rows[out->count++] = rows[i];
    }
    return name && out->count == 0 ? cell_unknown(name) : STATUS_OK;
}
