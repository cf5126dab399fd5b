/* SPDX-License-Identifier: MIT
 * The result as a document, schema results/schema.json: a table of fields for each object. */
#include <math.h>
#include <string.h>

#include "cell_json.h"
#include "document.h"
#include "result.h"
#include "table.h"
#include "text.h"

/* Most cells that are read. A file with this many has more than JSON_VALUES_MAX values if they are complete. */
enum { CELLS_MAX = 65536 };

/* An object whose keys are members of the struct around it. */
#define WITHIN(key_, kind_) .key = (key_), .kind = &(kind_)

/* Keys that every cell has and this version leaves null, and why. */
static const struct {
    const char *key, *reason;
} null_keys[] = {
    {"indices", "a formula gives them: none were read from a file"},
    {"placements", "buffers are placed once, and where is not recorded"},
    {"process_deviation", "one process cannot say how far processes differ: cbank calibrate measures it"},
    {"autocorrelation", "not computed: the samples are there"},
    {"modes", "not computed: the samples are there"},
    {"outliers", "not computed: the samples are there"},
    {"neighbour", "whether others used the device was not looked at"},
};

enum { NULL_KEY_COUNT = sizeof(null_keys) / sizeof(null_keys[0]) };

static void write_null_keys(cJSON *object, const struct field *field, const void *base)
{
    (void)field, (void)base;
    for (size_t i = 0; i < NULL_KEY_COUNT; i++)
        json_add_text(object, null_keys[i].key, NULL);
}

static void write_null_reasons(cJSON *object, const struct field *field, const void *base)
{
    cJSON *reasons = json_add(object, field->key, cJSON_CreateObject());

    if (!((const struct result *)base)->host.name[0])
        json_add_text(reasons, "host", "not recorded");
    for (size_t i = 0; i < NULL_KEY_COUNT; i++)
        json_add_text(reasons, null_keys[i].key, null_keys[i].reason);
}

static const struct field_kind kind_null_keys = {write_null_keys, NULL};
static const struct field_kind kind_null_reasons = {write_null_reasons, NULL};

/* -- counters ------------------------------------------------------------------------------------------ */

static const struct names counter_kinds = NAMES(counter_kind_names, COUNTER_MEASURED + 1, "exact or measured");
static const struct names counter_statuses = NAMES(counter_status_names, COUNTER_NO_PERMISSION + 1,
                                                   "ok, unsupported, unavailable, no_permission or not_collected");

static const struct field counter_rows[] = {
    {FIELD(field_number, struct counter_value, "value", value, NULLABLE)},
    {FIELD(field_number, struct counter_value, "expected", expected, NULLABLE)},
    {FIELD(field_name, struct counter_value, "kind", kind, REQUIRED), .of = &counter_kinds},
    {FIELD(field_name, struct counter_value, "status", status, REQUIRED), .of = &counter_statuses},
    {FIELD(field_reference, struct counter_value, "metric", metric, NULLABLE)},
    {FIELD(field_reference, struct counter_value, "unit", unit, REQUIRED)},
    {FIELD(field_reference, struct counter_value, "reason", reason, NULLABLE)},
};

static void check_counter(const struct node *node, void *element)
{
    const struct counter_value *value = element;

    if (value->status == COUNTER_OK && isnan(value->value))
        node_refuse(node, "value", "a number, since the status is ok");
}

static const struct objects counter_map = {
    .fields = FIELDS(counter_rows),
    .element_bytes = sizeof(struct counter_value),
    .count = offsetof(struct cell_result, counter_count),
    .max = JSON_VALUES_MAX,
    .line = true,
    .key = offsetof(struct counter_value, name),
    .check = check_counter,
};

static const struct field exact_rows[] = {
    {FIELD(field_uint64, struct exact_counts, "compared", compared, REQUIRED)},
    {FIELD(field_uint64, struct exact_counts, "equal", equal, REQUIRED)},
    {FIELD(field_uint64, struct exact_counts, "differing", differing, REQUIRED)},
    {FIELD(field_uint64, struct exact_counts, "unknown", unknown, REQUIRED)},
};

static void write_counts(cJSON *object, const char *key, struct exact_counts counts)
{
    static const struct fields fields = FIELDS(exact_rows);
    cJSON *made = cJSON_CreateObject();

    fields_write(made, &fields, &counts);
    json_add(object, key, json_line(made));
}

