/* SPDX-License-Identifier: MIT */
#include "show.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "text.h"

enum {
    TEXT_BYTES = 64, /* of one cell of a table */
    NOTE_BYTES = 512,
    PATHS_A_TABLE = 3, /* more do not fit a terminal */
    DIFFERENCES_MAX = 20,
    /* Columns within a cell, each with the blanks before it. */
    TIME_WIDTH = 8,
    INTERVAL_WIDTH = 8,
    RATIO_WIDTH = 7,
    REQUESTS_WIDTH = 5,
};

static const char bold[] = "\033[1m", red[] = "\033[31m", plain[] = "\033[0m";

/* Cells with the same workload, size, block size and regime, sorted by pattern and path: one table. */
struct group {
    const struct cell_result *const *cells;
    size_t count;
};

/* Footnotes of one group, each text once. */
struct notes {
    char (*text)[NOTE_BYTES]; /* owned; room for one a cell */
    size_t count;
};

/* One cell of a table, ready to print. */
struct text {
    char bytes[TEXT_BYTES];
    const char *style; /* ANSI attribute, NULL for none */
};

/* What is printed, and how. */
struct view {
    FILE *stream;
    const struct result *result;
    bool color;
};

/* -- text --------------------------------------------------------------------------------------------- */

/* Columns that UTF-8 text takes on a terminal, for the characters used here. */
static int text_width(const char *text)
{
    int width = 0;

    for (; *text; text++)
        width += (*text & 0xc0) != 0x80;
    return width;
}

/* Appends text to line, right-aligned in width columns. */
static void append_right(char line[TEXT_BYTES], const char *text, int width)
{
    const size_t used = strlen(line);
    const int blanks = width - text_width(text);

    snprintf(line + used, TEXT_BYTES - used, "%*s%s", blanks > 0 ? blanks : 0, "", text);
}

static void print_left(FILE *stream, const char *text, int width)
{
    const int blanks = width - text_width(text);

    fprintf(stream, "%s%*s", text, blanks > 0 ? blanks : 0, "");
}

static void format_interval(const struct summary *summary, char out[TEXT_BYTES])
{
    const double percent = 100 * stats_relative_half_width(summary);

    if (isfinite(percent))
        snprintf(out, TEXT_BYTES, "±%.*f%%", percent < 9.995 ? 2 : percent < 99.95 ? 1 : 0, percent);
    else
        snprintf(out, TEXT_BYTES, "±?");
}

/* "a", "b" ... "z", "aa" ...: the mark of footnote `index`, from 0. */
static void format_mark(size_t index, char out[4])
{
    if (index < 26)
        snprintf(out, 4, "%c", 'a' + (int)index);
    else
        snprintf(out, 4, "%c%c", 'a' + (int)(index / 26 - 1) % 26, 'a' + (int)(index % 26));
}

/* -- footnotes ---------------------------------------------------------------------------------------- */

/* What a flag means, by its bit. */
static const struct {
    uint32_t flag;
    const char *text;
} flag_notes[] = {
    {FLAG_THROTTLED, "throttled: the driver held the clocks down during the run"},
    {FLAG_UNSTABLE, "unstable: sampling stopped before the interval was narrow enough"},
    {FLAG_CLOCK_VARIED, "clock_varied: the SM clock changed by more than 1 % between samples"},
    {FLAG_COUNTER_DIFFERS, "counter_differs: an exact counter is not what was expected"},
};

static void append_note(char note[NOTE_BYTES], const char *text)
{
    const size_t used = strlen(note);

    snprintf(note + used, NOTE_BYTES - used, "%s%s", used ? "; " : "", text);
}

