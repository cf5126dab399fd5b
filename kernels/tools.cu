/* SPDX-License-Identifier: MIT
 *
 * Kernels that help to measure and are never measured themselves. They live in a module of their own, so
 * that their constant bank is not the one under test.
 */
#include <stdint.h>

#include "tool_args.h"
#include "workload.h"

__constant__ uint32_t cbank_other_values[CBANK_TABLE_LENGTH];

/* Nothing: what one more launch of the smallest kernel costs. */
extern "C" __global__ void tool_empty(void) {}

/* Blocks that end in an order that is another at every launch. On which SM a block of the next kernel runs depends on
 * which SM came free first, and stays so for all launches of a chain that leave the SMs as they found them; a small
 * kernel's time changes with it. The low bits of the clock are the dice. */
extern "C" __global__ void tool_stir(void)
{
    const uint64_t start = clock64();
    const uint64_t wait = ((start + blockIdx.x) * 0x9E3779B97F4A7C15u) >> 54;

    while (clock64() - start < wait)
        ;
}

/* Replaces the contents of L2 by reading all of `buffer`, and those of the constant caches by walking this
 * module's constant bank: every block reads one word of each 64-byte line of it, its warps in parallel. To
 * be launched with one block for each SM. */
extern "C" __global__ void tool_flush(const tool_flush_args args)
{
    const uint4 *const buffer = (const uint4 *)args.buffer;
    const uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
    const uint32_t warps = blockDim.x / CBANK_WARP_THREADS;
    uint32_t sum = 0;

    for (uint32_t line = threadIdx.x / CBANK_WARP_THREADS; line < CBANK_TABLE_BYTES / 64; line += warps)
        sum += cbank_other_values[16 * line];
#pragma unroll 4
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < args.words / 4; i += stride) {
        const uint4 four = __ldcg(&buffer[i]);

        sum += four.x + four.y + four.z + four.w;
    }
    if (sum == args.never)
        *args.sink = sum;
}

static __device__ uint64_t global_timer_ns(void)
{
    uint64_t ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/* The timer's next tick: it advances in steps of 32 ns to 1 us, by chip. */
static __device__ uint64_t next_tick_ns(void)
{
    const uint64_t start = global_timer_ns();
    uint64_t now;

    do
        now = global_timer_ns();
    while (now == start);
    return now;
}

/* What the timer says when all that was launched before has ended. One thread. */
extern "C" __global__ void tool_stamp(const tool_stamp_args args)
{
    *args.stamp_ns = global_timer_ns();
}

/* SM cycles and nanoseconds between two ticks of the timer at least args.spin_ns apart: their quotient is
 * the SM clock. One thread. */
extern "C" __global__ void tool_clock(const tool_clock_args args)
{
    const uint64_t start_ns = next_tick_ns();
    const uint64_t start_cycles = clock64();
    uint64_t end_ns, end_cycles;

    do
        end_ns = next_tick_ns();
    while (end_ns - start_ns < args.spin_ns);
    end_cycles = clock64();
    for (uint32_t i = 0; args.stamps_ns && i < TOOL_STAMPS_MAX; i++)
        args.reading->stamps_ns[i] = args.stamps_ns[i];
    args.reading->cycles = end_cycles - start_cycles;
    args.reading->ns = end_ns - start_ns;
}
