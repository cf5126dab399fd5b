/* SPDX-License-Identifier: MIT
 * Documents: JSON files with a schema's name and version, described by a table of fields. Results,
 * cards, calibrations, characterizations, comparisons and explanations are documents. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "field.h"
#include "status.h"

struct document {
    const char *schema; /* its schema.name: "cbank-result" */
    const char *what; /* for messages: "result" */
    const char *remedy; /* for messages: "take a file that cbank run wrote" */
    const char *about; /* the description in its schema */
    uint32_t major, minor; /* version that is written; files with this major version are read */
    struct object root;
};

/* The document of the struct at base as JSON: schema, then its fields. The caller deletes it. If
 * memory ran out, it cannot be printed (see json_add). */
cJSON *document_to_json(const struct document *document, const void *base);

/* Writes it to a file, which is replaced as a whole, or to stdout for "-". */
enum status document_write(const struct document *document, const void *base, const char *path);

/* Reads text in memory called `name`, or without text a file, into the struct at base.
 * STATUS_USAGE, logged with file, path and expectation, if it is not such a document or has another
 * version. *tree must be NULL before; strings of the struct may lie in it. The caller frees it by
 * json_free and releases the struct's memory, even on failure. */
enum status document_parse(const struct document *document, const char *name, const char *text,
                           size_t bytes, void *base, cJSON **tree);
#define document_read(document, path, base, tree) \
    document_parse(document, path, NULL, 0, base, tree)

/* Reads a tree that was parsed already; the caller keeps it. */
enum status document_take(const struct document *document, const char *name, const cJSON *tree,
                          void *base);
