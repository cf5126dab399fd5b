/* SPDX-License-Identifier: MIT
 * The result as a document, schema results/schema.json: a table of fields for each object. */
#include <string.h>

#include "device_json.h"
#include "document.h"
#include "result.h"
#include "result_cell_json.h"
#include "result_energy_json.h"
#include "schema.h"

#define NULL_KEYS(EACH)                                                                       \
    EACH("host", "left out by --anonymous")                                                   \
    EACH("health",                                                                            \
         "errors of a device were not read: predictions have none, or NVML was not there")    \
    EACH("temperature", "not read: predictions have none, or NVML does not say")              \
    EACH("board", "of predictions, and of results before it was recorded")                    \
    EACH("process_deviation",                                                                 \
         "one process cannot say how far processes differ: cbank calibrate measures it")      \
    EACH("indices", "of cells whose indices a formula gives")                                 \
    EACH("grid_blocks", "of cells whose grid has a thread for each element")                  \
    EACH("buffer_sets", "of cells that were not sampled to the end")                          \
    EACH("table_offsets", "of cells that were not sampled to the end")                        \
    EACH("code_copies", "of cells that were not sampled to the end")                          \
    EACH("buffer_set_deviation", "of cells with fewer than two buffer sets")                  \
    EACH("autocorrelation", "of cells with fewer than 8 samples")                             \
    EACH("modes",                                                                             \
         "of cells with fewer than 20 samples, or whose buffer sets differ and had one each") \
    EACH("outliers", "of cells that were not sampled to the end")                             \
    EACH("contended", "of cells that were not sampled to the end")                            \
    EACH("timing_scheme", "of predictions, and of results before it was recorded")            \
    EACH("array_bytes", "of users' kernels, whose tables are in their files")                 \
    EACH("width_bytes", "of users' kernels, whose tables are in their files")                 \
    EACH("table_bytes", "of users' kernels, whose tables are in their files")
#define KEY(key, reason)    key,
#define REASON(key, reason) reason,

/* Keys that may be null, and why they are where they are. */
static const char *const null_keys[] = {NULL_KEYS(KEY)};
static const char *const null_reasons[] = {NULL_KEYS(REASON)};
static const struct keyed_texts null_texts = {null_keys, null_reasons,
                                              sizeof(null_keys) / sizeof(null_keys[0])};
static const struct keyed_texts flag_texts = {cell_flag_names, cell_flag_reasons, CELL_FLAG_COUNT};

/* -- what wrote the file, where, and how the device was ---------------------------------------- */

static const struct field tool_rows[] = {
    {FIELD(field_reference, struct result, "name", tool.name, REQUIRED)},
    {FIELD(field_reference, struct result, "version", tool.version, REQUIRED)},
    {FIELD(field_reference, struct result, "git_commit", tool.git_commit, NULLABLE),
     .about = "null in a build outside a git checkout", .rules = PATTERN("^[0-9a-f]{7,64}$")},
    {FIELD(field_bool, struct result, "git_dirty", tool.git_dirty, NULLABLE),
     .about = "sources had changes that were not committed"},
    {FIELD(field_text, struct result, "argv", argv, REQUIRED),
     .about = "the command line, words joined by spaces"},
    {FIELD(field_reference, struct result, "compiler", tool.compiler, NULLABLE),
     .about = "of the host code, with its version"},
    {FIELD(field_reference, struct result, "cuda_toolkit", tool.cuda_toolkit, NULLABLE),
     .about = "version of the toolkit that built the kernels; null in a build without one"},
    {FIELD(field_words, struct result, "architectures", architectures, NULLABLE),
     .about = "of the kernel images in the program; none in a build without CUDA"},
};
static const struct object tool_object = {.fields = FIELDS(tool_rows), .given = SIZE_MAX};

static const struct field end_rows[] = {
    {FIELD(field_text, struct run_end, "reason", reason, REQUIRED),
     .about = "the call, and what it said"},
    {FIELD(field_text, struct run_end, "cell", cell, NULLABLE),
     .about = "identity of the cell that caused it, which failed; null when that cannot be told"},
};
static const struct object end_object = {.fields = FIELDS(end_rows),
                                         .given = offsetof(struct result, end.given)};

