/* SPDX-License-Identifier: MIT
 * A cell in documents and in the columns of grids. The rows of a cell of this program are read by
 * name, and its pattern by the workload that was read before; a user's kernel is an object with its
 * file and hash. */
#include "cell_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schema.h"
#include "table.h"
#include "text_print.h"
#include "user_cell.h"

/* -- documents --------------------------------------------------------------------------------- */

static const struct table cache_state_table = TABLE("cache_state", cache_states, cache_state_count);
static const struct table parameter_table = TABLE("parameter", parameters, parameter_count);

/* The tables of paths and patterns follow from the workload. */
enum { PATH_ROW = 1, PATTERN_ROW, ELEMENTS_ROW, CELL_ROWS = 6 };

static const struct field cell_rows[CELL_ROWS] = {
    {FIELD(field_row, struct cell, "workload", workload, REQUIRED), .table = &table_of_workloads,
     .about = "or the name of a user's kernel", .rules = PATTERN("^[A-Za-z_][A-Za-z0-9_]*$")},
    {FIELD(field_row, struct cell, "path", path, REQUIRED), .rules = PATTERN_NAME},
    {FIELD(field_row, struct cell, "pattern", pattern, REQUIRED),
     .about = "the source of the indices, where they are data; the launch path, where no table is "
              "read",
     .rules = PATTERN_NAME},
    {FIELD(field_uint64, struct cell, "elements", elements, REQUIRED), .low = 1,
     .high = (double)CELL_ELEMENTS_MAX,
     .about = "output elements, one a thread; the size of a user's kernel", .rules = AT_LEAST(1)},
    {FIELD(field_uint32, struct cell, "block_size", block_size, REQUIRED),
     .low = CBANK_WARP_THREADS, .high = CELL_BLOCK_SIZE_MAX,
     .about = "threads a block; 0 for a user's kernel, whose case says it",
     .rules = AT_LEAST(0) ", \"multipleOf\": 32"},
    {FIELD(field_row, struct cell, "cache_state", cache_state, REQUIRED),
     .table = &cache_state_table, .about = "what the caches hold when a launch begins: hot, cold",
     .rules = PATTERN_NAME},
};

/* Left out where it is false. */
static const struct field jit_row = {FIELD(field_bool, struct cell, "jit", jit, LATER),
                                     .about = "the driver compiled the kernel, from PTX: the "
                                              "identity ends with it. Other cells lack it"};

/* Bytes allocated for a table: the path's table, or a larger one where the cell needs it. */
static uint32_t array_bytes(const struct cell *cell)
{
    const uint32_t bytes = table_bytes(cell->path, cell->parameters);

    return bytes > cell->path->bytes && bytes <= path_largest(cell->path) ? bytes
                                                                          : cell->path->bytes;
}

/* The hash as 16 hexadecimal digits, from an object; 0 after an error. */
static uint64_t read_hash(const struct node *node, const char *key, bool required)
{
    const char *text = node_text(node, key, required);
    const uint64_t hash = text ? strtoull(text, NULL, 16) : 0;
    char again[CELL_HASH_TEXT_BYTES];

    if (text && (!hash || strcmp(cell_hash_text(hash, again), text) != 0))
        node_refuse(node, key, "16 hexadecimal digits");
    return hash;
}

/* The object kernel_file makes a cell one of a user's kernel, whatever its name. */
static void read_user_cell(const struct node *node, struct cell *cell)
{
    static const char letters[] =
        "=+abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    static const struct field name = {FIELD(field_text, struct user_kernel, "workload", name,
                                            REQUIRED),
                                      .low = 1};
    static const struct field spaces = {FIELD(field_text, struct user_kernel, "spaces", spaces,
                                              REQUIRED),
                                        .low = 1};
    const struct node file = node_object(node, "kernel_file");
    struct user_kernel kernel = {.hash = read_hash(&file, "hash", true)};

    field_read(node, &name, &kernel);
    field_read(&file, &spaces, &kernel);
    fields_read(node, &(struct fields){cell_rows + ELEMENTS_ROW, 1}, cell);
    fields_read(node, &(struct fields){cell_rows + CELL_ROWS - 1, 1}, cell);
    node_integer(node, "block_size", 0, 0);
    if (node_failed(node))
        return;
    if (kernel.name[strspn(kernel.name, letters + strlen("=+"))])
        node_refuse(node, "workload", "the name of a kernel: letters, digits and _");
    else if (!user_path(kernel.spaces) || kernel.spaces[strspn(kernel.spaces, letters)])
        node_refuse(&file, "spaces", "a memory space, or TABLE=SPACE with + between");
    else
        *cell = user_cell(&kernel, cell->elements, cell->cache_state);
}

