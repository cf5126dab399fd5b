/* SPDX-License-Identifier: MIT
 * Advice as text and as a document. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "advise.h"
#include "cell_json.h"
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

#define PATH                                   \
    {SPACE(field_row, "path", path, REQUIRED), \
     .column = COLUMN(.heading = "table in", .head = true)}
#define REQUESTS                                                            \
    {SPACE(field_number, "requests_per_load", requests_per_load, NULLABLE), \
     .about = "that the path's unit gets for a warp's load",                \
     .column = COLUMN(.heading = "requests a load", .format = text_tenths)}
#define STANDING                                                                  \
    {SPACE(field_name, "standing", standing, REQUIRED), .names = &standing_names, \
     .column = COLUMN(.heading = "")}
#define BUSY                                                                                       \
    {SPACE(field_number, "busy_ns", busy_ns, NULLABLE),                                            \
     .about = "at least, of the unit that is busy longest, by the card; null where it knows none", \
     .column = COLUMN(.heading = "busy at least", .format = text_time)},                           \
    {                                                                                              \
        SPACE(field_reference, "unit", unit, NULLABLE), .about = "that unit",                      \
            .column = COLUMN(.heading = "unit", .rank = 2)                                         \
    }

/* Columns where nothing was measured. */
static const struct field counted_rows[] = {
    PATH,
    REQUESTS,
    {SPACE(field_text, "", near_text, NULLABLE),
     .column = COLUMN(.heading = "near: to the best", .rank = 1)},
    STANDING,
    BUSY,
};
static const struct objects counted_list = {
    OBJECTS(counted_rows, struct advised_space, struct advice, count)};

/* And where a GPU measured them. */
static const struct field measured_rows[] = {
    PATH,
    REQUESTS,
    {SPACE(field_number, "", time_ns, NULLABLE),
     .column = COLUMN(.heading = "time", .format = text_time)},
    {SPACE(field_number, "", half_width, NULLABLE),
     .column = COLUMN(.heading = "95% CI", .format = text_half_width, .rank = 1)},
    {SPACE(field_number, "", ratio, NULLABLE),
     .column = COLUMN(.heading = "ratio", .format = text_ratio)},
    STANDING,
    BUSY,
};
static const struct objects measured_list = {
    OBJECTS(measured_rows, struct advised_space, struct advice, count)};

static const struct field near_rows[] = {
    {FIELD(field_uint64, struct near_space, "count", count, REQUIRED),
     .about = "of near lookups that were measured there"},
    {FIELD(field_number, struct near_space, "mean", mean, NULLABLE),
     .about = "of their times over that of the fastest memory space, the nearest the weightiest"},
    {FIELD(field_number, struct near_space, "least", least, NULLABLE)},
    {FIELD(field_number, struct near_space, "most", most, NULLABLE)},
    {FIELD(field_bool, struct near_space, "known", known, REQUIRED),
     .about = "two or more, with tables of at least and of at most the size that is asked about"},
};
static const struct object near_object = {.fields = FIELDS(near_rows), .given = SIZE_MAX};

static const struct field advised_rows[] = {
    PATH,
    REQUESTS,
    STANDING,
    BUSY,
    {SPACE(field_object, "near", near, REQUIRED), .object = &near_object,
     .about = "what measured lookups near these say; count is 0 where these were measured"},
    {SPACE(field_number, "time_ns", time_ns, NULLABLE),
     .about = "measured here, of one more launch in a stream; null: nothing was measured"},
    {SPACE(field_number, "ci_low", ci_low, NULLABLE), .about = "of its 95 % interval, ns"},
    {SPACE(field_number, "ci_high", ci_high, NULLABLE)},
    {SPACE(field_number, "ratio", ratio, NULLABLE),
     .about = "of its time to the fastest, where these lookups were measured"},
    {SPACE(field_text, "why", why, NULLABLE), .about = "it may be slower, or has no time"},
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
    if (advice->device[0])
        advise_put(stream, look, "measured on %s", advice->device);
    else
        advise_put(stream, look, "nothing was measured here; busy times are by the card of %s",
                   advice->card.name);
    fputc('\n', stream);
}

/* Measured lookups that are near, by name. */
static void print_near(FILE *stream, const struct advice *advice, const struct print_style *look)
{
    const struct near_lookups *near = &advice->near;
    char identity[CELL_IDENTITY_BYTES];

    if (near->count)
        advise_put(stream, look,
                   near->same ? "these very lookups were measured before:"
                              : "near these were measured:");
    for (size_t i = 0; i < near->count; i++) {
        cell_identity(&near->lookups[i]->cell, identity);
        text_line(stream, "    %s, %s", identity, near->lookups[i]->file);
    }
    fputs(near->count ? "\n" : "", stream);
}