static const struct field host_rows[] = {
    {FIELD(field_text, struct host, "name", name, NULLABLE)},
    {FIELD(field_text, struct host, "slot", slot, NULLABLE), .about = "of the board in the host"},
    {FIELD(field_text, struct host, "job", job, NULLABLE), .about = "of the batch system"},
};
const struct object host_object = {.fields = FIELDS(host_rows), .given = SIZE_MAX};

static const struct keyed_texts unread = {health_keys, NULL, HEALTH_QUANTITIES};

/* A quantity as a field of a reading. Counts are numbers, not strings, up to 2^53. */
static struct field quantity_field(size_t quantity)
{
    return (struct field){
        .key = health_keys[quantity],
        .kind = health_rows[quantity].state ? &field_state : &field_optional,
        .presence = NULLABLE,
        .offset = offsetof(struct health_reading, values[quantity]),
        .high = 9007199254740992,
        .about = health_rows[quantity].words,
        .rules = health_rows[quantity].state ? NULL : AT_LEAST(0),
    };
}

static void write_quantities(cJSON *object, const struct field *field, const void *base)
{
    (void)field;
    for (size_t i = 0; i < HEALTH_QUANTITIES; i++) {
        const struct field quantity = quantity_field(i);

        quantity.kind->write(object, &quantity, base);
    }
}

static void read_quantities(const struct node *node, const struct field *field, void *base)
{
    (void)field;
    for (size_t i = 0; i < HEALTH_QUANTITIES && !node_failed(node); i++) {
        const struct field quantity = quantity_field(i);

        field_read(node, &quantity, base);
    }
}

static void schema_quantities(struct schema_object *object, const struct field *field)
{
    (void)field;
    for (size_t i = 0; i < HEALTH_QUANTITIES; i++) {
        const struct field quantity = quantity_field(i);

        quantity.kind->schema(object, &quantity);
    }
}

static const struct field_kind kind_quantities = {.write = write_quantities,
                                                  .read = read_quantities,
                                                  .schema = schema_quantities};
static const struct field reading_fields[] = {{.kind = &kind_quantities}};
static const struct object reading = {.fields = FIELDS(reading_fields), .given = SIZE_MAX};

static const struct field xid_fields[] = {
    {FIELD(field_uint32, struct xid, "number", number, REQUIRED)},
};
static const struct objects xid_list = {OBJECTS(xid_fields, struct xid, struct health, xid_count),
                                        .max = HEALTH_XIDS_MAX, .line = true};

static const struct names quantities =
    NAMES(health_keys, HEALTH_QUANTITIES, "an array of keys of health.before");

static const struct field health_fields[] = {
    {FIELD(field_object, struct health, "before", before, REQUIRED), .object = &reading,
     .about = "when the process began that wrote the result last"},
    {FIELD(field_object, struct health, "after", after, REQUIRED), .object = &reading,
     .about = "when it ended"},
    {FIELD(field_bits, struct health, "grew", grew, REQUIRED), .names = &quantities,
     .about = "keys of what grew during the run"},
    {FIELD(field_array, struct health, "xids", xids, REQUIRED), .elements = &xid_list,
     .about = "the first errors that the driver reported, in order"},
    {FIELD(field_texts, struct health, "reasons", reasons, REQUIRED), .texts = &unread,
     .about = "by key of before: why it is null"},
};

static const struct field temperature_rows[] = {
    {FIELD(field_number, struct temperature, "before_celsius", before_celsius, REQUIRED)},
    {FIELD(field_number, struct temperature, "after_celsius", after_celsius, REQUIRED)},
};

