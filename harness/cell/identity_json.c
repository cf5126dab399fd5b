/* SPDX-License-Identifier: MIT */
#include "identity_json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "table.h"
#include "version.h"

static const char parameters_key[] = "parameters";

/* -- writing ------------------------------------------------------------------------------------------ */

static void add_parameters(cJSON *object, const struct cell *cell)
{
    cJSON *values = json_add(object, parameters_key, cJSON_CreateObject());

    for (size_t i = 0; i < parameter_count; i++)
        if (cell->parameters[i])
            json_add_integer(values, parameters[i].name, cell->parameters[i]);
}

void json_add_identity(cJSON *object, const struct cell *cell)
{
    json_add_text(object, "workload", cell->workload->name);
    json_add_text(object, "path", cell->path->name);
    json_add_text(object, "pattern", cell->pattern->name);
    json_add_integer(object, "elements", cell->elements);
    json_add_integer(object, "block_size", cell->block_size);
    json_add_text(object, "regime", cell->regime->name);
    add_parameters(object, cell);
    json_add_integer(object, "array_bytes", cell->path->bytes);
}

cJSON *json_add_tool(cJSON *root)
{
    cJSON *object = json_add(root, "tool", cJSON_CreateObject());

    json_add_text(object, "name", tool.name);
    json_add_text(object, "version", tool.version);
    json_add_text(object, "git_commit", tool.git_commit);
    json_add(object, "git_dirty", cJSON_CreateBool(tool.git_dirty));
    return object;
}

/* -- reading ------------------------------------------------------------------------------------------ */

static bool is_good(const struct identity_fault *fault)
{
    return fault->text[0] == '\0';
}

/* Notes what is wrong, unless something was before. */
__attribute__((format(printf, 3, 4))) static void blame(struct identity_fault *fault, const char *key,
                                                        const char *format, ...)
{
    va_list arguments;

    if (!is_good(fault))
        return;
    snprintf(fault->key, sizeof(fault->key), "%s", key);
    va_start(arguments, format);
    vsnprintf(fault->text, sizeof(fault->text), format, arguments);
    va_end(arguments);
}

static void blame_unknown(struct identity_fault *fault, const char *key, const char *what, const char *name)
{
    char shown[TEXT_SHOWN_BYTES];

    blame(fault, key, "this build has no %s '%s'; cbank list shows those that it has", what, text_shown(name, shown));
}

/* The row that the member named as the table is names; NULL with a fault. */
static const void *get_row(const cJSON *object, const struct table *table, struct identity_fault *fault)
{
    const char *name = NULL;
    const void *row;

    if (!json_get_text(object, table->what, &name)) {
        blame(fault, table->what, "expected a string, it is %s", json_kind(json_get(object, table->what)));
        return NULL;
    }
    row = table_find(table, name);
    if (!row)
        blame_unknown(fault, table->what, table->what, name);
    return row;
}

static uint64_t get_integer(const cJSON *object, const char *key, uint64_t low, uint64_t high,
                            struct identity_fault *fault)
{
    uint64_t value = low;

    if (!json_get_integer(object, key, &value) || value < low || value > high)
        blame(fault, key, "expected an integer from %" PRIu64 " to %" PRIu64 ", it is %s", low, high,
              json_kind(json_get(object, key)));
    return value;
}

/* The key of a parameter, or of what is in the place of one. */
static void parameter_key(const char *name, char out[TEXT_SHOWN_BYTES + 16])
{
    char shown[TEXT_SHOWN_BYTES];

    snprintf(out, TEXT_SHOWN_BYTES + 16, "%s.%s", parameters_key, text_shown(name, shown));
}

/* The value of a parameter that the cell takes. */
static uint32_t get_parameter(const cJSON *values, const struct parameter *parameter, struct identity_fault *fault)
{
    char key[TEXT_SHOWN_BYTES + 16], step[32] = "a power of two";
    uint64_t value = 0;

    if (json_get_integer(values, parameter->name, &value) && parameter_allows(parameter, value))
        return (uint32_t)value;
    if (parameter->multiple)
        snprintf(step, sizeof(step), "a multiple of %" PRIu32, parameter->multiple);
    parameter_key(parameter->name, key);
    blame(fault, key, "expected %s from %" PRIu32 " to %" PRIu32 ", it is %s", step, parameter->min, parameter->max,
          json_kind(json_get(values, parameter->name)));
    return 0;
}

/* Whether the cell takes what an object of parameters names. */
static void check_name(const char *name, const struct cell *cell, struct identity_fault *fault)
{
    static const struct table table = TABLE("parameter", parameters, parameter_count);
    const struct parameter *row = table_find(&table, name);
    char key[TEXT_SHOWN_BYTES + 16];

    parameter_key(name, key);
    if (!row)
        blame_unknown(fault, key, table.what, name);
    else if (!(cell_takes(cell->workload, cell->pattern) & 1u << (row - parameters)))
        blame(fault, key, "%s with %s does not take it", cell->workload->name, cell->pattern->name);
}

static void get_parameters(const cJSON *object, struct cell *cell, struct identity_fault *fault)
{
    const cJSON *const values = json_get(object, parameters_key), *item;
    const uint32_t takes = cell_takes(cell->workload, cell->pattern);

    if (values && !cJSON_IsObject(values)) {
        blame(fault, parameters_key, "expected an object, it is %s", json_kind(values));
        return;
    }
    cJSON_ArrayForEach (item, values)
        check_name(item->string, cell, fault);
    for (size_t i = 0; i < parameter_count; i++)
        if (takes & 1u << i)
            cell->parameters[i] = get_parameter(values, &parameters[i], fault);
}

bool json_get_identity(const cJSON *object, struct cell *out, struct identity_fault *fault)
{
    static const struct table workload_table = TABLE("workload", workloads, workload_count);
    static const struct table path_table = TABLE("path", paths, path_count);
    static const struct table pattern_table = TABLE("pattern", patterns, pattern_count);
    static const struct table regime_table = TABLE("regime", regimes, regime_count);

    *fault = (struct identity_fault){0};
    *out = (struct cell){
        .workload = get_row(object, &workload_table, fault),
        .path = get_row(object, &path_table, fault),
        .pattern = get_row(object, &pattern_table, fault),
        .elements = get_integer(object, "elements", 1, CELL_ELEMENTS_MAX, fault),
        .block_size = (uint32_t)get_integer(object, "block_size", CBANK_WARP_THREADS, CELL_BLOCK_SIZE_MAX, fault),
        .regime = get_row(object, &regime_table, fault),
    };
    if (out->block_size % CBANK_WARP_THREADS != 0)
        blame(fault, "block_size", "expected a multiple of 32, it is this number");
    if (!is_good(fault))
        return false;
    get_parameters(object, out, fault);
    get_integer(object, "array_bytes", out->path->bytes, out->path->bytes, fault);
    return is_good(fault);
}
