/* SPDX-License-Identifier: MIT
 * The verdict on a result, and the tally of its exact counters. A run that was ended, grave errors
 * that grew, and a cell that failed or is invalid are findings; a cell with a flag of doubt is
 * inconclusive. Where every cell was skipped, the environment cannot do what was asked. */
#include "verdict.h"

#include "invalid.h"

struct exact_counts exact_counts(const struct cell_result *cells, size_t count)
{
    struct exact_counts counts = {0};

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < cells[i].counter_count; k++) {
            const struct counter_value *value = &cells[i].counters[k];
            const bool read = value->status == COUNTER_OK, compared = read && value->expected.known;

            if (value->kind != COUNTER_EXACT)
                continue;
            counts.compared += compared;
            counts.equal += compared && !counter_differs(value);
            counts.differing += counter_differs(value);
            counts.unknown += !compared;
            if (!read && counts.unread++ == 0)
                counts.reason = value->reason ? value->reason : counter_status_names[value->status];
        }
    return counts;
}

bool result_unmeasured(const struct result *result)
{
    size_t skipped = 0;

    for (size_t i = 0; i < result->cell_count; i++)
        skipped += result->cells[i].status == CELL_SKIPPED;
    return skipped > 0 && skipped == result->cell_count;
}

enum status result_verdict(const struct result *result)
{
    enum status verdict = result->end.given ? STATUS_FINDING : STATUS_OK;

    if (result_unmeasured(result))
        verdict = status_worse(verdict, STATUS_ENVIRONMENT);
    for (size_t i = 0; i < HEALTH_QUANTITIES; i++)
        if (result->health.grew >> i & 1 && health_rows[i].grave)
            verdict = STATUS_FINDING;
    for (size_t i = 0; i < result->cell_count; i++) {
        const struct cell_result *cell = &result->cells[i];

        if (cell->status == CELL_FAILED || result_cell_invalid(result, cell))
            verdict = status_worse(verdict, STATUS_FINDING);
        else if (cell->flags & FLAGS_DOUBTFUL)
            verdict = status_worse(verdict, STATUS_INCONCLUSIVE);
    }
    return verdict;
}