static void write_cell_counts(cJSON *object, const struct field *field, const void *base)
{
    write_counts(object, field->key, cell_exact_counts(base));
}

static void write_result_counts(cJSON *object, const struct field *field, const void *base)
{
    write_counts(object, field->key, result_exact_counts(base));
}

static const struct field_kind kind_cell_counts = {write_cell_counts, NULL};
static const struct field_kind kind_result_counts = {write_result_counts, NULL};

/* -- time ---------------------------------------------------------------------------------------------- */

static void write_samples(cJSON *object, const struct field *field, const void *base)
{
    const struct cell_time *time = base;

    json_add(object, field->key, json_doubles(time->samples_ns, time->samples_ns ? time->summary.count : 0));
}

static void read_samples(const struct node *node, const struct field *field, void *base)
{
    const struct field alone = {.key = field->key};
    struct cell_time *time = base;
    struct numbers numbers = {0};

    field_numbers.read(node, &alone, &numbers);
    time->samples_ns = numbers.values;
    time->summary.count = numbers.count;
}

static const struct field_kind kind_samples = {write_samples, read_samples};

static const struct names stop_reasons =
    NAMES(stop_reason_names, STOP_MODELLED + 1, "converged, samples, time, modelled");

static const struct field time_rows[] = {
    {FIELD(field_number, struct cell_time, "median", summary.median, NULLABLE)},
    {FIELD(field_number, struct cell_time, "ci_low", summary.ci_low, NULLABLE)},
    {FIELD(field_number, struct cell_time, "ci_high", summary.ci_high, NULLABLE)},
    {FIELD(field_number, struct cell_time, "min", summary.min, NULLABLE)},
    {FIELD(field_number, struct cell_time, "mad", summary.mad, NULLABLE)},
    {FIELD(field_uint32, struct cell_time, "launches_per_sample", launches_per_sample, REQUIRED)},
    {FIELD(field_name, struct cell_time, "stop_reason", stop_reason, NULLABLE), .of = &stop_reasons},
    {WITHIN("samples", kind_samples)},
};
static const struct object time_object = {.fields = FIELDS(time_rows), .given = SIZE_MAX};

/* -- the kernel, and what it does ---------------------------------------------------------------------- */

static void write_instruction(cJSON *object, const struct field *field, const void *base)
{
    json_add_text(object, field->key, ((const struct cell_result *)base)->cell.path->sass);
}

static const struct field_kind kind_instruction = {write_instruction, NULL};

static const struct field kernel_rows[] = {
    {FIELD(field_text, struct cell_result, "name", kernel.symbol, NULLABLE)},
    {FIELD(field_text, struct cell_result, "image", kernel.image, NULLABLE)},
    {FIELD(field_text, struct cell_result, "sass_sha256", kernel.sha256, NULLABLE)},
    {FIELD(field_uint32, struct cell_result, "registers", kernel.registers, NULLABLE)},
    {WITHIN("instruction", kind_instruction)},
};

static void check_kernel(const struct node *node, void *member)
{
    struct cell_kernel *kernel = &((struct cell_result *)member)->kernel;

    (void)node;
    kernel->known = kernel->symbol[0] != '\0';
}

static const struct object kernel_object = {.fields = FIELDS(kernel_rows), .given = SIZE_MAX, .check = check_kernel};

static const struct field per_byte_rows[] = {
    {FIELD(field_number, struct operations_per_byte, "ideal", ideal, NULLABLE)},
    {FIELD(field_number, struct operations_per_byte, "dram", dram, NULLABLE)},
    {FIELD(field_number, struct operations_per_byte, "l2", l2, NULLABLE)},
};

static void write_per_byte(cJSON *object, const struct field *field, const void *base)
{
    static const struct fields fields = FIELDS(per_byte_rows);
    const struct operations_per_byte per_byte = cell_operations_per_byte(base);

    fields_write(json_add(object, field->key, cJSON_CreateObject()), &fields, &per_byte);
}

static const struct field_kind kind_per_byte = {write_per_byte, NULL};

/* -- the model ----------------------------------------------------------------------------------------- */

