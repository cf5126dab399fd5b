/* SPDX-License-Identifier: MIT
 * The tool as an object of a document. A reader keeps only the command line, as the program that
 * wrote the document may be another one. */
#include "version_json.h"

#include "schema.h"

static void write_tool(cJSON *object, const struct field *field, const void *base)
{
    cJSON *made = json_add(object, field->key, cJSON_CreateObject());

    json_add_text(made, "name", tool.name);
    json_add_text(made, "version", tool.version);
    json_add_text(made, "git_commit", tool.git_commit);
    json_add(made, "git_dirty", cJSON_CreateBool(tool.git_dirty));
    json_add_text(made, "compiler", tool.compiler);
    json_add_text(made, "cuda_toolkit", tool.cuda_toolkit);
    if (field->bytes > 0)
        json_add_text(made, "argv", (const char *)base + field->offset);
}

static void read_tool(const struct node *node, const struct field *field, void *base)
{
    const struct node made = node_object(node, field->key);
    const struct field argv = {.key = "argv",
                               .kind = &field_text,
                               .presence = REQUIRED,
                               .offset = field->offset,
                               .bytes = field->bytes};

    node_text(&made, "name", true);
    node_text(&made, "version", true);
    if (field->bytes > 0 && !node_failed(node))
        field_read(&made, &argv, base);
}

static void schema_tool(struct schema_object *object, const struct field *field)
{
    static const struct field rows[] = {
        {.key = "name", .kind = &field_text, .rules = "\"const\": \"cbank\""},
        {.key = "version", .kind = &field_text},
        {.key = "git_commit",
         .kind = &field_text,
         .presence = NULLABLE,
         .about = "null in a build outside a git checkout"},
        {.key = "git_dirty",
         .kind = &field_bool,
         .about = "sources had changes that were not committed"},
        {.key = "compiler", .kind = &field_text, .presence = LATER},
        {.key = "cuda_toolkit", .kind = &field_text, .presence = LATER},
        {.key = "argv", .kind = &field_text, .about = "the command line, words joined by spaces"},
    };
    const struct fields fields = {rows, sizeof(rows) / sizeof(rows[0]) - (field->bytes == 0)};

    schema_fill(schema_property(object, field, "object"), &fields);
}

const struct field_kind field_tool = {.schema = schema_tool,
                                      .write = write_tool,
                                      .read = read_tool};
