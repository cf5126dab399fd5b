// SPDX-License-Identifier: MIT
// Matrix by vector with weights of 4 bits: a word has eight codes, and a code stands for one of 16
// values of a byte. Each code is looked up, or with -DPERMUTE three instructions (PRMT) look up
// four codes. cbank run --kernel dot.cu --against dot.cu --against-options=-DPERMUTE says which is
// faster.
#include <cbank.cuh>

enum { COLUMNS = 4096 };

#ifdef PERMUTE
CBANK_TABLE(values, unsigned, 4, constant); // four values a word

// PRMT selects bytes of two words by three bits each. The fourth bit of a code says which two words
// have its value.
template <class Table> __device__ unsigned four_values(const Table &table, unsigned codes)
{
    const unsigned low = __byte_perm(table[0], table[1], codes),
                   high = __byte_perm(table[2], table[3], codes);

    return __byte_perm(low, high, 0x3210 | (codes & 0x8888) >> 1);
}
#else
CBANK_TABLE(values, unsigned char, 16, constant);

template <class Table> __device__ unsigned four_values(const Table &table, unsigned codes)
{
    unsigned word = 0;

    for (unsigned i = 0; i < 4; i++)
        word |= (unsigned)table[codes >> 4 * i & 15] << 8 * i;
    return word;
}
#endif

// A warp makes an element of y. Each thread takes eight codes, and as many numbers of x, at a time.
template <class Table>
__global__ void dot(Table table, const unsigned *codes, const int2 *x, int *y)
{
    const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;
    int sum = 0;

    table.stage(threadIdx.y * blockDim.x + threadIdx.x, blockDim.x * blockDim.y);
    for (unsigned i = threadIdx.x; i < COLUMNS / 8; i += 32) {
        const unsigned code = codes[row * (COLUMNS / 8) + i];

        sum = __dp4a((int)four_values(table, code), x[i].x, sum);
        sum = __dp4a((int)four_values(table, code >> 16), x[i].y, sum);
    }
    for (unsigned lanes = 16; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    if (threadIdx.x == 0)
        y[row] = sum;
}

CBANK_CASE(dot, 4096, 65536) // rows, a multiple of 4
{
    // Finer near zero: -116 to 116.
    const auto value = [](unsigned code) {
        const int of = 2 * (int)code - 15;
        return of * (of < 0 ? 16 - of : 16 + of) / 4;
    };
#ifdef PERMUTE
    const auto table = entries<values>([=](unsigned i) {
        unsigned word = 0;
        for (unsigned k = 0; k < 4; k++)
            word |= (value(4 * i + k) & 255u) << 8 * k;
        return word;
    });
#else
    const auto table = entries<values>([=](unsigned i) { return (unsigned char)value(i); });
#endif
    const auto codes = input<unsigned>(size * (COLUMNS / 8));
    const auto x = input<signed char>(COLUMNS);
    const auto y = output<int>(size);

    launch(dot<values>, size / 4, dim3(32, 4))(table, codes, (const int2 *)x.elements, y);
    check(y, [=](cbank_u64 row) {
        int sum = 0;
        for (unsigned i = 0; i < COLUMNS; i++)
            sum += value(codes[row * (COLUMNS / 8) + i / 8] >> i % 8 * 4 & 15) * x[i];
        return sum;
    });
}
