/* SPDX-License-Identifier: MIT
 * The kinds of fields that are texts, numbers, states and names: for each a function that writes a
 * member and one that reads it. */
#include "field.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "field_parts.h"
#include "optional.h"
#include "schema.h"
#include "table.h"
#include "text.h"

/* -- shared by writers ------------------------------------------------------------------------- */

/* NULL: the member is empty. */
static void write_string(cJSON *object, const struct field *field, const char *text)
{
    if (text)
        json_add_text(object, field->key, text);
    else
        field_write_empty(object, field);
}

/* -- shared by readers ------------------------------------------------------------------------- */

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

/* -- texts ------------------------------------------------------------------------------------- */

static void write_text(cJSON *object, const struct field *field, const void *base)
{
    const char *text = field_member_of(field, base);

    write_string(object, field, *text || field->presence == REQUIRED ? text : NULL);
}

static void read_text(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);
    const char *text = cJSON_GetStringValue(item);
    char *member = field_member_to_set(field, base), expected[80];

    if (field_is_empty(field, item)) {
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

const struct field_kind field_text = {.write = write_text,
                                      .read = read_text,
                                      .schema = schema_text,
                                      .value = grid_array};

static void write_reference(cJSON *object, const struct field *field, const void *base)
{
    const char *text = *(const char *const *)field_member_of(field, base);

    write_string(object, field, text && (*text || field->presence == REQUIRED) ? text : NULL);
}

static void read_reference(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);
    const char *text = cJSON_GetStringValue(item);

    *(const char **)field_member_to_set(field, base) = text;
    if (!text && !field_is_empty(field, item) && (item || field->presence == REQUIRED))
        refuse(node, field, "a string");
}

const struct field_kind field_reference = {.write = write_reference,
                                           .read = read_reference,
                                           .schema = schema_text,
                                           .value = grid_text};

/* Adds an array of the words of a text. */
static void add_words(cJSON *object, const char *key, const char *text)
{
    cJSON *array = json_add(object, key, cJSON_CreateArray());
    char words[FIELD_WORDS_BYTES], *rest = words, *word;

    snprintf(words, sizeof(words), "%s", text);
    while ((word = strsep(&rest, " ")))
        if (*word)
            json_append(array, cJSON_CreateString(word));
}

static void write_words(cJSON *object, const struct field *field, const void *base)
{
    const char *words = field_member_of(field, base);

    if (*words || field->presence != OMITTED)
        add_words(object, field->key, words);
}

static void write_word_list(cJSON *object, const struct field *field, const void *base)
{
    add_words(object, field->key, *(const char *const *)field_member_of(field, base));
}

