/* SPDX-License-Identifier: MIT */
#include "card_make.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "card_parts.h"
#include "files.h"
#include "log.h"
#include "sha256.h"

enum { ID_HEX_DIGITS = 12, PATH_KEY_BYTES = 160 };

struct making {
    const struct card_request *request;
    /* Owned: the base card; what the driver says, by keys of a card; what is made; origins, until they are in that. */
    cJSON *base, *device, *card, *origins;
    bool same_chip; /* the base card is of this one */
    bool lacks; /* a key is null, as on the base card */
    char id[ID_HEX_DIGITS + 1]; /* of the file; "" without one */
    char sha256[SHA256_HEX_BYTES];
    struct card_tally tally;
};

/* -- the device ---------------------------------------------------------------------------------------- */

#define DEVICE(kind, key, member, presence) FIELD(kind, struct device_info, key, member, presence)

/* What the driver says of the device, by keys of a card. */
static const struct field device_rows[] = {
    {DEVICE(field_text, "name", name, REQUIRED)},
    {DEVICE(field_text, "chip", chip, OMITTED)},
    {DEVICE(field_uint32, "cc_major", cc_major, REQUIRED)},
    {DEVICE(field_uint32, "cc_minor", cc_minor, REQUIRED)},
    {DEVICE(field_uint32, "sm_count", sm_count, REQUIRED)},
    {DEVICE(field_uint32, "warps_per_sm", warps_per_sm, OMITTED)},
    {DEVICE(field_uint32, "blocks_per_sm", blocks_per_sm, OMITTED)},
    {DEVICE(field_uint32, "shared_bytes_per_sm", shared_bytes_per_sm, OMITTED)},
    {DEVICE(field_uint32, "shared_bytes_reserved", shared_bytes_reserved, OMITTED)},
    {DEVICE(field_number, "sm_clock_mhz", sm_clock_max_mhz, OMITTED)},
    {DEVICE(field_uint64, "l2_bytes", l2_bytes, OMITTED)},
};

/* What the driver says of a device, without the vendor in its name: that is known. */
static struct device_info product(const struct device_info *device)
{
    static const char vendor[] = "NVIDIA ";
    const bool known = strncmp(device->name, vendor, strlen(vendor)) == 0;
    struct device_info out = *device;

    snprintf(out.name, sizeof(out.name), "%s", device->name + (known ? strlen(vendor) : 0));
    return out;
}

/* -- origins ------------------------------------------------------------------------------------------- */

static cJSON *add_origin(struct making *making, const char *path, const char *from)
{
    cJSON *origin = json_add(making->origins, path, cJSON_CreateObject());

    json_add_text(origin, "from", from);
    return origin;
}

/* Of a value that stays the base card's; `reason`: why, or "". */
static void keep_origin(struct making *making, const char *path, const char *reason)
{
    const cJSON *there = json_get(json_get(making->base, "origins"), path);
    const char *from = NULL, *name = "";
    cJSON *origin;

    json_get_text(there, "from", &from);
    json_get_text(making->base, "name", &name);
    if (making->same_chip && from) {
        origin = json_add(making->origins, path, cJSON_Duplicate(there, true));
        if (reason[0])
            cJSON_DeleteItemFromObjectCaseSensitive(origin, "reason");
    } else {
        origin = add_origin(making, path, "assumed");
        json_add_text(origin, "card", name);
        if (from)
            json_add_text(origin, "there", from);
    }
    if (reason[0])
        json_add_text(origin, "reason", reason);
    making->tally.base++;
}

static void found_origin(struct making *making, const char *path, const struct card_found *found)
{
    const struct card_row *row = found->row;
    cJSON *origin = add_origin(making, path, "characterized");

    json_add_text(origin, "experiment", row->experiment);
    json_add_text(origin, "number", row->number);
    json_add_nonzero(origin, "level", row->of_level);
    json_add_nonzero(origin, "stride_bytes", row->stride);
    json_add_nonzero(origin, "warps", found->number.warps);
    if (row->before)
        json_add_text(origin, "before", row->before);
    if (row->inverse)
        json_add(origin, "inverse", cJSON_CreateTrue());
    json_add_text(origin, "method", found->number.method);
    if (!found->text) {
        json_add_double(origin, "low", card_rounded(found->number.low));
        json_add_double(origin, "high", card_rounded(found->number.high));
    }
    json_add_integer(origin, "samples", found->number.samples);
    card_add_evidence(origin, making->id);
    making->tally.characterized++;
}

/* -- keys ---------------------------------------------------------------------------------------------- */

/* A level of the base card, or all of it, and what is made of it. */
struct part {
    const char *level; /* its name; "": the card itself */
    const cJSON *base;
    cJSON *to;
    bool no_cache; /* size, line and ways make none: the base card's stand */
};

/* Adds a key with its origin: what an experiment found, else what the driver says, else what the base card has. */
static void add_key(struct making *making, const struct part *part, const char *key)
{
    const cJSON *base = json_get(part->base, key), *device = part->level[0] ? NULL : json_get(making->device, key);
    struct card_found found;
    char path[PATH_KEY_BYTES];

    snprintf(path, sizeof(path), part->level[0] ? "levels.%s.%s" : "%s%s", part->level, key);
    card_find(making->request->found, part->level, key, &found);
    if (part->no_cache && found.row && found.row->geometry) {
        found.number.value = NAN;
        snprintf(found.number.reason, sizeof(found.number.reason),
                 "size, line and ways that were found make no cache, some of them the base card's");
    }
    if (!isnan(found.number.value)) {
        if (found.text)
            json_add_text(part->to, key, found.text);
        else
            json_add(part->to, key,
                     found.row->truth ? cJSON_CreateBool(found.number.value != 0)
                                      : json_double(card_rounded(found.number.value)));
        found_origin(making, path, &found);
    } else if (device) {
        json_add(part->to, key, cJSON_Duplicate(device, true));
        card_add_evidence(add_origin(making, path, "device"), making->id);
        making->tally.device++;
    } else if (cJSON_IsNull(base)) {
        json_add_text(part->to, key, NULL);
        making->lacks = true;
    } else if (base) {
        json_add(part->to, key, cJSON_Duplicate(base, true));
        keep_origin(making, path, found.number.reason);
    }
}

