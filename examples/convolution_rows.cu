// SPDX-License-Identifier: MIT
// A filter of 17 coefficients along the rows of a picture: all threads read the same entry, and the
// loop is unrolled.
#include <cbank.cuh>

CBANK_TABLE(coefficients, float, 17, constant);

enum { RADIUS = 8, WIDTH = 4096 };

template <class Table> __global__ void convolution_rows(Table table, const float *in, float *out)
{
    __shared__ float tile[4][64 + 2 * RADIUS];
    const int x = blockIdx.x * 64 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    float sum = 0;

    table.stage(threadIdx.y * blockDim.x + threadIdx.x, blockDim.x * blockDim.y);
    for (int i = threadIdx.x; i < 64 + 2 * RADIUS; i += 64)
        tile[threadIdx.y][i] =
            in[y * WIDTH + min(max(x - (int)threadIdx.x + i - RADIUS, 0), WIDTH - 1)];
    __syncthreads();
#pragma unroll
    for (int k = 0; k <= 2 * RADIUS; k++)
        sum += table[k] * tile[threadIdx.y][threadIdx.x + k];
    out[y * WIDTH + x] = sum;
}

CBANK_CASE(convolution_rows, 256, 4096) // rows of 4096 pixels, a multiple of 4
{
    const auto table =
        entries<coefficients>([](int i) { return 0.1329808f * expf(-(i - 8) * (i - 8) / 18.0f); });
    const auto in = input<float>(size * WIDTH);
    const auto out = output<float>(size * WIDTH);

    items(size * WIDTH);
    launch(convolution_rows<coefficients>, dim3(WIDTH / 64, size / 4), dim3(64, 4))(table, in, out);
    check(out,
          [=](cbank_u64 i) {
              double sum = 0;
              for (int k = -RADIUS; k <= RADIUS; k++) {
                  const int x = (int)(i % WIDTH) + k;
                  sum += (double)table[k + RADIUS] * in[i - i % WIDTH +
                                                        (x < 0       ? 0
                                                         : x < WIDTH ? x
                                                                     : WIDTH - 1)];
              }
              return sum;
          },
          {1e-5, 1e-6});
}
