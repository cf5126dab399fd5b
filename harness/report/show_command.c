/* SPDX-License-Identifier: MIT
 * Shows documents. Results and characterizations are printed here; the others by the analysis
 * (scripts/cbank/show.py), which runs this command on the first two. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis.h"
#include "cell_row.h"
#include "characterization.h"
#include "command.h"
#include "log.h"
#include "show_result.h"

struct show_options {
    struct format_options format;
    const char *cell; /* NULL: all */
    bool all;
    struct output_options look;
};

static const struct option_row rows[] = {
    {.name = "cell",
     .topic = TOPIC_VIEW,
     .argument = "CELL",
     .kind = &option_text,
     .offset = offsetof(struct show_options, cell),
     .help = "everything about the cell with this identity WORKLOAD/PATH/PATTERN/..., or about the "
             "cells of a glob"},
    {.name = "all",
     .topic = TOPIC_VIEW,
     .help = "print all of a document, not a screen",
     .kind = &option_flag,
     .offset = offsetof(struct show_options, all)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(format_option_rows, offsetof(struct show_options, format)),
    OPTION_GROUP(output_option_rows, offsetof(struct show_options, look)),
};

static enum status show(const void *parsed, const struct invocation *invocation)
{
    const struct show_options *options = parsed;
    const bool several = invocation->argument_count > 1,
               of_results = options->format.csv || options->format.json || options->cell;
    enum status worst = format_check(&options->format);

    if (options->format.json && (several || options->cell))
        return log_error(STATUS_USAGE,
                         "--json prints one whole result; give one file, without --cell");
    for (size_t i = 0; worst != STATUS_USAGE && i < invocation->argument_count; i++) {
        const char *file = invocation->arguments[i], *schema;
        struct grid_column columns[CELL_ROW_COLUMNS_MAX];
        struct cell_rows cells = {0};
        struct result result = {0};
        struct grid grid;
        cJSON *tree = NULL;
        bool characterization, result_shown;
        enum status status = json_read_file(file, &tree);

        schema = cJSON_GetStringValue(json_get(json_get(tree, "schema"), "name"));
        characterization = schema && strcmp(schema, "cbank-characterization") == 0;
        result_shown = !schema || strcmp(schema, "cbank-result") == 0;
        if (status == STATUS_OK && !result_shown && of_results) {
            status = log_error(STATUS_USAGE,
                               "%s: --csv, --json and --cell are for results, and this is a %s",
                               file, schema);
        } else if (status == STATUS_OK && !result_shown && !characterization) {
            /* The rest of the line, behind words that become the command and its option. */
            const size_t left = invocation->argument_count - i;
            char **words = calloc(left + 3, sizeof(*words)), show_word[] = "show", all[] = "--all",
                 end[] = "--";
            size_t count = 0;

            json_free(tree);
            if (!words)
                return log_memory("the command line");
            words[count++] = show_word;
            if (options->all)
                words[count++] = all;
            words[count++] = end;
            memcpy(words + count, invocation->arguments + i, left * sizeof(*words));
            fflush(stdout);
            status = analysis_start(count + left, words);
            free(words);
            return status;
        }
        if (status == STATUS_OK && result_shown) {
            status = result_take(file, tree, &result);
            tree = NULL;
        }
        json_free(tree);
        if (status == STATUS_OK && several && !options->format.csv) {
            fputs(i ? "\n" : "", stdout);
            text_put(stdout, escapes_none, file);
            puts(":");
        }
        if (status == STATUS_OK && characterization)
            status = characterization_show(file, options->all);
        else if (status == STATUS_OK && options->format.json)
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
    .summary = "Print documents: the tables of results, a screen of any other",
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = 1000,
    OPTION_GROUPS(groups),
    .options_bytes = sizeof(struct show_options),
    .details = "A FILE is any document of cbank: a result, characterization, card, calibration, "
               "comparison, advice, explanation,\n"
               "history, verdict on a fleet, or manifest of a chip's folder. --csv, --json and "
               "--cell are for results. A\n"
               "characterization is analysed again.",
    .run = show,
};
