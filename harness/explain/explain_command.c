/* SPDX-License-Identifier: MIT
 * `cbank explain`: the shares of each cell, as text or JSON. The JSON has the simple time, too: for
 * it, exact counts are made again with the indices that the cells had. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell_json.h"
#include "command.h"
#include "device_json.h"
#include "document.h"
#include "explain.h"
#include "launch_path.h"
#include "log.h"
#include "result_indices.h"
#include "text_print.h"
#include "user_cell.h"
#include "version_json.h"

struct explain_options {
    const char *card_path; /* NULL: the built-in card of the device */
    const char *cell;      /* NULL: all */
    bool json;
    bool unchecked_times;
    struct output_options look;
};

#define MEMBER(name) .offset = offsetof(struct explain_options, name)

static const struct option_row rows[] = {
    {.name = "card",
     .topic = TOPIC_GPU,
     .argument = "CARD",
     .help =
         "chip card: a file, or a name of cbank list cards (default: the one with the GPU's name)",
     .kind = &option_text,
     .file = FILE_READ,
     MEMBER(card_path)},
    {.name = "cell",
     .topic = TOPIC_VIEW,
     .argument = "CELL",
     .help = "the cell with this identity WORKLOAD/PATH/PATTERN/..., or the cells of a glob",
     .kind = &option_text,
     MEMBER(cell)},
    {.name = "json",
     .topic = TOPIC_OUTPUT,
     .help = "print JSON",
     .kind = &option_flag,
     MEMBER(json)},
    {.name = "unchecked-times",
     .topic = TOPIC_OUTPUT,
     .help = "with --json: also simple times whose interval was not shown to hold, for studies",
     .kind = &option_flag,
     MEMBER(unchecked_times)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(output_option_rows, offsetof(struct explain_options, look)),
};

/* One file, explained. */
struct explained {
    const char *file;
    struct result result; /* owned */
    struct index_list indices; /* owned: the indices of its lookups, freed but for their hashes */
    struct card card;
    struct explained_cell *cells; /* owned: the selected cells */
    size_t count;
};

struct explanation {
    struct explained *files; /* owned */
    size_t count;
    double threshold;
};

/* -- JSON -------------------------------------------------------------------------------------- */

static const struct field range_rows[] = {
    {FIELD(field_number, struct time_range, "value", value, NULLABLE)},
    {FIELD(field_number, struct time_range, "low", low, NULLABLE)},
    {FIELD(field_number, struct time_range, "high", high, NULLABLE)},
};
static const struct object range_object = {.fields = FIELDS(range_rows), .given = SIZE_MAX};

/* By the name of a unit: the value, or an end, of its share. field->offset is that of the number in
 * a time_range. */
static void write_shares(cJSON *object, const struct field *field, const void *base)
{
    const struct explained_cell *cell = base;
    cJSON *shares = json_add(object, field->key, cJSON_CreateObject());

    for (int i = 0; i < EXPLAIN_UNITS; i++)
        json_add_double(shares, explain_units[i].name,
                        *(const double *)((const char *)&cell->share[i] + field->offset));
}

static const struct field_kind kind_shares = {.write = write_shares};

#define SHARES_RULES \
    "\"type\": \"object\", \"additionalProperties\": {\"type\": [\"number\", \"null\"]}"

static const struct field measured_rows[] = {
    {FIELD(field_cell, struct cell_result, "identity", cell, REQUIRED)},
    {FIELD(field_number, struct cell_result, "time_ns", time.summary.value, NULLABLE),
     .about = "as measured"},
};
static const struct fields measured_fields = FIELDS(measured_rows);

static const struct field cell_rows[] = {
    {FIELD(field_pointer, struct explained_cell, NULL, cell, REQUIRED), .fields = &measured_fields},
    {FIELD(field_reference, struct explained_cell, "bound", bound, NULLABLE),
     .about = "the unit with the largest share, if all of its interval lies above the threshold; "
              "latency, if that of every unit lies below; null where neither is known"},
    {.key = "shares",
     .kind = &kind_shares,
     .offset = offsetof(struct time_range, value),
     .about = "by unit: share of the time that it is busy; null where its counter was not read or "
              "the card lacks its number",
     .rules = SHARES_RULES},
    {.key = "shares_low",
     .kind = &kind_shares,
     .offset = offsetof(struct time_range, low),
     .about = "the least share that the interval of the card's number allows",
     .rules = SHARES_RULES},
    {.key = "shares_high",
     .kind = &kind_shares,
     .offset = offsetof(struct time_range, high),
     .about = "the greatest share that it allows",
     .rules = SHARES_RULES},
    {FIELD(field_object, struct explained_cell, "model_ns", model_ns, REQUIRED),
     .object = &range_object,
     .about =
         "the simple time of the card, and an interval that held 85 % of such cells of other "
         "plans; value and high are null where the card lacks a number, or no interval was "
         "shown to hold for the group: low is then what units with exact counts take at least"},
    {FIELD(field_text, struct explained_cell, "model_group", model_group, NULLABLE),
     .about = "what the simple time rests on: form of the kernel, unit that answers its loads, "
              "longest unit, and duration. Cells of a group share their errors"},
};
static const struct objects cell_list = {
    OBJECTS(cell_rows, struct explained_cell, struct explained, count)};

static const struct field file_rows[] = {
    {FIELD(field_reference, struct explained, "file", file, REQUIRED)},
    {FIELD(field_text, struct explained, "card", card.name, REQUIRED), .about = "name of the card"},
    {FIELD(field_object, struct explained, "device", result.device, REQUIRED),
     .object = &device_object},
    {FIELD(field_list, struct explained, "cells", cells, REQUIRED), .elements = &cell_list},
};
static const struct objects file_list = {
    OBJECTS(file_rows, struct explained, struct explanation, count)};

static const struct field root_rows[] = {
    {.key = "tool", .kind = &field_tool},
    {FIELD(field_number, struct explanation, "threshold", threshold, REQUIRED),
     .about = "share of the time from which on a unit bounds a cell"},
    {FIELD(field_list, struct explanation, "results", files, REQUIRED), .elements = &file_list,
     .about = "one for each file that could be read, of whose chip there is a card"},
};

const struct document explain_document = {
    .schema = "cbank-explanation",
    .what = "explanation",
    .about =
        "What bounds measured cells: what cbank explain --json prints. Keys end in their unit. A "
        "value that is not known is null.",
    .major = 1,
    .minor = 3,
    .root = {.fields = FIELDS(root_rows), .given = SIZE_MAX},
};

/* -- text -------------------------------------------------------------------------------------- */

#define EXPLAINED(kind, name) .value = kind, .member = GRID_MEMBER(struct explained_cell, name)

/* clang-format off */
static const struct grid_column columns[] = {
    {.key = "cell", .heading = "cell", EXPLAINED(grid_array, identity), .head = true},
    {.key = "time_ns", .heading = "time", .format = text_time, .value = grid_number,
     .member = GRID_BEHIND(struct explained_cell, cell, struct cell_result, time.summary.value)},
    {.key = "bound", .heading = "bound by", EXPLAINED(grid_text, bound)},
    {.key = "busiest", .heading = "busiest unit", EXPLAINED(grid_array, busiest)},
    {.key = "unknown", .heading = "not known", EXPLAINED(grid_array, unknown), .rank = 1},
};
/* clang-format on */

/* -- files ------------------------------------------------------------------------------------- */

/* Whether a cell is explained: it is named, or all are, and it was not skipped. */
static bool is_explained(const struct explain_options *options, const struct cell_result *cell)
{
    return cell->status != CELL_SKIPPED && !cell_launch_path(&cell->cell) &&
           (!options->cell || cell_is_named(&cell->cell, options->cell));
}

/* Counts a cell, and those behind it that read the same indices. An array of indices may have 64 MB
 * and more, so it is made, counted with, and freed before the next one is made. */
static enum status count_alike(const struct explain_options *options, struct explained *out,
                               size_t first, struct access_counts *counts)
{
    struct result *result = &out->result;
    const struct index_array *array, *given;
    enum status status = result_give_cell(result, first, &out->indices, NULL, &array);

    for (size_t i = first; status == STATUS_OK && i < result->cell_count; i++) {
        const struct cell *cell = &result->cells[i].cell;

        if (!is_explained(options, &result->cells[i]) ||
            (i > first && (!array || index_list_find(&out->indices, cell) != array)))
            continue;
        status = result_give_cell(result, i, &out->indices, NULL, &given);
        if (status == STATUS_OK && is_explained(options, &result->cells[i]))
            status = access_count_next(result_cell, result, i, counts);
    }
    if (array)
        index_list_release(&out->indices, array);
    return status;
}

/* Whether exact counts of a cell are used: the JSON has the simple time of each, and the texture
 * unit is asked by fewer loads than are executed around the edges of an image. */
static bool needs_counts(const struct explain_options *options, const struct cell *cell)
{
    return options->json ||
           (cell->path->unit == UNIT_TEXTURE && cell->workload->index != INDEX_LOADED);
}

/* Explains the cells of a file. */
static enum status explain_cells(const struct explain_options *options, struct explained *out)
{
    const struct result *result = &out->result;
    struct access_counts *counts = calloc(result->cell_count + 1, sizeof(*counts));
    enum status status = STATUS_OK;

    out->cells = calloc(result->cell_count + 1, sizeof(*out->cells));
    if (!counts || !out->cells) {
        status = log_memory("%zu cells", result->cell_count);
        goto out;
    }
    for (size_t i = 0; i < result->cell_count; i++) {
        if (is_explained(options, &result->cells[i]) && counts[i].blocks == 0 &&
            needs_counts(options, &result->cells[i].cell))
            status = count_alike(options, out, i, counts);
        if (status != STATUS_OK)
            goto out;
    }
    for (size_t i = 0; i < result->cell_count; i++)
        if (is_explained(options, &result->cells[i]))
            explain_cell(&result->cells[i], counts[i].blocks ? &counts[i] : NULL, &out->card,
                         options->unchecked_times, &out->cells[out->count++]);
    if (options->cell && out->count == 0)
        status = cell_unknown(options->cell);
out:
    free(counts);
    return status;
}

/* Explains a file. The card is the named one, else a built-in one of the chip; one with the
 * device's name is preferred. The caller closes what was opened, also after an error. */
static enum status explain_file(const char *path, const struct explain_options *options,
                                struct explained *out)
{
    enum status status;

    *out = (struct explained){.file = path};
    status = result_read(path, &out->result);
    if (status != STATUS_OK)
        return status;
    status = card_read_of(options->card_path, &out->result.device, path, &out->card);
    if (status != STATUS_OK)
        return status;
    return explain_cells(options, out);
}

static void close_file(struct explained *file)
{
    result_close(&file->result);
    index_list_close(&file->indices);
    free(file->cells);
}

/* Prints the cells of a file. *most grows to the largest share of all cells. */
static enum status print_file(const struct explained *file, const struct print_style *look,
                              double *most)
{
    const struct grid grid = {GRID_COLUMNS(columns), GRID_ROWS(file->cells, file->count)};

    text_put(stdout, escapes_none, file->file);
    printf(": %s, by the card of %s%s\n", file->result.device.name, file->card.name,
           file->result.modelled_time ? "; modelled: nothing was measured" : "");
    for (size_t i = 0; i < file->count; i++)
        if (file->cells[i].longest >= 0)
            *most = fmax(*most, file->cells[i].share[file->cells[i].longest].low);
    return grid_print(stdout, &grid, look);
}

static enum status explain(const void *parsed, const struct invocation *invocation)
{
    const struct explain_options *options = parsed;
    const struct print_style look = output_style(&options->look);
    struct explanation explanation = {.threshold = EXPLAIN_THRESHOLD};
    enum status worst = STATUS_OK;
    double most = 0;

    explanation.files = calloc(invocation->argument_count, sizeof(*explanation.files));
    if (!explanation.files)
        return log_memory("%zu files", invocation->argument_count);
    for (size_t i = 0; i < invocation->argument_count; i++) {
        struct explained *file = &explanation.files[explanation.count];
        enum status status = explain_file(invocation->arguments[i], options, file);

        if (status != STATUS_OK)
            close_file(file);
        else if (++explanation.count && !options->json)
            status = print_file(file, &look, &most);
        worst = status_worse(worst, status);
    }
    if (options->json && explanation.count > 0)
        worst = status_worse(worst, document_write(&explain_document, &explanation, "-"));
    else if (explanation.count > 0)
        printf("latency: no unit is busy for %.0f %% of the time; -: the card does not tell\n%s",
               100 * EXPLAIN_THRESHOLD,
               most > EXPLAIN_IMPOSSIBLE
                   ? "more than 100%: a nearer cache had part of the data, or the unit "
                     "is faster than its card\n"
                   : "");
    while (explanation.count > 0)
        close_file(&explanation.files[--explanation.count]);
    free(explanation.files);
    return worst;
}

const struct command explain_command = {
    .name = "explain",
    .summary = "Name the unit of the GPU that bounds each measured cell",
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = 1000,
    OPTION_GROUPS(groups),
    .options_bytes = sizeof(struct explain_options),
    .details =
        "A unit's busy time is its counter times the card's cost of one. The counters are "
        "instructions to issue, loads, addresses\n"
        "and fills of the constant cache, loads of L1 and texture, wavefronts of shared memory, "
        "and bytes of L2 and DRAM. The share of\n"
        "the time is that of the mean SM, and as uncertain as the card's number. A unit "
        "bounds the cell if its share is the largest\n"
        "and surely above 60 %. Latency does if every share is surely below: warps wait. "
        "A unit without a counter, or without its\n"
        "number on the card, is listed as not known.\n"
        "\n"
        "Exit code 3: no card is of the chip of a file.",
    .run = explain,
};
