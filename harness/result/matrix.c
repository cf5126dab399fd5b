/* SPDX-License-Identifier: MIT
 * Cells as a matrix. For a pattern with parameters and a path there is at most one cell. Each
 * quantity of a cell, such as its time or its ratio, is a column of the grid:
 *
 *                         constant              global        <- an axis, here of a path
 *                         time    ratio         time    ratio <- quantities of a cell
 *     per_warp            25.3 us 1.00x         25.9 us 1.02x
 *     per_thread          ...
 */
#include "matrix.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "text.h"
#include "user_cell.h"

enum { NAME_BYTES = USER_KERNEL_SPACES_BYTES + 32 };

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
    const struct cell_quantity *wanted = column->context;
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

/* What all cells of a matrix have in common. */
struct common {
    bool one_state; /* they have one cache state */
    uint32_t parameters; /* with one value: a set of bits */
};

static struct common common_of(const struct cell_row *rows, size_t count)
{
    const struct cell *cell = rows[0].cell;
    struct common common = {.one_state = true, .parameters = ~0u};

    for (size_t i = 1; i < count; i++) {
        common.one_state = common.one_state && rows[i].cell->cache_state == cell->cache_state;
        for (size_t k = 0; k < parameter_count; k++)
            if (rows[i].cell->parameters[k] != cell->parameters[k])
                common.parameters &= ~(1u << k);
    }
    return common;
}

static void title_of_kernel(const struct cell_row *row, const struct common *common,
                            char out[TEXT_PARAGRAPH_BYTES])
{
    const struct result_kernel *kernel = result_kernel(row->result, row->cell);

    snprintf(out, TEXT_PARAGRAPH_BYTES, "%s", row->cell->kernel.name);
    if (kernel)
        text_join(out, TEXT_PARAGRAPH_BYTES, "", " of %s, %s%s%s", text_file_name(kernel->file),
                  kernel->compiler, kernel->options ? " " : "",
                  kernel->options ? kernel->options : "");
    if (common->one_state)
        text_join(out, TEXT_PARAGRAPH_BYTES, ", ", "%s", row->cell->cache_state->name);
    cell_parameters_text(row->cell, CELL_JIT_BIT, ", ", out, TEXT_PARAGRAPH_BYTES);
}

static void title_of_workload(const struct cell_row *row, const struct common *common,
                              char out[TEXT_PARAGRAPH_BYTES])
{
    const struct cell *cell = row->cell;
    const uint32_t bytes = row->table_bytes;
    char shared[NAME_BYTES] = "";

    snprintf(out, TEXT_PARAGRAPH_BYTES, "%s, %" PRIu64 " elements, blocks of %" PRIu32 ", %s",
             cell->workload->name, cell->elements, cell->block_size, cell->cache_state->name);
    if (bytes)
        text_join(out, TEXT_PARAGRAPH_BYTES, ", ", "table of %" PRIu32 " %s",
                  bytes % 1024 ? bytes : bytes / 1024, bytes % 1024 ? "bytes" : "KB");
    cell_parameters_text(cell, common->parameters & ~CELL_FILES_BIT, " ", shared, sizeof(shared));
    if (shared[0])
        text_join(out, TEXT_PARAGRAPH_BYTES, ", ", "%s", shared);
    if (row->result->modelled_time)
        text_join(out, TEXT_PARAGRAPH_BYTES, ", ", "modelled");
}

static void title_of_launch(const struct cell_row *row, const struct common *common,
                            char out[TEXT_PARAGRAPH_BYTES])
{
    snprintf(out, TEXT_PARAGRAPH_BYTES, "%s", row->cell->workload->name);
    cell_parameters_text(row->cell, common->parameters, ", ", out, TEXT_PARAGRAPH_BYTES);
}

static void name_pattern(const struct cell *cell, const struct common *common,
                         char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s", cell->pattern->name);
    cell_parameters_text(cell, ~common->parameters, " ", name, NAME_BYTES);
}

static void name_size(const struct cell *cell, const struct common *common, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%" PRIu64 "%s%s", cell->elements, common->one_state ? "" : " ",
             common->one_state ? "" : cell->cache_state->name);
}

/* The words of a matrix, by the origin of its cells. */
static const struct matrix_words {
    void (*write_title)(const struct cell_row *row, const struct common *common,
                        char out[TEXT_PARAGRAPH_BYTES]);
    void (*name_pattern)(const struct cell *cell, const struct common *common,
                         char name[NAME_BYTES]);
} words[CELL_ORIGIN_COUNT] = {[CELL_OF_WORKLOAD] = {title_of_workload, name_pattern},
                              [CELL_OF_LAUNCH] = {title_of_launch, name_pattern},
                              [CELL_OF_FILE] = {title_of_kernel, name_size}};

