/* SPDX-License-Identifier: MIT
 * What `cbank list` can print: a table of lists, each of which gives its rows as JSON objects. People get the
 * same objects as a grid. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell.h"
#include "command.h"
#include "counter.h"
#include "engine.h"
#include "grid.h"
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

/* Most keys of a list. */
enum { COLUMNS_MAX = 16 };

static cJSON *add_row(cJSON *array, const char *name)
{
    cJSON *row = json_append(array, cJSON_CreateObject());

    json_add_text(row, "name", name);
    return row;
}

static void add_word(cJSON *array, const char *word)
{
    json_append(array, cJSON_CreateString(word));
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
            add_word(array, parameters[i].name);
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
            add_word(array, patterns[i].name);
    for (size_t i = 0; i < workload_count; i++)
        if (workloads[i].takes & 1u << parameter)
            add_word(array, workloads[i].name);
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
        cJSON *row = add_row(array, counters[i].name), *metrics;

        json_add_text(row, "kind", counter_kind_names[counters[i].kind]);
        json_add_text(row, "unit", counters[i].unit);
        metrics = json_add(row, "metrics", cJSON_CreateArray());
        for (size_t k = 0; k < COUNTER_METRICS_MAX && counters[i].metrics[k]; k++)
            add_word(metrics, counters[i].metrics[k]);
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
    cJSON *row = add_row(context, chip->chip), *lacks = json_add(row, "lacks", cJSON_CreateArray());

    for (size_t i = 0; !chip->reason && i < counter_count; i++)
        if (!chip->has[i])
            add_word(lacks, counters[i].name);
    json_add_text(row, "reason", chip->reason);
}

static void list_chips(cJSON *array)
{
    const struct chip_visitor visitor = {.visit = list_chip, .context = array};
    char reason[ENGINE_REASON_BYTES];

    for (size_t i = 0; i < engine_count; i++)
        if (engine_rows[i].engine->chips && !engine_rows[i].engine->chips(&visitor, reason))
            log_warning("chips of engine %s: %s", engine_rows[i].name, reason);
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
    size_t beside; /* keys that stand beside the name where not all do; the others go below it */
};

static const struct list lists[] = {
    {"workloads", "Workloads: the arithmetic around the loads", list_workloads, 6},
    {"paths", "Paths: the way a load takes", list_paths, 7},
    {"patterns", "Patterns: which element a thread reads", list_patterns, 5},
    {"parameters", "Parameters: numbers that a pattern or a workload takes", list_parameters, 6},
    {"regimes", "Regimes: what the caches hold when a launch begins", list_regimes, 2},
    {"counters", "Counters: what is read from the hardware", list_counters, 3},
    {"engines", "Engines: what executes a plan", list_engines, 2},
    {"devices", "Devices: what the engines can run on here", list_devices, 6},
    {"chips", "Chips: whose metrics CUPTI knows, and which counters of the table they lack", list_chips, 1},
    {"images", "Images: the kernels in this program", list_images, 2},
};
static const size_t list_count = sizeof(lists) / sizeof(lists[0]);

static const struct table list_table = TABLE("list", lists, list_count);

/* -- printing ------------------------------------------------------------------------------------------ */

struct list_options {
    struct format_options format;
    struct look_options look;
};

/* What people read of a member of an object, which the row points to. */
static void show_member(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const cJSON *value = json_get(*(const cJSON *const *)row, column->key), *item;
    size_t used = 0;

    out->text = cJSON_IsBool(value) ? (cJSON_IsTrue(value) ? "yes" : "no") : cJSON_GetStringValue(value);
    if (cJSON_IsRaw(value)) /* json.h adds numbers as raw text */
        out->text = value->valuestring;
    cJSON_ArrayForEach (item, value) {
        used +=
            (size_t)snprintf(out->room + used, sizeof(out->room) - used, "%s%s", used ? ", " : "", item->valuestring);
        out->text = out->room;
        if (used >= sizeof(out->room))
            return;
    }
}

/* Prints the objects of an array as a grid, whose columns are the keys of the first. */
static enum status print_grid(const struct list *list, const cJSON *array, const struct list_options *options)
{
    const size_t count = (size_t)cJSON_GetArraySize(array);
    const cJSON **rows = calloc(count + 1, sizeof(*rows)), *item;
    struct grid_column columns[COLUMNS_MAX];
    struct grid grid = {.title = list->title, .columns = columns, .rows = rows, .row_bytes = sizeof(*rows)};
    const struct grid_look look = {.width = text_width(stdout),
                                   .indent = 2,
                                   .color = look_color(&options->look, STDOUT_FILENO)};
    enum status status = STATUS_OK;

    if (!rows)
        return log_error(STATUS_ENVIRONMENT, "out of memory for a list of %zu rows", count);
    cJSON_ArrayForEach (item, array)
        rows[grid.row_count++] = item;
    cJSON_ArrayForEach (item, rows[0]) {
        const size_t c = grid.column_count++;

        columns[c] = (struct grid_column){.key = item->string,
                                          .heading = item->string,
                                          .value = show_member,
                                          .head = c == 0,
                                          .below = c >= list->beside};
    }
    if (options->format.csv && count > 0)
        grid_print_csv(stdout, &grid);
    else if (options->format.markdown && count > 0)
        grid_print_markdown(stdout, &grid);
    else
        status = grid_print(stdout, &grid, &look);
    free(rows);
    return status;
}

static enum status print_list(const struct list *list, const struct list_options *options)
{
    cJSON *array = cJSON_CreateArray();
    enum status status;

    list->fill(array);
    status = options->format.json ? json_put(stdout, array) : print_grid(list, array, options);
    cJSON_Delete(array);
    return status;
}

/* All lists as one object by name. */
static enum status print_all_json(void)
{
    cJSON *object = cJSON_CreateObject();

    for (size_t i = 0; i < list_count; i++)
        lists[i].fill(json_add(object, lists[i].name, cJSON_CreateArray()));
    return json_put_owned(stdout, object);
}

static const struct option_group groups[] = {
    OPTION_GROUP(format_option_rows, offsetof(struct list_options, format)),
    OPTION_GROUP(look_option_rows, offsetof(struct list_options, look)),
};

static enum status list(const void *parsed, const struct invocation *invocation)
{
    const struct list_options *options = parsed;
    enum status status = format_check(&options->format);

    if (status != STATUS_OK)
        return status;
    if (invocation->argument_count > 0) {
        const struct list *found = table_find(&list_table, invocation->arguments[0]);

        return found ? print_list(found, options) : table_unknown(&list_table, invocation->arguments[0]);
    }
    if (options->format.json)
        return print_all_json();
    for (size_t i = 0; status == STATUS_OK && i < list_count; i++) {
        if (i > 0)
            putchar('\n');
        status = print_list(&lists[i], options);
    }
    return status;
}

const struct command list_command = {
    .name = "list",
    .summary = "List the tables of the program, its devices, or what CUPTI knows; all without a name",
    .arguments = "[TABLE]",
    .arguments_max = 1,
    .argument_table = &list_table,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct list_options),
    .run = list,
};
