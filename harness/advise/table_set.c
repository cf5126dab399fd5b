/* SPDX-License-Identifier: MIT
 * Several tables of one kernel, which share the room of each place. An assignment is a number with
 * two bits for each table; all are worked out, and the shortest one that fits is proposed:
 *
 *   assignment 0x1b:  table 0: bits 0-1 = 3 (param)   table 1: bits 2-3 = 2 (shared)   table 2: 1
 * ...
 */
#include "table_set.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "document.h"
#include "log.h"
#include "parameter_index.h"
#include "parse_size.h"
#include "schema.h"
#include "source.h"
#include "version_json.h"

/* Bytes of each place for all tables together. The 48 KB of shared memory need no attribute of the
 * kernel. */
static const struct {
    const char *name;
    double bytes;
} places[PLACES] = {
    [PLACE_ELSEWHERE] = {"elsewhere", INFINITY},
    [PLACE_CONSTANT] = {"constant", CBANK_TABLE_BYTES},
    [PLACE_SHARED] = {"shared", 49152},
    [PLACE_PARAM] = {"param", CBANK_LARGE_PARAMETER_BYTES},
};

static double room_of(const struct table_set *set, enum place place)
{
    return place == PLACE_PARAM && set->card->cc_major < 7 ? CBANK_PARAMETER_BYTES
                                                           : places[place].bytes;
}

/* -- input ------------------------------------------------------------------------------------- */

enum status table_set_parse(const char *text, struct table_set *out)
{
    enum { PARTS = 5 };
    static const struct table source_table = TABLE("source", sources, source_made_count);

    *out = (struct table_set){0};
    for (const char *entry = text, *end; entry; entry = *end ? end + 1 : NULL) {
        char part[PARTS][32];
        struct set_table *table = &out->tables[out->count];
        uint64_t reads = 0;
        int used = 0;
        const int parts = sscanf(entry, "%31[^:,]:%31[^:,]:%31[^:,]:%31[^:,]%n:%31[^:,]%n", part[0],
                                 part[1], part[2], part[3], &used, part[4], &used);

        end = entry + strcspn(entry, ",");
        if (out->count == TABLE_SET_MAX)
            return log_error(STATUS_USAGE, "--tables: %d tables at most", TABLE_SET_MAX);
        *table = (struct set_table){.source = &sources[SOURCE_random]};
        if (parts < PARTS - 1 || entry + used != end || !parse_size(part[1], &table->bytes) ||
            !parse_size(part[2], &table->width_bytes) || !parse_size(part[3], &reads) ||
            reads == 0 || !parameter_allows(&parameters[PARAMETER_table_bytes], table->bytes) ||
            !parameter_allows(&parameters[PARAMETER_width_bytes], table->width_bytes))
            return log_error(STATUS_USAGE,
                             "--tables: '%.*s' is no NAME:BYTES:WIDTH:READS[:SOURCE], as in "
                             "codebook:1024:4:100:zipf; a "
                             "table has 16 bytes or more, an entry 1, 2, 4, 8, 12, 16, 24 or 32",
                             (int)(end - entry), entry);
        snprintf(table->name, sizeof(table->name), "%s", part[0]);
        for (size_t i = 0; i < out->count; i++)
            if (strcmp(out->tables[i].name, table->name) == 0)
                return log_error(STATUS_USAGE, "--tables: two tables are called %s", table->name);
        if (parts == PARTS)
            table->source = table_find(&source_table, part[4]);
        if (!table->source)
            return table_unknown(&source_table, part[4]);
        table->reads = (double)reads;
        out->count++;
    }
    return STATUS_OK;
}

/* Units that answer lookups. The others do the work of the whole kernel, as the program's own
 * kernels have it. */
static bool counts(enum time_unit unit)
{
    return unit >= TIME_CONSTANT && unit <= TIME_L2_LINE;
}