/* All there is to say of a cell; "" for nothing. */
static void cell_note(const struct view *view, const struct cell_result *cell, char note[NOTE_BYTES])
{
    note[0] = '\0';
    if (cell->status == CELL_PENDING)
        append_note(note, "pending: the run ended before the cell was done");
    else if (cell->status != CELL_OK)
        snprintf(note, NOTE_BYTES, "%s: %s", cell_status_names[cell->status],
                 cell->reason[0] ? cell->reason : "no reason given");
    else if (!cell->verified && !view->result->modelled_time)
        append_note(note, "the output was not verified");
    for (size_t i = 0; i < sizeof(flag_notes) / sizeof(flag_notes[0]); i++)
        if (cell->flags & flag_notes[i].flag)
            append_note(note, flag_notes[i].text);
}

/* Writes the mark of the cell's footnote, "" for none, and keeps the note. */
static void mark_cell(const struct view *view, const struct cell_result *cell, struct notes *notes,
                      char mark[4])
{
    char note[NOTE_BYTES];
    size_t i = 0;

    mark[0] = '\0';
    cell_note(view, cell, note);
    if (!note[0])
        return;
    while (i < notes->count && strcmp(notes->text[i], note) != 0)
        i++;
    if (i == notes->count)
        memcpy(notes->text[notes->count++], note, NOTE_BYTES);
    format_mark(i, mark);
}

/* -- tables ------------------------------------------------------------------------------------------- */

static bool has_time(const struct cell_result *cell)
{
    return cell && (cell->status == CELL_OK || cell->status == CELL_PENDING) &&
           isfinite(cell->time.summary.median);
}

static const struct cell_result *find_cell(const struct group *group, const struct path *path,
                                           const struct pattern *pattern)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->cells[i]->cell.path == path && group->cells[i]->cell.pattern == pattern)
            return group->cells[i];
    return NULL;
}

/* The shortest time of the pattern's row, of all paths; infinite when there is none. */
static double fastest(const struct group *group, const struct pattern *pattern)
{
    double best = INFINITY;

    for (size_t i = 0; i < group->count; i++)
        if (group->cells[i]->cell.pattern == pattern && has_time(group->cells[i]))
            best = fmin(best, group->cells[i]->time.summary.median);
    return best;
}

static void format_measurement(const struct view *view, const struct cell_result *cell, double best,
                               char out[TEXT_BYTES])
{
    const double ratio = cell->time.summary.median / best;
    char part[TEXT_BYTES];

    text_time(cell->time.summary.median, part);
    append_right(out, part, TIME_WIDTH);
    if (!view->result->modelled_time) {
        format_interval(&cell->time.summary, part);
        append_right(out, part, INTERVAL_WIDTH);
    }
    snprintf(part, sizeof(part), "%.*fx", ratio < 99.995 ? 2 : 0, ratio);
    append_right(out, part, RATIO_WIDTH);
    if (cell->modelled)
        snprintf(part, sizeof(part), "%.1f", cell->model.requests_per_load);
    append_right(out, cell->modelled ? part : "-", REQUESTS_WIDTH);
}

/* Makes the text of a cell; cell may be NULL: not in the plan. */
static void format_cell(const struct view *view, const struct cell_result *cell, double best,
                        struct notes *notes, struct text *out)
{
    char mark[4];

    *out = (struct text){.bytes = ""};
    if (!cell)
        return;
    if (has_time(cell))
        format_measurement(view, cell, best, out->bytes);
    else
        append_right(out->bytes, cell->status == CELL_OK ? "not timed" : cell_status_names[cell->status], 0);
    mark_cell(view, cell, notes, mark);
    if (mark[0]) {
        append_right(out->bytes, " ", 0);
        append_right(out->bytes, mark, 0);
    }
    if (cell->status == CELL_FAILED)
        out->style = red;
    else if (has_time(cell) && cell->time.summary.median <= best)
        out->style = bold;
}

/* The names of the columns within a cell. */
static void format_heading(const struct view *view, char out[TEXT_BYTES])
{
    out[0] = '\0';
    append_right(out, view->result->modelled_time ? "modelled" : "time", TIME_WIDTH);
    if (!view->result->modelled_time)
        append_right(out, "95% CI", INTERVAL_WIDTH);
    append_right(out, "ratio", RATIO_WIDTH);
    append_right(out, "req", REQUESTS_WIDTH);
}

