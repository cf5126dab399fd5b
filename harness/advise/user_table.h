/* SPDX-License-Identifier: MIT
 * Verdicts on the tables of a user's kernel: whether each should live where it does. */
#pragma once

#include "table_verdict.h"

/* Finds the tables of each kernel and judges them: see table_verdict.h. `indices`: NULL where the
 * user described none. STATUS_ENVIRONMENT, logged, when out of memory. */
enum status user_tables_judge(struct user_code *code, const struct card *card,
                              const struct user_indices *indices);

/* A load of the largest table in a memory whose size is known, of those whose index is not proven
 * if there are any; NULL: there is none. */
const struct user_access *user_code_largest(const struct user_code *code, const char *memory);

/* Whether any table is `faster elsewhere`, and its unit busy longer than that of the better space
 * by more than a share: 0.1 is 10 %. The lower end of the interval counts. */
bool user_tables_gain(const struct user_code *code, double share);

/* Prints the tables of a kernel with their verdicts; nothing if it has none. STATUS_ENVIRONMENT
 * when out of memory. */
enum status user_tables_print(FILE *stream, const struct cubin_kernel *kernel,
                              const struct print_style *look);

/* The list of tables in the document of a kernel. */
extern const struct objects user_tables_list;
