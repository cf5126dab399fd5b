/* SPDX-License-Identifier: MIT
 * The members of a judged cell that documents have. */
#include "judge_json.h"

#include <math.h>

#include "judge.h"

static void write_ratio(cJSON *object, const struct field *field, const void *base)
{
    const struct ratio *ratio = &((const struct judged_cell *)base)->ratio;
    cJSON *out = json_add(object, field->key,
                          isnan(ratio->value) ? cJSON_CreateNull() : cJSON_CreateObject());

    if (isnan(ratio->value))
        return;
    json_add_double(out, "value", ratio->value);
    json_add_double(out, "ci_low", ratio->ci_low);
    json_add_double(out, "ci_high", ratio->ci_high);
    json_add_double(out, "p", ratio->p);
}

static const struct field_kind kind_ratio = {write_ratio, NULL};

static const struct object deviation_object = {.fields = {deviation_rows, DEVIATION_ROWS},
                                               .given =
                                                   offsetof(struct judged_cell, has_deviation)};

static const struct object board_object = {.fields = {deviation_rows, DEVIATION_ROWS},
                                           .given = offsetof(struct judged_cell, has_board)};

#define JUDGED(kind, key, member, presence) FIELD(kind, struct judged_cell, key, member, presence)

static const struct field rows[] = {
    {JUDGED(field_number, "base_ns", sides[BASE].estimate.ns, NULLABLE)},
    {JUDGED(field_number, "new_ns", sides[NEW].estimate.ns, NULLABLE)},
    {.key = "ratio", .kind = &kind_ratio},
    {JUDGED(field_number, "clock_ratio", clock_ratio, REQUIRED)},
    {JUDGED(field_number, "adjusted_p", adjusted_p, NULLABLE)},
    {JUDGED(field_number, "noise", noise, NULLABLE)},
    {JUDGED(field_object, "process_deviation", deviation, NULLABLE), .of = &deviation_object},
    {JUDGED(field_object, "board_deviation", board, NULLABLE), .of = &board_object},
    {JUDGED(field_number, "occasion_error", occasion_error, REQUIRED)},
    {JUDGED(field_number, "degrees_of_freedom_of_sides", side_degrees, REQUIRED)},
    {JUDGED(field_uint64, "processes_to_decide", settle, NULLABLE)},
    {JUDGED(field_bool, "same_data", same_data, REQUIRED)},
};

const struct fields judged_fields = FIELDS(rows);
