/* SPDX-License-Identifier: MIT
 * Reading a JSON file strictly: where a value is, what is wrong with it. Reading stops to say anything after the first
 * error: it goes on to no effect, and what was read means nothing. */
#ifndef CBANK_NODE_H
#define CBANK_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"
#include "status.h"

/* A file that is being read. */
struct reader {
    const char *file;      /* what messages call it */
    enum status status;    /* not OK after the first error */
};

/* An object or array of the file. It refers to the node that it is in, which must outlive it. */
struct node {
    struct reader *reader;
    const cJSON *json; /* NULL after an error */
    const cJSON *member; /* that was found last, near which the next one is; NULL: none */
    const char *key; /* that was asked for last, and what was found of it */
    const cJSON *found;
    struct json_place place;
};

/* Finds the member `key` and notes it in the node, by this very text: members that are asked for in their order are found at
 * once. */
void node_find(struct node *node, const char *key);

/* The member `key`, at once where node_find noted it; NULL where there is none. */
const cJSON *node_get(const struct node *node, const char *key);

/* Whether something was wrong before. */
bool node_failed(const struct node *node);

/* Says what is wrong with the node, or with its member `key`. */
__attribute__((format(printf, 2, 3))) void node_wrong(const struct node *node, const char *format, ...);
__attribute__((format(printf, 3, 4))) void node_wrong_member(const struct node *node, const char *key,
                                                             const char *format, ...);

/* Says that the member `key` is not what was expected, and what it is. */
void node_refuse(const struct node *node, const char *key, const char *expected);

/* Says that memory ran out: STATUS_ENVIRONMENT. */
void node_out_of_memory(const struct node *node);

/* The member `key`, an object or an array; its json is NULL, and that was said, when it is another thing. */
struct node node_object(const struct node *node, const char *key);
struct node node_array(const struct node *node, const char *key);

/* `item`, number `index` of an array or object of objects. */
struct node node_element(const struct node *node, const cJSON *item, size_t index);

/* The integer of the member `key`, from low to high; low after an error. */
uint64_t node_integer(const struct node *node, const char *key, uint64_t low, uint64_t high);

/* The text of the member `key`, which lives as long as the file's tree; NULL after an error, and where it is null or
 * absent if that may be. */
const char *node_text(const struct node *node, const char *key, bool required);

#endif
