/* SPDX-License-Identifier: MIT */
#include "show.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "text.h"

enum {
    TEXT_BYTES = 64, /* of one cell of a table */
    NOTE_BYTES = 512,
    COLUMNS_A_TABLE = 3, /* more do not fit a terminal */
    DIFFERENCES_MAX = 20,
    /* Columns within a cell, each with the blanks before it. */
    TIME_WIDTH = 8,
    INTERVAL_WIDTH = 8,
    RATIO_WIDTH = 7,
    REQUESTS_WIDTH = 5,
    BYTE_WIDTH = 7, /* of an operations-per-byte column */
};

static const char bold[] = "\033[1m", red[] = "\033[31m", plain[] = "\033[0m";

/* A row or a column of tables: the cells of a path, or those of a pattern with its parameters. The other is NULL. */
struct axis {
    const struct path *path;
    const struct cell *variant; /* any cell of that pattern and parameters */
};

/* Cells with the same workload, size, block size and regime, sorted by pattern, parameters and path: one table, or
 * several beside each other. */
struct group {
    const struct cell_result **cells;
    size_t count;
    uint32_t common;              /* parameters that are the same in all cells: a set of PARAMETER_BIT */
    struct axis *paths, *variants; /* room for one a cell */
    size_t path_count, variant_count;
};

/* A path or a pattern of which every cell is skipped. */
struct absence {
    struct axis axis;
    char reason[NOTE_BYTES];
};

/* Footnotes of one group, each text once. */
struct notes {
    char (*text)[NOTE_BYTES]; /* owned; room for one a cell */
    size_t count;
};

/* What one group is printed from, each with room for one a cell. */
struct workspace {
    const struct cell_result **sorted;
    struct axis *paths, *variants;
    struct notes notes;
    struct absence *absent;
    size_t absent_count;
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
static int shown_width(const char *text)
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
    const int blanks = width - shown_width(text);

    snprintf(line + used, TEXT_BYTES - used, "%*s%s", blanks > 0 ? blanks : 0, "", text);
}

