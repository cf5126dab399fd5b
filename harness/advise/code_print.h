/* SPDX-License-Identifier: MIT
 * The kernels of a file as a text that is read: a summary, the tables, then the loads. */
#pragma once

#include "card.h"
#include "user_code.h"

/* Prints the answer. card: the tables were judged by it; cycles are its own. The loads, and tables
 * that are as they should be, are printed for one kernel or the instances of one template; for
 * more, where `all` is set. STATUS_ENVIRONMENT, logged, when out of memory. */
enum status user_code_print(FILE *stream, const struct user_code *code, const struct card *card,
                            bool all, const struct print_style *look);

/* STATUS_FINDING, logged with the tables, if there is a table that is faster elsewhere by more than
 * a share: 0.1 is 10 %. The lower end of the interval counts. STATUS_ENVIRONMENT, logged, when out
 * of memory. */
enum status user_code_fail(const struct user_code *code, const struct card *card, double share);
