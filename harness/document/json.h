/* SPDX-License-Identifier: MIT
 * Strict reading and exact writing of JSON over cJSON.
 *
 * cJSON by itself accepts trailing text, duplicate keys, control characters, bytes that are not
 * UTF-8 and numbers such as 01. It compares keys without case and loses digits. These functions
 * avoid all of this. All JSON that cbank reads or writes goes through here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "status.h"

/* The deepest nesting, the largest file and the largest number of values that are read. The tree of
 * a text within these limits takes less than 256 MiB. */
#define JSON_DEPTH_MAX      64
#define JSON_FILE_BYTES_MAX ((size_t)64 << 20)
#define JSON_VALUES_MAX     2000000

/* Parses text in memory, which messages call `name` and which needs no NUL at its end. For NULL,
 * the file of that name is read. STATUS_USAGE, logged, for a file that cannot be read or is larger
 * than JSON_FILE_BYTES_MAX, and for text that is not JSON (RFC 8259, UTF-8). The message has the
 * line and column, or the key. Other JSON within the limits is accepted, except numbers beyond the
 * range of a double and objects with duplicate keys. STATUS_ENVIRONMENT when out of memory. Control
 * characters in keys and strings become '?' in the tree, so that no command sends them to a
 * terminal. *out is only for reading; the caller frees it by json_free. It is NULL on an error. */
enum status json_parse(const char *name, const char *text, size_t bytes, cJSON **out);
#define json_read_file(path, out) json_parse(path, NULL, 0, out)

/* Frees a tree that was read; accepts NULL. This tree is one block of memory: never give it or a
 * part of it to cJSON_Delete. */
void json_free(cJSON *tree);

/* The path of a value in a file, from the outermost value, whose parent is NULL. */
struct json_path {
    const struct json_path *parent;
    const char *key; /* of a member; NULL for an element of an array, which has an index */
    size_t index;
};

enum { JSON_PATH_BYTES = 256 };

/* Writes the path, "cells[3].time_ns", as far as there is room; "" for the outermost value. */
void json_path_text(const struct json_path *path, char *out, size_t room);

/* Prints a cJSON value as indented text with a newline at the end. STATUS_ENVIRONMENT, logged, when
 * memory ran out, here or when a member was added. It is a file_writer of files.h. */
enum status json_put(FILE *stream, const void *value);

/* Like json_put; then deletes the value. */
enum status json_put_owned(FILE *stream, cJSON *value);

/* Adds item, which the object, or with key NULL the array, then owns, and returns it. If memory ran
 * out (item may be NULL for that), the item is released and NULL is returned. The object can then
 * no longer be printed: json_put reports it, and a file never silently lacks a member. A NULL
 * object is accepted. The same holds for the json_add_ functions below. */
cJSON *json_add(cJSON *object, const char *key, cJSON *item);
#define json_append(array, item) json_add(array, NULL, item)

/* Adds a number with 17 significant digits; null when it is not finite. */
void json_add_double(cJSON *object, const char *key, double value);

/* An array of such numbers on one line, only for printing. The caller owns it; NULL when out of
 * memory. */
cJSON *json_doubles(const double *values, size_t count);

/* Takes a value and returns it on one line, only for printing. The caller owns it; NULL when out of
 * memory. */
cJSON *json_line(cJSON *value);

/* Adds an integer: a number up to 2^53, a decimal string above. */
void json_add_integer(cJSON *object, const char *key, uint64_t value);

/* Adds a string, or null for NULL. Characters that are not printable, see text_clean, become
 * '?'. */
void json_add_text(cJSON *object, const char *key, const char *value);

/* Sets *out to the integer of an item, in both forms that json_add_integer writes. False for
 * fractions, signs, numbers beyond 2^64 - 1 and other kinds; the item may be NULL. */
bool json_integer(const cJSON *item, uint64_t *out);

/* The member of that exact key; NULL when absent. */
const cJSON *json_get(const cJSON *object, const char *key);

/* The kind of an item, for a message: "null", "this number"; "missing" for NULL. */
const char *json_kind(const cJSON *item);
