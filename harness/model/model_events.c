/* SPDX-License-Identifier: MIT */
#include "model_events.h"

#include <stdbool.h>

static bool is_before(const struct event *a, const struct event *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

void events_push(struct events *events, struct event event)
{
    uint32_t at = events->count++;

    for (; at > 0 && is_before(&event, &events->of[(at - 1) / 2]); at = (at - 1) / 2)
        events->of[at] = events->of[(at - 1) / 2];
    events->of[at] = event;
}

struct event events_pop(struct events *events)
{
    const struct event first = events->of[0], last = events->of[--events->count];
    uint32_t at = 0;

    for (uint32_t child; (child = 2 * at + 1) < events->count; at = child) {
        child += child + 1 < events->count && is_before(&events->of[child + 1], &events->of[child]);
        if (!is_before(&events->of[child], &last))
            break;
        events->of[at] = events->of[child];
    }
    events->of[at] = last;
    return first;
}
