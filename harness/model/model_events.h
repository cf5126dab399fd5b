/* SPDX-License-Identifier: MIT
 * What is to happen to loads, in the order of time: a heap. */
#ifndef CBANK_MODEL_EVENTS_H
#define CBANK_MODEL_EVENTS_H

#include <stdint.h>

struct event {
    double time;
    uint64_t order; /* of events at one time */
    uint32_t load;
};

struct events {
    struct event *of; /* owned by who has the heap: room for all that are to come at a time */
    uint32_t count;
};

/* Adds one; there is room. */
void events_push(struct events *events, struct event event);

/* Takes the first; there is one. */
struct event events_pop(struct events *events);

#endif
