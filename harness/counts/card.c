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
#include <unistd.h>

#include "device.h"
#include "document.h"
#include "log.h"
#include "schema.h"
#include "text.h"

/* Of card_texts.S. */
extern const char cbank_card_h200[], cbank_card_h100[], cbank_card_rtx3070[], cbank_card_a100[],
    cbank_card_t4[], cbank_card_rtx2080ti[], cbank_card_v100[], cbank_card_p6000[],
    cbank_card_gtx980[], cbank_card_k40[], cbank_card_gtx480[], cbank_card_gtx280[];

const struct card_text card_texts[] = {
    {"h200", "results/cards/h200.json", cbank_card_h200},
    {"h100", "results/cards/h100.json", cbank_card_h100},
    {"rtx3070", "results/cards/rtx3070.json", cbank_card_rtx3070},
    {"a100", "results/cards/a100.json", cbank_card_a100},
    {"t4", "results/cards/t4.json", cbank_card_t4},
    {"rtx2080ti", "results/cards/rtx2080ti.json", cbank_card_rtx2080ti},
    {"v100", "results/cards/v100.json", cbank_card_v100},
    {"p6000", "results/cards/p6000.json", cbank_card_p6000},
    {"gtx980", "results/cards/gtx980.json", cbank_card_gtx980},
    {"k40", "results/cards/k40.json", cbank_card_k40},
    {"gtx480", "results/cards/gtx480.json", cbank_card_gtx480},
    {"gtx280", "results/cards/gtx280.json", cbank_card_gtx280},
};

const size_t card_text_count = sizeof(card_texts) / sizeof(card_texts[0]);

/* Whether every card has a number, and whether less or more of it is a faster chip. */
enum { OPTIONAL = false, NEEDED = true, LESS = false, MORE = true };

