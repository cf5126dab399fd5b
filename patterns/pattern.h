/* SPDX-License-Identifier: MIT
 * Access patterns: pure functions from (block, thread, step) to the table element that is read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "parameter.h"

/* Threads of a warp: 32 on every NVIDIA GPU to date. */
#define CBANK_WARP_THREADS 32u

/* The default table: 64 KB of 32-bit values, the whole user constant bank of a module. Paths with
 * less room read the first part of it. */
#define CBANK_TABLE_BYTES  65536u
#define CBANK_TABLE_LENGTH (CBANK_TABLE_BYTES / 4u)

/* The knowledge that a compiler can have of an index, from the least to the most. */
enum index_scope {
    INDEX_THREAD,    /* it differs between threads */
    INDEX_BLOCK,     /* it is the same in all threads of a block */
    INDEX_IMMEDIATE, /* it is a constant at every step */
};

/* The parameters in formulas, as the kernels get them. */
struct pattern_numbers {
    uint32_t distinct;
    uint32_t stride; /* elements */
};

/* One row of patterns.def. */
struct pattern {
    const char *name;    /* the word of the command line and of the result */
    const char *summary; /* one line for people */
    const char *formula; /* the index expression, as written in the table */
    enum index_scope scope;
    int index_is_step; /* at every step all threads read the same element, the next one: for
                        * workloads of many steps */
    int core; /* part of the core matrix */
    uint32_t parameter_mask; /* set of PARAMETER_BIT */

    /* Element that (block, thread) reads at `step`, from a table of `length` elements. It is below
     * `length`. */
    uint32_t (*index)(uint32_t block, uint32_t thread, uint32_t step, uint32_t length,
                      struct pattern_numbers numbers);

    /* The same for the first `threads` threads of one block at once, into `index`. Fast where
     * length is a power of two. */
    void (*block_indices)(uint32_t block, uint32_t threads, uint32_t step, uint32_t length,
                          struct pattern_numbers numbers, uint32_t *index);
};

/* All patterns in the order of patterns.def. */
extern const struct pattern patterns[];
extern const size_t pattern_count;

/* The numbers that formulas take, from a list of parameter values by enum parameter_index. */
struct pattern_numbers pattern_numbers(const uint32_t values[PARAMETERS_MAX]);
