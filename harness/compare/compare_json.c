/* SPDX-License-Identifier: MIT
 * The comparison as a document, schema results/comparison.schema.json. It is written and never read. */
#include "cell_json.h"
#include "compare_report.h"
#include "document.h"

/* A selection of rows, written as their names. */
static void write_selection(cJSON *object, const struct field *field, const void *base)
{
    const struct selection *selection = ((const struct compare_options *)base)->allowed;
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = 0; selection && i < selection->count; i++)
        json_append(array, cJSON_CreateString(*(const char *const *)selection->rows[i]));
}

static void write_confidence(cJSON *object, const struct field *field, const void *base)
{
    json_add_double(object, field->key, 1 - compare_level(base));
}

static void write_looks(cJSON *object, const struct field *field, const void *base)
{
    const unsigned looks = ((const struct compare_options *)base)->looks;

    json_add_integer(object, field->key, looks > 1 ? looks : 1);
}

static void write_summary(cJSON *object, const struct field *field, const void *base)
{
    char line[LINE_BYTES];

    summary_line(base, line);
    json_add_text(object, field->key, line);
}

static void write_settle(cJSON *object, const struct field *field, const void *base)
{
    char line[LINE_BYTES];

    settle_line(base, line);
    json_add_text(object, field->key, line);
}

static void write_status(cJSON *object, const struct field *field, const void *base)
{
    json_add_integer(object, field->key, (uint64_t)comparison_status(base));
}

/* How many there are of each verdict: a size_t each, by enum verdict. */
static void write_counts(cJSON *object, const struct field *field, const void *base)
{
    const size_t *counts = (const size_t *)((const char *)base + field->offset);
    cJSON *out = json_add(object, field->key, cJSON_CreateObject());

    for (size_t i = 0; i < verdict_count; i++)
        json_add_integer(out, verdict_rows[i].name, counts[i]);
}

static void write_verdict(cJSON *object, const struct field *field, const void *base)
{
    json_add_text(object, field->key, verdict_rows[*(const enum verdict *)((const char *)base + field->offset)].name);
}

static const struct field_kind kind_selection = {write_selection, NULL};
static const struct field_kind kind_confidence = {write_confidence, NULL};
static const struct field_kind kind_looks = {write_looks, NULL};
static const struct field_kind kind_summary = {write_summary, NULL};
static const struct field_kind kind_settle = {write_settle, NULL};
static const struct field_kind kind_status = {write_status, NULL};
static const struct field_kind kind_counts = {write_counts, NULL};
static const struct field_kind kind_verdict = {write_verdict, NULL};
static const struct names counter_kinds = {counter_kind_names, 2, NULL};

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
    {FIELD(kind_selection, struct compare_options, "allowed", allowed, REQUIRED)},
    {FIELD(field_pointer, struct compare_options, "calibration", calibration, NULLABLE), .of = &calibration_fields},
};
static const struct object options_object = {.fields = FIELDS(option_rows), .given = SIZE_MAX};

static const struct field difference_rows[] = {
    {FIELD(field_row, struct facet_difference, "facet", facet, REQUIRED)},
    {FIELD(field_bool, struct facet_difference, "allowed", allowed, REQUIRED)},
    {FIELD(field_text, struct facet_difference, "base", base, NULLABLE)},
    {FIELD(field_text, struct facet_difference, "new", new_text, NULLABLE)},
};
static const struct objects difference_list =
    OBJECTS_OF(difference_rows, struct facet_difference, struct comparison, difference_count);

static const struct field ratio_rows[] = {
    {FIELD(field_number, struct ratio, "value", value, REQUIRED)},
    {FIELD(field_number, struct ratio, "ci_low", ci_low, NULLABLE)},
    {FIELD(field_number, struct ratio, "ci_high", ci_high, NULLABLE)},
    {FIELD(field_number, struct ratio, "p", p, NULLABLE)},
};
static const struct object ratio_object = {.fields = FIELDS(ratio_rows),
                                           .given = offsetof(struct comparison_cell, timed)};

static const struct object deviation_object = {.fields = {deviation_rows, DEVIATION_ROWS},
                                               .given = offsetof(struct comparison_cell, has_deviation)};

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
    {FIELD(field_uint64, struct code_change, "first_from", from, NULLABLE)},
    {FIELD(field_uint64, struct code_change, "first_to", to, NULLABLE)},
    {FIELD(field_uint64, struct code_change, "first_other_opcode", opcode_at, NULLABLE)},
    {FIELD(field_text, struct code_change, "base_opcode", base_opcode, NULLABLE)},
    {FIELD(field_text, struct code_change, "new_opcode", new_opcode, NULLABLE)},
};
static const struct fields code_fields = FIELDS(code_rows);

