/* SPDX-License-Identifier: MIT
 * Advice as text and as a document. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "advise.h"
#include "code_compare.h"
#include "code_print.h"
#include "document.h"
#include "memory.h"
#include "parameter_index.h"
#include "schema.h"
#include "text.h"
#include "text_print.h"
#include "version_json.h"

enum { LINE_BYTES = 1024 };

/* -- the command that measures ----------------------------------------------------------------- */

char *advise_run_command(const struct advice *advice)
{
    static const struct escape in_quotes[] = {{'\'', "'\\''"}, {'\0', NULL}}; /* of a shell */
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
        fputs(" --indices '", stream);
        text_put(stream, in_quotes, advice->indices_path);
        putc('\'', stream);
    } else {
        fprintf(stream, " --%s %s --elements %" PRIu64,
                cell->workload->index == INDEX_LOADED ? "source" : "pattern", cell->pattern->name,
                cell->elements);
    }
    fprintf(stream, " --block-size %" PRIu32, cell->block_size);
    if (cell->cache_state->flush)
        fprintf(stream, " --cache-state %s", cell->cache_state->name);
    for (size_t i = 0; i < parameter_count; i++)
        if (cell->parameters[i] && !(advice->indices_path && i == PARAMETER_loads))
            fprintf(stream, " --%s %" PRIu32, parameters[i].option, cell->parameters[i]);
    return memory_close(&command, stream) ? command.text : NULL;
}

/* -- text -------------------------------------------------------------------------------------- */

#define SPACE(kind, key, member, presence) FIELD(kind, struct advised_space, key, member, presence)

static const struct names standing_names = {advise_standing_names, ADVISE_STANDING_COUNT, NULL};

static const struct field advised_rows[] = {
    {SPACE(field_row, "path", path, REQUIRED),
     .column = COLUMN(.heading = "table in", .head = true)},
    {SPACE(field_number, "requests_per_load", requests_per_load, NULLABLE),
     .about = "that the path's unit gets for a warp's load",
     .column = COLUMN(.heading = "requests a load", .format = text_tenths)},
    {SPACE(field_number, "time_ns", estimate.time_ns.value, NULLABLE),
     .about = "null where the card lacks a number: then low is a bound",
     .column = COLUMN(.heading = "time", .format = text_time)},
    {SPACE(field_text, "interval", interval, REQUIRED), .about = "from low to high, for people",
     .column = COLUMN(.heading = "interval", .rank = 1)},
    {SPACE(field_number, "relative", relative, NULLABLE), .about = "time over that of the first",
     .column = COLUMN(.heading = "to the best", .format = text_ratio)},
    {SPACE(field_name, "standing", standing, REQUIRED), .names = &standing_names,
     .column = COLUMN(.heading = "")},
    {SPACE(field_reference, "bound", bound, REQUIRED), .about = "the unit that is busy longest",
     .column = COLUMN(.heading = "longest", .rank = 2)},
    {SPACE(field_number, "low", estimate.time_ns.low, NULLABLE),
     .about = "of the interval that holds nine of ten cells, ns"},
    {SPACE(field_number, "high", estimate.time_ns.high, NULLABLE)},
};
static const struct objects advised_list = {
    OBJECTS(advised_rows, struct advised_space, struct advice, count)};

/* The table and its lookups. */
static void print_lookups(FILE *stream, const struct advice *advice, const struct print_style *look)
{
    const struct cell *cell = &advice->cell;
    const struct advised_facts facts = advice->facts;
    const uint32_t width = table_width(cell->parameters),
                   bytes = cell->parameters[PARAMETER_table_bytes];
    char indices[LINE_BYTES];

    snprintf(indices, sizeof(indices), "%s",
             advice->indices_path ? advice->indices_path : cell->pattern->name);
    for (size_t i = 0; i < parameter_count; i++)
        if (cell->pattern->parameter_mask >> i & 1)
            text_join(indices, LINE_BYTES, ", ", "%s %" PRIu32, parameters[i].name,
                      cell->parameters[i]);
    if (bytes * table_count(cell->parameters) > CBANK_TABLE_BYTES)
        advise_put(stream, look,
                   "No constant bank holds %" PRIu32 " bytes: it has %" PRIu32
                   ", and the parameters of a kernel have fewer. Other memory remains, or a "
                   "smaller table.",
                   bytes * table_count(cell->parameters), CBANK_TABLE_BYTES);
    advise_put(stream, look, "table: %" PRIu32 " bytes, %" PRIu32 " entries of %" PRIu32, bytes,
               bytes / width, width);
    advise_put(stream, look,
               "lookups: %" PRIu64 " elements x %" PRIu32 ", blocks of %" PRIu32 "%s, indices: %s",
               cell->elements, workload_steps(cell->workload, cell->parameters), cell->block_size,
               cell->cache_state->flush ? ", cold caches" : "", indices);
    advise_put(stream, look,
               "a load of a warp, in the mean: distinct addresses %.4g; lines of %d bytes %.4g; "
               "sectors of %d %.4g; wavefronts of shared memory %.4g. All loads read %" PRIu64
               " bytes of the table. These counts are exact.",
               facts.addresses, ACCESS_LINE_BYTES, facts.lines, ACCESS_SECTOR_BYTES, facts.sectors,
               facts.wavefronts, facts.footprint_bytes);
    advise_put(stream, look, "times are modelled by the card of %s: nothing was measured",
               advice->card.name);
    fputc('\n', stream);
}

