/* SPDX-License-Identifier: MIT
 * The comparison as a document, schema results/comparison.schema.json. It is written and never
 * read. */
#include <math.h>

#include "cell_json.h"
#include "device_json.h"
#include "document.h"
#include "judge_json.h"
#include "report.h"
#include "report_words.h"

/* A value that follows from the struct at base, or from a member of it. */
#define WRITER(name)                                                                      \
    static void write_##name(cJSON *object, const struct field *field, const void *base); \
    static const struct field_kind kind_##name = {write_##name, NULL};                    \
    static void write_##name(cJSON *object, const struct field *field, const void *base)

WRITER(options)
{
    const struct compare_options *options = &((const struct comparison *)base)->options;
    cJSON *out = json_add(object, field->key, cJSON_CreateObject()), *allowed;

    json_add_double(out, "threshold", options->judge.threshold);
    json_add_double(out, "counter_threshold", COUNTER_THRESHOLD);
    json_add_double(out, "confidence", 1 - judge_level(&options->judge));
    json_add_integer(out, "interim_analyses", 1 + options->judge.other_analyses);
    allowed = json_add(out, "allowed", cJSON_CreateArray());
    for (size_t i = 0; options->allowed && i < options->allowed->count; i++)
        json_append(allowed, cJSON_CreateString(*(const char *const *)options->allowed->rows[i]));
    if (options->calibration)
        fields_write(json_add(out, "calibration", cJSON_CreateObject()), &calibration_fields,
                     options->calibration);
    else
        json_add_text(out, "calibration", NULL);
    json_add_text(out, "boards", options->boards ? options->boards->total.label : NULL);
}

/* The summary, and what follows from all cells. */
WRITER(summary)
{
    char line[LINE_BYTES];

    summary_line(base, line);
    json_add_text(object, field->key, line);
    settle_line(base, line);
    json_add_text(object, "to_decide", *line ? line : NULL);
    json_add_integer(object, "status", (uint64_t)comparison_status(base, true));
}

WRITER(counts)
{
    const size_t *counts = (const size_t *)((const char *)base + field->offset);
    cJSON *out = json_add(object, field->key, cJSON_CreateObject());

    for (size_t i = 0; i < VERDICTS; i++)
        json_add_integer(out, verdict_rows[i].name, counts[i]);
}

WRITER(verdict)
{
    json_add_text(object, field->key,
                  verdict_rows[*(const enum cell_verdict *)((const char *)base + field->offset)]
                      .name);
}

WRITER(differences)
{
    const struct comparison *comparison = base;
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = 0; i < context_field_count; i++) {
        char texts[SIDES][DEVICE_TEXT_BYTES];
        cJSON *difference;

        if (!(comparison->differing >> i & 1))
            continue;
        context_texts(comparison, i, texts);
        difference = json_append(array, cJSON_CreateObject());
        json_add_text(difference, "context_field", context_fields[i].name);
        cJSON_AddBoolToObject(difference, "allowed", !(comparison->refused >> i & 1));
        for (size_t side = 0; side < SIDES; side++)
            json_add_text(difference, side_names[side], texts[side][0] ? texts[side] : NULL);
    }
}

static const struct field side_rows[] = {
    {FIELD(field_text, struct side, "label", label, REQUIRED)},
    {FIELD(field_uint64, struct side, "results", files, REQUIRED)},
    {FIELD(field_uint64, struct side, "incomplete", incomplete, REQUIRED)},
    {FIELD(field_uint64, struct side, "findings", findings, REQUIRED)},
    {FIELD(field_text, struct side, "engine", identity.engine, REQUIRED)},
    {FIELD(field_bool, struct side, "modelled", identity.modelled, REQUIRED)},
    {FIELD(field_object, struct side, "device", identity.device, REQUIRED), .of = &device_object},
    {FIELD(field_text, struct side, "started_utc", identity.started_utc, NULLABLE)},
};
static const struct fields side_fields = FIELDS(side_rows);

static const struct field gpu_identity_rows[] = {
    {FIELD(field_text, struct side_identity, "uuid", device.uuid, NULLABLE)},
    {FIELD(field_text, struct side_identity, "name", device.name, NULLABLE)},
    {FIELD(field_object, struct side_identity, "host", host, REQUIRED), .of = &host_object},
};
static const struct fields gpu_identity_fields = FIELDS(gpu_identity_rows);

