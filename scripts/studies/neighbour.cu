/* SPDX-License-Identifier: MIT
 *
 * Something else that uses the GPU, for scripts/neighbour_trial.py: it prints "ready" once it is at it, and goes on until
 * its standard input ends.
 *
 * usage: neighbour compute|copy|idle
 *
 * compute: kernels of about 2 ms that fill every SM, one after the other. copy: 64 MiB to the device and back, over and
 * over, from pinned memory. idle: a context and nothing else. */
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

/* Whether whoever started this wants it to end. */
static bool is_over()
{
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    char byte;

    return poll(&in, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

int main(int count, char **words)
{
    const char *kind = count == 2 ? words[1] : "";
    const bool computes = strcmp(kind, "compute") == 0, copies = strcmp(kind, "copy") == 0;
    cudaDeviceProp device;
    char *host = nullptr, *there = nullptr;
    bool ready = false;

    if (!computes && !copies && strcmp(kind, "idle") != 0) {
        fprintf(stderr, "usage: neighbour compute|copy|idle\n");
        return 2;
    }
    if (cudaGetDeviceProperties(&device, 0) != cudaSuccess || cudaMallocHost(&host, COPIED_BYTES) != cudaSuccess ||
        cudaMalloc(&there, COPIED_BYTES) != cudaSuccess) {
        fprintf(stderr, "neighbour: no GPU, or no memory\n");
        return 3;
    }
    while (!is_over()) {
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
        ready = true;
        if (!computes && !copies)
            usleep(10000);
    }
    return 0;
}
