/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "explain.h"
#include "text.h"

enum { INDENT = 2, LINE_BYTES = 1024 };

struct view {
    FILE *stream;
    const struct explanation *explanation;
    struct grid_look look; /* of grids */
};

/* By explain_is_long. */
static const char *const lengths[] = {"up to 10 us", "over 10 us"};

/* Prints a paragraph whose first line begins as the text does, and whose others are indented. */
#define put(view, others, ...)                                                                                    \
    text_paragraph((struct text_wrap){.stream = (view)->stream, .width = (view)->look.width, .indent = (others)}, \
                   __VA_ARGS__)

/* What the times in the file are. */
static const char *time_word(const struct view *view)
{
    return view->explanation->result.modelled_time ? "in the file" : "measured";
}

/* -- time --------------------------------------------------------------------------------------------- */

static void print_time(const struct view *view, const struct explained_cell *cell)
{
    const bool over = cell->agreement == EXPLAIN_DIFFERS && view->look.color;
    const bool modelled = view->explanation->result.modelled_time;
    const char *status = cell->cell->reason[0] ? "" : cell_status_names[cell->cell->status];
    const struct text_number predicted = text_of(text_time, cell->model.time_ns);
    char remainder[TEXT_NUMBER_BYTES];

    text_signed(text_time, cell->remainder_ns, remainder);
    fputs(over ? "\033[31m" : "", view->stream);
    if (cell->agreement == EXPLAIN_UNKNOWN)
        put(view, 2 * INDENT, "  %s%snot timed, modelled %s", status, *status ? ": " : "", predicted.text);
    else
        put(view, 2 * INDENT, "  %s %s%s%s, modelled %s, remainder %s, %s", time_word(view),
            text_of(text_time, cell->time->value).text, modelled ? "" : " ",
            modelled ? "" : text_of(text_half_width, stats_relative_half_width(cell->time)).text, predicted.text,
            remainder, text_of(text_change, cell->remainder).text);
    fputs(over ? "\033[0m" : "", view->stream);
}

/* Why a cell's time, or its fills, may be beyond the limit, in its own numbers. */
static void print_reasons(const struct view *view, const struct explained_cell *cell, bool of_fills)
{
    char text[LINE_BYTES] = "";

    for (size_t i = 0; i < cell->reason_count; i++)
        if (cell->reasons[i].row->of_fills == of_fills)
            text_join(text, LINE_BYTES, "; ", "%s", cell->reasons[i].text);
    if (text[0])
        put(view, 2 * INDENT, "  why%s: %s", of_fills ? " idc_misses" : "", text);
}

/* A part, in brackets where it is of the term that counts. */
static void value_part(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct explained_cell *cell = row;
    const size_t part = (size_t)((const struct explain_part *)column->of - explain_parts);
    const bool bound = cell->bound & 1u << part;

    snprintf(out->room, sizeof(out->room), bound ? "[%s]" : "%s",
             text_of(text_time, explain_part_ns(&cell->model.parts, part)).text);
    out->style = bound ? GRID_BOLD : GRID_PLAIN;
    out->text = out->room;
}

/* See overlapped_ns in model.c. */
static enum status print_parts(const struct view *view, const struct explained_cell *cell)
{
    const char *overlap = cell_strides(&cell->cell->cell) ? "these overlap: the longest counts most"
                                                          : "these overlap: the longest counts";
    struct grid_column columns[EXPLAIN_PARTS];
    const struct grid grid = {
        .columns = columns, .column_count = EXPLAIN_PARTS, .rows = cell, .row_count = 1, .row_bytes = sizeof(*cell)};

    for (size_t i = 0; i < EXPLAIN_PARTS; i++)
        columns[i] = (struct grid_column){
            .key = explain_parts[i].name,
            .heading = explain_parts[i].name,
            .group = explain_parts[i].term == EXPLAIN_TERM_ALONE ? "these add up" : overlap,
            .format = text_time,
            .value = value_part,
            .of = &explain_parts[i],
        };
    return grid_print(view->stream, &grid, &view->look);
}

/* -- counts ------------------------------------------------------------------------------------------- */

static void value_modelled(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct explained_count *count = row;

    (void)column;
    out->number = count->low;
    if (count->status == COUNTER_OK &&
        strcmp(text_of(text_count, count->low).text, text_of(text_count, count->high).text) != 0)
        grid_range(text_count, count->low, count->high, out);
}

