/* SPDX-License-Identifier: MIT */
#include "field.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "text.h"

static const void *member_of(const struct field *field, const void *base)
{
    return (const char *)base + field->offset;
}

static void *member_in(const struct field *field, void *base)
{
    return (char *)base + field->offset;
}

static bool bool_at(const void *base, size_t offset)
{
    return *(const bool *)((const char *)base + offset);
}

/* Writes the value for an empty member. */
static void write_empty(cJSON *object, const struct field *field)
{
    if (field->presence != OMITTED)
        json_add(object, field->key, cJSON_CreateNull());
}

/* Writes a text; NULL is empty. */
static void write_or_empty(cJSON *object, const struct field *field, const char *text)
{
    if (text)
        json_add_text(object, field->key, text);
    else
        write_empty(object, field);
}

/* Whether the member is empty in the file, and may be. */
static bool is_empty(const struct node *node, const struct field *field)
{
    const cJSON *item = node_get(node, field->key);

    if (!item)
        return field->presence == LATER || field->presence == OMITTED;
    return field->presence != REQUIRED && cJSON_IsNull(item);
}

/* Logs the expected kind of value, including the one for an empty member. */
static void refuse(const struct node *node, const struct field *field, const char *expected)
{
    char text[160];

    snprintf(text, sizeof(text), "%s%s", expected, field->presence == REQUIRED ? "" : " or null");
    node_refuse(node, field->key, text);
}

static void write_text(cJSON *object, const struct field *field, const void *base)
{
    const char *text = member_of(field, base);

    write_or_empty(object, field, *text || field->presence == REQUIRED ? text : NULL);
}

static void read_text(const struct node *node, const struct field *field, void *base)
{
    const size_t most = field->bytes - 1;
    char *out = member_in(field, base), expected[64];
    const cJSON *item = node_get(node, field->key);
    const char *text = cJSON_IsString(item) ? item->valuestring : NULL;

    if (is_empty(node, field)) {
        *out = '\0';
    } else if (text && strlen(text) <= most && (*text || field->low == 0)) {
        memcpy(out, text, strlen(text) + 1);
    } else {
        snprintf(expected, sizeof(expected), "a string of %s %zu bytes", field->low > 0 ? "1 to" : "at most", most);
        refuse(node, field, expected);
    }
}

static void write_words(cJSON *object, const struct field *field, const void *base)
{
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());
    char words[FIELD_WORDS_BYTES], *rest = words, *word;

    snprintf(words, sizeof(words), "%s", (const char *)member_of(field, base));
    while ((word = strsep(&rest, " ")))
        if (*word)
            json_append(array, cJSON_CreateString(word));
}

static void read_words(const struct node *node, const struct field *field, void *base)
{
    char *words = member_in(field, base);
    const cJSON *item;
    size_t used = 0;

    if (!node_get(node, field->key))
        return;

    const struct node array = node_array(node, field->key);

    cJSON_ArrayForEach (item, array.json) {
        const char *word = cJSON_IsString(item) ? item->valuestring : NULL;

        if (word && used + strlen(word) + 1 < field->bytes)
            used += (size_t)snprintf(words + used, field->bytes - used, "%s%s", used ? " " : "", word);
        else
            node_refuse(node, field->key, "an array of a few short strings");
    }
    text_clean(words);
}

static void write_reference(cJSON *object, const struct field *field, const void *base)
{
    write_or_empty(object, field, *(const char *const *)member_of(field, base));
}

static void read_reference(const struct node *node, const struct field *field, void *base)
{
    *(const char **)member_in(field, base) =
        is_empty(node, field) ? NULL : node_text(node, field->key, field->presence == REQUIRED);
}

/* Members of 4 or 8 bytes. */
static void write_integer(cJSON *object, const struct field *field, const void *base)
{
    const void *member = member_of(field, base);
    const uint64_t value = field->bytes == sizeof(uint32_t) ? *(const uint32_t *)member : *(const uint64_t *)member;

    if (value || field->presence == REQUIRED)
        json_add_integer(object, field->key, value);
    else
        write_empty(object, field);
}

static void read_integer(const struct node *node, const struct field *field, void *base)
{
    const bool small = field->bytes == sizeof(uint32_t);
    const uint64_t most = field->high > 0 ? (uint64_t)field->high : small ? UINT32_MAX : UINT64_MAX;
    const uint64_t value = is_empty(node, field) ? 0 : node_integer(node, field->key, (uint64_t)field->low, most);

    if (small)
        *(uint32_t *)member_in(field, base) = (uint32_t)value;
    else
        *(uint64_t *)member_in(field, base) = value;
}

static void write_number(cJSON *object, const struct field *field, const void *base)
{
    const double value = *(const double *)member_of(field, base);

    if (isfinite(value))
        json_add_double(object, field->key, value);
    else
        write_empty(object, field);
}

