/* SPDX-License-Identifier: MIT
 * A result as Markdown: its matrices as tables, with their footnotes as lists. */
#include <stdlib.h>

#include "export.h"
#include "matrix.h"

static enum status print_matrix(FILE *stream, struct cell_row *rows, size_t count)
{
    struct matrix matrix;
    enum status status = matrix_open(rows, count, &matrix);

    if (status == STATUS_OK) {
        fputs("\n### ", stream);
        text_put(stream, escapes_markdown, matrix.title);
        fputs("\n\n", stream);
        status = grid_markdown.print(stream, &matrix.grid);
        fputs(matrix.note_count ? "\n" : "", stream);
    }
    for (size_t i = 0; status == STATUS_OK && i < matrix.note_count; i++) {
        fprintf(stream, "- %s: ", matrix.notes[i]->mark + 1);
        text_put(stream, escapes_markdown, matrix.notes[i]->note);
        putc('\n', stream);
    }
    matrix_close(&matrix);
    return status;
}

static enum status print_markdown(FILE *stream, const struct result *result,
                                  const struct export_view *view)
{
    struct cell_rows cells;
    enum status status = cell_rows_open(result, view->file, view->cells, &cells);

    if (status == STATUS_OK) {
        fputs(result->modelled_time ? "modelled for " : "measured on ", stream);
        text_put(stream, escapes_markdown, result->device.name);
        fputs(result->device.driver[0] ? ", driver " : "", stream);
        text_put(stream, escapes_markdown, result->device.driver);
        putc('\n', stream);
    }
    for (size_t first = 0, count; status == STATUS_OK && first < cells.count; first += count) {
        bool kept;

        count = matrix_rows(&cells.rows[first], cells.count - first, &kept);
        if (kept)
            status = print_matrix(stream, &cells.rows[first], count);
    }
    free(cells.rows);
    return status;
}

const struct export export_markdown = {.print = print_markdown};
