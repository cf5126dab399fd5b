/* SPDX-License-Identifier: MIT
 * For tests: instructions as words, field by field. It shares nothing with the decoder but the
 * numbers of opcodes. */
#ifndef CBANK_TESTS_INSTRUCTION_WORDS_H
#define CBANK_TESTS_INSTRUCTION_WORDS_H

#include <stdint.h>

#include "instruction.h"

/* Sets bits of an instruction that are 0. */
static inline void set(uint64_t words[2], unsigned first, unsigned count, uint64_t value)
{
    value &= count < 64 ? (1ull << count) - 1 : UINT64_MAX;
    words[first / 64] |= value << first % 64;
    if (first / 64 == 0 && first + count > 64)
        words[1] |= value >> (64 - first);
}

/* Writes an instruction with its result, A, what is at bit 32, and what is at bit 64. Its guard is
 * PT. */
static inline uint64_t *put_instruction(uint64_t words[2], unsigned opcode, unsigned form,
                                        uint32_t result, uint32_t a, uint32_t b, uint64_t high)
{
    enum { ALWAYS = 7, ALL_BYTES = 0xf /* of MOV */ };

    words[0] = 0;
    words[1] = high;
    set(words, 0, 9, opcode);
    set(words, 9, 3, form);
    set(words, 12, 3, ALWAYS);
    set(words, 16, 8, result);
    set(words, 24, 8, a);
    set(words, 32, 32, b);
    set(words, 72, 4, opcode == OPCODE_MOV ? ALL_BYTES : 0);
    return words;
}

#endif