static void read_number(const struct node *node, const struct field *field, void *base)
{
    const bool limited = field->low != 0 || field->high != 0;
    char expected[80] = "a number";
    const cJSON *item = node_get(node, field->key);
    const double value = cJSON_IsNumber(item) ? item->valuedouble : NAN;

    if (!is_empty(node, field) &&
        (!cJSON_IsNumber(item) || (limited && !(value >= field->low && value <= field->high)))) {
        if (limited && isinf(field->high))
            snprintf(expected, sizeof(expected), "a number of at least %.15g", field->low);
        else if (limited)
            snprintf(expected, sizeof(expected), "a number from %.15g to %.15g", field->low, field->high);
        refuse(node, field, expected);
    }
    *(double *)member_in(field, base) = value;
}

static void write_bool(cJSON *object, const struct field *field, const void *base)
{
    json_add(object, field->key, cJSON_CreateBool(bool_at(base, field->offset)));
}

static void read_bool(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);

    *(bool *)member_in(field, base) = cJSON_IsTrue(item);
    if (!is_empty(node, field) && !cJSON_IsBool(item))
        refuse(node, field, "true or false");
}

/* -- names and rows ------------------------------------------------------------------------------------ */

/* The value that has this name; names->count if there is none. */
static size_t value_named(const struct names *names, const char *text)
{
    size_t value = 0;

    while (value < names->count && (!names->names[value] || strcmp(names->names[value], text) != 0))
        value++;
    return value;
}

static void write_name(cJSON *object, const struct field *field, const void *base)
{
    const struct names *names = field->of;

    write_or_empty(object, field, names->names[*(const int *)member_of(field, base)]);
}

static void read_name(const struct node *node, const struct field *field, void *base)
{
    const struct names *names = field->of;
    const cJSON *item = node_get(node, field->key);
    size_t value;

    if (is_empty(node, field))
        return;
    value = value_named(names, cJSON_IsString(item) ? item->valuestring : "");
    if (value < names->count)
        *(int *)member_in(field, base) = (int)value;
    else
        refuse(node, field, names->expected);
}

static void write_bits(cJSON *object, const struct field *field, const void *base)
{
    const struct names *names = field->of;
    const uint32_t bits = *(const uint32_t *)member_of(field, base);
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = 0; i < names->count; i++)
        if (bits >> i & 1)
            json_append(array, cJSON_CreateString(names->names[i]));
}

static void read_bits(const struct node *node, const struct field *field, void *base)
{
    const struct names *names = field->of;
    uint32_t *bits = member_in(field, base);
    const cJSON *item;

    if (is_empty(node, field))
        return;

    const struct node array = node_array(node, field->key);

    cJSON_ArrayForEach (item, array.json) {
        const size_t bit = cJSON_IsString(item) ? value_named(names, item->valuestring) : names->count;

        if (bit == names->count)
            refuse(node, field, names->expected);
        else
            *bits |= 1u << bit;
    }
}

static void write_row(cJSON *object, const struct field *field, const void *base)
{
    /* Rows begin with their name. */
    const char *const *row = *(const char *const *const *)member_of(field, base);

    write_or_empty(object, field, row ? *row : NULL);
}

static void read_row(const struct node *node, const struct field *field, void *base)
{
    const struct table *table = field->of;
    const char *name = is_empty(node, field) ? NULL : node_text(node, field->key, true);
    const void *row = name ? table_find(table, name) : NULL;
    char shown[TEXT_SHOWN_BYTES];

    if (name && !row)
        node_wrong_member(node, field->key, "this build has no %s '%s'; cbank list shows those that it has",
                          table->what, text_shown(name, shown));
    *(const void **)member_in(field, base) = row;
}

/* -- numbers, objects and lists ------------------------------------------------------------------------ */

static void write_numbers(cJSON *object, const struct field *field, const void *base)
{
    const struct numbers *numbers = member_of(field, base);

    json_add(object, field->key, json_doubles(numbers->values, numbers->count));
}

static void read_numbers(const struct node *node, const struct field *field, void *base)
{
    struct numbers *out = member_in(field, base);
    const cJSON *item;

    if (is_empty(node, field))
        return;

    const struct node array = node_array(node, field->key);
    const size_t count = (size_t)cJSON_GetArraySize(array.json);

    if (count == 0)
        return;
    out->values = malloc(count * sizeof(*out->values));
    if (!out->values) {
        node_out_of_memory(node);
        return;
    }
    cJSON_ArrayForEach (item, array.json) {
        if (!cJSON_IsNumber(item)) {
            refuse(node, field, "an array of numbers");
            return;
        }
        out->values[out->count++] = item->valuedouble;
    }
}

