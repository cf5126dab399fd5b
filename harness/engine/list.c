/* SPDX-License-Identifier: MIT
 * The lists of `cbank list`: each one gives its rows as JSON objects. The printed grid comes from
 * the same objects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "card.h"
#include "command.h"
#include "device_json.h"
#include "engine.h"
#include "field.h"
#include "grid.h"
#include "image.h"
#include "launch_path.h"
#include "log.h"
#include "parameter_index.h"
#include "plan_options.h"
#include "source.h"
#include "text.h"
#include "text_print.h"

/* Largest number of keys in a list. */
enum { COLUMNS_MAX = 16 };

/* -- kinds of fields --------------------------------------------------------------------------- */

#define WORDS(...)                     \
    {                                  \
        .names = (const char *const[]) \
        {                              \
            __VA_ARGS__                \
        }                              \
    }

/* The words of enums. */
static const struct names
    homes = WORDS([TABLE_CONSTANT] = "constant", [TABLE_GLOBAL] = "global",
                  [TABLE_PARAMETER] = "parameter"),
    units =
        WORDS([UNIT_IDC] = "idc", [UNIT_UNIFORM] = "uniform", [UNIT_IMC] = "imc", [UNIT_L1] = "l1",
              [UNIT_L2] = "l2", [UNIT_TEXTURE] = "texture", [UNIT_SHARED] = "shared",
              [UNIT_REGISTERS] = "registers", [UNIT_SELECT] = "select"),
    scopes =
        WORDS([INDEX_THREAD] = "thread", [INDEX_BLOCK] = "block", [INDEX_IMMEDIATE] = "immediate"),
    indices = WORDS([INDEX_COMPILED] = "compiled", [INDEX_SWITCHED] = "switched",
                    [INDEX_SWITCHED_LENGTH] = "switched_length", [INDEX_LOADED] = "loaded",
                    [INDEX_ABSENT] = "none"),
    launch_work = WORDS([WORK_KERNEL] = "kernel", [WORK_COPY] = "copy", [WORK_LOAD] = "load"),
    kinds = {.names = counter_kind_names};

static const char *const parameter_words[PARAMETER_COUNT] = {
#define PARAMETER(name, ...) #name,
#include "parameters.def"
};

static const struct names parameter_names = NAMES(parameter_words, PARAMETER_COUNT, NULL);

static cJSON *add_row(cJSON *array, const char *name)
{
    cJSON *row = json_append(array, cJSON_CreateObject());

    json_add_text(row, "name", name);
    return row;
}

/* int: 0 or 1. */
static void write_flag(cJSON *row, const struct field *field, const void *base)
{
    json_add(row, field->key, cJSON_CreateBool(*(const int *)((const char *)base + field->offset)));
}

/* const char *: the items of a comma-separated list, as texts or, those that begin with a digit, as
 * numbers. */
static void put_items(cJSON *row, const struct field *field, const void *base, bool numbers)
{
    cJSON *array = json_add(row, field->key, cJSON_CreateArray());
    const char *list = *(const char *const *)((const char *)base + field->offset);
    char item[64];

    for (size_t length; *list; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        snprintf(item, sizeof(item), "%.*s", (int)length, list);
        json_append(array, numbers && item[0] >= '0' && item[0] <= '9' ? cJSON_CreateRaw(item)
                                                                       : cJSON_CreateString(item));
    }
}

static void write_items(cJSON *row, const struct field *field, const void *base)
{
    put_items(row, field, base, false);
}

static void write_item_numbers(cJSON *row, const struct field *field, const void *base)
{
    put_items(row, field, base, true);
}

/* The largest part of an element that one of the path's instructions loads. */
static void write_widest(cJSON *row, const struct field *field, const void *base)
{
    json_add_integer(row, field->key, payload_widest(base));
}

