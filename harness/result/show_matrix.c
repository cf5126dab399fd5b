/* SPDX-License-Identifier: MIT */
#include "show_matrix.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

enum { NAME_BYTES = 96, INDENT = 2 };

/* A row or a column of a table: the cells of a path, or a line, which has the cells of a pattern with its
 * parameters. */
struct axis {
    const struct path *path;     /* NULL: a line */
    const struct cell_row *line; /* its cells, one for each path; NULL: it is a path */
    size_t count;                /* number of cells */
    char name[NAME_BYTES];
    char reason[CELL_NOTE_BYTES]; /* why all of its cells are skipped; it is then left out */
};

struct note {
    const char *text; /* text of a row */
    char mark[4];     /* " a", " b" to " z", then "aa" and so on */
};

/* All arrays have room for one entry for each cell and each path. */
struct table {
    struct cell_row *rows;
    size_t count;
    uint32_t common; /* parameters that are equal in all cells: a set of PARAMETER_BIT */
    struct axis *paths, *lines, *absent;
    size_t path_count, line_count, absent_count;
    struct note *notes; /* each text once */
    size_t note_count;
};

/* -- rows and columns ---------------------------------------------------------------------------------- */

/* Writes the name of a line: "per_warp", "per_warp modules=2", "distinct=4 stride_bytes=64". It leaves out parameters
 * that are the same in the whole table, and a pattern's name that its parameter repeats. Parameters that differ are
 * written even with default values. */
static void name_line(const struct table *table, const struct cell *cell, char name[NAME_BYTES])
{
    const uint32_t parameter_mask = cell_parameter_mask(cell->workload, cell->pattern);

    snprintf(name, NAME_BYTES, "%s", cell->pattern->name);
    for (size_t i = 0; i < parameter_count; i++)
        if (~table->common & 1u << i && cell->parameters[i] && strcmp(parameters[i].name, cell->pattern->name) == 0)
            name[0] = '\0';
    for (size_t i = 0; i < parameter_count; i++) {
        const uint32_t value = parameter_value(cell->parameters, (enum parameter_index)i);

        if (~table->common & parameter_mask & 1u << i && value)
            text_join(name, NAME_BYTES, " ", "%s=%" PRIu32, parameters[i].name, value);
    }
}

/* The cell of a line and a path; NULL if there is none. */
static const struct cell_row *find_cell(const struct axis *a, const struct axis *b)
{
    const struct axis *line = a->path ? b : a, *path = a->path ? a : b;

    for (size_t i = 0; i < line->count; i++)
        if (line->line[i].cell->path == path->path)
            return &line->line[i];
    return NULL;
}

/* Takes the axis if any of its cells is not skipped; otherwise records the reason for its absence. An axis without
 * cells is ignored. */
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

static void find_axes(struct table *table)
{
    table->common = ~0u;
    for (size_t i = 1; i < table->count; i++)
        for (size_t k = 0; k < parameter_count; k++)
            if (table->rows[i].cell->parameters[k] != table->rows[0].cell->parameters[k])
                table->common &= ~(1u << k);
    for (size_t first = 0, end; first < table->count; first = end) {
        struct axis line = {.line = &table->rows[first]};

        for (end = first; end < table->count && cell_row_same(line.line, &table->rows[end], AXIS_PATH); end++)
            line.count++;
        name_line(table, line.line->cell, line.name);
        add_axis(table, &line);
    }
    for (size_t i = 0; i < path_count; i++) {
        struct axis path = {.path = &paths[i]};

        snprintf(path.name, sizeof(path.name), "%s", path.path->name);
        add_axis(table, &path);
    }
}

/* Gives marks to the cells that are printed, in reading order. Cells without a note have blanks there. */
static void find_notes(struct table *table)
{
    for (size_t i = 0; i < table->line_count * table->path_count; i++) {
        const struct cell_row *row =
            find_cell(&table->lines[i / table->path_count], &table->paths[i % table->path_count]);
        size_t note = 0;

        if (!row || !row->note[0])
            continue;
        while (note < table->note_count && strcmp(table->notes[note].text, row->note) != 0)
            note++;
        if (note == table->note_count) {
            const char first = (char)(note < 26 ? ' ' : 'a' + (int)(note / 26 - 1) % 26);

            table->notes[table->note_count++].text = row->note;
            snprintf(table->notes[note].mark, 4, "%s%c%c", note < 26 ? "" : " ", first, 'a' + (int)(note % 26));
        }
        table->rows[row - table->rows].mark = table->notes[note].mark;
    }
    for (size_t i = 0; table->note_count > 0 && i < table->count; i++)
        if (!table->rows[i].mark[0])
            table->rows[i].mark = "  ";
}

