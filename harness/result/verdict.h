/* SPDX-License-Identifier: MIT
 * The verdict on a result: whether counters are as expected, and the most severe status of its
 * cells. */
#pragma once

#include "result.h"

/* Exact counters of some cells. */
struct exact_counts {
    uint64_t compared; /* read, and there is an expected value */
    uint64_t equal, differing; /* among those */
    uint64_t unknown; /* not read, or the expected value is not known */
    uint64_t unread; /* among the unknown */
    const char *reason; /* why the first one was not read; NULL if all were */
};

struct exact_counts exact_counts(const struct cell_result *cells, size_t count);

/* Whether a result has cells, and every one of them was skipped: nothing was measured. */
bool result_unmeasured(const struct result *result);

/* The most severe status of the cells. STATUS_ENVIRONMENT: nothing was measured. STATUS_FINDING: a
 * failed or an invalid cell (invalid.h), a run that ended early, or errors of the device that grew
 * and make results doubtful. STATUS_INCONCLUSIVE: a cell with a flag of FLAGS_DOUBTFUL. STATUS_OK
 * otherwise. */
enum status result_verdict(const struct result *result);
