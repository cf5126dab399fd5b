// SPDX-License-Identifier: MIT
//
// The measurement of cbank in one plain program: the cost of reading a table of 64 KB from constant
// memory, and from global memory. Each thread of a warp reads an entry of its own.
//
//     make minimal && build/minimal [ELEMENTS], or: nvcc -O3 -arch=native -o minimal minimal.cu
//
// It prints the time of one launch on each path, and their ratio. docs/method.md says what cbank
// does beyond this, and how that moves the times. Exit code: 0 measured, 1 a wrong output, 3 no GPU
// or an error of CUDA.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr uint32_t table_length = 16384; // entries of 4 bytes: 64 KB, the most of constant memory
constexpr uint32_t block_threads = 1024;
constexpr int warmup_launches = 5;
constexpr int sample_launches = 50; // between two events, whose resolution is half a microsecond
constexpr int sample_count = 11; // odd, so that the median is one of them

__constant__ uint32_t constant_table[table_length];

// The entry that a thread of a block reads. The 32 threads of a warp read 32 addresses.
__host__ __device__ uint32_t pattern(uint32_t thread)
{
    return thread * 1357u % table_length;
}

// out = in + table. The two kernels differ in the load of the table alone.
__global__ void add_constant(const uint32_t *in, const uint32_t * /* table */, uint32_t *out,
                             uint32_t elements)
{
    const uint32_t i = blockIdx.x * block_threads + threadIdx.x;

    if (i < elements)
        out[i] = in[i] + constant_table[pattern(threadIdx.x)];
}

__global__ void add_global(const uint32_t *in, const uint32_t *table, uint32_t *out,
                           uint32_t elements)
{
    const uint32_t i = blockIdx.x * block_threads + threadIdx.x;

    if (i < elements)
        out[i] = in[i] + table[pattern(threadIdx.x)];
}

struct path {
    const char *name;
    decltype(&add_constant) kernel;
    std::vector<double> us; // of one launch, by sample
};

static std::vector<uint32_t> in, table; // on the host
static uint32_t *device_in, *device_table, *device_out;

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "minimal: %s: %s\n", what, cudaGetErrorString(error));
        exit(3);
    }
}

static void launch(const path &path, int times)
{
    const uint32_t elements = in.size(), blocks = (elements + block_threads - 1) / block_threads;

    for (int i = 0; i < times; i++)
        path.kernel<<<blocks, block_threads>>>(device_in, device_table, device_out, elements);
    check(cudaGetLastError(), path.name);
}

// Fills `words` with random contents, so that a load from a wrong place gives a wrong sum. Returns
// a copy on the device.
static uint32_t *fill(std::vector<uint32_t> &words, uint32_t count, uint32_t seed)
{
    uint32_t *device;

    for (uint32_t i = 0; i < count; i++)
        words.push_back(seed = seed * 1664525u + 1013904223u);
    check(cudaMalloc(&device, count * sizeof(uint32_t)), "cudaMalloc");
    check(cudaMemcpy(device, words.data(), count * sizeof(uint32_t), cudaMemcpyDefault), "copy");
    return device;
}

// Overwrites the output, launches once and compares every element with the CPU.
static void verify(const path &path)
{
    std::vector<uint32_t> out(in.size());

    check(cudaMemset(device_out, 0xa5, out.size() * sizeof(uint32_t)), "cudaMemset");
    launch(path, 1);
    check(cudaMemcpy(out.data(), device_out, out.size() * sizeof(uint32_t), cudaMemcpyDefault),
          path.name);
    for (uint32_t i = 0; i < out.size(); i++)
        if (out[i] != in[i] + table[pattern(i % block_threads)]) {
            fprintf(stderr, "minimal: %s: element %u is wrong\n", path.name, i);
            exit(1);
        }
}

// The time of one launch among many: the launches follow each other without a wait of the host.
static double sample_us(const path &path, cudaEvent_t start, cudaEvent_t end)
{
    float ms;

    launch(path, warmup_launches);
    check(cudaEventRecord(start), "cudaEventRecord");
    launch(path, sample_launches);
    check(cudaEventRecord(end), "cudaEventRecord");
    check(cudaEventSynchronize(end), path.name);
    check(cudaEventElapsedTime(&ms, start, end), "cudaEventElapsedTime");
    return 1e3 * ms / sample_launches;
}

int main(int argc, char **argv)
{
    const uint32_t elements = argc > 1 ? std::max(1, atoi(argv[1])) : 12800000;
    path paths[] = {{"constant", add_constant, {}}, {"global", add_global, {}}};
    cudaDeviceProp properties;
    cudaEvent_t start, end;

    check(cudaGetDeviceProperties(&properties, 0), "there is no GPU to measure on");
    check(cudaEventCreate(&start), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");
    device_in = fill(in, elements, 1);
    device_table = fill(table, table_length, 2);
    check(cudaMemcpyToSymbol(constant_table, table.data(), sizeof(constant_table)), "copy");
    check(cudaMalloc(&device_out, elements * sizeof(uint32_t)), "cudaMalloc");

    for (const path &path : paths)
        verify(path);
    for (int i = 0; i < sample_count; i++) // in turns: what drifts moves both paths alike
        for (path &path : paths)
            path.us.push_back(sample_us(path, start, end));

    printf("%s: %u elements, %d samples of %d launches\n", properties.name, elements, sample_count,
           sample_launches);
    for (path &path : paths) {
        std::sort(path.us.begin(), path.us.end());
        printf("%-8s %10.3f us a launch (%.3f to %.3f)\n", path.name, path.us[sample_count / 2],
               path.us.front(), path.us.back());
    }
    printf("constant / global: %.3f\n",
           paths[0].us[sample_count / 2] / paths[1].us[sample_count / 2]);
}
