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
#include "schema.h"

/* A value that follows from the struct at base, or from a member of it; and its schema. */
#define WRITER(name, schema_)                                                                  \
    static void write_##name(cJSON *object, const struct field *field, const void *base);      \
    static const struct field_kind kind_##name = {.write = write_##name, .schema = (schema_)}; \
    static void write_##name(cJSON *object, const struct field *field, const void *base)

/* -- options ----------------------------------------------------------------------------------- */

/* What cells are judged by. */
struct judged_by {
    double threshold, counter_threshold, confidence;
    uint32_t interim_analyses;
    const struct selection *allowed;
    const struct calibration *calibration;
    const char *boards;
    bool jit;
};

WRITER(allowed, schema_words)
{
    const struct selection *allowed = ((const struct judged_by *)base)->allowed;
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = 0; allowed && i < allowed->count; i++)
        json_append(array, cJSON_CreateString(*(const char *const *)allowed->rows[i]));
}

static const struct field option_rows[] = {
    {FIELD(field_number, struct judged_by, "threshold", threshold, REQUIRED),
     .about = "relative change of time that counts: 0.01 is 1 %", .rules = AT_LEAST(0),
     .column = COLUMN(.frame = "threshold")},
    {FIELD(field_number, struct judged_by, "counter_threshold", counter_threshold, REQUIRED),
     .about = "relative change of a measured counter that is listed", .rules = AT_LEAST(0)},
    {FIELD(field_number, struct judged_by, "confidence", confidence, REQUIRED),
     .about = "of every interval: 0.95; more in an interim analysis of a gate", .rules = ABOVE(0)},
    {FIELD(field_uint32, struct judged_by, "interim_analyses", interim_analyses, REQUIRED),
     .about = "at growing data, of which this is one: the level of intervals is divided by them, "
              "and adjusted_p is times them. 1, and of cbank gate more",
     .rules = AT_LEAST(1)},
    {FIELD(kind_allowed, struct judged_by, "allowed", allowed, REQUIRED),
     .about = "context fields that may differ, in addition to those that may by default"},
    {FIELD(field_pointer, struct judged_by, "calibration", calibration, NULLABLE),
     .fields = &calibration_fields,
     .about = "where deviations between processes come from; null without one"},
    {FIELD(field_reference, struct judged_by, "boards", boards, NULLABLE),
     .about =
         "results of other GPUs of the model, by which board_deviation is known; null without any"},
    {FIELD(field_bool, struct judged_by, "jit", jit, LATER),
     .about = "cells are paired whether the driver compiled them or the toolkit; their code may "
              "differ"},
};
static const struct fields option_fields = FIELDS(option_rows);

static void schema_options(struct schema_object *object, const struct field *field)
{
    schema_fill(schema_property(object, field, "object"), &option_fields);
}

WRITER(options, schema_options)
{
    const struct compare_options *options = &((const struct comparison *)base)->options;
    const struct judged_by judged_by = {
        .threshold = options->judge.threshold,
        .counter_threshold = COUNTER_THRESHOLD,
        .confidence = 1 - judge_level(&options->judge),
        .interim_analyses = 1 + options->judge.other_analyses,
        .allowed = options->allowed,
        .calibration = options->calibration,
        .boards = options->boards ? options->boards->total.label : NULL,
        .jit = options->jit,
    };

    fields_write(json_add(object, field->key, cJSON_CreateObject()), &option_fields, &judged_by);
}

/* -- the whole --------------------------------------------------------------------------------- */

WRITER(summary, schema_text)
{
    char line[LINE_BYTES];

    summary_line(base, line);
    json_add_text(object, field->key, line);
}

WRITER(kinds, schema_text)
{
    const struct comparison *comparison = base;
    char line[LINE_BYTES];

    json_add_text(object, field->key,
                  comparison->options.judge.boards_differ ? kinds_words(comparison, line) : NULL);
}

WRITER(needs, schema_text)
{
    char line[LINE_BYTES];

    settle_line(base, line);
    json_add_text(object, field->key, *line ? line : NULL);
}

WRITER(status, schema_integer)
{
    json_add_integer(object, field->key, (uint64_t)comparison_status(base, true));
}

static void schema_counts(struct schema_object *object, const struct field *field)
{
    struct field rows[VERDICTS] = {{.key = NULL}};
    const struct fields fields = FIELDS(rows);

    for (size_t i = 0; i < VERDICTS; i++)
        rows[i] = (struct field){.key = verdict_rows[i].name, .kind = &field_uint64};
    schema_fill(schema_property(object, field, "object"), &fields);
}

