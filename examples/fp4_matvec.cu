// SPDX-License-Identifier: MIT
// Matrix by vector with weights of 4 bits, as in MXFP4: 16 values of a byte, twice those of E2M1
// numbers. 32 weights have a scale of 8 bits. Weights are normal: codes of small values are
// frequent.
#include <cbank.cuh>

CBANK_TABLE(values, signed char, 16, constant);

// A warp makes an element of y. x has integers of 8 bits: each thread takes 8 of them, and as many
// codes, at a time.
template <class Table>
__global__ void fp4_matvec(Table table, const unsigned *codes, const unsigned char *exponents,
                           const uint2 *x, float *y, unsigned columns)
{
    const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;
    float sum = 0;

    table.stage(threadIdx.y * blockDim.x + threadIdx.x, blockDim.x * blockDim.y);
    for (unsigned i = threadIdx.x; i < columns / 8; i += 32) {
        const unsigned code = codes[row * columns / 8 + i];
        const uint2 bytes = x[i];
        int part = 0;

        for (unsigned j = 0; j < 8; j++)
            part += table[code >> 4 * j & 15] *
                    (signed char)((j < 4 ? bytes.x : bytes.y) >> 8 * (j % 4));
        sum += ldexpf((float)part, exponents[row * columns / 32 + i / 4] - 128);
    }
    for (unsigned lanes = 16; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    if (threadIdx.x == 0)
        y[row] = sum;
}

CBANK_CASE(fp4_matvec, 4096, 65536) // rows, a multiple of 4
{
    const unsigned columns = 4096;
    const auto table =
        entries<values>([](cbank_u64 i) { return "\0\1\2\3\4\6\10\14"[i % 8] * (i < 8 ? 1 : -1); });
    const auto codes = input<unsigned>(size * columns / 8,
                                       [](cbank_u64 i) { // the highest bit of three is mostly 0
                                           return cbank::random_bits(1, i) &
                                                  (cbank::random_bits(2, i) | 0xBBBBBBBBu);
                                       });
    const auto exponents = input<unsigned char>(size * columns / 32, [](cbank_u64 i) {
        return 120 + cbank::random_bits(3, i) % 8;
    });
    const auto x = input<signed char>(columns);
    const auto y = output<float>(size);

    launch(fp4_matvec<values>, size / 4, dim3(32, 4))(table, codes, exponents,
                                                      (const uint2 *)x.elements, y, columns);
    check(y,
          [=](cbank_u64 row) {
              double sum = 0;
              for (cbank_u64 i = row * columns; i < (row + 1) * columns; i++) {
                  const unsigned code = codes[i / 8] >> i % 8 * 4 & 15,
                                 exponent = code >> 1 & 3; // sign, exponent, mantissa
                  const double value =
                      exponent ? ldexp(1 + 0.5 * (code & 1), (int)exponent - 1) : 0.5 * (code & 1);
                  sum += (code & 8 ? -value : value) * x[i % columns] *
                         ldexp(1.0, exponents[i / 32] - 127);
              }
              return sum;
          },
          {1e-5, 0.05});
}
