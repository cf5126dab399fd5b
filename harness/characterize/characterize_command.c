/* SPDX-License-Identifier: MIT
 * Characterizes a GPU, or analyses the answers of one again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "card.h"
#include "card_make.h"
#include "characterize.h"
#include "clock.h"
#include "command.h"
#include "cuda_probe.h"
#include "identity_json.h"
#include "log.h"
#include "version.h"

static const char schema_name[] = "cbank-characterization", schema_version[] = "1.1";

struct characterize_options {
    uint64_t ordinal; /* of the GPU */
    const char *replay_path; /* file whose answers are analysed again; NULL: a GPU is asked */
    const char *json_path, *card_path;
    const char *new_card_path; /* where the card of what was found goes; NULL: none */
    bool quiet;
};

static const struct option_row rows[] = {
    {.name = "device",
     .argument = "N",
     .help = "GPU ordinal (default 0)",
     .kind = &option_integer,
     .offset = offsetof(struct characterize_options, ordinal),
     .high = 1023,
     .unit = "as a device",
     .fallback = "0"},
    {.name = "replay",
     .argument = "FILE",
     .help = "analyse the answers in a characterization again, without a GPU",
     .kind = &option_text,
     .offset = offsetof(struct characterize_options, replay_path)},
    {.name = "json",
     .argument = "FILE",
     .help = "where everything goes that was measured, - for stdout (default characterization.json)",
     .kind = &option_text,
     .offset = offsetof(struct characterize_options, json_path),
     .fallback = "characterization.json"},
    {.name = "card",
     .argument = "FILE",
     .help = "card that --new-card takes the other values from (default: built in)",
     .kind = &option_text,
     .offset = offsetof(struct characterize_options, card_path)},
    {.name = "new-card",
     .argument = "FILE",
     .help = "write a card of the chip: what was found, and for the rest the values of --card",
     .kind = &option_text,
     .offset = offsetof(struct characterize_options, new_card_path)},
    {.name = "quiet",
     .help = "print errors and warnings alone",
     .kind = &option_flag,
     .offset = offsetof(struct characterize_options, quiet)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
};

static bool quiet;

static void progress(const struct experiment *experiment, size_t done)
{
    if (!quiet)
        fprintf(stderr, "%zu of %zu: %s\n", done + 1, experiment_count, experiment->name);
}

static void add_known(cJSON *object, const char *key, uint32_t value)
{
    if (value)
        json_add_integer(object, key, value);
}

static void write_device(const struct device_info *info, cJSON *root)
{
    cJSON *device = json_add(root, "device", cJSON_CreateObject());

    json_add_text(device, "name", info->name);
    json_add_text(device, "uuid", info->uuid[0] ? info->uuid : NULL);
    json_add_integer(device, "cc_major", info->cc_major);
    json_add_integer(device, "cc_minor", info->cc_minor);
    json_add_integer(device, "sm_count", info->sm_count);
    json_add_integer(device, "l2_bytes", info->l2_bytes);
    json_add_integer(device, "memory_bytes", info->memory_bytes);
    json_add_text(device, "driver", info->driver[0] ? info->driver : NULL);
    json_add_text(device, "vbios", info->vbios[0] ? info->vbios : NULL);
    json_add_integer(device, "cuda_driver_api", info->cuda_driver_api);
    json_add_double(device, "sm_clock_max_mhz", info->sm_clock_max_mhz);
    add_known(device, "warps_per_sm", info->warps_per_sm);
    add_known(device, "blocks_per_sm", info->blocks_per_sm);
    add_known(device, "shared_bytes_per_sm", info->shared_bytes_per_sm);
    add_known(device, "shared_bytes_reserved", info->shared_bytes_reserved);
}

/* Who wrote the file, when, and of what. */
static cJSON *open_root(const struct invocation *invocation, const char started[32])
{
    cJSON *root = cJSON_CreateObject(), *schema = json_add(root, "schema", cJSON_CreateObject()), *tool_object;
    char words[1024], finished[32];

    command_line(invocation, words, sizeof(words));
    clock_utc(finished);
    json_add_text(schema, "name", schema_name);
    json_add_text(schema, "version", schema_version);
    tool_object = json_add_tool(root);
    json_add_text(tool_object, "argv", words);
    json_add_text(tool_object, "compiler", tool.compiler);
    json_add_text(tool_object, "cuda_toolkit", tool.cuda_toolkit);
    json_add_text(root, "started_utc", started);
    json_add_text(root, "finished_utc", finished);
    return root;
}

/* What a record in a file was asked of. */
struct recorded {
    cJSON *file;
    struct probe_record record;
    uint32_t sm_count;
};

static void write_bank_addresses(const uint64_t *address, cJSON *array)
{
    for (size_t i = 0; i < PROBE_MEMBERS; i++)
        json_append(array, cJSON_CreateNumber((double)address[i]));
}

static void read_bank_addresses(const cJSON *array, uint64_t address[PROBE_MEMBERS])
{
    for (int i = 0; i < PROBE_MEMBERS && i < cJSON_GetArraySize(array); i++) {
        const double value = cJSON_GetNumberValue(cJSON_GetArrayItem(array, i));

        address[i] = value >= 0 && value < 9007199254740992.0 ? (uint64_t)value : 0;
    }
}

static enum status read_recorded(const char *path, struct recorded *out)
{
    const cJSON *experiment;
    const char *name = NULL, *carve_out = NULL;
    uint64_t sms = 0, samples = 0, chunk = 0;
    enum status status = json_read_file(path, &out->file);

    if (status != STATUS_OK)
        return status;
    if (!json_get_text(json_get(out->file, "schema"), "name", &name) || strcmp(name, schema_name) != 0 ||
        !json_get_integer(json_get(out->file, "device"), "sm_count", &sms) || sms == 0 || sms > 4096 ||
        !json_get_integer(json_get(out->file, "probes"), "samples_max", &samples) || samples == 0 ||
        samples > 1 << 24 || !json_get_text(json_get(out->file, "probes"), "shared_carve_out", &carve_out))
        return log_error(STATUS_USAGE, "%s is no characterization; cbank characterize writes one", path);
    out->sm_count = (uint32_t)sms;
    out->record.path = path;
    out->record.source.samples_max = samples;
    if (json_get_integer(json_get(out->file, "probes"), "chunk_bytes", &chunk) && chunk < 1 << 20)
        out->record.source.chunk_bytes = (uint32_t)chunk;
    read_bank_addresses(json_get(json_get(out->file, "probes"), "bank_addresses"), out->record.bank_address);
    out->record.source.bank_address = out->record.bank_address;
    snprintf(out->record.source.shared_carve_out, sizeof(out->record.source.shared_carve_out), "%s", carve_out);
    cJSON_ArrayForEach (experiment, json_get(out->file, "experiments"))
        if (status == STATUS_OK)
            status = probe_record_read(path, json_get(experiment, "evidence"), &out->record);
    if (status == STATUS_OK)
        status = probe_record_read_kernels(path, json_get(json_get(out->file, "probes"), "kernels"), &out->record);
    return status;
}

static void close_recorded(struct recorded *recorded)
{
    cJSON_Delete(recorded->file);
    probe_record_close(&recorded->record);
}

/* The card, where one is asked for. `root`: the analysis as it was written. */
static enum status write_card(const struct characterize_options *options, const struct characterization *found,
                              const cJSON *root)
{
    const char *written = strcmp(options->json_path, "-") == 0 ? NULL : options->json_path;
    const struct card_request request = {.found = found,
                                         .device = json_get(root, "device"),
                                         .file = options->replay_path ? options->replay_path : written,
                                         .base_path = options->card_path};
    struct card_tally tally;
    cJSON *card = NULL;
    enum status status;

    if (!options->new_card_path)
        return STATUS_OK;
    status = card_make(&request, &card, &tally);
    if (status == STATUS_OK)
        status = json_write(options->new_card_path, card);
    if (status == STATUS_OK && !quiet && written)
        printf("card %s: %zu values characterized, %zu of the device, %zu of the card %s\n", options->new_card_path,
               tally.characterized, tally.device, tally.base, tally.base_name);
    cJSON_Delete(card);
    return status;
}

/* What would not be known before the end. */
static enum status check_card(const struct characterize_options *options)
{
    struct card card;

    if (options->card_path && !options->new_card_path)
        return log_error(STATUS_USAGE, "--card is what --new-card FILE takes values from; name that file, too");
    return options->new_card_path ? card_read(options->card_path, &card) : STATUS_OK;
}

/* The analysis, and its file. `recorded`: the file that is replayed, NULL for a GPU that `info` describes. */
static enum status run_all(const struct characterize_options *options, const struct invocation *invocation,
                           struct probe_record *record, uint32_t sm_count, const struct device_info *info,
                           const struct recorded *recorded)
{
    struct characterization characterization;
    const double start = clock_seconds();
    char started[32];
    cJSON *root, *probes;
    enum status status;

    clock_utc(started);
    status = characterize(record, sm_count, progress, &characterization);
    if (status == STATUS_OK) {
        root = open_root(invocation, started);
        json_add_text(root, "replayed", recorded ? options->replay_path : NULL);
        json_add_double(root, "seconds", clock_seconds() - start);
        if (recorded)
            json_add(root, "device", cJSON_Duplicate(json_get(recorded->file, "device"), true));
        else
            write_device(info, root);
        probes = json_add(root, "probes", cJSON_CreateObject());
        json_add_integer(probes, "samples_max", record->source.samples_max);
        json_add_text(probes, "shared_carve_out", record->source.shared_carve_out);
        json_add_integer(probes, "chunk_bytes", record->source.chunk_bytes);
        write_bank_addresses(record->source.bank_address, json_add(probes, "bank_addresses", cJSON_CreateArray()));
        probe_record_write_kernels(record, json_add(probes, "kernels", cJSON_CreateArray()));
        characterization_write(&characterization, record, root);
        status = json_write(options->json_path, root);
        if (status == STATUS_OK && !quiet && strcmp(options->json_path, "-") != 0) {
            characterization_print(&characterization);
            printf("%.2f s; %s\n", clock_seconds() - start, options->json_path);
        }
        if (status == STATUS_OK)
            status = write_card(options, &characterization, root);
        cJSON_Delete(root);
    }
    characterization_close(&characterization);
    return status;
}

static enum status characterize_gpu(const void *parsed, const struct invocation *invocation)
{
    const struct characterize_options *options = parsed;
    struct probe_record record = {0};
    struct recorded recorded = {0};
    struct cuda_probe *probe = NULL;
    struct device_info info;
    enum status status;

    quiet = options->quiet;
    status = check_card(options);
    if (status != STATUS_OK)
        return status;
    if (options->replay_path) {
        status = read_recorded(options->replay_path, &recorded);
        record.source = recorded.record.source;
        record.replayed = &recorded.record;
        if (status == STATUS_OK)
            status = run_all(options, invocation, &record, recorded.sm_count, NULL, &recorded);
    } else {
        status = cuda_probe_open((uint32_t)options->ordinal, &probe, &info, &record.source);
        if (status == STATUS_OK)
            status = run_all(options, invocation, &record, info.sm_count, &info, NULL);
    }
    probe_record_close(&record);
    close_recorded(&recorded);
    cuda_probe_close(probe);
    return status;
}

const struct command characterize_command = {
    .name = "characterize",
    .summary = "Find out how the load paths of a GPU work: latencies, caches, serialization",
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct characterize_options),
    .details =
        "It measures the latency of a dependent load, what distinct addresses in a warp cost, throughput against resident warps,\n"
        "the caches behind each path, what launches and copies leave of the constant caches, and which SMs share one. The file\n"
        "has every answer of the probes, for --replay.",
    .run = characterize_gpu,
};