static const struct field duration_rows[] = {
    {FIELD(field_number, struct duration_method, "empty_ns", empty_ns, NULLABLE), .low = 0,
     .high = 1e15, .about = "median duration of a kernel that does nothing", .rules = AT_LEAST(0)},
    {FIELD(field_number, struct duration_method, "resolution_ns", resolution_ns, NULLABLE),
     .low = 0, .high = 1e15,
     .about = "what 95 % of its durations lie within, at least a tick of the GPU's timer: "
              "duration_ns is null for a launch that is not longer than empty_ns by this",
     .rules = AT_LEAST(0)},
    {FIELD(field_number, struct duration_method, "tick_ns", tick_ns, LATER), .low = 0, .high = 1e15,
     .about = "tick of the timer that starts and ends are read from: a duration is off by less",
     .rules = AT_LEAST(0)},
    {FIELD(field_numbers, struct duration_method, "empty_samples", samples, LATER),
     .about = "durations of the empty kernel, in ns, in the order taken"},
    {FIELD(field_text, struct duration_method, "null_reason", reason, NULLABLE),
     .about = "why there are no durations; null where they were measured"},
};
static const struct object duration_object = {.fields = FIELDS(duration_rows),
                                              .given =
                                                  offsetof(struct result, duration_method.given)};
static const struct object health_object = {.fields = FIELDS(health_fields),
                                            .given = offsetof(struct result, health.known)};
static const struct object temperature_object = {.fields = FIELDS(temperature_rows),
                                                 .given =
                                                     offsetof(struct result, temperature.known)};

/* -- code, once for all cells of a kernel ------------------------------------------------------ */

enum { KERNELS_MAX = 4096 };

static void write_code(cJSON *object, const struct field *field, const void *base)
{
    const struct result *result = base;
    cJSON *codes = json_add(object, field->key, cJSON_CreateObject());

    for (size_t i = 0; i < result->cell_count; i++) {
        const struct cell_kernel *kernel = &result->cells[i].kernel;

        if (kernel->code && *kernel->code && kernel->sha256[0] && !json_get(codes, kernel->sha256))
            json_add_text(codes, kernel->sha256, kernel->code);
    }
}

static void read_code(const struct node *node, const struct field *field, void *base)
{
    struct result *result = base;

    if (!node_get(node, field->key))
        return;

    const struct node codes = node_object(node, field->key);

    if (!node_failed(node) && cJSON_GetArraySize(codes.json) > KERNELS_MAX)
        node_wrong(&codes, "expected at most %d kernels", KERNELS_MAX);
    for (size_t i = 0; i < result->cell_count && !node_failed(node); i++)
        if (json_get(codes.json, result->cells[i].kernel.sha256))
            result->cells[i].kernel.code = node_text(&codes, result->cells[i].kernel.sha256, true);
}

static void schema_code(struct schema_object *object, const struct field *field)
{
    schema_property(object, field, "object");
}

static const struct field_kind kind_code = {.write = write_code,
                                            .read = read_code,
                                            .schema = schema_code};

/* -- the result -------------------------------------------------------------------------------- */

/* The engine, and what it says of times. */
static void check_result(const struct node *node, void *member)
{
    struct result *result = member;

    for (size_t i = 0; i < engine_kind_count; i++)
        if (strcmp(engine_kinds[i].name, result->engine) == 0) {
            result->modelled_time = engine_kinds[i].modelled;
            return;
        }
    node_wrong_member(node, "engine", "this build has no engine '%s'", result->engine);
}

static const struct field phase_rows[] = {
    {FIELD(field_reference, struct phase_time, "name", name, REQUIRED)},
    {FIELD(field_number, struct phase_time, "seconds", seconds, REQUIRED), .rules = AT_LEAST(0)},
};
static const struct objects phase_list = {OBJECTS(phase_rows, struct phase_time, struct result,
                                                  phase_count),
                                          .max = RESULT_PHASES_MAX, .line = true};

