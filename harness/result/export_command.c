/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "cell_row.h"
#include "command.h"
#include "files.h"
#include "log.h"

struct export_format {
    const char *name;
    const char *summary;
    /* Writes a result that was read from `file`, number `index` on the command line. STATUS_ENVIRONMENT when out of
     * memory. */
    enum status (*write)(FILE *stream, const struct result *result, const char *file, size_t index);
};

/* RFC 4180: one header line, then a row for each sample. A cell without samples has one row; for a prediction, it has
 * its time. */
static enum status write_csv(FILE *stream, const struct result *result, const char *file, size_t index)
{
    struct grid_column columns[CELL_ROW_COLUMNS_MAX];
    struct cell_rows cells;
    enum status status = cell_rows_open(result, file, NULL, &cells);
    struct grid grid = cell_row_grid(NULL, 0, VIEW_SAMPLES, columns);

    grid.continued = index > 0;
    if (status == STATUS_OK)
        grid_print_csv(stream, &grid);
    grid.continued = true;
    for (size_t i = 0; status == STATUS_OK && i < cells.count; i++) {
        const struct cell_time *time = &cells.rows[i].found->time;
        const size_t count = time->samples_ns ? time->summary.count : isfinite(time->summary.value);
        struct cell_row *rows = calloc(count + 1, sizeof(*rows));

        if (!rows)
            status = log_memory("the samples of a cell");
        grid.rows = rows;
        grid.row_count = rows ? count + (count == 0) : 0;
        for (size_t k = 0; k < grid.row_count; k++) {
            rows[k] = cells.rows[i];
            rows[k].index = (double)index;
            rows[k].sample = count ? (double)k : NAN;
            rows[k].sample_ns = time->samples_ns && count ? time->samples_ns[k] : time->summary.value;
        }
        grid_print_csv(stream, &grid);
        free(rows);
    }
    free(cells.rows);
    return status;
}

/* One object on a line for each cell: the columns of show --csv, the origin of the result, all samples, and the
 * counters. */
static enum status write_jsonl(FILE *stream, const struct result *result, const char *file, size_t index)
{
    struct grid_column columns[CELL_ROW_COLUMNS_MAX];
    struct cell_rows rows;
    enum status status = cell_rows_open(result, file, NULL, &rows);

    (void)index;
    for (size_t i = 0; status == STATUS_OK && i < rows.count; i++) {
        const struct cell_result *cell = rows.rows[i].found;
        const struct grid grid = cell_row_grid(&rows.rows[i], 1, VIEW_CELLS | VIEW_ORIGIN, columns);
        cJSON *line = grid_to_json(&grid), *object = line ? line->child : NULL, *counters;
        char *text;

        json_add(object, "samples_ns",
                 json_doubles(cell->time.samples_ns, cell->time.samples_ns ? cell->time.summary.count : 0));
        counters = json_add(object, "counters", cJSON_CreateObject());
        for (size_t k = 0; k < cell->counter_count; k++)
            json_add_double(counters, cell->counters[k].name, cell->counters[k].value);
        text = object ? cJSON_PrintUnformatted(object) : NULL;
        if (text)
            fprintf(stream, "%s\n", text);
        else
            status = log_memory("JSON text");
        cJSON_free(text);
        cJSON_Delete(line);
    }
    free(rows.rows);
    return status;
}

#define FORMATS(EACH)                               \
    EACH(csv, "a row a sample, as pandas reads it") \
    EACH(jsonl, "JSON lines: an object a cell with its statistics, samples, counters and origin")

#define ROW(name, summary) {#name, summary, write_##name},
static const struct export_format formats[] = {FORMATS(ROW)};
static const size_t format_count = sizeof(formats) / sizeof(formats[0]);

struct export_options {
    const struct export_format *format;
};

/* clang-format off */
#define HELP(name, summary) #name " (" summary "); "
static const struct option_row rows[] = {
    {.name = "format", .argument = "NAME", .kind = &option_choice, .offset = offsetof(struct export_options, format),
     .help = FORMATS(HELP) "default csv", .table = TABLE("format", formats, format_count), .fallback = "csv"},
};
/* clang-format on */

static const struct option_group groups[] = {OPTION_GROUP(rows, 0)};

static enum status export_files(const void *parsed, const struct invocation *invocation)
{
    const struct export_options *options = parsed;
    struct texts files = {0};
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < invocation->argument_count; i++)
        status = files_add(&files, invocation->arguments[i]);
    for (size_t i = 0; status == STATUS_OK && i < files.count; i++) {
        struct result result;

        status = result_read(files.items[i], &result);
        if (status == STATUS_OK)
            status = options->format->write(stdout, &result, files.items[i], i);
        result_close(&result);
    }
    texts_close(&files);
    return status;
}

const struct command export_command = {
    .name = "export",
    .summary = "Print the cells of results for other programs",
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = 1000,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct export_options),
    .details = "A FILE is a result, or a folder of them. cbank convert writes results in the formats of other tools.",
    .run = export_files,
};
