/* SPDX-License-Identifier: MIT
 * A walk through 60 KB of constants on one SM, while other SMs walk: through tables of other
 * modules, or through the same. SMs of a group share an L1.5 constant cache; blocks of a cluster
 * run in one group. */
#include "measure.cuh"
#include "rival.cuh"

#include <chrono>
#include <numeric>

__global__ void first_rival(walk_args, volatile uint32_t *running, const volatile uint32_t *stop);
__global__ void second_rival(walk_args, volatile uint32_t *running, const volatile uint32_t *stop);
RIVAL_KERNEL(same_rival)

enum { PASSES = 8, BLOCKS_OF_SM = 4, CLUSTER_BLOCKS = 8, GROUP_LAUNCHES = 32, PATIENCE_MS = 1000 };
enum { ALONE_BYTES = 128 * 1024 }; /* of shared memory: a block has its SM to itself */

/* Cycles for a line of the walk, from the second pass on. */
__global__ void walker(walk_args args, float *cycles)
{
    uint32_t entry = args.zero;

    if (!walks(args))
        return;
    entry = walk_through(same_rival_table, entry);
    const uint64_t start = clock64() + entry;
#pragma unroll 1
    for (int pass = 0; pass < PASSES; pass++)
        entry = walk_through(same_rival_table, entry);
    if (entry)
        asm volatile("trap;"); /* the clock is behind the last load */
    *cycles = (float)(clock64() - start) / (PASSES * (WALK_BYTES / WALK_LINE_BYTES));
}

__global__ void __cluster_dims__(CLUSTER_BLOCKS) where(uint32_t *sm)
{
    const uint64_t start = now_ns();

    sm[blockIdx.x] = sm_id();
    while (now_ns() - start < SPREAD_NS)
        ;
}

/* The group of each SM: those whose blocks were ever in one cluster. */
static std::vector<int> groups_of_sms()
{
    const int blocks = sms() / CLUSTER_BLOCKS * CLUSTER_BLOCKS;
    std::vector<int> group(sms());
    uint32_t *const sm = zeros<uint32_t>(blocks);

    for (int i = 0; i < sms(); i++)
        group[i] = i;
    MUST(cudaFuncSetAttribute(where, cudaFuncAttributeMaxDynamicSharedMemorySize, ALONE_BYTES));
    for (int launch = 0; launch < GROUP_LAUNCHES; launch++) {
        where<<<blocks, 1, ALONE_BYTES>>>(sm);
        MUST(cudaGetLastError());
        const std::vector<uint32_t> found = copied(sm, blocks);
        for (int block = 0; block < blocks; block++) {
            const int from = group[found[block]], to = group[found[block - block % CLUSTER_BLOCKS]];

            std::replace(group.begin(), group.end(), from, to);
        }
    }
    MUST(cudaFree(sm));
    return group;
}

/* What a walk needs of the host, and the rivals that run. */
struct scene {
    cudaStream_t walking, streams[3];
    volatile uint32_t *running; /* of each SM; the host's memory, and the GPU writes 1 */
    volatile uint32_t *stop;
    float *cycles = zeros<float>(1);
    std::vector<int> group = groups_of_sms();

    scene()
    {
        MUST(cudaStreamCreateWithFlags(&walking, cudaStreamNonBlocking));
        for (cudaStream_t &stream : streams)
            MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        MUST(cudaHostAlloc((void **)&running, sms() * sizeof(*running), cudaHostAllocMapped));
        MUST(cudaHostAlloc((void **)&stop, sizeof(*stop), cudaHostAllocMapped));
    }

    /* SMs of the group of the first SM (or of others), behind the first itself. */
    std::vector<int> others(bool of_group) const
    {
        std::vector<int> found;

        for (int sm = 1; sm < sms(); sm++)
            if ((group[sm] == group[0]) == of_group)
                found.push_back(sm);
        return found;
    }
};

typedef void rival_kernel(walk_args, volatile uint32_t *running, const volatile uint32_t *stop);

/* A walk, and the SMs on which it runs. */
struct rival {
    rival_kernel *kernel;
    std::vector<int> sms;
};

/* Arguments of a walk on these SMs, whose memory stays until the process ends: a launch each. */
static walk_args walk_on(const std::vector<int> &wanted)
{
    uint8_t *const marks = zeros<uint8_t>(sms());
    const uint8_t walks_there = 1;

    for (const int sm : wanted)
        MUST(cudaMemcpy(marks + sm, &walks_there, 1, cudaMemcpyHostToDevice));
    return {marks, zeros<uint32_t>(sms()), 0};
}

/* Cycles for a line on the first SM, while rivals walk. */
static double walk_beside(const scene &scene, const std::vector<rival> &rivals)
{
    const int blocks = BLOCKS_OF_SM * sms();
    const walk_args walk = walk_on({0});
    std::vector<walk_args> of_rivals;
    uint32_t expected = 0;

    *scene.stop = 0;
    std::fill(scene.running, scene.running + sms(), 0u);
    MUST(cudaMemset(scene.cycles, 0, sizeof(*scene.cycles)));
    for (const rival &rival : rivals)
        of_rivals.push_back(walk_on(rival.sms));
    /* What fills memory is done before a kernel of another stream looks at it. */
    MUST(cudaDeviceSynchronize());
    for (size_t i = 0; i < rivals.size(); i++) {
        rivals[i].kernel<<<blocks, 1, 0, scene.streams[i]>>>(of_rivals[i], scene.running,
                                                             scene.stop);
        MUST(cudaGetLastError());
        expected += (uint32_t)rivals[i].sms.size();
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(PATIENCE_MS);
    while (std::accumulate(scene.running, scene.running + sms(), 0u) < expected)
        if (std::chrono::steady_clock::now() > until)
            fail("not every SM that should walk got a block");
    walker<<<blocks, 1, 0, scene.walking>>>(walk, scene.cycles);
    MUST(cudaGetLastError());
    MUST(cudaStreamSynchronize(scene.walking));
    *scene.stop = 1;
    MUST(cudaDeviceSynchronize());
    const float cycles = copied(scene.cycles, 1)[0];
    if (cycles <= 0)
        fail("the first SM got no block");
    return cycles;
}

int main(int argc, char **argv)
{
    const questions asked(argc, argv);
    const scene scene;
    const std::vector<int> near = scene.others(true), far = scene.others(false);
    const auto by_alone = [&](const std::vector<rival> &rivals) {
        return walk_beside(scene, rivals) / walk_beside(scene, {});
    };

    if (near.size() < 2 || far.size() < 2)
        fail("there are too few SMs in a group, or but one group");
    /* Modules are loaded here and not while rivals walk. */
    for (rival_kernel *const kernel : {first_rival, second_rival, same_rival}) {
        kernel<<<1, 1>>>(walk_on({}), scene.running, scene.stop);
        MUST(cudaGetLastError());
    }
    walk_beside(scene, {});
    asked.answer("neighbour_one", [&] { return by_alone({{first_rival, {near[0]}}}); });
    asked.answer("neighbour_two",
                 [&] { return by_alone({{first_rival, {near[0]}}, {second_rival, {near[1]}}}); });
    asked.answer("neighbour_two_far",
                 [&] { return by_alone({{first_rival, {far[0]}}, {second_rival, {far[1]}}}); });
    asked.answer("neighbour_same_two",
                 [&] { return by_alone({{same_rival, {near[0], near[1]}}}); });
    asked.answer("neighbour_same_all", [&] { return by_alone({{same_rival, near}}); });
}
