/* SPDX-License-Identifier: MIT */
#include "card.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "document.h"
#include "text.h"

/* card_texts.S puts the texts there. */
#define CARD_FILE(name, path) extern const char cbank_card_##name[], cbank_card_##name##_end[];
#include "cards.def"

const struct card_text card_texts[] = {
#define CARD_FILE(name, path) {#name, path, cbank_card_##name, cbank_card_##name##_end},
#include "cards.def"
};

const size_t card_text_count = sizeof(card_texts) / sizeof(card_texts[0]);

/* Smallest rate and largest number: what the schema says too. Rates divide, and so are above 0. */
#define RATE_LOWEST 1e-9
#define HIGHEST     1e9

/* -- levels -------------------------------------------------------------------------------------------- */

static const struct names replacements = NAMES(
    cache_replacement_names, CACHE_REPLACEMENT_COUNT,
    "\"LRU\", \"FIFO\", \"tree pseudo-LRU\", \"bit pseudo-LRU\", \"NRU\", \"Clock\", \"Clock of hits\", \"SRRIP\", \"SRRIP of frequency\" or \"random\"");

/* bool: null is not known. */
static void read_kept(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);
    struct card_level *level = base;

    level->kept_unknown = cJSON_IsNull(item);
    if (!level->kept_unknown && !json_get_bool(node->json, field->key, &level->kept_between_launches))
        node_refuse(node, field->key, "true, false or null");
}

/* uint32_t: null is CARD_UNKNOWN, since 0 is a value like others. */
static void read_lines(const struct node *node, const struct field *field, void *base)
{
    const bool unknown = cJSON_IsNull(node_get(node, field->key));
    uint32_t *lines = (uint32_t *)((char *)base + field->offset);

    *lines =
        unknown ? CARD_UNKNOWN : (uint32_t)node_integer(node, field->key, (uint64_t)field->low, (uint64_t)field->high);
}

static const struct field_kind kind_kept = {.read = read_kept}, kind_lines = {.read = read_lines};

#define LEVEL(kind, member) FIELD(kind, struct card_level, #member, member, NULLABLE)
#define LEVEL_COST(member)  {LEVEL(field_number, member), .high = HIGHEST}

static const struct field level_rows[] = {
    {FIELD(field_text, struct card_level, "name", name, REQUIRED), .low = 1},
    {LEVEL(field_uint32, capacity_bytes), .low = 4, .high = 1 << 24},
    {LEVEL(field_uint32, line_bytes), .low = 4, .high = 1 << 16},
    {LEVEL(field_uint32, ways), .low = 1, .high = 1 << 22},
    /* Cards of version 1.0 have none. */
    {FIELD(field_name, struct card_level, "replacement", replacement, OMITTED), .of = &replacements},
    {LEVEL(field_uint32, sms), .low = 1, .high = 4096},
    {LEVEL(kind_kept, kept_between_launches)},
    LEVEL_COST(request_cycles),
    LEVEL_COST(miss_cycles),
    LEVEL_COST(miss_latency_cycles),
    {FIELD(field_number, struct card_level, "latency_cycles", latency_cycles, OMITTED), .high = HIGHEST},
};

static bool is_power_of_two(uint32_t value)
{
    return (value & (value - 1)) == 0;
}

static void check_level(const struct node *node, void *element)
{
    const struct card_level *level = element;
    const uint64_t set_bytes = (uint64_t)(level->line_bytes ? level->line_bytes : 1) * (level->ways ? level->ways : 1);

    if (level->replacement == CACHE_TREE && !is_power_of_two(level->ways))
        node_refuse(node, "ways", "a power of two for a tree");
    if (!is_power_of_two(level->line_bytes))
        node_refuse(node, "line_bytes", "a power of two");
    if (level->capacity_bytes % set_bytes != 0)
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
#define CARD(kind, member, presence) FIELD(kind, struct card, #member, member, presence)
#define CARD_TEXT(member, presence)  {CARD(field_text, member, presence), .low = 1},
#define CARD_COUNT(member, presence, lowest, highest) \
    {CARD(field_uint32, member, presence), .low = lowest, .high = highest},
#define CARD_LINES(member, presence, lowest, highest) \
    {CARD(kind_lines, member, presence), .low = lowest, .high = highest},
#define CARD_BYTES(member, presence, lowest, highest) \
    {CARD(field_uint64, member, presence), .low = lowest, .high = highest},
#define CARD_NUMBER(member, presence, lowest, highest) \
    {CARD(field_number, member, presence), .low = lowest, .high = highest},
#include "card.def"
    {CARD(field_array, levels, REQUIRED), .low = 1, .of = &level_array},
};

