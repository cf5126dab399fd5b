/* SPDX-License-Identifier: MIT
 *
 * Code of the GPU that probes.cu and sharing.cu share. */
#pragma once

#include <stdint.h>

static __device__ const uint32_t &word_at(const uint32_t *base, uint32_t offset)
{
    return *(const uint32_t *)((const char *)base + offset);
}

static __device__ uint32_t clock_cycles(void)
{
    uint32_t cycles;

    asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
    return cycles;
}

static __device__ uint32_t sm_id(void)
{
    uint32_t id;

    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}
