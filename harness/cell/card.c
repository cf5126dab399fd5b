/* SPDX-License-Identifier: MIT */
#include "card.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "log.h"

/* card_default.S puts the text of the default card between these. */
extern const char cbank_card_start[], cbank_card_end[];

static const char schema_name[] = "cbank-card";
static const char schema_major[] = "1.";

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum field_kind { FIELD_TEXT, FIELD_U32, FIELD_U64, FIELD_DOUBLE, FIELD_BOOL, FIELD_REPLACEMENT };

/* A field of struct card or struct card_level: its key, and the values that are taken (bytes, NUL included,
 * for text, which need not be there from 0 on). */
struct field {
    const char *key;
    enum field_kind kind;
    size_t offset;
    double lowest, highest;
};

/* Smallest rate and largest number: what the schema says too. Rates divide, and so are above 0. */
#define RATE_LOWEST 1e-9
#define HIGHEST     1e9

#define CARD(member) #member, .offset = offsetof(struct card, member)
#define CARD_TEXT(member, lowest_) \
    {CARD(member), .kind = FIELD_TEXT, .lowest = lowest_, .highest = sizeof(((struct card *)0)->member)}
#define CARD_RATE(member)  {CARD(member), .kind = FIELD_DOUBLE, .lowest = RATE_LOWEST, .highest = HIGHEST}
#define CARD_BYTES(member) {CARD(member), .kind = FIELD_U64, .lowest = 1, .highest = 1099511627776.0}
#define CARD_LINES(member) {CARD(member), .kind = FIELD_U32, .highest = 1 << 20}
#define CARD_COST(member)  {CARD(member), .kind = FIELD_DOUBLE, .highest = HIGHEST}

static const struct field card_fields[] = {
    CARD_TEXT(name, 1),
    CARD_TEXT(chip, 0),
    {CARD(cc_major), .kind = FIELD_U32, .lowest = 1, .highest = 99},
    {CARD(cc_minor), .kind = FIELD_U32, .highest = 9},
    {CARD(sm_count), .kind = FIELD_U32, .lowest = 1, .highest = 4096},
    {CARD(warps_per_sm), .kind = FIELD_U32, .lowest = 32, .highest = 1024},
    {CARD(blocks_per_sm), .kind = FIELD_U32, .lowest = 1, .highest = 1024},
    {CARD(shared_bytes_per_sm), .kind = FIELD_U32, .lowest = 1024, .highest = 1 << 24},
    {CARD(shared_bytes_reserved), .kind = FIELD_U32, .highest = 1 << 24},
    CARD_RATE(sm_clock_mhz),
    CARD_BYTES(l2_bytes),
    CARD_BYTES(l2_kept_bytes),
    CARD_BYTES(l2_dirty_bytes),
    CARD_RATE(dram_bytes_per_ns),
    CARD_RATE(l2_bytes_per_ns),
    CARD_COST(launch_ns),
    CARD_COST(wave_ns),
    CARD_COST(cold_ns),
    CARD_COST(block_launch_ns),
    CARD_COST(block_l2_ns),
    CARD_COST(block_dram_ns),
    CARD_COST(block_write_back_ns),
    CARD_RATE(issue_per_cycle),
    CARD_RATE(l1_sectors_per_cycle),
    CARD_RATE(l1_requests_per_cycle),
    CARD_COST(l1_miss_cycles),
    CARD_COST(l2_request_ns),
    {CARD(l2_slices), .kind = FIELD_U32, .lowest = 1, .highest = 4096},
    CARD_RATE(texture_requests_per_cycle),
    CARD_RATE(shared_wavefronts_per_cycle),
    CARD_COST(staging_wait_cycles),
    CARD_COST(staging_round_cycles),
    CARD_COST(uniform_request_cycles),
    CARD_COST(immediate_request_cycles),
    CARD_COST(copy_ns),
    CARD_RATE(copy_bytes_per_ns),
    CARD_COST(alternate_ns),
    CARD_LINES(parameter_lines),
    CARD_LINES(immediate_lines),
};

#define LEVEL(member) #member, .offset = offsetof(struct card_level, member)

