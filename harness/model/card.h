/* SPDX-License-Identifier: MIT
 * Chip cards: the parameters of one chip, from which the model engine predicts. JSON, schema
 * results/card.schema.json, keys as the fields below; the default card is built into the program. */
#ifndef CBANK_CARD_H
#define CBANK_CARD_H

#include "cache.h"
#include "json.h"

enum { CARD_NAME_BYTES = 64, CARD_LEVELS_MAX = 4 };

/* One level of the constant path. Everything in bytes and SM cycles; 0, or NaN of cycles, where the card does not know. What model.c makes of the costs: a
 * level is busy for requests x request_cycles + misses x miss_cycles, and a block whose load misses waits
 * miss_latency_cycles. */
struct card_level {
    char name[CARD_NAME_BYTES]; /* "idc", "gcc" */
    uint32_t capacity_bytes; /* a whole number of sets of ways x line_bytes */
    uint32_t line_bytes; /* a power of two */
    uint32_t ways; /* ways x line_bytes == capacity_bytes means fully associative */
    uint32_t sms; /* SMs that share one instance, at most: 1 for the first level */
    enum cache_replacement replacement; /* CACHE_LRU where the card says nothing */
    bool kept_between_launches; /* false: every launch finds it without the lines of the table */
    bool kept_unknown; /* null, as nobody says */
    double request_cycles; /* occupancy per request: on the first level one per distinct address */
    double miss_cycles; /* what a miss adds to that */
    double miss_latency_cycles; /* what a block that misses waits longer */
    double latency_cycles; /* from a load that it answers to its value, of a warp alone; for people alone */
};

/* The keys of card.def, and the levels. */
struct card {
#define CARD_TEXT(member, presence)                    char member[CARD_NAME_BYTES];
#define CARD_COUNT(member, presence, lowest, highest)  uint32_t member;
#define CARD_LINES(member, presence, lowest, highest)  uint32_t member;
#define CARD_BYTES(member, presence, lowest, highest)  uint64_t member;
#define CARD_NUMBER(member, presence, lowest, highest) double member;
#include "card.def"
    size_t level_count;
    struct card_level levels[CARD_LEVELS_MAX]; /* nearest the SM first */
};

/* Of CARD_LINES that are null. */
#define CARD_UNKNOWN UINT32_MAX

/* A card in the program. */
struct card_text {
    const char *name; /* "h200" */
    const char *file; /* where it lies in the repository */
    const char *start, *end; /* its JSON */
};

extern const struct card_text card_texts[]; /* the first is the default */
extern const size_t card_text_count;

/* Reads and checks a card: one in the program by its name, else a file; NULL gives the default card. STATUS_USAGE with the
 * key that is wrong, *out is then unchanged. Where the numbers come from (origins, numbers) is not looked at. */
enum status card_read(const char *path, struct card *out);

/* As card_read, and gives the file as it is: *json is then the caller's, to cJSON_Delete. */
enum status card_read_json(const char *path, struct card *out, cJSON **json);

/* As card_read, for text in memory; `name` is what messages call it. */
enum status card_parse(const char *name, const char *text, size_t bytes, struct card *out);

/* Checks a card in memory; `name` is what messages call it. STATUS_USAGE with the key that is wrong. */
enum status card_check(const char *name, const cJSON *json);

/* The keys of a card, and of one of its levels, in the order of the schema; NULL from the last one on. Not among them:
 * schema, levels, and what says where the numbers come from. */
const char *card_key(size_t index);
const char *card_level_key(size_t index);

enum { CARD_LACKS_BYTES = 160 };

/* Whether the card lacks what times are predicted from; out then says what, "nothing of launch_ns, ... and 20 more". */
bool card_lacks(const struct card *card, char out[CARD_LACKS_BYTES]);

/* The levels' index of that name; card->level_count when there is none. */
uint32_t card_level_index(const struct card *card, const char *name);

#endif
