/* SPDX-License-Identifier: MIT
 * Fields: a struct and a JSON object that say the same, by one table. Writing and reading both follow the table, so
 * that a key is added in one place. A field is a row: its key, its kind, where its member lies in the struct, when it
 * may be empty, and limits. A kind is a pair of functions; a room with a thing of its own writes a kind for it. */
#ifndef CBANK_FIELD_H
#define CBANK_FIELD_H

#include <stdbool.h>
#include <stddef.h>

#include "json.h"
#include "node.h"

struct field;

/* How a member is written and read. */
struct field_kind {
    /* Adds the member of the struct at base to the object. */
    void (*write)(cJSON *object, const struct field *field, const void *base);
    /* Sets the member from the node's member of that key. NULL: it follows from others, and is not read. */
    void (*read)(const struct node *node, const struct field *field, void *base);
};

/* The value of a key whose member is empty: "", 0, NaN, NULL, no elements. */
enum presence {
    REQUIRED, /* nothing does: the key is there and not null; "" and 0 are values like others */
    NULLABLE, /* null */
    LATER,    /* null is written; older files may lack the key */
    OMITTED,  /* the key is left out */
};

struct field {
    const char *key;
    const struct field_kind *kind;
    enum presence presence;
    size_t offset; /* of the member */
    size_t bytes;  /* of the member */
    double low, high; /* limits of a number; none where both are 0 */
    const void *of; /* what the kind needs to know: names, a table, fields of an object */
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

extern const struct field_kind field_text;      /* char array; read without control characters */
extern const struct field_kind field_reference; /* const char *: text of the file's tree */
extern const struct field_kind field_words; /* char array of FIELD_WORDS_BYTES at most: words with blanks between, as an
                                              array; empty where the key is not there */
extern const struct field_kind field_uint32;
extern const struct field_kind field_uint64;
extern const struct field_kind field_number; /* double */
extern const struct field_kind field_bool;
extern const struct field_kind field_name; /* enum (int): of is struct names */
extern const struct field_kind field_bits; /* uint32_t, a set of bits, as an array of their names: of is struct names */
extern const struct field_kind field_row; /* const void *, a row of a table by its name: of is struct table */
extern const struct field_kind field_numbers; /* struct numbers, as an array on one line */
extern const struct field_kind field_object; /* struct, as an object: of is struct object */
extern const struct field_kind field_pointer; /* pointer to a struct, as an object, or without a key as members of the
                                                object itself: of is struct fields; null for NULL; not read */
extern const struct field_kind field_array; /* array of structs, as far as it is filled: of is struct objects */
extern const struct field_kind field_list; /* pointer to owned elements, as an array of objects: of is struct objects */
extern const struct field_kind field_map; /* the same as an object, the key of each being a member of its own */

enum { FIELD_WORDS_BYTES = 256 };

/* Numbers that a struct owns. */
struct numbers {
    double *values; /* owned; NULL without any */
    size_t count;
};

/* Words that stand for the values of an enum, or for bits. */
struct names {
    const char *const *names; /* by value; NULL: no word, which is null in the file */
    size_t count;
    const char *expected; /* for messages: "ok, skipped or failed" */
};

#define NAMES(array, count, expected) {(array), (count), (expected)}

/* An object within an object. Its fields are offsets from the member. */
struct object {
    struct fields fields;
    size_t given; /* offset, from the base of the outer struct, of a bool that says whether there is one: null in the
                     file where it is false; SIZE_MAX: there always is */
    /* Looks at what was read, all of it; NULL: nothing to look at. */
    void (*check)(const struct node *node, void *member);
};

/* An array of objects. */
struct objects {
    struct fields fields;
    size_t element_bytes;
    size_t count; /* offset, from the base of the outer struct, of a size_t: how many elements there are */
    size_t max; /* most that are read; at least the field's low have to be there */
    bool line; /* each goes on one line of the file */
    size_t key; /* field_map: offset, within an element, of a const char *: its key */
    void (*check)(const struct node *node, void *element); /* after; NULL: nothing to look at */
};

/* Initializer of objects that are not read: elements of a type; the outer struct's member count_ says how many. */
#define OBJECTS_OF(array, type, outer, count_) \
    {.fields = FIELDS(array), .element_bytes = sizeof(type), .count = offsetof(outer, count_)}

/* Adds the fields of the struct at base to an object. */
void fields_write(cJSON *object, const struct fields *fields, const void *base);

/* Reads the fields into the struct at base, which is zeroed or as a caller prepared it. */
void fields_read(const struct node *node, const struct fields *fields, void *base);

#endif
