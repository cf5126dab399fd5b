/* SPDX-License-Identifier: MIT
 * What blocks of one kernel do to each other's constant lines, and lines of parameters: cycles of
 * single loads, by the SM's clock, more than those of an L1 hit. */
#include "measure.cuh"
#include "table.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

enum { CLUSTER_BLOCKS = 8, CLUSTERS = 8, FAR_BYTES = 2048, LINE_BYTES = 64, PARAMETER_WORDS = 768 };
enum { ALONE_BYTES = 128 * 1024 }; /* of shared memory: a block has its SM to itself */

/* The cycles of a block's loads, and the SM on which it ran. */
struct timed {
    uint32_t line, next_line, hit, sm;
};

/* A line, again behind a barrier of the grid. */
__global__ void behind_barrier(struct timed *found, uint32_t zero)
{
    uint32_t value = zero;

    wait_for(0, &value);
    cg::this_grid().sync();
    const uint32_t line = wait_for(0, &value), hit = wait_for(4, &value);

    found[blockIdx.x] = {line, 0, hit, sm_id()};
}

/* The first block of a cluster reads a line, then the others. */
__global__ void __cluster_dims__(CLUSTER_BLOCKS) in_cluster(struct timed *found, uint32_t zero)
{
    const cg::cluster_group cluster = cg::this_cluster();
    uint32_t value = zero;

    if (cluster.block_rank() == 0)
        wait_for(0, &value);
    cluster.sync();
    const uint32_t line = wait_for(0, &value), hit = wait_for(4, &value);

    found[blockIdx.x] = {line, 0, hit, sm_id()};
}

struct parameters {
    uint32_t words[PARAMETER_WORDS]; /* zeros */
};

/* Cycles until a word of the parameters is there. `zero` and *value are 0, which the compiler does
 * not know: the load is behind the first reading of the clock, and the second behind the load. */
__device__ __forceinline__ uint32_t wait_for_parameter(const parameters &values, uint32_t byte,
                                                       uint32_t zero, uint32_t *value)
{
    const uint32_t start = (uint32_t)clock();

    *value = values.words[(byte + (start & zero) + *value) / 4];
    if (*value)
        asm volatile("trap;");
    return cycles_since(start);
}

/* Loads of a line, of its second word, which L1 has then, and of the next line. The second round
 * counts, by other lines: the first fetches the instructions. */
__global__ void of_parameters(const __grid_constant__ parameters values, struct timed *found,
                              const uint32_t *zeros_of_device)
{
    const uint32_t zero = zeros_of_device[threadIdx.x];
    uint32_t value = zero;

#pragma unroll 1
    for (uint32_t byte = FAR_BYTES / 2; byte <= FAR_BYTES; byte += FAR_BYTES / 2) {
        const uint32_t line = wait_for_parameter(values, byte, zero, &value),
                       hit = wait_for_parameter(values, byte + 4, zero, &value),
                       next = wait_for_parameter(values, byte + LINE_BYTES, zero, &value);

        found[blockIdx.x] = {line, next, hit, sm_id()};
    }
}

/* The median over blocks of a load's cycles more than a hit. */
static double more_than_a_hit(const std::vector<struct timed> &blocks,
                              uint32_t timed::*load = &timed::line)
{
    std::vector<double> found;

    for (const struct timed &block : blocks)
        found.push_back(double(block.*load) - double(block.hit));
    return median(found);
}

static double line_after_barrier(struct timed *found)
{
    uint32_t zero = 0;
    void *arguments[] = {&found, &zero};

    MUST(cudaLaunchCooperativeKernel((const void *)behind_barrier, dim3(sms()), dim3(1), arguments,
                                     0, nullptr));
    return more_than_a_hit(copied(found, sms()));
}

static double line_of_cluster(struct timed *found)
{
    std::vector<struct timed> others;

    in_cluster<<<CLUSTERS * CLUSTER_BLOCKS, 1, ALONE_BYTES>>>(found, 0);
    MUST(cudaGetLastError());
    const std::vector<struct timed> blocks = copied(found, CLUSTERS * CLUSTER_BLOCKS);
    for (size_t i = 0; i < blocks.size(); i++)
        if (i % CLUSTER_BLOCKS != 0) {
            if (blocks[i].sm == blocks[i - i % CLUSTER_BLOCKS].sm)
                fail("two blocks of a cluster ran on one SM");
            others.push_back(blocks[i]);
        }
    return more_than_a_hit(others);
}

static double of_parameter_loads(struct timed *found, uint32_t timed::*load)
{
    static const uint32_t *const no_words = zeros<uint32_t>(1);

    /* One block: other SMs of its group would bring lines into the L1.5 that they share. */
    of_parameters<<<1, 1>>>(parameters{}, found, no_words);
    MUST(cudaGetLastError());
    return more_than_a_hit(copied(found, 1), load);
}

int main(int argc, char **argv)
{
    const questions asked(argc, argv);
    struct timed *const found = zeros<struct timed>(std::max(sms(), CLUSTERS * CLUSTER_BLOCKS));

    MUST(
        cudaFuncSetAttribute(in_cluster, cudaFuncAttributeMaxDynamicSharedMemorySize, ALONE_BYTES));
    asked.answer("line_after_barrier", [&] { return line_after_barrier(found); });
    asked.answer("line_of_cluster", [&] { return line_of_cluster(found); });
    asked.answer("parameter_far_line", [&] { return of_parameter_loads(found, &timed::line); });
    asked.answer("parameter_next_line",
                 [&] { return of_parameter_loads(found, &timed::next_line); });
}