/* How far measured is from the nearer limit; or that it is equal or within. */
static void value_agreement(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct explained_count *count = row;
    const double difference = count->measured - (count->measured > count->high ? count->high : count->low);

    (void)column;
    out->text =
        count->status == COUNTER_OK ? explain_agreement_names[count->agreement] : counter_status_names[count->status];
    if (count->agreement != EXPLAIN_DIFFERS)
        return;
    text_signed(text_count, difference, out->room);
    text_join(out->room, sizeof(out->room), ", ", "%s", text_of(text_change, difference / fabs(count->measured)).text);
    out->text = out->room;
    out->style = GRID_BAD;
}

/* Why a counter was not read. */
static bool count_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct explained_count *count = row;

    if (index == 0 && count->reason)
        snprintf(out, bytes, "%s", count->reason);
    return index == 0 && count->reason;
}

static enum status print_counts(const struct view *view, const char *name, const char *modelled,
                                const struct explained_count *counts, size_t count)
{
    /* clang-format off */
    const struct grid_column columns[] = {
        {.key = "name", .heading = name, .value = grid_text, .of = GRID_MEMBER(struct explained_count, name), .head = true},
        {.key = "measured", .heading = time_word(view), .format = text_count, .value = grid_number,
         .of = GRID_MEMBER(struct explained_count, measured)},
        {.key = "modelled", .heading = modelled, .format = text_count, .value = value_modelled},
        {.key = "agreement", .heading = "agreement", .value = value_agreement},
    };
    /* clang-format on */
    const struct grid grid = {.columns = columns,
                              .column_count = sizeof(columns) / sizeof(columns[0]),
                              .rows = counts,
                              .row_count = count,
                              .row_bytes = sizeof(*counts),
                              .note = count_note};

    return grid_print(view->stream, &grid, &view->look);
}

/* The levels, if one of their counters was read. */
static enum status print_levels(const struct view *view, const struct explained_cell *cell)
{
    bool read = false;

    for (size_t i = 0; i < cell->level_count; i++)
        read |= isfinite(cell->levels[i].measured);
    return print_counts(view, "constant levels", "modelled", cell->levels, read ? cell->level_count : 0);
}

/* -- cells -------------------------------------------------------------------------------------------- */

static enum status print_cell(const struct view *view, const struct explained_cell *cell)
{
    const struct cell_result *own = cell->cell;
    char identity[CELL_IDENTITY_BYTES];
    enum status status = STATUS_OK;

    cell_identity(&own->cell, identity);
    fprintf(view->stream, "\n%s\n", identity);
    if (own->reason[0])
        put(view, 2 * INDENT, "  %s: %s", cell_status_names[own->status], own->reason);
    if (!cell->predicted)
        return STATUS_OK;
    if (cell->timed) {
        print_time(view, cell);
        print_reasons(view, cell, false);
        status = print_parts(view, cell);
    }
    if (status == STATUS_OK)
        status = print_counts(view, "exact counter", "expected", cell->exact, cell->exact_count);
    if (status == STATUS_OK)
        status = print_levels(view, cell);
    print_reasons(view, cell, true);
    return status;
}

/* -- summary ------------------------------------------------------------------------------------------ */

/* A cell beyond the limit, with the names of its reasons. */
static void print_one_over(const struct view *view, const struct explained_cell *cell, double change, bool of_fills)
{
    char identity[CELL_IDENTITY_BYTES], names[LINE_BYTES] = "";

    for (size_t i = 0; i < cell->reason_count; i++)
        if (cell->reasons[i].row->of_fills == of_fills)
            text_join(names, LINE_BYTES, ", ", "%s", cell->reasons[i].row->name);
    cell_identity(&cell->cell->cell, identity);
    put(view, 3 * INDENT, "  %s %s: %s", identity, text_of(text_change, change).text,
        names[0] ? names : "nothing in the file says why");
}

/* The cells whose time is beyond the limit. */
static void print_over(const struct view *view, bool is_long)
{
    const struct explain_tally *tally = &view->explanation->summary.tallies[is_long];
    const struct explained_cell *cells = view->explanation->cells;

    if (tally->within < tally->cells)
        put(view, 0, "beyond that, %s:", lengths[is_long]);
    for (const struct explained_cell *cell = cells; cell < cells + view->explanation->result.cell_count; cell++)
        if (cell->agreement == EXPLAIN_DIFFERS && explain_is_long(cell) == is_long)
            print_one_over(view, cell, cell->remainder, false);
}