static void write_metrics(cJSON *row, const struct field *field, const void *base)
{
    cJSON *metrics = json_add(row, field->key, cJSON_CreateArray());

    for (size_t i = 0; i < COUNTER_METRICS_MAX && ((const struct counter *)base)->metrics[i]; i++)
        json_append(metrics, cJSON_CreateString(((const struct counter *)base)->metrics[i]));
}

/* "--path constant,global --elements 128000" */
static void write_options(cJSON *row, const struct field *field, const void *base)
{
    const struct preset *preset = base;
    char options[512] = "";

    for (size_t i = 0; i < PRESET_VALUES_MAX && preset->values[i].option; i++)
        text_join(options, sizeof(options), i ? " " : "", "--%s %s", preset->values[i].option,
                  preset->values[i].value);
    json_add_text(row, field->key, options);
}

static const struct field_kind flag = {.write = write_flag}, items = {.write = write_items},
                               item_numbers = {.write = write_item_numbers},
                               widest = {.write = write_widest},
                               preset_options = {.write = write_options},
                               metrics = {.write = write_metrics};

/* -- tables of the program --------------------------------------------------------------------- */

#define OF(type, kind, member) FIELD(kind, struct type, #member, member, REQUIRED)

static const struct field workload_fields[] = {
    {OF(workload, field_reference, name)},
    {FIELD(field_reference, struct workload, "shape", shape_name, REQUIRED)},
    {OF(workload, field_uint32, steps)},
    {OF(workload, field_uint32, dimensions)},
    {OF(workload, field_uint32, variants)},
    {OF(workload, field_name, index), .names = &indices},
    {FIELD(field_bits, struct workload, "parameters", parameter_mask, REQUIRED),
     .names = &parameter_names},
    {OF(workload, items, patterns)},
    {OF(workload, item_numbers, elements)},
    {OF(workload, item_numbers, block_sizes)},
    {OF(workload, field_reference, formula)},
    {OF(workload, field_reference, summary)},
};
static const struct field path_fields[] = {
    {OF(path, field_reference, name)},
    {OF(path, field_name, home), .names = &homes},
    {OF(path, field_name, unit), .names = &units},
    {OF(path, field_name, scope), .names = &scopes},
    {OF(path, field_uint32, bytes)},
    {OF(path, field_uint32, entry_bytes)},
    {OF(path, field_uint32, copies)},
    {OF(path, flag, lookups)},
    {OF(path, flag, chosen)},
    {OF(path, field_uint32, architecture)},
    {OF(path, flag, loads)},
    {OF(path, field_reference, sass)},
    {.key = "widest_bytes", .kind = &widest},
    {OF(path, field_reference, ptx)},
    {OF(path, field_reference, summary)},
};
static const struct field pattern_fields[] = {
    {OF(pattern, field_reference, name)},
    {OF(pattern, field_name, scope), .names = &scopes},
    {OF(pattern, flag, index_is_step)},
    {OF(pattern, flag, core)},
    {FIELD(field_bits, struct pattern, "parameters", parameter_mask, REQUIRED),
     .names = &parameter_names},
    {OF(pattern, field_reference, formula)},
    {OF(pattern, field_reference, summary)},
};
static const struct field source_fields[] = {
    {OF(pattern, field_reference, name)},
    {FIELD(field_bits, struct pattern, "parameters", parameter_mask, REQUIRED),
     .names = &parameter_names},
    {OF(pattern, field_reference, formula)},
    {OF(pattern, field_reference, summary)},
};
static const struct field launch_path_fields[] = {
    {FIELD(field_reference, struct launch_path, "name", pattern.name, REQUIRED)},
    {OF(launch_path, field_name, work), .names = &launch_work},
    {OF(launch_path, field_bool, by_host)},
    {FIELD(field_bits, struct launch_path, "parameters", pattern.parameter_mask, REQUIRED),
     .names = &parameter_names},
    {FIELD(field_reference, struct launch_path, "summary", pattern.summary, REQUIRED)},
};
static const struct field parameter_fields[] = {
    {OF(parameter, field_reference, name)},    {OF(parameter, field_reference, option)},
    {OF(parameter, field_reference, unit)},    {OF(parameter, field_uint32, min)},
    {OF(parameter, field_uint32, max)},        {OF(parameter, item_numbers, plan_values)},
    {OF(parameter, field_reference, summary)},
};
static const struct field sweep_fields[] = {
    {OF(preset, field_reference, name)},
    {.key = "options", .kind = &preset_options},
    {OF(preset, field_reference, summary)},
};
static const struct field cache_state_fields[] = {
    {OF(cache_state, field_reference, name)},
    {OF(cache_state, field_reference, summary)},
};
static const struct field engine_own_fields[] = {{OF(engine, field_reference, summary)}};
static const struct fields engine_own = FIELDS(engine_own_fields);
static const struct field engine_fields[] = {
    {OF(engine_row, field_reference, name)},
    {FIELD(field_pointer, struct engine_row, NULL, engine, REQUIRED), .fields = &engine_own},
};
static const struct field counter_fields[] = {
    {OF(counter, field_reference, name)},    {OF(counter, field_name, kind), .names = &kinds},
    {OF(counter, field_reference, unit)},    {OF(counter, metrics, metrics)},
    {OF(counter, field_reference, summary)},
};

