/* SPDX-License-Identifier: MIT
 * A result as CSV: a row for each cell, with every value of it. */
#include <stdlib.h>

#include "cell_row.h"
#include "export.h"

static enum status print_csv(FILE *stream, const struct result *result,
                             const struct export_view *view)
{
    struct grid_column columns[CELL_ROW_COLUMNS_MAX];
    struct cell_rows cells;
    struct grid grid;
    enum status status = cell_rows_open(result, view->file, view->cells, &cells);

    if (status == STATUS_OK) {
        grid = cell_row_grid(cells.rows, cells.count, VIEW_CELLS, columns);
        grid.continued = view->continued; /* the keys stand above the rows of the first file */
        status = grid_csv.print(stream, &grid);
    }
    free(cells.rows);
    return status;
}

const struct export export_csv = {.print = print_csv, .joins = true};
