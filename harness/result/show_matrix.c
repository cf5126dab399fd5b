/* SPDX-License-Identifier: MIT
 * Tables of patterns by paths: cells that have everything else alike. Each value is that of one
 * cell; a mark behind it points to a note below.
 *
 *   pattern      constant   global   readonly
 *   per_warp      25.31 us   27.9 us  27.9 us a */
#include "show_matrix.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "text.h"
#include "user_cell.h"

enum { NAME_BYTES = USER_KERNEL_SPACES_BYTES + 32, INDENT = 2 };

/* A row or a column of a table: the cells of a path, or those of a pattern with its parameters. A
 * user's kernel has a size and a cache state in place of a pattern. */
struct axis {
    char name[NAME_BYTES];
    const struct cell_row *path;  /* a cell with it; NULL: a pattern */
    const struct cell_row *cells; /* of a pattern: one for each path */
    size_t count;
};

/* A column of the grid: a quantity of the cells of an axis. */
struct cell_quantity {
    const struct axis *axis;
    const struct grid_column *quantity;
};

/* The quantity of the cell of a pattern and a path; "" if the plan has none. */
static void value_cell(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct cell_quantity *wanted = column->of;
    const struct axis *a = wanted->axis, *b = row, *pattern = a->path ? b : a;

    for (size_t i = 0; i < pattern->count; i++)
        if (cell_path_order(pattern->cells[i].cell, (a->path ? a : b)->path->cell) == 0) {
            wanted->quantity->value(wanted->quantity, &pattern->cells[i], out);
            return;
        }
    out->text = "";
}

static const struct cell_row *next_path(const struct cell_row *rows, size_t count,
                                        const struct cell_row *after)
{
    const struct cell_row *next = NULL;

    for (size_t i = 0; i < count; i++)
        if ((!after || cell_path_order(rows[i].cell, after->cell) > 0) &&
            (!next || cell_path_order(rows[i].cell, next->cell) < 0))
            next = &rows[i];
    return next;
}

/* Prints the title of the table of a user's kernel: its name, its file, and the cache state that
 * all cells have. */
static void print_kernel(const struct cell_row *row, bool one_state, int width, FILE *stream)
{
    const struct result_kernel *kernel = result_kernel(row->result, row->cell);

    text_paragraph((struct text_wrap){.stream = stream, .width = width}, "%s%s%s%s%s%s%s%s%s",
                   row->cell->kernel.name, kernel ? " of " : "",
                   kernel ? text_file_name(kernel->file) : "", kernel ? ", " : "",
                   kernel ? kernel->compiler : "", kernel && kernel->options ? " " : "",
                   kernel && kernel->options ? kernel->options : "", one_state ? ", " : "",
                   one_state ? row->cell->cache_state->name : "");
}

/* Gives the rows their marks, and lists a row for each note. Cells with the same note have the same
 * mark, and cells without one have blanks. */
static size_t mark_rows(struct cell_row *rows, size_t count, const struct cell_row **notes)
{
    size_t note_count = 0;

    for (size_t i = 0; i < count; i++) {
        size_t note = 0;

        if (!rows[i].note[0] || rows[i].found->status == CELL_SKIPPED)
            continue;
        while (note < note_count && strcmp(notes[note]->note, rows[i].note) != 0)
            note++;
        if (note == note_count)
            notes[note_count++] = &rows[i];
        snprintf(rows[i].mark, sizeof(rows[i].mark), " %.*s%c", note >= 26,
                 &"abcdefghijklmnopqrstuvwxyz"[(note / 26 + 25) % 26], 'a' + (int)(note % 26));
    }
    for (size_t i = 0; note_count > 0 && i < count; i++)
        if (!rows[i].mark[0])
            snprintf(rows[i].mark, sizeof(rows[i].mark), "  ");
    return note_count;
}

/* The axis of a path; whether it has a cell that is not skipped. */
static bool take_path(const struct cell_row *rows, size_t count, const struct cell_row *path,
                      struct axis *axis)
{
    const bool several = strchr(path->cell->kernel.spaces, '=');
    bool kept = false, as_written = false;

    *axis = (struct axis){.path = path};
    for (size_t i = 0; i < count; i++)
        if (cell_path_order(rows[i].cell, path->cell) == 0) {
            kept = kept || rows[i].found->status != CELL_SKIPPED;
            as_written = as_written || rows[i].found->of_case.as_written;
        }
    snprintf(axis->name, sizeof(axis->name), "%s%s",
             several ? path->cell->kernel.spaces : path->cell->path->name,
             as_written ? " (as written)" : "");
    return kept;
}