static void read_words(const struct node *node, const struct field *field, void *base)
{
    char *member = field_member_to_set(field, base);
    const cJSON *item;
    size_t used = 0;
    struct node array;

    if (field_is_empty(field, node_get(node, field->key)))
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

const struct field_kind field_words = {.write = write_words,
                                       .read = read_words,
                                       .schema = schema_words};
const struct field_kind field_word_list = {.write = write_word_list, .schema = schema_words};

static void write_texts(cJSON *object, const struct field *field, const void *base)
{
    const struct keyed_texts *keyed = field->texts;
    const char *const *texts = keyed->texts ? keyed->texts : field_member_of(field, base);
    cJSON *all = json_add(object, field->key, cJSON_CreateObject());

    for (size_t i = 0; i < keyed->count; i++)
        if (texts[i])
            json_add_text(all, keyed->keys[i], texts[i]);
}

static void read_texts(const struct node *node, const struct field *field, void *base)
{
    const struct keyed_texts *keyed = field->texts;
    const char **texts = field_member_to_set(field, base);
    struct node all;

    if (keyed->texts || field_is_empty(field, node_get(node, field->key)))
        return;
    all = node_object(node, field->key);
    for (size_t i = 0; i < keyed->count; i++)
        texts[i] = node_text(&all, keyed->keys[i], false);
}

const struct field_kind field_texts = {.write = write_texts,
                                       .read = read_texts,
                                       .schema = schema_texts};

/* -- numbers ----------------------------------------------------------------------------------- */

static void write_whole(cJSON *object, const struct field *field, uint64_t value)
{
    if (value || field->presence == REQUIRED)
        json_add_integer(object, field->key, value);
    else
        field_write_empty(object, field);
}

static uint64_t read_whole(const struct node *node, const struct field *field, uint64_t most)
{
    if (field_is_empty(field, node_get(node, field->key)))
        return 0;
    return node_integer(node, field->key, (uint64_t)field->low,
                        field->high > 0 ? (uint64_t)field->high : most);
}

static void write_uint32(cJSON *object, const struct field *field, const void *base)
{
    write_whole(object, field, *(const uint32_t *)field_member_of(field, base));
}

static void read_uint32(const struct node *node, const struct field *field, void *base)
{
    *(uint32_t *)field_member_to_set(field, base) = (uint32_t)read_whole(node, field, UINT32_MAX);
}

const struct field_kind field_uint32 = {.write = write_uint32,
                                        .read = read_uint32,
                                        .schema = schema_integer,
                                        .value = grid_integer};

static void write_uint64(cJSON *object, const struct field *field, const void *base)
{
    write_whole(object, field, *(const uint64_t *)field_member_of(field, base));
}

static void read_uint64(const struct node *node, const struct field *field, void *base)
{
    *(uint64_t *)field_member_to_set(field, base) = read_whole(node, field, UINT64_MAX);
}

const struct field_kind field_uint64 = {.write = write_uint64,
                                        .read = read_uint64,
                                        .schema = schema_integer64,
                                        .value = grid_integer};

static void write_optional(cJSON *object, const struct field *field, const void *base)
{
    const struct optional *integer = field_member_of(field, base);

    if (integer->known)
        json_add_integer(object, field->key, integer->value);
    else
        field_write_empty(object, field);
}

static void read_optional(const struct node *node, const struct field *field, void *base)
{
    struct optional *integer = field_member_to_set(field, base);

    *integer = (struct optional){0};
    if (!field_is_empty(field, node_get(node, field->key)))
        *integer = optional_of(read_whole(node, field, UINT64_MAX));
}

const struct field_kind field_optional = {.write = write_optional,
                                          .read = read_optional,
                                          .schema = schema_integer,
                                          .value = grid_optional};

static void write_number(cJSON *object, const struct field *field, const void *base)
{
    const double number = *(const double *)field_member_of(field, base);

    if (isfinite(number))
        json_add_double(object, field->key, number);
    else
        field_write_empty(object, field);
}

static void read_number(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);
    const double number = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    char expected[80] = "a number";

    *(double *)field_member_to_set(field, base) = number;
    if (field_is_empty(field, item) || (number >= field->low && number <= field->high))
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

const struct field_kind field_number = {.write = write_number,
                                        .read = read_number,
                                        .schema = schema_number,
                                        .value = grid_number};

static void write_numbers(cJSON *object, const struct field *field, const void *base)
{
    const struct numbers *numbers = field_member_of(field, base);

    json_add(object, field->key, json_doubles(numbers->values, numbers->count));
}

static void read_numbers(const struct node *node, const struct field *field, void *base)
{
    struct numbers *numbers = field_member_to_set(field, base);
    const cJSON *item;
    struct node array;
    size_t count;

    if (field_is_empty(field, node_get(node, field->key)))
        return;
    array = node_array(node, field->key);
    count = (size_t)cJSON_GetArraySize(array.json);
    if (count > 0 && !(numbers->values = field_allocate(node, count, sizeof(double))))
        return;
    cJSON_ArrayForEach (item, array.json) {
        if (cJSON_IsNumber(item))
            numbers->values[numbers->count++] = item->valuedouble;
        else
            refuse(node, field, "an array of numbers");
    }
}

const struct field_kind field_numbers = {.write = write_numbers,
                                         .read = read_numbers,
                                         .schema = schema_numbers};

/* -- states ------------------------------------------------------------------------------------ */

static void write_bool(cJSON *object, const struct field *field, const void *base)
{
    json_add(object, field->key, cJSON_CreateBool(*(const bool *)field_member_of(field, base)));
}

static void read_bool(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);

    *(bool *)field_member_to_set(field, base) = cJSON_IsTrue(item);
    if (!field_is_empty(field, item) && !cJSON_IsBool(item))
        refuse(node, field, "true or false");
}