static const struct document card_document = {
    .schema = "cbank-card",
    .what = "card",
    .remedy = "results/cards/ has examples",
    .major = 1,
    .minor = 2,
    .root = {.fields = FIELDS(card_rows), .given = SIZE_MAX},
};

enum status card_check(const char *name, const cJSON *json)
{
    struct card card = {0};

    return document_take(&card_document, name, json, &card);
}

/* The card in the program that `path` names, NULL the first; NULL where it names none, and so a file. */
static const struct card_text *text_named(const char *path)
{
    for (size_t i = 0; path && i < card_text_count; i++)
        if (strcasecmp(card_texts[i].name, path) == 0)
            return &card_texts[i];
    return path ? NULL : &card_texts[0];
}

enum status card_read_json(const char *path, struct card *out, cJSON **json)
{
    const struct card_text *text = text_named(path);
    const char *name = text ? text->file : path;
    struct card card = {0};
    cJSON *tree = NULL;
    enum status status =
        text ? json_parse(name, text->start, (size_t)(text->end - text->start), &tree) : json_read_file(path, &tree);

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
    cJSON *tree;
    const enum status status = document_parse(&card_document, name, text, bytes, &card, &tree);

    cJSON_Delete(tree);
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

/* Keys that are missed, of which a few are named. */
struct lack {
    char text[CARD_LACKS_BYTES];
    size_t count;
};

enum { LACKS_NAMED = 3 };

static void lack_key(struct lack *lack, bool missed, const char *level, const char *key)
{
    if (missed && lack->count++ < LACKS_NAMED)
        text_join(lack->text, sizeof(lack->text), ", ", level ? "%s of %s" : "%s", key, level);
}

bool card_lacks(const struct card *card, char out[CARD_LACKS_BYTES])
{
    struct lack lack = {.text = ""};

#define CARD_TEXT(member, presence)
#define CARD_COUNT(member, presence, lowest, highest) \
    lack_key(&lack, (presence) == NULLABLE && !card->member, NULL, #member);
#define CARD_LINES(member, presence, lowest, highest)  lack_key(&lack, card->member == CARD_UNKNOWN, NULL, #member);
#define CARD_BYTES(member, presence, lowest, highest)  lack_key(&lack, !card->member, NULL, #member);
#define CARD_NUMBER(member, presence, lowest, highest) lack_key(&lack, isnan(card->member), NULL, #member);
#include "card.def"
    for (const struct card_level *level = card->levels; level < card->levels + card->level_count; level++) {
        lack_key(&lack, !level->capacity_bytes || !level->line_bytes || !level->ways || !level->sms, level->name,
                 "the geometry");
        lack_key(&lack, level->kept_unknown, level->name, "kept_between_launches");
        lack_key(&lack, isnan(level->request_cycles + level->miss_cycles + level->miss_latency_cycles), level->name,
                 "the costs");
    }
    if (lack.count > LACKS_NAMED)
        text_join(lack.text, sizeof(lack.text), " and ", "%zu more", lack.count - LACKS_NAMED);
    memcpy(out, lack.text, sizeof(lack.text));
    return lack.count > 0;
}

uint32_t card_level_index(const struct card *card, const char *name)
{
    uint32_t index = 0;

    while (index < card->level_count && strcmp(card->levels[index].name, name) != 0)
        index++;
    return index;
}