enum status show_matrix(FILE *stream, const struct print_style *look, struct cell_row *rows,
                        size_t count)
{
    const struct cell *cell = rows[0].cell;
    const bool modelled = rows[0].result->modelled_time, user = cell_is_user(cell);
    const unsigned view = user ? VIEW_KERNEL : modelled ? VIEW_MODELLED : VIEW_MEASURED;
    const struct text_wrap item = {.stream = stream,
                                   .width = look->width,
                                   .column = INDENT,
                                   .indent = 2 * INDENT};
    const size_t axis_count = 2 * count;
    struct axis *axes = calloc(axis_count, sizeof(*axes)), *path_axes = axes ? axes + count : NULL;
    const struct cell_row **notes = calloc(count, sizeof(*notes));
    struct grid_column *columns = calloc(1 + axis_count * CELL_ROW_COLUMNS_MAX, sizeof(*columns));
    struct cell_quantity *quantities =
        calloc(1 + axis_count * CELL_ROW_COLUMNS_MAX, sizeof(*quantities));
    uint32_t common = ~0u;
    size_t kept_patterns = 0, kept_paths = 0, note_count = 0, made = 1;
    const uint32_t bytes = rows[0].table_bytes;
    char shared[NAME_BYTES] = "", table[48] = "";
    bool one_state = true;
    struct grid grid = {.columns = columns, .row_bytes = sizeof(*axes)};
    enum status status = STATUS_OK;
    const struct axis *across;
    bool paths_across;

    if (!axes || !notes || !columns || !quantities) {
        status = log_memory("a table of %zu cells", count);
        goto out;
    }
    for (size_t i = 1; i < count; i++)
        one_state = one_state && rows[i].cell->cache_state == cell->cache_state;
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < parameter_count; k++)
            if (rows[i].cell->parameters[k] != cell->parameters[k])
                common &= ~(1u << k);

    /* Patterns and then paths that have a cell which is not skipped. */
    for (size_t first = 0, end; first < count; first = end) {
        struct axis *axis = &axes[kept_patterns];
        bool kept = false;

        *axis = (struct axis){.cells = &rows[first]};
        for (end = first; end < count && cell_row_same(&rows[first], &rows[end], AXIS_PATH); end++)
            kept = kept || rows[end].found->status != CELL_SKIPPED;
        axis->count = end - first;
        if (user)
            snprintf(axis->name, sizeof(axis->name), "%" PRIu64 "%s%s", rows[first].cell->elements,
                     one_state ? "" : " ", one_state ? "" : rows[first].cell->cache_state->name);
        else
            snprintf(axis->name, sizeof(axis->name), "%s", rows[first].cell->pattern->name);
        cell_parameters_text(rows[first].cell, user ? 0 : ~common, " ", axis->name,
                             sizeof(axis->name));
        kept_patterns += kept;
    }
    for (const struct cell_row *path = NULL; (path = next_path(rows, count, path));)
        kept_paths += take_path(rows, count, path, &path_axes[kept_paths]);

    note_count = mark_rows(rows, count, notes);
    cell_parameters_text(cell, common & ~CELL_FILES_BIT, " ", shared, sizeof(shared));
    if (bytes)
        snprintf(table, sizeof(table), ", table of %" PRIu32 " %s",
                 bytes % 1024 ? bytes : bytes / 1024, bytes % 1024 ? "bytes" : "KB");
    if (user)
        print_kernel(&rows[0], one_state, look->width, stream);
    else
        text_paragraph((struct text_wrap){.stream = stream, .width = look->width},
                       "%s, %" PRIu64 " elements, blocks of %" PRIu32 ", %s%s%s%s%s",
                       cell->workload->name, cell->elements, cell->block_size,
                       cell->cache_state->name, table, shared[0] ? ", " : "", shared,
                       modelled ? ", modelled" : "");
    paths_across = kept_paths <= kept_patterns;
    across = paths_across ? path_axes : axes;
    columns[0] = (struct grid_column){.key = "name",
                                      .heading = "",
                                      .value = grid_array,
                                      .of = GRID_MEMBER(struct axis, name),
                                      .head = true};
    for (size_t i = 0; i < (paths_across ? kept_paths : kept_patterns); i++)
        for (const struct cell_column *column = NULL; (column = cell_column_next(column, view));
             made++) {
            quantities[made] =
                (struct cell_quantity){.axis = &across[i], .quantity = &column->column};
            columns[made] = column->column;
            columns[made].group = across[i].name;
            columns[made].rank = cell_column_rank(column, &rows[0]);
            columns[made].value = value_cell;
            columns[made].of = &quantities[made];
        }
    grid.rows = paths_across ? axes : path_axes;
    grid.row_count = paths_across ? kept_patterns : kept_paths;
    grid.column_count = made;
    status = grid_print(stream, &grid, look);
    for (size_t i = 0; status == STATUS_OK && i < note_count; i++)
        text_paragraph(item, "%s  %s", notes[i]->mark + 1, notes[i]->note);
out:
    free(quantities);
    free(columns);
    free(notes);
    free(axes);
    return status;
}
