/* SPDX-License-Identifier: MIT
 * Grids as text for a terminal: aligned columns, and records with one fact on each line. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "log.h"
#include "text_print.h"

enum { GAP = 2, NOTE_INDENT = 4, HEADINGS = -1 };

static const char bar[] = " | ";

/* A column that is laid out. */
struct position {
    int natural, width; /* by itself; at least as wide as the name of its group */
    int line; /* of a row; below 0: left out */
};

/* A text that is laid out. */
struct layout {
    FILE *stream;
    const struct grid *grid;
    const struct print_style *look;
    struct position *positions; /* owned, by column */
    int lines; /* of a row */
    unsigned limit; /* columns of a greater rank are left out */
    bool below; /* columns that may stand below the row do so */
    bool stacked; /* columns that name a row have a line of their own; else they begin every line */
};

/* The text of a row in a column, or its heading. It lives as long as *value and room. */
static const char *shown(const struct layout *layout, long row, size_t c, struct grid_value *value,
                         char room[TEXT_NUMBER_BYTES])
{
    const struct grid_column *column = &layout->grid->columns[c];

    value->style = GRID_PLAIN;
    if (row == HEADINGS)
        return column->heading;
    grid_value_at(layout->grid, (size_t)row, column, value);
    return grid_shown(column, value, room);
}

static bool same_group(const struct layout *layout, size_t a, size_t b)
{
    const char *first = layout->grid->columns[a].group, *second = layout->grid->columns[b].group;

    return first && second && strcmp(first, second) == 0;
}

/* Columns between a column and `before`, the one before it on the line; SIZE_MAX: none. */
static int gap(const struct layout *layout, size_t before, size_t c)
{
    if (before == SIZE_MAX)
        return 0;
    return layout->grid->columns[c].group && !same_group(layout, before, c) ? (int)sizeof(bar) - 1
                                                                            : GAP;
}

/* Columns of the group that begins with column c, which it is alone in without a group, and one
 * past its last column. Widens the first one that is not left out to make room for the group's
 * name. */
static int group_width(const struct layout *layout, size_t c, size_t *end)
{
    const struct grid_column *columns = layout->grid->columns;
    struct position *first = NULL;
    int width = 0, missing;

    for (*end = c; *end < layout->grid->column_count && (*end == c || same_group(layout, c, *end));
         ++*end) {
        struct position *position = &layout->positions[*end];

        position->width = position->natural;
        position->line =
            columns[*end].rank > layout->limit || (columns[*end].below && layout->below) ? -1 : 0;
        if (position->line < 0)
            continue;
        width += position->width + (first ? GAP : 0);
        first = first ? first : position;
    }
    missing = first && columns[c].group ? (int)text_columns(columns[c].group) - width : 0;
    if (missing > 0)
        first->width += missing;
    return width + (missing > 0 ? missing : 0);
}

/* Puts the columns that are not left out on lines. Columns that name a row come first. A group is
 * divided only if it needs more than a line. Returns whether all of them fit on one line. */
static bool place_columns(struct layout *layout)
{
    int room = layout->look->width - layout->look->indent, line = 0, used = 0, heads = 0;
    size_t before = SIZE_MAX, last_head = SIZE_MAX;
    bool fits = true;

    for (size_t c = 0, end; c < layout->grid->column_count; c = end) {
        const int needed = group_width(layout, c, &end);

        for (size_t i = c; i < end; i++) {
            struct position *position = &layout->positions[i];
            const bool head = layout->grid->columns[i].head;

            if (position->line < 0)
                continue;
            if (before != last_head
                    ? used + gap(layout, before, i) + (i == c ? needed : position->width) > room
                    : layout->stacked && line == 0 && !head && before != SIZE_MAX) {
                room -= layout->stacked && line == 0 ? NOTE_INDENT : 0;
                line++;
                used = layout->stacked ? 0 : heads;
                before = layout->stacked ? SIZE_MAX : last_head;
            }
            used += gap(layout, before, i) + position->width;
            fits = fits && line == 0 && used <= room;
            position->line = line;
            before = i;
            if (head) {
                heads = used;
                last_head = i;
            }
        }
    }
    layout->lines = line + 1;
    if (!layout->stacked && !fits && (layout->grid->stack || 2 * heads > room)) {
        layout->stacked = true;
        place_columns(layout);
    }
    return fits;
}

