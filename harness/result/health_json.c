/* SPDX-License-Identifier: MIT */
#include "health_json.h"

static const char *const keys[HEALTH_QUANTITIES] = {
#define HEALTH(key, kind, grave, words, remedy) #key,
#include "health.def"
};

static const struct keyed_texts unread = {keys, NULL, HEALTH_QUANTITIES};

#define kind_count field_number
#define kind_state field_state

/* Counts up to 2^53, which a double holds. */
static const struct field reading_fields[] = {
#define HEALTH(key, kind, grave, words, remedy) \
    {FIELD(kind_##kind, struct health_reading, #key, values[HEALTH_##key], NULLABLE), .high = 9007199254740992},
#include "health.def"
};
static const struct object reading = {.fields = FIELDS(reading_fields), .given = SIZE_MAX};

static const struct field xid_fields[] = {
    {FIELD(field_uint32, struct xid, "number", number, REQUIRED)},
};
static const struct objects xid_list = {
    .fields = FIELDS(xid_fields),
    .element_bytes = sizeof(struct xid),
    .count = offsetof(struct health, xid_count),
    .max = HEALTH_XIDS_MAX,
    .line = true,
};

static const struct names quantities = NAMES(keys, HEALTH_QUANTITIES, "an array of keys of health.before");

const struct field health_fields[HEALTH_FIELDS] = {
    {FIELD(field_object, struct health, "before", before, REQUIRED), .of = &reading},
    {FIELD(field_object, struct health, "after", after, REQUIRED), .of = &reading},
    {FIELD(field_bits, struct health, "grew", grew, REQUIRED), .of = &quantities},
    {FIELD(field_array, struct health, "xids", xids, REQUIRED), .of = &xid_list},
    {FIELD(field_texts, struct health, "reasons", reasons, REQUIRED), .of = &unread},
};

const struct field temperature_fields[TEMPERATURE_FIELDS] = {
    {FIELD(field_number, struct temperature, "before_celsius", before_celsius, REQUIRED)},
    {FIELD(field_number, struct temperature, "after_celsius", after_celsius, REQUIRED)},
};
