/* SPDX-License-Identifier: MIT
 * The kinds of fields that are objects, arrays and maps of structs. */
#include <string.h>

#include "field.h"
#include "field_parts.h"
#include "schema.h"

/* -- objects ----------------------------------------------------------------------------------- */

static void write_object(cJSON *object, const struct field *field, const void *base)
{
    const struct object *inner = field->object;

    if (inner->given != SIZE_MAX && !*(const bool *)((const char *)base + inner->given))
        field_write_empty(object, field);
    else
        fields_write(json_add(object, field->key, cJSON_CreateObject()), &inner->fields,
                     field_member_of(field, base));
}

static void read_object(const struct node *node, const struct field *field, void *base)
{
    const struct object *inner = field->object;
    void *member = field_member_to_set(field, base);
    struct node child;

    if (field_is_empty(field, node_get(node, field->key)))
        return;
    child = node_object(node, field->key);
    fields_read(&child, &inner->fields, member);
    if (inner->given != SIZE_MAX)
        *(bool *)((char *)base + inner->given) = !node_failed(node);
    if (inner->check && !node_failed(node))
        inner->check(&child, member);
}

const struct field_kind field_object = {.write = write_object,
                                        .read = read_object,
                                        .schema = schema_of_object};

static void write_pointer(cJSON *object, const struct field *field, const void *base)
{
    const void *inner = *(const void *const *)field_member_of(field, base);

    if (!inner)
        field_write_empty(object, field);
    else if (field->key)
        fields_write(json_add(object, field->key, cJSON_CreateObject()), field->fields, inner);
    else
        fields_write(object, field->fields, inner);
}

const struct field_kind field_pointer = {.write = write_pointer, .schema = schema_pointer};

/* -- arrays ------------------------------------------------------------------------------------ */

static size_t count_of(const struct field *field, const void *base)
{
    const struct objects *list = field->elements;

    return *(const size_t *)((const char *)base + list->count);
}

/* Adds elements to an array, or to an object if they have keys. */
static void write_elements(cJSON *to, const struct field *field, const char *element, size_t count,
                           bool keyed)
{
    const struct objects *list = field->elements;

    for (size_t i = 0; i < count; i++, element += list->element_bytes) {
        const char *key = keyed ? *(const char *const *)(element + list->key) : NULL;
        cJSON *item = cJSON_CreateObject();

        fields_write(item, &list->fields, element);
        json_add(to, key, list->line ? json_line(item) : item);
    }
}

/* Refuses keys of an element that no field has. */
static void refuse_unknown(const struct node *element, const struct fields *fields)
{
    const cJSON *item;

    cJSON_ArrayForEach (item, element->json) {
        size_t i = 0;

        while (i < fields->count && strcmp(fields->rows[i].key, item->string) != 0)
            i++;
        if (i == fields->count)
            node_refuse(element, item->string, "no such key");
    }
}

/* Reads the children of `all` into elements, and counts them. */
static void read_elements(const struct node *node, const struct node *all,
                          const struct field *field, void *base, char *element)
{
    const struct objects *list = field->elements;
    const cJSON *item;
    size_t i = 0;

    cJSON_ArrayForEach (item, all->json) {
        const struct node child = node_element(all, item, i++);

        *(size_t *)((char *)base + list->count) = i;
        if (item->string)
            *(const char **)(element + list->key) = item->string;
        fields_read(&child, &list->fields, element);
        if (list->closed && !node_failed(node))
            refuse_unknown(&child, &list->fields);
        if (list->check && !node_failed(node))
            list->check(&child, element);
        if (node_failed(node))
            return;
        element += list->element_bytes;
    }
}

/* The number of children of `all`, which is an error beyond the limits; then 0. */
static size_t count_children(const struct node *node, const struct node *all,
                             const struct field *field)
{
    const struct objects *list = field->elements;
    const size_t count = (size_t)cJSON_GetArraySize(all->json);

    if (!node_failed(node) && (count > list->max || count < (size_t)field->low))
        node_wrong(all, "expected %.0f to %zu elements, there are %zu", field->low, list->max,
                   count);
    return node_failed(node) ? 0 : count;
}

static void write_array(cJSON *object, const struct field *field, const void *base)
{
    const size_t count = count_of(field, base);

    if (count > 0 || field->presence != OMITTED)
        write_elements(json_add(object, field->key, cJSON_CreateArray()), field,
                       field_member_of(field, base), count, false);
}

static void read_array(const struct node *node, const struct field *field, void *base)
{
    struct node all;

    if (field_is_empty(field, node_get(node, field->key)))
        return;
    all = node_array(node, field->key);
    if (count_children(node, &all, field) > 0)
        read_elements(node, &all, field, base, field_member_to_set(field, base));
}

const struct field_kind field_array = {.write = write_array,
                                       .read = read_array,
                                       .schema = schema_list};

/* Reads into new memory, which the struct then owns. */
static void read_owned(const struct node *node, const struct node *all, const struct field *field,
                       void *base)
{
    const struct objects *list = field->elements;
    const size_t count = count_children(node, all, field);
    char **member = field_member_to_set(field, base);

    if (count == 0)
        return;
    *member = field_allocate(node, count, list->element_bytes);
    if (*member)
        read_elements(node, all, field, base, *member);
}

static void write_list(cJSON *object, const struct field *field, const void *base)
{
    const size_t count = count_of(field, base);

    if (count > 0 || field->presence != OMITTED)
        write_elements(json_add(object, field->key, cJSON_CreateArray()), field,
                       *(const char *const *)field_member_of(field, base), count, false);
}

static void read_list(const struct node *node, const struct field *field, void *base)
{
    struct node all;

    if (field_is_empty(field, node_get(node, field->key)))
        return;
    all = node_array(node, field->key);
    read_owned(node, &all, field, base);
}

const struct field_kind field_list = {.write = write_list,
                                      .read = read_list,
                                      .schema = schema_list};

static void write_map(cJSON *object, const struct field *field, const void *base)
{
    const size_t count = count_of(field, base);

    if (count > 0 || field->presence != OMITTED)
        write_elements(json_add(object, field->key, cJSON_CreateObject()), field,
                       *(const char *const *)field_member_of(field, base), count, true);
}

static void read_map(const struct node *node, const struct field *field, void *base)
{
    struct node all;

    if (field_is_empty(field, node_get(node, field->key)))
        return;
    all = node_object(node, field->key);
    read_owned(node, &all, field, base);
}

const struct field_kind field_map = {.write = write_map, .read = read_map, .schema = schema_map};
