/* SPDX-License-Identifier: MIT
 * What `cbank list` can print: a table of lists, each of which gives its rows as JSON objects. People get the
 * same objects as columns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "command.h"
#include "counter.h"
#include "engine.h"
#include "image.h"
#include "json.h"
#include "log.h"

static const char *const home_names[] = {
    [TABLE_CONSTANT] = "constant", [TABLE_GLOBAL] = "global", [TABLE_PARAMETER] = "parameter"};
static const char *const unit_names[] = {
    [UNIT_IDC] = "idc", [UNIT_UNIFORM] = "uniform", [UNIT_IMC] = "imc",      [UNIT_L1] = "l1",
    [UNIT_L2] = "l2",   [UNIT_TEXTURE] = "texture", [UNIT_SHARED] = "shared"};
static const char *const scope_names[] = {
    [INDEX_THREAD] = "thread", [INDEX_BLOCK] = "block", [INDEX_IMMEDIATE] = "immediate"};
static const char *const index_names[] = {
    [INDEX_COMPILED] = "compiled", [INDEX_SWITCHED] = "switched", [INDEX_SWITCHED_LENGTH] = "switched_length"};
static const char *const before_names[] = {[BEFORE_NOTHING] = "nothing", [BEFORE_REFILL] = "refill"};

/* A line of people's lists is not longer than this, but for the summary. */
enum { LINE_COLUMNS = 100 };

static cJSON *add_row(cJSON *array, const char *name)
{
    cJSON *row = cJSON_CreateObject();

    json_add_text(row, "name", name);
    cJSON_AddItemToArray(array, row);
    return row;
}

static void add_flag(cJSON *row, const char *key, int value)
{
    json_add(row, key, cJSON_CreateBool(value));
}

/* The items of a comma-separated list of a table; numbers as numbers. */
static void add_items(cJSON *row, const char *key, const char *list, bool numbers)
{
    cJSON *array = json_add(row, key, cJSON_CreateArray());
    char item[64];

    for (size_t length; *list; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        snprintf(item, sizeof(item), "%.*s", (int)length, list);
        json_append(array, numbers ? cJSON_CreateRaw(item) : cJSON_CreateString(item));
    }
}

/* The names of a set of PARAMETER_BIT. */
static void add_parameters(cJSON *row, uint32_t takes)
{
    cJSON *array = json_add(row, "parameters", cJSON_CreateArray());

    for (size_t i = 0; i < parameter_count; i++)
        if (takes & 1u << i)
            json_append(array, cJSON_CreateString(parameters[i].name));
}

static void list_workloads(cJSON *array)
{
    for (size_t i = 0; i < workload_count; i++) {
        const struct workload *workload = &workloads[i];
        cJSON *row = add_row(array, workload->name);

        json_add_text(row, "shape", workload->shape_name);
        json_add_integer(row, "steps", workload->steps);
        json_add_integer(row, "dimensions", workload->dimensions);
        json_add_integer(row, "radius_max", workload->radius_max);
        json_add_text(row, "index", index_names[workload->index]);
        json_add_text(row, "before", before_names[workload->before]);
        add_parameters(row, workload->takes);
        add_items(row, "patterns", workload->patterns, false);
        add_items(row, "elements", workload->elements, true);
        add_items(row, "block_sizes", workload->block_sizes, true);
        json_add_text(row, "formula", workload->formula);
        json_add_text(row, "summary", workload->summary);
    }
}

static void list_paths(cJSON *array)
{
    for (size_t i = 0; i < path_count; i++) {
        cJSON *row = add_row(array, paths[i].name);

        json_add_text(row, "home", home_names[paths[i].home]);
        json_add_text(row, "unit", unit_names[paths[i].unit]);
        json_add_text(row, "scope", scope_names[paths[i].scope]);
        json_add_integer(row, "bytes", paths[i].bytes);
        add_flag(row, "chosen", paths[i].chosen);
        json_add_integer(row, "architecture", paths[i].architecture);
        add_flag(row, "loads", paths[i].loads);
        json_add_text(row, "sass", paths[i].sass);
        json_add_text(row, "ptx", paths[i].ptx);
        json_add_text(row, "summary", paths[i].summary);
    }
}

static void list_patterns(cJSON *array)
{
    for (size_t i = 0; i < pattern_count; i++) {
        cJSON *row = add_row(array, patterns[i].name);

        json_add_text(row, "scope", scope_names[patterns[i].scope]);
        add_flag(row, "walks", patterns[i].walks);
        add_flag(row, "core", patterns[i].core);
        add_parameters(row, patterns[i].takes);
        json_add_text(row, "formula", patterns[i].formula);
        json_add_text(row, "summary", patterns[i].summary);
    }
}

/* The patterns and workloads that take a parameter. */
static void add_takers(cJSON *row, size_t parameter)
{
    cJSON *array = json_add(row, "taken_by", cJSON_CreateArray());

    for (size_t i = 0; i < pattern_count; i++)
        if (patterns[i].takes & 1u << parameter)
            json_append(array, cJSON_CreateString(patterns[i].name));
    for (size_t i = 0; i < workload_count; i++)
        if (workloads[i].takes & 1u << parameter)
            json_append(array, cJSON_CreateString(workloads[i].name));
}

