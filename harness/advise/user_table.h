/* SPDX-License-Identifier: MIT
 * Verdicts on the tables of a user's kernel: whether each should live where it does. */
#pragma once

#include "card.h"
#include "user_code.h"

/* The counts of a warp's load of the table that the user described, which stand for loads whose
 * index is data. */
struct user_indices {
    double addresses, wavefronts; /* of a warp's load, in the mean */
    uint32_t table_bytes;
    bool of_threads; /* a pattern or a file: they also stand for loads that arguments decide */
};

/* Finds the tables of each kernel and judges them. The loads in the deepest loop count, each
 * instruction once. For a load with N distinct addresses, constant memory takes N times
 * `constant_address_cycles` of the card, and shared memory its wavefronts over
 * `shared_wavefronts_per_cycle`. The ratio is of these units' busy times. Its interval has the
 * error of the simple model; it has no upper end where the table is larger than the L1 constant
 * cache. A launch gains less where something else bounds it. `indices`: NULL where the user
 * described none. STATUS_ENVIRONMENT, logged, when out of memory. */
enum status user_tables_judge(struct user_code *code, const struct card *card,
                              const struct user_indices *indices);

/* A load of the largest table in constant memory whose size is known, of those whose index is not
 * proven if there are any; NULL: there is none. */
const struct user_access *user_code_largest(const struct user_code *code);

/* Whether the unit of any table is busy longer than that of a better space by more than a share:
 * 0.1 is 10 %. The lower end of the interval counts. */
bool user_tables_gain(const struct user_code *code, double share);

/* Prints the tables of a kernel with their verdicts; nothing if it has none. STATUS_ENVIRONMENT
 * when out of memory. */
enum status user_tables_print(FILE *stream, const struct cubin_kernel *kernel,
                              const struct print_style *look);

/* The list of tables in the document of a kernel. */
extern const struct objects user_tables_list;
