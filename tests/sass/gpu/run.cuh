/* SPDX-License-Identifier: MIT
 * A file of the corpus on a GPU: arguments of its kernels, as tests/sass/host makes them. */
#ifndef CORPUS_GPU_H
#define CORPUS_GPU_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

enum { BUFFER_BYTES = 1 << 16, BLOCKS = 3, THREADS = 128 };

inline void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(3);
}

constexpr size_t number_bytes_of(size_t bytes)
{
    return bytes > 8 ? 4 : bytes;
}

/* Numbers from 0 to 31 of so many bytes each. */
inline std::vector<char> numbers(size_t bytes, size_t number_bytes)
{
    static uint64_t state = 1;
    std::vector<char> made(bytes);

    for (size_t i = 0; i < bytes; i += number_bytes) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        made[i] = (char)(state >> 59);
    }
    return made;
}

template <class T> void gpu_variable(T &symbol)
{
    const std::vector<char> made =
        numbers(sizeof(T), number_bytes_of(sizeof(std::remove_all_extents_t<T>)));

    must(cudaMemcpyToSymbol(symbol, made.data(), made.size()), "cudaMemcpyToSymbol");
}

inline void *gpu_memory(size_t number_bytes)
{
    const std::vector<char> made = numbers(BUFFER_BYTES, number_bytes);
    void *memory;

    must(cudaMalloc(&memory, BUFFER_BYTES), "cudaMalloc");
    must(cudaMemcpy(memory, made.data(), BUFFER_BYTES, cudaMemcpyHostToDevice), "cudaMemcpy");
    return memory;
}

/* The argument of that place among a kernel's. */
template <class T> struct gpu_argument {
    static T make(int)
    {
        const std::vector<char> made = numbers(sizeof(T), number_bytes_of(sizeof(T)));

        return *(const T *)made.data();
    }
};
template <class T> struct gpu_argument<T *> {
    static T *make(int)
    {
        return (T *)gpu_memory(number_bytes_of(sizeof(T)));
    }
};
template <> struct gpu_argument<cudaTextureObject_t> {
    static cudaTextureObject_t make(int)
    {
        cudaResourceDesc memory = {};
        cudaTextureDesc reading = {};
        cudaTextureObject_t texture;

        memory.resType = cudaResourceTypeLinear;
        memory.res.linear.devPtr = gpu_memory(4);
        memory.res.linear.sizeInBytes = BUFFER_BYTES;
        memory.res.linear.desc = cudaCreateChannelDesc<float>();
        must(cudaCreateTextureObject(&texture, &memory, &reading, nullptr), "a texture");
        return texture;
    }
};
template <> struct gpu_argument<int> {
    static int make(int place)
    {
        return 15 - place; /* 13 of the third, 12 of the fourth */
    }
};
template <> struct gpu_argument<float> {
    static float make(int)
    {
        return 1.5f;
    }
};

/* Launches a kernel once. */
template <class... T> void gpu_try(const char *name, dim3 block, void (*kernel)(T...))
{
    int place = 0;

    kernel<<<BLOCKS, block>>>(gpu_argument<T>::make(place++)...);
    must(cudaGetLastError(), name);
    must(cudaDeviceSynchronize(), name);
}

#endif