static void list_parameters(cJSON *array)
{
    for (size_t i = 0; i < parameter_count; i++) {
        cJSON *row = add_row(array, parameters[i].name);
        char option[64], values[64] = "whole numbers";

        snprintf(option, sizeof(option), "--%s", parameters[i].option);
        if (parameters[i].multiple == 0)
            snprintf(values, sizeof(values), "powers of two");
        else if (parameters[i].multiple > 1)
            snprintf(values, sizeof(values), "multiples of %u", (unsigned)parameters[i].multiple);
        json_add_text(row, "option", option);
        json_add_text(row, "unit", parameters[i].unit);
        json_add_integer(row, "min", parameters[i].min);
        json_add_integer(row, "max", parameters[i].max);
        json_add_text(row, "values", values);
        add_items(row, "fallback", parameters[i].fallback, true);
        add_takers(row, i);
        json_add_text(row, "summary", parameters[i].summary);
    }
}

static void list_regimes(cJSON *array)
{
    for (size_t i = 0; i < regime_count; i++)
        json_add_text(add_row(array, regimes[i].name), "summary", regimes[i].summary);
}

static void list_counters(cJSON *array)
{
    for (size_t i = 0; i < counter_count; i++) {
        cJSON *row = add_row(array, counters[i].name);
        cJSON *metrics = cJSON_AddArrayToObject(row, "metrics");

        json_add_text(row, "kind", counter_kind_names[counters[i].kind]);
        json_add_text(row, "unit", counters[i].unit);
        for (size_t k = 0; k < COUNTER_METRICS_MAX && counters[i].metrics[k]; k++)
            cJSON_AddItemToArray(metrics, cJSON_CreateString(counters[i].metrics[k]));
        json_add_text(row, "summary", counters[i].summary);
    }
}

static void list_engines(cJSON *array)
{
    for (size_t i = 0; i < engine_count; i++)
        json_add_text(add_row(array, engine_rows[i].name), "summary", engine_rows[i].engine->summary);
}

static void list_devices(cJSON *array)
{
    for (size_t i = 0; i < engine_count; i++) {
        const struct engine *engine = engine_rows[i].engine;
        const char *reason = NULL;
        const uint32_t count = engine->device_count(&reason);

        if (count == 0)
            log_warning("no device of engine %s: %s", engine->name, reason);
        for (uint32_t device = 0; device < count; device++) {
            struct device_info info = {0};
            char capability[16];

            if (engine->describe(device, NULL, &info) != STATUS_OK)
                continue;
            snprintf(capability, sizeof(capability), "%u.%u", (unsigned)info.cc_major, (unsigned)info.cc_minor);

            cJSON *row = add_row(array, info.name);

            json_add_text(row, "engine", engine->name);
            json_add_integer(row, "device", device);
            json_add_text(row, "compute_capability", capability);
            json_add_integer(row, "sm_count", info.sm_count);
            json_add_integer(row, "l2_bytes", info.l2_bytes);
            json_add_integer(row, "memory_bytes", info.memory_bytes);
            json_add_text(row, "uuid", info.uuid);
        }
    }
}

static void list_chip(void *context, const struct chip_counters *chip)
{
    cJSON *row = add_row(context, chip->chip), *lacks = cJSON_AddArrayToObject(row, "lacks");

    for (size_t i = 0; !chip->reason && i < counter_count; i++)
        if (!chip->has[i])
            cJSON_AddItemToArray(lacks, cJSON_CreateString(counters[i].name));
    json_add_text(row, "reason", chip->reason);
}

static void list_chips(cJSON *array)
{
    for (size_t i = 0; i < engine_count; i++) {
        const char *reason = NULL;

        if (engine_rows[i].engine->chips && !engine_rows[i].engine->chips(list_chip, array, &reason))
            log_warning("chips of engine %s: %s", engine_rows[i].name, reason);
    }
}

static void list_images(cJSON *array)
{
    struct image image;

    for (size_t i = 0; image_at(i, &image); i++) {
        char name[64];

        snprintf(name, sizeof(name), "%.*s", (int)image.name_bytes, image.name);
        json_add_integer(add_row(array, name), "bytes", image.bytes);
    }
}

struct list {
    const char *name;
    const char *title;
    void (*fill)(cJSON *array);
};

static const struct list lists[] = {
    {"workloads", "Workloads: the arithmetic around the loads", list_workloads},
    {"paths", "Paths: the way a load takes", list_paths},
    {"patterns", "Patterns: which element a thread reads", list_patterns},
    {"parameters", "Parameters: numbers that a pattern or a workload takes", list_parameters},
    {"regimes", "Regimes: what the caches hold when a launch begins", list_regimes},
    {"counters", "Counters: what is read from the hardware", list_counters},
    {"engines", "Engines: what executes a plan", list_engines},
    {"devices", "Devices: what the engines can run on here", list_devices},
    {"chips", "Chips: whose metrics the installed CUPTI knows, and which counters of the table they lack", list_chips},
    {"images", "Images: the kernels in this program", list_images},
};
static const size_t list_count = sizeof(lists) / sizeof(lists[0]);