static const struct field level_fields[] = {
    {LEVEL(name), .kind = FIELD_TEXT, .lowest = 1, .highest = CARD_NAME_BYTES},
    {LEVEL(capacity_bytes), .kind = FIELD_U32, .lowest = 4, .highest = 1 << 24},
    {LEVEL(line_bytes), .kind = FIELD_U32, .lowest = 4, .highest = 1 << 16},
    {LEVEL(ways), .kind = FIELD_U32, .lowest = 1, .highest = 1 << 22},
    {LEVEL(replacement), .kind = FIELD_REPLACEMENT},
    {LEVEL(sms), .kind = FIELD_U32, .lowest = 1, .highest = 4096},
    {LEVEL(kept_between_launches), .kind = FIELD_BOOL},
    {LEVEL(request_cycles), .kind = FIELD_DOUBLE, .highest = HIGHEST},
    {LEVEL(miss_cycles), .kind = FIELD_DOUBLE, .highest = HIGHEST},
    {LEVEL(miss_latency_cycles), .kind = FIELD_DOUBLE, .highest = HIGHEST},
};

/* What is being read, for messages: the file, and "levels[1]." or "". */
struct place {
    const char *file;
    char prefix[32];
};

static enum status wrong(const struct place *place, const char *key, const char *expected)
{
    return log_error(STATUS_USAGE, "card %s: %s%s must be %s; see results/card.schema.json", place->file, place->prefix,
                     key, expected);
}

static enum status wrong_number(const struct place *place, const struct field *field)
{
    char expected[96];

    snprintf(expected, sizeof(expected), "%s from %.15g to %.15g",
             field->kind == FIELD_DOUBLE ? "a number" : "a whole number", field->lowest, field->highest);
    return wrong(place, field->key, expected);
}

static enum status read_text(const cJSON *object, const struct field *field, const struct place *place, char *out)
{
    const size_t room = (size_t)field->highest;
    const cJSON *item = json_get(object, field->key);
    const char *text;
    char expected[64];

    if (field->lowest == 0 && (!item || cJSON_IsNull(item)))
        return STATUS_OK;
    if (!json_get_text(object, field->key, &text) || *text == '\0' || strlen(text) >= room) {
        snprintf(expected, sizeof(expected), "a text of 1 to %zu bytes", room - 1);
        return wrong(place, field->key, expected);
    }
    memcpy(out, text, strlen(text) + 1);
    return STATUS_OK;
}

static enum status read_integer(const cJSON *object, const struct field *field, const struct place *place, void *out)
{
    uint64_t value;

    if (!json_get_integer(object, field->key, &value) || (double)value < field->lowest ||
        (double)value > field->highest)
        return wrong_number(place, field);
    if (field->kind == FIELD_U32)
        memcpy(out, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
    else
        memcpy(out, &value, sizeof(value));
    return STATUS_OK;
}

static enum status read_double(const cJSON *object, const struct field *field, const struct place *place, void *out)
{
    double value;

    if (!json_get_double(object, field->key, &value) || !(value >= field->lowest && value <= field->highest))
        return wrong_number(place, field);
    memcpy(out, &value, sizeof(value));
    return STATUS_OK;
}

static enum status read_bool(const cJSON *object, const struct field *field, const struct place *place, void *out)
{
    bool value;