/* -- lists that are not tables of the program -------------------------------------------------- */

/* A device that cannot be described has logged the reason; an incomplete list is not printed. */
static enum status list_devices(cJSON *array)
{
    static const char *const keys[] = {"compute_capability", "sm_count", "l2_bytes", "memory_bytes",
                                       "uuid"};
    const struct fields *const known = &device_object.fields;
    enum status worst = STATUS_OK;

    for (size_t i = 0; i < engine_count; i++) {
        const struct engine *engine = engine_rows[i].engine;
        const char *reason = NULL;
        const uint32_t count = engine->device_count(&reason);

        if (count == 0)
            log_warning("no device of engine %s: %s", engine->name, reason);
        for (uint32_t device = 0; device < count; device++) {
            struct device_info info = {0};
            const enum status status = engine->describe(device, NULL, &info);

            worst = status_worse(worst, status);
            if (status != STATUS_OK)
                continue;

            cJSON *row = add_row(array, info.name);

            json_add_text(row, "engine", engine->name);
            json_add_integer(row, "device", device);
            for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
                for (const struct field *field = known->rows; field < known->rows + known->count;
                     field++)
                    if (strcmp(field->key, keys[k]) == 0)
                        fields_write(row, &(struct fields){field, 1}, &info);
        }
    }
    return worst;
}

static void list_chip(void *context, const struct chip_counters *chip)
{
    cJSON *row = add_row(context, chip->chip), *lacks = json_add(row, "lacks", cJSON_CreateArray());

    for (size_t i = 0; !chip->reason && i < counter_count; i++)
        if (!chip->has[i])
            json_append(lacks, cJSON_CreateString(counters[i].name));
    json_add_text(row, "reason", chip->reason);
}

static enum status list_chips(cJSON *array)
{
    const struct chip_visitor visitor = {.visit = list_chip, .context = array};
    char reason[ENGINE_REASON_BYTES];

    for (size_t i = 0; i < engine_count; i++) {
        errno = 0;
        if (!engine_rows[i].engine->chips || engine_rows[i].engine->chips(&visitor, reason))
            continue;
        if (errno == ENOMEM)
            return log_memory("the chips of an engine");
        log_warning("chips of engine %s: %s", engine_rows[i].name, reason);
    }
    return STATUS_OK;
}

static enum status list_cards(cJSON *array)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < card_text_count; i++) {
        cJSON *row = add_row(array, card_texts[i].name);
        char capability[16];
        struct card card;