/* Like "%*s", which is slow for tables of many rows; a negative count is 0. */
static void put_blanks(const struct layout *layout, int count)
{
    static const char blanks[] = "                                ";
    const int most = sizeof(blanks) - 1;

    for (; count > 0; count -= most)
        fwrite_unlocked(blanks, 1, (size_t)(count < most ? count : most), layout->stream);
}

static bool is_on(const struct layout *layout, size_t c, int line)
{
    const struct position *position = &layout->positions[c];

    return position->line == line ||
           (layout->grid->columns[c].head && position->line >= 0 && !layout->stacked);
}

/* Prints the names of the groups above a line of headings; nothing if there are none. */
static void put_groups(const struct layout *layout, int line, int blanks)
{
    const struct grid_column *columns = layout->grid->columns;
    size_t before = SIZE_MAX;
    bool any = false;

    for (size_t c = 0; c < layout->grid->column_count; c++)
        any = any || (is_on(layout, c, line) && columns[c].group);
    for (size_t c = 0; any && c < layout->grid->column_count; c++) {
        const char *name = columns[c].group ? columns[c].group : "";

        if (!is_on(layout, c, line))
            continue;
        if (before != SIZE_MAX && same_group(layout, before, c)) {
            blanks += GAP + layout->positions[c].width;
        } else {
            put_blanks(layout, blanks);
            fputs(before == SIZE_MAX              ? ""
                  : gap(layout, before, c) == GAP ? "  "
                                                  : bar,
                  layout->stream);
            fputs(name, layout->stream);
            blanks = layout->positions[c].width - (int)text_columns(name);
        }
        before = c;
    }
    fputs(any ? "\n" : "", layout->stream);
}

/* Prints a line of a row, or of the headings. */
static void put_line(const struct layout *layout, long row, int line)
{
    static const char *const attributes[] = {
        [GRID_PLAIN] = "",         [GRID_BOLD] = "\033[1m", [GRID_GOOD] = "\033[32m",
        [GRID_DOUBT] = "\033[33m", [GRID_BAD] = "\033[31m", [GRID_DIM] = "\033[2m",
    };
    int blanks = layout->look->indent + (layout->stacked && line ? NOTE_INDENT : 0);
    char room[TEXT_NUMBER_BYTES];
    struct grid_value value;
    size_t before = SIZE_MAX;

    if (row == HEADINGS)
        put_groups(layout, line, blanks);
    for (size_t c = 0; c < layout->grid->column_count; c++) {
        const bool right = layout->grid->columns[c].format;
        const char *text, *style;
        int padding;

        if (!is_on(layout, c, line))
            continue;
        text = shown(layout, row, c, &value, room);
        style = layout->look->color ? attributes[value.style] : "";
        padding = layout->positions[c].width - (int)text_columns(text);
        put_blanks(layout, blanks);
        fputs(before == SIZE_MAX ? "" : gap(layout, before, c) == GAP ? "  " : bar, layout->stream);
        put_blanks(layout, right ? padding : 0);
        fputs(style, layout->stream);
        text_put(layout->stream, escapes_none, text);
        fputs(*style ? "\033[m" : "", layout->stream);
        blanks = right ? 0 : padding;
        before = c;
    }
    putc('\n', layout->stream);
}

/* Gives each column the width of its widest text. */
static void measure_columns(struct layout *layout)
{
    const struct grid *grid = layout->grid;
    char room[TEXT_NUMBER_BYTES];
    struct grid_value value;

    for (long row = HEADINGS; row < (long)grid->row_count; row++)
        for (size_t c = 0; c < grid->column_count; c++) {
            const int width = (int)text_columns(shown(layout, row, c, &value, room));

            if (layout->positions[c].natural < width)
                layout->positions[c].natural = width;
        }
}

/* Leaves out columns, those of the greatest rank first, until the others fit on a line or no rank
 * is left. */