static void print_left(FILE *stream, const char *text, int width)
{
    const int blanks = width - shown_width(text);

    fprintf(stream, "%s%*s", text, blanks > 0 ? blanks : 0, "");
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
static void mark_cell(const struct view *view, const struct cell_result *cell, struct notes *notes, char mark[4])
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

/* -- rows and columns --------------------------------------------------------------------------------- */

static bool same_variant(const struct cell *a, const struct cell *b)
{
    return a->pattern == b->pattern && memcmp(a->parameters, b->parameters, sizeof(a->parameters)) == 0;
}

static bool on_axis(const struct axis *axis, const struct cell *cell)
{
    return axis->path ? cell->path == axis->path : same_variant(cell, axis->variant);
}

/* Appends " name=value" for each parameter of a set that the cell takes. */
static void append_parameters(const struct cell *cell, uint32_t set, char *text, size_t bytes)
{
    for (size_t i = 0; i < parameter_count; i++) {
        const size_t used = strlen(text);

        if (set & 1u << i && cell->parameters[i])
            snprintf(text + used, bytes - used, "%s%s=%" PRIu32, used ? " " : "", parameters[i].name,
                     cell->parameters[i]);
    }
}

/* "global", "per_warp", "per_warp modules=2", "distinct=4 stride_bytes=64": without the parameters that are the same in
 * the whole group, and without a pattern's name that its parameter says again. */
static void axis_name(const struct group *group, const struct axis *axis, char out[TEXT_BYTES])
{
    const struct cell *cell = axis->variant;
    const char *name = axis->path ? axis->path->name : cell->pattern->name;

    snprintf(out, TEXT_BYTES, "%s", name);
    for (size_t i = 0; cell && i < parameter_count; i++)
        if (~group->common & 1u << i && cell->parameters[i] && strcmp(parameters[i].name, name) == 0)
            out[0] = '\0';
    if (cell)
        append_parameters(cell, ~group->common, out, TEXT_BYTES);
}

static void find_common(struct group *group)
{
    group->common = ~0u;
    for (size_t i = 1; i < group->count; i++)
        for (size_t k = 0; k < parameter_count; k++)
            if (group->cells[i]->cell.parameters[k] != group->cells[0]->cell.parameters[k])
                group->common &= ~(1u << k);
}

/* Keeps the axis if any of its cells, which are given, is not skipped, and else says why it is not there. */
static bool keep_axis(struct workspace *space, const struct axis *axis, const struct cell_result *const *cells,
                      size_t count)
{
    struct absence *absence = &space->absent[space->absent_count];

    for (size_t i = 0; i < count; i++)
        if (on_axis(axis, &cells[i]->cell) && cells[i]->status != CELL_SKIPPED)
            return true;
    *absence = (struct absence){.axis = *axis};
    for (size_t i = 0; i < count; i++)
        if (on_axis(axis, &cells[i]->cell) && !strstr(absence->reason, cells[i]->reason))
            append_note(absence->reason, cells[i]->reason);
    space->absent_count++;
    return false;
}

/* Finds the patterns, with their parameters, that are printed, and leaves the cells of the others out of the group. */
static void find_variants(struct workspace *space, struct group *group)
{
    size_t kept = 0;

    for (size_t first = 0, end; first < group->count; first = end) {
        const struct axis axis = {.variant = &group->cells[first]->cell};

        for (end = first + 1; end < group->count && same_variant(axis.variant, &group->cells[end]->cell);)
            end++;
        if (!keep_axis(space, &axis, group->cells + first, end - first))
            continue;
        group->variants[group->variant_count++] = axis;
        memmove(group->cells + kept, group->cells + first, (end - first) * sizeof(*group->cells));
        kept += end - first;
    }
    group->count = kept;
}

static void find_paths(struct workspace *space, struct group *group)
{
    for (size_t i = 0; i < path_count; i++) {
        const struct axis axis = {.path = &paths[i]};
        bool there = false;

        for (size_t k = 0; k < group->count; k++)
            there = there || group->cells[k]->cell.path == axis.path;
        if (there && keep_axis(space, &axis, group->cells, group->count))
            group->paths[group->path_count++] = axis;
    }
}

/* The name of what is not in the tables; of a pattern without its parameters, unless it is there with others. */
static void absence_name(const struct group *group, const struct absence *absence, char out[TEXT_BYTES])
{
    const struct cell *cell = absence->axis.variant;

    for (size_t i = 0; cell && i < group->variant_count; i++)
        if (group->variants[i].variant->pattern == cell->pattern)
            cell = NULL;
    if (cell)
        snprintf(out, TEXT_BYTES, "%s", cell->pattern->name);
    else
        axis_name(group, &absence->axis, out);
}

/* Prints the absences from the first on that have its reason. */
static void print_absence(const struct view *view, const struct group *group, const struct absence *absent,
                          size_t count)
{
    struct text_wrap wrap = {.stream = view->stream, .width = 110, .indent = 4};
    char name[TEXT_BYTES], before[TEXT_BYTES] = "";

    text_wrap(&wrap, "  skipped:");
    for (size_t i = 0; i < count; i++) {
        if (strcmp(absent[i].reason, absent[0].reason) != 0)
            continue;
        absence_name(group, &absent[i], name);
        if (strcmp(name, before) != 0) {
            text_wrap(&wrap, i == 0 ? " " : ", ");
            text_wrap(&wrap, name);
        }
        memcpy(before, name, sizeof(before));
    }
    text_wrap(&wrap, " (");
    text_wrap(&wrap, absent[0].reason[0] ? absent[0].reason : "no reason given");
    text_wrap(&wrap, ")");
    fputc('\n', view->stream);
}

/* Prints what is not in the tables, what has the same reason together. */
static void print_absent(const struct view *view, const struct group *group, const struct workspace *space)
{
    for (size_t i = 0; i < space->absent_count; i++) {
        size_t first = 0;

        while (strcmp(space->absent[first].reason, space->absent[i].reason) != 0)
            first++;
        if (first == i)
            print_absence(view, group, space->absent + i, space->absent_count - i);
    }
}

/* -- tables ------------------------------------------------------------------------------------------- */

static bool has_time(const struct cell_result *cell)
{
    return cell && (cell->status == CELL_OK || cell->status == CELL_PENDING) && isfinite(cell->time.summary.median);
}

static const struct cell_result *find_cell(const struct group *group, const struct axis *row, const struct axis *column)
{
    for (size_t i = 0; i < group->count; i++)
        if (on_axis(row, &group->cells[i]->cell) && on_axis(column, &group->cells[i]->cell))
            return group->cells[i];
    return NULL;
}

/* The shortest time of the pattern and its parameters, of all paths that load; infinite when there is none. */
static double fastest(const struct group *group, const struct axis *variant)
{
    double best = INFINITY;

    for (size_t i = 0; i < group->count; i++)
        if (on_axis(variant, &group->cells[i]->cell) && has_time(group->cells[i]) && group->cells[i]->cell.path->loads)
            best = fmin(best, group->cells[i]->time.summary.median);
    return best;
}

static bool has_requests(const struct cell_result *cell)
{
    return cell->modelled && isfinite(cell->model.requests_per_load);
}

static void format_measurement(const struct view *view, const struct cell_result *cell, double best,
                               char out[TEXT_BYTES])
{
    const double ratio = cell->time.summary.median / best;
    char part[TEXT_BYTES];

    text_time(cell->time.summary.median, part);
    append_right(out, part, TIME_WIDTH);
    if (!view->result->modelled_time) {
        text_half_width(stats_relative_half_width(&cell->time.summary), part);
        append_right(out, part, INTERVAL_WIDTH);
    }
    snprintf(part, sizeof(part), "%.*fx", ratio < 99.995 ? 2 : 0, ratio);
    append_right(out, isfinite(best) ? part : "-", RATIO_WIDTH);
    if (has_requests(cell))
        snprintf(part, sizeof(part), "%.1f", cell->model.requests_per_load);
    append_right(out, has_requests(cell) ? part : "-", REQUESTS_WIDTH);
}

/* What stands in the cells of a table. */
struct content {
    void (*heading)(const struct view *view, char out[TEXT_BYTES]); /* the names of the columns within a cell */
    /* The text of a cell. best: the shortest time of its pattern. */
    void (*cell)(const struct view *view, const struct cell_result *cell, double best, struct notes *notes,
                 struct text *out);
};

static void format_times(const struct view *view, const struct cell_result *cell, double best, struct notes *notes,
                         struct text *out)
{
    char mark[4];

    if (has_time(cell))
        format_measurement(view, cell, best, out->bytes);
    else
        append_right(out->bytes,
                     cell->status == CELL_OK        ? "not timed"
                     : cell->status == CELL_SKIPPED ? "-"
                                                    : cell_status_names[cell->status],
                     0);
    mark_cell(view, cell, notes, mark);
    if (mark[0]) {
        append_right(out->bytes, " ", 0);
        append_right(out->bytes, mark, 0);
    }
    if (cell->status == CELL_FAILED)
        out->style = red;
    else if (has_time(cell) && cell->cell.path->loads && cell->time.summary.median <= best)
        out->style = bold;
}

static void format_times_heading(const struct view *view, char out[TEXT_BYTES])
{
    out[0] = '\0';
    append_right(out, view->result->modelled_time ? "modelled" : "time", TIME_WIDTH);
    if (!view->result->modelled_time)
        append_right(out, "95% CI", INTERVAL_WIDTH);
    append_right(out, "ratio", RATIO_WIDTH);
    append_right(out, "req", REQUESTS_WIDTH);
}

static const struct content times = {format_times_heading, format_times};

/* Columns of the table of operations per byte: places in struct operations_per_byte. */
static const struct {
    const char *name;
    size_t offset;
} byte_columns[] = {
    {"ideal", offsetof(struct operations_per_byte, ideal)},
    {"DRAM", offsetof(struct operations_per_byte, dram)},
    {"L2", offsetof(struct operations_per_byte, l2)},
};

enum { BYTE_COLUMNS = sizeof(byte_columns) / sizeof(byte_columns[0]) };

/* Cells that multiply and add. The one operation of the others says nothing. */
static bool has_operations(const struct cell_result *cell)
{
    return has_time(cell) && cell->operations > 0 && workload_steps(cell->cell.workload, cell->cell.parameters) > 1;
}

static void format_operations(const struct view *view, const struct cell_result *cell, double best, struct notes *notes,
                              struct text *out)
{
    const struct operations_per_byte operations = cell_operations_per_byte(cell);

    (void)view, (void)best, (void)notes;
    for (size_t i = 0; i < BYTE_COLUMNS; i++) {
        char part[TEXT_BYTES] = "-";
        double value;

        memcpy(&value, (const char *)&operations + byte_columns[i].offset, sizeof(value));
        if (has_operations(cell) && isfinite(value))
            snprintf(part, sizeof(part), "%.2f", value);
        append_right(out->bytes, part, BYTE_WIDTH);
    }
}

static void format_operations_heading(const struct view *view, char out[TEXT_BYTES])
{
    (void)view;
    out[0] = '\0';
    for (size_t i = 0; i < BYTE_COLUMNS; i++)
        append_right(out, byte_columns[i].name, BYTE_WIDTH);
}

static const struct content operations_per_byte = {format_operations_heading, format_operations};

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

/* A cell that is not in the plan stays empty. */
static void format_row(const struct view *view, const struct content *content, const struct group *group,
                       const struct axis *row, const struct axis *columns, size_t count, struct notes *notes,
                       struct text *texts)
{
    for (size_t i = 0; i < count; i++) {
        const struct cell_result *cell = find_cell(group, row, &columns[i]);

        texts[i] = (struct text){.bytes = ""};
        if (cell)
            content->cell(view, cell, fastest(group, row->variant ? row : &columns[i]), notes, &texts[i]);
    }
}

static void widen(int *width, const char *text)
{
    *width = shown_width(text) > *width ? shown_width(text) : *width;
}

/* Prints a table of up to COLUMNS_A_TABLE columns. Its rows are made twice, for the widths and to print. */
static void print_table(const struct view *view, const struct content *content, const struct group *group,
                        const struct axis *rows, size_t row_count, const struct axis *columns, size_t count,
                        struct notes *notes)
{
    struct text texts[COLUMNS_A_TABLE], names[COLUMNS_A_TABLE], headings[COLUMNS_A_TABLE];
    int widths[COLUMNS_A_TABLE] = {0};
    char name[TEXT_BYTES];
    int name_width = 0;

    for (size_t i = 0; i < count; i++) {
        names[i] = headings[i] = (struct text){.bytes = ""};
        axis_name(group, &columns[i], names[i].bytes);
        content->heading(view, headings[i].bytes);
        widen(&widths[i], names[i].bytes);
        widen(&widths[i], headings[i].bytes);
    }
    for (size_t r = 0; r < row_count; r++) {
        axis_name(group, &rows[r], name);
        widen(&name_width, name);
        format_row(view, content, group, &rows[r], columns, count, notes, texts);
        for (size_t i = 0; i < count; i++)
            widen(&widths[i], texts[i].bytes);
    }
    print_line(view, "", name_width, names, widths, count);
    print_line(view, "", name_width, headings, widths, count);
    for (size_t r = 0; r < row_count; r++) {
        axis_name(group, &rows[r], name);
        format_row(view, content, group, &rows[r], columns, count, notes, texts);
        print_line(view, name, name_width, texts, widths, count);
    }
}

static size_t tables_of(size_t columns)
{
    return (columns + COLUMNS_A_TABLE - 1) / COLUMNS_A_TABLE;
}

/* Patterns are the rows. Where the paths do not fit beside each other, the paths are, unless that makes more tables. */
static void print_tables(const struct view *view, const struct content *content, const struct group *group,
                         struct notes *notes)
{
    const bool paths_in_rows =
        group->path_count > COLUMNS_A_TABLE && tables_of(group->variant_count) <= tables_of(group->path_count);
    const struct axis *rows = paths_in_rows ? group->paths : group->variants;
    const struct axis *columns = paths_in_rows ? group->variants : group->paths;
    const size_t row_count = paths_in_rows ? group->path_count : group->variant_count;
    const size_t column_count = paths_in_rows ? group->variant_count : group->path_count;

    for (size_t i = 0; i < column_count; i += COLUMNS_A_TABLE) {
        const size_t left = column_count - i;

        print_table(view, content, group, rows, row_count, columns + i, left < COLUMNS_A_TABLE ? left : COLUMNS_A_TABLE,
                    notes);
    }
}

static void print_group(const struct view *view, struct workspace *space, struct group *group)
{
    const struct cell *cell = &group->cells[0]->cell;
    char common[TEXT_BYTES] = "";

    find_common(group);
    append_parameters(cell, group->common, common, sizeof(common));
    fprintf(view->stream, "\n%s, %" PRIu64 " elements, blocks of %" PRIu32 ", %s%s%s%s\n", cell->workload->name,
            cell->elements, cell->block_size, cell->regime->name, common[0] ? ", " : "", common,
            view->result->modelled_time ? ", modelled" : "");
    space->notes.count = 0;
    space->absent_count = 0;
    find_variants(space, group);
    find_paths(space, group);
    print_tables(view, &times, group, &space->notes);
    for (size_t i = 0; i < space->notes.count; i++) {
        char mark[4];

        format_mark(i, mark);
        fprintf(view->stream, "  %s  %s\n", mark, space->notes.text[i]);
    }
    print_absent(view, group, space);
    for (size_t i = 0; i < group->count; i++)
        if (has_operations(group->cells[i])) {
            fputs("operations per byte\n", view->stream);
            print_tables(view, &operations_per_byte, group, &space->notes);
            return;
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
    int order = compare_groups(a, b);

    order = order ? order : ORDER(a->pattern, b->pattern);
    for (size_t i = 0; order == 0 && i < parameter_count; i++)
        order = ORDER(a->parameters[i], b->parameters[i]);
    return order ? order : ORDER(a->path, b->path);
}

/* Prints the tables of each group. */
static void print_groups(const struct view *view, struct workspace *space)
{
    const size_t count = view->result->cell_count;

    for (size_t i = 0; i < count; i++)
        space->sorted[i] = &view->result->cells[i];
    qsort(space->sorted, count, sizeof(*space->sorted), compare_cells);
    for (size_t first = 0, end; first < count; first = end) {
        struct group group = {.cells = space->sorted + first, .paths = space->paths, .variants = space->variants};

        for (end = first + 1; end < count; end++)
            if (compare_groups(&space->sorted[first]->cell, &space->sorted[end]->cell) != 0)
                break;
        group.count = end - first;
        print_group(view, space, &group);
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
        fputs("incomplete: the run was interrupted; cbank run --resume FILE measures the rest\n", view->stream);
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
        fprintf(view->stream, "exact counters: %zu of %zu equal to expected", tally.compared - tally.differing,
                tally.compared);
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

/* What req counts, by the unit that answers. */
static const struct {
    const char *what;
    uint32_t units; /* a set of bits */
} request_kinds[] = {
    {"addresses", 1u << UNIT_IDC | 1u << UNIT_UNIFORM | 1u << UNIT_IMC},
    {"sectors", 1u << UNIT_L1 | 1u << UNIT_L2 | 1u << UNIT_TEXTURE},
    {"turns (wavefronts)", 1u << UNIT_SHARED},
};

/* Whether a cell of the path has requests. */
static bool path_has_requests(const struct result *result, const struct path *path)
{
    for (size_t i = 0; i < result->cell_count; i++)
        if (result->cells[i].cell.path == path && has_requests(&result->cells[i]))
            return true;
    return false;
}

/* Names the paths that load nothing. */
static void print_idle_paths(const struct result *result, struct text_wrap *wrap)
{
    for (size_t i = 0; i < path_count; i++) {
        bool shown = false;

        for (size_t k = 0; k < result->cell_count; k++)
            shown = shown || (result->cells[k].cell.path == &paths[i] && has_time(&result->cells[k]));
        if (!shown || paths[i].loads)
            continue;
        text_wrap(wrap, " (not ");
        text_wrap(wrap, paths[i].name);
        text_wrap(wrap, ", which loads nothing)");
    }
}

static void print_operations_legend(const struct view *view)
{
    struct text_wrap wrap = {.stream = view->stream, .width = 110};

    for (size_t i = 0; i < view->result->cell_count; i++)
        if (has_operations(&view->result->cells[i])) {
            text_wrap(&wrap,
                      "operations per byte: ideal, as textbooks count, with no cache: 4 bytes of the input for a "
                      "multiplication and an addition, and 4 of the filter where that is not in constant "
                      "memory; DRAM and L2, for each byte that the counters saw there.");
            fputc('\n', view->stream);
            return;
        }
}

static void print_legend(const struct view *view)
{
    struct text_wrap wrap = {.stream = view->stream, .width = 110};
    size_t kinds = 0;

    fputc('\n', view->stream);
    text_wrap(&wrap, "ratio: to the fastest path of the same pattern");
    print_idle_paths(view->result, &wrap);
    text_wrap(&wrap, ". req: modelled requests of a warp's load");
    for (size_t kind = 0; kind < sizeof(request_kinds) / sizeof(request_kinds[0]); kind++) {
        size_t named = 0;

        for (size_t i = 0; i < path_count; i++) {
            if (!(request_kinds[kind].units & 1u << paths[i].unit) || !path_has_requests(view->result, &paths[i]))
                continue;
            if (named++ == 0) {
                text_wrap(&wrap, kinds++ ? "; " : ": ");
                text_wrap(&wrap, request_kinds[kind].what);
                text_wrap(&wrap, " on ");
            } else {
                text_wrap(&wrap, ", ");
            }
            text_wrap(&wrap, paths[i].name);
        }
    }
    text_wrap(&wrap, ".");
    fputc('\n', view->stream);
    print_operations_legend(view);
}

void show_result(FILE *stream, const struct result *result, bool color)
{
    const struct view view = {.stream = stream, .result = result, .color = color};
    /* One more than needed: of nothing, calloc may give NULL. */
    const size_t room = result->cell_count + 1;
    struct workspace space = {
        .sorted = calloc(room, sizeof(*space.sorted)),
        .paths = calloc(room, sizeof(*space.paths)),
        .variants = calloc(room, sizeof(*space.variants)),
        .notes = {.text = calloc(room, sizeof(*space.notes.text))},
        .absent = calloc(2 * room, sizeof(*space.absent)), /* patterns and paths */
    };

    if (!space.sorted || !space.paths || !space.variants || !space.notes.text || !space.absent) {
        log_error(STATUS_ENVIRONMENT, "out of memory for the table of %zu cells", result->cell_count);
        goto out;
    }
    print_environment(&view);
    print_groups(&view, &space);
    print_legend(&view);
    print_cell_counts(&view);
    print_counters(&view);
    print_phases(&view);
out:
    free(space.sorted);
    free(space.paths);
    free(space.variants);
    free(space.notes.text);
    free(space.absent);
}
