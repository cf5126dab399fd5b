/* SPDX-License-Identifier: MIT
 * The result as a document, schema results/schema.json: a table of fields for each object. */
#include <string.h>

#include "device_json.h"
#include "document.h"
#include "result.h"
#include "result_cell_json.h"

#define NULL_KEYS(EACH)                                                                       \
    EACH("host", "left out by --anonymous")                                                   \
    EACH("health",                                                                            \
         "errors of a device were not read: predictions have none, or NVML was not there")    \
    EACH("temperature", "not read: predictions have none, or NVML does not say")              \
    EACH("board", "of predictions, and of results before it was recorded")                    \
    EACH("process_deviation",                                                                 \
         "one process cannot say how far processes differ: cbank calibrate measures it")      \
    EACH("indices", "of cells whose indices a formula gives")                                 \
    EACH("grid_blocks", "of cells whose grid has a thread for each element")                  \
    EACH("buffer_sets", "of cells that were not sampled to the end")                          \
    EACH("table_offsets", "of cells that were not sampled to the end")                        \
    EACH("code_copies", "of cells that were not sampled to the end")                          \
    EACH("buffer_set_deviation", "of cells with fewer than two buffer sets")                  \
    EACH("autocorrelation", "of cells with fewer than 8 samples")                             \
    EACH("modes",                                                                             \
         "of cells with fewer than 20 samples, or whose buffer sets differ and had one each") \
    EACH("outliers", "of cells that were not sampled to the end")                             \
    EACH("contended", "of cells that were not sampled to the end")                            \
    EACH("array_bytes", "of users' kernels, whose tables are in their files")                 \
    EACH("width_bytes", "of users' kernels, whose tables are in their files")                 \
    EACH("table_bytes", "of users' kernels, whose tables are in their files")
#define KEY(key, reason)    key,
#define REASON(key, reason) reason,

/* Keys that may be null, and why they are where they are. */
static const char *const null_keys[] = {NULL_KEYS(KEY)};
static const char *const null_reasons[] = {NULL_KEYS(REASON)};
static const struct keyed_texts null_texts = {null_keys, null_reasons,
                                              sizeof(null_keys) / sizeof(null_keys[0])};
static const struct keyed_texts flag_texts = {cell_flag_names, cell_flag_reasons, CELL_FLAG_COUNT};

/* -- what wrote the file, where, and how the device was ---------------------------------------- */

static const struct field tool_rows[] = {
    {FIELD(field_reference, struct result, "name", tool.name, REQUIRED)},
    {FIELD(field_reference, struct result, "version", tool.version, REQUIRED)},
    {FIELD(field_reference, struct result, "git_commit", tool.git_commit, NULLABLE)},
    {FIELD(field_bool, struct result, "git_dirty", tool.git_dirty, NULLABLE)},
    {FIELD(field_text, struct result, "argv", argv, REQUIRED)},
    {FIELD(field_reference, struct result, "compiler", tool.compiler, NULLABLE)},
    {FIELD(field_reference, struct result, "cuda_toolkit", tool.cuda_toolkit, NULLABLE)},
    {FIELD(field_words, struct result, "architectures", architectures, NULLABLE)},
};
static const struct object tool_object = {.fields = FIELDS(tool_rows), .given = SIZE_MAX};

static const struct field end_rows[] = {
    {FIELD(field_text, struct run_end, "reason", reason, REQUIRED)},
    {FIELD(field_text, struct run_end, "cell", cell, NULLABLE)},
};
static const struct object end_object = {.fields = FIELDS(end_rows),
                                         .given = offsetof(struct result, end.given)};

static const struct field host_rows[] = {
    {FIELD(field_text, struct host, "name", name, NULLABLE)},
    {FIELD(field_text, struct host, "slot", slot, NULLABLE)},
    {FIELD(field_text, struct host, "job", job, NULLABLE)},
};
const struct object host_object = {.fields = FIELDS(host_rows), .given = SIZE_MAX};

static const struct keyed_texts unread = {health_keys, NULL, HEALTH_QUANTITIES};

/* A quantity as a field of a reading. Counts are numbers, not strings, up to 2^53. */
static struct field quantity_field(size_t quantity)
{
    return (struct field){
        .key = health_keys[quantity],
        .kind = health_rows[quantity].state ? &field_state : &field_optional,
        .presence = NULLABLE,
        .offset = offsetof(struct health_reading, values[quantity]),
        .high = 9007199254740992,
    };
}

