/* SPDX-License-Identifier: MIT
 * JSON Schemas. A field becomes a property: its kind gives the type and the limits, its row the
 * description and the rules that no kind has.
 *
 *   row of time_rows    "min", field_number, NULLABLE, .about = "ns"
 *   property            "min": {"description": "ns", "type": ["number", "null"]}
 *
 * A key is required unless older files lack it or it may be left out. What is written and never
 * read may be null where it is NULLABLE, too. */
#include "schema.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Keywords that say what the type would. */
static const char *const instead_of_type[] = {"type", "enum", "const", "oneOf"};

static bool may_be_null(const struct field *field)
{
    return field->presence == NULLABLE || field->presence == LATER;
}

/* Adds the members of the field's rules. */
static void add_rules(cJSON *property, const struct field *field)
{
    char text[TEXT_PARAGRAPH_BYTES];
    cJSON *rules, *rule;

    if (!field->rules)
        return;
    snprintf(text, sizeof(text), "{%s}", field->rules);
    rules = cJSON_Parse(text);
    if (!rules) /* out of memory: the schema cannot be printed then */
        json_add(property, "rules", NULL);
    while (rules && (rule = rules->child)) {
        cJSON_DetachItemViaPointer(rules, rule);
        json_add(property, rule->string, rule);
    }
    cJSON_Delete(rules);
}

static void add_type(cJSON *property, const struct field *field, const char *type)
{
    cJSON *either;

    for (size_t i = 0; i < sizeof(instead_of_type) / sizeof(instead_of_type[0]); i++)
        if (json_get(property, instead_of_type[i]))
            return;
    if (!may_be_null(field)) {
        json_add_text(property, "type", type);
        return;
    }
    either = json_add(property, "type", cJSON_CreateArray());
    json_append(either, cJSON_CreateString(type));
    json_append(either, cJSON_CreateString("null"));
}

cJSON *schema_property(struct schema_object *object, const struct field *field, const char *type)
{
    cJSON *property = json_add(object->properties, field->key, cJSON_CreateObject());
    const struct field_column *column = field->column;

    if (field->about)
        json_add_text(property, "description", field->about);
    if (column && column->heading && column->views) {
        const char *key = column->key ? column->key : field->key;

        json_add_text(property, "csv", key);
        json_add_text(property, "frame", column->frame ? column->frame : key);
    } else if (column && column->frame) {
        json_add_text(property, "frame", column->frame);
    }
    add_rules(property, field);
    if (type)
        add_type(property, field, type);
    if (field->presence == REQUIRED || field->presence == NULLABLE)
        json_append(object->required, cJSON_CreateString(field->key));
    return property;
}

void schema_limit(cJSON *property, const char *keyword, double number)
{
    char exclusive[32];

    snprintf(exclusive, sizeof(exclusive), "exclusiveM%s", keyword + 1);
    if (isfinite(number) && !json_get(property, keyword) && !json_get(property, exclusive))
        json_add_double(property, keyword, number);
}

/* -- kinds ------------------------------------------------------------------------------------- */

void schema_text(struct schema_object *object, const struct field *field)
{
    cJSON *property = schema_property(object, field, "string");

    if (field->low > 0)
        schema_limit(property, "minLength", field->low);
}

/* An array of elements of a type. */
static cJSON *add_array(struct schema_object *object, const struct field *field, const char *type)
{
    cJSON *property = schema_property(object, field, "array");

    if (!json_get(property, "items"))
        json_add_text(json_add(property, "items", cJSON_CreateObject()), "type", type);
    return property;
}

void schema_words(struct schema_object *object, const struct field *field)
{
    add_array(object, field, "string");
}

void schema_numbers(struct schema_object *object, const struct field *field)
{
    add_array(object, field, "number");
}

void schema_texts(struct schema_object *object, const struct field *field)
{
    cJSON *property = schema_property(object, field, "object");

    if (!json_get(property, "additionalProperties"))
        json_add_text(json_add(property, "additionalProperties", cJSON_CreateObject()), "type",
                      "string");
}

/* The least integer that is written: 0 is null where a member may be empty. */
static double least(const struct field *field)
{
    return field->low > 0 ? field->low : may_be_null(field) ? 1 : 0;
}

void schema_integer(struct schema_object *object, const struct field *field)
{
    cJSON *property = schema_property(object, field, "integer");

    schema_limit(property, "minimum", least(field));
    if (field->high > 0)
        schema_limit(property, "maximum", field->high);
}

/* A number up to 2^53, a decimal string above. */
void schema_integer64(struct schema_object *object, const struct field *field)
{
    cJSON *property = schema_property(object, field, NULL), *either, *form;

    if (json_get(property, "type"))
        return;
    either = json_add(property, "oneOf", cJSON_CreateArray());
    form = json_append(either, cJSON_CreateObject());
    json_add_text(form, "type", "integer");
    json_add_double(form, "minimum", least(field));
    json_add_double(form, "maximum", field->high > 0 ? field->high : 9007199254740992);
    if (field->high == 0) {
        form = json_append(either, cJSON_CreateObject());
        json_add_text(form, "type", "string");
        json_add_text(form, "pattern", "^[1-9][0-9]{15,19}$");
    }
    if (may_be_null(field))
        json_add_text(json_append(either, cJSON_CreateObject()), "type", "null");
}

void schema_number(struct schema_object *object, const struct field *field)
{
    cJSON *property = schema_property(object, field, "number");

    if (field->low == 0 && field->high == 0)
        return;
    schema_limit(property, "minimum", field->low);
    schema_limit(property, "maximum", field->high);
}

