/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <unistd.h>

#include "cell_row.h"
#include "command.h"
#include "log.h"
#include "show_result.h"

struct show_options {
    struct format_options format;
    const char *cell; /* NULL: all */
    struct output_options look;
};

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "cell", .argument = "NAME", .kind = &option_text, .offset = offsetof(struct show_options, cell),
     .help = "everything about the cell with this identity WORKLOAD/PATH/PATTERN/..., or about the cells of a glob"},
};
/* clang-format on */

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(format_option_rows, offsetof(struct show_options, format)),
    OPTION_GROUP(output_option_rows, offsetof(struct show_options, look)),
};

static enum status show(const void *parsed, const struct invocation *invocation)
{
    const struct show_options *options = parsed;
    const bool several = invocation->argument_count > 1;
    enum status worst = format_check(&options->format);

    if (options->format.json && (several || options->cell))
        return log_error(STATUS_USAGE, "--json prints one whole result; give one file, without --cell");
    for (size_t i = 0; worst != STATUS_USAGE && i < invocation->argument_count; i++) {
        const char *file = invocation->arguments[i];
        struct grid_column columns[CELL_ROW_COLUMNS_MAX];
        struct cell_rows cells = {0};
        struct result result;
        struct grid grid;
        enum status status = result_read(file, &result);

        if (status == STATUS_OK && several && !options->format.csv) {
            fputs(i ? "\n" : "", stdout);
            text_put(stdout, escapes_none, file);
            puts(":");
        }
        if (status == STATUS_OK && options->format.json)
            status = result_write(&result, "-");
        else if (status == STATUS_OK && options->format.csv)
            status = cell_rows_open(&result, file, options->cell, &cells);
        else if (status == STATUS_OK && options->cell)
            status = show_cells(stdout, &result, file, options->cell);
        else if (status == STATUS_OK)
            status = show_result(stdout, &result, output_color(&options->look, STDOUT_FILENO));
        if (status == STATUS_OK && options->format.csv) {
            grid = cell_row_grid(cells.rows, cells.count, VIEW_CELLS, columns);
            grid.continued = i > 0; /* the keys stand above the rows of the first file */
            grid_print_csv(stdout, &grid);
        }
        free(cells.rows);
        result_close(&result);
        worst = status_worse(worst, status);
    }
    return worst;
}

const struct command show_command = {
    .name = "show",
    .summary = "Print the table of a result file",
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = 1000,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct show_options),
    .run = show,
};
