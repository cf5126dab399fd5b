/* SPDX-License-Identifier: MIT
 * A JSON file as a tree that is read alone: its values lie in one piece of memory and its text in another, so that many
 * files are read fast. json_parse gives a copy of such a tree that can be changed. */
#ifndef CBANK_JSON_TREE_H
#define CBANK_JSON_TREE_H

#include "json.h"

struct json_tree;

/* As json_read_file and json_parse, with the same errors. The caller closes *out, which is NULL on an error. */
enum status json_tree_read(const char *path, struct json_tree **out);
enum status json_tree_parse(const char *name, const char *text, size_t bytes, struct json_tree **out);

/* The outermost value. It and all in it are the tree's, and are not changed. */
const cJSON *json_tree_root(const struct json_tree *tree);

/* Releases; NULL is accepted. */
void json_tree_close(struct json_tree *tree);

#endif
