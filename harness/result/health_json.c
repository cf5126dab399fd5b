/* SPDX-License-Identifier: MIT */
#include "health_json.h"

#include <math.h>

static const char *const keys[HEALTH_QUANTITIES] = {
#define HEALTH(key, kind, grave, words, remedy) #key,
#include "health.def"
};

/* Whether something is so: true, false, or null where that is not known. */
static void write_state(cJSON *object, const struct field *field, const void *base)
{
    const double state = *(const double *)((const char *)base + field->offset);

    json_add(object, field->key, isnan(state) ? cJSON_CreateNull() : cJSON_CreateBool(state > 0));
}

static void read_state(const struct node *node, const struct field *field, void *base)
{
    double *out = (double *)((char *)base + field->offset);
    const cJSON *item = node_get(node, field->key);
    bool state = false;

    if (item && !cJSON_IsNull(item) && !json_get_bool(node->json, field->key, &state))
        node_refuse(node, field->key, "true, false or null");
    *out = item && !cJSON_IsNull(item) ? (double)state : NAN;
}

static const struct field_kind kind_state = {write_state, read_state};

static void write_texts(cJSON *object, const struct field *field, const void *base)
{
    const struct texts *of = field->of;
    const char *const *texts = of->texts ? of->texts : (const char *const *)((const char *)base + field->offset);
    cJSON *made = json_add(object, field->key, cJSON_CreateObject());

    for (size_t i = 0; i < of->count; i++)
        if (texts[i])
            json_add_text(made, of->keys[i], texts[i]);
}

static void read_texts(const struct node *node, const struct field *field, void *base)
{
    const struct texts *of = field->of;

    if (of->texts || !node_get(node, field->key))
        return;

    const struct node made = node_object(node, field->key);

    for (size_t i = 0; i < of->count; i++)
        ((const char **)((char *)base + field->offset))[i] = node_text(&made, of->keys[i], false);
}

const struct field_kind kind_texts = {write_texts, read_texts};

static const struct texts unread = {keys, NULL, HEALTH_QUANTITIES};

#define kind_count field_number

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
    {FIELD(kind_texts, struct health, "reasons", reasons, REQUIRED), .of = &unread},
};

const struct field temperature_fields[TEMPERATURE_FIELDS] = {
    {FIELD(field_number, struct temperature, "before_celsius", before_celsius, REQUIRED)},
    {FIELD(field_number, struct temperature, "after_celsius", after_celsius, REQUIRED)},
};
