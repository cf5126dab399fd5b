/* SPDX-License-Identifier: MIT
 * The result as JSON, schema results/schema.json. Where a struct and an object have the same fields, a table
 * says which, and writing and reading both follow it. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "identity_json.h"
#include "image.h"
#include "json.h"
#include "log.h"
#include "result.h"
#include "table.h"
#include "text.h"
#include "version.h"

static const char schema_name[] = "cbank-result";
enum { SCHEMA_MAJOR = 1, SCHEMA_MINOR = 1 };

/* Most cells that are read. Memory for all is taken before the first is read in full; a file with this many
 * has more than JSON_VALUES_MAX values if they are complete. */
enum { CELLS_MAX = 65536 };

/* -- fields ------------------------------------------------------------------------------------------- */

enum old_kind {
    FIELD_TEXT,   /* char array; "" is null */
    FIELD_INT32,  /* uint32_t; 0 is null */
    FIELD_INT64,  /* uint64_t; 0 is null */
    FIELD_NUMBER, /* double; NaN is null */
    FIELD_BOOL,
};

struct old_field {
    const char *key;
    enum old_kind kind;
    bool required; /* never null: "", 0 and the like stand for themselves */
    size_t offset;
    size_t bytes;
};

#define OLD_FIELD(kind, type, key, member, required) \
    {key, kind, required, offsetof(type, member), sizeof(((type *)0)->member)}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct old_field result_fields[] = {
    OLD_FIELD(FIELD_TEXT, struct result, "started_utc", started_utc, true),
    OLD_FIELD(FIELD_TEXT, struct result, "finished_utc", finished_utc, false),
    OLD_FIELD(FIELD_BOOL, struct result, "complete", complete, true),
    OLD_FIELD(FIELD_INT64, struct result, "seed", seed, true),
    OLD_FIELD(FIELD_NUMBER, struct result, "max_noise", max_noise, true),
    OLD_FIELD(FIELD_TEXT, struct result, "counters_asked", counters_asked, true),
    OLD_FIELD(FIELD_TEXT, struct result, "counters_reason", counters_reason, false),
};

static const struct old_field tool_fields[] = {
    OLD_FIELD(FIELD_TEXT, struct result, "argv", argv, true),
};

static const struct old_field device_fields[] = {
    OLD_FIELD(FIELD_TEXT, struct device_info, "name", name, true),
    OLD_FIELD(FIELD_TEXT, struct device_info, "chip", chip, false),
    OLD_FIELD(FIELD_TEXT, struct device_info, "uuid", uuid, false),
    OLD_FIELD(FIELD_INT32, struct device_info, "sm_count", sm_count, false),
    OLD_FIELD(FIELD_INT64, struct device_info, "l2_bytes", l2_bytes, false),
    OLD_FIELD(FIELD_INT64, struct device_info, "memory_bytes", memory_bytes, false),
    OLD_FIELD(FIELD_TEXT, struct device_info, "driver", driver, false),
    OLD_FIELD(FIELD_INT32, struct device_info, "cuda_driver_api", cuda_driver_api, false),
    OLD_FIELD(FIELD_TEXT, struct device_info, "vbios", vbios, false),
    OLD_FIELD(FIELD_TEXT, struct device_info, "ecc", ecc, false),
    OLD_FIELD(FIELD_TEXT, struct device_info, "mig", mig, false),
    OLD_FIELD(FIELD_TEXT, struct device_info, "pci_bus_id", pci_bus_id, false),
    OLD_FIELD(FIELD_NUMBER, struct device_info, "launch_ns", launch_ns, false),
};

static const struct old_field clock_fields[] = {
    OLD_FIELD(FIELD_NUMBER, struct device_info, "sm_max_mhz", sm_clock_max_mhz, false),
    OLD_FIELD(FIELD_NUMBER, struct device_info, "memory_max_mhz", memory_clock_max_mhz, false),
};

static const struct old_field throttle_fields[] = {
    OLD_FIELD(FIELD_INT64, struct device_info, "before", throttle_before, true),
    OLD_FIELD(FIELD_INT64, struct device_info, "after", throttle_after, true),
};

