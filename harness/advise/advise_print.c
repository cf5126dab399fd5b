/* SPDX-License-Identifier: MIT
 * Advice as text and as a document. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise.h"
#include "document.h"
#include "log.h"
#include "memory.h"
#include "text.h"
#include "text_print.h"
#include "user_code.h"
#include "version.h"
#include "version_json.h"

enum { LINE_BYTES = 1024 };

/* -- the command that measures ------------------------------------------------------------------------- */

char *advise_run_command(const struct advice *advice)
{
    const struct cell *cell = &advice->cell;
    struct memory command;
    FILE *stream = memory_open(&command);

    if (!stream)
        return NULL;
    fprintf(stream, "cbank run --workload %s --path ", cell->workload->name);
    for (size_t i = 0; i < advice->count; i++)
        if (advice->spaces[i].standing != ADVISE_SLOWER)
            fprintf(stream, "%s%s", i ? "," : "", advice->spaces[i].path->name);
    if (advice->indices_path) {
        fputs(" --indices", stream);
        text_put_word(stream, advice->indices_path);
    } else {
        fprintf(stream, " --%s %s --elements %" PRIu64, cell->workload->index == INDEX_LOADED ? "source" : "pattern",
                cell->pattern->name, cell->elements);
    }
    fprintf(stream, " --block-size %" PRIu32, cell->block_size);
    for (size_t i = 0; i < parameter_count; i++)
        if (cell->parameters[i] && !(advice->indices_path && i == PARAMETER_loads))
            fprintf(stream, " --%s %" PRIu32, parameters[i].option, cell->parameters[i]);
    return memory_close(&command, stream) ? command.text : NULL;
}

/* -- text ---------------------------------------------------------------------------------------------- */

/* "2 us to 3 us", or a lower bound. */
static void interval_value(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct time_range *time = &((const struct advised_space *)row)->estimate.time_ns;

    (void)column;
    if (isinf(time->high))
        snprintf(out->room, sizeof(out->room), "%s or more", text_of(text_time, time->low).text);
    else
        grid_range(text_time, time->low, time->high, out);
    out->text = out->room;
}

static void standing_value(const struct grid_column *column, const void *row, struct grid_value *out)
{
    static const enum grid_style styles[ADVISE_STANDING_COUNT] = {
        [ADVISE_FIRST] = GRID_GOOD, [ADVISE_ALIKE_FIRST] = GRID_GOOD, [ADVISE_TOO_CLOSE] = GRID_DOUBT};
    const struct advised_space *space = row;

    (void)column;
    out->text = advise_standing_names[space->standing];
    out->style = styles[space->standing];
}

static void path_value(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->text = ((const struct advised_space *)row)->path->name;
}

#define NUMBER(key_, heading_, format_, member) \
    {.key = key_,                               \
     .heading = heading_,                       \
     .format = format_,                         \
     .value = grid_number,                      \
     .of = GRID_MEMBER(struct advised_space, member)}

/* The last ones are for JSON. */
enum { TEXT_COLUMNS = 7 };

static const struct grid_column columns[] = {
    {.key = "path", .heading = "table in", .value = path_value, .head = true},
    NUMBER("requests_per_load", "requests a load", text_tenths, requests_per_load),
    NUMBER("time_ns", "time", text_time, estimate.time_ns.value),
    {.key = "interval", .heading = "interval", .value = interval_value, .rank = 1},
    NUMBER("relative", "to the best", text_ratio, relative),
    {.key = "standing", .heading = "", .value = standing_value},
    {.key = "bound",
     .heading = "longest",
     .value = grid_text,
     .of = GRID_MEMBER(struct advised_space, bound),
     .rank = 2},
    NUMBER("low", "", text_time, estimate.time_ns.low),
    NUMBER("high", "", text_time, estimate.time_ns.high),
};

static struct grid grid_of(const struct advice *advice, size_t column_count)
{
    return (struct grid){.columns = columns,
                         .column_count = column_count,
                         .rows = advice->spaces,
                         .row_count = advice->count,
                         .row_bytes = sizeof(*advice->spaces)};
}

/* The lookups, and what a load of a warp asks for. */
static void print_asked(FILE *stream, const struct advice *advice, const struct print_style *look)
{
    const struct cell *cell = &advice->cell;
    const uint32_t width = table_width(cell->parameters), bytes = cell->parameters[PARAMETER_table_bytes];
    const struct advised_facts facts = advice->facts;
    char indices[LINE_BYTES];

    snprintf(indices, sizeof(indices), "%s", advice->indices_path ? advice->indices_path : cell->pattern->name);
    for (size_t i = 0; i < parameter_count; i++)
        if (cell->pattern->parameter_mask >> i & 1)
            text_join(indices, LINE_BYTES, ", ", "%s %" PRIu32, parameters[i].name, cell->parameters[i]);
    advise_put(stream, look, "table: %" PRIu32 " bytes, %" PRIu32 " entries of %" PRIu32, bytes, bytes / width, width);
    advise_put(stream, look, "lookups: %" PRIu64 " elements x %" PRIu32 ", blocks of %" PRIu32 ", indices: %s",
               cell->elements, workload_steps(cell->workload, cell->parameters), cell->block_size, indices);
    advise_put(
        stream, look,
        "a warp's load asks for %.4g distinct addresses, %.4g lines of %d bytes, %.4g sectors of %d; shared memory "
        "takes %.4g wavefronts for it. All loads read %" PRIu64 " bytes of the table. These counts are exact.",
        facts.addresses, facts.lines, ACCESS_LINE_BYTES, facts.sectors, ACCESS_SECTOR_BYTES, facts.wavefronts,
        facts.footprint_bytes);
    advise_put(stream, look, "times are modelled by the card of %s: nothing was measured", advice->card.name);
}

