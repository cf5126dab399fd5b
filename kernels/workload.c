/* SPDX-License-Identifier: MIT */
#include "workload.h"

#define WORKLOAD(name, summary, steps, formula)                                                             \
    static uint32_t name##_result(uint32_t input, uint32_t sum)                                             \
    {                                                                                                       \
        return (formula);                                                                                   \
    }
#include "workloads.def"

const struct workload workloads[] = {
#define WORKLOAD(name, summary, steps, formula) {#name, summary, #formula, steps, name##_result},
#include "workloads.def"
};

const size_t workload_count = sizeof(workloads) / sizeof(workloads[0]);

enum { BLOCK_THREADS_MAX = 1024 };

/* Sums of the values that the threads of one block load, step after step. */
static void block_sums(const struct workload *workload, const struct pattern *pattern, uint32_t block,
                       uint32_t threads, const uint32_t *values, uint32_t *sum)
{
    uint32_t index[BLOCK_THREADS_MAX];

    for (uint32_t thread = 0; thread < threads; thread++)
        sum[thread] = 0;
    for (uint32_t step = 0; step < workload->steps; step++) {
        pattern->block_indices(block, threads, step, CBANK_TABLE_LENGTH, index);
        for (uint32_t thread = 0; thread < threads; thread++)
            sum[thread] += values[index[thread]];
    }
}

int workload_check(const struct workload *workload, const struct pattern *pattern, uint64_t first, uint64_t count,
                   uint32_t block_size, const uint32_t *input, const uint32_t *values, const uint32_t *output,
                   struct mismatch *mismatch)
{
    uint32_t sum[BLOCK_THREADS_MAX];

    for (uint64_t start = first; start < first + count; start += block_size) {
        const uint64_t left = first + count - start;
        const uint32_t threads = left < block_size ? (uint32_t)left : block_size;

        block_sums(workload, pattern, (uint32_t)(start / block_size), threads, values, sum);
        for (uint32_t thread = 0; thread < threads; thread++) {
            const uint64_t element = start + thread;
            const uint32_t expected = workload->result(input[element], sum[thread]);

            if (output[element] != expected) {
                *mismatch = (struct mismatch){element, expected, output[element]};
                return 0;
            }
        }
    }
    return 1;
}
