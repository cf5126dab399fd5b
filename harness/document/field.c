/* SPDX-License-Identifier: MIT
 * The kinds of fields: for each a function that writes a member and one that reads it.
 *
 * An empty member is written as null, unless its field is OMITTED. While reading, null stands for
 * an empty member in every field that is not REQUIRED; absent keys do in LATER and OMITTED ones. */
#include "field.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "table.h"
#include "text.h"

static const void *member_of(const struct field *field, const void *base)
{
    return (const char *)base + field->offset;
}

static void *member_to_set(const struct field *field, void *base)
{
    return (char *)base + field->offset;
}

/* -- shared by writers ------------------------------------------------------------------------- */

static void write_empty(cJSON *object, const struct field *field)
{
    if (field->presence != OMITTED)
        json_add(object, field->key, cJSON_CreateNull());
}

/* NULL: the member is empty. */
static void write_string(cJSON *object, const struct field *field, const char *text)
{
    if (text)
        json_add_text(object, field->key, text);
    else
        write_empty(object, field);
}

/* -- shared by readers ------------------------------------------------------------------------- */

/* Whether `item`, the value of the field's key or NULL, stands for an empty member. */
static bool is_empty(const struct field *field, const cJSON *item)
{
    if (item)
        return field->presence != REQUIRED && cJSON_IsNull(item);
    return field->presence == LATER || field->presence == OMITTED;
}

/* Logs the expected kind of value, including the one for an empty member. */
static void refuse(const struct node *node, const struct field *field, const char *expected)
{
    char text[160];

    snprintf(text, sizeof(text), "%s%s", expected, field->presence == REQUIRED ? "" : " or null");
    node_refuse(node, field->key, text);
}

/* The value that has this name; names->count if there is none. */
static size_t value_named(const struct names *names, const char *text)
{
    size_t value = 0;

    while (value < names->count &&
           (!text || !names->names[value] || strcmp(names->names[value], text) != 0))
        value++;
    return value;
}

/* Memory for `count` elements; NULL, logged, if there is none. */
static void *allocate(const struct node *node, size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);

    if (!memory)
        node->reader->status = log_memory("%s", node->reader->file);
    return memory;
}

/* -- texts ------------------------------------------------------------------------------------- */

static void write_text(cJSON *object, const struct field *field, const void *base)
{
    const char *text = member_of(field, base);

    write_string(object, field, *text || field->presence == REQUIRED ? text : NULL);
}

static void read_text(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);
    const char *text = cJSON_GetStringValue(item);
    char *member = member_to_set(field, base), expected[80];

    if (is_empty(field, item)) {
        *member = '\0';
        return;
    }
    if (text && strlen(text) < field->bytes && (*text || field->low == 0)) {
        memcpy(member, text, strlen(text) + 1);
        return;
    }
    snprintf(expected, sizeof(expected), "a string of %s %zu bytes",
             field->low > 0 ? "1 to" : "at most", field->bytes - 1);
    refuse(node, field, expected);
}

const struct field_kind field_text = {write_text, read_text};

static void write_reference(cJSON *object, const struct field *field, const void *base)
{
    write_string(object, field, *(const char *const *)member_of(field, base));
}

static void read_reference(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);
    const char *text = cJSON_GetStringValue(item);

    *(const char **)member_to_set(field, base) = text;
    if (!text && !is_empty(field, item) && (item || field->presence == REQUIRED))
        refuse(node, field, "a string");
}

const struct field_kind field_reference = {write_reference, read_reference};

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
    char *member = member_to_set(field, base);
    const cJSON *item;
    size_t used = 0;
    struct node array;

    if (is_empty(field, node_get(node, field->key)))
        return;
    array = node_array(node, field->key);
    cJSON_ArrayForEach (item, array.json) {
        const char *word = cJSON_GetStringValue(item);

        if (word && used + strlen(word) + 1 < field->bytes)
            used +=
                (size_t)snprintf(member + used, field->bytes - used, "%s%s", used ? " " : "", word);
        else
            refuse(node, field, "an array of a few short strings");
    }
}

const struct field_kind field_words = {write_words, read_words};

