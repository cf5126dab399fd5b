/* SPDX-License-Identifier: MIT
 * The keys that results, calibrations and comparisons share: which cell, and which cbank wrote it. */
#ifndef CBANK_IDENTITY_JSON_H
#define CBANK_IDENTITY_JSON_H

#include "cell.h"
#include "json.h"

/* Adds what cell_equal compares: workload, path, pattern, elements, block_size, regime. */
void json_add_identity(cJSON *object, const struct cell *cell);

/* Adds the object `tool` to root with name, version, git_commit and git_dirty of this program. It belongs to
 * root; a caller may add to it. NULL when out of memory, as json_add. */
cJSON *json_add_tool(cJSON *root);

#endif
