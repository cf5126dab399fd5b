/* SPDX-License-Identifier: MIT */
#include "timing_group.h"

enum { GROUP_FIRST = 16 }; /* cells of the first group of several */

static bool wants_group(const struct result *result, const bool *grouped, size_t i)
{
    const struct cell_result *cell = &result->cells[i];

    return !grouped[i] && cell->status == CELL_PENDING && cell->verified && cell->time.stop_reason == STOP_NONE;
}

size_t timing_group_left(const struct result *result, const bool *grouped)
{
    size_t left = 0;

    for (size_t i = 0; i < result->cell_count; i++)
        left += wants_group(result, grouped, i);
    return left;
}

/* The cells of cell i's line that want a group, `max` at most. Returns how many. */
static size_t find_line(const struct result *result, const bool *grouped, size_t i, size_t *line, size_t max)
{
    size_t count = 0;

    for (size_t j = 0; j < result->cell_count && count < max; j++)
        if (wants_group(result, grouped, j) &&
            cell_order_before(&result->cells[i].cell, &result->cells[j].cell, AXIS_PATH) == 0)
            line[count++] = j;
    return count;
}

/* How many cells the next group has. That of a plan of one group is all; others grow, so that graphs can be made ahead: the first
 * group's cannot. */
static size_t group_size(const struct result *result, const bool *grouped)
{
    size_t taken = 0;

    for (size_t i = 0; i < result->cell_count; i++)
        taken += grouped[i];
    if (taken + timing_group_left(result, grouped) <= TIMING_GROUP_MAX || taken > TIMING_GROUP_MAX)
        return TIMING_GROUP_MAX;
    return taken > GROUP_FIRST ? taken : GROUP_FIRST;
}

size_t timing_group_next(const struct result *result, bool *grouped, size_t cells[TIMING_GROUP_MAX])
{
    const size_t most = group_size(result, grouped);
    size_t count = 0;

    for (size_t i = 0; i < result->cell_count; i++) {
        size_t line[TIMING_GROUP_MAX + 1], length;

        if (!wants_group(result, grouped, i))
            continue;
        length = find_line(result, grouped, i, line, TIMING_GROUP_MAX + 1);
        if (count > 0 && count + length > most)
            continue;
        for (size_t k = 0; k < length && count < TIMING_GROUP_MAX; k++) {
            grouped[line[k]] = true;
            cells[count++] = line[k];
        }
    }
    return count;
}
