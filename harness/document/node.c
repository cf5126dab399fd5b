/* SPDX-License-Identifier: MIT
 * Getters of members of the expected kind. A node knows its parent, so that an error names its
 * path: `cells[3].time_ns.value`. After the first error each getter returns something harmless. */
#include "node.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "log.h"

bool node_failed(const struct node *node)
{
    return node->reader->status != STATUS_OK;
}

const cJSON *node_get(const struct node *node, const char *key)
{
    return json_get(node->json, key);
}

static struct json_path path_of(const struct node *node, const char *key)
{
    return (struct json_path){.parent = &node->path, .key = key};
}

void node_wrong_member(const struct node *node, const char *key, const char *format, ...)
{
    const struct json_path path = key ? path_of(node, key) : node->path;
    char where[JSON_PATH_BYTES], what[256];
    va_list arguments;

    if (node_failed(node))
        return;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    json_path_text(&path, where, sizeof(where));
    node->reader->status =
        log_error(STATUS_USAGE, "%s: %s%s%s", node->reader->file, where, *where ? ": " : "", what);
}

void node_refuse(const struct node *node, const char *key, const char *expected)
{
    node_wrong_member(node, key, "expected %s, it is %s", expected,
                      json_kind(json_get(node->json, key)));
}

struct node node_object(const struct node *node, const char *key)
{
    const cJSON *item = node_get(node, key);

    if (!cJSON_IsObject(item))
        node_refuse(node, key, "an object");
    return (struct node){.reader = node->reader,
                         .json = cJSON_IsObject(item) ? item : NULL,
                         .path = path_of(node, key)};
}

struct node node_array(const struct node *node, const char *key)
{
    const cJSON *item = node_get(node, key);

    if (!cJSON_IsArray(item))
        node_refuse(node, key, "an array");
    return (struct node){.reader = node->reader,
                         .json = cJSON_IsArray(item) ? item : NULL,
                         .path = path_of(node, key)};
}

struct node node_element(const struct node *node, const cJSON *item, size_t index)
{
    struct node child = {
        .reader = node->reader,
        .json = item,
        .path = {.parent = &node->path, .key = item->string, .index = index},
    };

    if (!cJSON_IsObject(item)) {
        node_wrong(&child, "expected an object, it is %s", json_kind(item));
        child.json = NULL;
    }
    return child;
}

uint64_t node_integer(const struct node *node, const char *key, uint64_t low, uint64_t high)
{
    uint64_t value = low;
    char expected[80];

    if (json_integer(node_get(node, key), &value) && value >= low && value <= high)
        return value;
    snprintf(expected, sizeof(expected), "an integer from %" PRIu64 " to %" PRIu64, low, high);
    node_refuse(node, key, expected);
    return low;
}

const char *node_text(const struct node *node, const char *key, bool required)
{
    const cJSON *item = node_get(node, key);

    if (cJSON_IsString(item))
        return item->valuestring;
    if (required || (item && !cJSON_IsNull(item)))
        node_refuse(node, key, required ? "a string" : "a string or null");
    return NULL;
}
