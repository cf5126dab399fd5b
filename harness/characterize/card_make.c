/* SPDX-License-Identifier: MIT */
#include "card_make.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment.h"
#include "files.h"
#include "log.h"
#include "sha256.h"

enum { ID_HEX_DIGITS = 12, DIGITS = 6 /* of a number */ };

/* The experiment and the number that say a number of a card. */
static const struct source {
    enum card_key key;
    const char *experiment, *number;
    uint32_t stride; /* 0: any */
    double sign;     /* of several numbers that with the least sign x value; 0: the first */
    bool inverse;    /* the card has 1 / number */
    const char *verdict, *expected; /* that the experiment has to give; NULL: none */
} sources[] = {
    {.key = CARD_constant_l1_bytes, .experiment = "geometry_constant", .number = "capacity_bytes"},
    {.key = CARD_constant_address_cycles,
     .experiment = "serialization_constant",
     .number = "cycles_per_load_per_extra_address",
     .stride = 4,
     .verdict = "throughput_falls_per",
     .expected = "address"},
    {.key = CARD_shared_wavefronts_per_cycle,
     .experiment = "serialization_shared",
     .number = "cycles_per_load_per_extra_address",
     .stride = 128,
     .inverse = true},
    {.key = CARD_l1_requests_per_cycle, .experiment = "throughput_global", .number = "loads_per_cycle", .sign = -1},
    {.key = CARD_texture_requests_per_cycle,
     .experiment = "throughput_texture",
     .number = "loads_per_cycle",
     .sign = -1},
    {.key = CARD_l1_latency_cycles, .experiment = "latency_global", .number = "latency"},
    {.key = CARD_l2_latency_cycles, .experiment = "latency_global_l2", .number = "latency"},
};

/* Finds the number of a source; NaN where there is none. A geometry has its numbers by level: the first one is asked. */
static struct number find(const struct source *source, const struct characterization *all)
{
    const struct outcome *outcome = characterization_outcome(all, source->experiment);
    struct number best = {.value = NAN};

    if (!outcome || outcome->status != OUTCOME_OK)
        return best;
    for (const struct verdict *one = outcome->verdicts; one < outcome->verdicts + outcome->verdict_count; one++)
        if (source->verdict && strcmp(one->name, source->verdict) == 0 &&
            (!one->value || strcmp(one->value, source->expected) != 0))
            return best;
    for (size_t i = 0; outcome->geometry && i < GEOMETRY_FINDINGS; i++)
        if (strcmp(geometry_findings[i].key, source->number) == 0 && outcome->geometry->level_count &&
            !outcome->geometry->level[0].contradiction[0])
            return number_of_finding(&outcome->geometry->level[0], &geometry_findings[i]);
    for (const struct number *one = outcome->numbers; one && one < outcome->numbers + outcome->number_count; one++)
        if (strcmp(one->name, source->number) == 0 && (!source->stride || one->stride == source->stride) &&
            (isnan(best.value) || source->sign * one->value < source->sign * best.value))
            best = *one;
    if (source->inverse) {
        const double low = best.low;

        best.value = 1 / best.value;
        best.low = 1 / best.high;
        best.high = 1 / low;
    }
    return best;
}

/* The number that the driver says; NaN where it says none. */
static double device_number(const struct device_info *device, enum card_key key)
{
    const double numbers[CARD_NUMBERS] = {
        [CARD_sm_count] = device->sm_count,
        [CARD_warps_per_sm] = device->warps_per_sm,
        [CARD_blocks_per_sm] = device->blocks_per_sm,
        [CARD_shared_bytes_per_sm] = device->shared_bytes_per_sm,
        [CARD_shared_bytes_reserved] = device->shared_bytes_reserved,
        [CARD_l2_bytes] = (double)device->l2_bytes,
        [CARD_sm_clock_mhz] = device->sm_clock_max_mhz,
    };

    return numbers[key] > 0 ? numbers[key] : NAN;
}

/* The value with the digits of a card: printed and read again it is the same. */
static double rounded(double value)
{
    char text[32];

    snprintf(text, sizeof(text), "%.*g", DIGITS, value);
    return value == floor(value) && fabs(value) < 9e15 ? value : strtod(text, NULL);
}

static cJSON *add_number(cJSON *model, const char *key, const char *from, double value, double low, double high)
{
    cJSON *entry = json_add(model, key, cJSON_CreateObject());

    json_add_double(entry, "value", rounded(value));
    json_add_double(entry, "low", fmin(rounded(low), rounded(value)));
    json_add_double(entry, "high", fmax(rounded(high), rounded(value)));
    json_add_text(entry, "from", from);
    return entry;
}

struct making {
    const struct characterization *found;
    cJSON *base, *card; /* owned: the base card, NULL where there is none of the chip; what is made */
    cJSON *model, *evidence; /* within the card */
    char id[ID_HEX_DIGITS + 1]; /* of the characterization; "" without one */
    struct card_tally tally;
};