void schema_bool(struct schema_object *object, const struct field *field)
{
    schema_property(object, field, "boolean");
}

static void add_names(cJSON *schema, const struct names *names, bool null)
{
    cJSON *words = json_add(schema, "enum", cJSON_CreateArray());

    for (size_t i = 0; i < names->count; i++)
        if (names->names[i])
            json_append(words, cJSON_CreateString(names->names[i]));
    if (null)
        json_append(words, cJSON_CreateNull());
}

void schema_name(struct schema_object *object, const struct field *field)
{
    cJSON *property = schema_property(object, field, NULL);

    if (!json_get(property, "enum"))
        add_names(property, field->names, may_be_null(field));
}

void schema_bits(struct schema_object *object, const struct field *field)
{
    cJSON *property = schema_property(object, field, "array");

    cJSON_AddTrueToObject(property, "uniqueItems");
    add_names(json_add(property, "items", cJSON_CreateObject()), field->names, false);
}

void schema_of_object(struct schema_object *object, const struct field *field)
{
    const struct object *inner = field->object;

    schema_fill(schema_property(object, field, "object"), &inner->fields);
}

static struct schema_object begin_object(void)
{
    return (struct schema_object){cJSON_CreateObject(), cJSON_CreateArray()};
}

void schema_fields(struct schema_object *object, const struct fields *fields)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct field *field = &fields->rows[i];

        if (field->kind->schema)
            field->kind->schema(object, field);
        else
            schema_property(object, field, NULL);
    }
}

/* Without a key its members are those of the object. */
void schema_pointer(struct schema_object *object, const struct field *field)
{
    const struct fields *fields = field->fields;

    if (field->key)
        schema_fill(schema_property(object, field, "object"), fields);
    else
        schema_fields(object, fields);
}

void schema_list(struct schema_object *object, const struct field *field)
{
    const struct objects *list = field->elements;
    cJSON *property = schema_property(object, field, "array"), *items;

    if (field->low > 0)
        schema_limit(property, "minItems", field->low);
    if (list->max > 0 && list->max < SIZE_MAX)
        schema_limit(property, "maxItems", (double)list->max);
    items = json_add(property, "items", cJSON_CreateObject());
    json_add_text(items, "type", "object");
    schema_fill(items, &list->fields);
    if (list->closed)
        cJSON_AddFalseToObject(items, "additionalProperties");
}

void schema_map(struct schema_object *object, const struct field *field)
{
    const struct objects *list = field->elements;
    cJSON *property = schema_property(object, field, "object"), *values;

    values = json_add(property, "additionalProperties", cJSON_CreateObject());
    json_add_text(values, "type", "object");
    schema_fill(values, &list->fields);
}

/* -- documents --------------------------------------------------------------------------------- */

static void end_object(struct schema_object *object, cJSON *schema)
{
    json_add(schema, "required", json_line(object->required));
    json_add(schema, "properties", object->properties);
}

void schema_fill(cJSON *schema, const struct fields *fields)
{
    struct schema_object object = begin_object();

    schema_fields(&object, fields);
    end_object(&object, schema);
}

/* Whether a value has the schema of an object in it. */
static bool has_properties(const cJSON *value)
{
    const cJSON *item;

    if (json_get(value, "properties"))
        return true;
    cJSON_ArrayForEach (item, value)
        if (has_properties(item))
            return true;
    return false;
}

/* Puts each property without others within on one line, for people. */
static void shorten(cJSON *schema)
{
    static const char *const inner[] = {"items", "additionalProperties"};
    cJSON *properties = cJSON_GetObjectItemCaseSensitive(schema, "properties"), *item, *next, *line;

    for (item = properties ? properties->child : NULL; item; item = next) {
        next = item->next;
        if (has_properties(item))
            shorten(item);
        else if (!(line = json_line(cJSON_Duplicate(item, true))) ||
                 !cJSON_ReplaceItemInObjectCaseSensitive(properties, item->string, line))
            json_add(properties, "line", NULL); /* out of memory */
    }
    for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++)
        if ((item = cJSON_GetObjectItemCaseSensitive(schema, inner[i])))
            shorten(item);
}

/* What a document says of itself: the name of its schema and the version. */
static cJSON *schema_of_head(const struct document *document)
{
    char name[96], version[32];
    const struct field rows[] = {
        {.key = "name", .kind = &field_text, .rules = name},
        {.key = "version", .kind = &field_text, .about = "major.minor", .rules = version},
    };
    const struct fields fields = FIELDS(rows);
    cJSON *head = cJSON_CreateObject();

    snprintf(name, sizeof(name), "\"const\": \"%s\"", document->schema);
    snprintf(version, sizeof(version), PATTERN("^%" PRIu32 "\\\\.[0-9]+$"), document->major);
    json_add_text(head, "type", "object");
    schema_fill(head, &fields);
    return head;
}

cJSON *document_schema(const struct document *document)
{
    struct schema_object object = begin_object();
    cJSON *schema = cJSON_CreateObject();
    char text[96];

    json_add_text(schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
    snprintf(text, sizeof(text), "%s.schema.json", document->schema);
    json_add_text(schema, "$id", text);
    snprintf(text, sizeof(text), "%s of cbank, version %" PRIu32 ".%" PRIu32, document->what,
             document->major, document->minor);
    json_add_text(schema, "title", text);
    json_add_text(schema, "description", document->about);
    json_add_text(schema, "type", "object");
    json_append(object.required, cJSON_CreateString("schema"));
    json_add(object.properties, "schema", schema_of_head(document));
    schema_fields(&object, &document->root.fields);
    end_object(&object, schema);
    shorten(schema);
    return schema;
}
