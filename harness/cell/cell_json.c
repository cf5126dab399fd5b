/* SPDX-License-Identifier: MIT */
#include "cell_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "text_print.h"

/* -- documents ----------------------------------------------------------------------------------------- */

static const struct table workload_table = TABLE("workload", workloads, workload_count);
static const struct table path_table = TABLE("path", paths, path_count);
static const struct table cache_state_table = TABLE("cache_state", cache_states, cache_state_count);
static const struct table parameter_table = TABLE("parameter", parameters, parameter_count);

static void write_identity(cJSON *object, const struct field *field, const void *base)
{
    char identity[CELL_IDENTITY_BYTES];

    cell_identity(base, identity);
    json_add_text(object, field->key, identity);
}

/* A pattern, or a source where the workload, which was read before, takes sources. */
static void write_pattern(cJSON *object, const struct field *field, const void *base)
{
    json_add_text(object, field->key, ((const struct cell *)base)->pattern->name);
}

static void read_pattern(const struct node *node, const struct field *field, void *base)
{
    struct cell *cell = base;
    const struct field row = {.key = field->key,
                              .kind = &field_row,
                              .bytes = sizeof(cell->pattern),
                              .of = cell_pattern_table(cell->workload)};

    field_read(node, &row, &cell->pattern);
}

static void write_parameters(cJSON *object, const struct field *field, const void *base)
{
    const struct cell *cell = base;
    cJSON *values = json_add(object, field->key, cJSON_CreateObject());

    for (size_t i = 0; i < parameter_count; i++)
        if (cell->parameters[i])
            json_add_integer(values, parameters[i].name, cell->parameters[i]);
}

/* The value of a parameter that the cell takes. */
static uint32_t read_parameter(const struct node *values, const struct parameter *parameter)
{
    char expected[96], step[32] = "a power of two";
    uint64_t value = 0;

    if (parameter->default_value != PARAMETER_NAMED && !node_get(values, parameter->name))
        return 0;
    if (json_get_integer(values->json, parameter->name, &value) && parameter_allows(parameter, value))
        return parameter_kept(parameter, (uint32_t)value);
    if (parameter->multiple)
        snprintf(step, sizeof(step), "a multiple of %" PRIu32, parameter->multiple);
    snprintf(expected, sizeof(expected), "%s from %" PRIu32 " to %" PRIu32, step, parameter->min, parameter->max);
    node_refuse(values, parameter->name, expected);
    return 0;
}

/* Refuses a parameter that this build does not know, or that the cell does not take. */
static void check_parameter(const struct node *values, const char *name, const struct cell *cell)
{
    const struct parameter *row = table_find(&parameter_table, name);
    char shown[TEXT_SHOWN_BYTES];

    if (!row)
        node_wrong_member(values, name, "this build has no %s '%s'; cbank list shows those that it has",
                          parameter_table.what, text_shown(name, shown));
    else if (!(cell_parameter_mask(cell->workload, cell->pattern) & 1u << (row - parameters)))
        node_wrong_member(values, name, "%s with %s does not take it", cell->workload->name, cell->pattern->name);
}

static void read_parameters(const struct node *node, const struct field *field, void *base)
{
    struct cell *cell = base;
    const uint32_t parameter_mask = cell_parameter_mask(cell->workload, cell->pattern);
    const struct node values = node_object(node, field->key);
    const cJSON *item;

    cJSON_ArrayForEach (item, values.json)
        check_parameter(&values, item->string, cell);
    for (size_t i = 0; i < parameter_count; i++)
        if (parameter_mask & 1u << i)
            cell->parameters[i] = read_parameter(&values, &parameters[i]);
}

/* Cells with a file of indices have its hash, as in their identity. */
static void write_trace(cJSON *object, const struct field *field, const void *base)
{
    const struct cell *cell = base;
    char index_file_hash[CELL_INDEX_FILE_HASH_BYTES];

    if (cell->index_file_hash)
        json_add_text(object, field->key, cell_index_file_hash_text(cell->index_file_hash, index_file_hash));
}

static void read_trace(const struct node *node, const struct field *field, void *base)
{
    struct cell *cell = base;
    const char *text;
    char again[CELL_INDEX_FILE_HASH_BYTES];

    if (!cell_reads_file(cell))
        return;
    text = node_text(node, field->key, false);
    cell->index_file_hash = text ? strtoull(text, NULL, 16) : 0;
    if (text && (!cell->index_file_hash || strcmp(cell_index_file_hash_text(cell->index_file_hash, again), text) != 0))
        node_refuse(node, field->key, "16 hexadecimal digits");
}

/* Bytes allocated for a table: the path's table, or a larger one where the cell needs it. */
static uint32_t array_bytes(const struct cell *cell)
{
    const uint32_t bytes = table_bytes(cell->path, cell->parameters);

    return bytes > cell->path->bytes && bytes <= path_largest(cell->path) ? bytes : cell->path->bytes;
}

static void write_array_bytes(cJSON *object, const struct field *field, const void *base)
{
    json_add_integer(object, field->key, array_bytes(base));
}

