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

/* The list of tables in the document of a kernel. */
extern const struct objects user_tables_list;
