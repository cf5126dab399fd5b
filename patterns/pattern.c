/* SPDX-License-Identifier: MIT
 * The table of patterns, expanded from patterns.def: each formula becomes a C function here, and a
 * device function in kernels.cu. */
#include "pattern.h"

#include "parameter_index.h"

/* A formula may leave out any of its variables. */
#define FORMULA_VARIABLES                                                \
    const uint32_t distinct = numbers.distinct, stride = numbers.stride; \
    (void)block, (void)thread, (void)step, (void)length, (void)distinct, (void)stride

#define PATTERN(name, formula, ...)                                                            \
    static inline uint32_t name##_index(uint32_t block, uint32_t thread, uint32_t step,        \
                                        uint32_t length, struct pattern_numbers numbers)       \
    {                                                                                          \
        FORMULA_VARIABLES;                                                                     \
        return (formula);                                                                      \
    }                                                                                          \
    static inline void name##_indices(uint32_t block, uint32_t threads, uint32_t step,         \
                                      uint32_t length, struct pattern_numbers numbers,         \
                                      uint32_t *index)                                         \
    {                                                                                          \
        for (uint32_t thread = 0; thread < threads; thread++)                                  \
            index[thread] = name##_index(block, thread, step, length, numbers);                \
    }                                                                                          \
    /* Where the compiler knows that the length is a power of two, it needs no division. */    \
    static void name##_block_indices(uint32_t block, uint32_t threads, uint32_t step,          \
                                     uint32_t length, struct pattern_numbers numbers,          \
                                     uint32_t *index)                                          \
    {                                                                                          \
        if ((length & (length - 1)) == 0)                                                      \
            name##_indices(block, threads, step, 1u << __builtin_ctz(length), numbers, index); \
        else                                                                                   \
            name##_indices(block, threads, step, length, numbers, index);                      \
    }
#include "patterns.def"

const struct pattern patterns[] = {
#define PATTERN(name_, formula_, ...)        \
    {.name = #name_,                         \
     .formula = #formula_,                   \
     .index = name_##_index,                 \
     .block_indices = name_##_block_indices, \
     __VA_ARGS__},
#include "patterns.def"
};

const size_t pattern_count = sizeof(patterns) / sizeof(patterns[0]);

struct pattern_numbers pattern_numbers(const uint32_t values[PARAMETERS_MAX])
{
    return (struct pattern_numbers){
        .distinct = values[PARAMETER_distinct],
        .stride = values[PARAMETER_stride_bytes] / parameter_value(values, PARAMETER_width_bytes),
    };
}
