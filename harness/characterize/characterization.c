/* SPDX-License-Identifier: MIT
 * A characterization as a document: outcomes of experiments, with numbers, verdicts, the geometry
 * and every answer of the probes. The sentences of verdicts are made here, so that text and JSON
 * have the same. */
#include "characterization.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_json.h"
#include "log.h"
#include "schema.h"
#include "table.h"
#include "version_json.h"

enum { RECORDED_MAX = 1 << 20, VALUE_ROW = 6 /* where the conditions of a number end */ };

/* -- verdicts ---------------------------------------------------------------------------------- */

/* The meaning of a verdict, with the level, what came before, and the share. */
static const struct {
    const char *name, *value, *text;
} sentences[] = {
    {"latency_grows_per", "address",
     "Each further distinct address of a warp delays a load, also in the same line."},
    {"latency_grows_per", "line",
     "Each further line that a warp touches delays a load; an address in it does not."},
    {"latency_grows_per", "neither", "Further distinct addresses of a warp do not delay a load."},
    {"throughput_falls_per", "address",
     "Each further distinct address of a warp takes cycles, also in the same line."},
    {"throughput_falls_per", "line",
     "Each further line that a warp touches takes cycles; an address in it does not."},
    {"throughput_falls_per", "neither",
     "Further distinct addresses of a warp take no cycles of their own."},
    {"what_it_held_is", "lost", "%s is emptied by a %s: %.0f %% of later accesses hit."},
    {"what_it_held_is", "kept", "%s keeps its data over a %s: %.0f %% of later accesses hit."},
    {"what_it_held_is", "partly kept",
     "%s keeps part of its data over a %s: %.0f %% of later accesses hit."},
};

void verdict_explain(struct verdict *verdict)
{
    static const char *const levels[] = {"Memory", "The L1 constant cache",
                                         "The L1.5 constant cache", "L2"};
    const char *level = levels[verdict->level < COUNT(levels) ? verdict->level : 0];
    const char *before = verdict->before ? verdict->before : "";

    snprintf(verdict->sentence, sizeof(verdict->sentence), "The answers do not decide this.");
    for (size_t i = 0; verdict->value && i < COUNT(sentences); i++)
        if (strcmp(sentences[i].name, verdict->name) == 0 &&
            strcmp(sentences[i].value, verdict->value) == 0)
            snprintf(verdict->sentence, sizeof(verdict->sentence), sentences[i].text, level, before,
                     100 * verdict->share);
}

/* -- numbers and verdicts as fields ------------------------------------------------------------ */

#define NUMBER(kind, key, member, presence)  FIELD(kind, struct number, key, member, presence)
#define VERDICT(kind, key, member, presence) FIELD(kind, struct verdict, key, member, presence)

static const struct field number_rows[] = {
    {NUMBER(field_reference, "name", name, REQUIRED)},
    {NUMBER(field_uint32, "level", level, OMITTED), .about = "from 1, the first",
     .rules = AT_LEAST(1)},
    {NUMBER(field_uint32, "distinct", distinct, OMITTED), .about = "addresses in a warp",
     .rules = AT_LEAST(1)},
    {NUMBER(field_uint32, "stride_bytes", stride, OMITTED), .about = "from one address to the next",
     .rules = AT_LEAST(1)},
    {NUMBER(field_uint32, "warps", warps, OMITTED), .about = "resident on the SM",
     .rules = AT_LEAST(1)},
    {NUMBER(field_reference, "before", before, OMITTED),
     .about = "what comes between two pointer chases"},
    {NUMBER(field_number, "value", value, NULLABLE), .about = "null: none, for the reason"},
    {NUMBER(field_number, "low", low, NULLABLE),
     .about = "of the 95 % interval; that of an integer which was found is the integer"},
    {NUMBER(field_number, "high", high, NULLABLE)},
    {NUMBER(field_reference, "unit", unit, REQUIRED)},
    {NUMBER(field_uint64, "samples", samples, REQUIRED)},
    {NUMBER(field_reference, "method", method, NULLABLE)},
    {NUMBER(field_text, "reason", reason, NULLABLE),
     .about = "why there is none, or why it is left out of what follows"},
};

