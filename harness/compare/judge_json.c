/* SPDX-License-Identifier: MIT
 * The members of a judged cell that documents have. */
#include "judge_json.h"

#include <math.h>

#include "judge.h"
#include "schema.h"

static const struct field ratio_rows[] = {
    {FIELD(field_number, struct ratio, "value", value, REQUIRED), .rules = ABOVE(0),
     .column = COLUMN(.frame = "ratio")},
    {FIELD(field_number, struct ratio, "ci_low", ci_low, NULLABLE), .about = "of its interval",
     .column = COLUMN(.frame = "ratio_low")},
    {FIELD(field_number, struct ratio, "ci_high", ci_high, NULLABLE),
     .column = COLUMN(.frame = "ratio_high")},
    {FIELD(field_number, struct ratio, "p", p, NULLABLE),
     .about = "two-sided, of the ratio being 1, by Student's t; null with the interval where "
              "nothing is known of what processes differ by",
     .rules = AT_LEAST(0) ", " AT_MOST(1)},
};
static const struct fields ratio_fields = FIELDS(ratio_rows);

static void schema_ratio(struct schema_object *object, const struct field *field)
{
    schema_fill(schema_property(object, field, "object"), &ratio_fields);
}

static void write_ratio(cJSON *object, const struct field *field, const void *base)
{
    const struct ratio *ratio = &((const struct judged_cell *)base)->ratio;

    if (isnan(ratio->value))
        json_add_text(object, field->key, NULL);
    else
        fields_write(json_add(object, field->key, cJSON_CreateObject()), &ratio_fields, ratio);
}

static const struct field_kind kind_ratio = {.write = write_ratio, .schema = schema_ratio};

static const struct object deviation_object = {.fields = {deviation_rows, DEVIATION_ROWS},
                                               .given =
                                                   offsetof(struct judged_cell, has_deviation)};

static const struct object board_object = {.fields = {deviation_rows, DEVIATION_ROWS},
                                           .given = offsetof(struct judged_cell, has_board)};

#define JUDGED(kind, key, member, presence) FIELD(kind, struct judged_cell, key, member, presence)

static const struct field rows[] = {
    {JUDGED(field_number, "base_ns", sides[BASE].estimate.ns, NULLABLE),
     .about = "median over the processes of their times; null where there is none",
     .column = COLUMN(.frame = "base_ns")},
    {JUDGED(field_number, "new_ns", sides[NEW].estimate.ns, NULLABLE),
     .about = "median over the processes of their times; null where there is none",
     .column = COLUMN(.frame = "new_ns")},
    {.key = "ratio",
     .kind = &kind_ratio,
     .presence = NULLABLE,
     .about = "of the times, new / base; null where there is none"},
    {JUDGED(field_number, "clock_ratio", clock_ratio, REQUIRED),
     .about = "what the SM clocks would explain of the ratio, base's over new's: interval and p "
              "hold for the ratio of times and for that of cycles. 1 where the clocks are the same "
              "or not known, or may differ (--allow-diff clocks).",
     .rules = ABOVE(0)},
    {JUDGED(field_number, "adjusted_p", adjusted_p, NULLABLE),
     .about = "p after Holm's correction over all cells", .rules = AT_LEAST(0) ", " AT_MOST(1)},
    {JUDGED(field_number, "noise", noise, NULLABLE),
     .about = "relative difference of the sides that 95 % of comparisons stay below where nothing "
              "changed; null where it is not known",
     .rules = AT_LEAST(0)},
    {JUDGED(field_number, "assumed_share", assumed, LATER),
     .about = "of the variance of the interval, what is taken from other data than the sides', a "
              "calibration or other boards: of processes, occasions, plans and boards. null where "
              "there is no interval",
     .rules = AT_LEAST(0) ", " AT_MOST(1), .column = COLUMN(.frame = "assumed_share")},
    {JUDGED(field_object, "process_deviation", deviation, NULLABLE), .object = &deviation_object,
     .about = "between processes: as known before, and by the processes of the sides; null where "
              "neither says anything"},
    {JUDGED(field_object, "board_deviation", board, NULLABLE), .object = &board_object,
     .about = "between GPUs of the model, which the interval of two GPUs holds twice in its "
              "variance; null where the sides are of one"},
    {JUDGED(field_number, "kinds_apart", kinds_apart, LATER),
     .about = "what known kinds of the model's boards differ by in this cell, of the logarithm: "
              "between boards that may be of two kinds such a change has no cause. null where it "
              "is not known, or the sides are of one kind",
     .rules = AT_LEAST(0)},
    {JUDGED(field_number, "occasion_error", occasion_error, REQUIRED),
     .about = "standard error that other occasions add to the logarithm of the ratio",
     .rules = AT_LEAST(0)},
    {JUDGED(field_number, "degrees_of_freedom_of_sides", side_degrees, REQUIRED),
     .about = "of those of process_deviation, how many are of the processes of the sides",
     .rules = AT_LEAST(0)},
    {JUDGED(field_uint64, "processes_to_decide", settle, NULLABLE),
     .about = "processes a side that would most likely settle an inconclusive cell, or 3 where "
              "nothing was measured of its noise: so many tell it; null where it is settled, or no "
              "number that is advised would",
     .rules = AT_LEAST(2)},
    {JUDGED(field_bool, "same_data", same_data, REQUIRED),
     .about = "both sides are the same processes with the same samples: the ratio is 1"},
};

const struct fields judged_fields = FIELDS(rows);
