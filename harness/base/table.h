/* SPDX-License-Identifier: MIT
 * Tables: arrays of rows that begin with their name. Finding and selecting rows is written once for
 * all of them. */
#pragma once

#include <stddef.h>

#include "status.h"

/* How many rows an array has. */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A table: *count rows of row_bytes bytes, each beginning with `const char *name`. */
struct table {
    const char *what; /* a noun for a row, for messages: "pattern" */
    const void *rows;
    size_t row_bytes;
    const size_t *count;
    const char *also; /* a word that is valid beside the names; NULL: none */
};

/* Initializer of the table of an array whose rows begin with their name. */
#define TABLE(what, array, count) {(what), (array), sizeof((array)[0]), &(count), NULL}

/* Selected rows of a table, in the order of selection, each once. */
struct selection {
    const void **rows; /* owned array; the rows are not owned */
    size_t count;
};

/* Row `index`. */
const void *table_row(const struct table *table, size_t index);

/* The row with exactly that name; NULL if there is none. */
const void *table_find(const struct table *table, const char *name);

/* Logs that `name` is not in the table, with all valid names. Returns STATUS_USAGE. */
enum status table_unknown(const struct table *table, const char *name);

/* Selects the rows of a comma-separated list; "all" selects every row. Names given twice count
 * once. STATUS_USAGE, logged, for an unknown or empty name. On success the caller closes *out. */
enum status table_select(const struct table *table, const char *list, struct selection *out);

/* Releases; accepts a zeroed struct. */
void selection_close(struct selection *selection);
