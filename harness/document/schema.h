/* SPDX-License-Identifier: MIT
 * JSON Schemas of documents, from the same rows that write and read them: `cbank show --schema` and
 * the files results/NAME.schema.json. */
#pragma once

#include "document.h"
#include "field.h"

/* Members for field.rules, with commas between if there are several. */
#define PATTERN(expression) "\"pattern\": \"" expression "\""
#define PATTERN_HASH        PATTERN("^[0-9a-f]{64}$")
#define PATTERN_NAME        PATTERN("^[a-z][a-z0-9_]*$")
#define AT_LEAST(number)    "\"minimum\": " #number
#define ABOVE(number)       "\"exclusiveMinimum\": " #number
#define AT_MOST(number)     "\"maximum\": " #number

/* The schema of an object, while its keys are added. */
struct schema_object {
    cJSON *properties, *required;
};

/* Adds the field's key: its description, its type unless the rules have one, its rules, and whether
 * the key is required. Returns its schema, for more keywords; `type` NULL: there is none. */
cJSON *schema_property(struct schema_object *object, const struct field *field, const char *type);

/* Adds a keyword with a number, unless the rules have it. */
void schema_limit(cJSON *property, const char *keyword, double number);

/* Adds the keys of these fields. */
void schema_fields(struct schema_object *object, const struct fields *fields);

/* Makes a schema one of an object with these fields. */
void schema_fill(cJSON *schema, const struct fields *fields);

/* The schema of a document. The caller deletes it; see json_add. */
cJSON *document_schema(const struct document *document);

/* For the kinds of field.h. */
void schema_text(struct schema_object *object, const struct field *field);
void schema_words(struct schema_object *object, const struct field *field);
void schema_texts(struct schema_object *object, const struct field *field);
void schema_integer(struct schema_object *object, const struct field *field);
void schema_integer64(struct schema_object *object, const struct field *field);
void schema_number(struct schema_object *object, const struct field *field);
void schema_numbers(struct schema_object *object, const struct field *field);
void schema_bool(struct schema_object *object, const struct field *field);
void schema_name(struct schema_object *object, const struct field *field);
void schema_bits(struct schema_object *object, const struct field *field);
void schema_of_object(struct schema_object *object, const struct field *field);
void schema_pointer(struct schema_object *object, const struct field *field);
void schema_list(struct schema_object *object, const struct field *field);
void schema_map(struct schema_object *object, const struct field *field);