static void write_cell(cJSON *object, const struct field *field, const void *base)
{
    const struct cell *cell = (const struct cell *)((const char *)base + field->offset);
    const struct workload named = {.name = cell_workload_name(cell)};
    struct cell written = *cell;
    char text[CELL_IDENTITY_BYTES];
    cJSON *values;

    written.workload = &named;
    cell_identity(cell, text);
    json_add_text(object, "identity", text);
    fields_write(object, &(struct fields){cell_rows, CELL_ROWS}, &written);
    if (cell_origin(cell)->compiled) {
        values = json_add(object, "kernel_file", cJSON_CreateObject());
        json_add_text(values, "hash", cell_hash_text(cell->kernel.hash, text));
        json_add_text(values, "spaces", cell->kernel.spaces);
    }
    if (cell->jit)
        json_add(object, jit_row.key, cJSON_CreateBool(true));
    values = json_add(object, "parameters", cJSON_CreateObject());
    for (size_t i = 0; i < parameter_count; i++)
        if (cell->parameters[i])
            json_add_integer(values, parameters[i].name, cell->parameters[i]);
    json_add_double(object, "array_bytes",
                    cell_table_bytes(cell) ? (double)array_bytes(cell) : NAN);
    if (cell->index_file_hash)
        json_add_text(object, "index_file_hash", cell_hash_text(cell->index_file_hash, text));
}

/* Refuses a parameter that this build does not know, or that the cell does not take. */
static void read_parameters(const struct node *node, struct cell *cell)
{
    const uint32_t parameter_mask = cell_parameter_mask(cell->workload, cell->pattern);
    const struct node values = node_object(node, "parameters");
    char shown[TEXT_SHOWN_BYTES], expected[PARAMETER_VALUES_BYTES];
    const cJSON *item;

    cJSON_ArrayForEach (item, values.json) {
        const struct parameter *row = table_find(&parameter_table, item->string);

        if (!row)
            node_wrong_member(&values, item->string,
                              "this build has no %s '%s'; cbank list shows those that it has",
                              parameter_table.what, text_shown(item->string, shown));
        else if (!(parameter_mask & 1u << (row - parameters)))
            node_wrong_member(&values, item->string, "%s with %s does not take it",
                              cell->workload->name, cell->pattern->name);
    }
    for (size_t i = 0; i < parameter_count; i++) {
        const struct parameter *row = &parameters[i];
        uint64_t value = 0;

        if (!(parameter_mask >> i & 1) ||
            (row->default_value != PARAMETER_NAMED && !node_get(&values, row->name)))
            continue;
        if (json_integer(node_get(&values, row->name), &value) && parameter_allows(row, value)) {
            cell->parameters[i] = parameter_kept(row, (uint32_t)value);
            continue;
        }
        node_refuse(&values, row->name, parameter_values_text(row, expected));
    }
}

static void read_jit(const struct node *node, struct cell *cell)
{
    if (node_get(node, jit_row.key))
        field_read(node, &jit_row, cell);
}

static void read_cell(const struct node *node, const struct field *field, void *base)
{
    struct cell *cell = (struct cell *)((char *)base + field->offset);
    struct field path = cell_rows[PATH_ROW], pattern = cell_rows[PATTERN_ROW];

    if (node_get(node, "kernel_file")) {
        read_user_cell(node, cell);
        read_jit(node, cell);
        return;
    }
    fields_read(node, &(struct fields){cell_rows, PATH_ROW}, cell);
    if (node_failed(node))
        return;
    path.table = cell_path_table(cell->workload);
    field_read(node, &path, cell);
    pattern.table = cell_pattern_table(cell->workload);
    field_read(node, &pattern, cell);
    fields_read(node, &(struct fields){cell_rows + PATTERN_ROW + 1, CELL_ROWS - PATTERN_ROW - 1},
                cell);
    if (node_failed(node))
        return;
    read_parameters(node, cell);
    read_jit(node, cell);
    /* A table of another size makes it a cell that this build does not have. */
    if (cell_table_bytes(cell) > 0)
        node_integer(node, "array_bytes", array_bytes(cell), array_bytes(cell));
    if (cell_reads_file(cell))
        cell->index_file_hash = read_hash(node, "index_file_hash", false);
    if (cell->block_size % CBANK_WARP_THREADS != 0)
        node_refuse(node, "block_size", "a multiple of 32");
}

