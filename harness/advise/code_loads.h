/* SPDX-License-Identifier: MIT
 * The loads of kernels as text. */
#pragma once

#include "code_groups.h"

/* Prints the loads of each kernel; those of instances of one template that have the same loads,
 * once. Then it prints what the kinds of loads are. STATUS_ENVIRONMENT, logged, when out of
 * memory. */
enum status code_loads_print(FILE *stream, const struct user_code *code,
                             const struct kernel_groups *groups,
                             const struct conditions *conditions, const struct print_style *look);

/* Loads that are alike, for people. */
struct access_row {
    uint32_t count;
    char line[96]; /* "LDC, k.cu:12" */
    char table[128];
    char varies[160];
};

/* Whether two rows are of loads that are alike. */
bool access_rows_are_alike(const struct access_row *a, const struct access_row *b);

/* Makes the rows of a kernel's loads; without their lines where `lines` is false. Without
 * `conditions` they are to be compared with another file's: no marks, no offsets of shared memory.
 * The caller frees *rows. STATUS_ENVIRONMENT, logged, when out of memory. */
enum status access_rows(const struct cubin_kernel *kernel, const struct conditions *conditions,
                        bool lines, struct access_row **rows, size_t *count);