const struct card_row card_rows[CARD_NUMBERS] = {
    [CARD_SM_COUNT] = {"sm_count", "SMs", NEEDED, MORE, 1, 4096, "SMs", .whole = true},
    [CARD_WARPS_PER_SM] = {"warps_per_sm", "warps", NEEDED, MORE, 32, 1024,
                           "warps that an SM holds at a time", .whole = true},
    [CARD_BLOCKS_PER_SM] = {"blocks_per_sm", "blocks", NEEDED, MORE, 1, 1024,
                            "blocks that an SM holds at a time", .whole = true},
    [CARD_SHARED_BYTES_PER_SM] = {"shared_bytes_per_sm", "bytes", NEEDED, MORE, 1024, 1 << 24,
                                  "shared memory of an SM, which L1 has where blocks leave it",
                                  .whole = true},
    [CARD_SHARED_BYTES_RESERVED] = {"shared_bytes_reserved", "bytes", NEEDED, LESS, 0, 1 << 24,
                                    "shared memory that the system takes for each block",
                                    .whole = true},
    [CARD_SM_CLOCK_MHZ] = {"sm_clock_mhz", "MHz", OPTIONAL, MORE, 1, 1e5, "clock of the SMs",
                           .whole = false},
    [CARD_L2_BYTES] = {"l2_bytes", "bytes", OPTIONAL, MORE, 1, 1e12, "size of L2", .whole = true},
    [CARD_L2_BYTES_PER_NS] = {"l2_bytes_per_ns", "bytes/ns", OPTIONAL, MORE, 1e-3, 1e6,
                              "bandwidth of L2, reads and writes together", .whole = false},
    [CARD_DRAM_BYTES_PER_NS] = {"dram_bytes_per_ns", "bytes/ns", OPTIONAL, MORE, 1e-3, 1e6,
                                "bandwidth of device memory, reads and writes together",
                                .whole = false},
    [CARD_LAUNCH_NS] = {"launch_ns", "ns", OPTIONAL, LESS, 0, 1e7,
                        "one more launch of an empty kernel in a chain of them", .whole = false},
    [CARD_BLOCK_START_NS] =
        {"block_start_ns", "ns", OPTIONAL, LESS, 0, 1e6,
         "from the start of a block to the start of the next, on the whole chip", .whole = false},
    [CARD_BLOCK_L2_NS] = {"block_l2_ns", "ns", OPTIONAL, LESS, 0, 1e6,
                          "life of a block that reads one element a thread from L2 and writes one, "
                          "without its instructions",
                          .whole = false},
    [CARD_BLOCK_DRAM_NS] = {"block_dram_ns", "ns", OPTIONAL, LESS, 0, 1e6,
                            "the same where input and output are in device memory", .whole = false},
    [CARD_ISSUE_PER_CYCLE] = {"issue_per_cycle", "warp instructions/cycle", OPTIONAL, MORE, 1e-3,
                              64, "warp instructions that an SM issues", .whole = false},
    [CARD_ALU_LATENCY_CYCLES] = {"alu_latency_cycles", "cycles", OPTIONAL, LESS, 0, 1e3,
                                 "from an arithmetic instruction to one that needs its result",
                                 .whole = false},
    [CARD_L1_REQUESTS_PER_CYCLE] = {"l1_requests_per_cycle", "warp loads/cycle", OPTIONAL, MORE,
                                    1e-3, 64, "loads from global memory that an SM takes",
                                    .whole = false},
    [CARD_L1_LATENCY_CYCLES] = {"l1_latency_cycles", "cycles", OPTIONAL, LESS, 0, 1e4,
                                "latency of a load that L1 or shared memory answers",
                                .whole = false},
    [CARD_TEXTURE_REQUESTS_PER_CYCLE] = {"texture_requests_per_cycle", "warp loads/cycle", OPTIONAL,
                                         MORE, 1e-3, 64, "texture loads that an SM takes",
                                         .whole = false},
    [CARD_SHARED_WAVEFRONTS_PER_CYCLE] =
        {"shared_wavefronts_per_cycle", "wavefronts/cycle", OPTIONAL, MORE, 1e-3, 64,
         "wavefronts of an SM's shared memory and L1, which are one memory", .whole = false},
    [CARD_CONSTANT_L1_BYTES] = {"constant_l1_bytes", "bytes", OPTIONAL, MORE, 64, 1 << 24,
                                "capacity of the L1 constant cache of an SM", .whole = true},
    [CARD_CONSTANT_LOADS_PER_CYCLE] = {"constant_loads_per_cycle", "warp loads/cycle", OPTIONAL,
                                       MORE, 1e-3, 64,
                                       "loads from constant memory that an SM takes",
                                       .whole = false},
    [CARD_CONSTANT_ADDRESS_CYCLES] =
        {"constant_address_cycles", "cycles", OPTIONAL, LESS, 0, 1e4,
         "that the L1 constant cache takes for each distinct address of a warp's load",
         .whole = false},
    [CARD_CONSTANT_FILL_CYCLES] =
        {"constant_fill_cycles", "cycles", OPTIONAL, LESS, 0, 1e4,
         "that an SM waits for each line of the L1 constant cache, while all SMs fill lines",
         .whole = false},
    [CARD_L2_LATENCY_CYCLES] = {"l2_latency_cycles", "cycles", OPTIONAL, LESS, 0, 1e5,
                                "latency of a load that L2 answers", .whole = false},
    [CARD_L2_LINE_NS] = {"l2_line_ns", "ns", OPTIONAL, LESS, 0, 1e4,
                         "from one warp's load of a line to the next load of that line, at L2",
                         .whole = false},
    [CARD_L1_LIMIT_REQUESTS_PER_CYCLE] =
        {"l1_limit_requests_per_cycle", "warp loads/cycle", OPTIONAL, MORE, 1e-3, 64,
         "loads of 4 bytes a thread that an SM's L1 answers at most, in a stream", .limit = true},
    [CARD_L2_LIMIT_BYTES_PER_NS] = {"l2_limit_bytes_per_ns", "bytes/ns", OPTIONAL, MORE, 1e-3, 1e6,
                                    "bytes that L2 gives at most, in a stream", .limit = true},
    [CARD_DRAM_LIMIT_BYTES_PER_NS] = {"dram_limit_bytes_per_ns", "bytes/ns", OPTIONAL, MORE, 1e-3,
                                      1e6,
                                      "bytes that device memory gives or takes at most, in streams",
                                      .limit = true},
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
        if (!node_failed(node) && row->whole && number->value != floor(number->value))
            node_refuse(&inner, "value", "an integer");
    }
}

#define ENTRY(kind, key, member, presence) FIELD(kind, struct card_entry, key, member, presence)
#define LIST_OF_TEXTS                      "\"items\": {\"type\": \"string\"}"

static const char *const origin_names[] = {
    [ORIGIN_DEVICE] = "device",
    [ORIGIN_CHARACTERIZED] = "characterized",
    [ORIGIN_RESULTS] = "results",
    [ORIGIN_PUBLISHED] = "published",
};
static const struct names origins = NAMES(origin_names, CARD_ORIGINS, NULL);

