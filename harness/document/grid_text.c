/* SPDX-License-Identifier: MIT
 * Grids as text for a terminal: widths, blocks of columns, lines, and records with one fact on each line. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grid_value.h"
#include "log.h"
#include "text_print.h"
#include "texts.h"

enum { GAP = 2, NOTE_INDENT = 4 };

static const char bar[] = " | ";

/* The text of a row in a column. */
struct shown {
    const char *text;
    int columns; /* its width */
    enum grid_style style;
};

/* A text that is being laid out. The arrays are owned. */
struct layout {
    FILE *stream;
    const struct grid *grid;
    const struct print_style *look;
    int room;               /* columns of the terminal after the indent */
    int *natural;           /* width of each column by itself */
    int *widths;            /* at least as wide as the names of the groups */
    struct shown *headings; /* by column */
    struct shown *rows;     /* by row, then by column */
    size_t *line;           /* columns of the line that is being printed */
    struct texts texts;     /* texts that do not live as long as the rows */
    unsigned limit;         /* columns of a greater rank are left out */
    bool below;             /* columns that may stand below the row do so */
    bool stacked;           /* columns that name a row have a separate line */
};

/* Asks for every value once, and makes texts printable. False when out of memory. */
static bool open_layout(struct layout *layout)
{
    const struct grid *grid = layout->grid;
    const size_t columns = grid->column_count;

    layout->room = layout->look->width - layout->look->indent;
    layout->widths = calloc(columns, sizeof(*layout->widths));
    layout->natural = calloc(columns, sizeof(*layout->natural));
    layout->headings = calloc(columns, sizeof(*layout->headings));
    layout->line = calloc(columns, sizeof(*layout->line));
    layout->rows = calloc(grid->row_count * columns, sizeof(*layout->rows));
    if (!layout->widths || !layout->natural || !layout->headings || !layout->line || !layout->rows)
        return false;
    for (size_t c = 0; c < columns; c++) {
        const char *heading = grid->columns[c].heading;

        layout->headings[c] = (struct shown){heading, (int)text_columns(heading), GRID_PLAIN};
        layout->natural[c] = layout->headings[c].columns;
    }
    for (size_t i = 0; i < grid->row_count * columns; i++) {
        const struct grid_column *column = &grid->columns[i % columns];
        char room[TEXT_NUMBER_BYTES], *copy;
        struct grid_value value;
        const char *text;

        grid_value_at(grid, i / columns, column, &value);
        text = grid_shown(column, &value, room);
        if (text != value.text || text == value.room || !text_is_plain(text)) {
            text = copy = texts_add(&layout->texts, text);
            if (!copy)
                return false;
            text_clean(copy);
        }
        layout->rows[i] = (struct shown){text, (int)text_columns(text), value.style};
        if (layout->natural[i % columns] < layout->rows[i].columns)
            layout->natural[i % columns] = layout->rows[i].columns;
    }
    return true;
}

/* -- which columns stand on a line --------------------------------------------------------------------- */

static bool same_group(const struct grid_column *a, const struct grid_column *b)
{
    return a->group && b->group && strcmp(a->group, b->group) == 0;
}

static bool left_out(const struct layout *layout, size_t c)
{
    const struct grid_column *column = &layout->grid->columns[c];

    return layout->widths[c] == 0 || column->rank > layout->limit || (column->below && layout->below);
}

/* Columns between column c and the one before it on the line. */
static int gap_before(const struct layout *layout, const size_t *line, size_t i)
{
    const struct grid_column *columns = layout->grid->columns;

    if (i == 0)
        return 0;
    return columns[line[i]].group && !same_group(&columns[line[i - 1]], &columns[line[i]]) ? (int)sizeof(bar) - 1 : GAP;
}

enum part { HEADS = 1, OTHERS = 2, ALL = HEADS | OTHERS };

/* Fills layout->line with columns for `room`: with ALL the heads, then the other columns from *first on; else only the
 * heads, or only the others from *first on. A group that would fit alone is not divided. Moves *first after the last
 * column. Returns the number of columns on the line, and their width in *width. */
static size_t take_line(const struct layout *layout, enum part part, int room, size_t *first, int *width)
{
    const struct grid_column *columns = layout->grid->columns;
    const size_t count = layout->grid->column_count;
    size_t *line = layout->line, taken = 0, begun, whole_end = *first, whole_taken;

    *width = 0;
    for (size_t c = 0; part == ALL && c < count; c++)
        if (columns[c].head && !left_out(layout, c)) {
            line[taken] = c;
            *width += layout->widths[c] + gap_before(layout, line, taken);
            taken++;
        }
    begun = whole_taken = taken;
    for (size_t c = *first; c < count; c++) {
        if (columns[c].head == (part == HEADS) && !left_out(layout, c)) {
            int needed;

            line[taken] = c;
            needed = layout->widths[c] + gap_before(layout, line, taken);
            if (*width + needed > room && taken > begun) {
                *first = whole_taken > begun ? whole_end : c;
                return whole_taken > begun ? whole_taken : taken;
            }
            *width += needed;
            taken++;
        }
        if (c + 1 == count || !same_group(&columns[c], &columns[c + 1])) {
            whole_end = c + 1;
            whole_taken = taken;
        }
    }
    *first = count;
    return taken;
}

