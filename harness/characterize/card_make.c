/* SPDX-License-Identifier: MIT
 * The numbers of a card and where each comes from: sources[] names an experiment and its number for
 * each. What no experiment and no driver says stays as the base card has it, with its evidence. */
#include "card_make.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"
#include "files.h"
#include "log.h"
#include "sha256.h"

enum { ID_HEX_DIGITS = 12, DIGITS = 6 /* of a number */ };

/* The experiment and the number that say a number of a card. */
static const struct source {
    const char *experiment, *number;
    uint32_t stride; /* 0: any */
    uint32_t level;  /* of a geometry, whose latency it is; 0: a number of the first */
    bool largest;    /* of several numbers; else the first */
    bool inverse;    /* the card has 1 / number */
    bool high_of_base; /* a published limit of the base card stays */
    bool since_volta;  /* published for all chips from compute capability 7.0 on */
    const char *verdict, *expected; /* that the experiment has to give; NULL: none */
} sources[CARD_NUMBERS] = {
    [CARD_CONSTANT_L1_BYTES] = {.experiment = "geometry_constant", .number = "capacity_bytes"},
    [CARD_CONSTANT_LOADS_PER_CYCLE] = {"throughput_constant", "loads_per_cycle", .largest = true},
    [CARD_CONSTANT_ADDRESS_CYCLES] = {"serialization_constant", "cycles_per_load_per_extra_address",
                                      .stride = 4, .verdict = "throughput_falls_per",
                                      .expected = "address"},
    [CARD_SHARED_WAVEFRONTS_PER_CYCLE] = {"serialization_shared",
                                          "cycles_per_load_per_extra_address", .stride = 128,
                                          .inverse = true},
    [CARD_L1_REQUESTS_PER_CYCLE] = {"throughput_global", "loads_per_cycle", .largest = true},
    [CARD_TEXTURE_REQUESTS_PER_CYCLE] = {"throughput_texture", "loads_per_cycle", .largest = true},
    [CARD_ISSUE_PER_CYCLE] = {.since_volta = true},
    [CARD_ALU_LATENCY_CYCLES] = {.since_volta = true},
    [CARD_L1_LATENCY_CYCLES] = {.experiment = "latency_global", .number = "latency"},
    [CARD_L2_LATENCY_CYCLES] = {.experiment = "geometry_global", .number = "latency", .level = 2},
#define KERNELS(key, name) [key] = {.experiment = "whole_kernels", .number = name}
    KERNELS(CARD_LAUNCH_NS, "launch_ns"),
    KERNELS(CARD_BLOCK_START_NS, "block_start_ns"),
    KERNELS(CARD_BLOCK_L2_NS, "block_l2_ns"),
    KERNELS(CARD_BLOCK_DRAM_NS, "block_dram_ns"),
    KERNELS(CARD_CONSTANT_FILL_CYCLES, "constant_fill_cycles"),
    KERNELS(CARD_L2_LINE_NS, "l2_line_ns"),
    KERNELS(CARD_L2_BYTES_PER_NS, "l2_bytes_per_ns"),
    [CARD_DRAM_BYTES_PER_NS] = {.experiment = "whole_kernels",
                                .number = "dram_bytes_per_ns",
                                .high_of_base = true},
#undef KERNELS
    [CARD_L1_LIMIT_REQUESTS_PER_CYCLE] = {.experiment = "bandwidth_l1",
                                          .number = "loads_per_cycle"},
    [CARD_L2_LIMIT_BYTES_PER_NS] = {.experiment = "bandwidth_l2", .number = "read_bytes_per_ns"},
    [CARD_DRAM_LIMIT_BYTES_PER_NS] = {.experiment = "bandwidth_memory", .number = "bytes_per_ns"},
};

/* Finds the number of a source; NaN where there is none. A geometry has its numbers by level: the
 * first one is asked. */
static struct number find(const struct source *source, const struct characterization *all)
{
    const struct outcome *outcome =
        source->experiment ? characterization_outcome(all, source->experiment) : NULL;
    struct number best = {.value = NAN};