/* A table of another size makes it a cell that this build does not have. */
static void read_array_bytes(const struct node *node, const struct field *field, void *base)
{
    const uint32_t bytes = array_bytes(base);

    node_integer(node, field->key, bytes, bytes);
}

static const struct field_kind kind_identity = {write_identity, NULL};
static const struct field_kind kind_pattern = {write_pattern, read_pattern};
static const struct field_kind kind_parameters = {write_parameters, read_parameters};
static const struct field_kind kind_trace = {write_trace, read_trace};
static const struct field_kind kind_array_bytes = {write_array_bytes, read_array_bytes};

static const struct field cell_rows[] = {
    {.key = "identity", .kind = &kind_identity},
    {FIELD(field_row, struct cell, "workload", workload, REQUIRED), .of = &workload_table},
    {FIELD(field_row, struct cell, "path", path, REQUIRED), .of = &path_table},
    {.key = "pattern", .kind = &kind_pattern},
    {FIELD(field_uint64, struct cell, "elements", elements, REQUIRED), .low = 1, .high = (double)CELL_ELEMENTS_MAX},
    {FIELD(field_uint32, struct cell, "block_size", block_size, REQUIRED), .low = CBANK_WARP_THREADS,
     .high = CELL_BLOCK_SIZE_MAX},
    {FIELD(field_row, struct cell, "cache_state", cache_state, REQUIRED), .of = &cache_state_table},
    {.key = "parameters", .kind = &kind_parameters},
    {.key = "array_bytes", .kind = &kind_array_bytes},
    {.key = "index_file_hash", .kind = &kind_trace},
};
static const struct fields cell_fields = FIELDS(cell_rows);

static void write_cell(cJSON *object, const struct field *field, const void *base)
{
    fields_write(object, &cell_fields, (const char *)base + field->offset);
}

static void read_cell(const struct node *node, const struct field *field, void *base)
{
    struct cell *cell = (struct cell *)((char *)base + field->offset);

    fields_read(node, &cell_fields, cell);
    if (cell->block_size % CBANK_WARP_THREADS != 0)
        node_refuse(node, "block_size", "a multiple of 32");
}

const struct field_kind field_cell = {write_cell, read_cell};

/* -- grids --------------------------------------------------------------------------------------------- */

/* The name of the row to which a member of the cell points. */
static void value_row(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const char *cell = *(const char *const *)row;

    out->text = **(const char *const *const *)(cell + ((const struct grid_member *)column->of)->offset);
}

void cell_value_identity(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    cell_identity(row, out->room);
    out->text = out->room;
}

void cell_parameters_text(const struct cell *cell, uint32_t set, char *out, size_t room)
{
    char index_file_hash[CELL_INDEX_FILE_HASH_BYTES];

    for (size_t i = 0; i < parameter_count; i++)
        if (set >> i & 1 && cell->parameters[i])
            text_join(out, room, " ", "%s=%" PRIu32, parameters[i].name, cell->parameters[i]);
    if (cell->index_file_hash && set & CELL_TRACE_BIT)
        text_join(out, room, " ", "indices=%s", cell_index_file_hash_text(cell->index_file_hash, index_file_hash));
}

static void value_parameters(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct cell *cell = *(const struct cell *const *)row;

    out->room[0] = '\0';
    cell_parameters_text(cell, column->of ? *(const uint32_t *)column->of : CELL_PARAMETERS_ALL, out->room,
                         sizeof(out->room));
    out->text = out->room[0] ? out->room : NULL;
}

static void value_width(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->number = table_width((*(const struct cell *const *)row)->parameters);
}

static void value_table_bytes(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct cell *cell = *(const struct cell *const *)row;

    (void)column;
    out->number = table_bytes(cell->path, cell->parameters);
}

/* clang-format off */
#define MEMBER(name) .of = &(const struct grid_member){offsetof(struct cell, name), sizeof(((struct cell *)0)->name), 0, NULL}

const struct grid_column cell_columns[CELL_COLUMN_COUNT] = {
    {.key = "workload", .heading = "workload", .value = value_row, MEMBER(workload), .head = true},
    {.key = "path", .heading = "path", .value = value_row, MEMBER(path), .head = true},
    {.key = "pattern", .heading = "pattern", .value = value_row, MEMBER(pattern), .head = true},
    {.key = "elements", .heading = "elements", .format = text_count, .value = grid_integer, MEMBER(elements), .head = true},
    {.key = "block_size", .heading = "block size", .format = text_count, .value = grid_integer, MEMBER(block_size), .head = true},
    {.key = "cache_state", .heading = "cache state", .value = value_row, MEMBER(cache_state), .head = true},
    {.key = "parameters", .heading = "parameters", .value = value_parameters, .head = true},
    {.key = "width_bytes", .heading = "width_bytes", .format = text_count, .value = value_width},
    {.key = "table_bytes", .heading = "table_bytes", .format = text_count, .value = value_table_bytes},
};
/* clang-format on */