static const struct field verdict_rows[] = {
    {VERDICT(field_reference, "name", name, REQUIRED)},
    {VERDICT(field_uint32, "level", level, OMITTED), .about = "from 1, the first",
     .rules = AT_LEAST(1)},
    {VERDICT(field_reference, "before", before, OMITTED),
     .about = "what comes between two pointer chases"},
    {VERDICT(field_reference, "value", value, NULLABLE), .about = "null: the numbers do not say"},
    {VERDICT(field_text, "reason", reason, REQUIRED), .about = "the numbers that it rests on"},
    {VERDICT(field_number, "share", share, OMITTED),
     .about = "of the accesses that hit, where the verdict is of that",
     .rules = AT_LEAST(0) ", " AT_MOST(1)},
    {VERDICT(field_text, "sentence", sentence, REQUIRED), .about = "what it means, for people"},
};

/* -- geometry ---------------------------------------------------------------------------------- */

struct number number_of_finding(const struct geometry_level *level,
                                const struct geometry_finding *finding)
{
    const struct geometry_number *found = geometry_number(level, finding);
    const double value = found->known ? (double)found->value : (double)NAN;
    struct number number = {finding->key, finding->unit, found->method,  value,
                            value,        value,         found->samples, .reason = ""};

    memcpy(number.reason, found->reason, sizeof(found->reason));
    return number;
}

struct number number_of_latency(const struct geometry_level *level)
{
    static const char *const methods[] =
        {"accesses from one SM: mean, and where 95 % of them lie, without timing_cycles",
         "accesses from every SM: mean, and where 95 % of them lie, without what timing adds"};
    const struct summary *latency = &level->latency;
    struct number number = {"latency",      "cycles",        methods[level->every_sm],
                            latency->value, latency->ci_low, latency->ci_high,
                            latency->count, .reason = ""};

    if (isnan(latency->value) && latency->count > 0)
        snprintf(number.reason, sizeof(number.reason),
                 "of several banks, or what timing adds is not known");
    return number;
}

static void write_level_numbers(cJSON *object, const struct field *field, const void *base)
{
    const struct fields values = {number_rows + VALUE_ROW, COUNT(number_rows) - VALUE_ROW};
    const struct geometry_level *level = base;
    struct number number = number_of_latency(level);

    fields_write(json_add(object, field->key, cJSON_CreateObject()), &values, &number);
    for (size_t i = 0; i < GEOMETRY_FINDINGS; i++) {
        number = number_of_finding(level, &geometry_findings[i]);
        fields_write(json_add(object, number.name, cJSON_CreateObject()), &values, &number);
    }
    json_add_text(object, "replacement_name",
                  level->replacement.known ? level->replacement_name : NULL);
}

/* Each number of a level is an object; the name of its replacement is a word. */
static void schema_level_numbers(struct schema_object *object, const struct field *field)
{
    static const struct object values = {
        .fields = {number_rows + VALUE_ROW, COUNT(number_rows) - VALUE_ROW}};
    static const struct field replacement = {.key = "replacement_name",
                                             .kind = &field_reference,
                                             .presence = NULLABLE};
    struct field number = {.key = field->key,
                           .kind = &field_object,
                           .object = &values,
                           .about = field->about};

    schema_of_object(object, &number);
    number.about = NULL;
    for (size_t i = 0; i < GEOMETRY_FINDINGS; i++) {
        number.key = geometry_findings[i].key;
        schema_of_object(object, &number);
    }
    schema_text(object, &replacement);
}

static const struct field_kind field_level_numbers = {.write = write_level_numbers,
                                                      .schema = schema_level_numbers};

#define GEOMETRY(kind, key, member) FIELD(kind, struct geometry, key, member, REQUIRED)

static const struct field level_rows[] = {
    {FIELD(field_level_numbers, struct geometry_level, "latency", latency, NULLABLE),
     .about = "the mean over lines, from one SM or from every SM as the method says; from low to "
              "high lie 95 % of them"},
    {FIELD(field_text, struct geometry_level, "contradiction", contradiction, NULLABLE)},
};
static const struct objects levels = {
    OBJECTS(level_rows, struct geometry_level, struct geometry, level_count)};
static const struct field geometry_rows[] = {
    {GEOMETRY(field_uint32, "searched_bytes", searched_bytes), .rules = AT_LEAST(1)},
    {GEOMETRY(field_reference, "shared_carve_out", shared_carve_out)},
    {GEOMETRY(field_uint64, "chases", chases)},
    {GEOMETRY(field_uint64, "accesses", accesses)},
    {FIELD(field_number, struct geometry, "timing_cycles", timing_cycles, LATER),
     .about = "what timing one access adds: the first level's time beyond the latency of a chain "
              "of loads. Latencies of levels are without it. Version 1.0 has other latencies: "
              "readers take those that follow from its answers (--replay)"},
    {GEOMETRY(field_array, "levels", level), .elements = &levels},
};
static const struct fields geometry_fields = FIELDS(geometry_rows);

