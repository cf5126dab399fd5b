/* SPDX-License-Identifier: MIT
 * A result as text: what measured, the matrices of cells, and what is to be said of them. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "matrix.h"
#include "show_result.h"
#include "text.h"
#include "user_cell.h"
#include "verdict.h"

enum { INDENT = 2, DIFFERENCES_MAX = 20 };

/* Appends the range of a value, ", SM clock 1755 to 1980 MHz". */
static void join_range(char *out, const char *what, double low, double high, const char *unit)
{
    if (round(low) < round(high))
        text_join(out, TEXT_PARAGRAPH_BYTES, ", ", "%s%.0f to %.0f %s", what, low, high, unit);
    else
        text_join(out, TEXT_PARAGRAPH_BYTES, ", ", "%s%.0f %s", what, low, unit);
}

/* What is known of energy, where it was asked for. Cells have their own in show --cell. */
static void print_energy(struct text_wrap wrap, const struct energy_method *method)
{
    if (!method->given)
        return;
    if (method->reason[0])
        text_paragraph(wrap, "energy: none; %s", method->reason);
    else if (isfinite(method->idle.value))
        text_paragraph(wrap,
                       "energy: %.1f to %.1f W when idle; the counter steps every %.0f ms; show "
                       "--cell has the joules of a cell",
                       method->idle.ci_low, method->idle.ci_high, method->period_ms);
    else
        text_paragraph(wrap, "energy: power when idle is not known; show --cell has the joules of "
                             "a launch");
}

static void print_environment(struct text_wrap wrap, const struct result *result)
{
    const struct device_info *device = &result->device;
    const struct temperature *temperature = &result->temperature;
    double low = INFINITY, high = -INFINITY; /* the SM clocks of the cells */
    char text[TEXT_PARAGRAPH_BYTES], board[BOARD_TEXT_BYTES];

    snprintf(text, sizeof(text),
             "engine %s: %s%s, compute capability %" PRIu32 ".%" PRIu32 ", %" PRIu32 " SMs",
             result->engine, result->modelled_time ? "card " : "", device->name, device->cc_major,
             device->cc_minor, device->sm_count);
    if (strcmp(device->mig, "on") == 0)
        text_join(text, sizeof(text), ", ", "MIG");
    if (device->driver[0])
        text_join(text, sizeof(text), ", ", "driver %s", device->driver);
    for (size_t i = 0; i < result->cell_count; i++) {
        low = fmin(low, result->cells[i].time.sm_clock_mhz);
        high = fmax(high, result->cells[i].time.sm_clock_mhz);
    }
    if (low <= high)
        join_range(text, "SM clock ", low, high, "MHz");
    if (temperature->known)
        join_range(text, "", fmin(temperature->before_celsius, temperature->after_celsius),
                   fmax(temperature->before_celsius, temperature->after_celsius),
                   "degrees Celsius");
    text_paragraph(wrap, "%s", text);
    if (device->board.given)
        text_paragraph(wrap, "board: %s", board_text(&device->board, board));
    print_energy(wrap, &result->energy_method);
    if (result->modelled_time)
        text_paragraph(wrap, "All times and counters are modelled: nothing was measured.");
}

static void print_cells(struct text_wrap wrap, const struct result *result)
{
    const struct text_wrap item = {.stream = wrap.stream,
                                   .width = wrap.width,
                                   .column = INDENT,
                                   .indent = 2 * INDENT};
    const struct cell_result *cells = result->cells;
    size_t counts[CELL_FAILED + 1] = {0}, verified = 0;
    const char *by = " against the CPU";
    char text[TEXT_PARAGRAPH_BYTES];

    for (size_t i = 0; i < result->cell_count; i++) {
        counts[cells[i].status]++;
        verified += cells[i].verified;
        by = cell_origin(&cells[i].cell)->checked_by;
    }
    snprintf(text, sizeof(text), "cells: %zu of %zu ok", counts[CELL_OK], result->cell_count);
    for (size_t status = 0; status <= CELL_FAILED; status++)
        if (status != CELL_OK && counts[status])
            text_join(text, sizeof(text), ", ", "%zu %s", counts[status],
                      cell_status_names[status]);
    if (!result->modelled_time)
        text_join(text, sizeof(text), "; ", "%zu verified%s", verified, by);
    text_paragraph(wrap, "%s", text);
    for (size_t i = 0; counts[CELL_SKIPPED] && i < result->cell_count; i++) {
        size_t first = result->cell_count, count = 0;

        for (size_t k = 0; cells[i].status == CELL_SKIPPED && k < result->cell_count && first >= i;
             k++)
            if (cells[k].status == CELL_SKIPPED && strcmp(cells[k].reason, cells[i].reason) == 0) {
                first = count++ ? first : k;
            }
        if (first == i)
            text_paragraph(item, "%zu skipped: %s", count, cells[i].reason);
    }
    if (result->end.given)
        text_paragraph(wrap, "ended before its time%s%s: %s", result->end.cell[0] ? " at " : "",
                       result->end.cell, result->end.reason);
    if (!result->complete)
        text_paragraph(wrap, "incomplete: %s; cbank run --resume FILE measures the rest",
                       result->end.given ? "the device failed or did not answer"
                                         : "the run was interrupted");
}