static void write_quantities(cJSON *object, const struct field *field, const void *base)
{
    (void)field;
    for (size_t i = 0; i < HEALTH_QUANTITIES; i++) {
        const struct field quantity = quantity_field(i);

        quantity.kind->write(object, &quantity, base);
    }
}

static void read_quantities(const struct node *node, const struct field *field, void *base)
{
    (void)field;
    for (size_t i = 0; i < HEALTH_QUANTITIES && !node_failed(node); i++) {
        const struct field quantity = quantity_field(i);

        field_read(node, &quantity, base);
    }
}

static const struct field_kind kind_quantities = {write_quantities, read_quantities};
static const struct field reading_fields[] = {{.kind = &kind_quantities}};
static const struct object reading = {.fields = FIELDS(reading_fields), .given = SIZE_MAX};

static const struct field xid_fields[] = {
    {FIELD(field_uint32, struct xid, "number", number, REQUIRED)},
};
static const struct objects xid_list = {OBJECTS(xid_fields, struct xid, struct health, xid_count),
                                        .max = HEALTH_XIDS_MAX, .line = true};

static const struct names quantities =
    NAMES(health_keys, HEALTH_QUANTITIES, "an array of keys of health.before");

static const struct field health_fields[] = {
    {FIELD(field_object, struct health, "before", before, REQUIRED), .of = &reading},
    {FIELD(field_object, struct health, "after", after, REQUIRED), .of = &reading},
    {FIELD(field_bits, struct health, "grew", grew, REQUIRED), .of = &quantities},
    {FIELD(field_array, struct health, "xids", xids, REQUIRED), .of = &xid_list},
    {FIELD(field_texts, struct health, "reasons", reasons, REQUIRED), .of = &unread},
};

static const struct field temperature_rows[] = {
    {FIELD(field_number, struct temperature, "before_celsius", before_celsius, REQUIRED)},
    {FIELD(field_number, struct temperature, "after_celsius", after_celsius, REQUIRED)},
};

static const struct field duration_rows[] = {
    {FIELD(field_number, struct duration_method, "empty_ns", empty_ns, NULLABLE), .low = 0,
     .high = 1e15},
    {FIELD(field_number, struct duration_method, "resolution_ns", resolution_ns, NULLABLE),
     .low = 0, .high = 1e15},
    {FIELD(field_text, struct duration_method, "null_reason", reason, NULLABLE)},
};
static const struct object duration_object = {.fields = FIELDS(duration_rows),
                                              .given =
                                                  offsetof(struct result, duration_method.given)};
static const struct object health_object = {.fields = FIELDS(health_fields),
                                            .given = offsetof(struct result, health.known)};
static const struct object temperature_object = {.fields = FIELDS(temperature_rows),
                                                 .given =
                                                     offsetof(struct result, temperature.known)};

/* -- the result -------------------------------------------------------------------------------- */

/* The engine, and what it says of times. */
static void check_result(const struct node *node, void *member)
{
    struct result *result = member;

    for (size_t i = 0; i < engine_kind_count; i++)
        if (strcmp(engine_kinds[i].name, result->engine) == 0) {
            result->modelled_time = engine_kinds[i].modelled;
            return;
        }
    node_wrong_member(node, "engine", "this build has no engine '%s'", result->engine);
}

static const struct field phase_rows[] = {
    {FIELD(field_reference, struct phase_time, "name", name, REQUIRED)},
    {FIELD(field_number, struct phase_time, "seconds", seconds, REQUIRED)},
};
static const struct objects phase_list = {OBJECTS(phase_rows, struct phase_time, struct result,
                                                  phase_count),
                                          .max = RESULT_PHASES_MAX, .line = true};

