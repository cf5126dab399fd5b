/* SPDX-License-Identifier: MIT */
#include "side_counter.h"

#include <math.h>
#include <string.h>

/* The value of an exact counter in NEW that BASE has not; BASE's median when there is none. A process that read
 * something else than every process of BASE has changed, even where the median has not. */
static double exact_change(const struct side_counter *base, const struct side_counter *new_counter)
{
    if (new_counter->value != base->value)
        return new_counter->value;
    if (new_counter->low < base->low)
        return new_counter->low;
    return new_counter->high > base->high ? new_counter->high : base->value;
}

bool side_counter_changed(const struct side_counter *base, const struct side_counter *new_counter, double threshold,
                          double *value)
{
    if (base->kind == COUNTER_EXACT && new_counter->kind == COUNTER_EXACT) {
        *value = exact_change(base, new_counter);
        return *value != base->value;
    }
    *value = new_counter->value;
    return fabs(new_counter->value - base->value) > threshold * fabs(base->value);
}

const struct side_counter *side_counter_find(const struct side_cell *cell, const char *name, size_t hint)
{
    for (size_t i = 0; i < cell->counter_count; i++) {
        const struct side_counter *counter = &cell->counters[(hint + i) % cell->counter_count];

        if (strcmp(counter->name, name) == 0)
            return counter->read > 0 ? counter : NULL;
    }
    return NULL;
}
