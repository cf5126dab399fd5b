/* SPDX-License-Identifier: MIT
 * What makes a cell invalid: rows of a cause, its words, and a function that finds it. Who reads
 * results asks this table, so that compare, gate, show and the analysis agree. */
#include "invalid.h"

#include "verdict.h"

/* What was computed while these grew may be wrong. */
static bool device_errors_grew(const struct result *result, const struct cell_result *cell)
{
    (void)cell;
    for (size_t i = 0; i < HEALTH_QUANTITIES; i++)
        if (result->health.grew >> i & 1 && health_rows[i].grave && i != HEALTH_REMAP_FAILED)
            return true;
    return false;
}

/* A state that lasts until the GPU is exchanged: it need not have grown. */
static bool remap_failed(const struct result *result, const struct cell_result *cell)
{
    (void)cell;
    return result->health.grew >> HEALTH_REMAP_FAILED & 1 ||
           result->health.after.values[HEALTH_REMAP_FAILED].value > 0;
}

static bool run_ended(const struct result *result, const struct cell_result *cell)
{
    (void)cell;
    return result->end.given;
}

/* A model computes no outputs. */
static bool not_verified(const struct result *result, const struct cell_result *cell)
{
    return !result->modelled_time && !cell->verified;
}

/* By the values: a flag in a file may be missing. */
static bool exact_counter_differs(const struct result *result, const struct cell_result *cell)
{
    (void)result;
    return cell->flags & FLAG_COUNTER_DIFFERS || exact_counts(cell, 1).differing > 0;
}

const struct invalid_row invalid_rows[INVALID_CAUSES] = {
    [INVALID_DEVICE_ERRORS] = {"device_errors", "errors of the GPU's memory grew while it ran",
                               device_errors_grew},
    [INVALID_REMAP_FAILED] = {"remap_failed", "the GPU has rows that could not be remapped",
                              remap_failed},
    [INVALID_RUN_ENDED] = {"run_ended", "its run ended before its time: the GPU failed", run_ended},
    [INVALID_NOT_VERIFIED] = {"not_verified", "its output was not verified", not_verified},
    [INVALID_EXACT_COUNTER] = {"exact_counter", "an exact counter is not as expected",
                               exact_counter_differs},
};

uint32_t result_cell_invalid(const struct result *result, const struct cell_result *cell)
{
    uint32_t causes = 0;

    if (cell->status != CELL_OK)
        return 0;
    for (uint32_t i = 0; i < INVALID_CAUSES; i++)
        causes |= (uint32_t)invalid_rows[i].holds(result, cell) << i;
    return causes;
}
