/* SPDX-License-Identifier: MIT
 * Shows documents. Results and characterizations are printed here; the others by the analysis
 * (scripts/cbank/show.py), which runs this command on the first two. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis.h"
#include "calibration.h"
#include "card.h"
#include "cell_row.h"
#include "characterization.h"
#include "command.h"
#include "log.h"
#include "manifest.h"
#include "parallel.h"
#include "show_result.h"

struct show_options {
    struct format_options format;
    const char *cell; /* NULL: all */
    bool all, check;
    struct output_options look;
};

static const struct option_row rows[] = {
    {.name = "cell",
     .argument = "NAME",
     .kind = &option_text,
     .offset = offsetof(struct show_options, cell),
     .help = "everything about the cell with this identity WORKLOAD/PATH/PATTERN/..., or about the "
             "cells of a glob"},
    {.name = "all",
     .help = "print all of a document, not a screen",
     .kind = &option_flag,
     .offset = offsetof(struct show_options, all)},
    {.name = "check",
     .help = "print no document, but for each file whether it is one: \"valid FILE\" or \"refused "
             "FILE\", and what is wrong",
     .kind = &option_flag,
     .offset = offsetof(struct show_options, check)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(format_option_rows, offsetof(struct show_options, format)),
    OPTION_GROUP(output_option_rows, offsetof(struct show_options, look)),
};

/* -- checking ---------------------------------------------------------------------------------- */

static enum status check_calibration(const char *file, const cJSON *tree)
{
    struct calibration calibration = {0};
    const enum status status = document_take(&calibration_document, file, tree, &calibration);

    calibration_close(&calibration);
    return status;
}

static enum status check_card(const char *file, const cJSON *tree)
{
    struct card card;

    return card_check(file, tree, &card);
}

static enum status check_characterization(const char *file, const cJSON *tree)
{
    struct characterization characterization;
    const enum status status = characterization_read(file, &characterization);

    (void)tree;
    characterization_close(&characterization);
    return status;
}

/* A document that is only written: nothing but its version is known. */
static enum status check_version(const char *file, const cJSON *tree)
{
    const char *version = cJSON_GetStringValue(json_get(json_get(tree, "schema"), "version"));

    if (version && strncmp(version, "1.", 2) == 0)
        return STATUS_OK;
    return log_error(STATUS_USAGE, "%s: schema.version: expected 1.x; write it again with cbank",
                     file);
}

/* Documents by the name in their schema; results are apart, as they keep their tree. */
static const struct kind {
    const char *schema;
    enum status (*check)(const char *file, const cJSON *tree);
} kinds[] = {
    {"cbank-characterization", check_characterization},
    {"cbank-card", check_card},
    {"cbank-calibration", check_calibration},
    {"cbank-manifest", manifest_check},
    {"cbank-comparison", check_version},
    {"cbank-explanation", check_version},
    {"cbank-advice", check_version},
    {"cbank-tables", check_version},
    {"cbank-fleet", check_version},
    {"cbank-history", check_version},
    {"cbank-check", check_version},
};

static const struct kind *kind_of(const cJSON *tree)
{
    const char *schema = cJSON_GetStringValue(json_get(json_get(tree, "schema"), "name"));

    for (size_t i = 0; schema && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].schema, schema) == 0)
            return &kinds[i];
    return NULL;
}

/* Reads a document of any kind, as commands read it. STATUS_USAGE, logged, if it is wrong. */
static enum status check_file(const char *file)
{
    cJSON *tree = NULL;
    enum status status = json_read_file(file, &tree);
    const struct kind *kind = kind_of(tree);
    struct result result;

    if (status != STATUS_OK)
        return status;
    if (!kind) {
        status = result_take(file, tree, &result);
        result_close(&result);
        return status;
    }
    status = kind->check(file, tree);
    json_free(tree);
    return status;
}

struct checking {
    char *const *files;
    enum status *statuses; /* of the files */
};

static void check_some(void *context, uint64_t first, uint64_t count)
{
    struct checking *checking = context;

    for (uint64_t i = first; i < first + count; i++)
        checking->statuses[i] = check_file(checking->files[i]);
}

static enum status check_files(char *const *files, size_t count)
{
    struct checking checking = {files, calloc(count, sizeof(*checking.statuses))};
    enum status worst = STATUS_OK;

    if (!checking.statuses)
        return log_memory("%zu files", count);
    parallel_keep_memory();
    parallel_ranges(count, 1, check_some, &checking);
    for (size_t i = 0; i < count; i++) {
        fputs(checking.statuses[i] == STATUS_OK ? "valid " : "refused ", stdout);
        text_put(stdout, escapes_none, files[i]);
        putchar('\n');
        worst = status_worse(worst, checking.statuses[i]);
    }
    free(checking.statuses);
    return worst;
}

/* -- showing ----------------------------------------------------------------------------------- */

static enum status show(const void *parsed, const struct invocation *invocation)
{
    const struct show_options *options = parsed;
    const bool several = invocation->argument_count > 1,
               of_results = options->format.csv || options->format.json || options->cell;
    enum status worst = format_check(&options->format);

    if (options->format.json && (several || options->cell))
        return log_error(STATUS_USAGE,
                         "--json prints one whole result; give one file, without --cell");
    if (options->check && worst == STATUS_OK)
        return check_files(invocation->arguments, invocation->argument_count);
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
