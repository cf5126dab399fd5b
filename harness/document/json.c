/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "json_grammar.h"
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

/* Logs what is wrong at byte `at`, by line and by column in characters, from 1. */
static enum status malformed(const struct json_text *text, size_t at, const char *what)
{
    size_t line = 1, column = 1;

    for (size_t i = 0; i < at && i < text->count; i++) {
        if (text->bytes[i] == '\n') {
            line++;
            column = 1;
        } else if ((text->bytes[i] & 0xc0) != 0x80) {
            column++;
        }
    }
    return log_error(STATUS_USAGE, "%s:%zu:%zu: %s; the file is not JSON that cbank can read", text->name, line, column,
                     what);
}

static int compare_keys(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Of an object with few members: a key that comes twice, or NULL. */
static const char *repeated_of_few(const cJSON *object)
{
    for (const cJSON *member = object->child; member; member = member->next)
        for (const cJSON *later = member->next; later; later = later->next)
            if (member->string[0] == later->string[0] && strcmp(member->string, later->string) == 0)
                return later->string;
    return NULL;
}

/* Of `count` keys, which it sorts: one that comes twice, or NULL. */
static const char *repeated_of_many(const char **keys, size_t count)
{
    qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 1; i < count; i++)
        if (strcmp(keys[i - 1], keys[i]) == 0)
            return keys[i];
    return NULL;
}

/* A value in a file that is being checked. */
struct checked {
    const char *file;
    const cJSON *value;
    struct json_place place;
};

static enum status repeated(const struct checked *object, const char *key)
{
    char place[JSON_PLACE_BYTES], shown[TEXT_SHOWN_BYTES];

    json_place_text(&object->place, place, sizeof(place));
    return log_error(STATUS_USAGE, "%s: key \"%s\" is twice in %s; remove one of the two", object->file,
                     text_shown(key, shown), *place ? place : "the outermost object");
}

/* Refuses a key that comes twice in this object. */
static enum status check_keys(const struct checked *object)
{
    enum { FEW = 24 };
    const size_t count = (size_t)cJSON_GetArraySize(object->value);
    const char *key, **keys;
    const cJSON *member;
    size_t i = 0;

    if (count <= FEW) {
        key = repeated_of_few(object->value);
        return key ? repeated(object, key) : STATUS_OK;
    }
    keys = malloc(count * sizeof(*keys));
    if (!keys)
        return log_memory("%s", object->file);
    cJSON_ArrayForEach (member, object->value)
        keys[i++] = member->string;
    key = repeated_of_many(keys, count);
    free(keys);
    return key ? repeated(object, key) : STATUS_OK;
}

/* Cleans a text of the file. */
static void clean(char *text)
{
    if (text)
        text_clean(text);
}

/* Refuses such a key in every object within value, and cleans all text in it; scan() has bounded the depth of the
 * recursion. */
static enum status check_all(const struct checked *checked)
{
    enum status status = cJSON_IsObject(checked->value) ? check_keys(checked) : STATUS_OK;
    const cJSON *value;
    size_t index = 0;

    cJSON_ArrayForEach (value, checked->value) {
        if (status != STATUS_OK)
            break;
        clean(value->string);
        clean(value->valuestring);
        if (value->child)
            status = check_all(&(struct checked){
                .file = checked->file,
                .value = value,
                .place = {.parent = &checked->place, .key = value->string, .index = index},
            });
        index++;
    }
    return status;
}

/* Parses text->bytes[0 .. count - 1], which a NUL follows. */
static enum status parse(struct json_text *text, cJSON **out)
{
    const char *begin = (const char *)text->bytes;
    const char *end = begin, *wrong;
    enum status status;
    size_t at;
    cJSON *value;

    if (strspn(begin, " \t\r\n") == text->count)
        return log_error(STATUS_USAGE, "%s: the file is empty", text->name);
    wrong = json_scan(text, &at);
    if (wrong)
        return malformed(text, at, wrong);
    errno = 0;
    value = cJSON_ParseWithLengthOpts(begin, text->count + 1, &end, 1);
    if (!value && errno == ENOMEM)
        return log_memory("%s", text->name);
    if (!value)
        return malformed(text, (size_t)(end - begin),
                         "half of a surrogate pair, or a number of more than 63 characters");
    status = check_all(&(struct checked){.file = text->name, .value = value});
    if (status != STATUS_OK) {
        cJSON_Delete(value);
        return status;
    }
    *out = value;
    return STATUS_OK;
}

enum status json_parse(const char *name, const char *text, size_t bytes, cJSON **out)
{
    char *copy = malloc(bytes + 1);
    enum status status;

    if (!copy)
        return log_memory("%s", name);
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    status = parse(&(struct json_text){.name = name, .bytes = (unsigned char *)copy, .count = bytes}, out);
    free(copy);
    return status;
}

enum status json_read_file(const char *path, cJSON **out)
{
    char *text;
    size_t bytes;
    enum status status = file_read(path, JSON_FILE_BYTES_MAX, &text, &bytes);

    if (status != STATUS_OK)
        return status;
    status = parse(&(struct json_text){.name = path, .bytes = (unsigned char *)text, .count = bytes}, out);
    free(text);
    return status;
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

cJSON *json_double(double value)
{
    char text[40];

    if (!isfinite(value))
        return cJSON_CreateNull();
    snprintf(text, sizeof(text), "%.17g", value);
    return cJSON_CreateRaw(text);
}

cJSON *json_doubles(const double *values, size_t count)
{
    enum { NUMBER_BYTES = 26 }; /* "-2.2250738585072014e-308, " */
    const size_t room = 3 + count * NUMBER_BYTES;
    char *text = malloc(room);
    cJSON *item;
    size_t used = 1;

    if (!text)
        return NULL;
    text[0] = '[';
    for (size_t i = 0; i < count; i++) {
        const char *separator = i ? ", " : "";

        if (isfinite(values[i]))
            used += (size_t)snprintf(text + used, room - used, "%s%.17g", separator, values[i]);
        else
            used += (size_t)snprintf(text + used, room - used, "%snull", separator);
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
    if (item)
        clean(item->valuestring);
    json_add(object, key, item);
}

/* -- getters ------------------------------------------------------------------------------------------- */

const cJSON *json_get(const cJSON *object, const char *key)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
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

bool json_get_integer(const cJSON *object, const char *key, uint64_t *out)
{
    const cJSON *item = json_get(object, key);

    if (cJSON_IsString(item))
        return parse_integer(item->valuestring, out);
    /* A number above 2^53 may have been rounded on its way here. */
    if (!cJSON_IsNumber(item) || signbit(item->valuedouble) || item->valuedouble > (double)EXACT_INTEGER_MAX ||
        item->valuedouble != floor(item->valuedouble))
        return false;
    *out = (uint64_t)item->valuedouble;
    return true;
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