/* The value that a key of the part will have. */
static uint64_t integer_of(const struct making *making, const struct part *part, const char *key)
{
    struct card_found found;
    uint64_t value = 0;

    json_get_integer(part->base, key, &value);
    card_find(making->request->found, part->level, key, &found);
    return isnan(found.number.value) ? value : (uint64_t)found.number.value;
}

static void add_levels(struct making *making)
{
    cJSON *levels = json_add(making->card, "levels", cJSON_CreateArray()), *level;

    cJSON_ArrayForEach (level, json_get(making->base, "levels")) {
        struct part part = {.level = "", .base = level, .to = json_append(levels, cJSON_CreateObject())};
        uint64_t line, ways, capacity;

        if (!json_get(level, "replacement")) /* what a card of version 1.0 does not say, and means */
            json_add_text(level, "replacement", cache_replacement_names[CACHE_LRU]);
        json_get_text(level, "name", &part.level);
        json_add_text(part.to, "name", part.level);
        line = integer_of(making, &part, "line_bytes");
        ways = integer_of(making, &part, "ways");
        capacity = integer_of(making, &part, "capacity_bytes");
        part.no_cache = !line || (line & (line - 1)) || !ways || !capacity || capacity % (line * ways);
        for (size_t i = 1; card_level_key(i); i++) /* behind its name */
            add_key(making, &part, card_level_key(i));
    }
}

/* -- evidence ------------------------------------------------------------------------------------------ */

static enum status hash_file(struct making *making)
{
    char *text = NULL;
    size_t bytes;
    enum status status = STATUS_OK;

    if (making->request->file)
        status = file_read(making->request->file, JSON_FILE_BYTES_MAX, &text, &bytes);
    if (text) {
        sha256_hex(text, bytes, making->sha256);
        snprintf(making->id, sizeof(making->id), "%.*s", ID_HEX_DIGITS, making->sha256);
    }
    free(text);
    return status;
}

/* The files that origins name: that of the characterization, and those of the base card that one still does. */
static void add_evidence(struct making *making)
{
    cJSON *evidence = json_add(making->card, "evidence", cJSON_CreateObject());
    const cJSON *origin, *id;

    if (making->id[0]) {
        cJSON *file = json_add(evidence, making->id, cJSON_CreateObject());

        json_add_text(file, "file", making->request->file);
        json_add_text(file, "sha256", making->sha256);
    }
    cJSON_ArrayForEach (origin, json_get(making->card, "origins"))
        cJSON_ArrayForEach (id, json_get(origin, "evidence")) {
            const char *name = cJSON_GetStringValue(id);
            const cJSON *file = name ? json_get(json_get(making->base, "evidence"), name) : NULL;

            if (file && !json_get(evidence, name))
                json_add(evidence, name, cJSON_Duplicate(file, true));
        }
}

/* -- all ----------------------------------------------------------------------------------------------- */

static void make(struct making *making)
{
    const struct part card = {.level = "", .base = making->base, .to = making->card};
    cJSON *schema = json_add(making->card, "schema", cJSON_CreateObject());

    json_add_text(schema, "name", "cbank-card");
    for (size_t i = 0; card_key(i); i++)
        add_key(making, &card, card_key(i));
    add_levels(making);
    json_add_text(schema, "version", making->lacks ? "1.2" : "1.1");
    json_add(making->card, "origins", making->origins);
    add_evidence(making);
    card_quote(making->request->found, making->id, making->card);
}

/* As a reader of the file has it: what was just added may be text until it is read. */
static enum status read_again(const cJSON *item, cJSON **out)
{
    static const char name[] = "made of what was found";
    char *text = cJSON_PrintUnformatted(item);
    enum status status = text ? json_parse(name, text, strlen(text), out) : log_memory("a card");

    cJSON_free(text);
    return status == STATUS_OK ? card_check(name, *out) : status;
}

enum status card_make(const struct card_request *request, cJSON **out, struct card_tally *tally)
{
    const struct device_info device = product(&request->found->device);
    struct making making = {.request = request};
    struct card card;
    enum status status = card_read_json(request->base_path, &card, &making.base);

    if (status == STATUS_OK)
        status = hash_file(&making);
    if (status != STATUS_OK)
        goto out;
    memcpy(making.tally.base_name, card.name, sizeof(making.tally.base_name));
    making.same_chip = strcmp(card.name, device.name) == 0 && card.cc_major == device.cc_major &&
                       card.cc_minor == device.cc_minor && card.sm_count == device.sm_count;
    if (!making.same_chip) /* then the chip of the base card is not this one */
        cJSON_DeleteItemFromObjectCaseSensitive(making.base, "chip");
    making.device = cJSON_CreateObject();
    fields_write(making.device, &(struct fields)FIELDS(device_rows), &device);
    if (!json_whole(making.device)) { /* else the base card's values would stand for those that are not there */
        status = log_memory("a card");
        goto out;
    }
    making.card = cJSON_CreateObject();
    making.origins = cJSON_CreateObject();
    make(&making);
    status = read_again(making.card, out);
    *tally = making.tally;
out:
    cJSON_Delete(making.base);
    cJSON_Delete(making.device);
    cJSON_Delete(making.card);
    return status;
}
