/* SPDX-License-Identifier: MIT
 * Documents: JSON files with a schema's name and version, by a table of fields. Results, cards, calibrations,
 * characterizations, comparisons and explanations are documents. */
#ifndef CBANK_DOCUMENT_H
#define CBANK_DOCUMENT_H

#include <stddef.h>
#include <stdint.h>

#include "field.h"
#include "status.h"

struct document {
    const char *schema; /* its schema.name: "cbank-result" */
    const char *what; /* for messages: "result" */
    const char *remedy; /* for messages: "take a file that cbank run wrote" */
    uint32_t major, minor; /* of the version that is written; the major is the one that is read */
    struct object root;
};

/* The document of the struct at base as JSON: schema, then its fields. The caller's to delete; unprintable, see
 * json_add, when memory ran out. */
cJSON *document_to_json(const struct document *document, const void *base);

/* Writes it to a file, which is replaced as a whole, or with "-" to stdout. */
enum status document_write(const struct document *document, const void *base, const char *path);

/* Reads a file, or text in memory that `name` is of, into the struct at base. STATUS_USAGE, with file, place and
 * what was expected, for what is not such a document or not of a version that is read. *tree has to be NULL before;
 * strings of the struct may lie in it. The caller deletes it and releases what the struct owns, on failure too. */
enum status document_read(const struct document *document, const char *path, void *base, cJSON **tree);
enum status document_parse(const struct document *document, const char *name, const char *text, size_t bytes,
                           void *base, cJSON **tree);

/* Reads a tree that was parsed already; it stays the caller's. */
enum status document_take(const struct document *document, const char *name, const cJSON *tree, void *base);

#endif
