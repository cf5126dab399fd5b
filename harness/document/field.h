/* SPDX-License-Identifier: MIT
 * Fields: one table describes a struct and the JSON object with the same content. Writing and
 * reading both follow the table, so a key is added in one place. A field is a row: its key, its
 * kind, the offset of its member, when the member may be empty, and limits. Other rooms add kinds,
 * as pairs of functions, for their own types. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "grid.h"
#include "json.h"
#include "node.h"

struct field;
struct fields;
struct keyed_texts;
struct names;
struct object;
struct objects;
struct schema_object;
struct table;

/* How to write and read a member. Without one of both, that is left out. */
struct field_kind {
    /* Adds the member of the struct at base to the object. */
    void (*write)(cJSON *object, const struct field *field, const void *base);
    /* Sets the member from the node's member of that key. NULL: the value follows from others, and
     * is not read. */
    void (*read)(const struct node *node, const struct field *field, void *base);
    /* Adds what JSON Schema says of the key, or of the keys that `write` adds (schema.h). NULL: the
     * field's rules say all. */
    void (*schema)(struct schema_object *object, const struct field *field);
    /* The value in a grid, of a column with a `member`. NULL: no column shows it. */
    void (*value)(const struct grid_column *column, const void *row, struct grid_value *out);
};

/* How grids show a value: the same row gives the column of text, CSV and the DataFrame. */
struct field_column {
    const char *heading; /* in text */
    const char *key; /* in CSV, with its unit; NULL: the field's */
    /* in the DataFrame of the analysis, of an object its value; NULL: as in CSV */
    const char *frame;
    grid_format *format; /* NULL: text */
    unsigned views; /* a set of bits: the tables that have it */
    unsigned place; /* columns stand in this order */
    unsigned rank; /* see struct grid_column */
    bool head, below; /* see there */
    const char *legend; /* what it means, below tables; NULL: it needs no explanation */
};

#define COLUMN(...)              \
    &(const struct field_column) \
    {                            \
        __VA_ARGS__              \
    }

/* The JSON for an empty member, which is "", 0, NaN, NULL, not known or has no elements. */
enum presence {
    REQUIRED, /* none: the key is there and not null; "" and 0 are ordinary values */
    NULLABLE, /* null */
    LATER, /* null is written; older files may lack the key */
    OMITTED, /* the key is left out */
};

struct field {
    const char *key;
    const struct field_kind *kind;
    enum presence presence;
    size_t offset; /* of the member */
    size_t bytes; /* of the member */
    double low, high; /* limits of a number; none if both are 0 */
    /* what the kind needs to know, in the member that its comment below names */
    union {
        const struct names *names;
        const struct table *table;
        const struct keyed_texts *texts;
        const struct object *object;
        const struct objects *elements;
        const struct fields *fields;
    };
    const char *about; /* its description in the schema; NULL: the key says it */
    /* what the schema has of it beside that, as members of a JSON object: PATTERN and others of
     * schema.h; NULL: what the kind says is all */
    const char *rules;
    const struct field_column *column; /* NULL: no grid has it */
};

#define FIELD(kind_, type, key_, member, presence_)                                         \
    .key = key_, .kind = &(kind_), .presence = presence_, .offset = offsetof(type, member), \
    .bytes = sizeof(((type *)0)->member)

/* Fields of a struct, or of an object that lies within it. */
struct fields {
    const struct field *rows;
    size_t count;
};

#define FIELDS(array) {(array), sizeof(array) / sizeof((array)[0])}

