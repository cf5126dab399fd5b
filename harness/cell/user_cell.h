/* SPDX-License-Identifier: MIT
 * Cells of users' kernels. Their rows are of their own, as the case of the kernel file says the
 * rest. */
#pragma once

#include "cell.h"

/* "kernel": it has no shape, so no function of workload.h takes it */
extern const struct workload user_workload;
extern const struct pattern user_pattern;   /* "own" */

/* Where a cell comes from, and what differs with it: the one place that tells a user's kernel, and
 * a launch without a table, from the other workloads of this program. */
enum cell_origin_number { CELL_OF_WORKLOAD, CELL_OF_LAUNCH, CELL_OF_FILE, CELL_ORIGIN_COUNT };

struct cell_origin {
    enum cell_origin_number number; /* of tables in other rooms */
    bool
        compiled; /* its code is built from a kernel file, which may be missing, and may be wrong */
    bool
        tables; /* it reads a table of the program, by a path of paths.def: its loads are counted */
    const char *unmodelled; /* what the engine model has no model of; NULL where it has one */
    enum cell_axis table_end; /* cells that are equal before it share a table of times */
    const char *checked_by; /* " against the CPU", or "" where each cell says it */
    /* where to look when it ended a run, and what --resume then does with failed cells */
    const char *look, *again;

    /* See cell_obstacle; NULL: there is none. */
    bool (*obstacle)(const struct cell *cell, uint32_t architecture, char text[CELL_REASON_BYTES]);
};

const struct cell_origin *cell_origin(const struct cell *cell);

/* Bytes of the cell's table, and of one entry. 0: there is none, or a kernel file says them. */
uint32_t cell_table_bytes(const struct cell *cell);
uint32_t cell_table_width(const struct cell *cell);

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

/* Order of the workloads of two cells: users' kernels come last, by name and hash. */
int workload_order(const struct cell *a, const struct cell *b);

/* Order of the paths of two cells: by memory space, then by those of single tables. */
int path_order(const struct cell *a, const struct cell *b);