/* The best memory space, or why none is said to be. */
static void print_choice(FILE *stream, const struct advice *advice, const struct print_style *look)
{
    char alike[LINE_BYTES] = "";

    if (!advice->choice) {
        advise_put(stream, look, "no ranking: %s", advice->why);
        return;
    }
    for (size_t i = 0; i < advice->count; i++)
        if (advice->spaces[i].standing == ADVISE_ALIKE_FIRST)
            text_join(alike, LINE_BYTES, ", ", "%s", advice->spaces[i].path->name);
    advise_put(stream, look, "best%s: %s%s%s",
               advice->device[0]   ? ""
               : advice->near.same ? ", as measured before"
                                   : ", by lookups near these",
               advice->choice, alike[0] ? "; as good: " : "", alike);
    advise_put(stream, look, "look for in the SASS: %s",
               payload_instruction(&advice->spaces[0].cell));
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
    if (!advice->device[0])
        print_command(stream, "measure: ", advice->measure, look);
    fputc('\n', stream);
    advise_put(stream, look,
               "This is of lookups alone. Arithmetic and other loads of your kernel change it. "
               "Measure your kernel:");
    if (!advice->written_path)
        advise_put(stream, look, "    cbank advise ... --write my.cu");
    advise_put(stream, look, "    cbank spaces %s",
               advice->written_path ? advice->written_path : "my.cu");
}

/* The reasons of slower ones, below their rows. */
static bool note_space(const void *row, size_t index, char *out, size_t bytes)
{
    const struct advised_space *space = row;

    if (index > 0 || !space->why[0])
        return false;
    snprintf(out, bytes, "%s", space->why);
    return true;
}

enum status advise_print(FILE *stream, const struct advice *advice, const struct print_style *look)
{
    const struct objects *list = advice->device[0] ? &measured_list : &counted_list;
    struct field_columns columns;
    struct grid grid = field_grid(list, advice->spaces, advice->count, &columns);
    enum status status;

    grid.note = note_space;

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
    print_near(stream, advice, look);
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

/* A near lookup, to write it. */
struct near_row {
    struct cell cell;
    const char *file;
    double distance;
};

static const struct field near_row_rows[] = {
    {FIELD(field_cell, struct near_row, "identity", cell, REQUIRED)},
    {FIELD(field_reference, struct near_row, "file", file, REQUIRED), .about = "of its result"},
    {FIELD(field_number, struct near_row, "distance", distance, REQUIRED),
     .about = "a factor of two in one of the counts is 1; 0: these very lookups",
     .rules = AT_LEAST(0)},
};
static const struct objects near_list = {.fields = FIELDS(near_row_rows)};

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

static void write_near(cJSON *object, const struct field *field, const void *base)
{
    const struct near_lookups *near = &((const struct advice *)base)->near;
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = 0; i < near->count; i++) {
        const struct near_row row = {.cell = near->lookups[i]->cell,
                                     .file = near->lookups[i]->file,
                                     .distance = near->distances[i]};

        fields_write(json_append(array, cJSON_CreateObject()), &field->elements->fields, &row);
    }
}

static const struct field_kind kind_near = {.write = write_near, .schema = schema_list};

static void write_answer(cJSON *object, const struct field *field, const void *base)
{
    const struct advice *advice = base;
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = 0; i < advice->count; i++)
        if (advice->spaces[i].standing == ADVISE_FIRST ||
            advice->spaces[i].standing == ADVISE_ALIKE_FIRST)
            json_append(array, cJSON_CreateString(advice->spaces[i].path->name));
}

static const struct field_kind kind_answer = {.write = write_answer, .schema = schema_words};

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
    {ADVICE(field_text, "device", device, NULLABLE),
     .about = "that measured these lookups; null: nothing was measured"},
    {ADVICE(field_reference, "choice", choice, NULLABLE),
     .about = "the best path; null where none is said to be"},
    {.key = "answer",
     .kind = &kind_answer,
     .about = "the best path and those that are as good: three at most without a measurement"},
    {ADVICE(field_reference, "why", why, NULLABLE), .about = "none is said to be the best"},
    {.key = "near",
     .kind = &kind_near,
     .elements = &near_list,
     .about = "measured lookups near these, the nearest first; none where these were measured"},
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
