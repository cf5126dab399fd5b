/* SPDX-License-Identifier: MIT
 * A grid as CSV (RFC 4180). */
#include <math.h>

#include "grid.h"

static enum status print_csv(FILE *stream, const struct grid *grid)
{
    struct grid_value value;

    for (size_t c = 0; c < grid->column_count && !grid->continued; c++) {
        fputs(c ? "," : "", stream);
        text_csv(stream, grid->columns[c].key);
    }
    if (!grid->continued)
        fputs("\r\n", stream);
    for (size_t r = 0; r < grid->row_count; r++) {
        for (size_t c = 0; c < grid->column_count; c++) {
            grid_value_at(grid, r, &grid->columns[c], &value);
            fputs(c ? "," : "", stream);
            if (grid->columns[c].format && isfinite(value.number))
                fprintf(stream, "%.17g", value.number);
            else if (!grid->columns[c].format)
                text_csv(stream, value.text ? value.text : "");
        }
        fputs("\r\n", stream);
    }
    return STATUS_OK;
}

const struct grid_format grid_csv = {.name = "csv", .print = print_csv};
