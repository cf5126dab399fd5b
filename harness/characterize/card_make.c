/* SPDX-License-Identifier: MIT */
#include "card_make.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "card_parts.h"
#include "experiment.h"
#include "files.h"
#include "log.h"
#include "sha256.h"

/* -- what experiments find ----------------------------------------------------------------------------- */

/* One way to find a number of a card. */
struct source {
    enum card_key key;
    const char *experiment, *number;
    uint32_t stride; /* 0: any */
    uint32_t level;  /* of a geometry, from 1; 0: it is a number of the outcome */
    double sign;     /* of several numbers that with the least sign x value; 0: the first */
    bool inverse;    /* the key is 1 / number */
    const char *verdict, *expected; /* what the experiment has to say beside it; NULL: nothing */
};

static const struct source sources_of_keys[] = {
    {.key = CARD_constant_l1_bytes, .experiment = "geometry_constant", .number = "capacity_bytes", .level = 1},
    {.key = CARD_constant_address_cycles, .experiment = "serialization_constant",
     .number = "cycles_per_load_per_extra_address", .stride = 4, .verdict = "throughput_falls_per", .expected = "address"},
    {.key = CARD_shared_wavefronts_per_cycle, .experiment = "serialization_shared",
     .number = "cycles_per_load_per_extra_address", .stride = 128, .inverse = true},
    {.key = CARD_l1_requests_per_cycle, .experiment = "throughput_global", .number = "loads_per_cycle", .sign = -1},
    {.key = CARD_texture_requests_per_cycle, .experiment = "throughput_texture", .number = "loads_per_cycle", .sign = -1},
    {.key = CARD_l1_latency_cycles, .experiment = "latency_global", .number = "latency"},
    {.key = CARD_l2_latency_cycles, .experiment = "latency_global_l2", .number = "latency"},
};

__attribute__((format(printf, 1, 2))) static struct number no_number(const char *format, ...)
{
    struct number number = {.value = NAN, .low = NAN, .high = NAN};
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(number.reason, sizeof(number.reason), format, arguments);
    va_end(arguments);
    return number;
}

static struct number find_geometry(const struct source *source, const struct geometry *geometry)
{
    const struct geometry_finding *finding = geometry_findings;

    while (strcmp(finding->key, source->number) != 0)
        finding++;
    if (!geometry || geometry->level_count < source->level)
        return no_number("no such level was seen");
    if (geometry->level[source->level - 1].contradiction[0])
        return no_number("%s", geometry->level[source->level - 1].contradiction);
    return number_of_finding(&geometry->level[source->level - 1], finding);
}

/* The number of a source; NaN, with the reason, where there is none. */
static struct number find(const struct source *source, const struct characterization *all)
{
    const struct outcome *outcome = characterization_outcome(all, source->experiment);
    const struct number *best = NULL;
    struct number found;

    if (!outcome || outcome->status != OUTCOME_OK)
        return no_number("%s", outcome ? outcome->reason : "there is no such experiment");
    if (source->level)
        return find_geometry(source, outcome->geometry);
    for (const struct verdict *one = outcome->verdicts; one < outcome->verdicts + outcome->verdict_count; one++)
        if (source->verdict && strcmp(one->name, source->verdict) == 0 &&
            strcmp(one->value ? one->value : "unclear", source->expected) != 0)
            return no_number("%s is %s, and the key is of %s", source->verdict, one->value ? one->value : "unclear",
                             source->expected);
    for (const struct number *one = outcome->numbers; one < outcome->numbers + outcome->number_count; one++)
        if (strcmp(one->name, source->number) == 0 && (!source->stride || one->stride == source->stride) &&
            (!best || isnan(best->value) || source->sign * one->value < source->sign * best->value))
            best = one;
    if (!best || isnan(best->value))
        return no_number("%s", best && best->reason[0] ? best->reason : "the experiment has no such number");
    found = *best;
    if (source->inverse) {
        found.value = 1 / best->value;
        found.low = 1 / best->high;
        found.high = 1 / best->low;
    }
    return found;
}

/* -- the card ------------------------------------------------------------------------------------------ */

enum { ID_HEX_DIGITS = 12 };

struct making {
    const struct card_request *request;
    cJSON *base, *card; /* owned: the base card, what is made */
    bool same_chip;     /* the base card is of this one */
    char id[ID_HEX_DIGITS + 1]; /* of the file; "" without one */
    char sha256[SHA256_HEX_BYTES];
    struct card_tally tally;
};

/* What the driver says; NaN of what it does not. */
static double device_number(const struct device_info *device, enum card_key key)
{
    const double numbers[CARD_NUMBERS] = {
        [CARD_sm_count] = device->sm_count,
        [CARD_warps_per_sm] = device->warps_per_sm,
        [CARD_blocks_per_sm] = device->blocks_per_sm,
        [CARD_shared_bytes_per_sm] = device->shared_bytes_per_sm,
        [CARD_shared_bytes_reserved] = device->shared_bytes_reserved,
        [CARD_l2_bytes] = (double)device->l2_bytes,
        [CARD_sm_clock_mhz] = isnan(device->sm_clock_max_mhz) ? 0 : device->sm_clock_max_mhz,
    };

    return numbers[key] > 0 ? numbers[key] : NAN;
}

