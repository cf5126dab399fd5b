/* SPDX-License-Identifier: MIT
 * The comparison as a document, schema results/comparison.schema.json. It is written and never read. */
#include "cell_json.h"
#include "compare_lines.h"
#include "compare_report.h"
#include "document.h"
#include "stats.h"

static const struct comparison *comparison_at(const void *base)
{
    return base;
}

/* What a member of the struct at base points to. */
static const void *pointed(const struct field *field, const void *base)
{
    return *(const void *const *)((const char *)base + field->offset);
}

/* A pointer to a struct, written as an object: of is struct fields; null for NULL. */
static void write_pointer(cJSON *object, const struct field *field, const void *base)
{
    const void *member = pointed(field, base);

    fields_write(json_add(object, field->key, member ? cJSON_CreateObject() : cJSON_CreateNull()),
                 member ? field->of : &(struct fields){0}, member);
}

/* A selection of rows, written as their names. */
static void write_selection(cJSON *object, const struct field *field, const void *base)
{
    const struct selection *selection = pointed(field, base);
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = 0; selection && i < selection->count; i++)
        json_append(array, cJSON_CreateString(*(const char *const *)selection->rows[i]));
}

static void write_confidence(cJSON *object, const struct field *field, const void *base)
{
    (void)base;
    json_add_double(object, field->key, STATS_CONFIDENCE);
}

static void write_summary(cJSON *object, const struct field *field, const void *base)
{
    char line[LINE_BYTES];

    summary_line(base, line);
    json_add_text(object, field->key, line);
}

static void write_status(cJSON *object, const struct field *field, const void *base)
{
    json_add_integer(object, field->key, (uint64_t)comparison_status(base));
}

static void write_counts(cJSON *object, const struct field *field, const void *base)
{
    cJSON *counts = json_add(object, field->key, cJSON_CreateObject());

    for (size_t i = 0; i < verdict_count; i++)
        json_add_integer(counts, verdict_rows[i].name, comparison_at(base)->counts[i]);
}

static void write_verdict(cJSON *object, const struct field *field, const void *base)
{
    json_add_text(object, field->key, verdict_rows[((const struct comparison_cell *)base)->verdict].name);
}

static const struct field_kind kind_pointer = {write_pointer, NULL};
static const struct field_kind kind_selection = {write_selection, NULL};
static const struct field_kind kind_confidence = {write_confidence, NULL};
static const struct field_kind kind_summary = {write_summary, NULL};
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

static const struct field calibration_rows[] = {
    {FIELD(field_text, struct calibration, "engine", engine, NULLABLE)},
    {FIELD(field_bool, struct calibration, "modelled", modelled, REQUIRED)},
    {FIELD(field_object, struct calibration, "device", device, REQUIRED), .of = &device_object},
    {FIELD(field_uint32, struct calibration, "processes", processes, REQUIRED)},
};
static const struct fields calibration_fields = FIELDS(calibration_rows);

static const struct field option_rows[] = {
    {FIELD(field_number, struct compare_options, "threshold", threshold, REQUIRED)},
    {FIELD(field_number, struct compare_options, "counter_threshold", counter_threshold, REQUIRED)},
    {.key = "confidence", .kind = &kind_confidence},
    {FIELD(field_uint64, struct compare_options, "seed", seed, REQUIRED)},
    {FIELD(kind_selection, struct compare_options, "allowed", allowed, REQUIRED)},
    {FIELD(kind_pointer, struct compare_options, "calibration", calibration, NULLABLE), .of = &calibration_fields},
};
static const struct object options_object = {.fields = FIELDS(option_rows), .given = SIZE_MAX};

static const struct field difference_rows[] = {
    {FIELD(field_row, struct facet_difference, "facet", facet, REQUIRED)},
    {FIELD(field_bool, struct facet_difference, "allowed", allowed, REQUIRED)},
    {FIELD(field_text, struct facet_difference, "base", base, NULLABLE)},
    {FIELD(field_text, struct facet_difference, "new", new_text, NULLABLE)},
};
static const struct objects difference_list = {
    .fields = FIELDS(difference_rows),
    .element_bytes = sizeof(struct facet_difference),
    .count = offsetof(struct comparison, difference_count),
};