WRITER(counts, schema_counts)
{
    const size_t *counts = (const size_t *)((const char *)base + field->offset);
    cJSON *out = json_add(object, field->key, cJSON_CreateObject());

    for (size_t i = 0; i < VERDICTS; i++)
        json_add_integer(out, verdict_rows[i].name, counts[i]);
}

static void schema_verdict(struct schema_object *object, const struct field *field)
{
    const char *words[VERDICTS];
    const struct names names = {words, VERDICTS, NULL};
    struct field named = *field;

    for (size_t i = 0; i < VERDICTS; i++)
        words[i] = verdict_rows[i].name;
    named.names = &names;
    schema_name(object, &named);
}

WRITER(verdict, schema_verdict)
{
    json_add_text(object, field->key,
                  verdict_rows[*(const enum cell_verdict *)((const char *)base + field->offset)]
                      .name);
}

/* A context field that differs. */
struct difference {
    const char *context_field;
    bool allowed;
    const char *sides[SIDES];
};

static const struct field difference_rows[] = {
    {FIELD(field_reference, struct difference, "context_field", context_field, REQUIRED)},
    {FIELD(field_bool, struct difference, "allowed", allowed, REQUIRED),
     .about = "false: the sides are not comparable"},
    {FIELD(field_reference, struct difference, "base", sides[BASE], NULLABLE)},
    {FIELD(field_reference, struct difference, "new", sides[NEW], NULLABLE),
     .about = "for sass, how many cells, as in base; for clocks, the SM clocks of the cells that "
              "differ"},
};
static const struct objects difference_list = {.fields = FIELDS(difference_rows)};

WRITER(differences, schema_list)
{
    const struct comparison *comparison = base;
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = 0; i < context_field_count; i++) {
        struct difference difference = {context_fields[i].name,
                                        .allowed = !(comparison->refused >> i & 1)};
        char texts[SIDES][DEVICE_TEXT_BYTES];

        if (!(comparison->differing >> i & 1))
            continue;
        context_texts(comparison, i, texts);
        for (size_t side = 0; side < SIDES; side++)
            difference.sides[side] = texts[side][0] ? texts[side] : NULL;
        fields_write(json_append(array, cJSON_CreateObject()), &difference_list.fields,
                     &difference);
    }
}

static const struct field side_rows[] = {
    {FIELD(field_text, struct side, "label", label, REQUIRED),
     .about = "what it was called on the command line"},
    {FIELD(field_uint64, struct side, "results", files, REQUIRED), .about = "files that were read"},
    {FIELD(field_uint64, struct side, "incomplete", incomplete, REQUIRED),
     .about = "of those, how many are of an interrupted run"},
    {FIELD(field_uint64, struct side, "findings", findings, REQUIRED),
     .about =
         "programs of a gate that exited with 1: wrong outputs, exact counters, memory errors"},
    {FIELD(field_text, struct side, "engine", identity.engine, REQUIRED)},
    {FIELD(field_bool, struct side, "modelled", identity.modelled, REQUIRED),
     .about = "times of any process are predictions"},
    {FIELD(field_object, struct side, "device", identity.device, REQUIRED),
     .object = &device_object,
     .about = "what the processes of a side ran on. Text that differs between them is \"mixed\"; "
              "numbers are of the first"},
    {FIELD(field_text, struct side, "started_utc", identity.started_utc, NULLABLE),
     .about = "of the first process"},
};
static const struct fields side_fields = FIELDS(side_rows);

static const struct field gpu_identity_rows[] = {
    {FIELD(field_text, struct side_identity, "uuid", device.uuid, NULLABLE)},
    {FIELD(field_text, struct side_identity, "name", device.name, NULLABLE)},
    {FIELD(field_object, struct side_identity, "host", host, REQUIRED), .object = &host_object},
};
static const struct fields gpu_identity_fields = FIELDS(gpu_identity_rows);

static const struct field gpu_rows[] = {
    {FIELD(field_pointer, struct compared_gpu, NULL, identity, REQUIRED),
     .fields = &gpu_identity_fields},
    {FIELD(kind_verdict, struct compared_gpu, "verdict", verdict, REQUIRED),
     .about = "that of its worst cell; missing or new where a side lacks the GPU"},
    {FIELD(field_bool, struct compared_gpu, "comparable", comparable, REQUIRED),
     .about = "nothing differs that may not"},
    {FIELD(field_number, struct compared_gpu, "occasion_weight", occasions, REQUIRED),
     .about = "of the variance between occasions (processes that begin within a minute) in its "
              "ratios: 0 where both sides share them, 2 where each has one of its own",
     .rules = AT_LEAST(0)},
    {FIELD(field_number, struct compared_gpu, "later_weight", later, REQUIRED),
     .about = "the same of processes that begin within ten minutes: what is later differs by an "
              "assumed part, too",
     .rules = AT_LEAST(0)},
    {FIELD(kind_counts, struct compared_gpu, "counts", counts, REQUIRED)},
};
static const struct objects gpu_list = {
    OBJECTS(gpu_rows, struct compared_gpu, struct comparison, gpu_count)};