/* Adds a number from an interval; `from`: who says it. */
static cJSON *add_number(cJSON *model, const char *key, const char *from, double value, double low, double high)
{
    cJSON *entry = json_add(model, key, cJSON_CreateObject());

    json_add_double(entry, "value", card_rounded(value));
    json_add_double(entry, "low", fmin(card_rounded(low), card_rounded(value)));
    json_add_double(entry, "high", fmax(card_rounded(high), card_rounded(value)));
    json_add_text(entry, "from", from);
    return entry;
}

static void add_key(struct making *making, cJSON *model, enum card_key key)
{
    const char *name = card_rows[key].key;
    const double device = device_number(&making->request->found->device, key);
    const cJSON *base = making->same_chip ? json_get(json_get(making->base, "model"), name) : NULL;
    struct number number = no_number("no experiment measures it");
    const struct source *source = sources_of_keys, *end = sources_of_keys + COUNT(sources_of_keys);
    cJSON *entry;

    while (source < end && source->key != key)
        source++;
    if (source < end)
        number = find(source, making->request->found);
    if (!isnan(number.value)) {
        entry = add_number(model, name, "characterized", number.value, number.low, number.high);
        json_add_text(entry, "experiment", source->experiment);
        json_add_text(entry, "number", source->number);
        json_add_text(entry, "method", number.method);
        card_add_evidence(entry, making->id);
        making->tally.characterized++;
    } else if (!isnan(device)) {
        entry = add_number(model, name, "device", device, device, device);
        json_add_text(entry, "method", "cudaGetDeviceProperties, NVML");
        card_add_evidence(entry, making->id);
        making->tally.device++;
    } else if (base && !cJSON_IsNull(base)) {
        json_add(model, name, cJSON_Duplicate(base, true));
        making->tally.base++;
    } else if (card_rows[key].required) { /* a driver that does not say it takes nothing */
        entry = add_number(model, name, "device", card_rows[key].low, card_rows[key].low, card_rows[key].low);
        json_add_text(entry, "method", "the least that there is: the driver does not say it");
        making->tally.device++;
    } else {
        json_add(model, name, cJSON_CreateNull());
        making->tally.unknown++;
    }
}

/* The files that numbers name by the beginning of their hash: that of the characterization, and those of the base card. */
static void add_evidence(struct making *making)
{
    cJSON *evidence = json_add(making->card, "evidence", cJSON_CreateObject());
    const cJSON *entry, *id;

    if (making->id[0]) {
        cJSON *own = json_add(evidence, making->id, cJSON_CreateObject());

        json_add_text(own, "file", making->request->file);
        json_add_text(own, "sha256", making->sha256);
    }
    cJSON_ArrayForEach (entry, json_get(making->card, "model"))
        cJSON_ArrayForEach (id, json_get(entry, "evidence")) {
            const char *name = cJSON_GetStringValue(id);
            const cJSON *file = name ? json_get(json_get(making->base, "evidence"), name) : NULL;

            if (file && !json_get(evidence, name))
                json_add(evidence, name, cJSON_Duplicate(file, true));
        }
}

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
    static const char vendor[] = "NVIDIA ";
    const struct device_info *device = &request->found->device;
    const char *name = device->name;
    struct making making = {.request = request};
    struct card base;
    cJSON *schema, *model;
    enum status status = card_read_json(request->base_path, &base, &making.base);

    if (status == STATUS_OK)
        status = hash_file(&making);
    if (status != STATUS_OK)
        goto out;
    if (strncmp(name, vendor, strlen(vendor)) == 0)
        name += strlen(vendor);
    making.same_chip = strcmp(base.name, name) == 0 && card_is_of(&base, device);
    if (making.same_chip)
        memcpy(making.tally.base_name, base.name, sizeof(making.tally.base_name));
    making.card = cJSON_CreateObject();
    schema = json_add(making.card, "schema", cJSON_CreateObject());
    json_add_text(schema, "name", "cbank-card");
    json_add_text(schema, "version", "1.0");
    json_add_text(making.card, "name", name);
    json_add_text(making.card, "chip", device->chip[0] ? device->chip : making.same_chip && base.chip[0] ? base.chip : NULL);
    json_add_integer(making.card, "cc_major", device->cc_major);
    json_add_integer(making.card, "cc_minor", device->cc_minor);
    model = json_add(making.card, "model", cJSON_CreateObject());
    for (int key = 0; key < CARD_NUMBERS; key++)
        add_key(&making, model, (enum card_key)key);
    add_evidence(&making);
    card_quote(request->found, making.id, making.card);
    status = read_again(making.card, out);
    *tally = making.tally;
out:
    cJSON_Delete(making.base);
    cJSON_Delete(making.card);
    return status;
}
