/* SPDX-License-Identifier: MIT
 * The result as a document, schema results/schema.json: a table of fields for each object. */
#include <string.h>

#include "device_json.h"
#include "document.h"
#include "health_json.h"
#include "result.h"
#include "result_cell_json.h"
#include "table.h"

static void write_null_reasons(cJSON *object, const struct field *field, const void *base)
{
    cJSON *reasons = json_add(object, field->key, cJSON_CreateObject());

    if (!((const struct result *)base)->host.name[0])
        json_add_text(reasons, "host", "left out by --anonymous");
    if (!((const struct result *)base)->health.known)
        json_add_text(reasons, "health",
                      "errors of a device were not read: predictions have none, or NVML was not there");
    if (!((const struct result *)base)->temperature.known)
        json_add_text(reasons, "temperature", "not read: predictions have none, or NVML does not say");
    result_add_null_reasons(reasons);
}

static const struct field_kind kind_null_reasons = {write_null_reasons, NULL};

/* -- what wrote the file, and where --------------------------------------------------------------------- */

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
static const struct object end_object = {.fields = FIELDS(end_rows), .given = offsetof(struct result, end.given)};

static const struct field host_rows[] = {
    {FIELD(field_text, struct host, "name", name, NULLABLE)},
    {FIELD(field_text, struct host, "slot", slot, NULLABLE)},
    {FIELD(field_text, struct host, "job", job, NULLABLE)},
};
static const struct object host_object = {.fields = FIELDS(host_rows), .given = SIZE_MAX};

static const struct object health_object = {.fields = {health_fields, HEALTH_FIELDS},
                                            .given = offsetof(struct result, health.known)};

static const struct object temperature_object = {.fields = {temperature_fields, TEMPERATURE_FIELDS},
                                                 .given = offsetof(struct result, temperature.known)};

/* -- the result ---------------------------------------------------------------------------------------- */

static void write_engine(cJSON *object, const struct field *field, const void *base)
{
    json_add_text(object, field->key, ((const struct result *)base)->engine);
}

static void read_engine(const struct node *node, const struct field *field, void *base)
{
    static const struct table table = TABLE("engine", engine_kinds, engine_kind_count);
    const struct field alone = {.key = field->key, .kind = &field_row, .of = &table};
    const struct engine_kind *row = NULL;
    struct result *result = base;

    field_read(node, &alone, &row);
    if (row) {
        result->engine = row->name;
        result->modelled_time = row->modelled;
    }
}

static void write_confidence(cJSON *object, const struct field *field, const void *base)
{
    (void)base;
    json_add_double(object, field->key, STATS_CONFIDENCE);
}

static void read_confidence(const struct node *node, const struct field *field, void *base)
{
    double confidence = 0;

    (void)base;
    if (!json_get_double(node->json, field->key, &confidence) || confidence != STATS_CONFIDENCE)
        node_refuse(node, field->key, "0.95");
}

static void write_flag_reasons(cJSON *object, const struct field *field, const void *base)
{
    cJSON *reasons = json_add(object, field->key, cJSON_CreateObject());

    (void)base;
    for (size_t bit = 0; bit < CELL_FLAG_COUNT; bit++)
        json_add_text(reasons, cell_flag_names[bit], cell_flag_reasons[bit]);
}

static const struct field_kind kind_engine = {write_engine, read_engine};
static const struct field_kind kind_confidence = {write_confidence, read_confidence};
static const struct field_kind kind_flag_reasons = {write_flag_reasons, NULL};

static const struct field phase_rows[] = {
    {FIELD(field_reference, struct phase_time, "name", name, REQUIRED)},
    {FIELD(field_number, struct phase_time, "seconds", seconds, REQUIRED)},
};
static const struct objects phase_list = {
    .fields = FIELDS(phase_rows),
    .element_bytes = sizeof(struct phase_time),
    .count = offsetof(struct result, phase_count),
    .max = RESULT_PHASES_MAX,
    .line = true,
};

static const struct field result_rows[] = {
    {WITHIN("tool", field_object), .of = &tool_object},
    {FIELD(field_object, struct result, "host", host, NULLABLE), .of = &host_object},
    {WITHIN("engine", kind_engine)},
    {FIELD(field_text, struct result, "started_utc", started_utc, REQUIRED)},
    {FIELD(field_text, struct result, "finished_utc", finished_utc, NULLABLE)},
    {FIELD(field_bool, struct result, "complete", complete, REQUIRED)},
    {FIELD(field_object, struct result, "ended", end, NULLABLE), .of = &end_object},
    {FIELD(field_uint64, struct result, "seed", seed, REQUIRED)},
    {FIELD(field_number, struct result, "max_noise", max_noise, REQUIRED)},
    {FIELD(field_number, struct result, "sample_us", sample_us, REQUIRED), .low = 0, .high = 1e9},
    {FIELD(field_uint32, struct result, "samples_max", samples_max, REQUIRED)},
    {FIELD(field_number, struct result, "seconds_max", seconds_max, REQUIRED), .low = 0, .high = 1e9},
    {FIELD(field_text, struct result, "counters_asked", counters_asked, REQUIRED)},
    {FIELD(field_text, struct result, "counters_reason", counters_reason, NULLABLE)},
    {WITHIN("confidence", kind_confidence)},
    {FIELD(field_object, struct result, "device", device, REQUIRED), .of = &device_object},
    {FIELD(field_object, struct result, "health", health, NULLABLE), .of = &health_object},
    {FIELD(field_object, struct result, "temperature", temperature, LATER), .of = &temperature_object},
    {FIELD(field_array, struct result, "phases", phases, REQUIRED), .of = &phase_list},
    {WITHIN("flag_reasons", kind_flag_reasons)},
    {WITHIN("null_reasons", kind_null_reasons)},
    {WITHIN("exact_counters", kind_exact_counters)},
    {FIELD(field_list, struct result, "cells", cells, REQUIRED), .of = &result_cells},
    {WITHIN("code", kind_code)},
};

static const struct document result_document = {
    .schema = "cbank-result",
    .what = "result",
    .remedy = "give a file that cbank run wrote",
    .major = 1,
    .minor = 0,
    .root = {.fields = FIELDS(result_rows), .given = SIZE_MAX},
};

enum status result_write(const struct result *result, const char *path)
{
    return document_write(&result_document, result, path);
}

/* Strings of the result lie in the tree. The result owns it; after an error it is deleted. */
static enum status take(const char *name, enum status parsed, cJSON *tree, struct result *out)
{
    enum status status;

    *out = (struct result){.storage = tree, .free_storage = json_free};
    if (parsed != STATUS_OK)
        return parsed;
    status = document_take(&result_document, name, tree, out);
    if (status != STATUS_OK)
        result_close(out);
    return status;
}

enum status result_read(const char *path, struct result *out)
{
    cJSON *tree;
    const enum status status = json_read_file(path, &tree);

    return take(path, status, tree, out);
}

enum status result_parse(const char *name, const char *text, size_t bytes, struct result *out)
{
    cJSON *tree;
    const enum status status = json_parse(name, text, bytes, &tree);

    return take(name, status, tree, out);
}
