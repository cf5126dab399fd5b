/* SPDX-License-Identifier: MIT
 * Grids as text for a terminal: widths, blocks of columns, lines, and records of one fact a line. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grid_value.h"
#include "log.h"
#include "parallel.h"
#include "pool.h"

enum { ROWS_AT_ONCE = 512, GAP = 2, NOTE_INDENT = 4 };

static const char bar[] = " | ";

static bool same_group(const struct grid_column *a, const struct grid_column *b)
{
    return a->group && b->group && strcmp(a->group, b->group) == 0;
}

/* -- layout of text ------------------------------------------------------------------------------------ */

/* What stands in a column of a line. */
struct shown {
    const char *text;
    int columns; /* its width */
    enum grid_style style;
};

/* A text that is being laid out. */
struct layout {
    FILE *stream;
    const struct grid *grid;
    const struct grid_look *look;
    int *natural;     /* owned: widths of the columns by themselves */
    int *widths;      /* owned: the same, as wide as the names of their groups */
    struct shown *headings; /* owned: by column */
    struct shown *rows; /* owned: by row, then by column */
    struct pool *pools; /* owned: of those that do not live as long as the rows, ROWS_AT_ONCE of these each */
    unsigned limit;   /* columns of a greater rank are left out */
    bool below;       /* columns that may stand below the row do */
    bool stacked;     /* what names a row has a line of its own */
};

static bool left_out(const struct layout *layout, size_t c)
{
    const struct grid_column *column = &layout->grid->columns[c];

    return layout->widths[c] == 0 || column->rank > layout->limit || (column->below && layout->below);
}

static size_t pool_count(const struct layout *layout)
{
    return layout->grid->row_count / ROWS_AT_ONCE + 1;
}

static void close_layout(struct layout *layout)
{
    for (size_t i = 0; layout->pools && i < pool_count(layout); i++)
        pool_close(&layout->pools[i]);
    free(layout->pools);
    free(layout->headings);
    free(layout->rows);
    free(layout->widths);
    free(layout->natural);
}

/* What is shown of a value, printable: as it lies in the row, or the pool's. NULL out of memory. */
static const char *lasting_text(struct pool *pool, const struct grid_column *column, const struct grid_value *value)
{
    char room[TEXT_NUMBER_BYTES], *copy;
    const char *shown = grid_shown(column, value, room);

    if (shown == value->text && shown != value->room && text_is_plain(shown))
        return shown;
    copy = pool_text(pool, shown);
    if (copy)
        text_clean(copy);
    return copy;
}

/* Asks for every value of so many rows. Without memory a text stays NULL. */
static void fill_rows(void *context, uint64_t first, uint64_t count)
{
    const struct layout *layout = context;
    const size_t columns = layout->grid->column_count;
    struct grid_value value;

    for (size_t i = first * columns; i < (first + count) * columns; i++) {
        const struct grid_column *column = &layout->grid->columns[i % columns];
        const struct shown *above = i < (first + 1) * columns ? NULL : &layout->rows[i - columns];
        const char *text;

        grid_value_at(layout->grid, i / columns, column, &value);
        if (above && value.text && above->text == value.text) {
            layout->rows[i] = (struct shown){above->text, above->columns, value.style};
            continue;
        }
        text = lasting_text(&layout->pools[i / columns / ROWS_AT_ONCE], column, &value);
        if (!text)
            return;
        layout->rows[i] = (struct shown){text, (int)text_columns(text), value.style};
    }
}

/* Makes the column as wide as what stands in it. */
static void widen(int *width, int columns)
{
    *width = columns > *width ? columns : *width;
}

/* Asks for every value once. False when out of memory. */
static bool fill_layout(struct layout *layout)
{
    const struct grid *grid = layout->grid;
    const size_t columns = grid->column_count;

    layout->widths = calloc(columns, sizeof(*layout->widths));
    layout->natural = calloc(columns, sizeof(*layout->natural));
    layout->headings = calloc(columns, sizeof(*layout->headings));
    layout->rows = calloc(grid->row_count * columns, sizeof(*layout->rows));
    layout->pools = calloc(pool_count(layout), sizeof(*layout->pools));
    if (!layout->widths || !layout->natural || !layout->headings || !layout->rows || !layout->pools)
        return false;
    for (size_t c = 0; c < columns; c++) {
        const char *heading = grid->columns[c].heading;

        layout->headings[c] = (struct shown){heading, (int)text_columns(heading), GRID_PLAIN};
        widen(&layout->natural[c], layout->headings[c].columns);
    }
    parallel_ranges(grid->row_count, ROWS_AT_ONCE, fill_rows, layout);
    for (size_t i = 0; i < grid->row_count * columns; i++) {
        if (!layout->rows[i].text)
            return false;
        widen(&layout->natural[i % columns], layout->rows[i].columns);
    }
    return true;
}