WRITER(uuid, schema_text)
{
    const char *uuid = ((const struct comparison_cell *)base)->gpu->identity->device.uuid;

    json_add_text(object, field->key, *uuid ? uuid : NULL);
}

WRITER(code, schema_text)
{
    const struct comparison_cell *cell = base;
    char line[LINE_BYTES];
    const bool known =
        (cell->sass_differs || cell->code_moved) &&
        code_change(cell->sides[BASE]->code, cell->sides[NEW]->code, line, sizeof(line));

    json_add_text(object, field->key, known ? line : NULL);
}

/* Whether the driver compiled the cell of a side. */
static void put_jit(cJSON *object, const char *key, const struct side_cell *side)
{
    json_add(object, key, side ? cJSON_CreateBool(side->jit) : cJSON_CreateNull());
}

WRITER(base_jit, schema_bool)
{
    put_jit(object, field->key, ((const struct comparison_cell *)base)->sides[BASE]);
}

WRITER(new_jit, schema_bool)
{
    put_jit(object, field->key, ((const struct comparison_cell *)base)->sides[NEW]);
}

static const struct names code_parts = NAMES(code_part_names, CODE_PARTS, NULL);
static const struct names counter_kinds = {counter_kind_names, 2, NULL};

static const struct field change_rows[] = {
    {FIELD(field_reference, struct counter_change, "name", name, REQUIRED)},
    {FIELD(field_name, struct counter_change, "kind", kind, REQUIRED), .names = &counter_kinds},
    {FIELD(field_number, struct counter_change, "base", base, NULLABLE)},
    {FIELD(field_number, struct counter_change, "new", new_value, NULLABLE)},
};
static const struct objects change_list =
    OBJECTS_OF(change_rows, struct counter_change, struct comparison_cell, change_count);

static const struct names energy_verdicts = NAMES(energy_verdict_names, ENERGY_VERDICTS, NULL);

static const struct field energy_rows[] = {
    {FIELD(field_number, struct energy_change, "base_j", base, REQUIRED),
     .about = "mean over processes"},
    {FIELD(field_number, struct energy_change, "new_j", new_value, REQUIRED)},
    {FIELD(field_number, struct energy_change, "ratio", ratio, NULLABLE), .about = "new / base",
     .column = COLUMN(.frame = "energy_ratio")},
    {FIELD(field_number, struct energy_change, "ci_low", ci_low, NULLABLE),
     .about = "95 % interval at least: by Student's t of processes, and their own intervals. It "
              "does not hold what boards and days differ by",
     .column = COLUMN(.frame = "energy_ratio_low")},
    {FIELD(field_number, struct energy_change, "ci_high", ci_high, NULLABLE),
     .column = COLUMN(.frame = "energy_ratio_high")},
    {FIELD(field_name, struct energy_change, "verdict", verdict, REQUIRED),
     .names = &energy_verdicts,
     .about = "higher or lower: the interval lies beyond the threshold; same: within it; not told: "
              "neither, or fewer than three processes a side, or two boards",
     .column = COLUMN(.frame = "energy_verdict")},
};
static const struct object energy_object = {.fields = FIELDS(energy_rows),
                                            .given =
                                                offsetof(struct comparison_cell, energy.given)};

/* The judge's question and answer, which cbank compare --batch writes alike. */
static void schema_judged(struct schema_object *object, const struct field *field)
{
    (void)field;
    schema_fields(object, &judged_fields);
}

WRITER(judged, schema_judged)
{
    (void)field;
    fields_write(object, &judged_fields, &((const struct comparison_cell *)base)->judged);
}

#define CELL(kind, key, member, presence) FIELD(kind, struct comparison_cell, key, member, presence)

