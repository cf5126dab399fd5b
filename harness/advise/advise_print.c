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

#define SPACE(kind, name) .value = kind, .member = GRID_MEMBER(struct advised_space, name)
#define STANDING_MEMBER                                                                        \
    .offset = offsetof(struct advised_space, standing), .bytes = sizeof(enum advise_standing), \
    .pointer = SIZE_MAX, .names = advise_standing_names

/* The last ones are for JSON. */
enum { TEXT_COLUMNS = 7 };

static const struct grid_column columns[] = {
    {.key = "path",
     .heading = "table in",
     .value = grid_text,
     .head = true,
     .member = GRID_BEHIND(struct advised_space, path, struct path, name)},
    {.key = "requests_per_load",
     .heading = "requests a load",
     .format = text_tenths,
     SPACE(grid_number, requests_per_load)},
    {.key = "time_ns",
     .heading = "time",
     .format = text_time,
     SPACE(grid_number, estimate.time_ns.value)},
    {.key = "interval", .heading = "interval", SPACE(grid_array, interval), .rank = 1},
    {.key = "relative",
     .heading = "to the best",
     .format = text_ratio,
     SPACE(grid_number, relative)},
    {.key = "standing",
     .heading = "",
     .value = grid_name,
     .member = &(const struct grid_member){STANDING_MEMBER}},
    {.key = "bound", .heading = "longest", SPACE(grid_text, bound), .rank = 2},
    {.key = "low", .heading = "", .format = text_time, SPACE(grid_number, estimate.time_ns.low)},
    {.key = "high", .heading = "", .format = text_time, SPACE(grid_number, estimate.time_ns.high)},
};

static struct grid grid_of(const struct advice *advice, size_t column_count)
{
    return (struct grid){.columns = columns,
                         .column_count = column_count,
                         GRID_ROWS(advice->spaces, advice->count)};
}

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
    const struct grid grid = grid_of(advice, TEXT_COLUMNS);
    enum status status;

    if (advice->code) {
        status = advice->comparison
                     ? code_comparison_print(stream, advice->comparison, look)
                     : user_code_print(stream, advice->code, advice->all_loads, look);
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

/* The configuration, and the spaces: ranked ones, and those that cannot hold the table. */
static void write_spaces(cJSON *object, const struct field *field, const void *base)
{
    const struct advice *advice = base;
    const struct cell *cell = &advice->cell;
    const struct grid grid = grid_of(advice, sizeof(columns) / sizeof(columns[0]));
    cJSON *configuration, *array;

    if (!advice->facts.given) {
        json_add(object, field->key, cJSON_CreateNull());
        json_add(object, "ranking", cJSON_CreateArray());
        json_add(object, "excluded", cJSON_CreateArray());
        return;
    }
    configuration = json_add(object, field->key, cJSON_CreateObject());
    json_add_text(configuration, "workload", cell->workload->name);
    json_add_text(configuration, "pattern", cell->pattern->name);
    json_add_text(configuration, "indices", advice->indices_path);
    json_add_integer(configuration, "elements", cell->elements);
    json_add_integer(configuration, "block_size", cell->block_size);
    json_add_text(configuration, "cache_state", cell->cache_state->name);
    for (size_t i = 0; i < parameter_count; i++)
        if (cell_parameter_mask(cell->workload, cell->pattern) >> i & 1)
            json_add_integer(configuration, parameters[i].name,
                             parameter_value(cell->parameters, (enum parameter_index)i));
    json_add(object, "ranking", grid_to_json(&grid));
    array = json_add(object, "excluded", cJSON_CreateArray());
    for (size_t i = advice->count; i < advice->count + advice->excluded; i++) {
        cJSON *excluded = json_append(array, cJSON_CreateObject());

        json_add_text(excluded, "path", advice->spaces[i].path->name);
        json_add_text(excluded, "reason", advice->spaces[i].reason);
    }
}

static const struct field_kind kind_spaces = {.write = write_spaces};

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
    {FIELD(field_text, struct advice, "card", card.name, REQUIRED)},
    {.key = "configuration", .kind = &kind_spaces},
    {FIELD(field_object, struct advice, "counts", facts, NULLABLE), .object = &facts_object},
    {FIELD(field_reference, struct advice, "choice", choice, NULLABLE)},
    {FIELD(field_reference, struct advice, "measure", measure, NULLABLE)},
    {FIELD(field_pointer, struct advice, "code", code, NULLABLE), .fields = &user_code_fields},
    {FIELD(field_pointer, struct advice, "against", comparison, NULLABLE),
     .fields = &code_comparison_fields},
};

const struct document advise_document = {.schema = "cbank-advice",
                                         .what = "advice",
                                         .major = 1,
                                         .root = {.fields = FIELDS(root_rows), .given = SIZE_MAX}};
