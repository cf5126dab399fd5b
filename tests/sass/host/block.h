/* SPDX-License-Identifier: MIT
 * The threads of a block on the host, each on a stack of its own. A thread runs until it waits for
 * its block or for threads of its warp. */
#pragma once

#include <cstddef>
#include <cstdint>

enum { WARP = 32, STACK_BYTES = 1 << 18 };

/* The indices and sizes that a thread of CUDA reads, as cuda_host.h declares it. */
extern "C" struct simulated_thread {
    uint32_t thread[3], block[3], block_size[3], grid[3];
} simulated_now;

/* Runs the block that simulated_now names: calls a function in each of its threads. */
void block_run(void (*entry)(void *), void *arguments);

/* Whether a block runs now; the number in it of the thread that does, and where its stack
 * begins. */
bool block_runs();
unsigned block_thread();
uintptr_t block_stack();