static void choose_columns(struct layout *layout)
{
    const struct grid *grid = layout->grid;

    layout->limit = UINT_MAX;
    layout->below = !place_columns(layout);
    do {
        unsigned next = 0; /* the greatest rank below the limit */

        for (size_t c = 0; c < grid->column_count; c++)
            if (grid->columns[c].rank < layout->limit && grid->columns[c].rank > next)
                next = grid->columns[c].rank;
        layout->limit = next;
        layout->stacked = false;
    } while (!place_columns(layout) && layout->limit > 0);
}

/* Prints what stands below a row: columns for which there is no room, and its notes. */
static void print_below(const struct layout *layout, size_t row)
{
    const struct grid *grid = layout->grid;
    const int indent = layout->look->indent + NOTE_INDENT;
    const struct text_wrap wrap = {.stream = layout->stream,
                                   .width = layout->look->width,
                                   .column = indent,
                                   .indent = indent + 2};
    char note[GRID_NOTE_BYTES], room[TEXT_NUMBER_BYTES];
    struct grid_value value;

    for (size_t c = 0; layout->below && c < grid->column_count; c++) {
        const char *text = grid->columns[c].below ? shown(layout, (long)row, c, &value, room) : "";

        if (*text && strcmp(text, "-") != 0)
            text_paragraph(wrap, "%s: %s", grid->columns[c].heading, text);
    }
    for (size_t k = 0; grid->note && grid->note(grid_row(grid, row), k, note, sizeof(note)); k++)
        text_paragraph(wrap, "%s", note);
}

/* Prints headings and rows; a row of several lines has them together where columns are stacked. */
static void print_rows(const struct layout *layout)
{
    const size_t lines = (size_t)layout->lines, rows = 1 + layout->grid->row_count;

    for (size_t i = 0; i < lines * rows; i++) {
        const size_t row = layout->stacked ? i / lines : i % rows;
        const size_t line = layout->stacked ? i % lines : i / rows;

        if (line > 0 && row == 0 && !layout->stacked)
            fputc('\n', layout->stream);
        put_line(layout, (long)row - 1, (int)line);
        if (row > 0 && line + 1 == lines)
            print_below(layout, row - 1);
    }
}

enum status grid_print(FILE *stream, const struct grid *grid, const struct print_style *look)
{
    struct layout layout = {.stream = stream, .grid = grid, .look = look};

    if (grid->row_count == 0)
        return STATUS_OK;
    layout.positions = calloc(grid->column_count, sizeof(*layout.positions));
    if (!layout.positions)
        return log_memory("a table");
    measure_columns(&layout);
    choose_columns(&layout);
    if (look->ranks && look->ranks->greatest < layout.limit)
        look->ranks->greatest = layout.limit;
    if (look->ranks && look->ranks->least > layout.limit)
        look->ranks->least = layout.limit;
    if (grid->title)
        fprintf(stream, "%s\n", grid->title);
    print_rows(&layout);
    free(layout.positions);
    return STATUS_OK;
}

void grid_print_records(FILE *stream, const struct grid *grid, const struct print_style *look)
{
    const char *title = grid->title;
    char room[TEXT_NUMBER_BYTES];
    struct grid_value value;
    int width = 0;

    for (size_t c = 0; c < grid->column_count; c++)
        if (width < (int)text_columns(grid->columns[c].heading))
            width = (int)text_columns(grid->columns[c].heading);
    for (size_t i = 0; i < grid->row_count * grid->column_count; i++) {
        const struct grid_column *column = &grid->columns[i % grid->column_count];
        const int indent = look->indent + width + GAP;
        struct text_wrap wrap = {.stream = stream,
                                 .width = look->width,
                                 .column = indent,
                                 .indent = indent};

        grid_value_at(grid, i / grid->column_count, column, &value);
        if (!isfinite(value.number) && !(value.text && value.text[0]))
            continue;
        fprintf(stream, "%s%s%*s%s%*s", title ? title : "", title ? "\n" : "", look->indent, "",
                column->heading, width + GAP - (int)text_columns(column->heading), "");
        title = NULL;
        text_wrap(&wrap, grid_shown(column, &value, room));
        putc('\n', stream);
    }
}
