/* SPDX-License-Identifier: MIT */
#include "card_make.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "card.h"
#include "geometry.h"
#include "log.h"
#include "sha256.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char schema_name[] = "cbank-card", schema_version[] = "1.1";

enum { ID_HEX_DIGITS = 12, PATH_KEY_BYTES = 160, DIGITS = 6 };

/* What an experiment says of a key: a value, or why not. */
struct found {
    double value, low, high;
    const char *text; /* of a key that is a name; NULL of others */
    size_t samples;
    uint32_t warps; /* that it was found with; 0 where that does not apply */
    const char *method;
    char reason[NUMBER_REASON_BYTES]; /* "" where there is a value */
};

/* One way to find the value of a key. */
struct row {
    const char *level; /* of the card; NULL: a key of the card itself */
    const char *key;
    const char *experiment;
    const char *number;  /* or verdict */
    uint32_t of_level;   /* from 1; 0 where that does not apply */
    uint32_t stride;     /* the same */
    const char *before;  /* NULL the same */
    size_t offset;       /* find_geometry: in struct geometry_level */
    void (*find)(const struct row *row, const struct outcome *outcome, struct found *out);
    const char *verdict, *expected; /* what else the experiment has to say; NULL: nothing */
    bool inverse;        /* the key is 1 / what was found */
    bool geometry;       /* has to go with the other values of its level */
    bool truth;          /* the key is true or false */
};

static void find_number(const struct row *row, const struct outcome *outcome, struct found *out);
static void find_least(const struct row *row, const struct outcome *outcome, struct found *out);
static void find_most(const struct row *row, const struct outcome *outcome, struct found *out);
static void find_geometry(const struct row *row, const struct outcome *outcome, struct found *out);
static void find_replacement(const struct row *row, const struct outcome *outcome, struct found *out);
static void find_kept(const struct row *row, const struct outcome *outcome, struct found *out);
static void find_largest_group(const struct row *row, const struct outcome *outcome, struct found *out);

#define GEOMETRY(member) \
    .number = #member, .offset = offsetof(struct geometry_level, member), .find = find_geometry, .geometry = true
#define BANK(member)  GEOMETRY(member), .experiment = "geometry_constant"
#define BANKS(member) GEOMETRY(member), .experiment = "geometry_constant_modules"

/* Of several rows of a key the first that finds something counts. Lines and ways stand before the size, which is
 * rounded by them. */
/* clang-format off */
static const struct row rows[] = {
    {.level = "idc", .key = "line_bytes", BANK(line_bytes), .of_level = 1},
    {.level = "idc", .key = "line_bytes", BANK(fetch_bytes), .of_level = 1},
    {.level = "idc", .key = "ways", BANK(ways), .of_level = 1},
    {.level = "idc", .key = "capacity_bytes", BANK(capacity_bytes), .of_level = 1},
    {.level = "gcc", .key = "line_bytes", BANK(line_bytes), .of_level = 2},
    {.level = "gcc", .key = "line_bytes", BANKS(line_bytes), .of_level = 2},
    {.level = "gcc", .key = "line_bytes", BANK(fetch_bytes), .of_level = 2},
    {.level = "gcc", .key = "ways", BANK(ways), .of_level = 2},
    {.level = "gcc", .key = "ways", BANKS(ways), .of_level = 2},
    {.level = "gcc", .key = "capacity_bytes", BANK(capacity_bytes), .of_level = 2},
    {.level = "gcc", .key = "capacity_bytes", BANKS(capacity_bytes), .of_level = 2},
    {.level = "idc", .key = "replacement", .experiment = "geometry_constant", .number = "replacement", .of_level = 1,
     .offset = offsetof(struct geometry_level, replacement), .find = find_replacement, .geometry = true},
    {.level = "gcc", .key = "replacement", .experiment = "geometry_constant", .number = "replacement", .of_level = 2,
     .offset = offsetof(struct geometry_level, replacement), .find = find_replacement, .geometry = true},
    {.level = "gcc", .key = "replacement", .experiment = "geometry_constant_modules", .number = "replacement",
     .of_level = 2, .offset = offsetof(struct geometry_level, replacement), .find = find_replacement, .geometry = true},
    {.level = "gcc", .key = "sms", .experiment = "sharing_constant", .number = "largest group",
     .find = find_largest_group},
    {.level = "idc", .key = "kept_between_launches", .experiment = "invalidation_constant", .number = "what_it_held_is",
     .of_level = 1, .before = "launch", .find = find_kept, .truth = true},
    {.level = "gcc", .key = "kept_between_launches", .experiment = "invalidation_constant", .number = "what_it_held_is",
     .of_level = 2, .before = "launch", .find = find_kept, .truth = true},
    {.level = "idc", .key = "request_cycles", .experiment = "serialization_constant",
     .number = "cycles_per_load_per_extra_address", .stride = 4, .find = find_number,
     .verdict = "throughput_falls_per", .expected = "address"},
    {.key = "l1_requests_per_cycle", .experiment = "throughput_global", .number = "loads_per_cycle",
     .find = find_most},
    {.key = "texture_requests_per_cycle", .experiment = "throughput_texture", .number = "loads_per_cycle",
     .find = find_most},
    {.key = "shared_wavefronts_per_cycle", .experiment = "serialization_shared",
     .number = "cycles_per_load_per_extra_address", .stride = 128, .find = find_number, .inverse = true},
    {.key = "uniform_request_cycles", .experiment = "throughput_constant_uniform", .number = "cycles_per_load",
     .find = find_least},
    {.key = "immediate_request_cycles", .experiment = "throughput_constant_operand", .number = "cycles_per_load",
     .find = find_least},
};
/* clang-format on */