/* What stands before column c where `previous` stands before it; its width. */
static int gap_before(const struct layout *layout, const struct grid_column *previous, size_t c)
{
    const struct grid_column *column = &layout->grid->columns[c];

    if (!previous)
        return 0;
    return column->group && !same_group(previous, column) ? (int)sizeof(bar) - 1 : GAP;
}

/* Width of the columns that are not left out, heads only or the others only or both. */
static int total_width(const struct layout *layout, bool heads, bool others)
{
    const struct grid_column *previous = NULL;
    int width = 0;

    for (size_t c = 0; c < layout->grid->column_count; c++) {
        const struct grid_column *column = &layout->grid->columns[c];

        if (left_out(layout, c) || !(column->head ? heads : others))
            continue;
        width += gap_before(layout, previous, c) + layout->widths[c];
        previous = column;
    }
    return width;
}

static int room_for_columns(const struct layout *layout)
{
    return layout->look->width - layout->look->indent;
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

/* -- lines --------------------------------------------------------------------------------------------- */

/* Columns first .. last - 1 that go on one line, behind the heads if `heads`. */
struct span {
    size_t first, last;
    bool heads;
    bool alone; /* only those heads that are among them */
    size_t end; /* the last column that is printed, see last_of */
};

static bool in_span(const struct layout *layout, const struct span *span, size_t c)
{
    if (left_out(layout, c))
        return false;
    if (span->alone || !layout->grid->columns[c].head)
        return layout->grid->columns[c].head == span->alone && c >= span->first && c < span->last;
    return span->heads;
}

static const struct shown *row_at(const struct layout *layout, size_t row)
{
    return layout->rows + row * layout->grid->column_count;
}

/* As "%*s", which takes long for tables of many rows; negative is as 0. */
static void put_blanks(const struct layout *layout, int count)
{
    static const char blanks[] = "                                ";
    const int most = sizeof(blanks) - 1;

    for (; count > 0; count -= most)
        fwrite_unlocked(blanks, 1, (size_t)(count < most ? count : most), layout->stream);
}

static void put_padded(const struct layout *layout, const struct shown *shown, size_t c, bool last)
{
    const int padding = layout->widths[c] - shown->columns;
    const bool right = layout->grid->columns[c].format != NULL;
    size_t bytes = strlen(shown->text);

    while (last && bytes > 0 && shown->text[bytes - 1] == ' ')
        bytes--;
    put_blanks(layout, right ? padding : 0);
    put_style(layout, shown->style, true);
    fwrite_unlocked(shown->text, 1, bytes, layout->stream);
    put_style(layout, shown->style, false);
    if (!right && !last)
        put_blanks(layout, padding);
}

/* The last column of the span that is printed. */
static size_t last_of(const struct layout *layout, const struct span *span)
{
    size_t last = 0;

    for (size_t c = 0; c < layout->grid->column_count; c++)
        if (in_span(layout, span, c))
            last = c;
    return last;
}

/* `line`: what stands in each column. */
static void put_line(const struct layout *layout, const struct span *span, int indent, const struct shown *line)
{
    const struct grid_column *previous = NULL;

    put_blanks(layout, layout->look->indent + indent);
    for (size_t c = 0; c <= span->end; c++) {
        int gap;

        if (!in_span(layout, span, c))
            continue;
        gap = gap_before(layout, previous, c);
        if (gap == GAP)
            put_blanks(layout, GAP);
        else if (previous)
            fputs(bar, layout->stream);
        put_padded(layout, &line[c], c, c == span->end);
        previous = &layout->grid->columns[c];
    }
    putc('\n', layout->stream);
}

/* Width of the columns of c's group from c on, in the span. */
static int group_width(const struct layout *layout, const struct span *span, size_t c)
{
    const struct grid_column *first = &layout->grid->columns[c], *previous = NULL;
    int width = 0;

    for (; c < span->last && same_group(first, &layout->grid->columns[c]); c++)
        if (in_span(layout, span, c)) {
            width += gap_before(layout, previous, c) + layout->widths[c];
            previous = &layout->grid->columns[c];
        }
    return width;
}

static bool has_groups(const struct layout *layout, const struct span *span)
{
    for (size_t c = span->first; c < span->last; c++)
        if (in_span(layout, span, c) && layout->grid->columns[c].group)
            return true;
    return false;
}

/* The groups above the headings; nothing where there is none. */
static void put_groups(const struct layout *layout, const struct span *span, int indent)
{
    const struct grid_column *previous = NULL, *last = &layout->grid->columns[span->end];
    const int heads = span->heads ? total_width(layout, true, false) : 0;

    if (!has_groups(layout, span))
        return;
    fprintf(layout->stream, "%*s", layout->look->indent + indent + heads, "");
    for (size_t c = span->first; c < span->last; c++) {
        const struct grid_column *column = &layout->grid->columns[c];
        const char *group = column->group ? column->group : "";

        if (!in_span(layout, span, c) || column->head || (previous && same_group(previous, column)))
            continue;

        const int left = group_width(layout, span, c) - (int)text_columns(group);

        fprintf(layout->stream, "%s%s", heads || previous ? bar : "", group);
        fprintf(layout->stream, "%*s", same_group(column, last) || left < 0 ? 0 : left, "");
        previous = column;
    }
    putc('\n', layout->stream);
}

static void put_note(const struct layout *layout, const char *note)
{
    const int indent = layout->look->indent + NOTE_INDENT;

    text_paragraph((struct text_wrap){.stream = layout->stream,
                                      .width = layout->look->width,
                                      .column = indent,
                                      .indent = indent + 2},
                   "%s", note);
}

/* What stands below a row: columns that were moved there, then its notes. */
static void put_notes(const struct layout *layout, size_t row)
{
    const struct grid *grid = layout->grid;
    char note[GRID_NOTE_BYTES];

    for (size_t c = 0; layout->below && c < grid->column_count; c++) {
        const char *text = row_at(layout, row)[c].text;

        if (!grid->columns[c].below || !text[0] || strcmp(text, "-") == 0)
            continue;
        snprintf(note, sizeof(note), "%s: %s", grid->columns[c].heading, text);
        put_note(layout, note);
    }
    for (size_t i = 0; grid->note && grid->note(grid_row(grid, row), i, note, sizeof(note)); i++)
        put_note(layout, note);
}

/* The end of the longest run of columns from `first` on that fits, behind the heads or below them, or of heads alone;
 * groups stay whole where one alone fits. */
static size_t span_end(const struct layout *layout, size_t first, bool alone)
{
    const struct grid *grid = layout->grid;
    const struct grid_column *previous = NULL;
    const int heads = alone ? 0 : layout->stacked ? NOTE_INDENT : total_width(layout, true, false);
    size_t whole = first;
    int width = heads;

    for (size_t c = first; c < grid->column_count; c++) {
        const struct grid_column *column = &grid->columns[c];

        if (column->head == alone && !left_out(layout, c)) {
            if (!previous && heads > 0 && !layout->stacked)
                width += column->group ? (int)sizeof(bar) - 1 : GAP;
            width += gap_before(layout, previous, c) + layout->widths[c];
            if (width > room_for_columns(layout) && previous)
                return whole > first ? whole : c;
            previous = column;
        }
        if (c + 1 == grid->column_count || !same_group(column, &grid->columns[c + 1]))
            whole = c + 1;
    }
    return grid->column_count;
}

/* -- blocks -------------------------------------------------------------------------------------------- */

/* Blocks of columns below each other, each with the heads beside it. */
static void put_blocks(const struct layout *layout)
{
    const size_t count = layout->grid->column_count;

    for (size_t first = 0; first < count;) {
        struct span span = {.first = first, .last = span_end(layout, first, false), .heads = true};

        span.end = last_of(layout, &span);
        if (first > 0)
            putc('\n', layout->stream);
        put_groups(layout, &span, 0);
        put_line(layout, &span, 0, layout->headings);
        for (size_t r = 0; r < layout->grid->row_count; r++) {
            put_line(layout, &span, 0, row_at(layout, r));
            if (span.last >= count)
                put_notes(layout, r);
        }
        first = span.last;
    }
}

/* What names a row on a line, the other columns on lines below it. */
static void put_stack(const struct layout *layout, const struct shown *line)
{
    const size_t count = layout->grid->column_count;

    for (int heads = 1; heads >= 0; heads--)
        for (size_t first = 0; first < count;) {
            struct span span = {.first = first, .last = span_end(layout, first, heads), .alone = heads};

            span.end = last_of(layout, &span);
            if (line == layout->headings && !heads)
                put_groups(layout, &span, NOTE_INDENT);
            put_line(layout, &span, heads ? 0 : NOTE_INDENT, line);
            first = span.last;
        }
}

static void put_stacks(const struct layout *layout)
{
    put_stack(layout, layout->headings);
    for (size_t r = 0; r < layout->grid->row_count; r++) {
        put_stack(layout, row_at(layout, r));
        put_notes(layout, r);
    }
}

static size_t block_count(const struct layout *layout)
{
    size_t count = 0;

    for (size_t first = 0; first < layout->grid->column_count; first = span_end(layout, first, false))
        count++;
    return count;
}

/* The greatest rank of a column that is below `limit`; 0 where there is none. */
static unsigned rank_below(const struct grid *grid, unsigned limit)
{
    unsigned rank = 0;

    for (size_t c = 0; c < grid->column_count; c++)
        if (grid->columns[c].rank < limit && grid->columns[c].rank > rank)
            rank = grid->columns[c].rank;
    return rank;
}

static void limit_columns(struct layout *layout, unsigned limit)
{
    const size_t count = layout->grid->column_count;
    const struct grid_column *columns = layout->grid->columns;

    layout->limit = limit;
    memcpy(layout->widths, layout->natural, count * sizeof(*layout->widths));
    for (size_t c = 0; c < count; c++) {
        const int left = columns[c].group ? (int)text_columns(columns[c].group) -
                                                group_width(layout, &(struct span){.first = c, .last = count}, c)
                                          : 0;

        /* The first column of a group that is there. */
        if (left > 0 && !left_out(layout, c))
            layout->widths[c] += left;
        while (columns[c].group && !left_out(layout, c) && c + 1 < count && same_group(&columns[c], &columns[c + 1]))
            c++;
    }
    layout->stacked = total_width(layout, true, true) > room_for_columns(layout) &&
                      (layout->grid->stacked || 2 * total_width(layout, true, false) > room_for_columns(layout));
}

/* Makes as few blocks as can be, and leaves out no more than that takes. Names on lines of their own are one more. */
static void choose_columns(struct layout *layout)
{
    unsigned limit = UINT_MAX, best = 0;
    size_t fewest = SIZE_MAX;

    limit_columns(layout, rank_below(layout->grid, limit));
    layout->below = total_width(layout, true, true) > room_for_columns(layout);
    do {
        limit = rank_below(layout->grid, limit);
        limit_columns(layout, limit);
        if (block_count(layout) + layout->stacked < fewest) {
            fewest = block_count(layout) + layout->stacked;
            best = limit;
        }
    } while (limit > 0);
    limit_columns(layout, best);
    if (layout->look->rank && *layout->look->rank < best)
        *layout->look->rank = best;
}

enum status grid_print(FILE *stream, const struct grid *grid, const struct grid_look *look)
{
    struct layout layout = {.stream = stream, .grid = grid, .look = look};
    enum status status = STATUS_OK;

    if (grid->row_count == 0)
        return STATUS_OK;
    if (!fill_layout(&layout)) {
        status = log_memory("a table");
        goto out;
    }
    choose_columns(&layout);
    if (grid->title)
        fprintf(stream, "%s\n", grid->title);
    if (layout.stacked)
        put_stacks(&layout);
    else
        put_blocks(&layout);
out:
    close_layout(&layout);
    return status;
}

/* -- records ------------------------------------------------------------------------------------------- */

static void put_fact(FILE *stream, const struct grid_look *look, const char *heading, int width, const char *text)
{
    const int indent = look->indent + width + GAP;
    struct text_wrap wrap = {.stream = stream, .width = look->width, .column = indent, .indent = indent};

    fprintf(stream, "%*s%s%*s", look->indent, "", heading, width + GAP - (int)text_columns(heading), "");
    text_wrap(&wrap, text);
    putc('\n', stream);
}

void grid_print_records(FILE *stream, const struct grid *grid, const struct grid_look *look)
{
    const char *title = grid->title;
    char room[TEXT_NUMBER_BYTES];
    struct grid_value value;
    int width = 0;

    for (size_t c = 0; c < grid->column_count; c++)
        widen(&width, (int)text_columns(grid->columns[c].heading));
    for (size_t r = 0; r < grid->row_count; r++)
        for (size_t c = 0; c < grid->column_count; c++) {
            grid_value_at(grid, r, &grid->columns[c], &value);
            if (!isfinite(value.number) && !(value.text && value.text[0]))
                continue;
            if (title)
                fprintf(stream, "%s\n", title);
            title = NULL;
            put_fact(stream, look, grid->columns[c].heading, width, grid_shown(&grid->columns[c], &value, room));
        }
}
