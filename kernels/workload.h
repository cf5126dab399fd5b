/* SPDX-License-Identifier: MIT
 * Workloads: the arithmetic around the payload loads, and its reference on the CPU. */
#ifndef CBANK_WORKLOAD_H
#define CBANK_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "indices.h"
#include "path.h"
#include "pattern.h"

/* Threads of a block at most. */
#define CBANK_BLOCK_THREADS_MAX 1024

/* Where the pattern of a kernel is chosen. */
enum workload_index {
    INDEX_COMPILED,        /* it is compiled in */
    INDEX_SWITCHED,        /* at run time */
    INDEX_SWITCHED_LENGTH, /* at run time, and so is the length of the table: % is a division */
    INDEX_LOADED,          /* there is none: indices are data, of a source */
};

/* Lookups in flight at most: greater variants of their kernels load other data beside them. */
#define CBANK_IN_FLIGHT_MAX 4u

struct problem;
struct shape;

/* One row of workloads.def. */
struct workload {
    const char *name;
    const char *summary;
    const char *formula;    /* the result expression, as written in the table */
    const char *shape_name; /* map, stencil, convolution or lookup */
    const struct shape *shape;
    uint32_t dimensions;    /* of the image */
    uint32_t steps;         /* payload loads a thread makes; 0: as many as the filter has elements */
    enum workload_index index;
    uint32_t takes;         /* parameters: a set of PARAMETER_BIT */
    uint32_t variants;      /* the kernel is compiled for each number from 1 to this; 0: for none */
    const char *patterns;   /* the plan where the command line names none, comma-separated */
    const char *elements;
    const char *block_sizes;

    /* shape_map: output of one thread from its input element and the sum of the values that it loaded. */
    uint32_t (*result)(uint32_t input, uint32_t sum);
};

/* All workloads in the order of workloads.def. */
extern const struct workload workloads[];
extern const size_t workload_count;

/* One launch, as far as its output depends on it. */
struct problem {
    const struct workload *workload;
    const struct path *path;
    const struct pattern *pattern;
    uint64_t elements;
    uint32_t block_size;                  /* 1 .. CBANK_BLOCK_THREADS_MAX */
    uint32_t parameters[PARAMETER_COUNT]; /* 0 for those that neither pattern nor workload takes */
    const struct indices *indices;        /* that lookups read, [step][element]; NULL: the pattern says which */
};

/* Threads of a block of elements: `count` of them from `first` on. */
struct thread_range {
    uint32_t block, first, count;
};

/* The elements of the table that they read at a step, into index[0 .. count - 1]. Of a whole block at once it is fast. */
void problem_indices(const struct problem *problem, struct thread_range threads, uint32_t step, uint32_t *index);

/* The image that a launch reads: width x height x depth elements, rows one after the other. width is a power of two in
 * 2D and 3D, and height == width in 3D; what the elements do not fill of the last row or plane is input all the same.
 * 1D and workloads without an image: width is the number of elements. */
struct image_size {
    uint64_t width, height, depth;
};

struct image_size workload_image(const struct workload *workload, uint64_t elements);

/* Elements of the input that a launch may read: the whole image. */
uint64_t workload_input_elements(const struct workload *workload, uint64_t elements);

/* The number that the cell's kernel is compiled for, see `variants`; 0: none. */
uint32_t workload_variant(const uint32_t parameters[PARAMETER_COUNT]);

/* Payload loads of a thread. */
uint32_t workload_steps(const struct workload *workload, const uint32_t parameters[PARAMETER_COUNT]);

/* Input loads of a thread: 1 in map, 3 in stencil, one for each filter element in convolution, each index of a lookup, and
 * one of other data for each group of them in flight where there is such. */
uint32_t workload_input_loads(const struct workload *workload, const uint32_t parameters[PARAMETER_COUNT]);

/* Whether some of them are made by the first threads of a block alone: the other warps may branch around them. All
 * warps get to the others, those without an element too. Without a halo, warps without an element get to none. */
int workload_has_halo(const struct workload *workload);

/* What all warps of a launch load of the input: instructions with at least one thread that loads, and the distinct
 * sectors, of sector_elements elements, that each of them reads. */
struct workload_stream {
    uint64_t loads, sectors;
};

/* sector_elements: a power of two, 32 at most. The input begins on a sector. Takes no time to speak of. */
struct workload_stream workload_stream(const struct problem *problem, uint32_t sector_elements);

/* How often a thread runs the code of its loads for one element: once, or once for each lookups in flight. */
uint32_t workload_groups(const struct workload *workload, const uint32_t parameters[PARAMETER_COUNT]);

/* Elements of the input, of 4 bytes, that an element of the output is the first to need: 1, or all indices of its lookups. */
uint32_t workload_streamed(const struct workload *workload, const uint32_t parameters[PARAMETER_COUNT]);

/* How many rows of the image the neighbours of one element are in: 1 without an image. */
uint32_t workload_input_rows(const struct workload *workload, const uint32_t parameters[PARAMETER_COUNT]);

/* Loads of a thread from the tile of the block's input in shared memory, beside payload loads; 0 where there is no
 * tile. Neighbouring threads read neighbouring elements. */
uint32_t workload_tile_loads(const struct workload *workload, const uint32_t parameters[PARAMETER_COUNT]);

/* Bytes of that tile, for the largest block: what a block has of shared memory whatever its size. */
uint32_t workload_tile_bytes(const struct workload *workload, const uint32_t parameters[PARAMETER_COUNT]);

/* Elements of the table that the threads of a launch may read, from its first on: what staging copies. */
uint32_t workload_table_length(const struct problem *problem);

/* Whether it adds up products of what it loads, as filters do. */
int workload_multiplies(const struct workload *workload);

/* Arithmetic operations on elements in the whole launch: 1 a thread for map, one for each load of a lookup, a multiplication and an addition for
 * each neighbour inside the image for convolution, and a subtraction beside them for stencil. */
uint64_t workload_operations(const struct problem *problem);

/* The first output element that differs from the reference, and how. */
struct mismatch {
    uint64_t element;
    char text[96];
};

/* What a launch reads and writes. None of it is owned. */
struct workload_data {
    const uint32_t *input;
    const uint32_t *values; /* the table */
    const uint32_t *output;
};

/* Compares data->output[first .. first + count - 1] with the reference computed here from input and table. first: a
 * multiple of block_size. Integers are equal. Floats, all inputs and values being in +-[1, 2), differ from the sum in
 * double precision by (steps + 2) x 2^-24 x 8 x steps at most: the bound of the rounding errors of so many additions of
 * products below 8. Returns 1 when all are so; else 0, with the first difference in *mismatch. */
int workload_check(const struct problem *problem, const struct workload_data *data, uint64_t first, uint64_t count,
                   struct mismatch *mismatch);

#endif
