/* SPDX-License-Identifier: MIT */
#include "health.h"

#include <math.h>
#include <stdio.h>

#include "text.h"

static const char *const keys[HEALTH_QUANTITIES] = {
#define HEALTH(key, kind, grave, words, remedy) #key,
#include "health.def"
};

/* -- as fields ----------------------------------------------------------------------------------------- */

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

static void write_reasons(cJSON *object, const struct field *field, const void *base)
{
    const struct health *health = base;
    cJSON *reasons = json_add(object, field->key, cJSON_CreateObject());

    for (size_t i = 0; i < HEALTH_QUANTITIES; i++)
        if (health->reasons[i])
            json_add_text(reasons, keys[i], health->reasons[i]);
}

static void read_reasons(const struct node *node, const struct field *field, void *base)
{
    struct health *health = base;

    if (!node_get(node, field->key))
        return;

    const struct node reasons = node_object(node, field->key);

    for (size_t i = 0; i < HEALTH_QUANTITIES; i++)
        health->reasons[i] = node_text(&reasons, keys[i], false);
}

static const struct field_kind kind_reasons = {write_reasons, read_reasons};

/* Counts up to 2^53, which a double holds. */
static const struct field reading_fields[] = {
#define HEALTH(key, kind, grave, words, remedy) \
    {FIELD(kind, struct health_reading, #key, values[HEALTH_##key], NULLABLE), .high = 9007199254740992},
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
    {.key = "reasons", .kind = &kind_reasons},
};

/* -- what it says -------------------------------------------------------------------------------------- */

const struct health_row health_rows[HEALTH_QUANTITIES] = {
#define HEALTH(key, kind, grave, words, remedy) {&(kind) == &kind_state, grave, words, remedy},
#include "health.def"
};

uint32_t health_settle(struct health *health)
{
    uint32_t grew = 0;

    for (size_t i = 0; i < HEALTH_QUANTITIES; i++)
        if (health->after.values[i] > health->before.values[i])
            grew |= 1u << i;
    health->grew |= grew;
    return grew;
}

enum status health_verdict(const struct health *health)
{
    for (size_t i = 0; i < HEALTH_QUANTITIES; i++)
        if (health->grew >> i & 1 && health_rows[i].grave)
            return STATUS_FINDING;
    return STATUS_OK;
}

const char *health_text(const struct health *health, char *out, size_t bytes)
{
    out[0] = '\0';
    for (size_t i = 0; i < HEALTH_QUANTITIES; i++) {
        const double more = health->after.values[i] - health->before.values[i];

        if (!(health->grew >> i & 1))
            continue;
        if (health_rows[i].state || !(more > 0)) /* it grew before the run was resumed */
            text_join(out, bytes, ", ", "%s", health_rows[i].words);
        else
            text_join(out, bytes, ", ", "%.15g more %s", more, health_rows[i].words);
    }
    for (size_t i = 0; i < health->xid_count; i++)
        text_join(out, bytes, ", ", "Xid %u", (unsigned)health->xids[i].number);
    return out;
}

const char *health_reading_text(const struct health_reading *reading, char *out, size_t bytes)
{
    bool known = false;

    out[0] = '\0';
    for (size_t i = 0; i < HEALTH_QUANTITIES; i++) {
        known = known || !isnan(reading->values[i]);
        if (reading->values[i] > 0 && health_rows[i].state)
            text_join(out, bytes, ", ", "%s", health_rows[i].words);
        else if (reading->values[i] > 0)
            text_join(out, bytes, ", ", "%.15g %s", reading->values[i], health_rows[i].words);
    }
    if (!out[0])
        text_join(out, bytes, "", known ? "none" : "not known");
    return out;
}

const struct field temperature_fields[TEMPERATURE_FIELDS] = {
    {FIELD(field_number, struct temperature, "before_celsius", before_celsius, REQUIRED)},
    {FIELD(field_number, struct temperature, "after_celsius", after_celsius, REQUIRED)},
};
