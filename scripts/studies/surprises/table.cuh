/* SPDX-License-Identifier: MIT
 * A constant table of zeros, so that the next index is an entry and an offset, and a load of it
 * that is timed. */
#pragma once

#include "measure.cuh"

enum { TABLE_BYTES = 49152 };

/* Zeros. The compiler does not know that. */
__constant__ uint32_t constant_table[TABLE_BYTES / 4];

/* The entry of that byte. */
__device__ inline uint32_t constant_entry(uint32_t byte)
{
    return *(const uint32_t *)((const char *)constant_table + byte);
}

/* Cycles until the entry of a byte is there. */
__device__ inline uint32_t wait_for(uint32_t byte, uint32_t *value)
{
    const uint64_t address = __cvta_generic_to_constant((const char *)constant_table + byte);
    uint32_t start, end;

    TIMED_LOAD("ld.const.u32", "l", address + *value, *value, start, end);
    return end - start;
}
