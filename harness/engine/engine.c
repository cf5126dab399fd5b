/* SPDX-License-Identifier: MIT */
#include "engine.h"

const struct engine_row engine_rows[] = {
    {.name = "cuda", .engine = &engine_cuda},
    {.name = "model", .engine = &engine_model},
};

const size_t engine_count = sizeof(engine_rows) / sizeof(engine_rows[0]);

const struct fault faults[] = {
    {.name = "output", .summary = "change one output element before it is checked", .output = true},
    {.name = "counter", .summary = "add one to every exact counter that was read", .counter = true},
    {.name = "memory", .summary = "let the allocation of the largest size fail", .memory = true},
};

const size_t fault_count = sizeof(faults) / sizeof(faults[0]);