static const struct old_field time_fields[] = {
    OLD_FIELD(FIELD_NUMBER, struct cell_time, "median", summary.median, false),
    OLD_FIELD(FIELD_NUMBER, struct cell_time, "ci_low", summary.ci_low, false),
    OLD_FIELD(FIELD_NUMBER, struct cell_time, "ci_high", summary.ci_high, false),
    OLD_FIELD(FIELD_NUMBER, struct cell_time, "min", summary.min, false),
    OLD_FIELD(FIELD_NUMBER, struct cell_time, "mad", summary.mad, false),
    OLD_FIELD(FIELD_INT32, struct cell_time, "launches_per_sample", launches_per_sample, true),
};

static const struct old_field clock_of_cell_fields[] = {
    OLD_FIELD(FIELD_NUMBER, struct cell_time, "cycles", cycles, false),
    OLD_FIELD(FIELD_NUMBER, struct cell_time, "sm_clock_mhz", sm_clock_mhz, false),
};

static const struct old_field kernel_fields[] = {
    OLD_FIELD(FIELD_TEXT, struct cell_kernel, "name", symbol, false),
    OLD_FIELD(FIELD_TEXT, struct cell_kernel, "image", image, false),
    OLD_FIELD(FIELD_TEXT, struct cell_kernel, "sass_sha256", sha256, false),
    OLD_FIELD(FIELD_INT32, struct cell_kernel, "registers", registers, false),
};

/* Since version 1.1. */
static const struct old_field operations_field =
    OLD_FIELD(FIELD_INT64, struct cell_result, "operations", operations, false);

static const struct old_field per_byte_fields[] = {
    OLD_FIELD(FIELD_NUMBER, struct operations_per_byte, "ideal", ideal, false),
    OLD_FIELD(FIELD_NUMBER, struct operations_per_byte, "dram", dram, false),
    OLD_FIELD(FIELD_NUMBER, struct operations_per_byte, "l2", l2, false),
};

static const struct old_field model_fields[] = {
    OLD_FIELD(FIELD_NUMBER, struct model_cell, "requests_per_load", requests_per_load, false),
    OLD_FIELD(FIELD_INT64, struct model_cell, "footprint_bytes", footprint_bytes, true),
    OLD_FIELD(FIELD_NUMBER, struct model_cell, "time_ns", time_ns, true),
};

static const struct old_field parts_fields[] = {
    OLD_FIELD(FIELD_NUMBER, struct model_parts, "launch_ns", launch_ns, true),
    OLD_FIELD(FIELD_NUMBER, struct model_parts, "wave_ns", wave_ns, true),
    OLD_FIELD(FIELD_NUMBER, struct model_parts, "residency_ns", residency_ns, true),
    OLD_FIELD(FIELD_NUMBER, struct model_parts, "issue_ns", issue_ns, true),
    OLD_FIELD(FIELD_NUMBER, struct model_parts, "serialization_ns", serialization_ns, true),
    OLD_FIELD(FIELD_NUMBER, struct model_parts, "misses_ns", misses_ns, true),
    OLD_FIELD(FIELD_NUMBER, struct model_parts, "stream_ns", stream_ns, true),
};

/* -- writing ------------------------------------------------------------------------------------------ */

static void write_text(cJSON *object, const struct old_field *field, const char *text)
{
    json_add_text(object, field->key, *text || field->required ? text : NULL);
}

static void write_integer(cJSON *object, const struct old_field *field, uint64_t value)
{
    if (value || field->required)
        json_add_integer(object, field->key, value);
    else
        json_add_text(object, field->key, NULL);
}

/* Adds the fields of the struct at base. */
static void write_fields(cJSON *object, const void *base, const struct old_field *fields, size_t count)
{
    for (const struct old_field *field = fields; field < fields + count; field++) {
        const void *member = (const char *)base + field->offset;

        switch (field->kind) {
        case FIELD_TEXT:
            write_text(object, field, member);
            break;
        case FIELD_INT32:
            write_integer(object, field, *(const uint32_t *)member);
            break;
        case FIELD_INT64:
            write_integer(object, field, *(const uint64_t *)member);
            break;
        case FIELD_NUMBER:
            json_add_double(object, field->key, *(const double *)member);
            break;
        case FIELD_BOOL:
            json_add(object, field->key, cJSON_CreateBool(*(const bool *)member));
            break;
        }
    }
}

/* Architectures of the measured kernels in this build: "sm_90" of the image "kernels.sm_90.cubin". */
static cJSON *architectures_json(void)
{
    static const char module[] = "kernels.";
    cJSON *array = cJSON_CreateArray();
    struct image image;

    for (size_t i = 0; image_at(i, &image); i++) {
        char name[64];

        snprintf(name, sizeof(name), "%.*s", (int)image.name_bytes, image.name);
        if (strncmp(name, module, sizeof(module) - 1) != 0)
            continue;
        name[strcspn(name + sizeof(module) - 1, ".") + sizeof(module) - 1] = '\0';
        json_append(array, cJSON_CreateString(name + sizeof(module) - 1));
    }
    return array;
}

