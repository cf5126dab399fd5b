/* SPDX-License-Identifier: MIT */
#include "show_matrix.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

enum { NAME_BYTES = 96, INDENT = 2 };

/* A row or a column of a table: the cells of a path, or a line, those of a pattern with its parameters. */
struct axis {
    const struct path *path;     /* NULL: a line */
    const struct cell_row *line; /* its cells, one a path; NULL: a path */
    size_t count;                /* of them */
    char name[NAME_BYTES];
    char reason[CELL_NOTE_BYTES]; /* why every cell of it is skipped; it is then absent */
};

struct note {
    const char *text; /* of a row */
    char mark[4];     /* " a" */
};

/* Everything has room for one a cell and one a path. */
struct table {
    struct cell_row *rows;
    size_t count;
    uint32_t common; /* parameters that are the same in all cells: a set of PARAMETER_BIT */
    struct axis *paths, *lines, *absent;
    size_t path_count, line_count, absent_count;
    struct note *notes; /* each text once */
    size_t note_count;
};

/* -- rows and columns ---------------------------------------------------------------------------------- */

/* Adds "NAME=VALUE" for each parameter of a set, with the values that are left out elsewhere. */
static void append_differing(const struct cell *cell, uint32_t set, char text[NAME_BYTES])
{
    const uint32_t takes = cell_takes(cell->workload, cell->pattern);

    for (size_t i = 0; i < parameter_count; i++) {
        const uint32_t value = parameter_value(cell->parameters, (enum parameter_index)i);

        if (set & takes & 1u << i && value)
            text_join(text, NAME_BYTES, " ", "%s=%" PRIu32, parameters[i].name, value);
    }
}

/* "per_warp", "per_warp modules=2", "distinct=4 stride_bytes=64": without the parameters that are the same in the whole
 * table, and without a pattern's name that its parameter says again. */
static void name_line(const struct table *table, const struct cell *cell, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s", cell->pattern->name);
    for (size_t i = 0; i < parameter_count; i++)
        if (~table->common & 1u << i && cell->parameters[i] && strcmp(parameters[i].name, cell->pattern->name) == 0)
            name[0] = '\0';
    append_differing(cell, ~table->common, name);
}

static void find_common(struct table *table)
{
    table->common = ~0u;
    for (size_t i = 1; i < table->count; i++)
        for (size_t k = 0; k < parameter_count; k++)
            if (table->rows[i].cell->parameters[k] != table->rows[0].cell->parameters[k])
                table->common &= ~(1u << k);
}

/* The cell in which a line and a path meet; NULL where there is none. */
static const struct cell_row *find_cell(const struct axis *a, const struct axis *b)
{
    const struct axis *line = a->path ? b : a, *path = a->path ? a : b;

    for (size_t i = 0; i < line->count; i++)
        if (line->line[i].cell->path == path->path)
            return &line->line[i];
    return NULL;
}

/* Takes the axis if any of its cells is not skipped, and else says why it is not there. Without cells it is neither. */
static void add_axis(struct table *table, struct axis *axis)
{
    const size_t count = axis->path ? table->line_count : axis->count;
    bool there = false, skipped = true;

    for (size_t i = 0; i < count; i++) {
        const struct cell_row *row = axis->path ? find_cell(axis, &table->lines[i]) : &axis->line[i];

        there = there || row;
        skipped = skipped && (!row || row->found->status == CELL_SKIPPED);
        if (row && skipped && !strstr(axis->reason, row->found->reason))
            text_join(axis->reason, sizeof(axis->reason), "; ", "%s", row->found->reason);
    }
    if (!skipped && axis->path)
        table->paths[table->path_count++] = *axis;
    else if (!skipped)
        table->lines[table->line_count++] = *axis;
    else if (there)
        table->absent[table->absent_count++] = *axis;
}

