/* SPDX-License-Identifier: MIT */
#include "show.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "show_matrix.h"
#include "text_print.h"
#include "verdict.h"

enum { INDENT = 2, DIFFERENCES_MAX = 20 };

/* -- above the tables ---------------------------------------------------------------------------------- */

static void say_range(struct page *page, const char *what, double low, double high, const char *unit)
{
    if (round(low) < round(high))
        page_say(page, ",%s %.0f to %.0f %s", what, low, high, unit);
    else
        page_say(page, ",%s %.0f %s", what, low, unit);
}

/* The SM clock of the cells, or the highest clock of the device if no cell has one. */
static void say_clock(struct page *page, const struct result *result)
{
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < result->cell_count; i++) {
        low = fmin(low, result->cells[i].time.sm_clock_mhz);
        high = fmax(high, result->cells[i].time.sm_clock_mhz);
    }
    if (low <= high)
        say_range(page, " SM clock", low, high, "MHz");
    else if (isfinite(result->device.sm_clock_max_mhz))
        page_say(page, ", SM clock up to %.0f MHz", result->device.sm_clock_max_mhz);
}

static void print_environment(struct page *page, const struct result *result)
{
    const struct device_info *device = &result->device;
    const struct temperature *temperature = &result->temperature;

    page_begin(page, 0);
    page_say(page, "engine %s: %s%s, compute capability %" PRIu32 ".%" PRIu32 ", %" PRIu32 " SMs", result->engine,
             result->modelled_time ? "card " : "", device->name, device->cc_major, device->cc_minor, device->sm_count);
    if (strcmp(device->mig, "on") == 0)
        page_say(page, ", MIG");
    if (device->driver[0])
        page_say(page, ", driver %s", device->driver);
    say_clock(page, result);
    if (temperature->known)
        say_range(page, "", fmin(temperature->before_celsius, temperature->after_celsius),
                  fmax(temperature->before_celsius, temperature->after_celsius), "degrees Celsius");
    page_end(page);
    if (result->modelled_time)
        page_line(page, 0, "All times and counters are modelled: nothing was measured.");
}

/* -- below the tables ---------------------------------------------------------------------------------- */

/* Prints the meaning of the columns shown, and the names of those left out. */
static void print_legend(struct page *page, unsigned views, unsigned rank)
{
    const char *before = "";

    page_begin(page, 0);
    for (const struct cell_column *column = NULL; (column = cell_column_next(column, views));)
        if (column->legend && column->column.rank <= rank) {
            page_say(page, "%s%s: %s", before, column->column.heading, column->legend);
            before = ". ";
        }
    before = before[0] ? ". Left out for want of room: " : "left out for want of room: ";
    for (const struct cell_column *column = NULL; (column = cell_column_next(column, views));)
        if (column->column.rank > rank) {
            page_say(page, "%s%s", before, column->column.heading);
            before = ", ";
        }
    page_say(page, ".");
    page_end(page);
}

static void print_cell_counts(struct page *page, const struct result *result)
{
    size_t counts[CELL_FAILED + 1] = {0}, verified = 0;

    for (size_t i = 0; i < result->cell_count; i++) {
        counts[result->cells[i].status]++;
        verified += result->cells[i].verified;
    }
    page_begin(page, 0);
    page_say(page, "cells: %zu of %zu ok", counts[CELL_OK], result->cell_count);
    for (size_t status = 0; status <= CELL_FAILED; status++)
        if (status != CELL_OK && counts[status])
            page_say(page, ", %zu %s", counts[status], cell_status_names[status]);
    if (!result->modelled_time)
        page_say(page, "; %zu verified against the CPU", verified);
    page_end(page);
    if (result->complete)
        return;
    if (result->end.given)
        page_line(page, 0, "ended before its time%s%s: %s", result->end.cell[0] ? " at " : "", result->end.cell,
                  result->end.reason);
    page_line(page, 0, "incomplete: %s; cbank run --resume FILE measures the rest",
              result->end.given ? "the device failed or did not answer" : "the run was interrupted");
}