/* Of the first level; those of the next one are a double further on. */
static const struct field level_rows[] = {
    {FIELD(field_number, struct model_levels, "requests", requests[0], REQUIRED)},
    {FIELD(field_number, struct model_levels, "misses", misses[0], REQUIRED)},
};
static const struct fields level_fields = FIELDS(level_rows);

/* The card's levels; of those at the end, which no request came to, nothing is known here. */
static void write_levels(cJSON *object, const struct field *field, const void *base)
{
    const struct model_levels *levels = &((const struct model_cell *)base)->levels;
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());
    size_t count = CARD_LEVELS_MAX;

    while (count > 0 && levels->requests[count - 1] == 0 && levels->misses[count - 1] == 0)
        count--;
    for (size_t i = 0; i < count; i++) {
        cJSON *level = cJSON_CreateObject();

        fields_write(level, &level_fields, (const double *)levels + i);
        json_append(array, json_line(level));
    }
}

static void read_levels(const struct node *node, const struct field *field, void *base)
{
    struct model_levels *levels = &((struct model_cell *)base)->levels;
    const struct node array = node_array(node, field->key);
    const cJSON *item;
    size_t count = 0;

    cJSON_ArrayForEach (item, array.json) {
        const struct node level = node_element(&array, item, count);

        if (count == CARD_LEVELS_MAX)
            node_wrong(&array, "expected at most %d levels", CARD_LEVELS_MAX);
        if (node_failed(node))
            return;
        fields_read(&level, &level_fields, (double *)levels + count++);
    }
}

static const struct field_kind kind_levels = {write_levels, read_levels};

static const struct field part_rows[] = {
    {FIELD(field_number, struct model_parts, "launch_ns", launch_ns, REQUIRED)},
    {FIELD(field_number, struct model_parts, "wave_ns", wave_ns, REQUIRED)},
    {FIELD(field_number, struct model_parts, "residency_ns", residency_ns, REQUIRED)},
    {FIELD(field_number, struct model_parts, "issue_ns", issue_ns, REQUIRED)},
    {FIELD(field_number, struct model_parts, "serialization_ns", serialization_ns, REQUIRED)},
    {FIELD(field_number, struct model_parts, "misses_ns", misses_ns, REQUIRED)},
    {FIELD(field_number, struct model_parts, "stream_ns", stream_ns, REQUIRED)},
};
static const struct object part_object = {.fields = FIELDS(part_rows), .given = SIZE_MAX};

static const struct field model_rows[] = {
    {FIELD(field_number, struct model_cell, "requests_per_load", requests_per_load, NULLABLE)},
    {FIELD(field_uint64, struct model_cell, "footprint_bytes", footprint_bytes, REQUIRED)},
    {FIELD(field_number, struct model_cell, "time_ns", time_ns, REQUIRED)},
    {FIELD(field_object, struct model_cell, "parts", parts, REQUIRED), .of = &part_object},
    {WITHIN("levels", kind_levels)},
};
static const struct object model_object = {.fields = FIELDS(model_rows),
                                           .given = offsetof(struct cell_result, modelled)};

/* -- cells --------------------------------------------------------------------------------------------- */

/* Every table has elements of one size, and every cell reads all of its path's. */
static void write_width(cJSON *object, const struct field *field, const void *base)
{
    (void)base;
    json_add_integer(object, field->key, sizeof(uint32_t));
}

static void write_table_bytes(cJSON *object, const struct field *field, const void *base)
{
    json_add_integer(object, field->key, ((const struct cell_result *)base)->cell.path->bytes);
}

static const struct field_kind kind_width = {write_width, NULL};
static const struct field_kind kind_table_bytes = {write_table_bytes, NULL};

static const struct names cell_statuses = NAMES(cell_status_names, CELL_FAILED + 1, "pending, ok, skipped or failed");
static const struct names cell_flags =
    NAMES(cell_flag_names, CELL_FLAG_COUNT, "an array of flags that this build knows");

