/* SPDX-License-Identifier: MIT */
#include "fault.h"

const struct fault faults[] = {
    {.name = "output", .summary = "change one output element before it is checked", .output = true},
    {.name = "counter", .summary = "add one to every exact counter that was read", .counter = true},
    {.name = "memory", .summary = "let the allocation of the largest size fail", .memory = true},
    {.name = "out_of_bounds", .summary = "read far out of bounds while the second cell is timed", .address = true},
    {.name = "hang", .summary = "launch a kernel of ten minutes while the second cell is timed", .endless = true},
};

const size_t fault_count = sizeof(faults) / sizeof(faults[0]);