static const struct field entry_rows[] = {
    {ENTRY(field_number, "value", number.value, REQUIRED), .rules = AT_LEAST(0)},
    {ENTRY(field_number, "low", number.low, REQUIRED), .about = "least that it can be",
     .rules = AT_LEAST(0)},
    {ENTRY(field_number, "high", number.high, REQUIRED), .rules = AT_LEAST(0)},
    {ENTRY(field_name, "from", origin, REQUIRED), .names = &origins},
    {ENTRY(field_reference, "experiment", experiment, OMITTED), .about = "of cbank characterize"},
    {ENTRY(field_reference, "number", name, OMITTED), .about = "of that experiment"},
    {ENTRY(field_reference, "method", method, NULLABLE),
     .about = "how it was measured, or who published it"},
    {ENTRY(field_words, "evidence", evidence, OMITTED),
     .about = "keys of evidence, or files of results"},
};
const struct fields card_entry_fields = FIELDS(entry_rows);

/* The numbers of a card, by the keys of card_rows. Every card has those that are required. */
static void schema_numbers_of_card(struct schema_object *object, const struct field *field)
{
    cJSON *property = schema_property(object, field, "object");
    cJSON *number = json_add(property, "additionalProperties", cJSON_CreateObject());
    cJSON *required = cJSON_CreateArray(), *type;

    for (size_t i = 0; i < CARD_NUMBERS; i++)
        if (card_rows[i].required)
            json_append(required, cJSON_CreateString(card_rows[i].key));
    json_add(property, "required", json_line(required));
    schema_limit(property, "maxProperties", CARD_NUMBERS);
    type = json_add(number, "type", cJSON_CreateArray());
    json_append(type, cJSON_CreateString("object"));
    json_append(type, cJSON_CreateString("null"));
    schema_fill(number, &card_entry_fields);
}

static const struct field_kind kind_numbers = {.read = read_numbers,
                                               .schema = schema_numbers_of_card};

/* -- what the program does not read ------------------------------------------------------------ */

static const struct field_kind unread_files = {.schema = schema_map},
                               unread_list = {.schema = schema_list};

static const struct field file_rows[] = {
    {FIELD(field_reference, struct card_file, "file", file, REQUIRED)},
    {FIELD(field_reference, struct card_file, "sha256", sha256, REQUIRED), .rules = PATTERN_HASH},
};
const struct fields card_file_fields = FIELDS(file_rows);
static const struct objects file_map = {.fields = FIELDS(file_rows)};

static const struct field published_rows[] = {
    {.key = "experiment", .kind = &field_reference},
    {.key = "path", .kind = &field_reference},
    {.key = "name", .kind = &field_reference},
    {.key = "level",
     .kind = &field_uint32,
     .presence = OMITTED,
     .rules = "\"type\": \"integer\", " AT_LEAST(1)},
    {.key = "value", .kind = &field_number, .presence = NULLABLE},
    {.key = "low", .kind = &field_number, .presence = NULLABLE},
    {.key = "high", .kind = &field_number, .presence = NULLABLE},
    {.key = "unit", .kind = &field_reference, .presence = OMITTED},
    {.key = "method", .kind = &field_reference, .presence = LATER},
    {.key = "reason", .kind = &field_reference, .presence = LATER},
};
static const struct objects published_list = {.fields = FIELDS(published_rows)};

/* -- the document ------------------------------------------------------------------------------ */

static const struct field rows[] = {
    {FIELD(field_text, struct card, "name", name, REQUIRED), .low = 1,
     .about = "of the product: H200", .rules = "\"maxLength\": 63"},
    {FIELD(field_text, struct card, "chip", chip, NULLABLE), .about = "CUPTI's name: GH100",
     .rules = "\"minLength\": 1, \"maxLength\": 63"},
    {FIELD(field_uint32, struct card, "cc_major", cc_major, REQUIRED), .low = 1, .high = 99,
     .about = "compute capability"},
    {FIELD(field_uint32, struct card, "cc_minor", cc_minor, REQUIRED), .high = 9},
    {.key = "model",
     .kind = &kind_numbers,
     .about = "numbers of the simple model; null or absent: not known",
     .rules = "\"propertyNames\": {" PATTERN("^[a-z0-9_]+$") "}"},
    {.key = "evidence",
     .kind = &unread_files,
     .elements = &file_map,
     .about = "files by the first 12 digits of their SHA-256"},
    {.key = "numbers",
     .kind = &unread_list,
     .presence = OMITTED,
     .elements = &published_list,
     .about = "published numbers that the model does not use"},
};

