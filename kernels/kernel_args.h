/* SPDX-License-Identifier: MIT
 * What a kernel is launched with, the same in C and in CUDA: kernel_args, then the table by a pointer that the
 * kernel declares const __restrict__, then the table itself by value (as many bytes of it as the path has; one
 * element where the path does not read it there). */
#ifndef CBANK_KERNEL_ARGS_H
#define CBANK_KERNEL_ARGS_H

#include <stdint.h>

#include "pattern.h"

/* The first parameter of every kernel of kernels.cu. Pointers are device pointers. */
struct kernel_args {
    const uint32_t *input;  /* as many values as workload_input_elements says; the indices, where they are data */
    uint32_t *output;       /* elements values, written */
    const uint32_t *table;  /* CBANK_TABLE_LENGTH values, or the cell's large table; what TABLE_GLOBAL paths read */
    uint32_t elements;      /* output elements; at most 2^32 - 1024 */
    uint32_t divergence;    /* always 0: see kernels.cu */
    uint64_t texture;       /* texture object of the table */
    union {
        struct pattern_numbers numbers;
        const uint32_t *other; /* data that lookups load beside the table */
    };
    union {
        uint32_t pattern;      /* row of patterns.def, for kernels that choose at run time */
        uint32_t other_mask;   /* of lookups: elements there less one */
    };
    uint32_t length;        /* elements in the table, for kernels that take it at run time */
    union {
        uint32_t width_log2; /* of the image: 2^width_log2 elements wide and, in 3D, high */
        uint32_t copies;     /* of the table in shared memory, of paths that hold small tables: no image is there */
    };
    uint32_t rows;          /* of the image in 2D, planes of the volume in 3D, elements in 1D; of indices: loads */
};

#endif