static void write_texts(cJSON *object, const struct field *field, const void *base)
{
    const struct keyed_texts *keyed = field->of;
    const char *const *texts = keyed->texts ? keyed->texts : member_of(field, base);
    cJSON *all = json_add(object, field->key, cJSON_CreateObject());

    for (size_t i = 0; i < keyed->count; i++)
        if (texts[i])
            json_add_text(all, keyed->keys[i], texts[i]);
}

static void read_texts(const struct node *node, const struct field *field, void *base)
{
    const struct keyed_texts *keyed = field->of;
    const char **texts = member_to_set(field, base);
    struct node all;

    if (keyed->texts || is_empty(field, node_get(node, field->key)))
        return;
    all = node_object(node, field->key);
    for (size_t i = 0; i < keyed->count; i++)
        texts[i] = node_text(&all, keyed->keys[i], false);
}

const struct field_kind field_texts = {write_texts, read_texts};

/* -- numbers ----------------------------------------------------------------------------------- */

static void write_whole(cJSON *object, const struct field *field, uint64_t value)
{
    if (value || field->presence == REQUIRED)
        json_add_integer(object, field->key, value);
    else
        write_empty(object, field);
}

static uint64_t read_whole(const struct node *node, const struct field *field, uint64_t most)
{
    if (is_empty(field, node_get(node, field->key)))
        return 0;
    return node_integer(node, field->key, (uint64_t)field->low,
                        field->high > 0 ? (uint64_t)field->high : most);
}

static void write_uint32(cJSON *object, const struct field *field, const void *base)
{
    write_whole(object, field, *(const uint32_t *)member_of(field, base));
}

static void read_uint32(const struct node *node, const struct field *field, void *base)
{
    *(uint32_t *)member_to_set(field, base) = (uint32_t)read_whole(node, field, UINT32_MAX);
}

const struct field_kind field_uint32 = {write_uint32, read_uint32};

static void write_uint64(cJSON *object, const struct field *field, const void *base)
{
    write_whole(object, field, *(const uint64_t *)member_of(field, base));
}

static void read_uint64(const struct node *node, const struct field *field, void *base)
{
    *(uint64_t *)member_to_set(field, base) = read_whole(node, field, UINT64_MAX);
}

const struct field_kind field_uint64 = {write_uint64, read_uint64};

static void write_number(cJSON *object, const struct field *field, const void *base)
{
    const double number = *(const double *)member_of(field, base);

    if (isfinite(number))
        json_add_double(object, field->key, number);
    else
        write_empty(object, field);
}

static void read_number(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);
    const double number = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    char expected[80] = "a number";

    *(double *)member_to_set(field, base) = number;
    if (is_empty(field, item) || (number >= field->low && number <= field->high))
        return;
    if (field->low == 0 && field->high == 0) { /* no limits */
        if (isnan(number))
            refuse(node, field, expected);
        return;
    }
    if (isinf(field->high))
        snprintf(expected, sizeof(expected), "a number of at least %.15g", field->low);
    else
        snprintf(expected, sizeof(expected), "a number from %.15g to %.15g", field->low,
                 field->high);
    refuse(node, field, expected);
}

const struct field_kind field_number = {write_number, read_number};

static void write_numbers(cJSON *object, const struct field *field, const void *base)
{
    const struct numbers *numbers = member_of(field, base);

    json_add(object, field->key, json_doubles(numbers->values, numbers->count));
}

static void read_numbers(const struct node *node, const struct field *field, void *base)
{
    struct numbers *numbers = member_to_set(field, base);
    const cJSON *item;
    struct node array;
    size_t count;

    if (is_empty(field, node_get(node, field->key)))
        return;
    array = node_array(node, field->key);
    count = (size_t)cJSON_GetArraySize(array.json);
    if (count > 0 && !(numbers->values = allocate(node, count, sizeof(double))))
        return;
    cJSON_ArrayForEach (item, array.json) {
        if (cJSON_IsNumber(item))
            numbers->values[numbers->count++] = item->valuedouble;
        else
            refuse(node, field, "an array of numbers");
    }
}

const struct field_kind field_numbers = {write_numbers, read_numbers};

/* -- states ------------------------------------------------------------------------------------ */

static void write_bool(cJSON *object, const struct field *field, const void *base)
{
    json_add(object, field->key, cJSON_CreateBool(*(const bool *)member_of(field, base)));
}