/* The best memory space, if the card can say it. */
static void print_choice(FILE *stream, const struct advice *advice, const struct print_style *look)
{
    const struct advised_space *first = &advice->spaces[0];
    char missing[CARD_TEXT_BYTES];

    if (advice->choice) {
        advise_put(stream, look, "best: %s", advice->choice);
        advise_put(stream, look, "look for in the SASS: %s", payload_instruction(&first->cell));
        return;
    }
    estimate_missing_text(&first->estimate, missing);
    advise_put(stream, look, "no memory space is best by this card, which does not know %s",
               missing);
}

/* Prints a command line of a shell, continued by backslashes where it is too wide. A word stays
 * whole, so that the command can be copied. */
static void print_command(FILE *stream, const char *before, const char *command,
                          const struct print_style *look)
{
    enum { INDENT = 4, CONTINUED = 2 /* columns of " \\" */ };
    char text[4 * PATH_MAX + 16]; /* a path, whose quotes take four bytes */
    size_t column = strlen(before);

    fputs(before, stream);
    for (const char *word = command; *word;) {
        bool quoted = false;
        size_t bytes = 0;

        for (; word[bytes] && (quoted || word[bytes] != ' '); bytes++)
            quoted ^= word[bytes] == '\'';
        if (word != command && column + 1 + bytes + CONTINUED > (size_t)look->width) {
            fprintf(stream, " \\\n%*s", INDENT, "");
            column = INDENT;
        } else if (word != command) {
            fputc(' ', stream);
            column++;
        }
        snprintf(text, sizeof(text), "%.*s", (int)bytes, word);
        text_put(stream, escapes_none, text);
        column += bytes;
        word += bytes + (word[bytes] == ' ');
    }
    fputc('\n', stream);
}

/* How to measure the lookups, and the kernel around them. */
static void print_commands(FILE *stream, const struct advice *advice,
                           const struct print_style *look)
{
    print_command(stream, "measure: ", advice->measure, look);
    fputc('\n', stream);
    /* The numbers are of an H100: thirteen tables of public code, in kernels with their
     * arithmetic. */
    advise_put(stream, look,
               "This ranking is of lookups alone. It does not carry over to a kernel with "
               "arithmetic of its own. There, its best memory space took 15 %% longer in the mean "
               "than the best that was measured, and 24 %% longer with one element a thread. "
               "Measure your kernel:");
    if (!advice->written_path)
        advise_put(stream, look, "    cbank advise ... --write my.cu");
    advise_put(stream, look, "    cbank run --kernel %s",
               advice->written_path ? advice->written_path : "my.cu");
}

enum status advise_print(FILE *stream, const struct advice *advice, const struct print_style *look)
{
    struct field_columns columns;
    const struct grid grid = field_grid(&advised_list, advice->spaces, advice->count, &columns);
    enum status status;

    if (advice->code) {
        status =
            advice->comparison
                ? code_comparison_print(stream, advice->comparison, &advice->card, look)
                : user_code_print(stream, advice->code, &advice->card, advice->all_loads, look);
        if (status != STATUS_OK || !advice->facts.given)
            return status;
        fputc('\n', stream);
    }
    print_lookups(stream, advice, look);
    status = grid_print(stream, &grid, look);
    if (status != STATUS_OK)
        return status;
    fputs(advice->excluded ? "\n" : "", stream);
    for (size_t i = advice->count; i < advice->count + advice->excluded; i++)
        advise_put(stream, look, "not %s: %s", advice->spaces[i].path->name,
                   advice->spaces[i].reason);
    fputc('\n', stream);
    print_choice(stream, advice, look);
    print_commands(stream, advice, look);
    return STATUS_OK;
}

/* -- the document ------------------------------------------------------------------------------ */

/* The parameters that the lookups take, as keys of the object. */
static void write_parameters(cJSON *object, const struct field *field, const void *base)
{
    const struct cell *cell = (const void *)((const char *)base + field->offset);

    for (size_t i = 0; i < parameter_count; i++)
        if (cell_parameter_mask(cell->workload, cell->pattern) >> i & 1)
            json_add_integer(object, parameters[i].name, parameter_value(cell->parameters, i));
}