static const struct field kernel_rows[] = {
    {FIELD(field_text, struct result_kernel, "name", name, REQUIRED), .low = 1,
     .about = "of its case: the workload of its cells"},
    {FIELD(field_reference, struct result_kernel, "file", file, REQUIRED),
     .about = "as the command line named it"},
    {FIELD(field_uint32, struct result_kernel, "line", line, REQUIRED), .about = "of its case"},
    {FIELD(field_text, struct result_kernel, "sha256", sha256, REQUIRED),
     .about = "of the file, of all that the compiler read with it but for files of the toolkit and "
              "the system, of the .npy files that it names, and of the options; its beginning is "
              "the hash of cells",
     .rules = PATTERN_HASH},
    {FIELD(field_text, struct result_kernel, "compiler", compiler, REQUIRED),
     .about = "with its version"},
    {FIELD(field_text, struct result_kernel, "headers_sha256", headers_sha256, OMITTED),
     .about =
         "of the files of the toolkit and the system that the compiler read: not a part of the "
         "hash, so that results of two compilers are compared; NVRTC and older files lack it",
     .rules = PATTERN_HASH},
    {FIELD(field_reference, struct result_kernel, "options", options, NULLABLE),
     .about = "of --compiler-options"},
    {FIELD(field_number, struct result_kernel, "compile_seconds", compile_seconds, REQUIRED),
     .low = 0, .high = 1e9, .about = "of all memory spaces; 0 where all were compiled before",
     .rules = AT_LEAST(0)},
    {FIELD(field_bool, struct result_kernel, "against", against, OMITTED),
     .about = "true for the file of --against, which is compared with the one before"},
};
static const struct objects kernel_list = {OBJECTS(kernel_rows, struct result_kernel, struct result,
                                                   kernel_count),
                                           .max = 4096};

static const struct field result_rows[] = {
    {WITHIN("tool", field_object), .object = &tool_object, .about = "what measured"},
    {FIELD(field_object, struct result, "host", host, NULLABLE), .object = &host_object,
     .about = "where the run took place"},
    {FIELD(field_reference, struct result, "engine", engine, REQUIRED),
     .about = "cuda: measured on a device. model: every time and counter is a prediction"},
    {FIELD(field_text, struct result, "started_utc", started_utc, REQUIRED),
     .rules = PATTERN("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\\\.[0-9]{3})?Z$")},
    {FIELD(field_text, struct result, "finished_utc", finished_utc, NULLABLE),
     .about = "null while the run is not complete",
     .rules = PATTERN("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\\\.[0-9]{3})?Z$")},
    {FIELD(field_bool, struct result, "complete", complete, REQUIRED),
     .about = "false: the run was interrupted or ended before its time, some cells are pending"},
    {FIELD(field_object, struct result, "ended", end, NULLABLE), .object = &end_object,
     .about = "how the run ended before its time, because the device failed or did not answer; "
              "null when it did not, and when a signal interrupted it"},
    {FIELD(field_uint64, struct result, "seed", seed, REQUIRED),
     .about = "of the order of samples and of the input data"},
    {FIELD(field_number, struct result, "max_noise", max_noise, REQUIRED),
     .about =
         "relative half width of the confidence interval at which a cell stops: 0.005 is 0.5 %",
     .rules = ABOVE(0)},
    {FIELD(field_number, struct result, "sample_us", sample_us, REQUIRED), .low = 0, .high = 1e9,
     .about = "length of a hot sample that was asked for", .rules = ABOVE(0)},
    {FIELD(field_uint32, struct result, "timing_scheme", timing_scheme, LATER),
     .about = "number of the way in which samples are taken: one result has samples of one scheme; "
              "null for predictions; older files lack it",
     .rules = AT_LEAST(1)},
    {FIELD(field_uint32, struct result, "samples_max", samples_max, REQUIRED),
     .about = "samples of a cell at most", .rules = AT_LEAST(1)},
    {FIELD(field_number, struct result, "seconds_max", seconds_max, REQUIRED), .low = 0,
     .high = 1e9, .about = "sampling time of a cell at most", .rules = ABOVE(0)},
    {FIELD(field_text, struct result, "counters_asked", counters_asked, REQUIRED),
     .about = "the counters that were asked for: default, none, or names"},
    {FIELD(field_text, struct result, "counters_reason", counters_reason, NULLABLE),
     .about = "why no counter could be read; null when nothing stood in the way"},
    {FIELD(field_number, struct result, "confidence", confidence, REQUIRED),
     .low = STATS_CONFIDENCE, .high = STATS_CONFIDENCE, .about = "of every interval"},
    {FIELD(field_object, struct result, "device", device, REQUIRED), .object = &device_object,
     .about = "the device that was measured or, of the engine model, the card"},
    {FIELD(field_object, struct result, "health", health, NULLABLE), .object = &health_object,
     .about = "errors of the device; null where they were not read"},
    {FIELD(field_object, struct result, "temperature", temperature, LATER),
     .object = &temperature_object,
     .about = "of the GPU, as NVML says, before the first cell is timed and after the last; null "
              "where it was not read; older files lack it"},
    {FIELD(field_object, struct result, "duration_method", duration_method, OMITTED),
     .object = &duration_object,
     .about = "how duration_ns of cells was measured: by CUPTI's activity; only where run "
              "--duration asked for it"},
    {FIELD(field_object, struct result, "energy_method", energy_method, OMITTED),
     .object = &energy_method_object,
     .about = "how energy of cells was measured: by NVML's counter of total energy; only where run "
              "--energy asked for it"},
    {FIELD(field_array, struct result, "phases", phases, REQUIRED), .elements = &phase_list,
     .about = "where the time of the run went, in order"},
    {WITHIN("flag_reasons", field_texts), .texts = &flag_texts,
     .about = "what each flag of a cell says of it, for people"},
    {WITHIN("null_reasons", field_texts), .texts = &null_texts,
     .about = "by key that may be null: why it is where it is"},
    {WITHIN("exact_counters", kind_result_exact_counters), .about = "of all cells"},
    {FIELD(field_list, struct result, "kernel_files", kernels, OMITTED), .elements = &kernel_list,
     .about = "files of users' kernels that cells were compiled from; other results lack it"},
    {FIELD(field_list, struct result, "cells", cells, REQUIRED), .elements = &result_cells},
    {WITHIN("code", kind_code),
     .about = "the machine code of each kernel in short, by its sass_sha256, as far as its "
              "encoding is known: opcodes with how many there are of each, in the order in which "
              "they come; a letter for each instruction (of A-Z a-z 0-9 + -, the first for the "
              "first opcode); a letter, which is a hash of all bits, for each eight instructions; "
              "ten letters each of the operands, of the offsets in constant banks and of the "
              "scheduling bits, which older files lack. Padding at the end is left out",
     .rules = "\"propertyNames\": {" PATTERN_HASH
              "}, \"additionalProperties\": {\"type\": \"string\", " PATTERN(
                  "^([^ ;]+ [0-9]+( [^ ;]+ "
                  "[0-9]+)*)?;[A-Za-z0-9+-]*;[A-Za-z0-9+-]*(;[A-Za-z0-9+-]{30})?$") "}"},
};