/* Adds a number with its origin. */
static void add_key(struct making *making, enum card_key key)
{
    const struct card_row *row = &card_rows[key];
    const double device = device_number(&making->found->device, key);
    const cJSON *there = json_get(json_get(making->base, "model"), row->key), *name;
    const bool known = there && !cJSON_IsNull(there);
    struct number number = {.value = NAN};
    const struct source *source = sources;
    cJSON *entry;

    while (source < sources + COUNT(sources) && source->key != key)
        source++;
    if (source < sources + COUNT(sources))
        number = find(source, making->found);
    if (!isnan(number.value)) {
        entry = add_number(making->model, row->key, "characterized", number.value, number.low, number.high);
        json_add_text(entry, "experiment", source->experiment);
        json_add_text(entry, "number", source->number);
        json_add_text(entry, "method", number.method);
        making->tally.characterized++;
    } else if (!isnan(device) || (row->required && !known)) {
        const double value = isnan(device) ? row->low : device; /* a driver that says nothing reserves nothing */

        entry = add_number(making->model, row->key, "device", value, value, value);
        json_add_text(entry, "method", "cudaGetDeviceProperties, NVML");
        making->tally.device++;
    } else {
        json_add(making->model, row->key, known ? cJSON_Duplicate(there, true) : cJSON_CreateNull());
        making->tally.base += known;
        making->tally.unknown += !known;
        /* The files that it names by their hash come along. */
        cJSON_ArrayForEach (name, json_get(there, "evidence")) {
            const char *id = cJSON_GetStringValue(name) ? cJSON_GetStringValue(name) : "";
            const cJSON *file = json_get(json_get(making->base, "evidence"), id);

            if (file && !json_get(making->evidence, id))
                json_add(making->evidence, id, cJSON_Duplicate(file, true));
        }
        return;
    }
    if (making->id[0])
        json_append(json_add(entry, "evidence", cJSON_CreateArray()), cJSON_CreateString(making->id));
}

/* Finds the base card: the one that is asked for, else one in the program. *json stays NULL where it is of another chip. */
static enum status read_base(const char *path, const char *name, const struct device_info *device, struct card *base,
                             cJSON **json)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && !*json && i < (path ? 1 : card_text_count); i++) {
        status = card_read_json(path ? path : card_texts[i].name, base, json);
        if (status == STATUS_OK && (strcmp(base->name, name) != 0 || !card_is_of(base, device))) {
            cJSON_Delete(*json);
            *json = NULL;
        }
    }
    return status;
}

enum status card_make(const struct card_request *request, cJSON **out, struct card_tally *tally)
{
    static const char vendor[] = "NVIDIA ", made[] = "the card that was made";
    const struct device_info *device = &request->found->device;
    const bool named = strncmp(device->name, vendor, strlen(vendor)) == 0;
    const char *name = device->name + (named ? strlen(vendor) : 0);
    struct making making = {.found = request->found, .card = cJSON_CreateObject()};
    char sha256[SHA256_HEX_BYTES], *text = NULL;
    struct card base;
    cJSON *schema, *own;
    size_t bytes;
    enum status status = read_base(request->base_path, name, device, &base, &making.base);

    if (status == STATUS_OK && request->file)
        status = file_read(request->file, JSON_FILE_BYTES_MAX, &text, &bytes);
    if (status != STATUS_OK)
        goto out;
    schema = json_add(making.card, "schema", cJSON_CreateObject());
    json_add_text(schema, "name", "cbank-card");
    json_add_text(schema, "version", "1.0");
    json_add_text(making.card, "name", name);
    json_add_text(making.card, "chip", device->chip[0] ? device->chip : making.base && base.chip[0] ? base.chip : NULL);
    json_add_integer(making.card, "cc_major", device->cc_major);
    json_add_integer(making.card, "cc_minor", device->cc_minor);
    making.model = json_add(making.card, "model", cJSON_CreateObject());
    making.evidence = json_add(making.card, "evidence", cJSON_CreateObject());
    if (text) {
        sha256_hex(text, bytes, sha256);
        snprintf(making.id, sizeof(making.id), "%.*s", ID_HEX_DIGITS, sha256);
        own = json_add(making.evidence, making.id, cJSON_CreateObject());
        json_add_text(own, "file", request->file);
        json_add_text(own, "sha256", sha256);
    }
    for (int key = 0; key < CARD_NUMBERS; key++)
        add_key(&making, (enum card_key)key);
    *tally = making.tally;
    free(text);
    /* Numbers are texts until a reader has them: the card is read again, as it will be. */
    text = cJSON_PrintUnformatted(making.card);
    status = text ? json_parse(made, text, strlen(text), out) : log_memory("a card");
    if (status == STATUS_OK)
        status = card_check(made, *out);
out:
    free(text);
    cJSON_Delete(making.base);
    cJSON_Delete(making.card);
    return status;
}