static double longest_of(const double busy_ns[TIME_UNITS])
{
    double longest = 0;

    for (int u = 0; u < TIME_UNITS; u++)
        longest = counts((enum time_unit)u) && !(busy_ns[u] <= longest) ? busy_ns[u] : longest;
    return longest;
}

/* Sets the steps of shared memory, for a cell whose table is in global memory. */
static void take_steps(struct table_set *set, const struct cell *global)
{
    const struct card *card = set->card;
    const double blocks_per_sm =
        (double)cell_grid_blocks(global) / card->number[CARD_SM_COUNT].value;

    for (uint32_t i = 0; i < SHARED_STEPS; i++) {
        const double bytes =
            i == 0 ? 0 : i * SHARED_STEP_BYTES + card->number[CARD_SHARED_BYTES_RESERVED].value;
        struct cell cell = *global;
        double resident;

        cell.parameters[PARAMETER_extra_shared_bytes] += i * SHARED_STEP_BYTES;
        resident = card_blocks_resident(card, &cell, 0);
        set->shared[i].waves = ceil(blocks_per_sm / resident);
        set->shared[i].l1_bytes = fmax(card->number[CARD_SHARED_BYTES_PER_SM].value -
                                           fmin(resident, blocks_per_sm) * bytes,
                                       0);
    }
}

void table_set_take(struct table_set *set, size_t index, const struct advice *advice)
{
    struct set_table *table = &set->tables[index];

    table->copy_ns = NAN;
    for (size_t i = 0; i < advice->count; i++) {
        const struct advised_space *space = &advice->spaces[i];
        struct cell_estimate estimate;
        const enum table_home home = space->path->home;
        const enum place place = home == TABLE_CONSTANT             ? PLACE_CONSTANT
                                 : home == TABLE_PARAMETER          ? PLACE_PARAM
                                 : space->path->unit == UNIT_SHARED ? PLACE_SHARED
                                                                    : PLACE_ELSEWHERE;

        /* Copies take more than the bytes of the table, and select no such unit. */
        if (space->path->copies > 1 || space->path->unit == UNIT_SELECT)
            continue;
        /* Without the program's own kernel, whose parameters the constant cache answers, too. */
        estimate_time(&space->cell, &space->access, &advice->card, NULL, &estimate);
        if (table->path[place] && longest_of(table->busy_ns[place]) <= longest_of(estimate.busy_ns))
            continue;
        memcpy(table->busy_ns[place], estimate.busy_ns, sizeof(estimate.busy_ns));
        table->path[place] = space->path->name;
        if (place == PLACE_SHARED)
            table->copy_ns = estimate.copy_ns;
        if (place == PLACE_ELSEWHERE) {
            take_steps(set, &space->cell);
            set->loads = space->cell.parameters[PARAMETER_loads];
            table->l2_ns = space->path->unit == UNIT_L2
                               ? 0
                               : (double)space->access.sectors * ACCESS_SECTOR_BYTES *
                                     table->reads / set->loads /
                                     set->card->number[CARD_L2_BYTES_PER_NS].value;
        }
    }
}

/* -- the answer -------------------------------------------------------------------------------- */

/* Leaves what the lookups of a table add to a unit. The least of all tables and places is what the
 * rest of the kernel takes: no unit answers in all places. */
static enum status take_rest(struct table_set *set)
{
    bool limited = false;