static void print_line(const struct view *view, const char *name, int name_width, const struct text *texts,
                       const int *widths, size_t count)
{
    print_left(view->stream, name, name_width);
    for (size_t i = 0; i < count; i++) {
        const bool styled = view->color && texts[i].style;

        fprintf(view->stream, " | %s", styled ? texts[i].style : "");
        print_left(view->stream, texts[i].bytes, i + 1 < count ? widths[i] : 0);
        fputs(styled ? plain : "", view->stream);
    }
    fputc('\n', view->stream);
}

/* One line of a table: a pattern on the given paths. */
static void format_row(const struct view *view, const struct group *group, const struct pattern *pattern,
                       const struct path *const *columns, size_t count, struct notes *notes,
                       struct text *texts)
{
    const double best = fastest(group, pattern);

    for (size_t i = 0; i < count; i++)
        format_cell(view, find_cell(group, columns[i], pattern), best, notes, &texts[i]);
}

static bool has_pattern(const struct group *group, const struct pattern *pattern)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->cells[i]->cell.pattern == pattern)
            return true;
    return false;
}

static bool has_path(const struct group *group, const struct path *path)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->cells[i]->cell.path == path)
            return true;
    return false;
}

/* Prints the table of up to PATHS_A_TABLE paths. Its rows are made twice, for the widths and to print. */
static void print_table(const struct view *view, const struct group *group, const struct path *const *columns,
                        size_t count, struct notes *notes)
{
    struct text texts[PATHS_A_TABLE], names[PATHS_A_TABLE], headings[PATHS_A_TABLE];
    int widths[PATHS_A_TABLE];
    int name_width = 0;

    for (size_t i = 0; i < count; i++) {
        names[i] = (struct text){.bytes = ""};
        headings[i] = (struct text){.bytes = ""};
        append_right(names[i].bytes, columns[i]->name, 0);
        format_heading(view, headings[i].bytes);
        widths[i] = text_width(headings[i].bytes);
    }
    for (size_t p = 0; p < pattern_count; p++) {
        if (!has_pattern(group, &patterns[p]))
            continue;
        name_width = text_width(patterns[p].name) > name_width ? text_width(patterns[p].name) : name_width;
        format_row(view, group, &patterns[p], columns, count, notes, texts);
        for (size_t i = 0; i < count; i++)
            widths[i] = text_width(texts[i].bytes) > widths[i] ? text_width(texts[i].bytes) : widths[i];
    }
    print_line(view, "", name_width, names, widths, count);
    print_line(view, "", name_width, headings, widths, count);
    for (size_t p = 0; p < pattern_count; p++) {
        if (!has_pattern(group, &patterns[p]))
            continue;
        format_row(view, group, &patterns[p], columns, count, notes, texts);
        print_line(view, patterns[p].name, name_width, texts, widths, count);
    }
}

static void print_group(const struct view *view, const struct group *group, struct notes *notes)
{
    const struct cell *cell = &group->cells[0]->cell;
    const struct path *columns[PATHS_A_TABLE];
    size_t count = 0;

    fprintf(view->stream, "\n%s, %" PRIu64 " elements, blocks of %" PRIu32 ", %s%s\n", cell->workload->name,
            cell->elements, cell->block_size, cell->regime->name,
            view->result->modelled_time ? ", modelled" : "");
    notes->count = 0;
    for (size_t i = 0; i < path_count; i++) {
        if (has_path(group, &paths[i]))
            columns[count++] = &paths[i];
        if (count > 0 && (count == PATHS_A_TABLE || i + 1 == path_count)) {
            print_table(view, group, columns, count, notes);
            count = 0;
        }
    }
    for (size_t i = 0; i < notes->count; i++) {
        char mark[4];

        format_mark(i, mark);
        fprintf(view->stream, "  %s  %s\n", mark, notes->text[i]);
    }
}

/* -- groups ------------------------------------------------------------------------------------------- */