static void write_tool(cJSON *root, const struct result *result)
{
    cJSON *object = json_add_tool(root);

    write_fields(object, result, tool_fields, COUNT(tool_fields));
    json_add_text(object, "compiler", tool.compiler);
    json_add_text(object, "cuda_toolkit", tool.cuda_toolkit);
    json_add(object, "architectures", architectures_json());
}

static void write_throttle(cJSON *device, const struct device_info *info)
{
    cJSON *object = json_add(device, "throttle", cJSON_CreateObject());

    json_add(object, "known", cJSON_CreateBool(info->throttle_known));
    for (size_t i = 0; i < COUNT(throttle_fields); i++) {
        if (info->throttle_known)
            write_fields(object, info, &throttle_fields[i], 1);
        else
            json_add_text(object, throttle_fields[i].key, NULL);
    }
}

static void write_device(cJSON *root, const struct device_info *info)
{
    cJSON *object = json_add(root, "device", cJSON_CreateObject());
    char capability[32];

    snprintf(capability, sizeof(capability), "%" PRIu32 ".%" PRIu32, info->cc_major, info->cc_minor);
    json_add_text(object, "compute_capability", capability);
    write_fields(object, info, device_fields, COUNT(device_fields));
    write_fields(json_add(object, "clocks", cJSON_CreateObject()), info, clock_fields, COUNT(clock_fields));
    write_throttle(object, info);
}

static void write_phases(cJSON *root, const struct result *result)
{
    cJSON *array = json_add(root, "phases", cJSON_CreateArray());

    for (size_t i = 0; i < result->phase_count; i++) {
        cJSON *object = json_append(array, cJSON_CreateObject());

        json_add_text(object, "name", result->phases[i].name);
        json_add_double(object, "seconds", result->phases[i].seconds);
    }
}

static void write_time(cJSON *cell, const struct cell_time *time)
{
    cJSON *object = json_add(cell, "time_ns", cJSON_CreateObject());

    write_fields(object, time, time_fields, COUNT(time_fields));
    json_add_text(object, "stop_reason", stop_reason_names[time->stop_reason]);
    json_add(object, "samples", json_doubles(time->samples_ns, time->samples_ns ? time->summary.count : 0));
    write_fields(cell, time, clock_of_cell_fields, COUNT(clock_of_cell_fields));
}

static void write_flags(cJSON *cell, uint32_t flags)
{
    cJSON *array = json_add(cell, "flags", cJSON_CreateArray());

    for (size_t bit = 0; bit < cell_flag_count; bit++)
        if (flags >> bit & 1)
            json_append(array, cJSON_CreateString(cell_flag_names[bit]));
}

static void write_counters(cJSON *cell, const struct cell_result *result)
{
    cJSON *all = json_add(cell, "counters", cJSON_CreateObject());

    for (size_t i = 0; i < result->counter_count; i++) {
        const struct counter_value *value = &result->counters[i];
        cJSON *object = json_add(all, value->name, cJSON_CreateObject());

        json_add_double(object, "value", value->value);
        json_add_double(object, "expected", value->expected);
        json_add_text(object, "kind", counter_kind_names[value->kind]);
        json_add_text(object, "status", counter_status_names[value->status]);
        json_add_text(object, "metric", value->metric);
        json_add_text(object, "unit", value->unit);
        json_add_text(object, "reason", value->reason);
    }
}

/* The quotients are for whoever reads the file: reading it here computes them anew. */
static void write_operations(cJSON *cell, const struct cell_result *result)
{
    const struct operations_per_byte per_byte = cell_operations_per_byte(result);

    write_fields(cell, result, &operations_field, 1);
    write_fields(json_add(cell, "operations_per_byte", cJSON_CreateObject()), &per_byte, per_byte_fields,
                 COUNT(per_byte_fields));
}

/* What the kernel is, or null in each place when that is not known. */
static void write_kernel(cJSON *cell, const struct cell_result *result)
{
    static const struct cell_kernel unknown;
    cJSON *object = json_add(cell, "kernel", cJSON_CreateObject());

    write_fields(object, result->kernel.known ? &result->kernel : &unknown, kernel_fields, COUNT(kernel_fields));
    json_add_text(object, "instruction", result->cell.path->sass);
}

