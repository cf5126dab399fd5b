/* SPDX-License-Identifier: MIT */
#include "cell_row.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* -- values -------------------------------------------------------------------------------------------- */

static void value_seed(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    snprintf(out->room, sizeof(out->room), "%" PRIu64, ((const struct cell_row *)row)->result->seed);
    out->text = out->room;
}

/* Names without a comma, separated by blanks. */
static void value_flags(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const uint32_t flags = ((const struct cell_row *)row)->found->flags;
    size_t used = 0;

    (void)column;
    out->room[0] = '\0';
    for (size_t bit = 0; bit < CELL_FLAG_COUNT; bit++)
        if (flags & 1u << bit)
            used += (size_t)snprintf(out->room + used, sizeof(out->room) - used, "%s%s", used ? " " : "",
                                     cell_flag_names[bit]);
    out->text = out->room;
}

/* The time with the mark of the cell's footnote, or why there is none. */
static void value_time(const struct grid_column *column, const void *data, struct grid_value *out)
{
    const struct cell_row *row = data;
    const enum cell_status status = row->found->status;
    char time[TEXT_NUMBER_BYTES];

    grid_number(column, row, out);
    text_time(out->number, time);
    snprintf(out->room, sizeof(out->room), "%s%s",
             cell_row_timed(row)      ? time
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

static void value_interval(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct summary *time = &((const struct cell_row *)row)->found->time.summary;
    char low[TEXT_NUMBER_BYTES], high[TEXT_NUMBER_BYTES], half[TEXT_NUMBER_BYTES];

    (void)column;
    if (!isfinite(time->ci_low))
        return;
    text_time(time->ci_low, low);
    text_time(time->ci_high, high);
    text_half_width(stats_relative_half_width(time), half);
    snprintf(out->room, sizeof(out->room), "%s to %s, %s", low, high, half);
    out->text = out->room;
}

/* -- columns ------------------------------------------------------------------------------------------- */

/* clang-format off */
#define COLUMN(key_, heading_, format_, value_) .key = key_, .heading = heading_, .format = format_, .value = value_
#define ROW(member)      .of = GRID_MEMBER(struct cell_row, member)
#define RESULT(member)   .of = GRID_BEHIND(struct cell_row, result, struct result, member)
#define CELL(member)     .of = GRID_BEHIND(struct cell_row, found, struct cell_result, member)
#define MODEL(member)    .of = GRID_BEHIND(struct cell_row, model, struct model_cell, member)
#define WORD(member, words) \
    .of = &(const struct grid_member){offsetof(struct cell_result, member), sizeof(int), offsetof(struct cell_row, found), words}
#define MATRICES (VIEW_MEASURED | VIEW_MODELLED)

static const struct cell_column table[] = {
    {.column = {COLUMN("result", "result", text_count, grid_number), ROW(index)}, .views = VIEW_SAMPLES},
    {.column = {COLUMN("file", "file", NULL, grid_text), ROW(file)}, .views = VIEW_CELLS | VIEW_ORIGIN},
    {.column = {COLUMN("identity", "cell", NULL, grid_array), ROW(identity)}, .views = VIEW_CELLS},
    {.column = {COLUMN("started_utc", "started", NULL, grid_array), RESULT(started_utc)}, .views = VIEW_SAMPLES | VIEW_ORIGIN},
    {.column = {COLUMN("engine", "engine", NULL, grid_text), RESULT(engine)}, .views = VIEW_SAMPLES | VIEW_ORIGIN},
    {.column = {COLUMN("device", "device", NULL, grid_array), RESULT(device.name)}, .views = VIEW_SAMPLES | VIEW_ORIGIN},
    {.column = {COLUMN("uuid", "UUID", NULL, grid_array), RESULT(device.uuid)}, .views = VIEW_SAMPLES | VIEW_ORIGIN},
    {.column = {COLUMN("driver", "driver", NULL, grid_array), RESULT(device.driver)}, .views = VIEW_SAMPLES | VIEW_ORIGIN},
    {.column = {COLUMN("host", "host", NULL, grid_array), RESULT(host.name)}, .views = VIEW_ORIGIN},
    {.column = {COLUMN("slot", "slot", NULL, grid_array), RESULT(host.slot)}, .views = VIEW_ORIGIN},
    {.column = {COLUMN("job", "job", NULL, grid_array), RESULT(host.job)}, .views = VIEW_ORIGIN},
    {.column = {COLUMN("version", "cbank", NULL, grid_text), RESULT(tool.version)}, .views = VIEW_ORIGIN},
    {.column = {COLUMN("git_commit", "commit", NULL, grid_text), RESULT(tool.git_commit)}, .views = VIEW_ORIGIN},
    {.column = {COLUMN("argv", "command", NULL, grid_array), RESULT(argv)}, .views = VIEW_ORIGIN},
    {.column = {COLUMN("seed", "seed", NULL, value_seed)}, .views = VIEW_ORIGIN},
    {.cell = true, .views = VIEW_CELLS | VIEW_SAMPLES | VIEW_COUNTERS},
    {.column = {COLUMN("status", "status", NULL, grid_name), WORD(status, cell_status_names)}, .views = VIEW_CELLS | VIEW_SAMPLES | VIEW_TIME},
    {.column = {COLUMN("reason", "reason", NULL, grid_array), CELL(reason)}, .views = VIEW_CELLS | VIEW_SAMPLES},
    {.column = {COLUMN("verified", "verified", NULL, grid_bool), CELL(verified)}, .views = VIEW_CELLS | VIEW_SAMPLES | VIEW_TIME},
    {.column = {COLUMN("flags", "flags", NULL, value_flags)}, .views = VIEW_CELLS | VIEW_SAMPLES},
    {.column = {COLUMN("note", "note", NULL, grid_array), ROW(note)}, .views = VIEW_TIME},
    {.column = {COLUMN("median_ns", "time", text_time, value_time), CELL(time.summary.median)}, .views = VIEW_MEASURED},
    {.column = {COLUMN("median_ns", "modelled", text_time, value_time), CELL(time.summary.median)}, .views = VIEW_MODELLED},
    {.column = {COLUMN("median_ns", "median", text_time, grid_number), CELL(time.summary.median)}, .views = VIEW_CELLS | VIEW_TIME},
    {.column = {COLUMN("half_width", "95% CI", text_half_width, grid_number), ROW(half_width)}, .views = VIEW_MEASURED},
    {.column = {COLUMN("interval", "95% CI", NULL, value_interval)}, .views = VIEW_TIME},
    {.column = {COLUMN("ci_low_ns", "low", text_time, grid_number), CELL(time.summary.ci_low)}, .views = VIEW_CELLS},
    {.column = {COLUMN("ci_high_ns", "high", text_time, grid_number), CELL(time.summary.ci_high)}, .views = VIEW_CELLS},
    {.column = {COLUMN("min_ns", "minimum", text_time, grid_number), CELL(time.summary.min)}, .views = VIEW_CELLS | VIEW_TIME},
    {.column = {COLUMN("mad_ns", "MAD", text_time, grid_number), CELL(time.summary.mad)}, .views = VIEW_CELLS | VIEW_TIME},
    {.column = {COLUMN("samples", "samples", text_count, grid_integer), CELL(time.summary.count)}, .views = VIEW_CELLS | VIEW_TIME},
    {.column = {COLUMN("stop_reason", "stopped by", NULL, grid_name), WORD(time.stop_reason, stop_reason_names)}, .views = VIEW_CELLS | VIEW_TIME},
    {.column = {COLUMN("ratio", "ratio", text_ratio, grid_number), ROW(ratio), .rank = 1}, .views = MATRICES | VIEW_CELLS | VIEW_TIME,
     .legend = "to the fastest path of the same pattern that loads"},
    {.column = {COLUMN("requests_per_load", "req", text_tenths, grid_number), MODEL(requests_per_load), .rank = 2},
     .views = MATRICES | VIEW_CELLS | VIEW_MODEL, .legend = "modelled requests of a warp's load: addresses of constant memory or parameters, sectors of global memory, turns (wavefronts) of shared memory"},
    {.column = {COLUMN("gigabytes_per_second", "GB/s", text_tenths, grid_number), ROW(rate), .rank = 3}, .views = MATRICES | VIEW_CELLS | VIEW_TIME,
     .legend = "an element in, one out and one a payload load, 4 bytes each, over the time"},
    {.column = {COLUMN("share_of_peak", "peak", text_share, grid_number), ROW(peak), .rank = 4}, .views = MATRICES | VIEW_CELLS | VIEW_MODEL,
     .legend = "their share of the rate that the card has: DRAM or L2 for what streams, the path's first cache for its requests, "
     "whichever takes longer (modelled)"},
    {.column = {COLUMN("operations_per_byte_ideal", "ideal", text_hundredths, grid_number), ROW(operations.ideal)}, .views = VIEW_OPERATIONS | VIEW_CELLS,
     .legend = "operations for each byte as textbooks count, with no cache: 4 bytes of the input for a multiplication and an addition, and 4 of the filter where that is not in constant memory"},
    {.column = {COLUMN("operations_per_byte_dram", "DRAM", text_hundredths, grid_number), ROW(operations.dram)}, .views = VIEW_OPERATIONS | VIEW_CELLS,
     .legend = "for each byte of device memory that the counters saw"},
    {.column = {COLUMN("operations_per_byte_l2", "L2", text_hundredths, grid_number), ROW(operations.l2)}, .views = VIEW_OPERATIONS | VIEW_CELLS,
     .legend = "for each byte of L2"},
    {.column = {COLUMN("operations", "operations", text_count, grid_integer), CELL(operations)}, .views = VIEW_CELLS | VIEW_TIME},
    {.column = {COLUMN("cycles", "SM cycles", text_count, grid_number), CELL(time.cycles)}, .views = VIEW_CELLS | VIEW_TIME},
    {.column = {COLUMN("kernel", "kernel", NULL, grid_array), CELL(kernel.symbol)}, .views = VIEW_CELLS | VIEW_CODE},
    {.column = {COLUMN("image", "image", NULL, grid_array), CELL(kernel.image)}, .views = VIEW_CELLS | VIEW_CODE},
    {.column = {COLUMN("instruction", "instruction", NULL, grid_text), ROW(instruction)}, .views = VIEW_CELLS | VIEW_CODE},
    {.column = {COLUMN("registers", "registers", text_count, grid_integer), CELL(kernel.registers)}, .views = VIEW_CELLS | VIEW_CODE},
    {.column = {COLUMN("sass_sha256", "SASS hash", NULL, grid_array), CELL(kernel.sha256)}, .views = VIEW_CELLS | VIEW_SAMPLES | VIEW_CODE},
    {.column = {COLUMN("sm_clock_mhz", "SM clock, MHz", text_count, grid_number), CELL(time.sm_clock_mhz)},
     .views = VIEW_CELLS | VIEW_SAMPLES | VIEW_TIME},
    {.column = {COLUMN("modelled", "modelled", NULL, grid_bool), RESULT(modelled_time)}, .views = VIEW_CELLS | VIEW_SAMPLES | VIEW_COUNTERS},
    {.column = {COLUMN("launches_per_sample", "launches a sample", text_count, grid_integer), CELL(time.launches_per_sample)},
     .views = VIEW_CELLS | VIEW_SAMPLES | VIEW_TIME},
    {.column = {COLUMN("placement", "placement", NULL, grid_text), ROW(placement)}, .views = VIEW_TIME},
    {.column = {COLUMN("footprint_bytes", "footprint, bytes", text_count, grid_integer), MODEL(footprint_bytes)},
     .views = VIEW_CELLS | VIEW_MODEL},
    {.column = {COLUMN("modelled_ns", "modelled time", text_time, grid_number), MODEL(time_ns)}, .views = VIEW_CELLS | VIEW_MODEL},
    {.column = {COLUMN("modelled_launch_ns", "  launch", text_time, grid_number), MODEL(parts.launch_ns)}, .views = VIEW_MODEL},
    {.column = {COLUMN("modelled_wave_ns", "  wave", text_time, grid_number), MODEL(parts.wave_ns)}, .views = VIEW_MODEL},
    {.column = {COLUMN("modelled_residency_ns", "  residency", text_time, grid_number), MODEL(parts.residency_ns)}, .views = VIEW_MODEL},
    {.column = {COLUMN("modelled_issue_ns", "  issue", text_time, grid_number), MODEL(parts.issue_ns)}, .views = VIEW_MODEL},
    {.column = {COLUMN("modelled_serialization_ns", "  serialization", text_time, grid_number), MODEL(parts.serialization_ns)},
     .views = VIEW_MODEL},
    {.column = {COLUMN("modelled_misses_ns", "  misses", text_time, grid_number), MODEL(parts.misses_ns)}, .views = VIEW_MODEL},
    {.column = {COLUMN("modelled_stream_ns", "  stream", text_time, grid_number), MODEL(parts.stream_ns)}, .views = VIEW_MODEL},
    {.column = {COLUMN("sample", "sample", text_count, grid_number), ROW(sample)}, .views = VIEW_SAMPLES},
    {.column = {COLUMN("time_ns", "time", text_time, grid_number), ROW(sample_ns)}, .views = VIEW_SAMPLES},
};
/* clang-format on */

const struct cell_column *cell_column_next(const struct cell_column *column, unsigned views)
{
    for (column = column ? column + 1 : table; column < table + COUNT(table); column++)
        if (column->views & views)
            return column;
    return NULL;
}

size_t cell_row_columns(unsigned views, struct grid_column out[CELL_ROW_COLUMNS_MAX])
{
    _Static_assert(CELL_COLUMN_COUNT + COUNT(table) <= CELL_ROW_COLUMNS_MAX, "no room");
    size_t count = 0;

    for (const struct cell_column *column = NULL; (column = cell_column_next(column, views));) {
        const size_t copied = column->cell ? CELL_COLUMN_COUNT : 1;

        memcpy(&out[count], column->cell ? cell_columns : &column->column, copied * sizeof(*out));
        count += copied;
    }
    return count;
}

/* -- rows ---------------------------------------------------------------------------------------------- */

bool cell_row_timed(const struct cell_row *row)
{
    const enum cell_status status = row->found->status;

    return (status == CELL_OK || status == CELL_PENDING) && isfinite(row->found->time.summary.median);
}

bool cell_row_multiplies(const struct cell_row *row)
{
    return cell_row_timed(row) && row->found->operations > 0 &&
           workload_steps(row->cell->workload, row->cell->parameters) > 1;
}

static void make_note(struct cell_row *row)
{
    const struct cell_result *cell = row->found;

    if (cell->status == CELL_PENDING)
        snprintf(row->note, sizeof(row->note), "pending: the run ended before the cell was done");
    else if (cell->status != CELL_OK)
        snprintf(row->note, sizeof(row->note), "%s: %s", cell_status_names[cell->status],
                 cell->reason[0] ? cell->reason : "no reason given");
    else if (!cell->verified && !row->result->modelled_time)
        snprintf(row->note, sizeof(row->note), "the output was not verified");
    for (size_t bit = 0; bit < CELL_FLAG_COUNT; bit++) {
        const size_t used = strlen(row->note);

        if (cell->flags >> bit & 1)
            snprintf(row->note + used, sizeof(row->note) - used, "%s%s: %s", used ? "; " : "", cell_flag_names[bit],
                     cell_flag_reasons[bit]);
    }
}

static void fill_row(struct cell_row *row, const struct result *result, size_t i, const char *file)
{
    const struct cell_result *found = &result->cells[i];

    *row = (struct cell_row){.cell = &found->cell,
                             .found = found,
                             .model = found->modelled ? &found->model : NULL,
                             .result = result,
                             .file = file,
                             .instruction = found->kernel.known ? found->cell.path->sass : NULL,
                             .placement = "not recorded: results of this version do not say where buffers lay",
                             .mark = "",
                             .half_width = NAN,
                             .ratio = NAN,
                             .rate = NAN,
                             .peak = NAN,
                             .operations = {NAN, NAN, NAN},
                             .sample = NAN,
                             .sample_ns = NAN};
    cell_identity(row->cell, row->identity);
    make_note(row);
}

/* Whether the card has the rates of this very device: chips of one architecture have memories of several kinds. */
static bool card_is_of_device(const struct result *result)
{
    return result->card[0] && strstr(result->device.name, result->card);
}

/* What follows from the time of a row, and from the shortest of its line. */
static void derive(struct cell_row *row, double best)
{
    enum { ELEMENT_BYTES = 4 };
    const struct cell *cell = row->cell;
    const double ns = row->found->time.summary.median;
    const uint32_t loads = cell->path->loads ? workload_steps(cell->workload, cell->parameters) : 0;

    if (!cell_row_timed(row))
        return;
    row->half_width = stats_relative_half_width(&row->found->time.summary);
    row->ratio = isfinite(best) ? ns / best : NAN;
    row->best = cell->path->loads && ns <= best;
    row->rate = ELEMENT_BYTES * (2.0 + loads) * (double)cell->elements / ns;
    if (row->model && isfinite(row->model->parts.stream_ns) && card_is_of_device(row->result))
        row->peak = fmax(row->model->parts.stream_ns, row->model->parts.serialization_ns) / ns;
    if (cell_row_multiplies(row))
        row->operations = cell_operations_per_byte(row->found);
}

/* -1, 0 or 1. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int order_of_tables(const struct cell *a, const struct cell *b)
{
    if (a->workload != b->workload)
        return ORDER(a->workload, b->workload);
    if (a->elements != b->elements)
        return ORDER(a->elements, b->elements);
    return a->block_size != b->block_size ? ORDER(a->block_size, b->block_size) : ORDER(a->regime, b->regime);
}

static int order_of_lines(const struct cell *a, const struct cell *b)
{
    int order = order_of_tables(a, b);

    order = order ? order : ORDER(a->pattern, b->pattern);
    for (size_t i = 0; order == 0 && i < parameter_count; i++)
        order = ORDER(a->parameters[i], b->parameters[i]);
    return order;
}

static int order_of_rows(const void *left, const void *right)
{
    const struct cell *a = ((const struct cell_row *)left)->cell, *b = ((const struct cell_row *)right)->cell;
    const int order = order_of_lines(a, b);

    return order ? order : ORDER(a->path, b->path);
}

bool cell_row_same_table(const struct cell_row *a, const struct cell_row *b)
{
    return order_of_tables(a->cell, b->cell) == 0;
}

bool cell_row_same_line(const struct cell_row *a, const struct cell_row *b)
{
    return order_of_lines(a->cell, b->cell) == 0;
}

enum status cell_rows_open(const struct result *result, const char *file, struct cell_rows *out)
{
    const size_t count = result->cell_count;
    /* One more than needed: of nothing, calloc may give NULL. */
    struct cell_row *rows = calloc(count + 1, sizeof(*rows));

    *out = (struct cell_rows){.rows = rows, .count = count};
    if (!rows)
        return log_error(STATUS_ENVIRONMENT, "out of memory for the table of %zu cells", count);
    for (size_t i = 0; i < count; i++)
        fill_row(&rows[i], result, i, file);
    qsort(rows, count, sizeof(*rows), order_of_rows);
    for (size_t first = 0, end; first < count; first = end) {
        double best = INFINITY;

        for (end = first; end < count && cell_row_same_line(&rows[first], &rows[end]); end++)
            if (cell_row_timed(&rows[end]) && rows[end].cell->path->loads)
                best = fmin(best, rows[end].found->time.summary.median);
        for (size_t i = first; i < end; i++)
            derive(&rows[i], best);
    }
    return STATUS_OK;
}

enum status cell_rows_choose(struct cell_rows *rows, const struct result *result, const char *name)
{
    size_t kept = 0;

    for (size_t i = 0; i < rows->count; i++)
        if (!name || cell_is_named(rows->rows[i].cell, name))
            rows->rows[kept++] = rows->rows[i];
    rows->count = kept;
    return name && kept == 0 ? cell_unknown(name, result_cell, result, result->cell_count) : STATUS_OK;
}

void cell_rows_close(struct cell_rows *rows)
{
    free(rows->rows);
    *rows = (struct cell_rows){0};
}
