/* SPDX-License-Identifier: MIT
 * Documents: schema name and version around the fields of a struct. A newer minor version is read,
 * and its unknown keys are passed over; another major one is refused. */
#include "document.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "log.h"
#include "neighbour.h"
#include "text.h"

cJSON *document_to_json(const struct document *document, const void *base)
{
    cJSON *root = cJSON_CreateObject();
    cJSON *schema = json_add(root, "schema", cJSON_CreateObject());
    char version[32];

    snprintf(version, sizeof(version), "%" PRIu32 ".%" PRIu32, document->major, document->minor);
    json_add_text(schema, "name", document->schema);
    json_add_text(schema, "version", version);
    fields_write(root, &document->root.fields, base);
    return root;
}

enum status document_write(const struct document *document, const void *base, const char *path)
{
    cJSON *root = document_to_json(document, base);
    const enum status status = file_write(path, json_put, root);

    cJSON_Delete(root);
    return status;
}

/* Logs what a file is that has no schema. */
static enum status refuse_other(const char *name, const cJSON *tree)
{
    const char *says = neighbour_of_json(tree);

    if (says)
        return log_error(STATUS_USAGE, "%s is %s", name, says);
    return log_error(STATUS_USAGE, "%s %s; name a file that cbank wrote with --json", name,
                     cJSON_IsObject(tree) ? "has no schema name of cbank" : "holds no JSON object");
}

static enum status take(const struct document *document, const char *name, const cJSON *tree,
                        void *base)
{
    struct reader reader = {.file = name};
    const struct node root = {.reader = &reader, .json = tree};
    const struct node schema = node_object(&root, "schema");
    const char *found = node_text(&schema, "name", true),
               *version = node_text(&schema, "version", true);
    char shown[TEXT_SHOWN_BYTES], major[6], minor[6];
    int end = 0;

    if (node_failed(&root))
        return reader.status;
    if (strcmp(found, document->schema) != 0)
        node_wrong_member(&schema, "name", "'%s' is no %s of cbank; %s", text_shown(found, shown),
                          document->what, document->remedy);
    else if (sscanf(version, "%5[0-9].%5[0-9]%n", major, minor, &end) != 2 || version[end])
        node_refuse(&schema, "version", "a version like \"1.0\"");
    else if (strtoul(major, NULL, 10) != document->major)
        node_wrong_member(&schema, "version",
                          "%s, this build reads %" PRIu32
                          ".x; use the cbank that wrote the file or a newer one",
                          version, document->major);
    fields_read(&root, &document->root.fields, base);
    if (document->root.check && !node_failed(&root))
        document->root.check(&root, base);
    return reader.status;
}

enum status document_take(const struct document *document, const char *name, const cJSON *tree,
                          void *base)
{
    if (!json_get(tree, "schema"))
        return refuse_other(name, tree);
    return take(document, name, tree, base);
}

enum status document_parse(const struct document *document, const char *name, const char *text,
                           size_t bytes, void *base, cJSON **tree)
{
    const enum status status = json_parse(name, text, bytes, tree);

    return status == STATUS_OK ? document_take(document, name, *tree, base) : status;
}