    for (size_t i = 0; i < set->count; i++)
        limited = limited || set->tables[i].path[PLACE_CONSTANT];
    if (!limited)
        return log_error(STATUS_USAGE,
                         "--tables: no constant bank holds any of these tables: it has %" PRIu32
                         " bytes; see each by --table-bytes",
                         CBANK_TABLE_BYTES);
    for (int u = 0; u < TIME_UNITS; u++) {
        double rest = INFINITY;

        for (size_t k = 0; k < set->count * PLACES; k++)
            if (set->tables[k / PLACES].path[k % PLACES])
                rest = fmin(rest, set->tables[k / PLACES].busy_ns[k % PLACES][u]);
        for (size_t k = 0; k < set->count * PLACES; k++) {
            struct set_table *table = &set->tables[k / PLACES];
            double *busy_ns = &table->busy_ns[k % PLACES][u];

            *busy_ns =
                !counts((enum time_unit)u) ? 0 : (*busy_ns - rest) * table->reads / set->loads;
            if (table->path[k % PLACES] &&
                isnan(*busy_ns + (k % PLACES == PLACE_SHARED ? table->copy_ns : 0) +
                      set->shared[0].waves))
                return log_error(STATUS_USAGE, "the card of %s lacks a number for the times of %s",
                                 set->card->name, table->name);
        }
    }
    for (size_t k = 0; k < set->count * PLACES; k++) {
        struct set_table *table = &set->tables[k / PLACES];

        table->longest_ns[k % PLACES] =
            table->path[k % PLACES] ? longest_of(table->busy_ns[k % PLACES]) : NAN;
    }
    return STATUS_OK;
}

struct assignment {
    double used[PLACES]; /* bytes */
    /* of copies and the longest unit; of copies; of copies and all units */
    double time_ns, copy_ns, sum_ns;
    const char *bound; /* the longest unit */
};

/* Works out assignment `number`, which has two bits for each table. False if the tables do not fit.
 */
static bool assign(const struct table_set *set, uint64_t number, struct assignment *out)
{
    double busy_ns[TIME_UNITS] = {0}, l2_ns = 0, missed, longest;
    const struct shared_step *step;

    *out = (struct assignment){0};
    for (size_t i = 0; i < set->count; i++) {
        const struct set_table *table = &set->tables[i];
        const size_t place = number >> 2 * i & (PLACES - 1);

        out->used[place] += (double)table->bytes;
        if (!table->path[place] || out->used[place] > room_of(set, (enum place)place))
            return false;
        out->copy_ns += place == PLACE_SHARED ? table->copy_ns : 0;
        l2_ns += place == PLACE_ELSEWHERE ? table->l2_ns : 0;
        for (int u = 0; u < TIME_UNITS; u++) {
            busy_ns[u] += table->busy_ns[place][u];
            out->sum_ns += table->busy_ns[place][u];
        }
    }
    step = &set->shared[(size_t)ceil(out->used[PLACE_SHARED] / SHARED_STEP_BYTES)];
    missed = fmax(1 - step->l1_bytes / out->used[PLACE_ELSEWHERE], 0) -
             fmax(1 - set->shared[0].l1_bytes / out->used[PLACE_ELSEWHERE], 0);
    if (missed > 0) {
        busy_ns[TIME_L2] += missed * l2_ns;
        out->sum_ns += missed * l2_ns;
    }
    out->copy_ns *= step->waves;
    longest = longest_of(busy_ns);
    out->time_ns = out->copy_ns + longest;
    out->sum_ns += out->copy_ns;
    for (int u = 0; u < TIME_UNITS; u++)
        out->bound = busy_ns[u] == longest ? time_units[u].name : out->bound;
    return true;
}

enum status table_set_solve(struct table_set *set)
{
    const uint64_t end = UINT64_C(1) << 2 * set->count;
    struct assignment best = {.sum_ns = INFINITY}, tried;
    double limit = INFINITY;
    uint64_t answer = 0;
    const enum status status = take_rest(set);

    if (status != STATUS_OK)
        return status;

    /* The first pass finds the shortest time, the second the least sum of those that are as
     * good. */
    for (uint64_t number = 0; number < end; number++)
        if (assign(set, number, &tried))
            limit = fmin(limit, tried.time_ns * (1 + ADVISE_EQUAL));
    for (uint64_t number = 0; number < end; number++)
        if (assign(set, number, &tried) && tried.time_ns <= limit && tried.sum_ns < best.sum_ns) {
            best = tried;
            answer = number;
        }
    if (isinf(limit))
        return log_error(STATUS_USAGE, "no memory holds these tables together");
    set->elsewhere_ns = assign(set, 0, &tried) ? tried.time_ns : NAN;
    set->time_ns = best.time_ns;
    set->copy_ns = best.copy_ns;
    set->bound = best.bound;
    set->constant_bytes = best.used[PLACE_CONSTANT];
    set->shared_bytes = best.used[PLACE_SHARED];
    set->param_bytes = best.used[PLACE_PARAM];
    for (size_t i = 0; i < set->count; i++)
        set->tables[i].chosen = set->tables[i].path[answer >> 2 * i & (PLACES - 1)];
    return STATUS_OK;
}

