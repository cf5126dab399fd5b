// SPDX-License-Identifier: MIT
// Weights of 4 bits to floats, as in the format NF4: 16 levels of a normal distribution, so that
// all codes are about equally frequent. 64 weights have a scale. The grid strides; a warp is never
// divided (size: a multiple of 32).
#include <cbank.cuh>

CBANK_TABLE(levels, float, 16, constant);

template <class Table>
__global__ void nf4_dequantize(Table table, const unsigned *codes, const float *scales, float4 *out,
                               unsigned words)
{
    table.stage();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < words;
         i += gridDim.x * blockDim.x) {
        const unsigned code = codes[i];
        const float scale = scales[i / 8];

        for (unsigned half = 0; half < 2; half++) {
            const unsigned four = code >> 16 * half;

            out[2 * i + half] =
                make_float4(table[four & 15] * scale, table[four >> 4 & 15] * scale,
                            table[four >> 8 & 15] * scale, table[four >> 12 & 15] * scale);
        }
    }
}

CBANK_CASE(nf4_dequantize, 1 << 16, 1 << 21) // words of 8 weights
{
    const auto level = [](unsigned i) {
        const float published[] = {-1.0f,        -0.69619280f, -0.52507305f, -0.39491749f,
                                   -0.28444138f, -0.18477343f, -0.09105004f, 0.0f,
                                   0.07958030f,  0.16093020f,  0.24611230f,  0.33791524f,
                                   0.44070983f,  0.56261700f,  0.72295684f,  1.0f};
        return published[i];
    };
    const auto table = entries<levels>(level);
    const auto codes = input<unsigned>(size);
    const auto scales = input<float>((size + 7) / 8);
    const auto out = output<float>(8 * size);
    const unsigned blocks = size < 1 << 18 ? (unsigned)(size + 255) / 256 : 1024;

    items(8 * size);
    launch(nf4_dequantize<levels>, blocks, 256)(table, codes, scales, (float4 *)out.elements, size);
    check(out, [=](cbank_u64 i) { return level(codes[i / 8] >> i % 8 * 4 & 15) * scales[i / 64]; });
}