static void find_lines(struct table *table)
{
    for (size_t first = 0, end; first < table->count; first = end) {
        struct axis axis = {.line = &table->rows[first]};

        for (end = first; end < table->count && cell_row_same(axis.line, &table->rows[end], AXIS_PATH); end++)
            axis.count++;
        name_line(table, axis.line->cell, axis.name);
        add_axis(table, &axis);
    }
}

static void find_paths(struct table *table)
{
    for (size_t i = 0; i < path_count; i++) {
        struct axis axis = {.path = &paths[i]};

        snprintf(axis.name, sizeof(axis.name), "%s", axis.path->name);
        add_axis(table, &axis);
    }
}

/* -- footnotes ----------------------------------------------------------------------------------------- */

/* "a", "b" ... "z", "aa" ...: the mark of footnote `index`, from 0, behind a blank. */
static void format_mark(size_t index, char out[4])
{
    if (index < 26)
        snprintf(out, 4, " %c", 'a' + (int)index);
    else
        snprintf(out, 4, " %c%c", 'a' + (int)(index / 26 - 1) % 26, 'a' + (int)(index % 26));
}

/* The mark of the cell's footnote, "" for none. */
static const char *find_mark(struct table *table, const struct cell_row *row)
{
    size_t i = 0;

    if (!row->note[0])
        return "";
    while (i < table->note_count && strcmp(table->notes[i].text, row->note) != 0)
        i++;
    if (i == table->note_count) {
        table->notes[i].text = row->note;
        format_mark(table->note_count++, table->notes[i].mark);
    }
    return table->notes[i].mark;
}

/* Of the cells that are printed, in the order of reading. Cells without a mark have blanks there. */
static void find_notes(struct table *table)
{
    for (size_t i = 0; i < table->line_count; i++)
        for (size_t k = 0; k < table->path_count; k++) {
            const struct cell_row *row = find_cell(&table->lines[i], &table->paths[k]);

            if (row)
                table->rows[row - table->rows].mark = find_mark(table, row);
        }
    for (size_t i = 0; table->note_count > 0 && i < table->count; i++)
        if (!table->rows[i].mark[0])
            table->rows[i].mark = "  ";
}

/* -- grids --------------------------------------------------------------------------------------------- */

/* What stands in a column of a table: a quantity of the cells of a path or of a line. */
struct place {
    const struct axis *axis;
    const struct grid_column *quantity;
};

static void value_name(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->text = ((const struct axis *)row)->name;
}

/* A cell that is not in the plan stays empty. */
static void value_cell(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct place *place = column->of;
    const struct cell_row *cell = find_cell(place->axis, row);

    if (cell)
        place->quantity->value(place->quantity, cell, out);
    else
        out->text = "";
}

static size_t make_columns(unsigned view, const struct axis *axes, size_t count, struct grid_column *columns,
                           struct place *places)
{
    size_t made = 0;

    columns[made++] = (struct grid_column){.key = "name", .heading = "", .value = value_name, .head = true};
    for (size_t i = 0; i < count; i++)
        for (const struct cell_column *quantity = NULL; (quantity = cell_column_next(quantity, view)); made++) {
            places[made] = (struct place){.axis = &axes[i], .quantity = &quantity->column};
            columns[made] = quantity->column;
            columns[made].group = axes[i].name;
            columns[made].value = value_cell;
            columns[made].of = &places[made];
        }
    return made;
}

static enum status print_grid(struct page *page, const struct table *table, unsigned view)
{
    const bool across = table->path_count <= table->line_count;
    const struct axis *axes = across ? table->paths : table->lines, *rows = across ? table->lines : table->paths;
    const size_t count = across ? table->path_count : table->line_count, room = 1 + count * CELL_ROW_COLUMNS_MAX;
    struct grid_column *columns = calloc(room, sizeof(*columns));
    struct place *places = calloc(room, sizeof(*places));
    struct grid grid = {.columns = columns,
                        .rows = rows,
                        .row_count = across ? table->line_count : table->path_count,
                        .row_bytes = sizeof(struct axis)};
    enum status status = STATUS_OK;