static const struct field change_rows[] = {
    {FIELD(field_text, struct counter_change, "name", name, REQUIRED)},
    {FIELD(field_name, struct counter_change, "kind", kind, REQUIRED), .of = &counter_kinds},
    {FIELD(field_number, struct counter_change, "base", base, NULLABLE)},
    {FIELD(field_number, struct counter_change, "new", new_value, NULLABLE)},
};
static const struct objects change_list =
    OBJECTS_OF(change_rows, struct counter_change, struct comparison_cell, change_count);

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

static void write_gpu_identity(cJSON *object, const struct field *field, const void *base)
{
    (void)field;
    fields_write(object, &(const struct fields)FIELDS(identity_rows), gpu_identity(base));
}

static const struct field base_driver = {
    FIELD(field_text, struct side, "base_driver", identity.device.driver, NULLABLE)};
static const struct field new_driver = {FIELD(field_text, struct side, "new_driver", identity.device.driver, NULLABLE)};

static void write_uuid(cJSON *object, const struct field *field, const void *base)
{
    const char *uuid = gpu_identity(((const struct comparison_cell *)base)->gpu)->device.uuid;

    json_add_text(object, field->key, *uuid ? uuid : NULL);
}

static const struct field_kind kind_gpu_identity = {write_gpu_identity, NULL};
static const struct field_kind kind_uuid = {write_uuid, NULL};

static const struct field gpu_rows[] = {
    {.kind = &kind_gpu_identity},
    {FIELD(field_pointer, struct compared_gpu, NULL, sides[BASE], REQUIRED),
     .of = &(const struct fields){&base_driver, 1}},
    {FIELD(field_pointer, struct compared_gpu, NULL, sides[NEW], REQUIRED),
     .of = &(const struct fields){&new_driver, 1}},
    {FIELD(kind_verdict, struct compared_gpu, "verdict", verdict, REQUIRED)},
    {FIELD(field_array, struct compared_gpu, "differences", differences, REQUIRED),
     .of = &(const struct objects)OBJECTS_OF(difference_rows, struct facet_difference, struct compared_gpu,
                                             difference_count)},
    {FIELD(kind_counts, struct compared_gpu, "counts", counts, REQUIRED)},
    {FIELD(field_text, struct compared_gpu, "note", note, NULLABLE)},
};
static const struct objects gpu_list = OBJECTS_OF(gpu_rows, struct compared_gpu, struct comparison, gpu_count);

/* -- the comparison ------------------------------------------------------------------------------------ */

static const struct field cell_rows[] = {
    {FIELD(field_cell, struct comparison_cell, "", cell, REQUIRED)},
    {.key = "uuid", .kind = &kind_uuid},
    {FIELD(kind_verdict, struct comparison_cell, "verdict", verdict, REQUIRED)},
    {FIELD(field_number, struct comparison_cell, "base_ns", ns[BASE], NULLABLE)},
    {FIELD(field_number, struct comparison_cell, "new_ns", ns[NEW], NULLABLE)},
    {FIELD(field_object, struct comparison_cell, "ratio", ratio, NULLABLE), .of = &ratio_object},
    {FIELD(field_number, struct comparison_cell, "clock_ratio", clock_ratio, REQUIRED)},
    {FIELD(field_number, struct comparison_cell, "adjusted_p", adjusted_p, NULLABLE)},
    {FIELD(field_number, struct comparison_cell, "noise", noise, NULLABLE)},
    {FIELD(field_object, struct comparison_cell, "process_deviation", deviation, NULLABLE), .of = &deviation_object},
    {FIELD(field_number, struct comparison_cell, "degrees_of_freedom_of_sides", side_degrees, REQUIRED)},
    {FIELD(field_uint64, struct comparison_cell, "processes_to_settle", settle, NULLABLE)},
    {FIELD(field_bool, struct comparison_cell, "underpowered", underpowered, REQUIRED)},
    {FIELD(field_bool, struct comparison_cell, "same_data", same_data, REQUIRED)},
    {FIELD(field_bool, struct comparison_cell, "sass_differs", sass_differs, REQUIRED)},
    {FIELD(field_pointer, struct comparison_cell, "code", code, NULLABLE), .of = &code_fields},
    {FIELD(field_list, struct comparison_cell, "counters", changes, REQUIRED), .of = &change_list},
    {FIELD(field_text, struct comparison_cell, "note", note, NULLABLE)},
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
    {FIELD(field_array, struct comparison, "differences", differences, REQUIRED), .of = &difference_list},
    {FIELD(kind_counts, struct comparison, "counts", counts, REQUIRED)},
    {FIELD(field_list, struct comparison, "gpus", gpus, REQUIRED), .of = &gpu_list},
    {FIELD(field_list, struct comparison, "cells", cells, REQUIRED), .of = &cell_list},
};

static const struct document document = {
    .schema = "cbank-comparison",
    .what = "comparison",
    .major = 3,
    .minor = 3,
    .root = {.fields = FIELDS(rows), .given = SIZE_MAX},
};

enum status compare_json(FILE *stream, const void *comparison)
{
    return json_put_owned(stream, document_to_json(&document, comparison));
}