/* -- experiments ------------------------------------------------------------------------------- */

/* The SMs of each group. */
static void write_groups(cJSON *object, const struct field *field, const void *base)
{
    const struct outcome *outcome = base;
    cJSON *array = outcome->group_count ? json_add(object, field->key, cJSON_CreateArray()) : NULL;

    for (uint32_t g = 0; g < outcome->group_count; g++) {
        cJSON *members = json_append(array, cJSON_CreateArray());

        for (uint32_t sm = 0; sm < outcome->sm_count; sm++)
            if (outcome->group[sm] == g)
                json_append(members, cJSON_CreateNumber(sm));
    }
}

static const struct field_kind field_groups = {.write = write_groups};

static const struct field exchange_rows[] = {
    {FIELD(field_reference, struct probe_exchange, "asked", asked, REQUIRED),
     .about = "as harness/characterize/probe_record.h says"},
    {FIELD(field_reference, struct probe_exchange, "answer", answer, REQUIRED),
     .about = "numbers with spaces between; N*COUNT for a number that comes several times",
     .rules = PATTERN("^([0-9]+(\\\\*[1-9][0-9]*)?( [0-9]+(\\\\*[1-9][0-9]*)?)*)?$")},
};
static const struct objects numbers = {OBJECTS(number_rows, struct number, struct outcome,
                                               number_count),
                                       .max = RECORDED_MAX};
static const struct objects verdicts = {OBJECTS(verdict_rows, struct verdict, struct outcome,
                                                verdict_count),
                                        .max = VERDICTS_MAX};
static const struct objects exchanges = {OBJECTS(exchange_rows, struct probe_exchange,
                                                 struct outcome, evidence_count),
                                         .max = RECORDED_MAX, .line = true};
static const char *const status_names[] = {[OUTCOME_OK] = "ok", [OUTCOME_SKIPPED] = "skipped"};
static const struct names statuses = NAMES(status_names, 2, "ok or skipped");

#define OUTCOME(kind, key, member, presence) FIELD(kind, struct outcome, key, member, presence)

static const struct field outcome_rows[] = {
    {OUTCOME(field_reference, "name", experiment.name, REQUIRED)},
    {OUTCOME(field_reference, "what", experiment.what, REQUIRED)},
    {OUTCOME(field_reference, "path", experiment.path, REQUIRED)},
    {OUTCOME(field_name, "status", status, REQUIRED), .names = &statuses},
    {OUTCOME(field_text, "reason", reason, NULLABLE)},
    {OUTCOME(field_number, "seconds", seconds, REQUIRED), .rules = AT_LEAST(0)},
    {OUTCOME(field_list, "numbers", numbers, REQUIRED), .elements = &numbers},
    {OUTCOME(field_array, "verdicts", verdicts, REQUIRED), .elements = &verdicts},
    {OUTCOME(field_pointer, "geometry", geometry, OMITTED), .fields = &geometry_fields},
    {OUTCOME(field_groups, "groups", group, OMITTED), .about = "the SMs of each group, by %smid",
     .rules = "\"type\": \"array\", \"items\": {\"type\": \"array\", \"items\": {\"type\": "
              "\"integer\"}}"},
    {OUTCOME(field_list, "evidence", evidence, REQUIRED), .elements = &exchanges},
};
static const struct objects outcomes = {OBJECTS(outcome_rows, struct outcome,
                                                struct characterization, count),
                                        .max = 1 << 12};

/* -- probes ------------------------------------------------------------------------------------ */

#define KERNEL(kind, key, member, presence) \
    FIELD(kind, struct probe_kernel_row, key, member, presence)
#define PROBES(kind, member, presence) FIELD(kind, struct probes, #member, member, presence)

static const struct field kernel_rows[] = {
    {KERNEL(field_reference, "probe", probe, REQUIRED)},
    {KERNEL(field_reference, "path", path, REQUIRED)},
    {KERNEL(field_bool, "usable", kernel.usable, REQUIRED),
     .about = "its loads are what the path names, where the code is known"},
    {KERNEL(field_text, "reason", kernel.reason, NULLABLE)},
    {KERNEL(field_text, "name", kernel.name, NULLABLE)},
    {KERNEL(field_text, "sass_sha256", kernel.sha256, NULLABLE), .rules = PATTERN_HASH},
    {KERNEL(field_text, "loads", kernel.loads, NULLABLE),
     .about = "by class, of the code that ran; null where the code is not known"},
};
static const struct objects kernels = {OBJECTS(kernel_rows, struct probe_kernel_row, struct probes,
                                               kernel_count),
                                       .max = 1 << 12};