static const struct field cell_rows[] = {
    {CELL(field_cell, "", cell, REQUIRED)},
    {.key = "uuid",
     .kind = &kind_uuid,
     .presence = NULLABLE,
     .about = "of the GPU",
     .column = COLUMN(.frame = "uuid")},
    {CELL(kind_verdict, "verdict", verdict, REQUIRED), .column = COLUMN(.frame = "verdict")},
    {.kind = &kind_judged},
    {CELL(field_bool, "held_by_flag", judged.held, LATER),
     .about = "the change is significant and beyond the threshold, and a flag alone keeps it from "
              "its verdict: exit code 4"},
    {CELL(field_bool, "sass_differs", sass_differs, REQUIRED),
     .about = "the kernel's code is not the same on both sides, by more than constant_offsets"},
    {.key = "code",
     .kind = &kind_code,
     .presence = NULLABLE,
     .about =
         "how the code differs, in a line; null where it does not differ or a side does not say"},
    {CELL(field_bits, "code_moved", code_moved, REQUIRED), .names = &code_parts,
     .about = "the parts of the code that are known to differ; empty where it is the same, or the "
              "sides do not say"},
    {.key = "base_jit",
     .kind = &kind_base_jit,
     .presence = LATER,
     .about = "the driver compiled it on BASE; null where BASE lacks the cell"},
    {.key = "new_jit", .kind = &kind_new_jit, .presence = LATER},
    {CELL(field_list, "counters", changes, REQUIRED), .elements = &change_list,
     .about = "that moved: exact ones that differ, measured ones beyond counter_threshold"},
    {CELL(field_object, "energy", energy, OMITTED), .object = &energy_object,
     .about = "of a launch, where compare --energy or gate --energy asked for it and both sides "
              "have it"},
    {CELL(field_text, "note", note, NULLABLE), .about = "why it is invalid, or what differs",
     .column = COLUMN(.frame = "reason")},
};
static const struct objects cell_list = {
    OBJECTS(cell_rows, struct comparison_cell, struct comparison, cell_count)};

static const struct field rows[] = {
    {.key = "summary", .kind = &kind_summary, .about = "one line for people"},
    {.key = "to_decide",
     .kind = &kind_needs,
     .presence = NULLABLE,
     .about = "how many processes a side would settle what is inconclusive, and how to measure "
              "them; null where no number of them would"},
    {.key = "status",
     .kind = &kind_status,
     .rules = "\"enum\": [0, 1, 3, 4]",
     .about = "0 not worse, 1 worse or not whole, 3 not comparable, 4 inconclusive: the exit code "
              "with --strict; without, 4 becomes 0 where a cell was decided, none is contended or "
              "held_by_flag, and NEW has the counters of BASE"},
    {FIELD(field_bool, struct comparison, "comparable", comparable, REQUIRED),
     .about = "the sides have a cell in common, and no context field differs that may not"},
    {FIELD(field_pointer, struct comparison, "base", sides[BASE], REQUIRED),
     .fields = &side_fields},
    {FIELD(field_pointer, struct comparison, "new", sides[NEW], REQUIRED), .fields = &side_fields},
    {.key = "options", .kind = &kind_options},
    {.key = "board_kinds",
     .kind = &kind_kinds,
     .presence = NULLABLE,
     .about = "whether the sides are boards of one kind, and what two kinds differ by; null where "
              "they are not of two GPUs"},
    {FIELD(field_bool, struct comparison, "plans_differ", plans_differ, REQUIRED),
     .about = "a side has cells that the other has not; buffers then lie elsewhere, and what that "
              "changes is in the intervals"},
    {.key = "differences",
     .kind = &kind_differences,
     .elements = &difference_list,
     .about = "context fields that differ between the sides"},
    {FIELD(kind_counts, struct comparison, "counts", counts, REQUIRED),
     .about = "cells by verdict"},
    {FIELD(field_list, struct comparison, "gpus", gpus, REQUIRED), .elements = &gpu_list,
     .about = "of each GPU, worst first; where there are several, each is compared with itself, by "
              "its UUID"},
    {FIELD(field_list, struct comparison, "cells", cells, REQUIRED), .elements = &cell_list,
     .about = "worst first; those of GPUs that a side lacks come last"},
};

const struct document comparison_document = {
    .schema = "cbank-comparison",
    .what = "comparison",
    .about =
        "What cbank compare --json writes. Keys end in their unit. A reader takes any version 1.x "
        "and "
        "ignores keys that it does not know. Integers above 2^53 are decimal strings. A value that "
        "is not known or does not exist is null. Changes are ratios new / base: 1.01 is 1 % "
        "slower.",
    .major = 1,
    .minor = 6,
    .root = {.fields = FIELDS(rows), .given = SIZE_MAX},
};

static enum status write_json(FILE *stream, const struct comparison *comparison,
                              const struct report_view *view)
{
    (void)view;
    return json_put_owned(stream, document_to_json(&comparison_document, comparison));
}

const struct report_format report_json = {.write = write_json};
