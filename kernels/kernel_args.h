/* SPDX-License-Identifier: MIT
 * The arguments of a kernel, the same in C and in CUDA: first kernel_args, then a pointer to the
 * table, which the kernel declares const __restrict__. Last comes the table by value: as many bytes
 * as the path's table has, or one element where the path does not read it there. */
#pragma once

#include <stdint.h>

#include "pattern.h"

/* The first parameter of every kernel of kernels.cu. Pointers are device pointers. */
struct kernel_args {
    const uint32_t *input;  /* workload_input_elements() values; the indices of a lookup */
    uint32_t *output;       /* written: `elements` values */
    /* CBANK_TABLE_LENGTH values, or the cell's large table; read by TABLE_GLOBAL paths */
    const uint32_t *table;
    uint32_t elements;      /* output elements; at most 2^32 - 1024 */
    uint32_t divergence;    /* always 0: see kernels.cu */
    uint64_t texture;       /* texture object of the table */
    union {
        struct pattern_numbers numbers;
        const uint32_t *polluter; /* data that lookups load beside the table */
    };
    union {
        /* row of patterns.def, for kernels that choose the pattern at run time */
        uint32_t pattern;
        uint32_t polluter_mask; /* lookups: number of elements in `polluter`, less one */
    };
    uint32_t length;        /* elements in the table, for kernels that take it at run time */
    union {
        uint32_t width_log2; /* the image is 2^width_log2 elements wide and, in 3D, as many high */
        /* copies of a small table in shared memory; such cells have no image */
        uint32_t copies;
    };
    uint32_t rows; /* 1D: elements; 2D: rows of the image; 3D: planes of the volume; lookups: loads
                    * of a thread */
};
