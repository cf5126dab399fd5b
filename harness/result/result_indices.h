/* SPDX-License-Identifier: MIT
 * The indices that cells of a result read. */
#ifndef CBANK_RESULT_INDICES_H
#define CBANK_RESULT_INDICES_H

#include "index_list.h"
#include "result.h"

/* Gives all cells that are not skipped the indices that their lookups read, in a list that has to outlive the result. `file`:
 * the path where a cell has none. STATUS_ENVIRONMENT, logged, where they are not those that an earlier process read;
 * else as index_list.h says. */
enum status result_give_indices(struct result *result, struct index_list *list, const char *file);

#endif