    if (!json_get_bool(object, field->key, &value))
        return wrong(place, field->key, "true or false");
    memcpy(out, &value, sizeof(value));
    return STATUS_OK;
}

/* Need not be there: cards of version 1.0 have none. */
static enum status read_replacement(const cJSON *object, const struct field *field, const struct place *place,
                                    void *out)
{
    enum cache_replacement replacement = CACHE_LRU;
    const char *name = cache_replacement_names[CACHE_LRU];

    if (json_get(object, field->key) && !json_get_text(object, field->key, &name))
        name = "";
    while (replacement < CACHE_REPLACEMENT_COUNT && strcmp(name, cache_replacement_names[replacement]) != 0)
        replacement++;
    if (replacement == CACHE_REPLACEMENT_COUNT)
        return wrong(place, field->key, "\"LRU\", \"FIFO\" or \"tree pseudo-LRU\"");
    memcpy(out, &replacement, sizeof(replacement));
    return STATUS_OK;
}

static enum status read_fields(const cJSON *object, const struct field *fields, size_t count, const struct place *place,
                               void *out)
{
    for (const struct field *field = fields; field < fields + count; field++) {
        char *member = (char *)out + field->offset;
        enum status status = STATUS_OK;

        switch (field->kind) {
        case FIELD_TEXT:
            status = read_text(object, field, place, member);
            break;
        case FIELD_U32:
        case FIELD_U64:
            status = read_integer(object, field, place, member);
            break;
        case FIELD_DOUBLE:
            status = read_double(object, field, place, member);
            break;
        case FIELD_BOOL:
            status = read_bool(object, field, place, member);
            break;
        case FIELD_REPLACEMENT:
            status = read_replacement(object, field, place, member);
            break;
        }
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status read_level(const cJSON *object, const struct place *place, struct card_level *level)
{
    const enum status status = read_fields(object, level_fields, COUNT(level_fields), place, level);

    if (status != STATUS_OK)
        return status;
    if (level->replacement == CACHE_TREE && (level->ways & (level->ways - 1)) != 0)
        return wrong(place, "ways", "a power of two for a tree");
    if ((level->line_bytes & (level->line_bytes - 1)) != 0)
        return wrong(place, "line_bytes", "a power of two");
    if (level->capacity_bytes % ((uint64_t)level->line_bytes * level->ways) != 0)
        return wrong(place, "capacity_bytes", "a whole number of sets of ways x line_bytes");
    return STATUS_OK;
}

static enum status read_levels(const cJSON *object, struct place *place, struct card *card)
{
    const cJSON *levels = json_get(object, "levels");
    const int count = cJSON_IsArray(levels) ? cJSON_GetArraySize(levels) : 0;
    const cJSON *item;

    if (count < 1 || count > CARD_LEVELS_MAX)
        return wrong(place, "levels", "an array of 1 to 4 levels");
    cJSON_ArrayForEach (item, levels) {
        snprintf(place->prefix, sizeof(place->prefix), "levels[%u].", card->level_count);

        const enum status status = read_level(item, place, &card->levels[card->level_count++]);

        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status read_schema(const cJSON *object, const struct place *place)
{
    const cJSON *schema = json_get(object, "schema");
    const char *name = "", *version = "";

    json_get_text(schema, "name", &name);
    json_get_text(schema, "version", &version);
    if (strcmp(name, schema_name) != 0)
        return log_error(STATUS_USAGE, "%s is not a card: its schema.name is not %s; results/cards/ has examples",
                         place->file, schema_name);
    if (strncmp(version, schema_major, sizeof(schema_major) - 1) != 0)
        return log_error(STATUS_USAGE, "card %s has version '%s', this cbank reads %sx; choose another", place->file,
                         version, schema_major);
    return STATUS_OK;
}

static enum status read_card(const cJSON *object, struct place *place, struct card *card)
{
    enum status status = read_schema(object, place);

    if (status == STATUS_OK)
        status = read_fields(object, card_fields, COUNT(card_fields), place, card);
    if (status == STATUS_OK)
        status = read_levels(object, place, card);
    return status;
}

enum status card_check(const char *name, const cJSON *json)
{
    struct place place = {.file = name};
    struct card card = {0};

    return read_card(json, &place, &card);
}

enum status card_read_json(const char *path, struct card *out, cJSON **json)
{
    struct place place = {.file = path ? path : "(built in)"};
    struct card card = {0};
    cJSON *object = NULL;
    enum status status;

    if (path)
        status = json_read_file(path, &object);
    else
        status = json_parse(place.file, cbank_card_start, (size_t)(cbank_card_end - cbank_card_start), &object);
    if (status == STATUS_OK)
        status = read_card(object, &place, &card);
    if (status != STATUS_OK) {
        cJSON_Delete(object);
        return status;
    }
    *out = card;
    *json = object;
    return STATUS_OK;
}

enum status card_read(const char *path, struct card *out)
{
    cJSON *json = NULL;
    const enum status status = card_read_json(path, out, &json);

    cJSON_Delete(json);
    return status;
}

const char *card_key(size_t index)
{
    return index < COUNT(card_fields) ? card_fields[index].key : NULL;
}

const char *card_level_key(size_t index)
{
    return index < COUNT(level_fields) ? level_fields[index].key : NULL;
}

uint32_t card_level_index(const struct card *card, const char *name)
{
    uint32_t index = 0;

    while (index < card->level_count && strcmp(card->levels[index].name, name) != 0)
        index++;
    return index;
}
