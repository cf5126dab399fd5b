/* SPDX-License-Identifier: MIT
 * Workloads: the arithmetic around the payload loads, and its reference on the CPU. */
#ifndef CBANK_WORKLOAD_H
#define CBANK_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "pattern.h"

/* One row of workloads.def. */
struct workload {
    const char *name;
    const char *summary;
    const char *formula; /* the result expression, as written in the table */
    uint32_t steps;      /* payload loads a thread makes */

    /* Output of one thread from its input element and the sum of the values that it loaded. */
    uint32_t (*result)(uint32_t input, uint32_t sum);
};

/* All workloads in the order of workloads.def. */
extern const struct workload workloads[];
extern const size_t workload_count;

/* The first output element that differs from the reference. */
struct mismatch {
    uint64_t element;
    uint32_t expected;
    uint32_t actual;
};

/* Compares output[first .. first + count - 1], made by blocks of block_size threads, with the reference
 * computed here from the same elements of input and from values[0 .. CBANK_TABLE_LENGTH - 1].
 * first: a multiple of block_size; block_size: 1 .. 1024. Returns 1 when all are equal; else 0, with the
 * first difference in *mismatch. */
int workload_check(const struct workload *workload, const struct pattern *pattern, uint64_t first, uint64_t count,
                   uint32_t block_size, const uint32_t *input, const uint32_t *values, const uint32_t *output,
                   struct mismatch *mismatch);

#endif