/* What the driver says of the device. */
struct device_row {
    const char *key;    /* of the card */
    const char *device; /* of the device */
    bool text;
    bool identifies;    /* a card with another value is of another chip */
};

static const struct device_row device_rows[] = {
    {.key = "name", .device = "name", .text = true, .identifies = true},
    {.key = "chip", .device = "chip", .text = true},
    {.key = "cc_major", .device = "cc_major", .identifies = true},
    {.key = "cc_minor", .device = "cc_minor", .identifies = true},
    {.key = "sm_count", .device = "sm_count", .identifies = true},
    {.key = "warps_per_sm", .device = "warps_per_sm"},
    {.key = "blocks_per_sm", .device = "blocks_per_sm"},
    {.key = "shared_bytes_per_sm", .device = "shared_bytes_per_sm"},
    {.key = "shared_bytes_reserved", .device = "shared_bytes_reserved"},
    {.key = "sm_clock_mhz", .device = "sm_clock_max_mhz"},
    {.key = "l2_bytes", .device = "l2_bytes"},
};

/* The numbers that a paper quotes: by the beginning of the experiment's name. */
struct quoted {
    const char *experiment, *number;
};

/* clang-format off */
static const struct quoted quoted[] = {
    {"latency_", "latency"},
    {"serialization_", "latency_per_extra_address"},
    {"serialization_", "cycles_per_load_per_extra_address"},
    {"crossover_", "latency_crossover"},
    {"crossover_", "throughput_crossover"},
    {"throughput_", "broadcast_bandwidth"},
    {"sharing_", "cycles_shared"},
    {"sharing_", "cycles_not_shared"},
    {"sharing_", "groups"},
    {"code_", "share_lost"},
    {"activity_", "unit_active_share"},
    {"counts_", "active_cycles_per_request"},
    {"counts_", "active_cycles_per_line"},
};
/* clang-format on */

/* The same of a level. */
struct quoted_geometry {
    const char *number, *unit;
    size_t offset;
};

#define QUOTED(member, unit_) {#member, unit_, offsetof(struct geometry_level, member)}

/* clang-format off */
static const struct quoted_geometry quoted_geometry[] = {
    QUOTED(fetch_bytes, "bytes"), QUOTED(line_bytes, "bytes"), QUOTED(fits_bytes, "bytes"),
    QUOTED(capacity_bytes, "bytes"), QUOTED(ways, "lines"), QUOTED(sets, "sets"),
};
/* clang-format on */

static const char method_latency[] = "median of single accesses, distribution-free interval, the clock's own included";
static const char method_groups[] = "SMs of the largest group of those that hit what each other brought";
static const char method_kept[] = "share of a walk that the level answers after a launch, beside that after a flush";

struct making {
    const struct card_request *request;
    cJSON *base, *device;       /* owned */
    bool same_chip;             /* the base card is of this one */
    char id[ID_HEX_DIGITS + 1]; /* of the file; "" without one */
    char sha256[SHA256_HEX_BYTES];
    cJSON *card, *origins;      /* of the new card, which the caller owns */
    struct card_tally tally;
};

/* -- finding ------------------------------------------------------------------------------------------- */

static void no_value(struct found *out, const char *reason)
{
    *out = (struct found){.value = NAN, .low = NAN, .high = NAN};
    snprintf(out->reason, sizeof(out->reason), "%s", reason);
}

static bool number_is(const struct number *number, const struct row *row)
{
    return strcmp(number->name, row->number) == 0 && (!row->stride || number->stride == row->stride) &&
           (!row->of_level || number->level == row->of_level);
}

