/* SPDX-License-Identifier: MIT
 * Cards: built in by card_texts.S as the files they are, or read. A card in the program passes the
 * same reader as one of a user. The second part says what follows from a card for a cell: how many
 * blocks an SM holds, by threads, shared memory and registers, whichever is least. */
#include "card.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "device.h"
#include "document.h"
#include "log.h"
#include "text.h"

/* card_texts.S puts the texts there. */
#define CARD_FILE(name, path) extern const char cbank_card_##name[], cbank_card_##name##_end[];
#include "cards.def"

const struct card_text card_texts[] = {
#define CARD_FILE(name, path) {#name, path, cbank_card_##name, cbank_card_##name##_end},
#include "cards.def"
};

const size_t card_text_count = sizeof(card_texts) / sizeof(card_texts[0]);

enum { MORE = 1, LESS = 0 };

const struct card_row card_rows[CARD_NUMBERS] = {
#define CARD(key, unit, presence, sense, low, high, summary) \
    {#key, unit, summary, (presence) == REQUIRED, sense, low, high},
#include "card.def"
};

/* -- JSON -------------------------------------------------------------------------------------- */

/* Value and interval of a number, or null. */
static void read_numbers(const struct node *node, const struct field *field, void *base)
{
    const struct node numbers = node_object(node, field->key);
    struct card_number *number = ((struct card *)base)->number;

    for (const struct card_row *row = card_rows;
         row < card_rows + CARD_NUMBERS && !node_failed(node); row++, number++) {
        const struct field members[] = {
            {FIELD(field_number, struct card_number, "value", value, REQUIRED), .low = row->low,
             .high = row->high},
            {FIELD(field_number, struct card_number, "low", low, REQUIRED), .low = row->low,
             .high = row->high},
            {FIELD(field_number, struct card_number, "high", high, REQUIRED), .low = row->low,
             .high = row->high},
        };
        const cJSON *item = node_get(&numbers, row->key);

        *number = (struct card_number){NAN, NAN, NAN};
        if (!row->required && (!item || cJSON_IsNull(item)))
            continue;

        const struct node inner = node_object(&numbers, row->key);

        if (node_failed(node))
            return;
        fields_read(&inner, &(struct fields)FIELDS(members), number);
        if (!node_failed(node) && !(number->low <= number->value && number->value <= number->high))
            node_refuse(&inner, "value", "a number from low to high");
    }
}

static const struct field_kind kind_numbers = {.read = read_numbers};

static const struct field rows[] = {
    {FIELD(field_text, struct card, "name", name, REQUIRED), .low = 1},
    {FIELD(field_text, struct card, "chip", chip, NULLABLE)},
    {FIELD(field_uint32, struct card, "cc_major", cc_major, REQUIRED), .low = 1, .high = 99},
    {FIELD(field_uint32, struct card, "cc_minor", cc_minor, REQUIRED), .high = 9},
    {.key = "model", .kind = &kind_numbers},
};

static const struct document card_document = {
    .schema = "cbank-card",
    .what = "card",
    .remedy = "results/cards/ has examples",
    .major = 1,
    .root = {.fields = FIELDS(rows), .given = SIZE_MAX},
};

enum status card_check(const char *name, const cJSON *json, struct card *out)
{
    *out = (struct card){0};
    return document_take(&card_document, name, json, out);
}

enum status card_read_json(const char *path, struct card *out, cJSON **json)
{
    const struct card_text *text = path ? NULL : &card_texts[0];
    const char *name;
    struct card card;
    cJSON *tree = NULL;
    enum status status;

    for (size_t i = 0; path && i < card_text_count; i++)
        if (strcasecmp(card_texts[i].name, path) == 0)
            text = &card_texts[i];
    name = text ? text->file : path;
    status = json_parse(name, text ? text->start : NULL,
                        text ? (size_t)(text->end - text->start) : 0, &tree);
    if (status != STATUS_OK)
        return status;
    status = card_check(name, tree, &card);
    if (status != STATUS_OK) {
        json_free(tree);
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

    json_free(json);
    return status;
}

/* -- what a card knows ------------------------------------------------------------------------- */

void card_keys_text(uint32_t keys, char out[CARD_TEXT_BYTES])
{
    out[0] = '\0';
    for (size_t i = 0; i < CARD_NUMBERS; i++)
        if (keys >> i & 1)
            text_join(out, CARD_TEXT_BYTES, ", ", "%s", card_rows[i].key);
}

uint32_t card_unknown(const struct card *card)
{
    uint32_t keys = 0;

    for (size_t i = 0; i < CARD_NUMBERS; i++)
        keys |= (uint32_t)isnan(card->number[i].value) << i;
    return keys;
}

bool card_is_of(const struct card *card, const struct device_info *device)
{
    return device->cc_major == card->cc_major && device->cc_minor == card->cc_minor &&
           device->sm_count == card->number[CARD_sm_count].value &&
           (!device->chip[0] || !card->chip[0] || strcmp(device->chip, card->chip) == 0);
}

enum status card_read_of(const char *path, const struct device_info *device, const char *owner,
                         struct card *out)
{
    const size_t cards = path ? 1 : card_text_count;
    bool found = false;

    for (size_t i = 0; i < cards; i++) {
        struct card card;
        const enum status status = card_read(path ? path : card_texts[i].name, &card);

        if (status != STATUS_OK)
            return status;
        if (card_is_of(&card, device) && (!found || strstr(device->name, card.name))) {
            *out = card;
            found = true;
        }
    }
    return found ? STATUS_OK
                 : log_error(STATUS_ENVIRONMENT,
                             "%s has %s (compute capability %" PRIu32 ".%" PRIu32 ", %" PRIu32
                             " SMs), and no card is of that chip; name one with --card, which "
                             "cbank characterize "
                             "--new-card makes",
                             owner, device->name, device->cc_major, device->cc_minor,
                             device->sm_count);
}

/* -- blocks ------------------------------------------------------------------------------------ */

/* A register file of 64 K words in four parts. Warps get registers in steps of 256. */
enum { SM_REGISTERS = 65536, SM_PARTS = 4, WARP_REGISTERS_STEP = 256 };

/* Registers of a thread in addition to those that hold its table: 34 to 40 in all with 16 words on
 * sm_90. */
enum { REGISTERS_BESIDE = 20 };

uint32_t card_blocks_room(const struct card *card, const struct cell *cell, uint32_t registers)
{
    const uint32_t shared =
        cell_shared_bytes(cell) + workload_tile_bytes(cell->workload, cell->parameters);
    const double reserved = card->number[CARD_shared_bytes_reserved].value;
    const double warps = ceil(cell->block_size / (double)CBANK_WARP_THREADS);
    double blocks = fmin(floor(card->number[CARD_warps_per_sm].value / warps),
                         card->number[CARD_blocks_per_sm].value);

    if (!registers && cell->path->unit == UNIT_SELECT)
        registers = REGISTERS_BESIDE + path_held(cell->path);
    if (registers) {
        const double step = ceil(registers * (double)CBANK_WARP_THREADS / WARP_REGISTERS_STEP) *
                            WARP_REGISTERS_STEP;

        blocks = fmin(blocks, floor(SM_PARTS * floor(SM_REGISTERS / SM_PARTS / step) / warps));
    }
    if (shared)
        blocks =
            fmin(blocks, floor(card->number[CARD_shared_bytes_per_sm].value / (shared + reserved)));
    return blocks < 1 ? 1 : (uint32_t)blocks;
}

uint32_t card_blocks_resident(const struct card *card, const struct cell *cell, uint32_t registers)
{
    const uint32_t room = card_blocks_room(card, cell, registers),
                   wanted = requested_blocks_per_sm(cell);

    return wanted && wanted < room ? wanted : room;
}

void card_set_grid(const struct card *card, struct cell *cell)
{
    cell_set_grid(cell, (uint64_t)card->number[CARD_sm_count].value *
                            card_blocks_resident(card, cell, 0));
}
