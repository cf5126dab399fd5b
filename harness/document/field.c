/* SPDX-License-Identifier: MIT */
#include "field.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "table.h"
#include "text.h"

const struct field_kind field_kinds[FIELD_TYPES] = {{NULL, NULL}};

static enum field_type type_of(const struct field *field)
{
    return (enum field_type)(field->kind - field_kinds);
}

/* -- writing ----------------------------------------------------------------------------------- */

/* Adds a member of a kind of this file. False if it is empty: nothing was added. */
static bool write_member(cJSON *object, const struct field *field, const void *base)
{
    const enum field_type type = type_of(field);
    const void *member = (const char *)base + field->offset, *const *pointer = member;
    const struct names *names = field->of;
    const struct object *inner = field->of;
    const struct objects *list = field->of;
    const struct keyed_texts *texts = field->of;
    const struct numbers *numbers = member;
    const bool required = field->presence == REQUIRED;
    const char *text = NULL, *element;
    char words[FIELD_WORDS_BYTES], *rest = words;
    double number;
    uint64_t value;
    size_t count;
    cJSON *array;

    switch (type) {
    case FIELD_TEXT:
        text = member;
        text = *text || required ? text : NULL;
        break;
    case FIELD_REFERENCE:
        text = *pointer;
        break;
    case FIELD_NAME:
        text = names->names[*(const int *)member];
        break;
    case FIELD_ROW: /* rows begin with their name */
        text = *pointer ? *(const char *const *)*pointer : NULL;
        break;
    case FIELD_INTEGER:
        value = field->bytes == sizeof(uint32_t) ? *(const uint32_t *)member
                                                 : *(const uint64_t *)member;
        if (value || required)
            json_add_integer(object, field->key, value);
        return value || required;
    case FIELD_NUMBER:
        number = *(const double *)member;
        if (isfinite(number))
            json_add_double(object, field->key, number);
        return isfinite(number);
    case FIELD_BOOL:
        json_add(object, field->key, cJSON_CreateBool(*(const bool *)member));
        return true;
    case FIELD_STATE:
        number = *(const double *)member;
        if (isfinite(number))
            json_add(object, field->key, cJSON_CreateBool(number > 0));
        return isfinite(number);
    case FIELD_TEXTS:
        array = json_add(object, field->key, cJSON_CreateObject());
        for (size_t i = 0; i < texts->count; i++)
            if ((text = texts->texts ? texts->texts[i] : ((const char *const *)member)[i]))
                json_add_text(array, texts->keys[i], text);
        return true;
    case FIELD_WORDS:
        array = json_add(object, field->key, cJSON_CreateArray());
        snprintf(words, sizeof(words), "%s", (const char *)member);
        while ((text = strsep(&rest, " ")))
            if (*text)
                json_append(array, cJSON_CreateString(text));
        return true;
    case FIELD_BITS:
        array = json_add(object, field->key, cJSON_CreateArray());
        for (size_t i = 0; i < names->count; i++)
            if (*(const uint32_t *)member >> i & 1)
                json_append(array, cJSON_CreateString(names->names[i]));
        return true;
    case FIELD_NUMBERS:
        json_add(object, field->key, json_doubles(numbers->values, numbers->count));
        return true;
    case FIELD_OBJECT:
        if (inner->given != SIZE_MAX && !*(const bool *)((const char *)base + inner->given))
            return false;
        fields_write(json_add(object, field->key, cJSON_CreateObject()), &inner->fields, member);
        return true;
    case FIELD_POINTER:
        if (*pointer)
            fields_write(field->key ? json_add(object, field->key, cJSON_CreateObject()) : object,
                         field->of, *pointer);
        return *pointer;
    default: /* an array, a list or a map */
        count = *(const size_t *)((const char *)base + list->count);
        if (count == 0 && field->presence == OMITTED)
            return false;
        array = json_add(object, field->key,
                         type == FIELD_MAP ? cJSON_CreateObject() : cJSON_CreateArray());
        element = type == FIELD_ARRAY ? member : *pointer;
        for (size_t i = 0; i < count; i++, element += list->element_bytes) {
            cJSON *item = cJSON_CreateObject();

            fields_write(item, &list->fields, element);
            json_add(array, type == FIELD_MAP ? *(const char *const *)(element + list->key) : NULL,
                     list->line ? json_line(item) : item);
        }
        return true;
    }
    if (text)
        json_add_text(object, field->key, text);
    return text;
}