static void print_differences(struct page *page, const struct result *result, uint64_t differing)
{
    uint64_t printed = 0;

    for (size_t i = 0; i < result->cell_count; i++) {
        const struct cell_result *cell = &result->cells[i];

        for (size_t k = 0; k < cell->counter_count && printed < DIFFERENCES_MAX; k++) {
            const struct counter_value *value = &cell->counters[k];
            char identity[CELL_IDENTITY_BYTES];

            if (!counter_differs(value))
                continue;
            cell_identity(&cell->cell, identity);
            page_line(page, INDENT, "%s: %s is %.17g, expected %.17g", identity, value->name, value->value,
                      value->expected);
            printed++;
        }
    }
    if (differing != printed)
        page_line(page, INDENT, "and %" PRIu64 " more, in the result file", differing - printed);
}

static void print_counters(struct page *page, const struct result *result)
{
    const struct exact_counts counts = result_exact_counts(result);

    if (result->counters_reason[0])
        page_line(page, 0, "counters were not read: %s", result->counters_reason);
    if (counts.compared == 0 && (counts.unread == 0 || result->counters_reason[0]))
        return;
    page_begin(page, 0);
    if (counts.compared == 0)
        page_say(page, "exact counters: none");
    else if (result->modelled_time && counts.differing == 0)
        page_say(page, "exact counters: %" PRIu64 " predicted", counts.compared);
    else
        page_say(page, "exact counters: %" PRIu64 " of %" PRIu64 " equal to expected", counts.equal, counts.compared);
    if (counts.unread > 0)
        page_say(page, "; %" PRIu64 " not available: %s", counts.unread, counts.reason);
    page_end(page);
    print_differences(page, result, counts.differing);
}

/* Errors of the device, if some grew. */
static void print_health(struct page *page, const struct result *result)
{
    char text[512];

    if (result->health.grew)
        page_line(page, 0, "errors of the device grew during the run: %s",
                  health_text(&result->health, text, sizeof(text)));
}

static void print_phases(struct page *page, const struct result *result)
{
    char text[TEXT_NUMBER_BYTES];
    double total = 0;

    if (result->phase_count == 0)
        return;
    page_begin(page, 0);
    page_say(page, "time spent:");
    for (size_t i = 0; i < result->phase_count; i++) {
        text_time(result->phases[i].seconds * 1e9, text);
        page_say(page, " %s %s,", result->phases[i].name, text);
        total += result->phases[i].seconds;
    }
    text_time(total * 1e9, text);
    page_say(page, " in all %s", text);
    page_end(page);
}

/* -- all of it ----------------------------------------------------------------------------------------- */

static enum status show(struct page *page, const struct result *result)
{
    unsigned rank = page->markdown ? UINT_MAX : 0;
    bool multiplies = false;
    struct cell_rows rows;
    enum status status = cell_rows_open(result, NULL, NULL, &rows);

    page->look.rank = &rank;
    if (status == STATUS_OK) {
        print_environment(page, result);
        for (size_t first = 0, end; first < rows.count && status == STATUS_OK; first = end) {
            for (end = first; end < rows.count && cell_row_same(&rows.rows[first], &rows.rows[end], AXIS_PATTERN);)
                end++;
            page_gap(page);
            status = show_matrix(page, &rows.rows[first], end - first);
        }
    }
    /* Nothing stands below a missing table. */
    if (status == STATUS_OK) {
        page_gap(page);
        print_legend(page, result->modelled_time ? VIEW_MODELLED : VIEW_MEASURED, rank);
        for (size_t i = 0; i < rows.count; i++)
            multiplies = multiplies || cell_row_multiplies(&rows.rows[i]);
        if (multiplies)
            print_legend(page, VIEW_OPERATIONS, rank);
        print_cell_counts(page, result);
        print_counters(page, result);
        print_health(page, result);
        print_phases(page, result);
    }
    free(rows.rows);
    return status;
}

enum status show_result(FILE *stream, const struct result *result, bool color)
{
    struct page page = {.stream = stream, .look = {.width = text_width(stream), .color = color}};

    return show(&page, result);
}

enum status show_markdown(FILE *stream, const struct result *result)
{
    struct page page = {.stream = stream, .markdown = true};

    return show(&page, result);
}
