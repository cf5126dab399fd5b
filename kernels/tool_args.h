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

enum {
    TOOL_DRAW_STAMPS = 4, /* two around the short stretch of a draw, and two around its long one */
    TOOL_DRAWS_MAX = 8,
    TOOL_STAMPS_MAX = TOOL_DRAW_STAMPS * TOOL_DRAWS_MAX,
};

/* Stamps in the memory of the device. Every draw writes the same ones, as its graph is launched
 * again; the last stamp keeps those of its draw. */
struct tool_stamps {
    uint64_t draw_ns[TOOL_DRAW_STAMPS]; /* of the draw that runs */
    uint64_t kept_ns[TOOL_STAMPS_MAX]; /* of the last draws: draw d at d modulo TOOL_DRAWS_MAX */
    uint32_t draws; /* that have ended; it may overflow */
};

/* tool_stamp: writes stamp `number` of a draw, at least wait_ns after it began. */
struct tool_stamp_args {
    struct tool_stamps *stamps;
    uint64_t wait_ns;
    uint32_t number;
};

/* The measurement of tool_clock, and the stamps taken before it. */
struct clock_reading {
    uint64_t stamps_ns[TOOL_STAMPS_MAX];
    uint64_t cycles;
    uint64_t ns;
};

/* tool_clock: copies the stamps of the last `draws` draws, and spins for at least spin_ns. */
struct tool_clock_args {
    struct clock_reading *reading;
    const struct tool_stamps *stamps; /* not read without draws */
    uint64_t spin_ns;
    uint32_t draws;
};