        status = card_read(card_texts[i].name, &card);
        if (status != STATUS_OK)
            break;
        snprintf(capability, sizeof(capability), "%u.%u", (unsigned)card.cc_major,
                 (unsigned)card.cc_minor);
        json_add_text(row, "gpu", card.name);
        json_add_text(row, "chip", card.chip);
        json_add_text(row, "compute_capability", capability);
        json_add_integer(row, "sm_count", card_integer(&card, CARD_SM_COUNT).value);
        json_add_integer(row, "numbers",
                         CARD_NUMBERS - (uint64_t)__builtin_popcount(card_unknown(&card)));
        json_add_text(row, "file", card_texts[i].file);
    }
    return status;
}

static enum status list_images(cJSON *array)
{
    struct image image;

    for (size_t i = 0; image_at(i, &image); i++) {
        char name[64];

        snprintf(name, sizeof(name), "%.*s", (int)image.name_bytes, image.name);
        json_add_integer(add_row(array, name), "bytes", image.bytes);
    }
    return STATUS_OK;
}

struct list {
    const char *name;
    const char *title;
    /* number of keys printed next to the name if not all fit; the others go below it */
    size_t on_line;
    /* NULL: the list is a table of the program, with the fields */
    enum status (*fill)(cJSON *array);
    struct table table;
    struct fields fields;
};

static const struct list lists[] = {
    {"workloads", "Workloads: the arithmetic around the loads", 5, NULL,
     TABLE("workload", workloads, workload_count), FIELDS(workload_fields)},
    {"paths", "Paths: the way a load takes", 7, NULL, TABLE("path", paths, path_count),
     FIELDS(path_fields)},
    {"patterns", "Patterns: which element a thread reads", 5, NULL,
     TABLE("pattern", patterns, pattern_count), FIELDS(pattern_fields)},
    {"sources", "Sources: where the indices of lookups come from", 2, NULL,
     TABLE("source", sources, source_count), FIELDS(source_fields)},
    {"launch_paths", "Launch paths: how a launch, or what it reads, comes to the device", 4, NULL,
     TABLE("launch path", launch_paths, launch_path_count), FIELDS(launch_path_fields)},
    {"parameters", "Parameters: numbers that a pattern, a source or a workload takes", 5, NULL,
     TABLE("parameter", parameters, parameter_count), FIELDS(parameter_fields)},
    {"sweeps", "Sweeps: plans by a name", 1, NULL, TABLE("sweep", sweeps, sweep_count),
     FIELDS(sweep_fields)},
    {"cache_states", "Cache states: what the caches hold when a launch begins", 2, NULL,
     TABLE("cache_state", cache_states, cache_state_count), FIELDS(cache_state_fields)},
    {"counters", "Counters: what is read from the hardware", 3, NULL,
     TABLE("counter", counters, counter_count), FIELDS(counter_fields)},
    {"engines", "Engines: what executes a plan", 2, NULL,
     TABLE("engine", engine_rows, engine_count), FIELDS(engine_fields)},
    {.name = "devices",
     .title = "Devices: what the engines can run on here",
     .on_line = 6,
     .fill = list_devices},
    {.name = "chips",
     .title = "Chips: those that CUPTI knows, and the counters that they lack",
     .on_line = 1,
     .fill = list_chips},
    {.name = "cards",
     .title = "Cards: chips that --card takes by name, and their constant caches",
     .on_line = 6,
     .fill = list_cards},
    {.name = "images",
     .title = "Images: the kernels in this program",
     .on_line = 2,
     .fill = list_images},
};
static const size_t list_count = sizeof(lists) / sizeof(lists[0]);

static const struct table list_table = TABLE("list", lists, list_count);

/* -- printing ---------------------------------------------------------------------------------- */

struct list_options {
    struct format_options format;
    struct output_options look;
};

/* The printed text of an object's member; the row points to the object. */
static void show_member(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const cJSON *value = json_get(*(const cJSON *const *)row, column->key), *item;

    out->text = cJSON_IsBool(value)  ? (cJSON_IsTrue(value) ? "yes" : "no")
                : cJSON_IsRaw(value) ? value->valuestring /* json.h adds numbers as raw text */
                                     : cJSON_GetStringValue(value);
    out->room[0] = '\0';
    cJSON_ArrayForEach (item, value) {
        text_join(out->room, sizeof(out->room), ", ", "%s", item->valuestring);
        out->text = out->room;
    }
}