/* -1, 0 or 1. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Orders by group: workload, elements, block size, regime; rows of a table in its order. */
static int compare_groups(const struct cell *a, const struct cell *b)
{
    if (a->workload != b->workload)
        return ORDER(a->workload, b->workload);
    if (a->elements != b->elements)
        return ORDER(a->elements, b->elements);
    if (a->block_size != b->block_size)
        return ORDER(a->block_size, b->block_size);
    return ORDER(a->regime, b->regime);
}

static int compare_cells(const void *left, const void *right)
{
    const struct cell *a = &(*(const struct cell_result *const *)left)->cell;
    const struct cell *b = &(*(const struct cell_result *const *)right)->cell;
    const int groups = compare_groups(a, b);

    if (groups != 0)
        return groups;
    return a->pattern != b->pattern ? ORDER(a->pattern, b->pattern) : ORDER(a->path, b->path);
}

/* Prints a table for each group. sorted and notes have room for every cell. */
static void print_groups(const struct view *view, const struct cell_result **sorted, struct notes *notes)
{
    const size_t count = view->result->cell_count;

    for (size_t i = 0; i < count; i++)
        sorted[i] = &view->result->cells[i];
    qsort(sorted, count, sizeof(*sorted), compare_cells);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count; end++)
            if (compare_groups(&sorted[first]->cell, &sorted[end]->cell) != 0)
                break;
        print_group(view, &(struct group){.cells = sorted + first, .count = end - first}, notes);
    }
}

/* -- around the tables -------------------------------------------------------------------------------- */

/* The SM clock of the cells, or what the device can do where no cell has one. */
static void print_clock(const struct view *view)
{
    const struct result *result = view->result;
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < result->cell_count; i++) {
        low = fmin(low, result->cells[i].time.sm_clock_mhz);
        high = fmax(high, result->cells[i].time.sm_clock_mhz);
    }
    if (low <= high && round(low) < round(high))
        fprintf(view->stream, ", SM clock %.0f to %.0f MHz", low, high);
    else if (low <= high)
        fprintf(view->stream, ", SM clock %.0f MHz", low);
    else if (isfinite(result->device.sm_clock_max_mhz))
        fprintf(view->stream, ", SM clock up to %.0f MHz", result->device.sm_clock_max_mhz);
}

static void print_environment(const struct view *view)
{
    const struct device_info *device = &view->result->device;

    fprintf(view->stream, "engine %s: %s%s, compute capability %" PRIu32 ".%" PRIu32 ", %" PRIu32 " SMs",
            view->result->engine, view->result->modelled_time ? "card " : "", device->name, device->cc_major,
            device->cc_minor, device->sm_count);
    if (strcmp(device->mig, "on") == 0)
        fputs(", MIG", view->stream);
    if (device->driver[0])
        fprintf(view->stream, ", driver %s", device->driver);
    print_clock(view);
    fputc('\n', view->stream);
    if (view->result->modelled_time)
        fputs("All times and counters are modelled: nothing was measured.\n", view->stream);
}

static void print_cell_counts(const struct view *view)
{
    const struct result *result = view->result;
    size_t counts[CELL_FAILED + 1] = {0}, verified = 0;

    for (size_t i = 0; i < result->cell_count; i++) {
        counts[result->cells[i].status]++;
        verified += result->cells[i].verified;
    }
    fprintf(view->stream, "cells: %zu of %zu ok", counts[CELL_OK], result->cell_count);
    for (size_t status = 0; status <= CELL_FAILED; status++)
        if (status != CELL_OK && counts[status])
            fprintf(view->stream, ", %zu %s", counts[status], cell_status_names[status]);
    if (!result->modelled_time)
        fprintf(view->stream, "; %zu verified against the CPU", verified);
    fputc('\n', view->stream);
    if (!result->complete)
        fputs("incomplete: the run was interrupted; cbank run --resume FILE measures the rest\n",
              view->stream);
}

/* Exact counters of all cells. */
struct counter_tally {
    size_t compared; /* read, and there is an expected value */
    size_t differing;
    size_t unread;
    const char *reason; /* of the first that was not read; NULL when it has none */
};