static int width_of(const struct layout *layout, enum part part)
{
    size_t first = 0;
    int width;

    take_line(layout, part, INT_MAX, &first, &width);
    return width;
}

static size_t block_count(const struct layout *layout)
{
    size_t count = 0;
    int width;

    for (size_t first = 0; first < layout->grid->column_count; count++)
        take_line(layout, layout->stacked ? OTHERS : ALL, layout->room - (layout->stacked ? NOTE_INDENT : 0), &first,
                  &width);
    return count;
}

/* Leaves out columns of a greater rank. Widens the first column of a group to make room for the group's name. */
static void limit_columns(struct layout *layout, unsigned limit)
{
    const struct grid_column *columns = layout->grid->columns;
    const size_t count = layout->grid->column_count;

    layout->limit = limit;
    memcpy(layout->widths, layout->natural, count * sizeof(*layout->widths));
    for (size_t c = 0, end; c < count; c = end) {
        size_t present = count;
        int width = 0;

        for (end = c; end < count && (end == c || same_group(&columns[c], &columns[end])); end++)
            if (!left_out(layout, end)) {
                width += layout->widths[end] + (present < count ? GAP : 0);
                present = present < count ? present : end;
            }
        if (columns[c].group && present < count && (int)text_columns(columns[c].group) > width)
            layout->widths[present] += (int)text_columns(columns[c].group) - width;
    }
    layout->stacked =
        width_of(layout, ALL) > layout->room && (layout->grid->stacked || 2 * width_of(layout, HEADS) > layout->room);
}

/* Makes as few blocks as possible, and leaves out no more columns than that needs. Names on separate lines count as one
 * more block. */
static void choose_columns(struct layout *layout)
{
    unsigned limit = UINT_MAX, best = 0;
    size_t fewest = SIZE_MAX;

    limit_columns(layout, UINT_MAX);
    layout->below = width_of(layout, ALL) > layout->room;
    while (limit > 0) {
        unsigned next = 0; /* the greatest rank below the limit */

        for (size_t c = 0; c < layout->grid->column_count; c++)
            if (layout->grid->columns[c].rank < limit && layout->grid->columns[c].rank > next)
                next = layout->grid->columns[c].rank;
        limit = next;
        limit_columns(layout, limit);
        if (block_count(layout) + layout->stacked < fewest) {
            fewest = block_count(layout) + layout->stacked;
            best = limit;
        }
    }
    limit_columns(layout, best);
    if (layout->look->rank && *layout->look->rank < best)
        *layout->look->rank = best;
}

/* -- lines --------------------------------------------------------------------------------------------- */

/* Like "%*s", which is slow for tables of many rows; a negative count is 0. */
static void put_blanks(const struct layout *layout, int count)
{
    static const char blanks[] = "                                ";
    const int most = sizeof(blanks) - 1;

    for (; count > 0; count -= most)
        fwrite_unlocked(blanks, 1, (size_t)(count < most ? count : most), layout->stream);
}

static void put_style(const struct layout *layout, enum grid_style style, bool begin)
{
    static const char *const attributes[] = {
        [GRID_PLAIN] = "",   [GRID_BOLD] = "1", [GRID_GOOD] = "32",
        [GRID_DOUBT] = "33", [GRID_BAD] = "31", [GRID_DIM] = "2",
    };

    if (layout->look->color && style != GRID_PLAIN)
        fprintf(layout->stream, "\033[%sm", begin ? attributes[style] : "");
}

/* Prints the columns of layout->line; `shown` has one for each column of the grid. */
static void put_line(const struct layout *layout, size_t count, int indent, const struct shown *shown)
{
    put_blanks(layout, layout->look->indent + indent);
    for (size_t i = 0; i < count; i++) {
        const size_t c = layout->line[i];
        const bool right = layout->grid->columns[c].format != NULL, last = i + 1 == count;
        const int padding = layout->widths[c] - shown[c].columns;
        size_t bytes = strlen(shown[c].text);

        while (last && bytes > 0 && shown[c].text[bytes - 1] == ' ')
            bytes--;
        fputs(i == 0 ? "" : gap_before(layout, layout->line, i) == GAP ? "  " : bar, layout->stream);
        put_blanks(layout, right ? padding : 0);
        put_style(layout, shown[c].style, true);
        fwrite_unlocked(shown[c].text, 1, bytes, layout->stream);
        put_style(layout, shown[c].style, false);
        put_blanks(layout, right || last ? 0 : padding);
    }
    putc('\n', layout->stream);
}