/* The axis of the rows from the first on that have one pattern; whether it has a cell that is not
 * skipped. */
static bool take_pattern(const struct cell_row *rows, size_t count, const struct common *common,
                         struct axis *axis)
{
    const struct cell *cell = rows[0].cell;
    bool kept = false;

    *axis = (struct axis){.cells = rows};
    for (; axis->count < count && cell_row_same(rows, &rows[axis->count], AXIS_PATH); axis->count++)
        kept = kept || rows[axis->count].found->status != CELL_SKIPPED;
    words[cell_origin(cell)->number].name_pattern(cell, common, axis->name);
    return kept;
}

static const struct grid_column name_column = {.key = "name",
                                               .heading = "",
                                               .value = grid_array,
                                               .member = GRID_MEMBER(struct axis, name),
                                               .head = true};

/* Gives the grid a column for each quantity of each axis. */
static void make_columns(struct matrix *matrix, const struct cell_row *row,
                         const struct axis *across, size_t count)
{
    const unsigned view = matrix_view(row);
    size_t made = 1;

    matrix->columns[0] = name_column;
    for (size_t i = 0; i < count; i++)
        for (const struct cell_column *column = NULL; (column = cell_column_next(column, view));
             made++) {
            matrix->quantities[made] = (struct cell_quantity){&across[i], &column->column};
            matrix->columns[made] = column->column;
            matrix->columns[made].group = across[i].name;
            matrix->columns[made].rank = cell_column_rank(column, row);
            matrix->columns[made].value = value_cell;
            matrix->columns[made].context = &matrix->quantities[made];
        }
    matrix->grid.columns = matrix->columns;
    matrix->grid.column_count = made;
}

unsigned matrix_view(const struct cell_row *row)
{
    const unsigned views[CELL_ORIGIN_COUNT] = {[CELL_OF_WORKLOAD] = row->result->modelled_time
                                                                        ? VIEW_MODELLED
                                                                        : VIEW_MEASURED,
                                               [CELL_OF_LAUNCH] = VIEW_LAUNCH,
                                               [CELL_OF_FILE] = VIEW_KERNEL};

    return views[cell_origin(row->cell)->number];
}

size_t matrix_rows(const struct cell_row *rows, size_t count, bool *kept)
{
    size_t end = 0;

    *kept = false;
    for (; end < count && cell_row_same(rows, &rows[end], AXIS_PATTERN); end++)
        *kept = *kept || rows[end].found->status != CELL_SKIPPED;
    return end;
}

enum status matrix_open(struct cell_row *rows, size_t count, struct matrix *out)
{
    const struct common common = common_of(rows, count);
    const size_t column_count = 1 + 2 * count * CELL_ROW_COLUMNS_MAX;
    size_t patterns = 0, paths = 0;
    struct axis *path_axes;

    *out = (struct matrix){.axes = calloc(2 * count, sizeof(*out->axes)),
                           .notes = calloc(count, sizeof(*out->notes)),
                           .columns = calloc(column_count, sizeof(*out->columns)),
                           .quantities = calloc(column_count, sizeof(*out->quantities)),
                           .grid.row_bytes = sizeof(*out->axes)};
    if (!out->axes || !out->notes || !out->columns || !out->quantities)
        return log_memory("a table of %zu cells", count);
    path_axes = out->axes + count;
    for (size_t first = 0; first < count;) {
        const bool kept = take_pattern(&rows[first], count - first, &common, &out->axes[patterns]);

        first += out->axes[patterns].count;
        patterns += kept;
    }
    for (const struct cell_row *path = NULL; (path = next_path(rows, count, path));)
        paths += take_path(rows, count, path, &path_axes[paths]);
    out->note_count = mark_rows(rows, count, out->notes);
    words[cell_origin(rows[0].cell)->number].write_title(&rows[0], &common, out->title);
    if (paths <= patterns)
        make_columns(out, &rows[0], path_axes, paths);
    else
        make_columns(out, &rows[0], out->axes, patterns);
    out->grid.rows = paths <= patterns ? out->axes : path_axes;
    out->grid.row_count = paths <= patterns ? patterns : paths;
    return STATUS_OK;
}

void matrix_close(struct matrix *matrix)
{
    free(matrix->quantities);
    free(matrix->columns);
    free(matrix->notes);
    free(matrix->axes);
    *matrix = (struct matrix){0};
}