static void tally_counters(const struct result *result, struct counter_tally *tally)
{
    *tally = (struct counter_tally){0};
    for (size_t i = 0; i < result->cell_count; i++) {
        const struct cell_result *cell = &result->cells[i];

        for (size_t k = 0; k < cell->counter_count; k++) {
            const struct counter_value *value = &cell->counters[k];

            if (value->kind != COUNTER_EXACT)
                continue;
            if (value->status != COUNTER_OK) {
                tally->unread++;
                tally->reason = tally->reason   ? tally->reason
                                : value->reason ? value->reason
                                                : counter_status_names[value->status];
            }
            tally->compared += value->status == COUNTER_OK && isfinite(value->expected);
            tally->differing += counter_differs(value);
        }
    }
}

static void print_differences(const struct view *view, size_t differing)
{
    size_t printed = 0;

    for (size_t i = 0; i < view->result->cell_count; i++) {
        const struct cell_result *cell = &view->result->cells[i];

        for (size_t k = 0; k < cell->counter_count && printed < DIFFERENCES_MAX; k++) {
            const struct counter_value *value = &cell->counters[k];
            char identity[CELL_IDENTITY_BYTES];

            if (!counter_differs(value))
                continue;
            cell_identity(&cell->cell, identity);
            fprintf(view->stream, "  %s: %s is %.17g, expected %.17g\n", identity, value->name, value->value,
                    value->expected);
            printed++;
        }
    }
    if (differing > printed)
        fprintf(view->stream, "  and %zu more, in the result file\n", differing - printed);
}

static void print_counters(const struct view *view)
{
    struct counter_tally tally;

    tally_counters(view->result, &tally);
    if (view->result->counters_reason[0])
        fprintf(view->stream, "counters were not read: %s\n", view->result->counters_reason);
    if (tally.compared > 0 && view->result->modelled_time && tally.differing == 0)
        fprintf(view->stream, "exact counters: %zu predicted", tally.compared);
    else if (tally.compared > 0)
        fprintf(view->stream, "exact counters: %zu of %zu equal to expected",
                tally.compared - tally.differing, tally.compared);
    else if (tally.unread > 0 && !view->result->counters_reason[0])
        fputs("exact counters: none", view->stream);
    else
        return;
    if (tally.unread > 0)
        fprintf(view->stream, "; %zu not available: %s", tally.unread, tally.reason);
    fputc('\n', view->stream);
    print_differences(view, tally.differing);
}

static void print_phases(const struct view *view)
{
    const struct result *result = view->result;
    char text[TEXT_BYTES];
    double total = 0;

    if (result->phase_count == 0)
        return;
    fputs("time spent:", view->stream);
    for (size_t i = 0; i < result->phase_count; i++) {
        text_time(result->phases[i].seconds * 1e9, text);
        fprintf(view->stream, " %s %s,", result->phases[i].name, text);
        total += result->phases[i].seconds;
    }
    text_time(total * 1e9, text);
    fprintf(view->stream, " in all %s\n", text);
}

void show_result(FILE *stream, const struct result *result, bool color)
{
    const struct view view = {.stream = stream, .result = result, .color = color};
    /* One more than needed: of nothing, calloc may give NULL. */
    const struct cell_result **sorted = calloc(result->cell_count + 1, sizeof(*sorted));
    struct notes notes = {.text = calloc(result->cell_count + 1, sizeof(*notes.text))};

    if (!sorted || !notes.text) {
        log_error(STATUS_ENVIRONMENT, "out of memory for the table of %zu cells", result->cell_count);
        goto out;
    }
    print_environment(&view);
    print_groups(&view, sorted, &notes);
    fputs("\nratio: to the fastest path of the row. req: modelled requests of a warp's load, which are "
          "addresses on the\n"
          "constant path and sectors on the others.\n",
          stream);
    print_cell_counts(&view);
    print_counters(&view);
    print_phases(&view);
out:
    free(notes.text);
    free(sorted);
}
