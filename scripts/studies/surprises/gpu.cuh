/* SPDX-License-Identifier: MIT
 * What programs of studies share: errors of CUDA, memory of the GPU. */
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

enum { WARP = 32 };

[[noreturn]] inline void fail(const char *what, const char *why = "")
{
    fprintf(stderr, "%s%s%s\n", what, *why ? ": " : "", why);
    exit(3);
}

#define MUST(call) must((call), #call)
inline void must(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        fail(what, cudaGetErrorString(error));
}

/* Memory of the GPU, filled with zeros. */
template <class T> T *zeros(size_t count)
{
    T *memory;

    MUST(cudaMalloc(&memory, count * sizeof(T)));
    MUST(cudaMemset(memory, 0, count * sizeof(T)));
    return memory;
}

/* A table in it as a texture of words. The caller destroys it. */
inline cudaTextureObject_t texture_of(const uint32_t *table, size_t bytes)
{
    cudaResourceDesc memory = {};
    const cudaTextureDesc as_elements = {};
    cudaTextureObject_t texture;

    memory.resType = cudaResourceTypeLinear;
    memory.res.linear.devPtr = (void *)table;
    memory.res.linear.sizeInBytes = bytes;
    memory.res.linear.desc = cudaCreateChannelDesc<uint32_t>();
    MUST(cudaCreateTextureObject(&texture, &memory, &as_elements, nullptr));
    return texture;
}

template <class T> std::vector<T> copied(const T *memory, size_t count)
{
    std::vector<T> values(count);

    MUST(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
}

template <class T> T median(std::vector<T> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}
