/* SPDX-License-Identifier: MIT
 * Random lookups in a table of about the size of L1: what its address does, and what shared memory
 * takes from L1. Times are those of whole launches that follow each other. */
#include "measure.cuh"

#include <functional>

enum {
    THREADS = 512,
    BLOCKS = 1024,
    LOOKUPS = 64,
    LAUNCHES = 4,
    PLACES = 24,
    LINE_BYTES = 128,
    KB = 1024,
    MB = 1024 * KB,
};

/* A different multiple of 512 bytes below 64 KB for each place. */
static size_t spread_bytes(uint32_t place)
{
    return place * 79 % 128 * 512;
}

__device__ inline uint32_t entry_of(uint32_t state, uint32_t entries)
{
    return (uint32_t)((uint64_t)state * entries >> 32);
}

__device__ inline uint32_t next_of(uint32_t state)
{
    return state * 1664525u + 1013904223u;
}

struct global_table {
    const uint32_t *entries;
    __device__ uint32_t operator[](uint32_t index) const
    {
        return entries[index];
    }
};

struct texture_table {
    cudaTextureObject_t texture;
    __device__ uint32_t operator[](uint32_t index) const
    {
        return tex1Dfetch<uint32_t>(texture, (int)index);
    }
};

template <class TABLE>
__global__ void __launch_bounds__(THREADS) look_up(TABLE table, uint32_t entries, uint32_t *sums)
{
    const uint32_t thread = blockIdx.x * THREADS + threadIdx.x;
    uint32_t state = thread * 2654435761u, sum = 0;

#pragma unroll 4
    for (int i = 0; i < LOOKUPS; i++, state = next_of(state))
        sum += table[entry_of(state, entries)];
    sums[thread] = sum;
}

/* The same beside a table in shared memory, which each block copies first. */
__global__ void __launch_bounds__(THREADS)
    look_up_both(const uint32_t *table, uint32_t entries, uint32_t shared_entries, uint32_t *sums)
{
    extern __shared__ uint32_t in_shared[];
    const uint32_t thread = blockIdx.x * THREADS + threadIdx.x;
    uint32_t state = thread * 2654435761u, sum = 0;

    for (uint32_t i = threadIdx.x; i < shared_entries; i += THREADS)
        in_shared[i] = table[i];
    __syncthreads();
#pragma unroll 4
    for (int i = 0; i < LOOKUPS; i++, state = next_of(state))
        sum += table[entry_of(state, entries)] + in_shared[entry_of(state, shared_entries)];
    sums[thread] = sum;
}

/* ms of launches, behind one that fills the caches. */
static float time_of(const std::function<void()> &launch)
{
    static cudaEvent_t start, end;
    float ms;

    if (!start) {
        MUST(cudaEventCreate(&start));
        MUST(cudaEventCreate(&end));
    }
    launch();
    MUST(cudaEventRecord(start));
    for (int i = 0; i < LAUNCHES; i++)
        launch();
    MUST(cudaEventRecord(end));
    MUST(cudaEventSynchronize(end));
    MUST(cudaGetLastError());
    MUST(cudaEventElapsedTime(&ms, start, end));
    return ms;
}

/* The time in the slowest place, by that in the fastest. */
template <class PLACE, class LAUNCH>
static double spread(const std::vector<PLACE> &places, const LAUNCH &launch)
{
    std::vector<float> times;

    for (const PLACE &place : places)
        times.push_back(time_of([&] { launch(place); }));
    return *std::max_element(times.begin(), times.end()) /
           *std::min_element(times.begin(), times.end());
}

int main(int argc, char **argv)
{
    const questions asked(argc, argv);
    uint32_t *const sums = zeros<uint32_t>(BLOCKS * THREADS);
    const char *const lines = (const char *)zeros<char>(4 * MB);
    std::vector<const uint32_t *> apart, alike, near;

    for (uint32_t place = 0; place < PLACES; place++) {
        const char *const memory = (const char *)zeros<char>(4 * MB);

        apart.push_back((const uint32_t *)(memory + spread_bytes(place)));
        alike.push_back((const uint32_t *)memory);
        near.push_back((const uint32_t *)(lines + place * LINE_BYTES));
    }
    const auto in_global = [=](size_t bytes, const std::vector<const uint32_t *> &places) {
        return spread(places, [=](const uint32_t *table) {
            look_up<<<BLOCKS, THREADS>>>(global_table{table}, (uint32_t)(bytes / 4), sums);
        });
    };
    const auto in_texture = [=](size_t bytes) {
        std::vector<cudaTextureObject_t> textures;
        for (const uint32_t *place : apart)
            textures.push_back(texture_of(place, bytes));
        const double found = spread(textures, [=](cudaTextureObject_t texture) {
            look_up<<<BLOCKS, THREADS>>>(texture_table{texture}, (uint32_t)(bytes / 4), sums);
        });
        for (const cudaTextureObject_t texture : textures)
            MUST(cudaDestroyTextureObject(texture));
        return found;
    };
    /* By a carve-out that has room for one block, to what the driver chooses. */
    const auto carved = [=](uint32_t shared_bytes, uint32_t bytes) {
        const auto timed = [=](int percent) {
            MUST(cudaFuncSetAttribute(look_up_both, cudaFuncAttributePreferredSharedMemoryCarveout,
                                      percent));
            return time_of([=] {
                look_up_both<<<BLOCKS, THREADS, shared_bytes>>>(apart[0], bytes / 4,
                                                                shared_bytes / 4, sums);
            });
        };
        MUST(cudaFuncSetAttribute(look_up_both, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)shared_bytes));
        return timed(0) / timed(cudaSharedmemCarveoutDefault);
    };

    asked.answer("address_192", [&] { return in_global(192 * KB, apart); });
    asked.answer("address_224", [&] { return in_global(224 * KB, apart); });
    asked.answer("address_320", [&] { return in_global(320 * KB, apart); });
    asked.answer("address_512", [&] { return in_global(512 * KB, apart); });
    asked.answer("address_alike", [&] { return in_global(256 * KB, alike); });
    asked.answer("address_near", [&] { return in_global(256 * KB, near); });
    asked.answer("address_texture_320", [&] { return in_texture(320 * KB); });
    asked.answer("carveout_64_192", [&] { return carved(64 * KB, 192 * KB); });
    asked.answer("carveout_32_224", [&] { return carved(32 * KB, 224 * KB); });
    asked.answer("carveout_16_64", [&] { return carved(16 * KB, 64 * KB); });
}
