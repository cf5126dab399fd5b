/* SPDX-License-Identifier: MIT
 *
 * The measured kernels: kernel<workload, path, pattern> for every combination of the three tables, each
 * specialised at compile time. The index arithmetic is the same on every path; the load alone differs.
 *
 * A warp-uniform index would let ptxas move an LDC to the uniform datapath (ULDC, LDCU), on some
 * architectures and under some patterns only. `args.divergence`, always 0 and unknown to the compiler,
 * masks the thread index into the element index: one LOP3, the same on every path, and the index is a
 * per-thread value everywhere. scripts/check_sass.py checks that it worked.
 */
#include <stdint.h>

#include "kernel_args.h"
#include "workload.h"

__constant__ uint32_t cbank_values[CBANK_TABLE_LENGTH];

#define FORMULA_VARIABLES (void)block, (void)thread, (void)step, (void)length

#define PATTERN(name, summary, formula)                                                                     \
    struct pattern_##name {                                                                                 \
        static __device__ uint32_t index(uint32_t block, uint32_t thread, uint32_t step, uint32_t length)   \
        {                                                                                                   \
            FORMULA_VARIABLES;                                                                              \
            return (formula);                                                                               \
        }                                                                                                   \
    };
#include "patterns.def"

#define PATH(name, summary, home, unit, sass, ptx, access)                                                  \
    struct path_##name {                                                                                    \
        static __device__ uint32_t load(const uint32_t *table, uint32_t index)                              \
        {                                                                                                   \
            (void)table;                                                                                    \
            return (access);                                                                                \
        }                                                                                                   \
    };
#include "paths.def"

#define WORKLOAD(name, summary, loads, formula)                                                             \
    struct workload_##name {                                                                                \
        static constexpr uint32_t steps = loads;                                                            \
        static __device__ uint32_t result(uint32_t input, uint32_t sum)                                     \
        {                                                                                                   \
            return (formula);                                                                               \
        }                                                                                                   \
    };
#include "workloads.def"

template <class Workload, class Path, class Pattern> __global__ void kernel(const kernel_args args)
{
    const uint32_t element = blockIdx.x * blockDim.x + threadIdx.x;

    if (element >= args.elements)
        return;

    const uint32_t divergence = threadIdx.x & args.divergence;
    uint32_t sum = 0;

#pragma unroll
    for (uint32_t step = 0; step < Workload::steps; step++) {
        const uint32_t index = Pattern::index(blockIdx.x, threadIdx.x, step, CBANK_TABLE_LENGTH);
        sum += Path::load(args.table, index | divergence);
    }
    args.output[element] = Workload::result(args.input[element], sum);
}

/* Instantiates the kernels of all patterns for one workload and path. */
template <class Workload, class Path> struct instances {
    static const void *const kernels[];
};

template <class Workload, class Path>
const void *const instances<Workload, Path>::kernels[] = {
#define PATTERN(name, summary, formula) (const void *)kernel<Workload, Path, pattern_##name>,
#include "patterns.def"
};

/* ... and for all paths of one workload. */
template <class Workload> struct path_instances {
    static const void *const *const kernels[];
};

template <class Workload>
const void *const *const path_instances<Workload>::kernels[] = {
#define PATH(name, summary, home, unit, sass, ptx, access) instances<Workload, path_##name>::kernels,
#include "paths.def"
};

#define WORKLOAD(name, summary, loads, formula) template struct path_instances<workload_##name>;
#include "workloads.def"
