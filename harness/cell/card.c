/* SPDX-License-Identifier: MIT */
#include "card.h"

#include <string.h>

#include "document.h"

/* card_default.S puts the text of the default card between these. */
extern const char cbank_card_start[], cbank_card_end[];

/* Smallest rate and largest number: what the schema says too. Rates divide, and so are above 0. */
#define RATE_LOWEST 1e-9
#define HIGHEST     1e9

/* -- levels -------------------------------------------------------------------------------------------- */

static const struct names replacements = NAMES(
    cache_replacement_names, CACHE_REPLACEMENT_COUNT,
    "\"LRU\", \"FIFO\", \"tree pseudo-LRU\", \"bit pseudo-LRU\", \"NRU\", \"Clock\", \"Clock of hits\", \"SRRIP\", \"SRRIP of frequency\" or \"random\"");

#define LEVEL(kind, member) FIELD(kind, struct card_level, #member, member, REQUIRED)
#define LEVEL_COST(member)  {LEVEL(field_number, member), .high = HIGHEST}

static const struct field level_rows[] = {
    {LEVEL(field_text, name), .low = 1},
    {LEVEL(field_uint32, capacity_bytes), .low = 4, .high = 1 << 24},
    {LEVEL(field_uint32, line_bytes), .low = 4, .high = 1 << 16},
    {LEVEL(field_uint32, ways), .low = 1, .high = 1 << 22},
    /* Cards of version 1.0 have none. */
    {FIELD(field_name, struct card_level, "replacement", replacement, OMITTED), .of = &replacements},
    {LEVEL(field_uint32, sms), .low = 1, .high = 4096},
    {LEVEL(field_bool, kept_between_launches)},
    LEVEL_COST(request_cycles),
    LEVEL_COST(miss_cycles),
    LEVEL_COST(miss_latency_cycles),
};

static bool is_power_of_two(uint32_t value)
{
    return (value & (value - 1)) == 0;
}

static void check_level(const struct node *node, void *element)
{
    const struct card_level *level = element;

    if (level->replacement == CACHE_TREE && !is_power_of_two(level->ways))
        node_refuse(node, "ways", "a power of two for a tree");
    if (!is_power_of_two(level->line_bytes))
        node_refuse(node, "line_bytes", "a power of two");
    if (level->capacity_bytes % ((uint64_t)level->line_bytes * level->ways) != 0)
        node_refuse(node, "capacity_bytes", "a whole number of sets of ways x line_bytes");
}

static const struct objects level_array = {
    .fields = FIELDS(level_rows),
    .element_bytes = sizeof(struct card_level),
    .count = offsetof(struct card, level_count),
    .max = CARD_LEVELS_MAX,
    .check = check_level,
};

/* -- cards --------------------------------------------------------------------------------------------- */

static const struct field card_rows[] = {
#define CARD(kind, member, presence)         FIELD(kind, struct card, #member, member, presence)
#define CARD_TEXT(member, presence)          {CARD(field_text, member, presence), .low = 1},
#define CARD_COUNT(member, lowest, highest)  {CARD(field_uint32, member, REQUIRED), .low = lowest, .high = highest},
#define CARD_BYTES(member, lowest, highest)  {CARD(field_uint64, member, REQUIRED), .low = lowest, .high = highest},
#define CARD_NUMBER(member, lowest, highest) {CARD(field_number, member, REQUIRED), .low = lowest, .high = highest},
#include "card.def"
    {CARD(field_array, levels, REQUIRED), .low = 1, .of = &level_array},
};

static const struct document card_document = {
    .schema = "cbank-card",
    .what = "card",
    .remedy = "results/cards/ has examples",
    .major = 1,
    .minor = 1,
    .oldest_major = 1,
    .root = {.fields = FIELDS(card_rows), .given = SIZE_MAX},
};

enum status card_check(const char *name, const cJSON *json)
{
    struct card card = {0};

    return document_take(&card_document, name, json, &card);
}

enum status card_read_json(const char *path, struct card *out, cJSON **json)
{
    const size_t bytes = (size_t)(cbank_card_end - cbank_card_start);
    struct card card = {0};
    const char *name = path ? path : "(built in)";
    cJSON *tree = NULL;
    enum status status = path ? json_read_file(path, &tree) : json_parse(name, cbank_card_start, bytes, &tree);

    if (status == STATUS_OK)
        status = document_take(&card_document, name, tree, &card);
    if (status != STATUS_OK) {
        cJSON_Delete(tree);
        return status;
    }
    *out = card;
    *json = tree;
    return STATUS_OK;
}

enum status card_read(const char *path, struct card *out)
{
    cJSON *json = NULL;
    const enum status status = card_read_json(path, out, &json);

    cJSON_Delete(json);
    return status;
}

enum status card_parse(const char *name, const char *text, size_t bytes, struct card *out)
{
    struct card card = {0};
    struct json_tree *tree;
    const enum status status = document_parse(&card_document, name, text, bytes, &card, &tree);

    json_tree_close(tree);
    if (status == STATUS_OK)
        *out = card;
    return status;
}

const char *card_key(size_t index)
{
    const struct fields *fields = &card_document.root.fields;

    return index + 1 < fields->count ? fields->rows[index].key : NULL; /* the last is the levels */
}

const char *card_level_key(size_t index)
{
    return index < level_array.fields.count ? level_array.fields.rows[index].key : NULL;
}

uint32_t card_level_index(const struct card *card, const char *name)
{
    uint32_t index = 0;

    while (index < card->level_count && strcmp(card->levels[index].name, name) != 0)
        index++;
    return index;
}
