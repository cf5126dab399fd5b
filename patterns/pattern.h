/* SPDX-License-Identifier: MIT
 * Access patterns: pure functions from (block, thread, step) to the table element that is read. */
#ifndef CBANK_PATTERN_H
#define CBANK_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* Threads of a warp: 32 on every NVIDIA GPU to date. */
#define CBANK_WARP_THREADS 32u

/* The table that is read: 64 KB of 32-bit integers, the whole user constant bank of a module. */
#define CBANK_TABLE_BYTES 65536u
#define CBANK_TABLE_LENGTH (CBANK_TABLE_BYTES / 4u)

/* One row of patterns.def. */
struct pattern {
    const char *name;    /* the word of the command line and of the result */
    const char *summary; /* one line for people */
    const char *formula; /* the index expression, as written in the table */

    /* Element that (block, thread) reads at `step` from a table of `length` elements; below `length`. */
    uint32_t (*index)(uint32_t block, uint32_t thread, uint32_t step, uint32_t length);

    /* The same for threads 0 .. threads - 1 of one block at once, into index[0 .. threads - 1]. Fast where
     * length is CBANK_TABLE_LENGTH. */
    void (*block_indices)(uint32_t block, uint32_t threads, uint32_t step, uint32_t length, uint32_t *index);
};

/* All patterns in the order of patterns.def. */
extern const struct pattern patterns[];
extern const size_t pattern_count;

#endif