static void take_number(const struct number *number, struct found *out)
{
    if (isnan(number->value)) {
        no_value(out, number->reason[0] ? number->reason : "no such number was found");
        return;
    }
    *out = (struct found){.value = number->value,
                          .low = number->low,
                          .high = number->high,
                          .samples = number->samples,
                          .warps = number->warps,
                          .method = number->method};
}

/* Of several numbers that with the least sign x value: 1 least, -1 most, 0 the first. */
static void find_best(const struct row *row, const struct outcome *outcome, double sign, struct found *out)
{
    const struct number *best = NULL;

    for (size_t i = 0; i < outcome->number_count; i++) {
        const struct number *number = &outcome->numbers[i];

        if (number_is(number, row) && (!best || isnan(best->value) || sign * number->value < sign * best->value))
            best = number;
    }
    if (best)
        take_number(best, out);
    else
        no_value(out, "the experiment has no such number");
}

static void find_number(const struct row *row, const struct outcome *outcome, struct found *out)
{
    find_best(row, outcome, 0, out);
}

static void find_least(const struct row *row, const struct outcome *outcome, struct found *out)
{
    find_best(row, outcome, 1, out);
}

static void find_most(const struct row *row, const struct outcome *outcome, struct found *out)
{
    find_best(row, outcome, -1, out);
}

static const struct geometry_number *geometry_number(const struct geometry_level *level, size_t offset)
{
    return (const struct geometry_number *)((const char *)level + offset);
}

static void find_geometry(const struct row *row, const struct outcome *outcome, struct found *out)
{
    const struct geometry *geometry = outcome->geometry;
    const struct geometry_level *level;
    const struct geometry_number *number;

    if (!geometry || geometry->level_count < row->of_level) {
        no_value(out, "no such level was seen");
        return;
    }
    level = &geometry->level[row->of_level - 1];
    number = geometry_number(level, row->offset);
    if (level->contradicts)
        no_value(out, level->contradiction);
    else if (!number->known)
        no_value(out, number->reason);
    else
        *out = (struct found){.value = number->value,
                              .low = number->value,
                              .high = number->value,
                              .samples = number->samples,
                              .method = number->method};
}

/* One that can be simulated: by its name, which geometry and cache share. */
static void find_replacement(const struct row *row, const struct outcome *outcome, struct found *out)
{
    const char *name;

    find_geometry(row, outcome, out);
    if (isnan(out->value))
        return;
    name = replacement_name((enum replacement)out->value);
    out->low = out->high = NAN;
    for (size_t i = 0; i < CACHE_REPLACEMENT_COUNT; i++)
        if (strcmp(name, cache_replacement_names[i]) == 0)
            out->text = cache_replacement_names[i];
    if (!out->text) {
        no_value(out, "");
        snprintf(out->reason, sizeof(out->reason), "it is %s, which is not simulated", name);
    }
}

static const struct verdict *verdict_of(const struct outcome *outcome, const char *name, uint32_t level,
                                        const char *before)
{
    for (size_t i = 0; i < outcome->verdict_count; i++) {
        const struct verdict *verdict = &outcome->verdicts[i];

        if (strcmp(verdict->name, name) == 0 && verdict->level == level &&
            (!before || (verdict->before && strcmp(verdict->before, before) == 0)))
            return verdict;
    }
    return NULL;
}

/* Samples of the walks that such a verdict rests on. */
static size_t walked(const struct outcome *outcome, const struct row *row)
{
    for (size_t i = 0; i < outcome->number_count; i++) {
        const struct number *number = &outcome->numbers[i];

        if (number->level == row->of_level && number->before && strcmp(number->before, row->before) == 0)
            return number->samples;
    }
    return 0;
}

static void find_kept(const struct row *row, const struct outcome *outcome, struct found *out)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"lost", 0}, {"kept", 1}};
    const struct verdict *verdict = verdict_of(outcome, row->number, row->of_level, row->before);

    no_value(out, verdict ? verdict->reason : "the experiment does not say it of this level");
    for (size_t i = 0; verdict && verdict->value && i < COUNT(words); i++)
        if (strcmp(verdict->value, words[i].word) == 0)
            *out = (struct found){.value = words[i].value,
                                  .low = words[i].value,
                                  .high = words[i].value,
                                  .samples = walked(outcome, row),
                                  .method = method_kept};
}