/* Prints the objects of an array as a grid. Its columns are the keys of the first object. */
static enum status print_grid(const struct list *list, const cJSON *array, size_t format,
                              const struct output_options *output)
{
    const size_t count = (size_t)cJSON_GetArraySize(array);
    const cJSON **rows = calloc(count + 1, sizeof(*rows)), *item;
    struct grid_column columns[COLUMNS_MAX];
    struct grid grid = {.title = list->title,
                        .columns = columns,
                        .rows = rows,
                        .row_bytes = sizeof(*rows)};
    struct print_style look = output_style(output);
    enum status status = STATUS_OK;

    look.indent = 2;
    if (!rows)
        return log_memory("a list of %zu rows", count);
    cJSON_ArrayForEach (item, array)
        rows[grid.row_count++] = item;
    cJSON_ArrayForEach (item, rows[0]) {
        const size_t c = grid.column_count++;

        columns[c] = (struct grid_column){.key = item->string,
                                          .heading = item->string,
                                          .value = show_member,
                                          .head = c == 0,
                                          .below = c >= list->on_line};
    }
    if (format < GRID_FORMAT_COUNT && count > 0)
        status = grid_formats[format]->print(stdout, &grid);
    else
        status = grid_print(stdout, &grid, &look);
    free(rows);
    return status;
}

static const struct option_group groups[] = {
    OPTION_GROUP(format_option_rows, offsetof(struct list_options, format)),
    OPTION_GROUP(output_option_rows, offsetof(struct list_options, look)),
};

static enum status list(const void *parsed, const struct invocation *invocation)
{
    const struct list_options *options = parsed;
    const struct list *only = NULL; /* NULL: all of them */
    cJSON *object, *array;
    char *whole; /* NULL: the object lost a member, as memory ran out */
    size_t format;
    enum status status = format_taken(&options->format, &format);

    if (status != STATUS_OK)
        return status;
    if (invocation->argument_count > 0 &&
        !(only = table_find(&list_table, invocation->arguments[0])))
        return table_unknown(&list_table, invocation->arguments[0]);
    if (!only && format < GRID_FORMAT_COUNT && format != GRID_json)
        return log_error(STATUS_USAGE,
                         "--%s prints one table; name it, such as cbank list paths --%s",
                         grid_formats[format]->name, grid_formats[format]->name);
    if (!only && format != GRID_json) {
        for (const struct list *list = lists; list < lists + list_count; list++)
            text_line(stdout, "%-13s %s", list->name, strchr(list->title, ':') + 2);
        return STATUS_OK;
    }
    object = cJSON_CreateObject();
    for (const struct list *list = lists; list < lists + list_count; list++) {
        if (only && only != list)
            continue;
        array = json_add(object, list->name, cJSON_CreateArray());
        for (size_t i = 0; !list->fill && i < *list->table.count; i++)
            fields_write(json_append(array, cJSON_CreateObject()), &list->fields,
                         table_row(&list->table, i));
        if (list->fill)
            status = status_worse(status, list->fill(array));
    }
    whole = cJSON_PrintUnformatted(object);
    if (status == STATUS_OK && !whole)
        status = log_memory("a list");
    else if (status == STATUS_OK && format == GRID_json)
        status = json_put(stdout, only ? object->child : object);
    else if (status == STATUS_OK)
        status = print_grid(only, object->child, format, &options->look);
    cJSON_free(whole);
    cJSON_Delete(object);
    return status;
}

const struct command list_command = {
    .name = "list",
    .summary = "List a table of the program, its devices or CUPTI's chips; without a name, what "
               "can be listed",
    .arguments = "[TABLE]",
    .arguments_max = 1,
    OPTION_GROUPS(groups),
    .options_bytes = sizeof(struct list_options),
    .details = "--json without a name prints every table.",
    .run = list,
};