const struct document card_document = {
    .schema = "cbank-card",
    .what = "card",
    .remedy = "results/cards/ has examples",
    .about =
        "What the simple model knows of a chip, each number with its interval and where it comes "
        "from, and numbers that others published. Keys of the model end in their unit. cbank "
        "list cards names the cards in the program.",
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
    if (!text && !strchr(path, '/') && access(path, F_OK) != 0)
        return log_error(STATUS_USAGE,
                         "no card and no file is named %s; cbank list cards has the names", path);
    name = text ? text->file : path;
    status = json_parse(name, text ? text->json : NULL, text ? strlen(text->json) : 0, &tree);
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

uint32_t card_unknown_of_model(const struct card *card)
{
    uint32_t unknown = card_unknown(card);

    for (size_t i = 0; i < CARD_NUMBERS; i++)
        if (card_rows[i].limit)
            unknown &= ~(1u << i);
    return unknown;
}

uint32_t card_architecture(const struct card *card)
{
    return 10 * card->cc_major + card->cc_minor;
}

struct optional card_integer(const struct card *card, enum card_key key)
{
    const double value = card->number[key].value;

    return isnan(value) ? (struct optional){0} : optional_of((uint64_t)value);
}

bool card_is_of(const struct card *card, const struct device_info *device)
{
    return device->cc_major == card->cc_major && device->cc_minor == card->cc_minor &&
           device->sm_count == card_integer(card, CARD_SM_COUNT).value &&
           (!device->chip[0] || !card->chip[0] || strcmp(device->chip, card->chip) == 0);
}

void card_of_device(const struct device_info *device, struct card *out)
{
    const struct {
        enum card_key key;
        double value;
    } known[] = {
        {CARD_SM_COUNT, device->sm_count},
        {CARD_WARPS_PER_SM, device->warps_per_sm},
        {CARD_BLOCKS_PER_SM, device->blocks_per_sm},
        {CARD_SHARED_BYTES_PER_SM, device->shared_bytes_per_sm},
        {CARD_SHARED_BYTES_RESERVED, (double)device->shared_bytes_reserved.value},
        {CARD_SM_CLOCK_MHZ, device->sm_clock_max_mhz},
        {CARD_L2_BYTES, (double)device->l2_bytes},
    };

    *out = (struct card){.cc_major = device->cc_major, .cc_minor = device->cc_minor};
    snprintf(out->name, sizeof(out->name), "%.63s", device->name);
    snprintf(out->chip, sizeof(out->chip), "%.63s", device->chip);
    for (size_t key = 0; key < CARD_NUMBERS; key++)
        out->number[key] = (struct card_number){NAN, NAN, NAN};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        out->number[known[i].key] =
            (struct card_number){known[i].value, known[i].value, known[i].value};
}

/* The card of a device's chip: the file, or the built-in one, by the device's name where there are
 * several. */
static enum status find_card(const char *path, const struct device_info *device, struct card *out,
                             bool *found)
{
    const size_t cards = path ? 1 : card_text_count;

    *found = false;
    for (size_t i = 0; i < cards; i++) {
        struct card card;
        const enum status status = card_read(path ? path : card_texts[i].name, &card);

        if (status != STATUS_OK)
            return status;
        if (card_is_of(&card, device) && (!*found || strstr(device->name, card.name))) {
            *out = card;
            *found = true;
        }
    }
    return STATUS_OK;
}

bool card_known(const struct device_info *device)
{
    struct card card;
    bool found;

    return find_card(NULL, device, &card, &found) == STATUS_OK && found;
}

enum status card_read_of(const char *path, const struct device_info *device, const char *owner,
                         struct card *out)
{
    bool found;
    const enum status status = find_card(path, device, out, &found);

    if (status != STATUS_OK)
        return status;
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

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint32_t card_blocks_room(const struct card *card, const struct cell *cell, uint32_t registers)
{
    const uint64_t shared =
        cell_shared_bytes(cell) + workload_tile_bytes(cell->workload, cell->parameters);
    const uint64_t warps = (cell->block_size + CBANK_WARP_THREADS - 1) / CBANK_WARP_THREADS;
    uint64_t blocks = lesser(card_integer(card, CARD_WARPS_PER_SM).value / warps,
                             card_integer(card, CARD_BLOCKS_PER_SM).value);

    if (!registers && cell->path->unit == UNIT_SELECT)
        registers = REGISTERS_BESIDE + path_held(cell->path);
    if (registers) {
        const uint64_t steps =
            ((uint64_t)registers * CBANK_WARP_THREADS + WARP_REGISTERS_STEP - 1) /
            WARP_REGISTERS_STEP;
        const uint64_t warps_of_part = SM_REGISTERS / SM_PARTS / (steps * WARP_REGISTERS_STEP);

        blocks = lesser(blocks, SM_PARTS * warps_of_part / warps);
    }
    if (shared)
        blocks =
            lesser(blocks, card_integer(card, CARD_SHARED_BYTES_PER_SM).value /
                               (shared + card_integer(card, CARD_SHARED_BYTES_RESERVED).value));
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
    cell_set_grid(cell,
                  card_integer(card, CARD_SM_COUNT).value * card_blocks_resident(card, cell, 0));
}