static void write_object(cJSON *object, const struct field *field, const void *base)
{
    const struct object *of = field->of;

    if (of->given == SIZE_MAX || bool_at(base, of->given))
        fields_write(json_add(object, field->key, cJSON_CreateObject()), &of->fields, member_of(field, base));
    else
        write_empty(object, field);
}

static void read_object(const struct node *node, const struct field *field, void *base)
{
    const struct object *of = field->of;

    if (is_empty(node, field))
        return;

    const struct node child = node_object(node, field->key);

    fields_read(&child, &of->fields, member_in(field, base));
    if (of->given != SIZE_MAX)
        *(bool *)((char *)base + of->given) = !node_failed(node);
    if (of->check && !node_failed(node))
        of->check(&child, member_in(field, base));
}

static void write_pointer(cJSON *object, const struct field *field, const void *base)
{
    const void *pointed = *(const void *const *)member_of(field, base);

    if (!pointed)
        write_empty(object, field);
    else
        fields_write(field->key ? json_add(object, field->key, cJSON_CreateObject()) : object, field->of, pointed);
}

static size_t count_of(const struct objects *list, const void *base)
{
    return *(const size_t *)((const char *)base + list->count);
}

/* Writes elements of an array or, with their keys, of a map. */
static void write_elements(cJSON *object, const struct field *field, const void *base, const char *element)
{
    const struct objects *list = field->of;
    const bool map = field->kind == &field_map;
    cJSON *all;

    if (count_of(list, base) == 0 && field->presence == OMITTED)
        return;
    all = json_add(object, field->key, map ? cJSON_CreateObject() : cJSON_CreateArray());
    for (size_t i = 0; i < count_of(list, base); i++, element += list->element_bytes) {
        cJSON *item = cJSON_CreateObject();

        fields_write(item, &list->fields, element);
        item = list->line ? json_line(item) : item;
        if (map)
            json_add(all, *(const char *const *)(element + list->key), item);
        else
            json_append(all, item);
    }
}

static void write_array(cJSON *object, const struct field *field, const void *base)
{
    write_elements(object, field, base, member_of(field, base));
}

static void write_list(cJSON *object, const struct field *field, const void *base)
{
    write_elements(object, field, base, *(const char *const *)member_of(field, base));
}

/* Reads an array within the struct, or an array or map into new memory. */
static void read_elements(const struct node *node, const struct field *field, void *base)
{
    const struct objects *list = field->of;
    char *element = member_in(field, base);
    const cJSON *item;
    size_t count, i = 0;

    if (is_empty(node, field))
        return;

    const struct node all = field->kind == &field_map ? node_object(node, field->key) : node_array(node, field->key);

    count = (size_t)cJSON_GetArraySize(all.json);
    if (!node_failed(node) && (count > list->max || count < (size_t)field->low))
        node_wrong(&all, "expected %.0f to %zu elements, there are %zu", field->low, list->max, count);
    if (node_failed(node) || count == 0)
        return;
    if (field->kind != &field_array) {
        char *elements = calloc(count, list->element_bytes);

        if (!elements) {
            node_out_of_memory(node);
            return;
        }
        *(char **)element = elements;
        element = elements;
    }
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

const struct field_kind field_text = {write_text, read_text};
const struct field_kind field_words = {write_words, read_words};
const struct field_kind field_reference = {write_reference, read_reference};
const struct field_kind field_uint32 = {write_integer, read_integer};
const struct field_kind field_uint64 = {write_integer, read_integer};
const struct field_kind field_number = {write_number, read_number};
const struct field_kind field_bool = {write_bool, read_bool};
const struct field_kind field_name = {write_name, read_name};
const struct field_kind field_bits = {write_bits, read_bits};
const struct field_kind field_row = {write_row, read_row};
const struct field_kind field_numbers = {write_numbers, read_numbers};
const struct field_kind field_object = {write_object, read_object};
const struct field_kind field_pointer = {write_pointer, NULL};
const struct field_kind field_array = {write_array, read_elements};
const struct field_kind field_list = {write_list, read_elements};
const struct field_kind field_map = {write_list, read_elements};

void fields_write(cJSON *object, const struct fields *fields, const void *base)
{
    for (size_t i = 0; i < fields->count; i++)
        fields->rows[i].kind->write(object, &fields->rows[i], base);
}

void fields_read(const struct node *node, const struct fields *fields, void *base)
{
    struct node at = *node;

    for (size_t i = 0; i < fields->count && !node_failed(node); i++) {
        const struct field *field = &fields->rows[i];

        if (!field->kind->read)
            continue;
        if (field->key)
            node_find(&at, field->key);
        field->kind->read(&at, field, base);
    }
}
