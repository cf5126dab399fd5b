/* SPDX-License-Identifier: MIT
 * The comparison as a document, schema results/comparison.schema.json. It is written and never read. */
#include "cell_json.h"
#include "code_change.h"
#include "compare_report.h"
#include "document.h"

/* A value that follows from the struct at base, or from a member of it. */
#define WRITER(name)                                                                      \
    static void write_##name(cJSON *object, const struct field *field, const void *base); \
    static const struct field_kind kind_##name = {write_##name, NULL};                    \
    static void write_##name(cJSON *object, const struct field *field, const void *base)

WRITER(allowed)
{
    const struct selection *selection = ((const struct compare_options *)base)->allowed;
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = 0; selection && i < selection->count; i++)
        json_append(array, cJSON_CreateString(*(const char *const *)selection->rows[i]));
}

WRITER(confidence)
{
    const struct judge_options options = {.looks = ((const struct compare_options *)base)->looks};

    json_add_double(object, field->key, 1 - judge_level(&options));
}

WRITER(looks)
{
    const unsigned looks = ((const struct compare_options *)base)->looks;

    json_add_integer(object, field->key, looks > 1 ? looks : 1);
}

WRITER(summary)
{
    char line[LINE_BYTES];

    summary_line(base, line);
    json_add_text(object, field->key, line);
}

WRITER(settle)
{
    char line[LINE_BYTES];

    settle_line(base, line);
    json_add_text(object, field->key, line);
}

WRITER(status)
{
    json_add_integer(object, field->key, (uint64_t)comparison_status(base));
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
                  verdict_rows[*(const enum cell_verdict *)((const char *)base + field->offset)].name);
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
        context_texts(comparison, i, texts[BASE], texts[NEW]);
        difference = json_append(array, cJSON_CreateObject());
        json_add_text(difference, "facet", context_fields[i].name);
        cJSON_AddBoolToObject(difference, "allowed", !(comparison->refused >> i & 1));
        for (size_t side = 0; side < SIDES; side++)
            json_add_text(difference, side_names[side], texts[side][0] ? texts[side] : NULL);
    }
}

/* -- sides and options --------------------------------------------------------------------------------- */

static const struct field side_rows[] = {
    {FIELD(field_text, struct side, "label", label, REQUIRED)},
    {FIELD(field_uint64, struct side, "results", files, REQUIRED)},
    {FIELD(field_uint64, struct side, "incomplete", incomplete, REQUIRED)},
    {FIELD(field_text, struct side, "engine", identity.engine, REQUIRED)},
    {FIELD(field_bool, struct side, "modelled", identity.modelled, REQUIRED)},
    {FIELD(field_object, struct side, "device", identity.device, REQUIRED), .of = &device_object},
    {FIELD(field_text, struct side, "started_utc", identity.started_utc, NULLABLE)},
};
static const struct fields side_fields = FIELDS(side_rows);

static const struct field option_rows[] = {
    {FIELD(field_number, struct compare_options, "threshold", threshold, REQUIRED)},
    {FIELD(field_number, struct compare_options, "counter_threshold", counter_threshold, REQUIRED)},
    {.key = "confidence", .kind = &kind_confidence},
    {.key = "looks", .kind = &kind_looks},
    {.key = "allowed", .kind = &kind_allowed},
    {FIELD(field_pointer, struct compare_options, "calibration", calibration, NULLABLE), .of = &calibration_fields},
};
static const struct object options_object = {.fields = FIELDS(option_rows), .given = SIZE_MAX};

/* -- GPUs ---------------------------------------------------------------------------------------------- */

static const struct field host_rows[] = {
    {FIELD(field_text, struct host, "name", name, NULLABLE)},
    {FIELD(field_text, struct host, "slot", slot, NULLABLE)},
    {FIELD(field_text, struct host, "job", job, NULLABLE)},
};
static const struct object host_object = {.fields = FIELDS(host_rows), .given = SIZE_MAX};

static const struct field identity_rows[] = {
    {FIELD(field_text, struct side_identity, "uuid", device.uuid, NULLABLE)},
    {FIELD(field_text, struct side_identity, "name", device.name, NULLABLE)},
    {FIELD(field_object, struct side_identity, "host", host, REQUIRED), .of = &host_object},
};

WRITER(gpu_identity)
{
    (void)field;
    fields_write(object, &(const struct fields)FIELDS(identity_rows), gpu_identity(base));
}

static const struct field gpu_rows[] = {
    {.kind = &kind_gpu_identity},
    {FIELD(kind_verdict, struct compared_gpu, "verdict", verdict, REQUIRED)},
    {FIELD(field_bool, struct compared_gpu, "comparable", comparable, REQUIRED)},
    {FIELD(kind_counts, struct compared_gpu, "counts", counts, REQUIRED)},
};
static const struct objects gpu_list = OBJECTS_OF(gpu_rows, struct compared_gpu, struct comparison, gpu_count);

/* -- cells --------------------------------------------------------------------------------------------- */

WRITER(uuid)
{
    const char *uuid = gpu_identity(((const struct comparison_cell *)base)->gpu)->device.uuid;

    json_add_text(object, field->key, *uuid ? uuid : NULL);
}

static const struct field opcode_rows[] = {
    {FIELD(field_text, struct opcode_change, "opcode", opcode, REQUIRED)},
    {FIELD(field_uint64, struct opcode_change, "base", base, REQUIRED)},
    {FIELD(field_uint64, struct opcode_change, "new", new_count, REQUIRED)},
};
static const struct objects opcode_list =
    OBJECTS_OF(opcode_rows, struct opcode_change, struct code_change, opcode_count);

