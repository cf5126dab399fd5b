/* SPDX-License-Identifier: MIT */
#include "verdict.h"

#include <math.h>

static void count_exact(const struct cell_result *cell, struct exact_counts *counts)
{
    for (size_t i = 0; i < cell->counter_count; i++) {
        const struct counter_value *value = &cell->counters[i];
        const bool read = value->status == COUNTER_OK, compared = read && !isnan(value->expected);

        if (value->kind != COUNTER_EXACT)
            continue;
        counts->compared += compared;
        counts->equal += compared && !counter_differs(value);
        counts->differing += counter_differs(value);
        counts->unknown += !compared;
        if (!read && counts->unread++ == 0)
            counts->reason = value->reason ? value->reason : counter_status_names[value->status];
    }
}

struct exact_counts cell_exact_counts(const struct cell_result *cell)
{
    struct exact_counts counts = {0};

    count_exact(cell, &counts);
    return counts;
}

struct exact_counts result_exact_counts(const struct result *result)
{
    struct exact_counts counts = {0};

    for (size_t i = 0; i < result->cell_count; i++)
        count_exact(&result->cells[i], &counts);
    return counts;
}

enum status result_verdict(const struct result *result)
{
    enum status verdict = result->end.given ? STATUS_FINDING : health_verdict(&result->health);

    for (size_t i = 0; i < result->cell_count; i++) {
        const struct cell_result *cell = &result->cells[i];

        if (cell->status == CELL_FAILED || cell->flags & FLAG_COUNTER_DIFFERS || cell_exact_counts(cell).differing > 0)
            verdict = status_worse(verdict, STATUS_FINDING);
        else if (cell->flags & FLAGS_DOUBTFUL)
            verdict = status_worse(verdict, STATUS_INCONCLUSIVE);
    }
    return verdict;
}