/* -- output ------------------------------------------------------------------------------------ */

/* The busy times by place and unit. */
static void write_busy(cJSON *object, const struct field *field, const void *base)
{
    const struct set_table *table = base;
    cJSON *busy = json_add(object, field->key, cJSON_CreateObject()), *here;

    for (size_t place = 0; place < PLACES; place++) {
        if (!table->path[place])
            continue;
        here = json_add(busy, places[place].name, cJSON_CreateObject());
        for (int u = 0; u < TIME_UNITS; u++)
            if (counts((enum time_unit)u))
                json_add_double(here, time_units[u].name, table->busy_ns[place][u]);
    }
}

static const struct field_kind kind_busy = {.write = write_busy};

#define TABLE_OF(kind, key, member, presence) FIELD(kind, struct set_table, key, member, presence)
#define TIME_OF(key, place, heading_)                         \
    TABLE_OF(field_number, key, longest_ns[place], NULLABLE), \
        .column = COLUMN(.heading = (heading_), .format = text_time)

static const struct field table_rows[] = {
    {TABLE_OF(field_text, "name", name, REQUIRED),
     .column = COLUMN(.heading = "table", .head = true)},
    {TABLE_OF(field_reference, "chosen", chosen, REQUIRED), .about = "the path of the answer",
     .column = COLUMN(.heading = "in")},
    {TABLE_OF(field_uint64, "table_bytes", bytes, REQUIRED),
     .column = COLUMN(.heading = "bytes", .format = text_count)},
    {TABLE_OF(field_uint64, "width_bytes", width_bytes, REQUIRED),
     .column = COLUMN(.heading = "entry", .format = text_count)},
    {TABLE_OF(field_number, "reads", reads, REQUIRED), .about = "lookups of an element",
     .column = COLUMN(.heading = "reads", .format = text_count)},
    {TABLE_OF(field_row, "source", source, REQUIRED), .about = "of its indices",
     .column = COLUMN(.heading = "indices")},
    {TIME_OF("constant_ns", PLACE_CONSTANT, "constant"),
     .about = "of the unit that is busy longest; null where the table cannot be"},
    {TIME_OF("shared_ns", PLACE_SHARED, "shared")},
    {TABLE_OF(field_number, "copy_ns", copy_ns, NULLABLE),
     .about = "of a wave of blocks: its copy to shared memory",
     .column = COLUMN(.heading = "its copy", .format = text_time)},
    {TIME_OF("param_ns", PLACE_PARAM, "param")},
    {TIME_OF("elsewhere_ns", PLACE_ELSEWHERE, "elsewhere")},
    {TABLE_OF(field_reference, "elsewhere", path[PLACE_ELSEWHERE], NULLABLE),
     .about = "the best path without a limit", .column = COLUMN(.heading = "that is")},
    {TABLE_OF(field_number, "l2_ns", l2_ns, REQUIRED),
     .about = "of L2, if no lookup elsewhere found its entry in L1"},
    {.key = "busy_ns",
     .kind = &kind_busy,
     .about = "by place and unit: what the table's lookups add",
     .rules = "\"type\": \"object\", \"additionalProperties\": {\"type\": \"object\", "
              "\"additionalProperties\": {\"type\": \"number\"}}"},
};
static const struct objects table_list = {
    OBJECTS(table_rows, struct set_table, struct table_set, count),
    .max = TABLE_SET_MAX,
};

