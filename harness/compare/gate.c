/* SPDX-License-Identifier: MIT */
#include "gate.h"

#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint64_t looks[] = {3, 5, 10, 20};

_Static_assert(COUNT(looks) + 1 == GATE_LOOKS, "the last look is at the end of the budget");

bool gate_is_look(uint64_t processes, uint64_t most)
{
    return gate_next_look(processes - 1, most) == processes;
}

uint64_t gate_next_look(uint64_t processes, uint64_t most)
{
    for (size_t i = 0; i < COUNT(looks); i++)
        if (looks[i] > processes)
            return looks[i] < most ? looks[i] : most;
    return most;
}

uint64_t gate_needs(const struct comparison *comparison)
{
    uint64_t most = 0;

    for (size_t i = 0; i < comparison->cell_count; i++)
        if (comparison->cells[i].verdict == VERDICT_INCONCLUSIVE && comparison->cells[i].settle > most)
            most = comparison->cells[i].settle;
    return most;
}
