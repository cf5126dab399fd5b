/* SPDX-License-Identifier: MIT
 * What a kernel is launched with: one struct, the same in C and in CUDA. */
#ifndef CBANK_KERNEL_ARGS_H
#define CBANK_KERNEL_ARGS_H

#include <stdint.h>

/* The only parameter of every kernel of kernels.cu. Pointers are device pointers. */
struct kernel_args {
    const uint32_t *input;  /* elements values */
    uint32_t *output;       /* elements values, written */
    const uint32_t *table;  /* CBANK_TABLE_LENGTH values; what TABLE_GLOBAL paths read */
    uint32_t elements;      /* output elements; at most 2^32 - 1024 */
    uint32_t divergence;    /* always 0: see kernels.cu */
};

#endif