static void read_bool(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);

    *(bool *)member_to_set(field, base) = cJSON_IsTrue(item);
    if (!is_empty(field, item) && !cJSON_IsBool(item))
        refuse(node, field, "true or false");
}

const struct field_kind field_bool = {write_bool, read_bool};

static void write_state(cJSON *object, const struct field *field, const void *base)
{
    const double state = *(const double *)member_of(field, base);

    if (isfinite(state))
        json_add(object, field->key, cJSON_CreateBool(state > 0));
    else
        write_empty(object, field);
}

static void read_state(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);

    *(double *)member_to_set(field, base) = cJSON_IsBool(item) ? (double)cJSON_IsTrue(item) : NAN;
    if (!is_empty(field, item) && !cJSON_IsBool(item))
        refuse(node, field, "true, false");
}

const struct field_kind field_state = {write_state, read_state};

/* -- names ------------------------------------------------------------------------------------- */

static void write_name(cJSON *object, const struct field *field, const void *base)
{
    const struct names *names = field->of;

    write_string(object, field, names->names[*(const int *)member_of(field, base)]);
}

static void read_name(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);
    const struct names *names = field->of;
    const size_t value = value_named(names, cJSON_GetStringValue(item));

    if (value < names->count)
        *(int *)member_to_set(field, base) = (int)value;
    else if (!is_empty(field, item))
        refuse(node, field, names->expected);
}

const struct field_kind field_name = {write_name, read_name};

static void write_bits(cJSON *object, const struct field *field, const void *base)
{
    const uint32_t bits = *(const uint32_t *)member_of(field, base);
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());
    const struct names *names = field->of;

    for (size_t i = 0; i < names->count; i++)
        if (bits >> i & 1)
            json_append(array, cJSON_CreateString(names->names[i]));
}

static void read_bits(const struct node *node, const struct field *field, void *base)
{
    uint32_t *bits = member_to_set(field, base);
    const struct names *names = field->of;
    const cJSON *item;
    struct node array;

    if (is_empty(field, node_get(node, field->key)))
        return;
    array = node_array(node, field->key);
    cJSON_ArrayForEach (item, array.json) {
        const size_t bit = value_named(names, cJSON_GetStringValue(item));

        if (bit < names->count)
            *bits |= 1u << bit;
        else
            refuse(node, field, names->expected);
    }
}

const struct field_kind field_bits = {write_bits, read_bits};

/* Rows begin with their name. */
static void write_row(cJSON *object, const struct field *field, const void *base)
{
    const void *row = *(const void *const *)member_of(field, base);

    write_string(object, field, row ? *(const char *const *)row : NULL);
}

static void read_row(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);
    const char *text = cJSON_GetStringValue(item);
    const void **member = member_to_set(field, base);
    const struct table *table = field->of;
    char shown[TEXT_SHOWN_BYTES];

    *member = text ? table_find(table, text) : NULL;
    if (text && !*member)
        node_wrong_member(node, field->key,
                          "this build has no %s '%s'; cbank list shows those that it has",
                          table->what, text_shown(text, shown));
    else if (!text && !is_empty(field, item))
        refuse(node, field, "a string");
}

const struct field_kind field_row = {write_row, read_row};

/* -- objects ----------------------------------------------------------------------------------- */

static void write_object(cJSON *object, const struct field *field, const void *base)
{
    const struct object *inner = field->of;

    if (inner->given != SIZE_MAX && !*(const bool *)((const char *)base + inner->given))
        write_empty(object, field);
    else
        fields_write(json_add(object, field->key, cJSON_CreateObject()), &inner->fields,
                     member_of(field, base));
}

static void read_object(const struct node *node, const struct field *field, void *base)
{
    const struct object *inner = field->of;
    void *member = member_to_set(field, base);
    struct node child;

    if (is_empty(field, node_get(node, field->key)))
        return;
    child = node_object(node, field->key);
    fields_read(&child, &inner->fields, member);
    if (inner->given != SIZE_MAX)
        *(bool *)((char *)base + inner->given) = !node_failed(node);
    if (inner->check && !node_failed(node))
        inner->check(&child, member);
}

const struct field_kind field_object = {write_object, read_object};

