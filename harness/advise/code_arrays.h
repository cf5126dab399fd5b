/* SPDX-License-Identifier: MIT
 * The small arrays of a file that became compares, each told once: see user_compares.c. */
#pragma once

#include "code_groups.h"

/* An array by its line: of one line, size and memory, in the instances of a template. */
struct compared_row {
    const struct compared_array *array; /* the first */
    size_t group, kernels, places; /* places: in the code of the first kernel */
};

struct compared_rows {
    struct compared_row *rows; /* owned; by template, then by line */
    size_t count;
};

/* STATUS_ENVIRONMENT, logged, when out of memory. On success the caller closes *out. */
enum status compared_rows_open(const struct user_code *code, const struct kernel_groups *groups,
                               struct compared_rows *out);

/* Prints `most` of them at most. */
void compared_rows_print(FILE *stream, const struct compared_rows *rows,
                         const struct kernel_groups *groups, size_t most,
                         const struct print_style *look);

/* Releases; accepts a zeroed struct. */
void compared_rows_close(struct compared_rows *rows);