const struct document result_document = {
    .schema = "cbank-result",
    .what = "result",
    .remedy = "give a file that cbank run wrote",
    .about =
        "One run on one device. Keys end in their unit. A reader takes any version 1.x and ignores "
        "keys that it does not know. Integers above 2^53 are decimal strings. A value that is not "
        "known or does not exist is null; null_reasons says why. csv and frame name the column of "
        "a value in cbank show --csv and in the table of cbank.load.",
    .major = 1,
    .minor = 4,
    .root = {.fields = FIELDS(result_rows), .given = SIZE_MAX, .check = check_result},
};

enum status result_write(const struct result *result, const char *path)
{
    return document_write(&result_document, result, path);
}

enum status result_put(FILE *stream, const struct result *result)
{
    return json_put_owned(stream, document_to_json(&result_document, result));
}

enum status result_take(const char *name, cJSON *tree, struct result *out)
{
    enum status status;

    *out = (struct result){.storage = tree, .free_storage = json_free};
    status = document_take(&result_document, name, tree, out);
    if (status != STATUS_OK)
        result_close(out);
    return status;
}

enum status result_parse(const char *name, const char *text, size_t bytes, struct result *out)
{
    cJSON *tree;
    const enum status status = json_parse(name, text, bytes, &tree);

    *out = (struct result){0};
    return status == STATUS_OK ? result_take(name, tree, out) : status;
}
