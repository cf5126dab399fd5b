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
#include "parse_size.h"
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

#define TABLE_OF(kind, name) .value = kind, .member = GRID_MEMBER(struct set_table, name)
#define TIME_OF(place)       .format = text_time, TABLE_OF(grid_number, longest_ns[place])

static const struct grid_column columns[] = {
    {.key = "name", .heading = "table", TABLE_OF(grid_array, name), .head = true},
    {.key = "chosen", .heading = "in", TABLE_OF(grid_text, chosen)},
    {.key = "table_bytes", .heading = "bytes", .format = text_count, TABLE_OF(grid_integer, bytes)},
    {.key = "width_bytes",
     .heading = "entry",
     .format = text_count,
     TABLE_OF(grid_integer, width_bytes)},
    {.key = "reads", .heading = "reads", .format = text_count, TABLE_OF(grid_number, reads)},
    {.key = "source",
     .heading = "indices",
     .value = grid_text,
     .member = GRID_BEHIND(struct set_table, source, struct pattern, name)},
    {.key = "constant_ns", .heading = "constant", TIME_OF(PLACE_CONSTANT)},
    {.key = "shared_ns", .heading = "shared", TIME_OF(PLACE_SHARED)},
    {.key = "copy_ns", .heading = "its copy", .format = text_time, TABLE_OF(grid_number, copy_ns)},
    {.key = "param_ns", .heading = "param", TIME_OF(PLACE_PARAM)},
    {.key = "elsewhere_ns", .heading = "elsewhere", TIME_OF(PLACE_ELSEWHERE)},
    {.key = "elsewhere", .heading = "that is", TABLE_OF(grid_text, path[PLACE_ELSEWHERE])},
};

static struct grid grid_of(const struct table_set *set)
{
    return (struct grid){GRID_COLUMNS(columns), GRID_ROWS(set->tables, set->count)};
}

enum status table_set_print(FILE *stream, const struct table_set *set,
                            const struct print_style *look)
{
    const struct grid grid = grid_of(set);
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

/* The grid, and in each row the busy times by place and unit. */
static void write_tables(cJSON *object, const struct field *field, const void *base)
{
    const struct table_set *set = base;
    const struct grid grid = grid_of(set);
    cJSON *rows = json_add(object, field->key, grid_to_json(&grid));

    for (size_t k = 0; k < set->count * PLACES; k++) {
        const struct set_table *table = &set->tables[k / PLACES];
        const size_t place = k % PLACES;
        cJSON *row = cJSON_GetArrayItem(rows, (int)(k / PLACES)), *busy;

        if (place == 0)
            json_add_double(row, "l2_ns", table->l2_ns);
        busy = place == 0 ? json_add(row, "busy_ns", cJSON_CreateObject())
                          : cJSON_GetObjectItem(row, "busy_ns");
        if (!table->path[place])
            continue;
        busy = json_add(busy, places[place].name, cJSON_CreateObject());
        for (int u = 0; u < TIME_UNITS; u++)
            if (counts((enum time_unit)u))
                json_add_double(busy, time_units[u].name, table->busy_ns[place][u]);
    }
}

/* For each KB of shared memory. */
static void write_steps(cJSON *object, const struct field *field, const void *base)
{
    const struct table_set *set = base;
    cJSON *steps = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = 0; i < SHARED_STEPS; i++) {
        cJSON *step = cJSON_CreateObject();

        json_add_double(step, "waves", set->shared[i].waves);
        json_add_double(step, "l1_bytes", set->shared[i].l1_bytes);
        cJSON_AddItemToArray(steps, step);
    }
}

static void write_card(cJSON *object, const struct field *field, const void *base)
{
    json_add_text(object, field->key, ((const struct table_set *)base)->card->name);
}

static const struct field_kind kind_tables = {.write = write_tables},
                               kind_card = {.write = write_card},
                               kind_steps = {.write = write_steps};

static const struct field fields[] = {
    {.key = "tool", .kind = &field_tool},
    {.key = "card", .kind = &kind_card},
    {.key = "tables", .kind = &kind_tables},
    {FIELD(field_number, struct table_set, "constant_bytes", constant_bytes, REQUIRED)},
    {FIELD(field_number, struct table_set, "shared_bytes", shared_bytes, REQUIRED)},
    {FIELD(field_number, struct table_set, "param_bytes", param_bytes, REQUIRED)},
    {.key = "shared", .kind = &kind_steps},
    {FIELD(field_number, struct table_set, "time_ns", time_ns, REQUIRED)},
    {FIELD(field_number, struct table_set, "copy_ns", copy_ns, REQUIRED)},
    {FIELD(field_number, struct table_set, "elsewhere_ns", elsewhere_ns, NULLABLE)},
    {FIELD(field_reference, struct table_set, "bound", bound, REQUIRED)},
};

const struct document table_set_document = {.schema = "cbank-tables",
                                            .what = "advice on several tables",
                                            .major = 1,
                                            .root = {.fields = FIELDS(fields), .given = SIZE_MAX}};