    if (!outcome || outcome->status != OUTCOME_OK)
        return best;
    for (const struct verdict *verdict = outcome->verdicts;
         verdict < outcome->verdicts + outcome->verdict_count; verdict++)
        if (source->verdict && strcmp(verdict->name, source->verdict) == 0 &&
            (!verdict->value || strcmp(verdict->value, source->expected) != 0))
            return best;
    if (source->level && outcome->geometry && outcome->geometry->level_count >= source->level)
        return number_of_latency(&outcome->geometry->level[source->level - 1]);
    for (size_t i = 0; outcome->geometry && i < GEOMETRY_FINDINGS; i++)
        if (strcmp(geometry_findings[i].key, source->number) == 0 &&
            outcome->geometry->level_count && !outcome->geometry->level[0].contradiction[0])
            return number_of_finding(&outcome->geometry->level[0], &geometry_findings[i]);
    for (const struct number *number = outcome->numbers;
         number && number < outcome->numbers + outcome->number_count; number++)
        if (strcmp(number->name, source->number) == 0 &&
            (!source->stride || number->stride == source->stride) &&
            (isnan(best.value) || (source->largest && number->value > best.value)))
            best = *number;
    if (source->inverse) {
        const double low = best.low;

        best.value = 1 / best.value;
        best.low = 1 / best.high;
        best.high = 1 / low;
    }
    return best;
}

/* The value with the digits of a card: printed and read again it is the same. */
static double rounded(double value)
{
    char text[32];

    snprintf(text, sizeof(text), "%.*g", DIGITS, value);
    return value == floor(value) && fabs(value) < 9e15 ? value : strtod(text, NULL);
}

/* Adds all numbers, each with its origin: measured, from the driver, or from the base card, which
 * is of this chip or of `another`. It also adds the files that the base card names by their hash,
 * to evidence that holds the characterization if there is a file of it. */
static void add_numbers(const struct characterization *found, const cJSON *base, bool another,
                        cJSON *model, cJSON *evidence, struct card_tally *tally)
{
    const char *id = evidence && evidence->child ? evidence->child->string : "";
    const struct device_info *device = &found->device;
    const double said[CARD_NUMBERS] = {
        [CARD_SM_COUNT] = device->sm_count,
        [CARD_WARPS_PER_SM] = device->warps_per_sm,
        [CARD_BLOCKS_PER_SM] = device->blocks_per_sm,
        [CARD_SHARED_BYTES_PER_SM] = device->shared_bytes_per_sm,
        [CARD_SHARED_BYTES_RESERVED] = (double)device->shared_bytes_reserved.value,
        [CARD_L2_BYTES] = (double)device->l2_bytes,
        [CARD_SM_CLOCK_MHZ] = device->sm_clock_max_mhz,
    };

    *tally = (struct card_tally){0};
    for (size_t key = 0; key < CARD_NUMBERS; key++) {
        const struct card_row *row = &card_rows[key];
        const cJSON *numbers =
            another && !sources[key].since_volta ? NULL : json_get(base, "model");
        const cJSON *there = json_get(numbers, row->key), *name;
        const bool known = there && !cJSON_IsNull(there);
        struct number number = find(&sources[key], found);
        const bool measured = !isnan(number.value);
        struct card_entry entry;

        if (!measured && !(said[key] > 0) && (known || !row->required)) {
            json_add(model, row->key, known ? cJSON_Duplicate(there, true) : cJSON_CreateNull());
            tally->base += known;
            tally->unknown += !known;
            cJSON_ArrayForEach (name, json_get(there, "evidence")) {
                const char *file = cJSON_GetStringValue(name) ? cJSON_GetStringValue(name) : "";
                const cJSON *held = json_get(json_get(base, "evidence"), file);

                if (held && !json_get(evidence, file))
                    json_add(evidence, file, cJSON_Duplicate(held, true));
            }
            continue;
        }
        if (measured && sources[key].high_of_base && known)
            number.high = fmax(number.high, cJSON_GetNumberValue(json_get(there, "high")));
        if (!measured) /* a driver that says nothing reserves nothing */
            number.value = number.low = number.high = said[key] > 0 ? said[key] : row->low;
        entry = (struct card_entry){
            .number = {.value = rounded(number.value),
                       .low = fmin(rounded(number.low), rounded(number.value)),
                       .high = fmax(rounded(number.high), rounded(number.value))},
            .origin = measured ? ORIGIN_CHARACTERIZED : ORIGIN_DEVICE,
            .experiment = measured ? sources[key].experiment : NULL,
            .name = measured ? sources[key].number : NULL,
            .method = measured ? number.method : "cudaGetDeviceProperties, NVML",
        };
        snprintf(entry.evidence, sizeof(entry.evidence), "%s", id);
        fields_write(json_add(model, row->key, cJSON_CreateObject()), &card_entry_fields, &entry);
        *(measured ? &tally->characterized : &tally->device) += 1;
    }
}

