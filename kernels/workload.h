/* SPDX-License-Identifier: MIT
 * Workloads: the arithmetic around the payload loads, and its CPU reference. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "indices.h"
#include "path.h"
#include "pattern.h"

/* Largest number of threads in a block. */
#define CBANK_BLOCK_THREADS_MAX 1024

/* How a kernel gets its pattern. */
enum workload_index {
    INDEX_COMPILED,        /* compiled in */
    INDEX_SWITCHED,        /* chosen at run time */
    /* chosen at run time, and so is the length of the table: % is a division */
    INDEX_SWITCHED_LENGTH,
    INDEX_LOADED,          /* no pattern: indices are data from a source */
    INDEX_ABSENT,            /* no pattern and no path: a launch path says what is measured */
};

/* Largest number of lookups in flight. Kernels of greater variants also load other data. */
#define CBANK_IN_FLIGHT_MAX 4u

struct problem;
struct shape;

/* One row of workloads.def. */
struct workload {
    const char *name;
    const char *summary;
    const char *formula;    /* the result expression, as written in the table */
    const char *shape_name; /* map, stencil, convolution, lookup or launch */
    const struct shape *shape;
    uint32_t dimensions;    /* of the image */
    /* payload loads a thread makes; 0: as many as the filter has elements */
    uint32_t steps;
    enum workload_index index;
    uint32_t parameter_mask;         /* set of PARAMETER_BIT */
    /* the kernel is compiled for each number from 1 to this; 0: for one only */
    uint32_t variants;
    const char *patterns;   /* default values of the plan, comma-separated */
    const char *elements;
    const char *block_sizes;

    /* shape_map: output of one thread, from its input element and the sum of its loaded values. */
    uint32_t (*result)(uint32_t input, uint32_t sum);
};

/* All workloads in the order of workloads.def. */
extern const struct workload workloads[];
extern const size_t workload_count;

/* Everything that the output of a launch depends on. */
struct problem {
    const struct workload *workload;
    const struct path *path;
    const struct pattern *pattern;
    uint64_t elements;
    uint32_t block_size; /* 1 .. CBANK_BLOCK_THREADS_MAX */
    uint32_t parameters[PARAMETERS_MAX]; /* 0 for those that neither pattern nor workload takes */
    /* indices of lookups, [step][element]; NULL: the pattern gives them */
    const struct indices *indices;
};

/* Threads of a block of elements: `count` of them, from `first` on. */
struct thread_range {
    uint32_t block, first, count;
};

/* Writes the table elements that these threads read at a step into index[0] to index[count - 1]. It
 * is fast for whole blocks. */
void problem_indices(const struct problem *problem, struct thread_range threads, uint32_t step,
                     uint32_t *index);

/* The image that a launch reads: width x height x depth elements, row by row. In 2D and 3D the
 * width is a power of two, and in 3D height == width. The last row or plane is input as a whole,
 * even where there are fewer output elements. In 1D, and without an image, the width is the number
 * of elements. */
struct image_size {
    uint64_t width, height, depth;
};

struct image_size workload_image(const struct workload *workload, uint64_t elements);

/* Input elements that a launch may read: the whole image. */
uint64_t workload_input_elements(const struct workload *workload, uint64_t elements);

/* The number that the cell's kernel is compiled for, see `variants`. 0: none. */
uint32_t workload_variant(const uint32_t parameters[PARAMETERS_MAX]);

/* Payload loads that a thread makes. */
uint32_t workload_steps(const struct workload *workload, const uint32_t parameters[PARAMETERS_MAX]);

/* Input loads of a thread: 1 in map, 3 in stencil, one for each filter element in convolution,
 * one for each index of a lookup. Lookups with other data add one for each group of lookups in
 * flight. */
uint32_t workload_input_loads(const struct workload *workload,
                              const uint32_t parameters[PARAMETERS_MAX]);

/* Whether only the first threads of a block make some of these loads. Then the other warps may
 * branch around those, and all warps reach the rest, even warps without an element. Without a halo,
 * warps without an element make no input load. */
int workload_has_halo(const struct workload *workload);

/* All input loads of a launch, over its warps: instructions with at least one active thread, and
 * the sum of the distinct sectors that each of them reads. A sector has sector_elements
 * elements. */
struct workload_stream {
    uint64_t loads, sectors;
};

/* Counts the input loads. sector_elements is a power of two, at most 32. The input starts at a
 * sector. It takes negligible time. */
struct workload_stream workload_stream(const struct problem *problem, uint32_t sector_elements);

/* How often a thread runs the code of its loads for one element: once, or once for each group of
 * lookups in flight. */
uint32_t workload_groups(const struct workload *workload,
                         const uint32_t parameters[PARAMETERS_MAX]);

/* Input elements of 4 bytes that each output element is the first to need: 1, or all indices of its
 * lookups. */
uint32_t workload_streamed(const struct workload *workload,
                           const uint32_t parameters[PARAMETERS_MAX]);

/* Rows of the image that hold the neighbours of one element; 1 without an image. */
uint32_t workload_input_rows(const struct workload *workload,
                             const uint32_t parameters[PARAMETERS_MAX]);

/* Loads of a thread from the tile, which holds the block's input in shared memory; 0 where there is
 * no tile. Neighbouring threads read neighbouring elements. */
uint32_t workload_tile_loads(const struct workload *workload,
                             const uint32_t parameters[PARAMETERS_MAX]);

/* Bytes of that tile for the largest block. Every block has that much shared memory, whatever its
 * size. */
uint32_t workload_tile_bytes(const struct workload *workload,
                             const uint32_t parameters[PARAMETERS_MAX]);

/* Length of the part of the table, from its start, that a launch may read. The shared paths copy
 * that part. */
uint32_t workload_table_length(const struct problem *problem);

/* Whether the workload sums products of its loads, as filters do. One without a shape does not. */
int workload_multiplies(const struct workload *workload);

/* Arithmetic operations on elements in the whole launch: 1 a thread in map, 1 for each load of a
 * lookup. In convolution each neighbour inside the image takes a multiplication and an addition,
 * and in stencil also a subtraction. */
uint64_t workload_operations(const struct problem *problem);

/* The first output element that differs from the reference, and both values. */
struct mismatch {
    uint64_t element;
    char text[96];
};

/* The data that a launch reads and writes. The struct owns none of it. */
struct workload_data {
    const uint32_t *input;
    const uint32_t *values; /* the table */
    const uint32_t *output;
};

/* Compares the output elements from `first` to first + count - 1 with a reference computed here
 * from input and table. `first` is a multiple of block_size. Integers must be equal. Floats may
 * differ from a sum in double precision by (steps + 2) x 2^-24 x 8 x steps. This bounds the
 * rounding errors of that many additions of products below 8, for inputs and values in +-[1, 2).
 * Returns 1 if all elements agree, else 0, with the first difference in *mismatch. */
int workload_check(const struct problem *problem, const struct workload_data *data, uint64_t first,
                   uint64_t count, struct mismatch *mismatch);