static void find_largest_group(const struct row *row, const struct outcome *outcome, struct found *out)
{
    uint32_t largest = 0;
    size_t pairs = 0;

    (void)row;
    for (uint32_t g = 0; outcome->group && g < outcome->group_count; g++) {
        uint32_t count = 0;

        for (uint32_t sm = 0; sm < outcome->sm_count; sm++)
            count += outcome->group[sm] == g;
        largest = count > largest ? count : largest;
    }
    for (size_t i = 0; i < outcome->number_count; i++)
        if (strcmp(outcome->numbers[i].name, "groups") == 0)
            pairs = outcome->numbers[i].samples;
    if (largest)
        *out = (struct found){
            .value = largest, .low = largest, .high = largest, .samples = pairs, .method = method_groups};
    else
        no_value(out, "no group of SMs was found");
}

static const struct outcome *outcome_named(const struct characterization *found, const char *name)
{
    for (size_t i = 0; i < found->count; i++)
        if (strcmp(found->outcomes[i].experiment->name, name) == 0)
            return &found->outcomes[i];
    return NULL;
}

static void invert(struct found *found)
{
    const double low = found->low;

    found->value = 1 / found->value;
    found->low = 1 / found->high;
    found->high = 1 / low;
}

/* Whether the experiment also says what the row asks of it. */
static bool as_expected(const struct row *row, const struct outcome *outcome, struct found *out)
{
    const struct verdict *verdict = row->verdict ? verdict_of(outcome, row->verdict, 0, NULL) : NULL;

    if (!row->verdict || (verdict && verdict->value && strcmp(verdict->value, row->expected) == 0))
        return true;
    no_value(out, "");
    snprintf(out->reason, sizeof(out->reason), "%s is %s, and the key is of %s", row->verdict,
             verdict && verdict->value ? verdict->value : "unclear", row->expected);
    return false;
}

static void find_row(const struct row *row, const struct characterization *all, struct found *out)
{
    const struct outcome *outcome = outcome_named(all, row->experiment);

    if (!outcome)
        no_value(out, "");
    else if (strcmp(outcome->status, "ok") != 0)
        no_value(out, outcome->reason);
    else if (as_expected(row, outcome, out))
        row->find(row, outcome, out);
    if (!isnan(out->value) && row->inverse)
        invert(out);
}

/* -- JSON ---------------------------------------------------------------------------------------------- */

/* As many digits as a card has: printed and read again it is the same. */
static double rounded(double value)
{
    char text[32];

    if (!isfinite(value) || (value == floor(value) && fabs(value) < 9e15))
        return value;
    snprintf(text, sizeof(text), "%.*g", DIGITS, value);
    return strtod(text, NULL);
}

static void add_number(cJSON *object, const char *key, double value)
{
    json_add(object, key, isfinite(value) ? cJSON_CreateNumber(rounded(value)) : cJSON_CreateNull());
}

static void add_evidence(const struct making *making, cJSON *object)
{
    cJSON *array;

    if (!making->id[0])
        return;
    array = json_add(object, "evidence", cJSON_CreateArray());
    json_append(array, cJSON_CreateString(making->id));
}

static void path_of(const char *level, const char *key, char out[PATH_KEY_BYTES])
{
    if (level)
        snprintf(out, PATH_KEY_BYTES, "levels.%s.%s", level, key);
    else
        snprintf(out, PATH_KEY_BYTES, "%s", key);
}

static void replace_origin(struct making *making, const char *path, cJSON *origin)
{
    cJSON_DeleteItemFromObjectCaseSensitive(making->origins, path);
    json_add(making->origins, path, origin);
}

/* The origin of a value that stays the base card's; `reason`: why, or "". */
static void keep_base(struct making *making, const char *path, const char *reason)
{
    const cJSON *there = json_get(json_get(making->base, "origins"), path);
    const char *from = NULL, *name = "";
    cJSON *origin;

    json_get_text(there, "from", &from);
    json_get_text(making->base, "name", &name);
    if (making->same_chip && from) {
        origin = cJSON_Duplicate(there, true);
        if (reason[0])
            cJSON_DeleteItemFromObjectCaseSensitive(origin, "reason");
    } else {
        origin = cJSON_CreateObject();
        json_add_text(origin, "from", "assumed");
        json_add_text(origin, "card", name);
        if (from)
            json_add_text(origin, "there", from);
    }
    if (reason[0])
        json_add_text(origin, "reason", reason);
    replace_origin(making, path, origin);
}

/* -- what was found ------------------------------------------------------------------------------------ */

/* The level of that name in a card; NULL where there is none. */
static cJSON *level_of(const cJSON *card, const char *name)
{
    cJSON *level;
    const char *other;

    cJSON_ArrayForEach (level, json_get(card, "levels"))
        if (json_get_text(level, "name", &other) && strcmp(other, name) == 0)
            return level;
    return NULL;
}

static void set_value(cJSON *object, const char *key, cJSON *value)
{
    if (!cJSON_ReplaceItemInObjectCaseSensitive(object, key, value))
        json_add(object, key, value);
}