static const struct field probe_rows[] = {
    {PROBES(field_uint64, samples_max, REQUIRED), .low = 1 << 16, .high = 1 << 24,
     .about = "most accesses that one pointer chase times", .rules = AT_LEAST(1)},
    {PROBES(field_text, shared_carve_out, REQUIRED),
     .about =
         "what pointer chases ask of shared memory, which the L1 data cache shares its room with"},
    {PROBES(field_list, kernels, REQUIRED), .elements = &kernels},
};
static const struct object probes = {.fields = FIELDS(probe_rows), .given = SIZE_MAX};

/* -- the document ------------------------------------------------------------------------------ */

#define ROOT(kind, member, presence) FIELD(kind, struct characterization, #member, member, presence)

static const struct field characterization_rows[] = {
    {FIELD(field_tool, struct characterization, "tool", argv, REQUIRED)},
    {ROOT(field_text, started_utc, REQUIRED)},
    {ROOT(field_text, finished_utc, REQUIRED)},
    {ROOT(field_reference, replayed, NULLABLE),
     .about = "the file whose answers were analysed again; null: a GPU answered"},
    {ROOT(field_number, seconds, REQUIRED), .about = "from the first question to the last number",
     .rules = AT_LEAST(0)},
    {ROOT(field_bool, interrupted, LATER),
     .about =
         "it ended before its time: experiments are missing, and geometry; --resume makes them"},
    {ROOT(field_object, device, REQUIRED), .object = &device_object,
     .about = "what was measured, written as in results (schema.json); null: not known"},
    {ROOT(field_object, probes, REQUIRED), .object = &probes},
    {FIELD(field_list, struct characterization, "experiments", outcomes, REQUIRED),
     .elements = &outcomes},
};

const struct document characterization_document = {
    .schema = "cbank-characterization",
    .what = "characterization",
    .remedy = "cbank characterize writes one",
    .about = "Everything that cbank characterize measured on one GPU, what follows from it, and "
             "every answer of "
             "the probes: cbank characterize --replay analyses them again. A reader takes any "
             "version 1.x and "
             "ignores keys that it does not know.",
    .major = 1,
    .minor = 3,
    .root = {.fields = FIELDS(characterization_rows), .given = SIZE_MAX},
};

enum status characterization_parse(const char *name, const char *text, size_t bytes,
                                   struct characterization *out)
{
    const enum status status =
        document_parse(&characterization_document, name, text, bytes, out, &out->tree);
    size_t total = 1;
    struct probe_exchange *all;

    out->replay = (struct probe_replay){.file = name, .probes = &out->probes};
    if (status != STATUS_OK)
        return status;
    if (out->device.sm_count == 0 || out->device.sm_count > 4096)
        return log_error(STATUS_USAGE, "%s: expected device.sm_count from 1 to 4096, it is %u",
                         name, (unsigned)out->device.sm_count);
    /* The answers of all experiments go into one array. */
    for (size_t i = 0; i < out->count; i++)
        total += out->outcomes[i].evidence_count;
    out->replay.exchanges = all = calloc(total, sizeof(*all));
    if (!all)
        return log_memory("%zu answers", total);
    for (size_t i = 0; i < out->count; i++)
        for (size_t k = 0; k < out->outcomes[i].evidence_count; k++)
            all[out->replay.count++] = out->outcomes[i].evidence[k];
    return STATUS_OK;
}

void characterization_warn(const char *file, const struct characterization *characterization)
{
    if (characterization->interrupted)
        log_warning("%s was interrupted after %zu experiments; cbank characterize --resume makes "
                    "the rest into it",
                    file, characterization->count);
}

void characterization_close(struct characterization *characterization)
{
    for (size_t i = 0; i < characterization->count; i++) {
        struct outcome *outcome = &characterization->outcomes[i];

        free(outcome->numbers);
        free(outcome->geometry);
        free(outcome->group);
        if (characterization->tree)
            free(outcome->evidence);
    }
    free(characterization->outcomes);
    free(characterization->probes.kernels);
    free((struct probe_exchange *)characterization->replay.exchanges);
    json_free(characterization->tree);
    *characterization = (struct characterization){0};
}

const struct outcome *characterization_outcome(const struct characterization *characterization,
                                               const char *name)
{
    const struct table table =
        TABLE("experiment", characterization->outcomes, characterization->count);

    return table_find(&table, name);
}
