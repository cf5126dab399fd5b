/* SPDX-License-Identifier: MIT
 * A constant table of zeros, so that the next index is an entry and an offset, and a load of it
 * that is timed. */
#pragma once

#include <cstdint>

enum { TABLE_BYTES = 49152 };

/* Zeros. The compiler does not know that. */
__constant__ uint32_t constant_table[TABLE_BYTES / 4];

/* The entry of that byte. */
__device__ inline uint32_t constant_entry(uint32_t byte)
{
    return *(const uint32_t *)((const char *)constant_table + byte);
}

/* Cycles until the entry of a byte is there. The load stays between the two readings of the clock,
 * and what comes behind waits for it: `value` is 0, which the compiler does not know. */
__device__ inline uint32_t wait_for(uint32_t byte, uint32_t *value)
{
    const uint64_t address = __cvta_generic_to_constant((const char *)constant_table + byte);
    uint32_t start, end;

    asm volatile("mov.u32 %0, %%clock;\n\t"
                 "ld.const.u32 %1, [%3];\n\t"
                 "{.reg .pred p; setp.ne.u32 p, %1, 0; @p trap; }\n\t"
                 "mov.u32 %2, %%clock;"
                 : "=&r"(start), "=&r"(*value), "=&r"(end)
                 : "l"(address + *value)
                 : "memory");
    return end - start;
}