/* The card's levels; of those at the end, which no request came to, nothing is known here. */
static void write_levels(cJSON *model, const struct model_levels *levels)
{
    cJSON *array = json_add(model, "levels", cJSON_CreateArray());
    size_t count = CARD_LEVELS_MAX;

    while (count > 0 && levels->requests[count - 1] == 0 && levels->misses[count - 1] == 0)
        count--;
    for (size_t i = 0; i < count; i++) {
        cJSON *object = json_append(array, cJSON_CreateObject());

        json_add_double(object, "requests", levels->requests[i]);
        json_add_double(object, "misses", levels->misses[i]);
    }
}

static void write_model(cJSON *cell, const struct cell_result *result)
{
    const struct model_cell *model = &result->model;
    cJSON *object;

    if (!result->modelled) {
        json_add_text(cell, "model", NULL);
        return;
    }
    object = json_add(cell, "model", cJSON_CreateObject());
    write_fields(object, model, model_fields, COUNT(model_fields));
    write_fields(json_add(object, "parts", cJSON_CreateObject()), &model->parts, parts_fields, COUNT(parts_fields));
    write_levels(object, &model->levels);
}

static void write_cell(cJSON *cells, const struct cell_result *cell)
{
    cJSON *object = json_append(cells, cJSON_CreateObject());

    json_add_identity(object, &cell->cell);
    json_add_text(object, "status", cell_status_names[cell->status]);
    json_add_text(object, "reason", cell->reason[0] ? cell->reason : NULL);
    json_add(object, "verified", cJSON_CreateBool(cell->verified));
    write_time(object, &cell->time);
    write_flags(object, cell->flags);
    write_counters(object, cell);
    write_operations(object, cell);
    write_kernel(object, cell);
    write_model(object, cell);
}

/* The whole result; NULL or unprintable when out of memory. */
static cJSON *result_to_json(const struct result *result)
{
    cJSON *root = cJSON_CreateObject();
    cJSON *schema = json_add(root, "schema", cJSON_CreateObject());
    cJSON *cells;
    char version[32];

    snprintf(version, sizeof(version), "%d.%d", SCHEMA_MAJOR, SCHEMA_MINOR);
    json_add_text(schema, "name", schema_name);
    json_add_text(schema, "version", version);
    write_tool(root, result);
    json_add_text(root, "engine", result->engine);
    write_fields(root, result, result_fields, COUNT(result_fields));
    json_add_double(root, "confidence", STATS_CONFIDENCE);
    write_device(root, &result->device);
    write_phases(root, result);
    cells = json_add(root, "cells", cJSON_CreateArray());
    for (size_t i = 0; i < result->cell_count; i++)
        write_cell(cells, &result->cells[i]);
    return root;
}

enum status result_write(const struct result *result, const char *path)
{
    cJSON *root = result_to_json(result);
    enum status status;

    status = json_write(path, root);
    cJSON_Delete(root);
    return status;
}

/* -- reading ------------------------------------------------------------------------------------------ */

/* A file that is being read. After the first error nothing more is said, and reading goes on to no effect:
 * each function may find its node empty. */
struct old_reader {
    const char *file;
    enum status status;
};

/* An object or array in the file. It refers to the node it is in, which must outlive it. */
struct old_node {
    struct old_reader *reader;
    const cJSON *json; /* NULL after an error */
    struct json_place place;
};

static bool failed(const struct old_node *node)
{
    return node->reader->status != STATUS_OK;
}