static const struct field cell_rows[] = {
    {FIELD(field_cell, struct cell_result, "identity", cell, REQUIRED)},
    {WITHIN("width_bytes", kind_width)},
    {WITHIN("table_bytes", kind_table_bytes)},
    {FIELD(field_name, struct cell_result, "status", status, REQUIRED), .of = &cell_statuses},
    {FIELD(field_text, struct cell_result, "reason", reason, NULLABLE)},
    {FIELD(field_bool, struct cell_result, "verified", verified, REQUIRED)},
    {FIELD(field_object, struct cell_result, "time_ns", time, REQUIRED), .of = &time_object},
    {FIELD(field_number, struct cell_result, "cycles", time.cycles, NULLABLE)},
    {FIELD(field_number, struct cell_result, "sm_clock_mhz", time.sm_clock_mhz, NULLABLE)},
    {FIELD(field_bits, struct cell_result, "flags", flags, REQUIRED), .of = &cell_flags},
    {.kind = &kind_null_keys},
    {WITHIN("exact_counters", kind_cell_counts)},
    {FIELD(field_map, struct cell_result, "counters", counters, REQUIRED), .of = &counter_map},
    {FIELD(field_uint64, struct cell_result, "operations", operations, LATER)},
    {WITHIN("operations_per_byte", kind_per_byte)},
    {WITHIN("kernel", field_object), .of = &kernel_object},
    {FIELD(field_object, struct cell_result, "model", model, NULLABLE), .of = &model_object},
};

static const struct objects cell_list = {
    .fields = FIELDS(cell_rows),
    .element_bytes = sizeof(struct cell_result),
    .count = offsetof(struct result, cell_count),
    .max = CELLS_MAX,
};

/* -- what wrote the file, and where --------------------------------------------------------------------- */

static void write_words(cJSON *object, const struct field *field, const void *base)
{
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());
    char words[RESULT_ARCHITECTURES_BYTES], *rest = words, *word;

    snprintf(words, sizeof(words), "%s", (const char *)base + field->offset);
    while ((word = strsep(&rest, " ")))
        if (*word)
            json_append(array, cJSON_CreateString(word));
}

static void read_words(const struct node *node, const struct field *field, void *base)
{
    char *words = (char *)base + field->offset;
    const cJSON *item;
    size_t used = 0;

    if (!json_get(node->json, field->key))
        return;

    const struct node array = node_array(node, field->key);

    cJSON_ArrayForEach (item, array.json) {
        const char *word = cJSON_IsString(item) ? item->valuestring : NULL;

        if (word && used + strlen(word) + 1 < field->bytes)
            used += (size_t)snprintf(words + used, field->bytes - used, "%s%s", used ? " " : "", word);
        else
            node_refuse(node, field->key, "an array of a few short strings");
    }
    text_clean(words);
}

/* Words with blanks between, in the file an array of strings. */
static const struct field_kind kind_words = {write_words, read_words};

static const struct field tool_rows[] = {
    {FIELD(field_reference, struct result, "name", tool.name, REQUIRED)},
    {FIELD(field_reference, struct result, "version", tool.version, REQUIRED)},
    {FIELD(field_reference, struct result, "git_commit", tool.git_commit, LATER)},
    {FIELD(field_bool, struct result, "git_dirty", tool.git_dirty, LATER)},
    {FIELD(field_text, struct result, "argv", argv, REQUIRED)},
    {FIELD(field_reference, struct result, "compiler", tool.compiler, LATER)},
    {FIELD(field_reference, struct result, "cuda_toolkit", tool.cuda_toolkit, LATER)},
    {FIELD(kind_words, struct result, "architectures", architectures, LATER)},
};
static const struct object tool_object = {.fields = FIELDS(tool_rows), .given = SIZE_MAX};

static const struct field host_rows[] = {
    {FIELD(field_text, struct host, "name", name, NULLABLE)},
    {FIELD(field_text, struct host, "slot", slot, NULLABLE)},
    {FIELD(field_text, struct host, "job", job, NULLABLE)},
};
static const struct object host_object = {.fields = FIELDS(host_rows), .given = SIZE_MAX};

/* -- the result ---------------------------------------------------------------------------------------- */

static void write_engine(cJSON *object, const struct field *field, const void *base)
{
    json_add_text(object, field->key, ((const struct result *)base)->engine);
}

static void read_engine(const struct node *node, const struct field *field, void *base)
{
    static const struct table table = TABLE("engine", engine_kinds, engine_kind_count);
    const struct field alone = {.key = field->key, .of = &table};
    const struct engine_kind *row = NULL;
    struct result *result = base;

    field_row.read(node, &alone, &row);
    if (row) {
        result->engine = row->name;
        result->modelled_time = row->modelled;
    }
}

