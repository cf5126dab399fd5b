/* SPDX-License-Identifier: MIT
 * Strict reading of a JSON file: the path of each value, and the errors. After the first error
 * nothing more is logged: reading goes on without effect, and the values read mean nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"
#include "status.h"

/* A file that is being read. */
struct reader {
    const char *file;      /* its name in messages */
    enum status status;    /* not OK after the first error */
};

/* An object or array of the file. It refers to the node that it is in, which must outlive it. */
struct node {
    struct reader *reader;
    const cJSON *json; /* NULL after an error */
    struct json_path path;
};

/* The member `key`; NULL if there is none. */
const cJSON *node_get(const struct node *node, const char *key);

/* Whether there was an error. */
bool node_failed(const struct node *node);

/* Reports an error of the node's member `key`, or with NULL of the node itself. */
__attribute__((format(printf, 3, 4))) void
node_wrong_member(const struct node *node, const char *key, const char *format, ...);
#define node_wrong(node, ...) node_wrong_member(node, NULL, __VA_ARGS__)

/* Logs that the member `key` is not the expected one, and its actual kind. */
void node_refuse(const struct node *node, const char *key, const char *expected);

/* The member `key`, an object or an array. If it is something else, this is logged and its json is
 * NULL. */
struct node node_object(const struct node *node, const char *key);
struct node node_array(const struct node *node, const char *key);

/* The node of `item`, number `index` of an array or of an object of objects. */
struct node node_element(const struct node *node, const cJSON *item, size_t index);

/* The integer of the member `key`, from low to high; low after an error. */
uint64_t node_integer(const struct node *node, const char *key, uint64_t low, uint64_t high);

/* The text of the member `key`, which lives as long as the file's tree. NULL after an error, and if
 * it is null or absent and not required. */
const char *node_text(const struct node *node, const char *key, bool required);