static void add_origin(struct making *making, const struct row *row, const struct found *found)
{
    char path[PATH_KEY_BYTES];
    cJSON *origin = cJSON_CreateObject();

    path_of(row->level, row->key, path);
    json_add_text(origin, "from", "characterized");
    json_add_text(origin, "experiment", row->experiment);
    json_add_text(origin, "number", row->number);
    json_add_nonzero(origin, "level", row->of_level);
    json_add_nonzero(origin, "stride_bytes", row->stride);
    json_add_nonzero(origin, "warps", found->warps);
    if (row->before)
        json_add_text(origin, "before", row->before);
    if (row->inverse)
        json_add(origin, "inverse", cJSON_CreateTrue());
    json_add_text(origin, "method", found->method);
    if (!found->text) {
        add_number(origin, "low", found->low);
        add_number(origin, "high", found->high);
    }
    json_add_integer(origin, "samples", found->samples);
    add_evidence(making, origin);
    replace_origin(making, path, origin);
}

static bool same_key(const struct row *a, const struct row *b)
{
    return strcmp(a->key, b->key) == 0 &&
           (a->level == b->level || (a->level && b->level && strcmp(a->level, b->level) == 0));
}

static bool is_first_of_key(const struct row *row)
{
    for (const struct row *other = rows; other < row; other++)
        if (same_key(other, row))
            return false;
    return true;
}

/* The first row of the key that finds a value; NULL where none does, with what the first of them said. */
static const struct row *find_key(const struct making *making, const struct row *first, struct found *found)
{
    char reason[NUMBER_REASON_BYTES] = "";

    for (const struct row *row = first; row < rows + COUNT(rows); row++) {
        if (!same_key(row, first))
            continue;
        find_row(row, making->request->found, found);
        if (!isnan(found->value))
            return row;
        if (!reason[0])
            snprintf(reason, sizeof(reason), "%s", found->reason);
    }
    no_value(found, reason[0] ? reason : "there is no such experiment");
    return NULL;
}

static void apply_key(struct making *making, const struct row *first)
{
    cJSON *object = first->level ? level_of(making->card, first->level) : making->card;
    const struct row *row;
    char path[PATH_KEY_BYTES];
    struct found found;

    if (!object)
        return;
    row = find_key(making, first, &found);
    path_of(first->level, first->key, path);
    if (!row) {
        keep_base(making, path, found.reason);
        return;
    }
    set_value(object, row->key,
              found.text   ? cJSON_CreateString(found.text)
              : row->truth ? cJSON_CreateBool(found.value != 0)
                           : cJSON_CreateNumber(rounded(found.value)));
    add_origin(making, row, &found);
}

/* Puts the base card's geometry back where that of the level is none. */
static void check_geometry(struct making *making, cJSON *level)
{
    uint64_t capacity = 0, line = 0, ways = 0;
    const char *name = "";
    char path[PATH_KEY_BYTES];

    json_get_text(level, "name", &name);
    json_get_integer(level, "capacity_bytes", &capacity);
    json_get_integer(level, "line_bytes", &line);
    json_get_integer(level, "ways", &ways);
    if (line && (line & (line - 1)) == 0 && ways && capacity && capacity % (line * ways) == 0)
        return;
    for (const struct row *row = rows; row < rows + COUNT(rows); row++) {
        if (!row->geometry || !row->level || strcmp(row->level, name) != 0)
            continue;
        set_value(level, row->key, cJSON_Duplicate(json_get(level_of(making->base, name), row->key), true));
        path_of(name, row->key, path);
        keep_base(making, path, "size, line and ways that were found make no cache, some of them the base card's");
    }
}

static void apply_found(struct making *making)
{
    cJSON *level;

    for (const struct row *row = rows; row < rows + COUNT(rows); row++)
        if (is_first_of_key(row))
            apply_key(making, row);
    cJSON_ArrayForEach (level, json_get(making->card, "levels"))
        check_geometry(making, level);
}

/* -- the device ---------------------------------------------------------------------------------------- */

/* The product's name: the vendor is known. */
static const char *product(const char *name)
{
    static const char vendor[] = "NVIDIA ";

    return strncmp(name, vendor, sizeof(vendor) - 1) == 0 ? name + sizeof(vendor) - 1 : name;
}

static cJSON *device_value(const cJSON *device, const struct device_row *row)
{
    const char *text;
    double number;

    if (row->text)
        return json_get_text(device, row->device, &text) && text[0] ? cJSON_CreateString(product(text)) : NULL;
    return json_get_double(device, row->device, &number) ? cJSON_CreateNumber(number) : NULL;
}