/* The cells whose fills are. */
static void print_fills_over(const struct view *view)
{
    const struct explain_summary *summary = &view->explanation->summary;
    const struct explained_cell *cells = view->explanation->cells;

    if (summary->fills_within < summary->fills)
        put(view, 2 * INDENT, "idc_misses beyond that, measured less modelled as a share of measured:");
    for (const struct explained_cell *cell = cells; cell < cells + view->explanation->result.cell_count; cell++) {
        const struct explained_count *count = &cell->levels[EXPLAIN_LEVEL_IDC_MISSES];

        if (cell->fills == EXPLAIN_DIFFERS)
            print_one_over(view, cell, 1 - count->low / count->measured, true);
    }
}

static void print_tally(const struct view *view, bool is_long)
{
    const struct explain_tally *tally = &view->explanation->summary.tallies[is_long];

    if (tally->cells == 0)
        put(view, 0, "cells %s: none", lengths[is_long]);
    else
        put(view, 2 * INDENT, "cells %s: %" PRIu64 " of %" PRIu64 " within %.0f %%; largest remainder %s, %s",
            lengths[is_long], tally->within, tally->cells, 100 * EXPLAIN_LIMIT,
            text_of(text_change, tally->largest_remainder).text, tally->largest);
}

static void print_summary(const struct view *view)
{
    const struct explain_summary *summary = &view->explanation->summary;

    fputc('\n', view->stream);
    print_tally(view, true);
    print_tally(view, false);
    if (summary->untimed)
        put(view, 0, "cells without a time: %" PRIu64, summary->untimed);
    if (summary->exact)
        put(view, 0, "exact counters: %" PRIu64 " of %" PRIu64 " equal", summary->exact_equal, summary->exact);
    if (summary->single)
        put(view, 2 * INDENT,
            "constant levels, cells of one warp: %" PRIu64 " of %" PRIu64 " counts equal, %" PRIu64 " within limits",
            summary->single_equal, summary->single, summary->single_within);
    if (summary->fills)
        put(view, 2 * INDENT,
            "idc_misses, lines that came into the first constant level: %" PRIu64 " of %" PRIu64 " within %.0f %%",
            summary->fills_within, summary->fills, 100 * EXPLAIN_FILLS_LIMIT);
    print_over(view, true);
    print_over(view, false);
    print_fills_over(view);
    if (summary->reasons)
        put(view, 0, "reasons:");
    for (size_t i = 0; i < explain_reason_count; i++)
        if (summary->reasons >> i & 1)
            put(view, 3 * INDENT, "  %s: %s", explain_reasons[i].name, explain_reasons[i].summary);
}

static void print_head(const struct view *view, const struct card *card)
{
    const struct result *result = &view->explanation->result;
    const struct device_info *device = &result->device;

    put(view, 2 * INDENT, "engine %s: %s%s, compute capability %" PRIu32 ".%" PRIu32 ", %" PRIu32 " SMs; card %s",
        result->engine, result->modelled_time ? "card " : "", device->name, device->cc_major, device->cc_minor,
        device->sm_count, card->name);
    if (result->modelled_time)
        put(view, 0, "All times and counters in the file are modelled: nothing was measured.");
    if (!result->complete)
        put(view, 2 * INDENT, "incomplete: the run was interrupted; cbank run --resume FILE measures the rest");
    if (result->counters_reason[0])
        put(view, 2 * INDENT, "counters were not read: %s", result->counters_reason);
}

static const char legend[] =
    "modelled: launch + wave + the longest of residency, issue, serialization + misses, and stream. Those overlap; what "
    "counts is in brackets. remainder: measured less modelled, then as a share of measured. idc_hits: requests whose "
    "line is there or on its way. Limits of gcc: without and with the lines of parameters and instructions; whether it "
    "has them is not known.";

static const char legend_strides[] =
    "lookup: the parts that overlap slow each other down, so that all take more than the longest; of the constant "
    "caches, residency is in misses.";

enum status explain_print(FILE *stream, const struct explanation *explanation, const struct card *card,
                          const struct grid_look *look)
{
    struct view view = {.stream = stream, .explanation = explanation, .look = *look};

    const size_t count = explanation->result.cell_count;
    enum status status = STATUS_OK;
    bool strides = false;

    view.look.indent = INDENT;
    print_head(&view, card);
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        if (explanation->cells[i].chosen) {
            strides |= cell_strides(&explanation->cells[i].cell->cell);
            status = print_cell(&view, &explanation->cells[i]);
        }
    if (status != STATUS_OK)
        return status;
    if (explanation->chosen > 0) {
        fputc('\n', stream);
        put(&view, 0, "%s", legend);
        if (strides)
            put(&view, 0, "%s", legend_strides);
    }
    print_summary(&view);
    if (explanation->chosen < count)
        put(&view, 0, "printed: %zu of %zu cells", explanation->chosen, count);
    return STATUS_OK;
}