const struct field_kind field_bool = {.write = write_bool,
                                      .read = read_bool,
                                      .schema = schema_bool,
                                      .value = grid_bool};

static void write_state(cJSON *object, const struct field *field, const void *base)
{
    const struct optional *state = field_member_of(field, base);

    if (state->known)
        json_add(object, field->key, cJSON_CreateBool(state->value > 0));
    else
        field_write_empty(object, field);
}

static void read_state(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);

    *(struct optional *)field_member_to_set(field, base) =
        cJSON_IsBool(item) ? optional_of(cJSON_IsTrue(item)) : (struct optional){0};
    if (!field_is_empty(field, item) && !cJSON_IsBool(item))
        refuse(node, field, "true, false");
}

const struct field_kind field_state = {.write = write_state,
                                       .read = read_state,
                                       .schema = schema_bool};

/* -- names ------------------------------------------------------------------------------------- */

static void write_name(cJSON *object, const struct field *field, const void *base)
{
    const struct names *names = field->names;

    write_string(object, field, names->names[*(const int *)field_member_of(field, base)]);
}

static void read_name(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);
    const struct names *names = field->names;
    const size_t value = value_named(names, cJSON_GetStringValue(item));

    if (value < names->count)
        *(int *)field_member_to_set(field, base) = (int)value;
    else if (!field_is_empty(field, item))
        refuse(node, field, names->expected);
}

const struct field_kind field_name = {.write = write_name,
                                      .read = read_name,
                                      .schema = schema_name,
                                      .value = grid_name};

static void write_bits(cJSON *object, const struct field *field, const void *base)
{
    const uint32_t bits = *(const uint32_t *)field_member_of(field, base);
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());
    const struct names *names = field->names;

    for (size_t i = 0; i < names->count; i++)
        if (bits >> i & 1)
            json_append(array, cJSON_CreateString(names->names[i]));
}

static void read_bits(const struct node *node, const struct field *field, void *base)
{
    uint32_t *bits = field_member_to_set(field, base);
    const struct names *names = field->names;
    const cJSON *item;
    struct node array;

    if (field_is_empty(field, node_get(node, field->key)))
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

const struct field_kind field_bits = {.write = write_bits,
                                      .read = read_bits,
                                      .schema = schema_bits,
                                      .value = grid_bits};

/* Rows begin with their name. */
static void write_row(cJSON *object, const struct field *field, const void *base)
{
    const void *row = *(const void *const *)field_member_of(field, base);

    write_string(object, field, row ? *(const char *const *)row : NULL);
}

static void read_row(const struct node *node, const struct field *field, void *base)
{
    const cJSON *item = node_get(node, field->key);
    const char *text = cJSON_GetStringValue(item);
    const void **member = field_member_to_set(field, base);
    const struct table *table = field->table;
    char shown[TEXT_SHOWN_BYTES];

    *member = text ? table_find(table, text) : NULL;
    if (text && !*member)
        node_wrong_member(node, field->key,
                          "this build has no %s '%s'; cbank list shows those that it has",
                          table->what, text_shown(text, shown));
    else if (!text && !field_is_empty(field, item))
        refuse(node, field, "a string");
}

const struct field_kind field_row = {.write = write_row,
                                     .read = read_row,
                                     .schema = schema_text,
                                     .value = grid_row_name};

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