static void write_confidence(cJSON *object, const struct field *field, const void *base)
{
    (void)base;
    json_add_double(object, field->key, STATS_CONFIDENCE);
}

static void read_confidence(const struct node *node, const struct field *field, void *base)
{
    double confidence = 0;

    (void)base;
    if (!json_get_double(node->json, field->key, &confidence) || confidence != STATS_CONFIDENCE)
        node_refuse(node, field->key, "0.95");
}

static void write_flag_reasons(cJSON *object, const struct field *field, const void *base)
{
    cJSON *reasons = json_add(object, field->key, cJSON_CreateObject());

    (void)base;
    for (size_t bit = 0; bit < CELL_FLAG_COUNT; bit++)
        json_add_text(reasons, cell_flag_names[bit], cell_flag_reasons[bit]);
}

static const struct field_kind kind_engine = {write_engine, read_engine};
static const struct field_kind kind_confidence = {write_confidence, read_confidence};
static const struct field_kind kind_flag_reasons = {write_flag_reasons, NULL};

static const struct field phase_rows[] = {
    {FIELD(field_reference, struct phase_time, "name", name, REQUIRED)},
    {FIELD(field_number, struct phase_time, "seconds", seconds, REQUIRED)},
};
static const struct objects phase_list = {
    .fields = FIELDS(phase_rows),
    .element_bytes = sizeof(struct phase_time),
    .count = offsetof(struct result, phase_count),
    .max = RESULT_PHASES_MAX,
    .line = true,
};

static const struct field result_rows[] = {
    {WITHIN("tool", field_object), .of = &tool_object},
    {FIELD(field_object, struct result, "host", host, LATER), .of = &host_object},
    {WITHIN("engine", kind_engine)},
    {FIELD(field_text, struct result, "started_utc", started_utc, REQUIRED)},
    {FIELD(field_text, struct result, "finished_utc", finished_utc, NULLABLE)},
    {FIELD(field_bool, struct result, "complete", complete, REQUIRED)},
    {FIELD(field_uint64, struct result, "seed", seed, REQUIRED)},
    {FIELD(field_number, struct result, "max_noise", max_noise, REQUIRED)},
    {FIELD(field_text, struct result, "counters_asked", counters_asked, REQUIRED)},
    {FIELD(field_text, struct result, "counters_reason", counters_reason, NULLABLE)},
    {FIELD(field_text, struct result, "card", card, LATER)},
    {WITHIN("confidence", kind_confidence)},
    {FIELD(field_object, struct result, "device", device, REQUIRED), .of = &device_object},
    {FIELD(field_array, struct result, "phases", phases, REQUIRED), .of = &phase_list},
    {WITHIN("flag_reasons", kind_flag_reasons)},
    {WITHIN("null_reasons", kind_null_reasons)},
    {WITHIN("exact_counters", kind_result_counts)},
    {FIELD(field_list, struct result, "cells", cells, REQUIRED), .of = &cell_list},
};

static const struct document result_document = {
    .schema = "cbank-result",
    .what = "result",
    .remedy = "give a file that cbank run wrote",
    .major = 2,
    .minor = 0,
    .oldest_major = 1,
    .root = {.fields = FIELDS(result_rows), .given = SIZE_MAX},
};

enum status result_write(const struct result *result, const char *path)
{
    return document_write(&result_document, result, path);
}

/* Keeps the tree, which strings of the result lie in; releases both after an error. */
static enum status keep(struct result *result, cJSON *tree, enum status status)
{
    result->storage = tree;
    if (status != STATUS_OK)
        result_close(result);
    return status;
}

enum status result_read(const char *path, struct result *out)
{
    cJSON *tree = NULL;

    *out = (struct result){0};

    const enum status status = document_read(&result_document, path, out, &tree);

    return keep(out, tree, status);
}

enum status result_parse(const char *name, const char *text, size_t bytes, struct result *out)
{
    cJSON *tree = NULL;

    *out = (struct result){0};

    const enum status status = document_parse(&result_document, name, text, bytes, out, &tree);

    return keep(out, tree, status);
}