static const struct field code_rows[] = {
    {FIELD(field_uint64, struct code_change, "base_instructions", base_instructions, REQUIRED)},
    {FIELD(field_uint64, struct code_change, "new_instructions", new_instructions, REQUIRED)},
    {FIELD(field_array, struct code_change, "opcodes", opcodes, REQUIRED), .of = &opcode_list},
    {FIELD(field_uint64, struct code_change, "first_other_opcode", opcode_at, NULLABLE)},
    {FIELD(field_text, struct code_change, "base_opcode", base_opcode, NULLABLE)},
    {FIELD(field_text, struct code_change, "new_opcode", new_opcode, NULLABLE)},
};

WRITER(code)
{
    const struct comparison_cell *cell = base;
    struct code_change change;

    if (cell->sass_differs && code_compare(cell->sides[BASE]->code, cell->sides[NEW]->code, &change))
        fields_write(json_add(object, field->key, cJSON_CreateObject()), &(const struct fields)FIELDS(code_rows),
                     &change);
    else
        json_add_text(object, field->key, NULL);
}

static const struct names counter_kinds = {counter_kind_names, 2, NULL};

static const struct field change_rows[] = {
    {FIELD(field_reference, struct counter_change, "name", name, REQUIRED)},
    {FIELD(field_name, struct counter_change, "kind", kind, REQUIRED), .of = &counter_kinds},
    {FIELD(field_number, struct counter_change, "base", base, NULLABLE)},
    {FIELD(field_number, struct counter_change, "new", new_value, NULLABLE)},
};
static const struct objects change_list =
    OBJECTS_OF(change_rows, struct counter_change, struct comparison_cell, change_count);

static const struct field ratio_rows[] = {
    {FIELD(field_number, struct ratio, "value", value, REQUIRED)},
    {FIELD(field_number, struct ratio, "ci_low", ci_low, NULLABLE)},
    {FIELD(field_number, struct ratio, "ci_high", ci_high, NULLABLE)},
    {FIELD(field_number, struct ratio, "p", p, NULLABLE)},
};
static const struct object ratio_object = {.fields = FIELDS(ratio_rows),
                                           .given = offsetof(struct comparison_cell, timed)};
static const struct object deviation_object = {.fields = {deviation_rows, DEVIATION_ROWS},
                                               .given = offsetof(struct comparison_cell, judged.has_deviation)};

#define CELL(kind, key, member, presence) FIELD(kind, struct comparison_cell, key, member, presence)

static const struct field cell_rows[] = {
    {CELL(field_cell, "", cell, REQUIRED)},
    {.key = "uuid", .kind = &kind_uuid},
    {CELL(kind_verdict, "verdict", verdict, REQUIRED)},
    {CELL(field_number, "base_ns", judged.sides[BASE].estimate.ns, NULLABLE)},
    {CELL(field_number, "new_ns", judged.sides[NEW].estimate.ns, NULLABLE)},
    {CELL(field_object, "ratio", judged.ratio, NULLABLE), .of = &ratio_object},
    {CELL(field_number, "clock_ratio", judged.clock_ratio, REQUIRED)},
    {CELL(field_number, "adjusted_p", judged.adjusted_p, NULLABLE)},
    {CELL(field_number, "noise", judged.noise, NULLABLE)},
    {CELL(field_object, "process_deviation", judged.deviation, NULLABLE), .of = &deviation_object},
    {CELL(field_number, "degrees_of_freedom_of_sides", judged.side_degrees, REQUIRED)},
    {CELL(field_uint64, "processes_to_settle", judged.settle, NULLABLE)},
    {CELL(field_bool, "underpowered", judged.underpowered, REQUIRED)},
    {CELL(field_bool, "same_data", judged.same_data, REQUIRED)},
    {CELL(field_bool, "sass_differs", sass_differs, REQUIRED)},
    {.key = "code", .kind = &kind_code},
    {CELL(field_list, "counters", changes, REQUIRED), .of = &change_list},
    {CELL(field_text, "note", note, NULLABLE)},
};
static const struct objects cell_list = OBJECTS_OF(cell_rows, struct comparison_cell, struct comparison, cell_count);

static const struct field rows[] = {
    {.key = "summary", .kind = &kind_summary},
    {.key = "to_settle", .kind = &kind_settle},
    {FIELD(field_bool, struct comparison, "comparable", comparable, REQUIRED)},
    {.key = "status", .kind = &kind_status},
    {FIELD(field_pointer, struct comparison, "base", sides[BASE], REQUIRED), .of = &side_fields},
    {FIELD(field_pointer, struct comparison, "new", sides[NEW], REQUIRED), .of = &side_fields},
    {FIELD(field_object, struct comparison, "options", options, REQUIRED), .of = &options_object},
    {FIELD(field_bool, struct comparison, "plans_differ", plans_differ, REQUIRED)},
    {.key = "differences", .kind = &kind_differences},
    {FIELD(kind_counts, struct comparison, "counts", counts, REQUIRED)},
    {FIELD(field_list, struct comparison, "gpus", gpus, REQUIRED), .of = &gpu_list},
    {FIELD(field_list, struct comparison, "cells", cells, REQUIRED), .of = &cell_list},
};

static const struct document document = {
    .schema = "cbank-comparison",
    .what = "comparison",
    .major = 4,
    .minor = 0,
    .root = {.fields = FIELDS(rows), .given = SIZE_MAX},
};

enum status compare_json(FILE *stream, const void *comparison)
{
    return json_put_owned(stream, document_to_json(&document, comparison));
}
