/* SPDX-License-Identifier: MIT
 * Cells of users' kernels. Their rows are of their own, as the case of the kernel file says the
 * rest. */
#pragma once

#include "cell.h"

/* "kernel": it has no shape, so no function of workload.h takes it */
extern const struct workload user_workload;
extern const struct pattern user_pattern;   /* "own" */

/* Whether the cell is of a user's kernel. */
bool cell_is_user(const struct cell *cell);

/* The name of the cell's workload, or of its user's kernel. It lies in the cell. */
const char *cell_workload_name(const struct cell *cell);

/* The path of a user's kernel whose tables have these memory spaces, as struct user_kernel has
 * them: the one in paths.def where it has that name, or "mixed" for several. NULL: a memory space
 * is not known. */
const struct path *user_path(const char *spaces);

/* Writes the memory space of a table. False, with "", if the kernel's spaces do not say it: the
 * file does. */
bool user_table_space(const struct user_kernel *kernel, const char *name,
                      char out[USER_KERNEL_NAME_BYTES]);

/* The cell of a user's kernel with a size of its case. `spaces` of the kernel are known. */
struct cell user_cell(const struct user_kernel *kernel, uint64_t size,
                      const struct cache_state *cache_state);

/* Order of the paths of two such cells: by memory space, then by those of single tables. */
int user_path_order(const struct cell *a, const struct cell *b);