static const struct field ratio_rows[] = {
    {FIELD(field_number, struct ratio, "value", value, REQUIRED)},
    {FIELD(field_number, struct ratio, "ci_low", ci_low, NULLABLE)},
    {FIELD(field_number, struct ratio, "ci_high", ci_high, NULLABLE)},
    {FIELD(field_number, struct ratio, "p", p, NULLABLE)},
    {FIELD(field_uint64, struct ratio, "resamples", resamples, REQUIRED)},
};
static const struct object ratio_object = {.fields = FIELDS(ratio_rows),
                                           .given = offsetof(struct comparison_cell, timed)};

static const struct field change_rows[] = {
    {FIELD(field_text, struct counter_change, "name", name, REQUIRED)},
    {FIELD(field_name, struct counter_change, "kind", kind, REQUIRED), .of = &counter_kinds},
    {FIELD(field_number, struct counter_change, "base", base, NULLABLE)},
    {FIELD(field_number, struct counter_change, "new", new_value, NULLABLE)},
};
static const struct objects change_list = {
    .fields = FIELDS(change_rows),
    .element_bytes = sizeof(struct counter_change),
    .count = offsetof(struct comparison_cell, change_count),
};

static const struct field cell_rows[] = {
    {FIELD(field_cell, struct comparison_cell, "", cell, REQUIRED)},
    {.key = "verdict", .kind = &kind_verdict},
    {FIELD(field_number, struct comparison_cell, "base_ns", base_ns, NULLABLE)},
    {FIELD(field_number, struct comparison_cell, "new_ns", new_ns, NULLABLE)},
    {FIELD(field_object, struct comparison_cell, "ratio", ratio, NULLABLE), .of = &ratio_object},
    {FIELD(field_number, struct comparison_cell, "adjusted_p", adjusted_p, NULLABLE)},
    {FIELD(field_number, struct comparison_cell, "noise", noise, NULLABLE)},
    {FIELD(field_bool, struct comparison_cell, "underpowered", underpowered, REQUIRED)},
    {FIELD(field_bool, struct comparison_cell, "same_data", same_data, REQUIRED)},
    {FIELD(field_bool, struct comparison_cell, "sass_differs", sass_differs, REQUIRED)},
    {FIELD(field_list, struct comparison_cell, "counters", changes, REQUIRED), .of = &change_list},
    {FIELD(field_text, struct comparison_cell, "note", note, NULLABLE)},
};
static const struct objects cell_list = {
    .fields = FIELDS(cell_rows),
    .element_bytes = sizeof(struct comparison_cell),
    .count = offsetof(struct comparison, cell_count),
};

static const struct field rows[] = {
    {.key = "summary", .kind = &kind_summary},
    {FIELD(field_bool, struct comparison, "comparable", comparable, REQUIRED)},
    {.key = "status", .kind = &kind_status},
    {FIELD(kind_pointer, struct comparison, "base", base, REQUIRED), .of = &side_fields},
    {FIELD(kind_pointer, struct comparison, "new", new_side, REQUIRED), .of = &side_fields},
    {FIELD(field_object, struct comparison, "options", options, REQUIRED), .of = &options_object},
    {FIELD(field_list, struct comparison, "differences", differences, REQUIRED), .of = &difference_list},
    {.key = "counts", .kind = &kind_counts},
    {FIELD(field_list, struct comparison, "cells", cells, REQUIRED), .of = &cell_list},
};

static const struct document document = {
    .schema = "cbank-comparison",
    .what = "comparison",
    .major = 2,
    .root = {.fields = FIELDS(rows), .given = SIZE_MAX},
};

enum status compare_json(FILE *stream, const struct comparison *comparison)
{
    return json_put_owned(stream, document_to_json(&document, comparison));
}