void fields_write(cJSON *object, const struct fields *fields, const void *base)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct field *field = &fields->rows[i];

        if (field->kind->write)
            field->kind->write(object, field, base);
        else if (!write_member(object, field, base) && field->presence != OMITTED)
            json_add(object, field->key, cJSON_CreateNull());
    }
}

/* -- reading ----------------------------------------------------------------------------------- */

/* The value that has this name; names->count if there is none. */
static size_t value_named(const struct names *names, const char *text)
{
    size_t value = 0;

    while (value < names->count &&
           (!text || !names->names[value] || strcmp(names->names[value], text) != 0))
        value++;
    return value;
}

/* Logs the expected kind of value, including the one for an empty member. */
static void refuse(const struct node *node, const struct field *field, const char *expected)
{
    char text[160];

    snprintf(text, sizeof(text), "%s%s", expected, field->presence == REQUIRED ? "" : " or null");
    node_refuse(node, field->key, text);
}

/* Memory for `count` elements; NULL, logged, if there is none. */
static void *room_for(const struct node *node, size_t count, size_t bytes)
{
    void *room = calloc(count, bytes);

    if (!room)
        node->reader->status = log_memory("%s", node->reader->file);
    return room;
}

/* Reads an array within the struct, or an array or map into new memory. */
static void read_elements(const struct node *node, const struct field *field, void *base,
                          char *element)
{
    const enum field_type type = type_of(field);
    const struct objects *list = field->of;
    const struct node all =
        type == FIELD_MAP ? node_object(node, field->key) : node_array(node, field->key);
    const size_t count = (size_t)cJSON_GetArraySize(all.json);
    const cJSON *item;
    size_t i = 0;

    if (!node_failed(node) && (count > list->max || count < (size_t)field->low))
        node_wrong(&all, "expected %.0f to %zu elements, there are %zu", field->low, list->max,
                   count);
    if (node_failed(node) || count == 0)
        return;
    if (type != FIELD_ARRAY)
        element = *(char **)element = room_for(node, count, list->element_bytes);
    if (!element)
        return;
    cJSON_ArrayForEach (item, all.json) {
        const struct node child = node_element(&all, item, i++);

        *(size_t *)((char *)base + list->count) = i;
        if (item->string)
            *(const char **)(element + list->key) = item->string;
        fields_read(&child, &list->fields, element);
        if (list->check && !node_failed(node))
            list->check(&child, element);
        if (node_failed(node))
            return;
        element += list->element_bytes;
    }
}

/* Reads an array of words, names of bits or numbers. */
static void read_items(const struct node *node, const struct field *field, void *member)
{
    const struct node array = node_array(node, field->key);
    const size_t count = (size_t)cJSON_GetArraySize(array.json);
    const enum field_type type = type_of(field);
    const struct names *names = field->of;
    struct numbers *numbers = member;
    const cJSON *item;
    size_t used = 0;

    if (type == FIELD_NUMBERS && count > 0 &&
        !(numbers->values = room_for(node, count, sizeof(double))))
        return;
    cJSON_ArrayForEach (item, array.json) {
        const char *text = cJSON_GetStringValue(item);

        if (type == FIELD_NUMBERS && cJSON_IsNumber(item))
            numbers->values[numbers->count++] = item->valuedouble;
        else if (type == FIELD_BITS && value_named(names, text) < names->count)
            *(uint32_t *)member |= 1u << value_named(names, text);
        else if (type == FIELD_WORDS && text && used + strlen(text) + 1 < field->bytes)
            used += (size_t)snprintf((char *)member + used, field->bytes - used, "%s%s",
                                     used ? " " : "", text);
        else
            refuse(node, field,
                   type == FIELD_NUMBERS ? "an array of numbers"
                   : type == FIELD_BITS  ? names->expected
                                         : "an array of a few short strings");
    }
}

/* Sets a member of a kind of this file from its value in the document. `empty`: it is null or
 * absent, and may be. */
