// SPDX-License-Identifier: MIT
// Points of a Sobol sequence in four dimensions, from direction numbers: all threads of a block
// read the same entry.
#include <cbank.cuh>

CBANK_TABLE(directions, unsigned, 4 * 32, constant);

template <class Table> __global__ void sobol(Table table, float *out, unsigned points)
{
    const unsigned point = blockIdx.x * blockDim.x + threadIdx.x, dimension = blockIdx.y;
    const unsigned gray = point ^ point >> 1;
    unsigned value = 0;

    table.stage();
    for (unsigned bit = 0; bit < 32; bit++)
        value ^= gray >> bit & 1 ? table[32 * dimension + bit] : 0;
    if (point < points)
        out[dimension * points + point] = (float)(value >> 8) / 16777216.0f;
}

// The direction numbers of a dimension, by the recurrence of a primitive polynomial (Joe and Kuo),
// as 32-bit fractions.
__host__ __device__ inline void number(unsigned dimension, unsigned *numbers)
{
    const unsigned polynomials[4] = {0, 0, 1, 1},
                   initial[3] = {1, 3, 1}; // without the first and the last term

    for (unsigned k = 0; k < 32; k++) {
        if (dimension == 0 || k < dimension) { // the degree is the number of the dimension
            numbers[k] = (dimension ? initial[k] : 1u) << (31 - k);
            continue;
        }
        numbers[k] = numbers[k - dimension] ^ numbers[k - dimension] >> dimension;
        for (unsigned j = 1; j < dimension; j++)
            numbers[k] ^= polynomials[dimension] >> (dimension - 1 - j) & 1 ? numbers[k - j] : 0;
    }
}

CBANK_CASE(sobol, 1 << 16, 1 << 21) // points
{
    const cbank_u64 points = size;
    const auto table = entries<directions>([](unsigned i) {
        unsigned numbers[32];
        number(i / 32, numbers);
        return numbers[i % 32];
    });
    const auto out = output<float>(4 * size);

    items(4 * size);
    launch(sobol<directions>, dim3((size + 255) / 256, 4), 256)(table, out, size);
    check(out, [=](cbank_u64 i) {
        const unsigned point = (unsigned)(i % points);
        unsigned numbers[32], value = 0;
        number((unsigned)(i / points), numbers);
        for (unsigned bits = point ^ point >> 1, k = 0; bits; bits >>= 1, k++)
            value ^= (bits & 1) * numbers[k];
        return (value >> 8) / 16777216.0;
    });
}
