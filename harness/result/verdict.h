/* SPDX-License-Identifier: MIT
 * What a result finds: whether counters are as expected, and how grave what its cells say is. */
#ifndef CBANK_VERDICT_H
#define CBANK_VERDICT_H

#include "result.h"

/* Exact counters of a cell, or of all cells of a result. */
struct exact_counts {
    uint64_t compared; /* read, and there is an expected value */
    uint64_t equal, differing; /* of those */
    uint64_t unknown; /* not read, or what to expect cannot be said */
    uint64_t unread; /* of those unknown */
    const char *reason; /* why the first was not read; NULL when all were */
};

struct exact_counts cell_exact_counts(const struct cell_result *cell);
struct exact_counts result_exact_counts(const struct result *result);

/* The gravest status of the cells. STATUS_FINDING: a failed cell, an exact counter that differs, a run that ended
 * before its time, or errors of the device that grew and make results doubtful. STATUS_INCONCLUSIVE: a cell with a
 * flag of FLAGS_DOUBTFUL. STATUS_OK else. */
enum status result_verdict(const struct result *result);

#endif