enum status table_set_print(FILE *stream, const struct table_set *set,
                            const struct print_style *look)
{
    struct field_columns columns;
    const struct grid grid = field_grid(&table_list, set->tables, set->count, &columns);
    enum status status;

    advise_put(stream, look,
               "times are how long a unit is busy with the lookups of a table, by the card of %s: "
               "nothing was "
               "measured",
               set->card->name);
    fputc('\n', stream);
    status = grid_print(stream, &grid, look);
    if (status != STATUS_OK)
        return status;
    fputc('\n', stream);
    advise_put(stream, look,
               "constant memory: %.0f of %.0f bytes; shared memory: %.0f of %.0f; parameters: %.0f "
               "of %.0f",
               set->constant_bytes, places[PLACE_CONSTANT].bytes, set->shared_bytes,
               places[PLACE_SHARED].bytes, set->param_bytes, room_of(set, PLACE_PARAM));
    advise_put(stream, look,
               "busy longest: %s; with copies to shared memory, %s for all tables; without these "
               "three memories, %s. All "
               "assignments were tried. Your kernel has other work, too, so measure it: cbank run "
               "--kernel FILE.cu",
               set->bound, text_of(text_time, set->time_ns).text,
               text_of(text_time, set->elsewhere_ns).text);
    return STATUS_OK;
}

static const struct field step_rows[] = {
    {FIELD(field_number, struct shared_step, "waves", waves, REQUIRED), .about = "of blocks"},
    {FIELD(field_number, struct shared_step, "l1_bytes", l1_bytes, REQUIRED)},
};
static const struct objects step_list = {.fields = FIELDS(step_rows), .max = SHARED_STEPS};

/* For each KB of shared memory. */
static void write_steps(cJSON *object, const struct field *field, const void *base)
{
    const struct table_set *set = base;
    cJSON *steps = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = 0; i < SHARED_STEPS; i++)
        fields_write(json_append(steps, cJSON_CreateObject()), &step_list.fields, &set->shared[i]);
}

static const struct field_kind kind_steps = {.write = write_steps, .schema = schema_list};

static const struct field card_rows_of_set[] = {
    {FIELD(field_text, struct card, "card", name, REQUIRED), .about = "name of the card"},
};
static const struct fields card_fields = FIELDS(card_rows_of_set);

#define SET(kind, key, member, presence) FIELD(kind, struct table_set, key, member, presence)

static const struct field fields[] = {
    {.key = "tool", .kind = &field_tool},
    {SET(field_pointer, NULL, card, REQUIRED), .fields = &card_fields},
    {SET(field_array, "tables", tables, REQUIRED), .elements = &table_list, .low = 1},
    {SET(field_number, "constant_bytes", constant_bytes, REQUIRED),
     .about = "that the answer takes"},
    {SET(field_number, "shared_bytes", shared_bytes, REQUIRED)},
    {SET(field_number, "param_bytes", param_bytes, REQUIRED)},
    {.key = "shared",
     .kind = &kind_steps,
     .low = SHARED_STEPS,
     .elements = &step_list,
     .about = "an SM whose blocks take 0, 1, 2 ... 48 KB of shared memory: waves of blocks, and "
              "bytes for L1"},
    {SET(field_number, "time_ns", time_ns, REQUIRED),
     .about = "of copies to shared memory, and of the unit that is busy longest with all tables"},
    {SET(field_number, "copy_ns", copy_ns, REQUIRED), .about = "the copies' part of time_ns"},
    {SET(field_number, "elsewhere_ns", elsewhere_ns, NULLABLE),
     .about = "the same without constant and shared memory and parameters"},
    {SET(field_reference, "bound", bound, REQUIRED), .about = "that unit"},
};

const struct document table_set_document = {
    .schema = "cbank-tables",
    .what = "advice on several tables",
    .about = "Where the tables of a kernel should live together: what cbank advise --tables --json "
             "writes. Keys end in their unit. A value that is not known is null.",
    .major = 1,
    .root = {.fields = FIELDS(fields), .given = SIZE_MAX},
};