static void apply_device(struct making *making)
{
    for (const struct device_row *row = device_rows; row < device_rows + COUNT(device_rows); row++) {
        cJSON *value = device_value(making->device, row), *origin;

        if (!value)
            continue;
        set_value(making->card, row->key, value);
        origin = cJSON_CreateObject();
        json_add_text(origin, "from", "device");
        add_evidence(making, origin);
        replace_origin(making, row->key, origin);
    }
}

static bool is_same_chip(const cJSON *base, const cJSON *device)
{
    bool same = true;

    for (const struct device_row *row = device_rows; row < device_rows + COUNT(device_rows); row++) {
        cJSON *value = row->identifies ? device_value(device, row) : NULL;

        same &= !row->identifies || cJSON_Compare(value, json_get(base, row->key), true);
        cJSON_Delete(value);
    }
    return same;
}

/* -- the base card ------------------------------------------------------------------------------------- */

/* Keys of `from` in the order of the schema, each with an origin. */
static void copy_keys(struct making *making, const cJSON *from, const char *level, const char *(*key_at)(size_t),
                      cJSON *to)
{
    for (size_t i = 0; key_at(i); i++) {
        const cJSON *item = json_get(from, key_at(i));
        char path[PATH_KEY_BYTES];

        if (!item)
            continue;
        json_add(to, key_at(i), cJSON_Duplicate(item, true));
        path_of(level, key_at(i), path);
        keep_base(making, path, "");
    }
}

/* What a card of version 1.0 does not say, and means. */
static void complete_base(struct making *making)
{
    cJSON *level;

    cJSON_ArrayForEach (level, json_get(making->base, "levels"))
        if (!json_get(level, "replacement"))
            json_add_text(level, "replacement", cache_replacement_names[CACHE_LRU]);
}

static void copy_base(struct making *making)
{
    cJSON *levels, *schema = json_add(making->card, "schema", cJSON_CreateObject());
    const cJSON *level;

    json_add_text(schema, "name", schema_name);
    json_add_text(schema, "version", schema_version);
    copy_keys(making, making->base, NULL, card_key, making->card);
    levels = json_add(making->card, "levels", cJSON_CreateArray());
    cJSON_ArrayForEach (level, json_get(making->base, "levels")) {
        const char *name = "";
        char path[PATH_KEY_BYTES];

        json_get_text(level, "name", &name);
        copy_keys(making, level, name, card_level_key, json_append(levels, cJSON_CreateObject()));
        path_of(name, "name", path);
        cJSON_DeleteItemFromObjectCaseSensitive(making->origins, path);
    }
    if (!making->same_chip) { /* nor does the driver say it */
        cJSON_DeleteItemFromObjectCaseSensitive(making->card, "chip");
        cJSON_DeleteItemFromObjectCaseSensitive(making->origins, "chip");
    }
}

/* -- numbers and verdicts ------------------------------------------------------------------------------ */

static cJSON *open_number(cJSON *array, const char *experiment, const char *path, const char *name)
{
    cJSON *object = json_append(array, cJSON_CreateObject());

    json_add_text(object, "experiment", experiment);
    json_add_text(object, "path", path);
    json_add_text(object, "name", name);
    return object;
}

static void fill_number(const struct making *making, cJSON *object, const struct found *found, const char *unit)
{
    add_number(object, "value", found->value);
    add_number(object, "low", found->low);
    add_number(object, "high", found->high);
    json_add_text(object, "unit", unit);
    json_add_integer(object, "samples", found->samples);
    json_add_text(object, "method", found->method);
    json_add_text(object, "reason", found->reason[0] ? found->reason : NULL);
    add_evidence(making, object);
}

static bool is_quoted(const struct outcome *outcome, const struct number *number)
{
    for (size_t i = 0; i < COUNT(quoted); i++)
        if (strncmp(outcome->experiment->name, quoted[i].experiment, strlen(quoted[i].experiment)) == 0 &&
            strcmp(number->name, quoted[i].number) == 0)
            return true;
    return false;
}

static void quote_number(const struct making *making, const struct outcome *outcome, const struct number *number,
                         cJSON *array)
{
    cJSON *object = open_number(array, outcome->experiment->name, outcome->experiment->path, number->name);
    struct found found = {.value = number->value,
                          .low = number->low,
                          .high = number->high,
                          .samples = number->samples,
                          .method = number->method};

    snprintf(found.reason, sizeof(found.reason), "%s", number->reason);
    json_add_nonzero(object, "level", number->level);
    json_add_nonzero(object, "stride_bytes", number->stride);
    json_add_nonzero(object, "region_bytes", number->region_bytes);
    json_add_nonzero(object, "code_bytes", number->code_bytes);
    fill_number(making, object, &found, number->unit);
}

