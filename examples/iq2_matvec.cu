// SPDX-License-Identifier: MIT
// Matrix by vector with weights of 2 bits, as in the IQ2 formats: a byte is the index of 8
// magnitudes, another byte has their signs. Small magnitudes are frequent: the bits of indices are
// mostly zeros.
#include <cbank.cuh>

CBANK_TABLE(grid, uint2, 256, constant);

// A warp makes an element of y: each thread takes 8 weights at a time. 32 weights have a scale.
template <class Table>
__global__ void iq2_matvec(Table table, const uchar2 *weights, const float *scales, const float4 *x,
                           float *y, unsigned columns)
{
    const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;
    float sum = 0;

    table.stage(threadIdx.y * blockDim.x + threadIdx.x, blockDim.x * blockDim.y);
    for (unsigned i = threadIdx.x; i < columns / 8; i += 32) {
        const uchar2 coded = weights[row * columns / 8 + i];
        const uint2 magnitudes = table[coded.x];
        const float4 low = x[2 * i], high = x[2 * i + 1];
        const auto weight = [=](unsigned j) {
            const float magnitude =
                (float)((j < 4 ? magnitudes.x : magnitudes.y) >> 8 * (j % 4) & 255);
            return coded.y >> j & 1 ? -magnitude : magnitude;
        };

        sum += scales[row * columns / 32 + i / 4] *
               (weight(0) * low.x + weight(1) * low.y + weight(2) * low.z + weight(3) * low.w +
                weight(4) * high.x + weight(5) * high.y + weight(6) * high.z + weight(7) * high.w);
    }
    for (unsigned lanes = 16; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    if (threadIdx.x == 0)
        y[row] = sum;
}

CBANK_CASE(iq2_matvec, 4096, 65536) // rows, a multiple of 4
{
    const unsigned columns = 4096;
    const auto magnitude = [](cbank_u64 entry, unsigned j) {
        return cbank::random_bits(j, entry) % 3 * 35 / 2 + 8;
    };
    const auto half = [=](cbank_u64 entry, unsigned j) {
        return (unsigned)(magnitude(entry, j) | magnitude(entry, j + 1) << 8 |
                          magnitude(entry, j + 2) << 16 | magnitude(entry, j + 3) << 24);
    };
    const auto table = entries<grid>([=](cbank_u64 i) { return uint2{half(i, 0), half(i, 4)}; });
    const auto weights = input<uchar2>(size * columns / 8, [](cbank_u64 i) {
        const cbank_u64 bits = cbank::random_bits(8, i);
        return uchar2{(unsigned char)(bits & bits >> 16), (unsigned char)(bits >> 32)};
    });
    const auto scales = input<float>(size * columns / 32), x = input<float>(columns);
    const auto y = output<float>(size);

    launch(iq2_matvec<grid>, size / 4, dim3(32, 4))(table, weights, scales,
                                                    (const float4 *)x.elements, y, columns);
    check(y,
          [=](cbank_u64 row) {
              double sum = 0;
              for (cbank_u64 i = row * columns; i < (row + 1) * columns; i++)
                  sum += (weights[i / 8].y >> i % 8 & 1 ? -1.0 : 1.0) *
                         magnitude(weights[i / 8].x, i % 8) * scales[i / 32] * x[i % columns];
              return sum;
          },
          {1e-5, 0.05});
}
