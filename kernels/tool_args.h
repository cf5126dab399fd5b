/* SPDX-License-Identifier: MIT
 * The arguments of the kernels of tools.cu. Pointers are device pointers. */
#pragma once

#include <stdint.h>

/* tool_flush: reads `words` words of `buffer` and the whole constant bank of the tools module. */
struct tool_flush_args {
    const uint32_t *buffer;
    uint64_t words;      /* a multiple of 4 */
    uint32_t *sink;      /* never written: keeps the loads alive */
    uint32_t never;      /* a sum that cannot occur: buffer and bank hold zeros, this is 1 */
};

/* tool_stamp: writes the time of the device's timer. */
struct tool_stamp_args {
    uint64_t *stamp_ns;
};

enum { TOOL_STAMPS_MAX = 32 };

/* The measurement of tool_clock, and the stamps taken before it. */
struct clock_reading {
    uint64_t stamps_ns[TOOL_STAMPS_MAX];
    uint64_t cycles;
    uint64_t ns;
};

/* tool_clock: copies the stamps, and spins for at least spin_ns. */
struct tool_clock_args {
    struct clock_reading *reading;
    const uint64_t *stamps_ns; /* TOOL_STAMPS_MAX; NULL: none */
    uint64_t spin_ns;
};
