/* SPDX-License-Identifier: MIT */
#include "identity_json.h"

#include "version.h"

void json_add_identity(cJSON *object, const struct cell *cell)
{
    json_add_text(object, "workload", cell->workload->name);
    json_add_text(object, "path", cell->path->name);
    json_add_text(object, "pattern", cell->pattern->name);
    json_add_integer(object, "elements", cell->elements);
    json_add_integer(object, "block_size", cell->block_size);
    json_add_text(object, "regime", cell->regime->name);

    cJSON *const values = json_add(object, "parameters", cJSON_CreateObject());

    for (size_t i = 0; i < parameter_count; i++)
        if (cell->parameters[i])
            json_add_integer(values, parameters[i].name, cell->parameters[i]);
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
