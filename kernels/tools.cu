/* SPDX-License-Identifier: MIT
 *
 * Kernels that help to measure and are never measured. They live in a module of their own: their
 * constant bank is not the one under test.
 */
#include <stdint.h>

#include "tool_args.h"
#include "workload.h"

__constant__ uint32_t cbank_other_values[CBANK_TABLE_LENGTH];

/* Does nothing. It shows how long one more launch of the smallest kernel takes. */
extern "C" __global__ void tool_empty(void)
{
}

/* Ends its blocks in an order that differs from launch to launch. The blocks of the next kernel go
 * to the SMs in the order in which these come free. Launches that leave the SMs as they found them
 * keep that order for a whole chain, and a small kernel's time depends on it. The low bits of the
 * clock are the dice. */
extern "C" __global__ void tool_stir(void)
{
    const uint64_t start = clock64();
    const uint64_t wait = ((start + blockIdx.x) * 0x9E3779B97F4A7C15u) >> 54;

    while (clock64() - start < wait)
        ;
}

/* Replaces the contents of L2 by reading all of `buffer`, and those of the constant caches by
 * reading this module's constant bank. Every block reads one word of each 64-byte line of the bank,
 * its warps in parallel. Launch it with one block for each SM. */
extern "C" __global__ void tool_flush(const tool_flush_args args)
{
    const uint4 *const buffer = (const uint4 *)args.buffer;
    const uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
    const uint32_t warps = blockDim.x / CBANK_WARP_THREADS;
    uint32_t sum = 0;

    for (uint32_t line = threadIdx.x / CBANK_WARP_THREADS; line < CBANK_TABLE_BYTES / 64;
         line += warps)
        sum += cbank_other_values[16 * line];
#pragma unroll 4
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < args.words / 4;
         i += stride) {
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

/* Waits for the timer's next tick and returns it. The timer advances in steps of 32 ns to 1 us,
 * depending on the chip. */
static __device__ uint64_t next_tick_ns(void)
{
    const uint64_t start = global_timer_ns();
    uint64_t now;

    do
        now = global_timer_ns();
    while (now == start);
    return now;
}

/* Writes the time at which all earlier launches have ended, or a time after that. One thread. */
extern "C" __global__ void tool_stamp(const tool_stamp_args args)
{
    const uint64_t start_ns = global_timer_ns();
    uint64_t now_ns = start_ns;
    tool_stamps *const stamps = args.stamps;
    uint64_t *kept_ns;

    while (now_ns - start_ns < args.wait_ns)
        now_ns = global_timer_ns();
    stamps->draw_ns[args.number] = now_ns;
    if (args.number < TOOL_DRAW_STAMPS - 1)
        return;
    kept_ns = &stamps->kept_ns[stamps->draws % TOOL_DRAWS_MAX * TOOL_DRAW_STAMPS];
    for (uint32_t i = 0; i < TOOL_DRAW_STAMPS - 1; i++)
        kept_ns[i] = stamps->draw_ns[i];
    kept_ns[TOOL_DRAW_STAMPS - 1] = now_ns;
    stamps->draws++;
}

/* Measures SM cycles and nanoseconds between two ticks of the timer at least args.spin_ns apart.
 * Their quotient is the SM clock. One thread. */
extern "C" __global__ void tool_clock(const tool_clock_args args)
{
    const uint64_t start_ns = next_tick_ns();
    const uint64_t start_cycles = clock64();
    uint64_t end_ns, end_cycles;

    do
        end_ns = next_tick_ns();
    while (end_ns - start_ns < args.spin_ns);
    end_cycles = clock64();
    if (args.draws > 0) {
        const uint32_t first = (args.stamps->draws - args.draws) * TOOL_DRAW_STAMPS;

        for (uint32_t i = 0; i < args.draws * TOOL_DRAW_STAMPS; i++)
            args.reading->stamps_ns[i] = args.stamps->kept_ns[(first + i) % TOOL_STAMPS_MAX];
    }
    args.reading->cycles = end_cycles - start_cycles;
    args.reading->ns = end_ns - start_ns;
}
