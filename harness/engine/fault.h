/* SPDX-License-Identifier: MIT
 * Faults that a developer plants to see that they are caught. */
#ifndef CBANK_FAULT_H
#define CBANK_FAULT_H

#include <stdbool.h>
#include <stddef.h>

struct fault {
    const char *name;
    const char *summary;
    bool output;  /* change one output element before it is checked */
    bool counter; /* add one to every exact counter that was read */
    bool memory;  /* let the allocation of the largest size fail */
    bool address; /* read what is not there, in the time of the second cell, when others have settled */
    bool endless; /* do not end there, for ten minutes */
};

extern const struct fault faults[];
extern const size_t fault_count;

#endif
