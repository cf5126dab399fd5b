/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "json_tree.h"
#include "log.h"
#include "text.h"

/* Largest integer up to which every integer is a double. */
#define EXACT_INTEGER_MAX ((uint64_t)1 << 53)

/* -- reading ------------------------------------------------------------------------------------------- */

void json_place_text(const struct json_place *place, char *out, size_t room)
{
    char shown[TEXT_SHOWN_BYTES];
    size_t used;

    if (!place->parent) {
        *out = '\0';
        return;
    }
    json_place_text(place->parent, out, room);
    used = strlen(out);
    if (place->key)
        snprintf(out + used, room - used, "%s%s", used ? "." : "", text_shown(place->key, shown));
    else
        snprintf(out + used, room - used, "[%zu]", place->index);
}

/* A copy of a tree that can be changed; the tree goes. */
static enum status copied(const char *name, struct json_tree *tree, cJSON **out)
{
    cJSON *copy = cJSON_Duplicate(json_tree_root(tree), true);

    json_tree_close(tree);
    if (!copy)
        return log_memory("%s", name);
    *out = copy;
    return STATUS_OK;
}

enum status json_parse(const char *name, const char *text, size_t bytes, cJSON **out)
{
    struct json_tree *tree;
    const enum status status = json_tree_parse(name, text, bytes, &tree);

    return status == STATUS_OK ? copied(name, tree, out) : status;
}

enum status json_read_file(const char *path, cJSON **out)
{
    struct json_tree *tree;
    const enum status status = json_tree_read(path, &tree);

    return status == STATUS_OK ? copied(path, tree, out) : status;
}

/* -- writing ------------------------------------------------------------------------------------------- */

enum status json_put(FILE *stream, const void *value)
{
    char *text = value ? cJSON_Print(value) : NULL;

    if (!text)
        return log_memory("JSON text");
    fputs(text, stream);
    putc('\n', stream);
    cJSON_free(text);
    return STATUS_OK;
}

enum status json_put_owned(FILE *stream, cJSON *value)
{
    const enum status status = json_put(stream, value);

    cJSON_Delete(value);
    return status;
}

enum status json_write(const char *path, const cJSON *value)
{
    return file_write(path, json_put, value);
}

cJSON *json_add(cJSON *object, const char *key, cJSON *item)
{
    if (object && item && cJSON_AddItemToObject(object, key, item))
        return item;
    /* What lost a member must not be printed as if it were whole. The low byte is the kind: none is
     * cJSON_Invalid, which cJSON refuses to print. */
    cJSON_Delete(item);
    if (object)
        object->type &= ~0xff;
    return NULL;
}

cJSON *json_append(cJSON *array, cJSON *item)
{
    if (array && item && cJSON_AddItemToArray(array, item))
        return item;
    cJSON_Delete(item);
    if (array)
        array->type &= ~0xff;
    return NULL;
}

bool json_whole(const cJSON *value)
{
    bool whole = value && !cJSON_IsInvalid(value);
    const cJSON *member;

    cJSON_ArrayForEach (member, value)
        whole = whole && json_whole(member);
    return whole;
}

enum { NUMBER_BYTES = 32 }; /* "-2.2250738585072014e-308" */

/* The number in as few of 15 to 17 digits as are read back as it is; null where it is none. Returns their length. */
static size_t write_number(double value, char out[NUMBER_BYTES])
{
    int length = 0;

    if (!isfinite(value))
        return (size_t)snprintf(out, NUMBER_BYTES, "null");
    for (int digits = DBL_DIG; digits <= DBL_DECIMAL_DIG; digits++) {
        length = snprintf(out, NUMBER_BYTES, "%.*g", digits, value);
        if (digits < DBL_DECIMAL_DIG && strtod(out, NULL) == value)
            break;
    }
    return (size_t)length;
}

cJSON *json_double(double value)
{
    char text[NUMBER_BYTES];

    write_number(value, text);
    return cJSON_CreateRaw(text);
}

