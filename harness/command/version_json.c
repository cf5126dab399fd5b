/* SPDX-License-Identifier: MIT
 * The tool as an object of a document. Of what is read, only the command line is kept: the program
 * that reads is another one. */
#include "version_json.h"

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

const struct field_kind field_tool = {write_tool, read_tool};