/* -- grids --------------------------------------------------------------------------------------------- */

/* A column of a table: a quantity of the cells of a path or of a line. */
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

static enum status print_grid(struct page *page, const struct table *table, unsigned view)
{
    const bool across = table->path_count <= table->line_count;
    const struct axis *axes = across ? table->paths : table->lines;
    const size_t count = across ? table->path_count : table->line_count, room = 1 + count * CELL_ROW_COLUMNS_MAX;
    struct grid_column *columns = calloc(room, sizeof(*columns));
    struct place *places = calloc(room, sizeof(*places));
    struct grid grid = {.columns = columns,
                        .rows = across ? table->lines : table->paths,
                        .row_count = across ? table->line_count : table->path_count,
                        .row_bytes = sizeof(struct axis)};
    enum status status = columns && places ? STATUS_OK : log_memory("a table");
    size_t made = 0;

    if (status == STATUS_OK)
        columns[made++] = (struct grid_column){.key = "name", .heading = "", .value = value_name, .head = true};
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        for (const struct cell_column *quantity = NULL; (quantity = cell_column_next(quantity, view)); made++) {
            places[made] = (struct place){.axis = &axes[i], .quantity = &quantity->column};
            columns[made] = quantity->column;
            columns[made].group = axes[i].name;
            columns[made].value = value_cell;
            columns[made].of = &places[made];
        }
    grid.column_count = made;
    if (status == STATUS_OK && count > 0)
        status = page_grid(page, &grid);
    free(columns);
    free(places);
    return status;
}

/* -- around them --------------------------------------------------------------------------------------- */

/* Lists the absent axes with the same reason, from the first on. A pattern is listed without its parameters, unless it
 * is present with others. */
static void print_absence(struct page *page, const struct table *table, size_t first)
{
    const char *reason = table->absent[first].reason, *before = "";

    page_begin(page, INDENT);
    page_say(page, "skipped:");
    for (size_t i = first; i < table->absent_count; i++) {
        const struct axis *axis = &table->absent[i];
        const char *name = axis->path ? axis->name : axis->line->cell->pattern->name;

        for (size_t k = 0; !axis->path && k < table->line_count; k++)
            if (table->lines[k].line->cell->pattern == axis->line->cell->pattern)
                name = axis->name;
        if (strcmp(axis->reason, reason) == 0 && strcmp(name, before) != 0) {
            page_say(page, "%s%s", i == first ? " " : ", ", name);
            before = name;
        }
    }
    page_say(page, " (%s)", reason[0] ? reason : "no reason given");
    page_end(page);
}

static enum status print_table(struct page *page, struct table *table)
{
    const struct cell_row *row = &table->rows[0];
    const bool modelled = row->result->modelled_time;
    char common[NAME_BYTES] = "", title[256];
    bool multiplies = false;
    enum status status;

    find_axes(table);
    find_notes(table);
    cell_parameters_text(row->cell, table->common & ~CELL_TRACE_BIT, common, sizeof(common));
    snprintf(title, sizeof(title), "%s, %" PRIu64 " elements, blocks of %" PRIu32 ", %s%s%s%s",
             row->cell->workload->name, row->cell->elements, row->cell->block_size, row->cell->cache_state->name,
             common[0] ? ", " : "", common, modelled ? ", modelled" : "");
    page_title(page, title);
    status = print_grid(page, table, modelled ? VIEW_MODELLED : VIEW_MEASURED);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < table->note_count; i++)
        page_line(page, INDENT, "%s  %s", table->notes[i].mark + 1, table->notes[i].text);
    for (size_t i = 0, first; i < table->absent_count; i++) {
        for (first = 0; strcmp(table->absent[first].reason, table->absent[i].reason) != 0;)
            first++;
        if (first == i)
            print_absence(page, table, i);
    }
    for (size_t i = 0; i < table->count; i++)
        multiplies = multiplies || cell_row_multiplies(&table->rows[i]);
    if (!multiplies)
        return STATUS_OK;
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
