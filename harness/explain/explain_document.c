/* SPDX-License-Identifier: MIT */
#include "cell_json.h"
#include "explain.h"
#include "field.h"
#include "json.h"
#include "version.h"

/* -- kinds: none is read ------------------------------------------------------------------------------- */

/* enum explain_agreement: whether it is within the limit; null where it is not known. */
static void write_within(cJSON *object, const struct field *field, const void *base)
{
    const enum explain_agreement agreement = *(const enum explain_agreement *)((const char *)base + field->offset);

    json_add(object, field->key, agreement ? cJSON_CreateBool(agreement == EXPLAIN_WITHIN) : cJSON_CreateNull());
}

static void write_parts(cJSON *object, const struct field *field, const void *base)
{
    const struct explained_cell *cell = base;
    cJSON *parts = json_add(object, field->key, cJSON_CreateObject());

    for (size_t i = 0; i < EXPLAIN_PARTS; i++)
        json_add_double(parts, explain_parts[i].name, explain_part_ns(&cell->model.parts, i));
}

static void write_bound(cJSON *object, const struct field *field, const void *base)
{
    const struct explained_cell *cell = base;
    cJSON *bound = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = 0; i < EXPLAIN_PARTS; i++)
        if (cell->bound & 1u << i)
            json_append(bound, cJSON_CreateString(explain_parts[i].name));
}

static const struct field_kind kind_within = {write_within, NULL};
static const struct field_kind kind_parts = {write_parts, NULL};
static const struct field_kind kind_bound = {write_bound, NULL};

/* -- cells --------------------------------------------------------------------------------------------- */

static const struct names statuses = {.names = cell_status_names};
static const struct names counter_statuses = {.names = counter_status_names};
static const struct names agreements = {.names = explain_agreement_names};

static const struct field time_rows[] = {
    {FIELD(field_number, struct summary, "value", value, REQUIRED)},
    {FIELD(field_number, struct summary, "ci_low", ci_low, NULLABLE)},
    {FIELD(field_number, struct summary, "ci_high", ci_high, NULLABLE)},
};
static const struct fields time_fields = FIELDS(time_rows);

static const struct field cell_rows[] = {
    {FIELD(field_cell, struct cell_result, NULL, cell, REQUIRED)},
    {FIELD(field_name, struct cell_result, "status", status, REQUIRED), .of = &statuses},
    {FIELD(field_text, struct cell_result, "reason", reason, NULLABLE)},
};
static const struct fields cell_fields = FIELDS(cell_rows);

static const struct field model_rows[] = {
    {FIELD(field_number, struct explained_cell, "time_ns", model.time_ns, REQUIRED)},
    {.key = "parts_ns", .kind = &kind_parts},
    {.key = "bound_by", .kind = &kind_bound},
};
static const struct object model_object = {FIELDS(model_rows), .given = offsetof(struct explained_cell, timed)};

static const struct field reason_rows[] = {
    {FIELD(field_row, struct explained_reason, "name", row, REQUIRED)},
    {FIELD(field_text, struct explained_reason, "text", text, REQUIRED)},
};
static const struct objects reasons =
    OBJECTS_OF(reason_rows, struct explained_reason, struct explained_cell, reason_count);

static const struct field count_rows[] = {
    {FIELD(field_reference, struct explained_count, "name", name, REQUIRED)},
    {FIELD(field_reference, struct explained_count, "counters", counters, REQUIRED)},
    {FIELD(field_name, struct explained_count, "status", status, REQUIRED), .of = &counter_statuses},
    {FIELD(field_number, struct explained_count, "measured", measured, NULLABLE)},
    {FIELD(field_number, struct explained_count, "modelled_low", low, NULLABLE)},
    {FIELD(field_number, struct explained_count, "modelled_high", high, NULLABLE)},
    {FIELD(field_name, struct explained_count, "agreement", agreement, NULLABLE), .of = &agreements},
};
static const struct objects exact_counters =
    OBJECTS_OF(count_rows, struct explained_count, struct explained_cell, exact_count);
static const struct objects levels = OBJECTS_OF(count_rows, struct explained_count, struct explained_cell, level_count);

static const struct field explained_rows[] = {
    {FIELD(field_pointer, struct explained_cell, NULL, cell, REQUIRED), .of = &cell_fields},
    {FIELD(field_pointer, struct explained_cell, "time_ns", time, NULLABLE), .of = &time_fields},
    {.key = "modelled", .kind = &field_object, .presence = NULLABLE, .of = &model_object},
    {FIELD(field_number, struct explained_cell, "remainder_ns", remainder_ns, NULLABLE)},
    {FIELD(field_number, struct explained_cell, "remainder", remainder, NULLABLE)},
    {FIELD(kind_within, struct explained_cell, "within", agreement, NULLABLE)},
    {FIELD(kind_within, struct explained_cell, "fills_within", fills, NULLABLE)},
    {FIELD(field_list, struct explained_cell, "reasons", reasons, REQUIRED), .of = &reasons},
    {FIELD(field_list, struct explained_cell, "exact_counters", exact, REQUIRED), .of = &exact_counters},
    {FIELD(field_list, struct explained_cell, "levels", levels, REQUIRED), .of = &levels},
};
static const struct fields explained_fields = FIELDS(explained_rows);