static void print_counters(struct text_wrap wrap, const struct result *result)
{
    const struct text_wrap item = {.stream = wrap.stream,
                                   .width = wrap.width,
                                   .column = INDENT,
                                   .indent = 2 * INDENT};
    const struct exact_counts counts = exact_counts(result->cells, result->cell_count);
    uint64_t printed = 0;
    char text[TEXT_PARAGRAPH_BYTES];

    if (result->counters_reason[0])
        text_paragraph(wrap, "counters were not read: %s", result->counters_reason);
    if (counts.compared == 0 && (counts.unread == 0 || result->counters_reason[0]))
        return;
    if (result->modelled_time && counts.differing == 0)
        snprintf(text, sizeof(text), "exact counters: %" PRIu64 " predicted", counts.compared);
    else
        snprintf(text, sizeof(text), "exact counters: %" PRIu64 " of %" PRIu64 " equal to expected",
                 counts.equal, counts.compared);
    if (counts.unread > 0)
        text_join(text, sizeof(text), "; ", "%" PRIu64 " not available: %s", counts.unread,
                  counts.reason);
    text_paragraph(wrap, "%s", text);
    for (size_t i = 0; i < result->cell_count; i++)
        for (size_t k = 0; k < result->cells[i].counter_count && printed < DIFFERENCES_MAX; k++) {
            const struct counter_value *value = &result->cells[i].counters[k];
            char identity[CELL_IDENTITY_BYTES];

            if (!counter_differs(value))
                continue;
            cell_identity(&result->cells[i].cell, identity);
            text_paragraph(item, "%s: %s is %.17g, expected %" PRIu64, identity, value->name,
                           value->value, value->expected.value);
            printed++;
        }
    if (counts.differing != printed)
        text_paragraph(item, "and %" PRIu64 " more, in the result file",
                       counts.differing - printed);
}

/* What was dropped from tables, and what the columns mean. */
static void print_legend(struct text_wrap wrap, const struct cell_row *row, unsigned views,
                         const struct print_ranks *ranks)
{
    char legend[TEXT_PARAGRAPH_BYTES] = "", hidden[128] = "";

    for (const struct cell_column *column = NULL; (column = cell_column_next(column, views));) {
        const unsigned rank = cell_column_rank(column, row);
        const char *heading = column->column.heading;

        if (rank > ranks->least && column->interval && !isnan(row->widest))
            text_join(legend, sizeof(legend), ". ", "%s: within %s", heading,
                      text_of(text_half_width, row->widest).text);
        else if (rank > ranks->least)
            text_join(hidden, sizeof(hidden), ", ", "%s", heading);
        if (rank <= ranks->greatest && column->legend)
            text_join(legend, sizeof(legend), ". ", "%s: %s", heading, column->legend);
    }
    if (hidden[0])
        text_join(legend, sizeof(legend), ". ", "Hidden columns (terminal too narrow): %s", hidden);
    if (legend[0])
        text_paragraph(wrap, "%s.", legend);
}

static enum status print_matrix(struct text_wrap wrap, const struct print_style *look,
                                struct cell_row *rows, size_t count)
{
    const struct text_wrap item = {.stream = wrap.stream,
                                   .width = wrap.width,
                                   .column = INDENT,
                                   .indent = 2 * INDENT};
    struct matrix matrix;
    enum status status = matrix_open(rows, count, &matrix);

    if (status == STATUS_OK) {
        text_paragraph(wrap, "%s", matrix.title);
        status = grid_print(wrap.stream, &matrix.grid, look);
    }
    for (size_t i = 0; status == STATUS_OK && i < matrix.note_count; i++)
        text_paragraph(item, "%s  %s", matrix.notes[i]->mark + 1, matrix.notes[i]->note);
    matrix_close(&matrix);
    return status;
}

static enum status print_matrices(struct text_wrap wrap, const struct print_style *look,
                                  const struct cell_rows *cells)
{
    unsigned views = 0;

    for (size_t first = 0, count; first < cells->count; first += count) {
        struct cell_row *rows = &cells->rows[first];
        enum status status;
        bool kept;

        count = matrix_rows(rows, cells->count - first, &kept);
        if (!kept)
            continue;
        putc('\n', wrap.stream);
        views |= matrix_view(rows);
        status = print_matrix(wrap, look, rows, count);
        if (status != STATUS_OK)
            return status;
    }
    putc('\n', wrap.stream);
    if (cells->count > 0)
        print_legend(wrap, &cells->rows[0], views, look->ranks);
    return STATUS_OK;
}

/* What grew in the device's counts of errors, and where the time went. */
static void print_run(struct text_wrap wrap, const struct result *result)
{
    char text[TEXT_PARAGRAPH_BYTES] = "time spent:", errors[TEXT_PARAGRAPH_BYTES];
    double seconds = 0;

    if (result->health.grew)
        text_paragraph(wrap, "errors of the device grew during the run: %s",
                       health_text(&result->health, errors, sizeof(errors)));
    for (size_t i = 0; i < result->phase_count; i++) {
        seconds += result->phases[i].seconds;
        text_join(text, sizeof(text), " ", "%s %s,", result->phases[i].name,
                  text_of(text_time, result->phases[i].seconds * 1e9).text);
    }
    if (result->phase_count > 0)
        text_paragraph(wrap, "%s in all %s", text, text_of(text_time, seconds * 1e9).text);
}

enum status show_result(FILE *stream, const struct result *result, bool color)
{
    const struct text_wrap wrap = {.stream = stream, .width = text_width(stream)};
    struct print_ranks ranks = {.least = UINT_MAX};
    const struct print_style look = {.width = wrap.width, .color = color, .ranks = &ranks};
    struct cell_rows cells;
    enum status status = cell_rows_open(result, NULL, NULL, &cells);

    if (status == STATUS_OK) {
        print_environment(wrap, result);
        status = print_matrices(wrap, &look, &cells);
    }
    free(cells.rows);
    if (status != STATUS_OK) /* nothing stands below a missing table */
        return status;
    print_cells(wrap, result);
    print_counters(wrap, result);
    print_run(wrap, result);
    return STATUS_OK;
}
