// SPDX-License-Identifier: MIT
// A first kernel file. Measure it:        cbank spaces FILE.cu
// Check it on a machine without a GPU:    cbank spaces FILE.cu --compile-only
#include <cbank.cuh>

// A table: its name, the type of an entry, the number of entries, and where it lives. This is the
// line to change in the end: constant, global, readonly, shared ...
CBANK_TABLE(curve, float, 256, constant);

// The kernel takes the table by value, of any type: each memory space has its own.
template <class Table>
__global__ void tone_map(Table table, const unsigned char *in, float *out, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    table.stage(); // all threads of the block, before the first read
    if (i < count)
        out[i] = table[in[i]] * 2;
}

// How it is measured: the kernel's name, and sizes to try. The body runs for each, as `size`.
CBANK_CASE(tone_map, 1 << 20, 1 << 24)
{
    // What the table holds: a function of the position, random{}, zeros{} or npy{"file.npy"}.
    const auto table = entries<curve>([](unsigned i) { return i / 255.0f * (i / 255.0f); });
    // Buffers: what the kernel reads (random bytes), and what it writes.
    const auto in = input<unsigned char>(size);
    const auto out = output<float>(size);

    // The kernel with its table, blocks and threads of a block; then its arguments.
    launch(tone_map<curve>, (size + 255) / 256, 256)(table, in, out, size);
    // What it must write: the program computes it on the processor.
    check(out, [=](cbank_u64 i) { return table[in[i]] * 2; });
}