/* -- results ------------------------------------------------------------------------------------------- */

static void write_chosen(cJSON *object, const struct field *field, const void *base)
{
    const struct explanation *explanation = base;
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = 0; i < explanation->result.cell_count; i++)
        if (explanation->cells[i].chosen)
            fields_write(json_append(array, cJSON_CreateObject()), &explained_fields, &explanation->cells[i]);
}

static const struct field_kind kind_chosen = {write_chosen, NULL};

static const struct field tally_rows[] = {
    {FIELD(field_uint64, struct explain_tally, "cells", cells, REQUIRED)},
    {FIELD(field_uint64, struct explain_tally, "within", within, REQUIRED)},
    {FIELD(field_number, struct explain_tally, "largest_remainder", largest_remainder, NULLABLE)},
    {FIELD(field_text, struct explain_tally, "largest_cell", largest, NULLABLE)},
};
static const struct object tally_object = {FIELDS(tally_rows), .given = SIZE_MAX};

static const struct field summary_rows[] = {
    {FIELD(field_number, struct explain_summary, "limit", limit, REQUIRED)},
    {FIELD(field_number, struct explain_summary, "long_ns", long_ns, REQUIRED)},
    {FIELD(field_object, struct explain_summary, "long", tallies[true], REQUIRED), .of = &tally_object},
    {FIELD(field_object, struct explain_summary, "short", tallies[false], REQUIRED), .of = &tally_object},
    {FIELD(field_uint64, struct explain_summary, "untimed", untimed, REQUIRED)},
    {FIELD(field_uint64, struct explain_summary, "exact_counters", exact, REQUIRED)},
    {FIELD(field_uint64, struct explain_summary, "exact_counters_equal", exact_equal, REQUIRED)},
    {FIELD(field_uint64, struct explain_summary, "one_warp_counts", single, REQUIRED)},
    {FIELD(field_uint64, struct explain_summary, "one_warp_counts_equal", single_equal, REQUIRED)},
    {FIELD(field_uint64, struct explain_summary, "one_warp_counts_within", single_within, REQUIRED)},
    {FIELD(field_number, struct explain_summary, "fills_limit", fills_limit, REQUIRED)},
    {FIELD(field_uint64, struct explain_summary, "fills", fills, REQUIRED)},
    {FIELD(field_uint64, struct explain_summary, "fills_within", fills_within, REQUIRED)},
};
static const struct object summary_object = {FIELDS(summary_rows), .given = SIZE_MAX};

static const struct field result_rows[] = {
    {FIELD(field_reference, struct explanation, "file", file, REQUIRED)},
    {FIELD(field_reference, struct explanation, "engine", result.engine, REQUIRED)},
    {FIELD(field_bool, struct explanation, "modelled_time", result.modelled_time, REQUIRED)},
    {FIELD(field_bool, struct explanation, "complete", result.complete, REQUIRED)},
    {FIELD(field_object, struct explanation, "device", result.device, REQUIRED), .of = &device_object},
    {FIELD(field_object, struct explanation, "summary", summary, REQUIRED), .of = &summary_object},
    {.key = "cells", .kind = &kind_chosen},
};
static const struct objects results = OBJECTS_OF(result_rows, struct explanation, struct explained_results, count);

/* -- the document -------------------------------------------------------------------------------------- */

static const struct field name_rows[] = {
    {FIELD(field_text, struct card, "name", name, REQUIRED)},
    {FIELD(field_text, struct card, "chip", chip, REQUIRED)},
};
static const struct fields name_fields = FIELDS(name_rows);

static const struct field card_rows[] = {
    {FIELD(field_reference, struct explained_results, "file", card_file, NULLABLE)},
    {FIELD(field_pointer, struct explained_results, NULL, card, REQUIRED), .of = &name_fields},
};
static const struct object card_object = {FIELDS(card_rows), .given = SIZE_MAX};

static const struct field root_rows[] = {
    {.key = "tool", .kind = &field_tool},
    {.key = "card", .kind = &field_object, .of = &card_object},
    {FIELD(field_list, struct explained_results, "results", results, REQUIRED), .of = &results},
};

const struct document explain_document = {.schema = "cbank-explanation",
                                          .major = 2,
                                          .minor = 1,
                                          .root = {.fields = FIELDS(root_rows), .given = SIZE_MAX}};