static const struct field kernel_rows[] = {
    {FIELD(field_text, struct result_kernel, "name", name, REQUIRED), .low = 1},
    {FIELD(field_reference, struct result_kernel, "file", file, REQUIRED)},
    {FIELD(field_uint32, struct result_kernel, "line", line, REQUIRED)},
    {FIELD(field_text, struct result_kernel, "sha256", sha256, REQUIRED)},
    {FIELD(field_text, struct result_kernel, "compiler", compiler, REQUIRED)},
    {FIELD(field_text, struct result_kernel, "headers_sha256", headers_sha256, OMITTED)},
    {FIELD(field_reference, struct result_kernel, "options", options, NULLABLE)},
    {FIELD(field_number, struct result_kernel, "compile_seconds", compile_seconds, REQUIRED),
     .low = 0, .high = 1e9},
    {FIELD(field_bool, struct result_kernel, "against", against, OMITTED)},
};
static const struct objects kernel_list = {OBJECTS(kernel_rows, struct result_kernel, struct result,
                                                   kernel_count),
                                           .max = 4096};

static const struct field result_rows[] = {
    {WITHIN("tool", field_object), .of = &tool_object},
    {FIELD(field_object, struct result, "host", host, NULLABLE), .of = &host_object},
    {FIELD(field_reference, struct result, "engine", engine, REQUIRED)},
    {FIELD(field_text, struct result, "started_utc", started_utc, REQUIRED)},
    {FIELD(field_text, struct result, "finished_utc", finished_utc, NULLABLE)},
    {FIELD(field_bool, struct result, "complete", complete, REQUIRED)},
    {FIELD(field_object, struct result, "ended", end, NULLABLE), .of = &end_object},
    {FIELD(field_uint64, struct result, "seed", seed, REQUIRED)},
    {FIELD(field_number, struct result, "max_noise", max_noise, REQUIRED)},
    {FIELD(field_number, struct result, "sample_us", sample_us, REQUIRED), .low = 0, .high = 1e9},
    {FIELD(field_uint32, struct result, "samples_max", samples_max, REQUIRED)},
    {FIELD(field_number, struct result, "seconds_max", seconds_max, REQUIRED), .low = 0,
     .high = 1e9},
    {FIELD(field_text, struct result, "counters_asked", counters_asked, REQUIRED)},
    {FIELD(field_text, struct result, "counters_reason", counters_reason, NULLABLE)},
    {FIELD(field_number, struct result, "confidence", confidence, REQUIRED),
     .low = STATS_CONFIDENCE, .high = STATS_CONFIDENCE},
    {FIELD(field_object, struct result, "device", device, REQUIRED), .of = &device_object},
    {FIELD(field_object, struct result, "health", health, NULLABLE), .of = &health_object},
    {FIELD(field_object, struct result, "temperature", temperature, LATER),
     .of = &temperature_object},
    {FIELD(field_object, struct result, "duration_method", duration_method, OMITTED),
     .of = &duration_object},
    {FIELD(field_array, struct result, "phases", phases, REQUIRED), .of = &phase_list},
    {WITHIN("flag_reasons", field_texts), .of = &flag_texts},
    {WITHIN("null_reasons", field_texts), .of = &null_texts},
    {WITHIN("exact_counters", kind_exact_counters), .of = &result_cells},
    {FIELD(field_list, struct result, "kernel_files", kernels, OMITTED), .of = &kernel_list},
    {FIELD(field_list, struct result, "cells", cells, REQUIRED), .of = &result_cells},
    {WITHIN("code", kind_code)},
};

static const struct document result_document = {
    .schema = "cbank-result",
    .what = "result",
    .remedy = "give a file that cbank run wrote",
    .major = 1,
    .minor = 1,
    .root = {.fields = FIELDS(result_rows), .given = SIZE_MAX, .check = check_result},
};

enum status result_write(const struct result *result, const char *path)
{
    return document_write(&result_document, result, path);
}

enum status result_put(FILE *stream, const struct result *result)
{
    return json_put_owned(stream, document_to_json(&result_document, result));
}

enum status result_take(const char *name, cJSON *tree, struct result *out)
{
    enum status status;

    *out = (struct result){.storage = tree, .free_storage = json_free};
    status = document_take(&result_document, name, tree, out);
    if (status != STATUS_OK)
        result_close(out);
    return status;
}

enum status result_parse(const char *name, const char *text, size_t bytes, struct result *out)
{
    cJSON *tree;
    const enum status status = json_parse(name, text, bytes, &tree);

    *out = (struct result){0};
    return status == STATUS_OK ? result_take(name, tree, out) : status;
}