static const struct table list_table = TABLE("list", lists, list_count);

/* Text of a value for people; *owned is to free. */
static const char *value_text(const cJSON *value, char **owned)
{
    const cJSON *item;
    size_t bytes;
    FILE *stream;

    *owned = NULL;
    if (cJSON_IsString(value) || cJSON_IsRaw(value)) /* json.h adds numbers as raw text */
        return value->valuestring;
    if (cJSON_IsBool(value))
        return cJSON_IsTrue(value) ? "yes" : "no";
    if (cJSON_IsNull(value) || (cJSON_IsArray(value) && !value->child))
        return "-";
    stream = open_memstream(owned, &bytes);
    if (!stream)
        return "";
    cJSON_ArrayForEach (item, value)
        fprintf(stream, "%s%s", item == value->child ? "" : ",", item->valuestring);
    fclose(stream);
    return *owned ? *owned : "";
}

static size_t value_width(const cJSON *value)
{
    char *owned;
    const size_t width = strlen(value_text(value, &owned));

    free(owned);
    return width;
}

/* Widest text of the column `key` over all rows and its heading. */
static size_t column_width(const cJSON *array, const char *key)
{
    size_t width = strlen(key);
    const cJSON *row;

    cJSON_ArrayForEach (row, array) {
        const size_t w = value_width(json_get(row, key));

        width = w > width ? w : width;
    }
    return width;
}

/* Columns of the longest line when everything is on one. */
static size_t line_width(const cJSON *array)
{
    const cJSON *value;
    size_t width = 1;

    cJSON_ArrayForEach (value, array->child)
        width += 1 + column_width(array, value->string);
    return width;
}

/* One line of values, or of their keys: a heading. The last column is not padded. A summary that has a line of its own
 * follows. */
static void print_row(const cJSON *array, const cJSON *row, bool heading, bool summary_below)
{
    const cJSON *value;

    putchar(' ');
    cJSON_ArrayForEach (value, row) {
        const bool summary = !value->next;
        const bool last = summary || (summary_below && !value->next->next);
        char *owned = NULL;
        const char *text = heading ? value->string : value_text(value, &owned);

        if (!summary || !summary_below)
            printf(" %-*s", last ? 0 : (int)column_width(array, value->string), text);
        else if (!heading)
            printf("\n      %s", text);
        free(owned);
    }
    putchar('\n');
}

/* Names and summaries need no heading. The summary is last in a row that has one. */
static void print_rows(const struct list *list, const cJSON *array)
{
    const bool summary_below = array->child && json_get(array->child, "summary") && line_width(array) > LINE_COLUMNS;
    const cJSON *row;

    printf("%s\n", list->title);
    if (array->child && array->child->child->next && array->child->child->next->next)
        print_row(array, array->child, true, summary_below);
    cJSON_ArrayForEach (row, array)
        print_row(array, row, false, summary_below);
}

static enum status print_list(const struct list *list, bool json)
{
    cJSON *array = cJSON_CreateArray();
    enum status status = STATUS_OK;

    list->fill(array);
    if (json)
        status = json_write("-", array);
    else
        print_rows(list, array);
    cJSON_Delete(array);
    return status;
}

/* All lists as one object by name. */
static enum status print_all_json(void)
{
    cJSON *object = cJSON_CreateObject();
    enum status status;

    for (size_t i = 0; i < list_count; i++)
        lists[i].fill(cJSON_AddArrayToObject(object, lists[i].name));
    status = json_write("-", object);
    cJSON_Delete(object);
    return status;
}

struct list_options {
    bool json;
};

static const struct option_row rows[] = {
    {.name = "json", .help = "print JSON", .kind = &option_flag, .offset = offsetof(struct list_options, json)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
};

static enum status list(const void *parsed, const struct invocation *invocation)
{
    const struct list_options *options = parsed;
    enum status status = STATUS_OK;

    if (invocation->argument_count > 0) {
        const struct list *found = table_find(&list_table, invocation->arguments[0]);

        return found ? print_list(found, options->json) : table_unknown(&list_table, invocation->arguments[0]);
    }
    if (options->json)
        return print_all_json();
    for (size_t i = 0; status == STATUS_OK && i < list_count; i++) {
        if (i > 0)
            putchar('\n');
        status = print_list(&lists[i], false);
    }
    return status;
}

const struct command list_command = {
    .name = "list",
    .summary = "List workloads, paths, patterns, regimes, counters, engines, devices or chips; all without a name",
    .arguments = "[TABLE]",
    .arguments_min = 0,
    .arguments_max = 1,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct list_options),
    .details =
        "TABLE is workloads, paths, patterns, parameters, regimes, counters, engines, devices, chips (whose counters the\n"
        "installed CUPTI knows) or images (the kernels in this program).",
    .run = list,
};