/* Says that what is at this place is wrong, unless something was before. */
static void wrong(struct old_reader *reader, const struct json_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void wrong(struct old_reader *reader, const struct json_place *place, const char *format, ...)
{
    char where[JSON_PLACE_BYTES], what[256];
    va_list arguments;

    if (reader->status != STATUS_OK)
        return;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    json_place_text(place, where, sizeof(where));
    reader->status = log_error(STATUS_USAGE, "%s: %s%s%s", reader->file, where, *where ? ": " : "", what);
}

static void out_of_memory(struct old_reader *reader)
{
    if (reader->status == STATUS_OK)
        reader->status = log_error(STATUS_ENVIRONMENT, "%s: out of memory; free some memory", reader->file);
}

static struct json_place place_of(const struct old_node *node, const char *key)
{
    return (struct json_place){.parent = &node->place, .key = key};
}

/* Says that the member `key` of node is not what was expected. */
static void refuse(const struct old_node *node, const char *key, const char *expected)
{
    const struct json_place place = place_of(node, key);

    wrong(node->reader, &place, "expected %s, it is %s", expected, json_kind(json_get(node->json, key)));
}

/* The member `key` as a node: an object, or with `array` an array. */
static struct old_node member(const struct old_node *node, const char *key, bool array)
{
    struct old_node child = {.reader = node->reader, .json = json_get(node->json, key)};

    child.place = place_of(node, key);
    if (array ? !cJSON_IsArray(child.json) : !cJSON_IsObject(child.json)) {
        refuse(node, key, array ? "an array" : "an object");
        child.json = NULL;
    }
    return child;
}

/* `item`, which is number `index` within node: an object. */
static struct old_node element(const struct old_node *node, const cJSON *item, size_t index)
{
    struct old_node child = {
        .reader = node->reader,
        .json = item,
        .place = {.parent = &node->place, .key = item->string, .index = index},
    };

    if (!cJSON_IsObject(item)) {
        wrong(node->reader, &child.place, "expected an object, it is %s", json_kind(item));
        child.json = NULL;
    }
    return child;
}

/* A member that is null stands for the field's empty value, unless the field is required. */
static bool is_null(const struct old_node *node, const struct old_field *field)
{
    return !field->required && cJSON_IsNull(json_get(node->json, field->key));
}

/* Text of a file goes to terminals: control characters do not. */
static void copy_printable(char *out, const char *text)
{
    for (; *text; text++)
        *out++ = (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text;
    *out = '\0';
}

static void read_text(const struct old_node *node, const struct old_field *field, char *out)
{
    const char *text = "";
    char expected[64];

    if (is_null(node, field) || (json_get_text(node->json, field->key, &text) && strlen(text) < field->bytes)) {
        copy_printable(out, text);
        return;
    }
    snprintf(expected, sizeof(expected), "a string of at most %zu bytes%s", field->bytes - 1,
             field->required ? "" : " or null");
    refuse(node, field->key, expected);
}

/* An integer of low .. high. */
static uint64_t read_integer(const struct old_node *node, const char *key, uint64_t low, uint64_t high)
{
    uint64_t value = low;
    char expected[80];

    if (json_get_integer(node->json, key, &value) && value >= low && value <= high)
        return value;
    snprintf(expected, sizeof(expected), "an integer from %" PRIu64 " to %" PRIu64, low, high);
    refuse(node, key, expected);
    return low;
}

static double read_number(const struct old_node *node, const struct old_field *field)
{
    double value = NAN;

    if (!is_null(node, field) && !json_get_double(node->json, field->key, &value))
        refuse(node, field->key, field->required ? "a number" : "a number or null");
    return value;
}

static bool read_bool(const struct old_node *node, const char *key)
{
    bool value = false;

    if (!json_get_bool(node->json, key, &value))
        refuse(node, key, "true or false");
    return value;
}

/* Fills the fields of the struct at base. */
static void read_fields(const struct old_node *node, void *base, const struct old_field *fields, size_t count)
{
    for (const struct old_field *field = fields; field < fields + count && !failed(node); field++) {
        void *out = (char *)base + field->offset;

        switch (field->kind) {
        case FIELD_TEXT:
            read_text(node, field, out);
            break;
        case FIELD_INT32:
            *(uint32_t *)out = is_null(node, field) ? 0 : (uint32_t)read_integer(node, field->key, 0, UINT32_MAX);
            break;
        case FIELD_INT64:
            *(uint64_t *)out = is_null(node, field) ? 0 : read_integer(node, field->key, 0, UINT64_MAX);
            break;
        case FIELD_NUMBER:
            *(double *)out = read_number(node, field);
            break;
        case FIELD_BOOL:
            *(bool *)out = read_bool(node, field->key);
            break;
        }
    }
}

/* A string of the file's, which lives as long as its tree. */
static const char *read_reference(const struct old_node *node, const char *key, bool required)
{
    const char *text = NULL;

    if (!json_get_text(node->json, key, &text) && (required || !cJSON_IsNull(json_get(node->json, key))))
        refuse(node, key, required ? "a string" : "a string or null");
    return text;
}

/* The row of a table that the member `key` names; NULL after an error. */
static const void *read_row(const struct old_node *node, const char *key, const struct table *table)
{
    const char *name = read_reference(node, key, true);
    const void *row = name ? table_find(table, name) : NULL;

    if (name && !row) {
        const struct json_place place = place_of(node, key);
        char shown[TEXT_SHOWN_BYTES];

        wrong(node->reader, &place, "this build has no %s '%s'; cbank list shows those that it has", table->what,
              text_shown(name, shown));
    }
    return row;
}

/* The index of the name that `text` is among count names, of which some may be NULL; count when none. */
static size_t name_index(const char *text, const char *const *names, size_t count)
{
    size_t i = 0;

    while (i < count && (!names[i] || strcmp(names[i], text) != 0))
        i++;
    return i;
}

/* The same of the member `key`, where `what` is expected. */
static size_t read_name(const struct old_node *node, const char *key, const char *const *names, size_t count,
                        const char *what)
{
    const char *text = "";
    size_t index;

    json_get_text(node->json, key, &text);
    index = name_index(text, names, count);
    if (index < count)
        return index;
    refuse(node, key, what);
    return 0;
}

/* Reads "MAJOR.MINOR", each of at most 5 digits and without a sign. */
static bool parse_version(const char *text, uint32_t *major, uint32_t *minor)
{
    static const char digits[] = "0123456789";
    const size_t first = strspn(text, digits);
    const size_t second = text[first] == '.' ? strspn(text + first + 1, digits) : 0;

    if (first < 1 || first > 5 || second < 1 || second > 5 || text[first + 1 + second] != '\0')
        return false;
    *major = (uint32_t)strtoul(text, NULL, 10);
    *minor = (uint32_t)strtoul(text + first + 1, NULL, 10);
    return true;
}

static void check_schema(const struct old_node *root)
{
    const struct old_node schema = member(root, "schema", false);
    const char *name = read_reference(&schema, "name", true);
    const char *version = read_reference(&schema, "version", true);
    const struct json_place name_place = place_of(&schema, "name");
    const struct json_place version_place = place_of(&schema, "version");
    char shown[TEXT_SHOWN_BYTES];
    uint32_t major, minor;

    if (failed(root))
        return;
    if (strcmp(name, schema_name) != 0)
        wrong(root->reader, &name_place, "'%s' is no result of cbank; give a file that cbank run wrote",
              text_shown(name, shown));
    else if (!parse_version(version, &major, &minor))
        refuse(&schema, "version", "a version like \"1.0\"");
    else if (major != SCHEMA_MAJOR)
        wrong(root->reader, &version_place, "%s, this build reads %d.x; use the cbank that wrote the file", version,
              SCHEMA_MAJOR);
}

/* What wrote the file matters to people alone, but for its command line. */
static void read_tool(const struct old_node *root, struct result *result)
{
    const struct old_node object = member(root, "tool", false);

    read_reference(&object, "name", true);
    read_reference(&object, "version", true);
    read_fields(&object, result, tool_fields, COUNT(tool_fields));
}

static void read_confidence(const struct old_node *root)
{
    double confidence = 0;

    if (!json_get_double(root->json, "confidence", &confidence) || confidence != STATS_CONFIDENCE)
        refuse(root, "confidence", "0.95");
}

static void read_device(const struct old_node *root, struct device_info *info)
{
    const struct old_node device = member(root, "device", false);
    const struct old_node clocks = member(&device, "clocks", false);
    const struct old_node throttle = member(&device, "throttle", false);
    const char *capability = read_reference(&device, "compute_capability", true);

    read_fields(&device, info, device_fields, COUNT(device_fields));
    read_fields(&clocks, info, clock_fields, COUNT(clock_fields));
    info->throttle_known = read_bool(&throttle, "known");
    if (info->throttle_known)
        read_fields(&throttle, info, throttle_fields, COUNT(throttle_fields));
    if (capability && !parse_version(capability, &info->cc_major, &info->cc_minor))
        refuse(&device, "compute_capability", "a string like \"9.0\"");
}

static void read_phases(const struct old_node *root, struct result *result)
{
    static const struct old_field seconds = {.key = "seconds", .kind = FIELD_NUMBER, .required = true};
    const struct old_node array = member(root, "phases", true);
    const cJSON *item;

    cJSON_ArrayForEach (item, array.json) {
        const struct old_node phase = element(&array, item, result->phase_count);

        if (result->phase_count == RESULT_PHASES_MAX)
            refuse(root, "phases", "fewer phases");
        if (failed(root))
            return;
        result->phases[result->phase_count++] = (struct phase_time){
            .name = read_reference(&phase, "name", true),
            .seconds = read_number(&phase, &seconds),
        };
    }
}

static void read_identity(const struct old_node *node, struct cell *cell)
{
    struct identity_fault fault;

    if (!node->json || json_get_identity(node->json, cell, &fault))
        return;

    const struct json_place place = place_of(node, fault.key);

    wrong(node->reader, &place, "%s", fault.text);
}

static void read_samples(const struct old_node *time_node, struct cell_time *time)
{
    const struct old_node array = member(time_node, "samples", true);
    const size_t count = (size_t)cJSON_GetArraySize(array.json);
    const cJSON *item;

    if (failed(time_node) || count == 0)
        return;
    time->samples_ns = malloc(count * sizeof(*time->samples_ns));
    if (!time->samples_ns) {
        out_of_memory(time_node->reader);
        return;
    }
    cJSON_ArrayForEach (item, array.json) {
        if (!cJSON_IsNumber(item)) {
            refuse(time_node, "samples", "an array of numbers");
            return;
        }
        time->samples_ns[time->summary.count++] = item->valuedouble;
    }
}

static void read_time(const struct old_node *cell, struct cell_time *time)
{
    const struct old_node node = member(cell, "time_ns", false);

    read_fields(&node, time, time_fields, COUNT(time_fields));
    if (!cJSON_IsNull(json_get(node.json, "stop_reason")))
        time->stop_reason = (enum stop_reason)read_name(&node, "stop_reason", stop_reason_names, STOP_MODELLED + 1,
                                                        "converged, samples, time, interrupted, modelled or null");
    read_samples(&node, time);
    read_fields(cell, time, clock_of_cell_fields, COUNT(clock_of_cell_fields));
}

static uint32_t read_flags(const struct old_node *cell)
{
    const struct old_node array = member(cell, "flags", true);
    const cJSON *item;
    uint32_t flags = 0;

    cJSON_ArrayForEach (item, array.json) {
        const size_t bit =
            cJSON_IsString(item) ? name_index(item->valuestring, cell_flag_names, cell_flag_count) : cell_flag_count;

        if (bit == cell_flag_count)
            refuse(cell, "flags", "an array of flags that this build knows");
        else
            flags |= 1u << bit;
    }
    return flags;
}

static void read_counter(const struct old_node *node, struct counter_value *value)
{
    static const struct old_field numbers[] = {
        OLD_FIELD(FIELD_NUMBER, struct counter_value, "value", value, false),
        OLD_FIELD(FIELD_NUMBER, struct counter_value, "expected", expected, false),
    };

    *value = (struct counter_value){
        .name = node->json ? node->json->string : NULL,
        .metric = read_reference(node, "metric", false),
        .unit = read_reference(node, "unit", true),
        .reason = read_reference(node, "reason", false),
        .kind =
            (enum counter_kind)read_name(node, "kind", counter_kind_names, COUNTER_MEASURED + 1, "exact or measured"),
        .status = (enum counter_status)read_name(node, "status", counter_status_names, COUNTER_NO_PERMISSION + 1,
                                                 "ok, unsupported, unavailable, no_permission or not_collected"),
    };
    read_fields(node, value, numbers, COUNT(numbers));
    if (value->status == COUNTER_OK && isnan(value->value))
        refuse(node, "value", "a number, since the status is ok");
}

static void read_counters(const struct old_node *cell, struct cell_result *result)
{
    const struct old_node all = member(cell, "counters", false);
    const size_t count = (size_t)cJSON_GetArraySize(all.json);
    const cJSON *item;

    if (failed(cell) || count == 0)
        return;
    result->counters = calloc(count, sizeof(*result->counters));
    if (!result->counters) {
        out_of_memory(cell->reader);
        return;
    }
    cJSON_ArrayForEach (item, all.json) {
        const struct old_node node = element(&all, item, result->counter_count);

        if (failed(cell))
            return;
        read_counter(&node, &result->counters[result->counter_count++]);
    }
}

static void read_kernel(const struct old_node *cell, struct cell_kernel *kernel)
{
    const struct old_node node = member(cell, "kernel", false);

    read_fields(&node, kernel, kernel_fields, COUNT(kernel_fields));
    kernel->known = kernel->symbol[0] != '\0';
}

static void read_model(const struct old_node *cell, struct cell_result *result)
{
    static const struct old_field level_fields[] = {
        {.key = "requests", .kind = FIELD_NUMBER, .required = true},
        {.key = "misses", .kind = FIELD_NUMBER, .required = true},
    };
    struct model_cell *model = &result->model;
    const cJSON *item;
    size_t count = 0;

    if (cJSON_IsNull(json_get(cell->json, "model")))
        return;

    const struct old_node node = member(cell, "model", false);
    const struct old_node parts = member(&node, "parts", false);
    const struct old_node levels = member(&node, "levels", true);

    read_fields(&node, model, model_fields, COUNT(model_fields));
    read_fields(&parts, &model->parts, parts_fields, COUNT(parts_fields));
    cJSON_ArrayForEach (item, levels.json) {
        const struct old_node level = element(&levels, item, count);

        if (count == CARD_LEVELS_MAX)
            refuse(&node, "levels", "at most 4 levels");
        if (failed(cell))
            return;
        model->levels.requests[count] = read_number(&level, &level_fields[0]);
        model->levels.misses[count++] = read_number(&level, &level_fields[1]);
    }
    result->modelled = true;
}

static void read_cell(const struct old_node *node, struct cell_result *cell)
{
    static const struct old_field reason = OLD_FIELD(FIELD_TEXT, struct cell_result, "reason", reason, false);

    cell->status = (enum cell_status)read_name(node, "status", cell_status_names, CELL_FAILED + 1,
                                               "pending, ok, skipped or failed");
    read_fields(node, cell, &reason, 1);
    cell->verified = read_bool(node, "verified");
    read_time(node, &cell->time);
    cell->flags = read_flags(node);
    read_counters(node, cell);
    if (json_get(node->json, operations_field.key))
        read_fields(node, cell, &operations_field, 1);
    read_kernel(node, &cell->kernel);
    read_model(node, cell);
}

/* Opens *result with the cells that the array names. False after an error. */
static bool open_cells(const struct old_node *array, struct result *result)
{
    const size_t count = (size_t)cJSON_GetArraySize(array->json);
    struct cell *cells;
    const cJSON *item;
    size_t i = 0;

    if (count > CELLS_MAX) {
        wrong(array->reader, &array->place, "more than %d cells; measure fewer at a time", CELLS_MAX);
        return false;
    }
    cells = calloc(count ? count : 1, sizeof(*cells));
    if (!cells) {
        out_of_memory(array->reader);
        return false;
    }
    cJSON_ArrayForEach (item, array->json) {
        const struct old_node node = element(array, item, i);

        if (failed(array))
            break;
        read_identity(&node, &cells[i++]);
    }
    if (!failed(array))
        array->reader->status = result_open(result, cells, count);
    free(cells);
    return !failed(array);
}

static void read_result(const struct old_node *root, struct result *result)
{
    static const struct table engine_table = TABLE("engine", engine_kinds, engine_kind_count);
    const struct old_node cells = member(root, "cells", true);
    const struct engine_kind *row;
    const cJSON *item;
    size_t i = 0;

    if (failed(root) || !open_cells(&cells, result))
        return;
    row = read_row(root, "engine", &engine_table);
    if (row) {
        result->engine = row->name;
        result->modelled_time = row->modelled;
    }
    read_tool(root, result);
    read_fields(root, result, result_fields, COUNT(result_fields));
    read_confidence(root);
    read_device(root, &result->device);
    read_phases(root, result);
    cJSON_ArrayForEach (item, cells.json) {
        const struct old_node node = element(&cells, item, i);

        if (failed(root))
            return;
        read_cell(&node, &result->cells[i++]);
    }
}

/* Takes json, which it keeps in *out or releases. */
static enum status read_tree(const char *file, cJSON *json, struct result *out)
{
    struct old_reader reader = {.file = file};
    const struct old_node root = {.reader = &reader, .json = json};

    if (!cJSON_IsObject(json))
        wrong(&reader, &root.place, "expected an object, it is %s: this is no result of cbank", json_kind(json));
    check_schema(&root);
    if (!failed(&root))
        read_result(&root, out);
    out->storage = json;
    if (failed(&root))
        result_close(out);
    return reader.status;
}

enum status result_read(const char *path, struct result *out)
{
    cJSON *json = NULL;
    enum status status;

    *out = (struct result){0};
    status = json_read_file(path, &json);
    return status == STATUS_OK ? read_tree(path, json, out) : status;
}

enum status result_parse(const char *name, const char *text, size_t bytes, struct result *out)
{
    cJSON *json = NULL;
    enum status status;

    *out = (struct result){0};
    status = json_parse(name, text, bytes, &json);
    return status == STATUS_OK ? read_tree(name, json, out) : status;
}