static void quote_level(const struct making *making, const struct outcome *outcome, uint32_t index, cJSON *array)
{
    const struct geometry_level *level = &outcome->geometry->level[index];
    const struct experiment *experiment = outcome->experiment;
    struct found found = {.value = level->latency.median,
                          .low = level->latency.ci_low,
                          .high = level->latency.ci_high,
                          .samples = level->latency.count,
                          .method = method_latency};
    cJSON *object = open_number(array, experiment->name, experiment->path, "latency");

    json_add_integer(object, "level", index + 1);
    fill_number(making, object, &found, "cycles");
    if (index + 1 == outcome->geometry->level_count) /* what answers behind all caches that were seen */
        return;
    for (size_t i = 0; i < COUNT(quoted_geometry); i++) {
        const struct geometry_number *number = geometry_number(level, quoted_geometry[i].offset);
        const double value = number->known ? (double)number->value : (double)NAN;

        object = open_number(array, experiment->name, experiment->path, quoted_geometry[i].number);
        json_add_integer(object, "level", index + 1);
        found = (struct found){
            .value = value, .low = value, .high = value, .samples = number->samples, .method = number->method};
        snprintf(found.reason, sizeof(found.reason), "%s", level->contradicts ? level->contradiction : number->reason);
        fill_number(making, object, &found, quoted_geometry[i].unit);
    }
}

static void quote_groups(const struct making *making, const struct outcome *outcome, cJSON *array)
{
    struct found found;

    find_largest_group(NULL, outcome, &found);
    fill_number(making, open_number(array, outcome->experiment->name, outcome->experiment->path, "largest_group"),
                &found, "SMs");
}

static void quote_verdict(const struct making *making, const struct outcome *outcome, const struct verdict *verdict,
                          cJSON *array)
{
    cJSON *object = open_number(array, outcome->experiment->name, outcome->experiment->path, verdict->name);

    json_add_nonzero(object, "level", verdict->level);
    if (verdict->before)
        json_add_text(object, "before", verdict->before);
    json_add_text(object, "value", verdict->value);
    json_add_text(object, "reason", verdict->reason);
    add_evidence(making, object);
}

/* Of each level that is a cache. */
static void quote_replacement(const struct making *making, const struct outcome *outcome, cJSON *array)
{
    for (uint32_t i = 0; outcome->geometry && i + 1 < outcome->geometry->level_count; i++) {
        const struct geometry_number *number = &outcome->geometry->level[i].replacement;
        struct verdict verdict = {.name = "replacement", .level = i + 1};

        verdict.value = number->known ? replacement_name((enum replacement)number->value) : NULL;
        snprintf(verdict.reason, sizeof(verdict.reason), "%s", number->known ? number->method : number->reason);
        quote_verdict(making, outcome, &verdict, array);
    }
}

/* What has an answer is quoted; of the other experiments the reason. */
static void add_numbers(struct making *making)
{
    const struct characterization *all = making->request->found;
    cJSON *numbers = json_add(making->card, "numbers", cJSON_CreateArray());
    cJSON *verdicts = json_add(making->card, "verdicts", cJSON_CreateArray());
    cJSON *skipped = json_add(making->card, "skipped", cJSON_CreateArray());

    for (const struct outcome *outcome = all->outcomes; outcome < all->outcomes + all->count; outcome++) {
        if (strcmp(outcome->status, "ok") != 0) {
            cJSON *object = json_append(skipped, cJSON_CreateObject());

            json_add_text(object, "experiment", outcome->experiment->name);
            json_add_text(object, "reason", outcome->reason);
            continue;
        }
        for (size_t i = 0; i < outcome->number_count; i++)
            if (is_quoted(outcome, &outcome->numbers[i]))
                quote_number(making, outcome, &outcome->numbers[i], numbers);
        for (uint32_t i = 0; outcome->geometry && i < outcome->geometry->level_count; i++)
            quote_level(making, outcome, i, numbers);
        if (outcome->group)
            quote_groups(making, outcome, numbers);
        for (size_t i = 0; i < outcome->verdict_count; i++)
            quote_verdict(making, outcome, &outcome->verdicts[i], verdicts);
        quote_replacement(making, outcome, verdicts);
    }
}

/* -- evidence ------------------------------------------------------------------------------------------ */

static enum status hash_file(struct making *making)
{
    const char *path = making->request->file;
    FILE *file = path ? fopen(path, "rb") : NULL;
    char *data = NULL;
    size_t bytes = 0, read = 1;