/* The kinds of field.c, and the member that each describes. */
extern const struct field_kind field_text; /* char array; read without control characters */
extern const struct field_kind field_reference; /* const char *: text of the file's tree */
/* char array of FIELD_WORDS_BYTES at most: words with blanks between, as an array */
extern const struct field_kind field_words;
extern const struct field_kind field_word_list; /* const char *: the same; it is only written */
/* array of const char *, as an object of those that are not NULL: `texts` has the keys */
extern const struct field_kind field_texts;
extern const struct field_kind field_uint32;
extern const struct field_kind field_uint64;
extern const struct field_kind field_optional; /* struct optional */
extern const struct field_kind field_number; /* double; NaN is empty */
extern const struct field_kind field_numbers; /* struct numbers, as an array on one line */
extern const struct field_kind field_bool;
extern const struct field_kind field_state; /* struct optional: 1 is true, 0 false */
extern const struct field_kind field_name; /* enum (int): `names` has the words */
/* uint32_t, a set of bits, as an array of their names: `names` has them */
extern const struct field_kind field_bits;
/* const void *, a row of `table` by its name */
extern const struct field_kind field_row;
extern const struct field_kind field_object; /* struct, as an object: `object` */
/* pointer to a struct, as an object, or without a key as members of the object itself: `fields`;
 * it is only written */
extern const struct field_kind field_pointer;
/* array of structs, as far as it is filled: `elements` */
extern const struct field_kind field_array;
/* pointer to owned elements, as an array of objects: `elements` */
extern const struct field_kind field_list;
/* the same as an object; the key of each is one of its members */
extern const struct field_kind field_map;

enum { FIELD_WORDS_BYTES = 256 };

/* Numbers that a struct owns. */
struct numbers {
    double *values; /* owned; NULL without any */
    size_t count;
};

/* Words that stand for the values of an enum, or for bits. */
struct names {
    const char *const *names; /* by value; NULL: no word, null in the file */
    size_t count;
    const char *expected; /* for messages: "ok, skipped or failed" */
};

/* Texts by keys. */
struct keyed_texts {
    const char *const *keys;
    /* the same in every document, and not read; NULL: they are the member */
    const char *const *texts;
    size_t count;
};

#define NAMES(array, count, expected) {(array), (count), (expected)}

/* An object within an object. Its fields are offsets from the member. */
struct object {
    struct fields fields;
    size_t given; /* offset, in the outer struct, of a bool: whether the object exists; null in the
                     file if it does not; SIZE_MAX: it always exists */
    /* Checks the member after reading; NULL: no check. */
    void (*check)(const struct node *node, void *member);
};

/* An array of objects. */
struct objects {
    struct fields fields;
    size_t element_bytes;
    size_t count; /* offset, in the outer struct, of a size_t: the number of elements */
    size_t max; /* largest number read; the field's low is the least */
    bool line; /* each goes on one line of the file */
    bool closed; /* they have no other keys; else a reader passes over those it does not know */
    size_t key; /* field_map: offset, within an element, of a const char *: its key */
    /* called after reading; NULL: no check */
    void (*check)(const struct node *node, void *element);
};

/* Initializers: elements of a type; the outer struct's member count_ is their number. The second is
 * for objects that are not read, the first for those with more members. */
#define OBJECTS(array, type, outer, count_) \
    .fields = FIELDS(array), .element_bytes = sizeof(type), .count = offsetof(outer, count_)
#define OBJECTS_OF(array, type, outer, count_) {OBJECTS(array, type, outer, count_)}

/* The column of a field that has one. Its member, which it sets, is one of the row: where the row
 * is another struct, the caller says where the member lies. */
struct grid_column field_grid_column(const struct field *field, struct grid_member *member);

/* A grid of structs: the columns of their fields, and what these read. */
enum { FIELD_COLUMNS_MAX = 16 };

struct field_columns {
    struct grid_column columns[FIELD_COLUMNS_MAX];
    struct grid_member members[FIELD_COLUMNS_MAX];
};

/* A grid of `count` elements of a list, with the columns of its fields that have a heading. Their
 * number is FIELD_COLUMNS_MAX at most. */
struct grid field_grid(const struct objects *list, const void *elements, size_t count,
                       struct field_columns *out);

/* Adds the fields of the struct at base to an object. */
void fields_write(cJSON *object, const struct fields *fields, const void *base);

/* Reads a field, or all, into the struct at base, which is zeroed or prepared by the caller. */
void field_read(const struct node *node, const struct field *field, void *base);
void fields_read(const struct node *node, const struct fields *fields, void *base);