cJSON *json_doubles(const double *values, size_t count)
{
    const size_t room = 3 + count * (NUMBER_BYTES + 2);
    char *text = malloc(room);
    cJSON *item;
    size_t used = 1;

    if (!text)
        return NULL;
    text[0] = '[';
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, room - used, "%s", i ? ", " : "");
        used += write_number(values[i], text + used);
    }
    snprintf(text + used, room - used, "]");
    item = cJSON_CreateRaw(text);
    free(text);
    return item;
}

cJSON *json_line(cJSON *value)
{
    char *text = value ? cJSON_PrintUnformatted(value) : NULL;
    cJSON *line = text ? cJSON_CreateRaw(text) : NULL;

    cJSON_free(text);
    cJSON_Delete(value);
    return line;
}

void json_add_double(cJSON *object, const char *key, double value)
{
    json_add(object, key, json_double(value));
}

void json_add_integer(cJSON *object, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    json_add(object, key, value <= EXACT_INTEGER_MAX ? cJSON_CreateRaw(text) : cJSON_CreateString(text));
}

void json_add_nonzero(cJSON *object, const char *key, uint64_t value)
{
    if (value)
        json_add_integer(object, key, value);
}

void json_add_text(cJSON *object, const char *key, const char *value)
{
    cJSON *item = value ? cJSON_CreateString(value) : cJSON_CreateNull();

    /* Names from drivers and command lines are any bytes; JSON is UTF-8. One byte for one: no length grows. */
    if (item && item->valuestring)
        text_clean(item->valuestring);
    json_add(object, key, item);
}

/* -- getters ------------------------------------------------------------------------------------------- */

bool json_is_called(const cJSON *member, const char *key)
{
    return member->string[0] == key[0] && strcmp(member->string, key) == 0;
}

const cJSON *json_get(const cJSON *object, const char *key)
{
    const cJSON *member;

    if (!cJSON_IsObject(object))
        return NULL;
    cJSON_ArrayForEach (member, object)
        if (json_is_called(member, key))
            return member;
    return NULL;
}

bool json_get_double(const cJSON *object, const char *key, double *out)
{
    const cJSON *item = json_get(object, key);

    if (!cJSON_IsNumber(item))
        return false;
    *out = item->valuedouble;
    return true;
}

/* An integer as a decimal string: digits alone. */
static bool parse_integer(const char *text, uint64_t *out)
{
    const size_t digits = strspn(text, "0123456789");
    unsigned long long value;

    if (digits == 0 || text[digits] != '\0' || (digits > 1 && text[0] == '0'))
        return false;
    errno = 0;
    value = strtoull(text, NULL, 10);
    if (errno != 0)
        return false;
    *out = value;
    return true;
}

bool json_integer(const cJSON *item, uint64_t *out)
{
    if (cJSON_IsString(item))
        return parse_integer(item->valuestring, out);
    /* A number above 2^53 may have been rounded on its way here. */
    if (!cJSON_IsNumber(item) || signbit(item->valuedouble) || item->valuedouble > (double)EXACT_INTEGER_MAX ||
        item->valuedouble != floor(item->valuedouble))
        return false;
    *out = (uint64_t)item->valuedouble;
    return true;
}

bool json_get_integer(const cJSON *object, const char *key, uint64_t *out)
{
    return json_integer(json_get(object, key), out);
}

bool json_get_bool(const cJSON *object, const char *key, bool *out)
{
    const cJSON *item = json_get(object, key);

    if (!cJSON_IsBool(item))
        return false;
    *out = cJSON_IsTrue(item);
    return true;
}

bool json_get_text(const cJSON *object, const char *key, const char **out)
{
    const cJSON *item = json_get(object, key);

    if (!cJSON_IsString(item))
        return false;
    *out = item->valuestring;
    return true;
}

const char *json_kind(const cJSON *item)
{
    if (!item)
        return "missing";
    if (cJSON_IsNull(item))
        return "null";
    if (cJSON_IsBool(item))
        return "true or false";
    if (cJSON_IsNumber(item))
        return "this number";
    if (cJSON_IsString(item))
        return "this string";
    return cJSON_IsArray(item) ? "an array" : "an object";
}
