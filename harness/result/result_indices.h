/* SPDX-License-Identifier: MIT
 * The indices that cells of a result read. */
#pragma once

#include "index_list.h"
#include "result.h"

/* Gives all cells that are not skipped the indices that their lookups read, in a list that must
 * outlive the result. `file` is the path for cells that have none. STATUS_ENVIRONMENT, logged, if
 * an earlier process read different ones; otherwise the errors of index_list.h. */
enum status result_give_indices(struct result *result, struct index_list *list, const char *file);

/* The same of one cell, whose array is made alone. *out is the array, NULL for a cell without
 * indices, or one that is skipped now as its table is too small for a file. */
enum status result_give_cell(struct result *result, size_t index, struct index_list *list,
                             const char *file, const struct index_array **out);
