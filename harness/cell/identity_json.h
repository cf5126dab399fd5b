/* SPDX-License-Identifier: MIT
 * The keys that results, calibrations and comparisons share: which cell, and which cbank wrote it. */
#ifndef CBANK_IDENTITY_JSON_H
#define CBANK_IDENTITY_JSON_H

#include <stdbool.h>

#include "cell.h"
#include "json.h"
#include "text.h"

/* Adds what cell_equal compares: workload, path, pattern, elements, block_size, regime, and in the object `parameters`
 * those that the cell takes. Then what follows from it: array_bytes, the size of the path's table. */
void json_add_identity(cJSON *object, const struct cell *cell);

/* What is wrong with an identity in a file: the member, "regime" or "parameters.distinct", and what is said of it. */
struct identity_fault {
    char key[TEXT_SHOWN_BYTES + 16];
    char text[192];
};

/* Reads what json_add_identity wrote; an absent `parameters` is an empty one, as in files of schema version 1.0. False
 * with *fault, and then *out is of no use: a name that this build does not have, a value that cannot be, a parameter
 * that the cell does not take or lacks. */
bool json_get_identity(const cJSON *object, struct cell *out, struct identity_fault *fault);

/* Adds the object `tool` to root with name, version, git_commit and git_dirty of this program. It belongs to
 * root; a caller may add to it. NULL when out of memory, as json_add. */
cJSON *json_add_tool(cJSON *root);

#endif