/* The name of a chip: that of the device without the vendor's. */
static const char *chip_name(const struct device_info *device)
{
    static const char vendor[] = "NVIDIA ";
    const bool named = strncmp(device->name, vendor, strlen(vendor)) == 0;

    return device->name + (named ? strlen(vendor) : 0);
}

/* Finds the base: the card at `path` if it is not NULL, else one in the program. Where none is of
 * this chip, *json is one since Volta, which has the numbers that are published for all of them, or
 * NULL, and *another is set. The caller frees *json. */
static enum status find_base(const char *path, const struct device_info *device, struct card *base,
                             cJSON **json, bool *another)
{
    const size_t count = path ? 1 : card_text_count;
    enum status status;

    *another = false;
    for (size_t i = 0; i < count; i++) {
        status = card_read_json(path ? path : card_texts[i].name, base, json);
        if (status != STATUS_OK)
            return status;
        if (strcmp(base->name, chip_name(device)) == 0 && card_is_of(base, device))
            return STATUS_OK;
        json_free(*json);
        *json = NULL;
    }
    *another = true;
    return device->cc_major >= 7 ? card_read_json("v100", base, json) : STATUS_OK;
}

/* Adds the file of the characterization, which the card's numbers rest on, to the evidence. */
static enum status add_evidence(const char *file, cJSON *evidence)
{
    char id[ID_HEX_DIGITS + 1], sha256[SHA256_HEX_BYTES], *text;
    enum status status;
    size_t bytes;

    if (!file)
        return STATUS_OK;
    status = file_read(file, JSON_FILE_BYTES_MAX, &text, &bytes);
    if (status != STATUS_OK)
        return status;
    sha256_hex(text, bytes, sha256);
    snprintf(id, sizeof(id), "%.*s", ID_HEX_DIGITS, sha256);
    fields_write(json_add(evidence, id, cJSON_CreateObject()), &card_file_fields,
                 &(struct card_file){file, sha256});
    free(text);
    return STATUS_OK;
}

/* Numbers are texts until a reader has them: the card is read again, as it will be. */
static enum status read_again(const cJSON *card, cJSON **out)
{
    static const char made[] = "the card that was made";
    char *text = cJSON_PrintUnformatted(card);
    enum status status = text ? json_parse(made, text, strlen(text), out) : log_memory("a card");

    free(text);
    return status == STATUS_OK ? card_check(made, *out, &(struct card){0}) : status;
}

enum status card_make(const struct card_request *request, cJSON **out, struct card_tally *tally)
{
    const struct device_info *device = &request->found->device;
    cJSON *card = cJSON_CreateObject(), *base_json = NULL, *schema, *model, *evidence;
    struct card base = {0};
    bool another;
    enum status status = find_base(request->base_path, device, &base, &base_json, &another);

    if (status != STATUS_OK)
        goto out;
    schema = json_add(card, "schema", cJSON_CreateObject());
    json_add_text(schema, "name", "cbank-card");
    json_add_text(schema, "version", "1.0");
    json_add_text(card, "name", chip_name(device));
    json_add_text(card, "chip",
                  device->chip[0]            ? device->chip
                  : !another && base.chip[0] ? base.chip
                                             : NULL);
    json_add_integer(card, "cc_major", device->cc_major);
    json_add_integer(card, "cc_minor", device->cc_minor);
    model = json_add(card, "model", cJSON_CreateObject());
    evidence = json_add(card, "evidence", cJSON_CreateObject());
    status = add_evidence(request->file, evidence);
    if (status != STATUS_OK)
        goto out;
    add_numbers(request->found, base_json, another, model, evidence, tally);
    status = read_again(card, out);
out:
    json_free(base_json);
    cJSON_Delete(card);
    return status;
}
