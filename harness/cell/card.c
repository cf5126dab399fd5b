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

static const struct names replacements =
    NAMES(cache_replacement_names, CACHE_REPLACEMENT_COUNT, "\"LRU\", \"FIFO\" or \"tree pseudo-LRU\"");

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

#define CARD(kind, member) FIELD(kind, struct card, #member, member, REQUIRED)
#define CARD_RATE(member)  {CARD(field_number, member), .low = RATE_LOWEST, .high = HIGHEST}
#define CARD_BYTES(member) {CARD(field_uint64, member), .low = 1, .high = 1099511627776.0}
#define CARD_LINES(member) {CARD(field_uint32, member), .high = 1 << 20}
#define CARD_COST(member)  {CARD(field_number, member), .high = HIGHEST}

static const struct field card_rows[] = {
    {CARD(field_text, name), .low = 1},
    {FIELD(field_text, struct card, "chip", chip, OMITTED), .low = 1},
    {CARD(field_uint32, cc_major), .low = 1, .high = 99},
    {CARD(field_uint32, cc_minor), .high = 9},
    {CARD(field_uint32, sm_count), .low = 1, .high = 4096},
    {CARD(field_uint32, warps_per_sm), .low = 32, .high = 1024},
    {CARD(field_uint32, blocks_per_sm), .low = 1, .high = 1024},
    {CARD(field_uint32, shared_bytes_per_sm), .low = 1024, .high = 1 << 24},
    {CARD(field_uint32, shared_bytes_reserved), .high = 1 << 24},
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
    {CARD(field_uint32, l2_slices), .low = 1, .high = 4096},
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
    {CARD(field_array, levels), .low = 1, .of = &level_array},
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
    cJSON *tree = NULL;
    const enum status status =
        path ? document_read(&card_document, path, &card, &tree)
             : document_parse(&card_document, "(built in)", cbank_card_start, bytes, &card, &tree);

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