enum status advise_print(FILE *stream, const struct advice *advice, const struct print_style *look)
{
    const struct grid grid = grid_of(advice, TEXT_COLUMNS);
    const struct advised_space *first = &advice->spaces[0];
    const struct space_code *code = space_code_of(first->path);
    char missing[CARD_TEXT_BYTES];
    enum status status;

    print_asked(stream, advice, look);
    fputc('\n', stream);
    status = grid_print(stream, &grid, look);
    if (status != STATUS_OK)
        return status;
    fputs(advice->excluded ? "\n" : "", stream);
    for (size_t i = advice->count; i < advice->count + advice->excluded; i++)
        advise_put(stream, look, "not %s: %s", advice->spaces[i].path->name, advice->spaces[i].reason);
    fputc('\n', stream);
    if (!advice->choice) {
        estimate_missing_text(&first->estimate, missing);
        advise_put(stream, look, "no memory space is best by this card, which does not know %s", missing);
    } else {
        advise_put(stream, look, "best: %s", advice->choice);
        if (code) {
            advise_put(stream, look, "write: %s", code->declaration);
            advise_put(stream, look, "       %s", code->load);
        }
        advise_put(stream, look, "look for in the SASS: %s", image_instruction(&first->cell));
    }
    advise_put(stream, look, "measure: %s", advice->measure);
    return advice->code ? user_code_print(stream, advice->code, look) : STATUS_OK;
}

/* -- the document -------------------------------------------------------------------------------------- */

static void write_ranking(cJSON *object, const struct field *field, const void *base)
{
    const struct grid grid = grid_of(base, sizeof(columns) / sizeof(columns[0]));

    json_add(object, field->key, grid_to_json(&grid));
}

static void write_excluded(cJSON *object, const struct field *field, const void *base)
{
    const struct advice *advice = base;
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = advice->count; i < advice->count + advice->excluded; i++) {
        cJSON *excluded = json_append(array, cJSON_CreateObject());

        json_add_text(excluded, "path", advice->spaces[i].path->name);
        json_add_text(excluded, "reason", advice->spaces[i].reason);
    }
}

static const struct field facts_rows[] = {
    {FIELD(field_number, struct advised_facts, "addresses_per_load", addresses, NULLABLE)},
    {FIELD(field_number, struct advised_facts, "lines_per_load", lines, NULLABLE)},
    {FIELD(field_number, struct advised_facts, "sectors_per_load", sectors, NULLABLE)},
    {FIELD(field_number, struct advised_facts, "wavefronts_per_load", wavefronts, NULLABLE)},
    {FIELD(field_uint64, struct advised_facts, "footprint_bytes", footprint_bytes, REQUIRED)},
};
static const struct object facts_object = {.fields = FIELDS(facts_rows), .given = SIZE_MAX};

static void write_configuration(cJSON *object, const struct field *field, const void *base)
{
    const struct advice *advice = base;
    const struct cell *cell = &advice->cell;
    cJSON *configuration = json_add(object, field->key, cJSON_CreateObject());

    json_add_text(configuration, "workload", cell->workload->name);
    json_add_text(configuration, "pattern", cell->pattern->name);
    json_add_text(configuration, "indices", advice->indices_path);
    json_add_integer(configuration, "elements", cell->elements);
    json_add_integer(configuration, "block_size", cell->block_size);
    for (size_t i = 0; i < parameter_count; i++)
        if (cell_parameter_mask(cell->workload, cell->pattern) >> i & 1)
            json_add_integer(configuration, parameters[i].name,
                             parameter_value(cell->parameters, (enum parameter_index)i));
}

static const struct field_kind kind_excluded = {write_excluded, NULL}, kind_ranking = {write_ranking, NULL},
                               kind_configuration = {write_configuration, NULL};

static const struct field root_rows[] = {
    {.key = "tool", .kind = &field_tool},
    {FIELD(field_text, struct advice, "card", card.name, REQUIRED)},
    {.key = "configuration", .kind = &kind_configuration},
    {FIELD(field_object, struct advice, "counts", facts, REQUIRED), .of = &facts_object},
    {FIELD(field_reference, struct advice, "choice", choice, NULLABLE)},
    {.key = "ranking", .kind = &kind_ranking},
    {.key = "excluded", .kind = &kind_excluded},
    {FIELD(field_reference, struct advice, "measure", measure, REQUIRED)},
    {FIELD(field_pointer, struct advice, "code", code, NULLABLE), .of = &user_code_fields},
};

const struct document advise_document = {.schema = "cbank-advice",
                                         .what = "advice",
                                         .major = 1,
                                         .root = {.fields = FIELDS(root_rows), .given = SIZE_MAX}};
