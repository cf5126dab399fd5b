/* SPDX-License-Identifier: MIT
 *
 * Another process, while scripts/studies/neighbour_trial.py measures. It prints "ready" once it
 * uses the GPU, and ends with its standard input.
 *
 * usage: neighbour compute|copy|idle
 *
 * compute: kernels of about 2 ms that fill every SM, one after the other. copy: 64 MiB to the
 * device and back, again and again, from pinned memory. idle: a context and nothing else. Exit
 * status: 1 an error of CUDA, 2 usage. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime.h>

static const size_t COPIED_BYTES = 64 << 20;

__global__ void busy(long long cycles, float *out)
{
    const long long start = clock64();
    float value = threadIdx.x;

    while (clock64() - start < cycles)
        value = value * 0.999f + 1;
    if (value < 0)
        *out = value;
}

int main(int count, char **words)
{
    const char *kind = count == 2 ? words[1] : "";
    const bool computes = strcmp(kind, "compute") == 0, copies = strcmp(kind, "copy") == 0;
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    cudaDeviceProp device;
    char *host = nullptr, *there = nullptr;

    if (!computes && !copies && strcmp(kind, "idle") != 0)
        return 2;
    if (cudaGetDeviceProperties(&device, 0) != cudaSuccess ||
        cudaMallocHost(&host, COPIED_BYTES) != cudaSuccess ||
        cudaMalloc(&there, COPIED_BYTES) != cudaSuccess)
        return 1;
    for (bool ready = false; poll(&in, 1, computes || copies ? 0 : 10) == 0; ready = true) {
        if (computes)
            busy<<<8 * device.multiProcessorCount, 256>>>(4000000, (float *)there);
        if (copies) {
            cudaMemcpyAsync(there, host, COPIED_BYTES, cudaMemcpyHostToDevice);
            cudaMemcpyAsync(host, there, COPIED_BYTES, cudaMemcpyDeviceToHost);
        }
        if (cudaDeviceSynchronize() != cudaSuccess)
            return 1;
        if (!ready)
            printf("ready\n"), fflush(stdout);
    }
    return 0;
}