    if (!path)
        return STATUS_OK;
    while (file && read > 0) {
        char *grown = realloc(data, bytes + (1 << 20));

        if (!grown)
            break;
        data = grown;
        read = fread(data + bytes, 1, 1 << 20, file);
        bytes += read;
    }
    if (file && read == 0 && !ferror(file)) {
        sha256_hex(data, bytes, making->sha256);
        snprintf(making->id, sizeof(making->id), "%.*s", ID_HEX_DIGITS, making->sha256);
    }
    if (file)
        fclose(file);
    free(data);
    return making->id[0] ? STATUS_OK
                         : log_error(STATUS_USAGE, "cannot read %s, which the card rests on; write it to a file", path);
}

/* Adds to `evidence` the files of the base card that an origin still names. */
static void add_base_evidence(const struct making *making, cJSON *evidence)
{
    const cJSON *origin, *id;

    cJSON_ArrayForEach (origin, making->origins)
        cJSON_ArrayForEach (id, json_get(origin, "evidence")) {
            const char *name = cJSON_GetStringValue(id);
            const cJSON *file = name ? json_get(json_get(making->base, "evidence"), name) : NULL;

            if (file && !json_get(evidence, name))
                json_add(evidence, name, cJSON_Duplicate(file, true));
        }
}

static void write_evidence(struct making *making)
{
    cJSON *evidence = json_add(making->card, "evidence", cJSON_CreateObject());

    if (making->id[0]) {
        cJSON *file = json_add(evidence, making->id, cJSON_CreateObject());

        json_add_text(file, "file", making->request->file);
        json_add_text(file, "sha256", making->sha256);
    }
    add_base_evidence(making, evidence);
}

/* -- all ----------------------------------------------------------------------------------------------- */

static void count_origins(struct making *making)
{
    struct card_tally *tally = &making->tally;
    const char *name = "";
    const cJSON *origin;

    cJSON_ArrayForEach (origin, making->origins) {
        const char *from = "";

        json_get_text(origin, "from", &from);
        if (strcmp(from, "characterized") == 0)
            tally->characterized++;
        else if (strcmp(from, "device") == 0)
            tally->device++;
        else
            tally->base++;
    }
    json_get_text(making->base, "name", &name);
    snprintf(tally->base_name, sizeof(tally->base_name), "%s", name);
}

/* Moves the origin of each key of a card or a level to `sorted`. */
static void sort_keys(struct making *making, const char *level, const char *(*key_at)(size_t), cJSON *sorted)
{
    for (size_t i = 0; key_at(i); i++) {
        char path[PATH_KEY_BYTES];
        cJSON *origin;

        path_of(level, key_at(i), path);
        origin = cJSON_DetachItemFromObjectCaseSensitive(making->origins, path);
        if (origin)
            json_add(sorted, path, origin);
    }
}

/* Origins, in the order of the keys. */
static void write_origins(struct making *making)
{
    cJSON *sorted = cJSON_CreateObject();
    const cJSON *level;

    sort_keys(making, NULL, card_key, sorted);
    cJSON_ArrayForEach (level, json_get(making->card, "levels")) {
        const char *name = "";

        json_get_text(level, "name", &name);
        sort_keys(making, name, card_level_key, sorted);
    }
    cJSON_Delete(making->origins);
    making->origins = json_add(making->card, "origins", sorted);
}

static void make(struct making *making)
{
    making->origins = cJSON_CreateObject();
    making->same_chip = is_same_chip(making->base, making->device);
    complete_base(making);
    copy_base(making);
    apply_device(making);
    apply_found(making);
    write_origins(making);
    write_evidence(making);
    add_numbers(making);
    count_origins(making);
}

/* As a reader of the file has it: numbers that were just added (json_add_integer) are text until they are read. */
static enum status read_again(const cJSON *item, cJSON **out)
{
    char *text = cJSON_PrintUnformatted(item);
    const enum status status = text ? json_parse("what was found", text, strlen(text), out)
                                    : log_error(STATUS_ENVIRONMENT, "out of memory for a card");

    cJSON_free(text);
    return status;
}

enum status card_make(const struct card_request *request, cJSON **out, struct card_tally *tally)
{
    struct making making = {.request = request};
    struct card card;
    enum status status = card_read_json(request->base_path, &card, &making.base);

    if (status == STATUS_OK)
        status = read_again(request->device, &making.device);
    if (status == STATUS_OK)
        status = hash_file(&making);
    if (status == STATUS_OK) {
        making.card = cJSON_CreateObject();
        make(&making);
        status = card_check("made of what was found", making.card);
    }
    cJSON_Delete(making.base);
    cJSON_Delete(making.device);
    if (status == STATUS_OK) {
        *out = making.card;
        *tally = making.tally;
    } else {
        cJSON_Delete(making.card);
    }
    return status;
}