    if (!columns || !places)
        status = log_memory("a table");
    else if (count > 0) {
        grid.column_count = make_columns(view, axes, count, columns, places);
        status = page_grid(page, &grid);
    }
    free(columns);
    free(places);
    return status;
}

/* -- around them --------------------------------------------------------------------------------------- */

/* The name of what is not in the table; of a pattern without its parameters, unless it is there with others. */
static const char *absence_name(const struct table *table, const struct axis *axis)
{
    const struct pattern *pattern = axis->path ? NULL : axis->line->cell->pattern;

    for (size_t i = 0; i < table->line_count; i++)
        if (table->lines[i].line->cell->pattern == pattern)
            return axis->name;
    return pattern ? pattern->name : axis->name;
}

/* Names the absences from the first on that have its reason. */
static void print_absence(struct page *page, const struct table *table, size_t first)
{
    const char *reason = table->absent[first].reason, *before = "";

    page_begin(page, INDENT);
    page_say(page, "skipped:");
    for (size_t i = first; i < table->absent_count; i++) {
        const char *name = absence_name(table, &table->absent[i]);

        if (strcmp(table->absent[i].reason, reason) == 0 && strcmp(name, before) != 0) {
            page_say(page, "%s%s", i == first ? " " : ", ", name);
            before = name;
        }
    }
    page_say(page, " (%s)", reason[0] ? reason : "no reason given");
    page_end(page);
}

static void print_notes(struct page *page, const struct table *table)
{
    for (size_t i = 0; i < table->note_count; i++)
        page_line(page, INDENT, "%s  %s", table->notes[i].mark + 1, table->notes[i].text);
    for (size_t i = 0; i < table->absent_count; i++) {
        size_t first = 0;

        while (strcmp(table->absent[first].reason, table->absent[i].reason) != 0)
            first++;
        if (first == i)
            print_absence(page, table, i);
    }
}

static void print_title(struct page *page, const struct table *table)
{
    const struct cell_row *row = &table->rows[0];
    char common[NAME_BYTES] = "", title[256];

    cell_parameters_text(row->cell, table->common & ~CELL_TRACE_BIT, common, sizeof(common));
    snprintf(title, sizeof(title), "%s, %" PRIu64 " elements, blocks of %" PRIu32 ", %s%s%s%s",
             row->cell->workload->name, row->cell->elements, row->cell->block_size, row->cell->regime->name,
             common[0] ? ", " : "", common, row->result->modelled_time ? ", modelled" : "");
    page_title(page, title);
}

static enum status print_table(struct page *page, struct table *table)
{
    bool multiplies = false;
    enum status status;

    find_common(table);
    find_lines(table);
    find_paths(table);
    find_notes(table);
    print_title(page, table);
    status = print_grid(page, table, table->rows->result->modelled_time ? VIEW_MODELLED : VIEW_MEASURED);
    if (status == STATUS_OK)
        print_notes(page, table);
    for (size_t i = 0; i < table->count; i++)
        multiplies = multiplies || cell_row_multiplies(&table->rows[i]);
    if (status != STATUS_OK || !multiplies)
        return status;
    page_title(page, "operations per byte");
    return print_grid(page, table, VIEW_OPERATIONS);
}

enum status show_matrix(struct page *page, struct cell_row *rows, size_t count)
{
    const size_t room = count + path_count;
    struct axis *axes = calloc(3 * room, sizeof(*axes));
    struct note *notes = calloc(room, sizeof(*notes));
    struct table table = {.rows = rows, .count = count, .notes = notes};
    enum status status;

    if (axes && notes) {
        table.paths = axes;
        table.lines = axes + room;
        table.absent = axes + 2 * room;
        status = print_table(page, &table);
    } else {
        status = log_memory("a table of %zu cells", count);
    }
    free(axes);
    free(notes);
    return status;
}