static void write_pointer(cJSON *object, const struct field *field, const void *base)
{
    const void *inner = *(const void *const *)member_of(field, base);

    if (!inner)
        write_empty(object, field);
    else if (field->key)
        fields_write(json_add(object, field->key, cJSON_CreateObject()), field->of, inner);
    else
        fields_write(object, field->of, inner);
}

const struct field_kind field_pointer = {write_pointer, NULL};

/* -- arrays ------------------------------------------------------------------------------------ */

static size_t count_of(const struct field *field, const void *base)
{
    const struct objects *list = field->of;

    return *(const size_t *)((const char *)base + list->count);
}

/* Adds elements to an array, or to an object if they have keys. */
static void write_elements(cJSON *to, const struct field *field, const char *element, size_t count,
                           bool keyed)
{
    const struct objects *list = field->of;

    for (size_t i = 0; i < count; i++, element += list->element_bytes) {
        const char *key = keyed ? *(const char *const *)(element + list->key) : NULL;
        cJSON *item = cJSON_CreateObject();

        fields_write(item, &list->fields, element);
        json_add(to, key, list->line ? json_line(item) : item);
    }
}

/* Reads the children of `all` into elements, and counts them. */
static void read_elements(const struct node *node, const struct node *all,
                          const struct field *field, void *base, char *element)
{
    const struct objects *list = field->of;
    const cJSON *item;
    size_t i = 0;

    cJSON_ArrayForEach (item, all->json) {
        const struct node child = node_element(all, item, i++);

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

/* The number of children of `all`, which is an error beyond the limits; then 0. */
static size_t count_children(const struct node *node, const struct node *all,
                             const struct field *field)
{
    const struct objects *list = field->of;
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
                       member_of(field, base), count, false);
}

static void read_array(const struct node *node, const struct field *field, void *base)
{
    struct node all;

    if (is_empty(field, node_get(node, field->key)))
        return;
    all = node_array(node, field->key);
    if (count_children(node, &all, field) > 0)
        read_elements(node, &all, field, base, member_to_set(field, base));
}

const struct field_kind field_array = {write_array, read_array};

/* Reads into new memory, which the struct then owns. */
static void read_owned(const struct node *node, const struct node *all, const struct field *field,
                       void *base)
{
    const struct objects *list = field->of;
    const size_t count = count_children(node, all, field);
    char **member = member_to_set(field, base);

    if (count == 0)
        return;
    *member = allocate(node, count, list->element_bytes);
    if (*member)
        read_elements(node, all, field, base, *member);
}

static void write_list(cJSON *object, const struct field *field, const void *base)
{
    const size_t count = count_of(field, base);

    if (count > 0 || field->presence != OMITTED)
        write_elements(json_add(object, field->key, cJSON_CreateArray()), field,
                       *(const char *const *)member_of(field, base), count, false);
}

static void read_list(const struct node *node, const struct field *field, void *base)
{
    struct node all;

    if (is_empty(field, node_get(node, field->key)))
        return;
    all = node_array(node, field->key);
    read_owned(node, &all, field, base);
}

const struct field_kind field_list = {write_list, read_list};

static void write_map(cJSON *object, const struct field *field, const void *base)
{
    const size_t count = count_of(field, base);

    if (count > 0 || field->presence != OMITTED)
        write_elements(json_add(object, field->key, cJSON_CreateObject()), field,
                       *(const char *const *)member_of(field, base), count, true);
}

static void read_map(const struct node *node, const struct field *field, void *base)
{
    struct node all;

    if (is_empty(field, node_get(node, field->key)))
        return;
    all = node_object(node, field->key);
    read_owned(node, &all, field, base);
}

const struct field_kind field_map = {write_map, read_map};

/* -- structs ----------------------------------------------------------------------------------- */

void fields_write(cJSON *object, const struct fields *fields, const void *base)
{
    for (size_t i = 0; i < fields->count; i++)
        if (fields->rows[i].kind->write)
            fields->rows[i].kind->write(object, &fields->rows[i], base);
}

void field_read(const struct node *node, const struct field *field, void *base)
{
    if (field->kind->read)
        field->kind->read(node, field, base);
}

void fields_read(const struct node *node, const struct fields *fields, void *base)
{
    for (size_t i = 0; i < fields->count && !node_failed(node); i++)
        field_read(node, &fields->rows[i], base);
}