/* The groups above the headings; nothing if there are none. */
static void put_groups(const struct layout *layout, size_t count, int indent)
{
    const struct grid_column *columns = layout->grid->columns;
    const size_t *line = layout->line;
    bool any = false;

    for (size_t i = 0; i < count; i++)
        any = any || columns[line[i]].group;
    if (!any)
        return;
    put_blanks(layout, layout->look->indent + indent);
    for (size_t i = 0, end; i < count; i = end) {
        const char *group = columns[line[i]].group ? columns[line[i]].group : "";
        int left = layout->widths[line[i]] - (int)text_columns(group);

        for (end = i + 1; end < count && same_group(&columns[line[i]], &columns[line[end]]); end++)
            left += GAP + layout->widths[line[end]];
        if (i > 0)
            fputs(gap_before(layout, line, i) == GAP ? "  " : bar, layout->stream);
        fputs(group, layout->stream);
        put_blanks(layout, end < count ? left : 0);
    }
    putc('\n', layout->stream);
}

/* Prints the columns that were moved below a row, then its notes. */
static void put_notes(const struct layout *layout, size_t row)
{
    const struct grid *grid = layout->grid;
    const struct shown *shown = layout->rows + row * grid->column_count;
    const int indent = layout->look->indent + NOTE_INDENT;
    const struct text_wrap wrap = {.stream = layout->stream,
                                   .width = layout->look->width,
                                   .column = indent,
                                   .indent = indent + 2};
    char note[GRID_NOTE_BYTES];

    for (size_t c = 0; layout->below && c < grid->column_count; c++)
        if (grid->columns[c].below && shown[c].text[0] && strcmp(shown[c].text, "-") != 0)
            text_paragraph(wrap, "%s: %s", grid->columns[c].heading, shown[c].text);
    for (size_t i = 0; grid->note && grid->note(grid_row(grid, row), i, note, sizeof(note)); i++)
        text_paragraph(wrap, "%s", note);
}

/* Prints blocks of columns below each other, each with the heads at its left. */
static void put_blocks(const struct layout *layout)
{
    const size_t columns = layout->grid->column_count;
    int width;

    for (size_t first = 0; first < columns;) {
        const size_t before = first, count = take_line(layout, ALL, layout->room, &first, &width);

        fputs(before ? "\n" : "", layout->stream);
        put_groups(layout, count, 0);
        put_line(layout, count, 0, layout->headings);
        for (size_t r = 0; r < layout->grid->row_count; r++) {
            put_line(layout, count, 0, layout->rows + r * columns);
            if (first == columns)
                put_notes(layout, r);
        }
    }
}

/* Prints the columns that name a row on separate lines, the other columns on lines below. */
static void put_stack(const struct layout *layout, const struct shown *shown)
{
    int width;

    for (enum part part = HEADS; part <= OTHERS; part++)
        for (size_t first = 0; first < layout->grid->column_count;) {
            const int indent = part == HEADS ? 0 : NOTE_INDENT;
            const size_t count = take_line(layout, part, layout->room - indent, &first, &width);

            if (shown == layout->headings && part == OTHERS)
                put_groups(layout, count, indent);
            put_line(layout, count, indent, shown);
        }
}

enum status grid_print(FILE *stream, const struct grid *grid, const struct print_style *look)
{
    struct layout layout = {.stream = stream, .grid = grid, .look = look};
    enum status status = STATUS_OK;

    if (grid->row_count == 0)
        return STATUS_OK;
    if (!open_layout(&layout)) {
        status = log_memory("a table");
        goto out;
    }
    choose_columns(&layout);
    if (grid->title)
        fprintf(stream, "%s\n", grid->title);
    if (!layout.stacked)
        put_blocks(&layout);
    else
        put_stack(&layout, layout.headings);
    for (size_t r = 0; layout.stacked && r < grid->row_count; r++) {
        put_stack(&layout, layout.rows + r * grid->column_count);
        put_notes(&layout, r);
    }
out:
    texts_close(&layout.texts);
    free(layout.line);
    free(layout.headings);
    free(layout.rows);
    free(layout.widths);
    free(layout.natural);
    return status;
}

/* -- records ------------------------------------------------------------------------------------------- */

void grid_print_records(FILE *stream, const struct grid *grid, const struct print_style *look)
{
    const char *title = grid->title;
    char room[TEXT_NUMBER_BYTES];
    struct grid_value value;
    struct text_wrap wrap;
    int width = 0, indent;

    for (size_t c = 0; c < grid->column_count; c++)
        if (width < (int)text_columns(grid->columns[c].heading))
            width = (int)text_columns(grid->columns[c].heading);
    indent = look->indent + width + GAP;
    for (size_t r = 0; r < grid->row_count; r++)
        for (size_t c = 0; c < grid->column_count; c++) {
            grid_value_at(grid, r, &grid->columns[c], &value);
            if (!isfinite(value.number) && !(value.text && value.text[0]))
                continue;
            if (title)
                fprintf(stream, "%s\n", title);
            title = NULL;
            wrap = (struct text_wrap){.stream = stream, .width = look->width, .column = indent, .indent = indent};
            fprintf(stream, "%*s%s%*s", look->indent, "", grid->columns[c].heading,
                    width + GAP - (int)text_columns(grid->columns[c].heading), "");
            text_wrap(&wrap, grid_shown(&grid->columns[c], &value, room));
            putc('\n', stream);
        }
}