/* What write_cell adds beside cell_rows. */
static const struct field kernel_file_rows[] = {
    {.key = "hash",
     .kind = &field_text,
     .about =
         "the beginning of that of the file, of what it includes and of the compiler's options",
     .rules = PATTERN("^[0-9a-f]{16}$")},
    {.key = "spaces",
     .kind = &field_text,
     .about = "memory spaces of its tables: one for all, or TABLE=SPACE with + between"},
};
static const struct object kernel_file_object = {.fields = FIELDS(kernel_file_rows)};
static const struct field identity_row =
    {.key = "identity",
     .kind = &field_text,
     .low = 1,
     .about = "workload/path/pattern/elements/block_size/cache state, and /name=value for each of "
              "its parameters: no two cells of a file have the same"};
static const struct field other_rows[] = {
    {.key = "kernel_file",
     .kind = &field_object,
     .presence = OMITTED,
     .object = &kernel_file_object,
     .about = "of a user's kernel, whose name is then the workload: what its identity ends with. "
              "Other cells lack it"},
    {.key = "parameters",
     .kind = &field_texts,
     .about = "those that the workload and the pattern take, by name; empty for most",
     .rules = "\"additionalProperties\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": "
              "4294967295}"},
    {.key = "array_bytes",
     .kind = &field_uint32,
     .presence = NULLABLE,
     .about = "size of the path's table as it is allocated, or of a larger one that the cell names",
     .rules = AT_LEAST(4)},
    {.key = "index_file_hash",
     .kind = &field_text,
     .presence = OMITTED,
     .about = "of a cell whose indices are those of a file: the beginning of its hash, as the "
              "identity has it",
     .rules = PATTERN("^[0-9a-f]{16}$")},
};

static void schema_cell(struct schema_object *object, const struct field *field)
{
    (void)field;
    identity_row.kind->schema(object, &identity_row);
    for (size_t i = 0; i < CELL_ROWS; i++)
        cell_rows[i].kind->schema(object, &cell_rows[i]);
    jit_row.kind->schema(object, &jit_row);
    for (size_t i = 0; i < sizeof(other_rows) / sizeof(other_rows[0]); i++)
        other_rows[i].kind->schema(object, &other_rows[i]);
}

const struct field_kind field_cell = {.write = write_cell,
                                      .read = read_cell,
                                      .schema = schema_cell};

/* -- grids ------------------------------------------------------------------------------------- */

/* The name of the row to which a member of the cell points. */
static void value_row(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const char *cell = *(const char *const *)row;

    out->text = **(const char *const *const *)(cell + column->member->offset);
}

static void value_parameters(const struct grid_column *column, const void *row,
                             struct grid_value *out)
{
    const struct cell *cell = *(const struct cell *const *)row;

    (void)column;
    out->room[0] = '\0';
    cell_parameters_text(cell, CELL_PARAMETERS_ALL, " ", out->room, sizeof(out->room));
    out->text = out->room[0] ? out->room : NULL;
}

static void value_workload(const struct grid_column *column, const void *row,
                           struct grid_value *out)
{
    (void)column;
    out->text = cell_workload_name(*(const struct cell *const *)row);
}

/* Bytes of an element, and of the table. Nothing for a user's kernel: its tables are in its
 * file. */
static void value_width_bytes(const struct grid_column *column, const void *row,
                              struct grid_value *out)
{
    const uint32_t bytes = cell_table_width(*(const struct cell *const *)row);

    (void)column;
    if (bytes > 0)
        out->number = bytes;
}

static void value_table_bytes(const struct grid_column *column, const void *row,
                              struct grid_value *out)
{
    const uint32_t bytes = cell_table_bytes(*(const struct cell *const *)row);

    (void)column;
    if (bytes > 0)
        out->number = bytes;
}

#define MEMBER(name)                                                                 \
    .member = &(const struct grid_member){.offset = offsetof(struct cell, name),     \
                                          .bytes = sizeof(((struct cell *)0)->name), \
                                          .pointer = 0}

const struct grid_column cell_columns[CELL_COLUMN_COUNT] = {
    {.key = "workload", .heading = "workload", .value = value_workload, .head = true},
    {.key = "path", .heading = "path", .value = value_row, MEMBER(path), .head = true},
    {.key = "pattern", .heading = "pattern", .value = value_row, MEMBER(pattern), .head = true},
    {.key = "elements",
     .heading = "elements",
     .format = text_count,
     .value = grid_integer,
     MEMBER(elements),
     .head = true},
    {.key = "block_size",
     .heading = "block size",
     .format = text_count,
     .value = grid_integer,
     MEMBER(block_size),
     .head = true},
    {.key = "cache_state",
     .heading = "cache state",
     .value = value_row,
     MEMBER(cache_state),
     .head = true},
    {.key = "parameters", .heading = "parameters", .value = value_parameters, .head = true},
    {.key = "width_bytes",
     .heading = "width_bytes",
     .format = text_count,
     .value = value_width_bytes},
    {.key = "table_bytes",
     .heading = "table_bytes",
     .format = text_count,
     .value = value_table_bytes},
};