static void read_member(const struct node *node, const struct field *field, void *base,
                        const cJSON *item, bool empty)
{
    const struct names *names = field->of;
    const struct object *inner = field->of;
    const struct keyed_texts *texts = field->of;
    const char *text = cJSON_GetStringValue(item);
    const bool small = field->bytes == sizeof(uint32_t);
    void *member = (char *)base + field->offset;
    char expected[80] = "", shown[TEXT_SHOWN_BYTES];
    struct node child;
    uint64_t integer;
    double number;
    size_t value;

    switch (type_of(field)) {
    case FIELD_TEXT:
        text = empty ? "" : text;
        if (text && strlen(text) < field->bytes && (*text || empty || field->low == 0))
            memcpy(member, text, strlen(text) + 1);
        else
            snprintf(expected, sizeof(expected), "a string of %s %zu bytes",
                     field->low > 0 ? "1 to" : "at most", field->bytes - 1);
        break;
    case FIELD_REFERENCE:
        *(const char **)member = text;
        if (!text && !empty && (item || field->presence == REQUIRED))
            snprintf(expected, sizeof(expected), "a string");
        break;
    case FIELD_INTEGER:
        integer = field->high > 0 ? (uint64_t)field->high : small ? UINT32_MAX : UINT64_MAX;
        integer = empty ? 0 : node_integer(node, field->key, (uint64_t)field->low, integer);
        if (small)
            *(uint32_t *)member = (uint32_t)integer;
        else
            *(uint64_t *)member = integer;
        break;
    case FIELD_NUMBER:
        number = *(double *)member = cJSON_IsNumber(item) ? item->valuedouble : NAN;
        if (empty || (number >= field->low && number <= field->high))
            break;
        if (isinf(field->high))
            snprintf(expected, sizeof(expected), "a number of at least %.15g", field->low);
        else if (field->low != 0 || field->high != 0)
            snprintf(expected, sizeof(expected), "a number from %.15g to %.15g", field->low,
                     field->high);
        else if (isnan(number))
            snprintf(expected, sizeof(expected), "a number");
        break;
    case FIELD_BOOL:
        *(bool *)member = cJSON_IsTrue(item);
        if (!empty && !cJSON_IsBool(item))
            snprintf(expected, sizeof(expected), "true or false");
        break;
    case FIELD_STATE:
        *(double *)member = cJSON_IsBool(item) ? (double)cJSON_IsTrue(item) : NAN;
        if (!empty && !cJSON_IsBool(item))
            snprintf(expected, sizeof(expected), "true, false");
        break;
    case FIELD_NAME:
        value = value_named(names, text);
        if (value < names->count)
            *(int *)member = (int)value;
        else if (!empty)
            refuse(node, field, names->expected);
        break;
    case FIELD_ROW:
        *(const void **)member = text ? table_find(field->of, text) : NULL;
        if (text && !*(const void **)member)
            node_wrong_member(node, field->key,
                              "this build has no %s '%s'; cbank list shows those that it has",
                              ((const struct table *)field->of)->what, text_shown(text, shown));
        else if (!text && !empty)
            snprintf(expected, sizeof(expected), "a string");
        break;
    case FIELD_TEXTS:
        if (empty || texts->texts)
            break;
        child = node_object(node, field->key);
        for (size_t i = 0; i < texts->count; i++)
            ((const char **)member)[i] = node_text(&child, texts->keys[i], false);
        break;
    case FIELD_OBJECT:
        if (empty)
            break;
        child = node_object(node, field->key);
        fields_read(&child, &inner->fields, member);
        if (inner->given != SIZE_MAX)
            *(bool *)((char *)base + inner->given) = !node_failed(node);
        if (inner->check && !node_failed(node))
            inner->check(&child, member);
        break;
    case FIELD_WORDS:
    case FIELD_BITS:
    case FIELD_NUMBERS:
        if (!empty)
            read_items(node, field, member);
        break;
    default: /* an array, a list or a map */
        if (!empty)
            read_elements(node, field, base, member);
    }
    if (*expected)
        refuse(node, field, expected);
}

void field_read(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = field->key ? node_get(node, field->key) : NULL;
    const bool empty = item ? field->presence != REQUIRED && cJSON_IsNull(item)
                            : field->presence == LATER || field->presence == OMITTED;

    if (field->kind->read)
        field->kind->read(node, field, base);
    else if (!field->kind->write && type_of(field) != FIELD_POINTER)
        read_member(node, field, base, item, empty);
}

void fields_read(const struct node *node, const struct fields *fields, void *base)
{
    for (size_t i = 0; i < fields->count && !node_failed(node); i++)
        field_read(node, &fields->rows[i], base);
}