static void schema_parameters(struct schema_object *object, const struct field *field)
{
    (void)field;
    for (size_t i = 0; i < parameter_count; i++)
        schema_integer(object, &(struct field){.key = parameters[i].name,
                                               .kind = &field_uint32,
                                               .presence = OMITTED,
                                               .about = parameters[i].summary,
                                               .rules = "\"type\": \"integer\", " AT_LEAST(0)});
}

static const struct field_kind kind_parameters = {.write = write_parameters,
                                                  .schema = schema_parameters};

#define ADVICE(kind, key, member, presence) FIELD(kind, struct advice, key, member, presence)

static const struct field configuration_rows[] = {
    {ADVICE(field_row, "workload", cell.workload, REQUIRED)},
    {ADVICE(field_row, "pattern", cell.pattern, REQUIRED)},
    {ADVICE(field_reference, "indices", indices_path, NULLABLE),
     .about = "their file; null where the pattern made them"},
    {ADVICE(field_uint64, "elements", cell.elements, REQUIRED)},
    {ADVICE(field_uint32, "block_size", cell.block_size, REQUIRED)},
    {ADVICE(field_row, "cache_state", cell.cache_state, REQUIRED)},
    {ADVICE(kind_parameters, NULL, cell, REQUIRED)},
};
static const struct object configuration_object = {.fields = FIELDS(configuration_rows),
                                                   .given = offsetof(struct advice, facts.given)};

static const struct field excluded_rows[] = {
    {SPACE(field_row, "path", path, REQUIRED)},
    {SPACE(field_text, "reason", reason, REQUIRED), .low = 1},
};
static const struct objects excluded_list = {
    OBJECTS(excluded_rows, struct advised_space, struct advice, excluded)};

/* They stand behind the ranked ones. */
static void write_excluded(cJSON *object, const struct field *field, const void *base)
{
    const struct advice *advice = base;
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = advice->count; i < advice->count + advice->excluded; i++)
        fields_write(json_append(array, cJSON_CreateObject()), &field->elements->fields,
                     &advice->spaces[i]);
}

static const struct field_kind kind_excluded = {.write = write_excluded, .schema = schema_list};

static const struct field facts_rows[] = {
    {FIELD(field_number, struct advised_facts, "addresses_per_load", addresses, NULLABLE)},
    {FIELD(field_number, struct advised_facts, "lines_per_load", lines, NULLABLE)},
    {FIELD(field_number, struct advised_facts, "sectors_per_load", sectors, NULLABLE)},
    {FIELD(field_number, struct advised_facts, "wavefronts_per_load", wavefronts, NULLABLE)},
    {FIELD(field_uint64, struct advised_facts, "footprint_bytes", footprint_bytes, REQUIRED)},
};
static const struct object facts_object = {.fields = FIELDS(facts_rows),
                                           .given = offsetof(struct advice, facts.given)};

static const struct field root_rows[] = {
    {.key = "tool", .kind = &field_tool},
    {ADVICE(field_text, "card", card.name, REQUIRED), .about = "name of the card"},
    /* whose members are those of the advice */
    {.key = "configuration",
     .kind = &field_object,
     .presence = NULLABLE,
     .object = &configuration_object,
     .about = "the lookups that were asked about; null where there is code alone, without lookups"},
    {ADVICE(field_list, "ranking", spaces, REQUIRED), .elements = &advised_list},
    {.key = "excluded",
     .kind = &kind_excluded,
     .elements = &excluded_list,
     .about = "the paths that cannot hold the table"},
    {ADVICE(field_object, "counts", facts, NULLABLE), .object = &facts_object,
     .about = "exact, of a warp's load in the mean"},
    {ADVICE(field_reference, "choice", choice, NULLABLE),
     .about = "the path with the shortest time; null where the card gives none"},
    {ADVICE(field_reference, "measure", measure, NULLABLE),
     .about = "the command line that measures; null without lookups"},
    {ADVICE(field_pointer, "code", code, NULLABLE), .fields = &user_code_fields,
     .about = "of --kernel: the loads of its kernels"},
    {ADVICE(field_pointer, "against", comparison, NULLABLE), .fields = &code_comparison_fields,
     .about = "of --against: what differs from the kernels of an older file"},
};

const struct document advise_document = {
    .schema = "cbank-advice",
    .what = "advice",
    .about =
        "Where a table should live: what cbank advise --json writes. Keys end in their unit. A "
        "value that is not known is null.",
    .major = 1,
    .root = {.fields = FIELDS(root_rows), .given = SIZE_MAX},
};
