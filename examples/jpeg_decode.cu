// SPDX-License-Identifier: MIT
// JPEG blocks: coefficients times the quantisation table, by position, then the inverse cosine
// transform, whose cosines are the same for all threads. Coefficients are small at high
// frequencies.
#include <cbank.cuh>

CBANK_TABLE(quantisation, int, 64, constant);
CBANK_TABLE(cosines, float, 64, constant);

// 8 threads a block of 8x8: a column each, then a row each.
template <class Steps, class Cosines>
__global__ void jpeg_decode(Steps steps, Cosines cosines, const short *coefficients, float *pixels)
{
    __shared__ float tile[32][8][9];
    const unsigned lane = threadIdx.x % 8, block = threadIdx.x / 8,
                   first = (blockIdx.x * 32 + block) * 64;
    float in[8];

    steps.stage(), cosines.stage();
    for (unsigned v = 0; v < 8; v++)
        in[v] = (float)(coefficients[first + 8 * v + lane] * steps[8 * v + lane]);
    for (unsigned y = 0; y < 8; y++) {
        float sum = 0;
        for (unsigned v = 0; v < 8; v++)
            sum += in[v] * cosines[8 * y + v];
        tile[block][y][lane] = sum;
    }
    __syncthreads();
    for (unsigned x = 0; x < 8; x++) {
        float sum = 128;
        for (unsigned u = 0; u < 8; u++)
            sum += tile[block][lane][u] * cosines[8 * x + u];
        pixels[first + 8 * lane + x] = fminf(fmaxf(sum, 0), 255);
    }
}

CBANK_CASE(jpeg_decode, 1 << 12, 1 << 17) // blocks of 8x8, a multiple of 32
{
    const auto steps =
        entries<quantisation>([](unsigned i) { // for luminance: annex K of the standard
            const unsigned char luminance[] = {16,  11,  10,  16, 24,  40,  51,  61,  12,  12,  14,
                                               19,  26,  58,  60, 55,  14,  13,  16,  24,  40,  57,
                                               69,  56,  14,  17, 22,  29,  51,  87,  80,  62,  18,
                                               22,  37,  56,  68, 109, 103, 77,  24,  35,  55,  64,
                                               81,  104, 113, 92, 49,  64,  78,  87,  103, 121, 120,
                                               101, 72,  92,  95, 98,  112, 100, 103, 99};
            return luminance[i];
        });
    const auto factors = entries<cosines>([](unsigned i) {
        return (i % 8 ? 0.5 : 0.35355339059327376) *
               cos((2 * (i / 8) + 1) * (i % 8) * 0.19634954084936207);
    });
    const auto coefficients = input<short>(64 * size, [](cbank_u64 i) {
        const int largest = 24 / (1 + (int)(i % 8 + i / 8 % 8));
        return (int)(cbank::random_bits(1, i) % (2 * largest + 1)) - largest;
    });
    const auto pixels = output<float>(64 * size);
    items(64 * size);
    launch(jpeg_decode<quantisation, cosines>, size / 32, 256)(steps, factors, coefficients,
                                                               pixels);
    check(pixels,
          [=](cbank_u64 i) { // in two dimensions at once
              double sum = 128;
              for (unsigned k = 0; k < 64; k++)
                  sum += (double)factors[i % 64 / 8 * 8 + k / 8] * factors[i % 8 * 8 + k % 8] *
                         steps[k] * coefficients[i / 64 * 64 + k];
              return sum < 0 ? 0 : sum > 255 ? 255 : sum;
          },
          {0, 1e-2});
}
