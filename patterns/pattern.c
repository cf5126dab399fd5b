/* SPDX-License-Identifier: MIT */
#include "pattern.h"

/* A formula may leave out any of its four variables. */
#define FORMULA_VARIABLES (void)block, (void)thread, (void)step, (void)length

#define PATTERN(name, summary, formula)                                                                     \
    static inline uint32_t name##_index(uint32_t block, uint32_t thread, uint32_t step, uint32_t length)    \
    {                                                                                                       \
        FORMULA_VARIABLES;                                                                                  \
        return (formula);                                                                                   \
    }                                                                                                       \
    static inline void name##_indices(uint32_t block, uint32_t threads, uint32_t step, uint32_t length,      \
                                      uint32_t *index)                                                      \
    {                                                                                                       \
        for (uint32_t thread = 0; thread < threads; thread++)                                               \
            index[thread] = name##_index(block, thread, step, length);                                      \
    }                                                                                                       \
    /* Where the compiler knows the length, it needs no division. */                                        \
    static void name##_block_indices(uint32_t block, uint32_t threads, uint32_t step, uint32_t length,      \
                                     uint32_t *index)                                                       \
    {                                                                                                       \
        if (length == CBANK_TABLE_LENGTH)                                                                   \
            name##_indices(block, threads, step, CBANK_TABLE_LENGTH, index);                                \
        else                                                                                                \
            name##_indices(block, threads, step, length, index);                                            \
    }
#include "patterns.def"

const struct pattern patterns[] = {
#define PATTERN(name, summary, formula) {#name, summary, #formula, name##_index, name##_block_indices},
#include "patterns.def"
};

const size_t pattern_count = sizeof(patterns) / sizeof(patterns[0]);