static const struct field gpu_rows[] = {
    {FIELD(field_pointer, struct compared_gpu, NULL, identity, REQUIRED),
     .of = &gpu_identity_fields},
    {FIELD(kind_verdict, struct compared_gpu, "verdict", verdict, REQUIRED)},
    {FIELD(field_bool, struct compared_gpu, "comparable", comparable, REQUIRED)},
    {FIELD(field_number, struct compared_gpu, "occasion_weight", occasions, REQUIRED)},
    {FIELD(field_number, struct compared_gpu, "later_weight", later, REQUIRED)},
    {FIELD(kind_counts, struct compared_gpu, "counts", counts, REQUIRED)},
};
static const struct objects gpu_list = {
    OBJECTS(gpu_rows, struct compared_gpu, struct comparison, gpu_count)};

WRITER(uuid)
{
    const char *uuid = ((const struct comparison_cell *)base)->gpu->identity->device.uuid;

    json_add_text(object, field->key, *uuid ? uuid : NULL);
}

WRITER(code)
{
    const struct comparison_cell *cell = base;
    char line[LINE_BYTES];
    const bool known =
        (cell->sass_differs || cell->code_moved) &&
        code_change(cell->sides[BASE]->code, cell->sides[NEW]->code, line, sizeof(line));

    json_add_text(object, field->key, known ? line : NULL);
}

static const struct names code_parts = NAMES(code_part_names, CODE_PARTS, NULL);
static const struct names counter_kinds = {counter_kind_names, 2, NULL};

static const struct field change_rows[] = {
    {FIELD(field_reference, struct counter_change, "name", name, REQUIRED)},
    {FIELD(field_name, struct counter_change, "kind", kind, REQUIRED), .of = &counter_kinds},
    {FIELD(field_number, struct counter_change, "base", base, NULLABLE)},
    {FIELD(field_number, struct counter_change, "new", new_value, NULLABLE)},
};
static const struct objects change_list =
    OBJECTS_OF(change_rows, struct counter_change, struct comparison_cell, change_count);

/* The judge's question and answer, which cbank compare --batch writes alike. */
WRITER(judged)
{
    (void)field;
    fields_write(object, &judged_fields, &((const struct comparison_cell *)base)->judged);
}

#define CELL(kind, key, member, presence) FIELD(kind, struct comparison_cell, key, member, presence)

static const struct field cell_rows[] = {
    {CELL(field_cell, "", cell, REQUIRED)},
    {.key = "uuid", .kind = &kind_uuid},
    {CELL(kind_verdict, "verdict", verdict, REQUIRED)},
    {.kind = &kind_judged},
    {CELL(field_bool, "sass_differs", sass_differs, REQUIRED)},
    {.key = "code", .kind = &kind_code},
    {CELL(field_bits, "code_moved", code_moved, REQUIRED), .of = &code_parts},
    {CELL(field_list, "counters", changes, REQUIRED), .of = &change_list},
    {CELL(field_text, "note", note, NULLABLE)},
};
static const struct objects cell_list = {
    OBJECTS(cell_rows, struct comparison_cell, struct comparison, cell_count)};

static const struct field rows[] = {
    {.key = "summary", .kind = &kind_summary},
    {FIELD(field_bool, struct comparison, "comparable", comparable, REQUIRED)},
    {FIELD(field_pointer, struct comparison, "base", sides[BASE], REQUIRED), .of = &side_fields},
    {FIELD(field_pointer, struct comparison, "new", sides[NEW], REQUIRED), .of = &side_fields},
    {.key = "options", .kind = &kind_options},
    {FIELD(field_bool, struct comparison, "plans_differ", plans_differ, REQUIRED)},
    {.key = "differences", .kind = &kind_differences},
    {FIELD(kind_counts, struct comparison, "counts", counts, REQUIRED)},
    {FIELD(field_list, struct comparison, "gpus", gpus, REQUIRED), .of = &gpu_list},
    {FIELD(field_list, struct comparison, "cells", cells, REQUIRED), .of = &cell_list},
};

static const struct document document = {
    .schema = "cbank-comparison",
    .what = "comparison",
    .major = 1,
    .minor = 2,
    .root = {.fields = FIELDS(rows), .given = SIZE_MAX},
};

static enum status write_json(FILE *stream, const struct comparison *comparison,
                              const struct report_view *view)
{
    (void)view;
    return json_put_owned(stream, document_to_json(&document, comparison));
}

const struct report_format report_json = {.write = write_json};
