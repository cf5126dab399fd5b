// SPDX-License-Identifier: MIT
// Product quantisation: the distance from a query to each vector is the sum of 8 entries, one of
// each 256. A codebook's clusters are about equally full. The grid strides.
#include <cbank.cuh>

CBANK_TABLE(distances, float, 8 * 256, constant);

template <class Table>
__global__ void pq_scan(Table table, const uint2 *codes, float *out, unsigned vectors)
{
    table.stage();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < vectors;
         i += gridDim.x * blockDim.x) {
        const uint2 code = codes[i];
        float sum = 0;

        for (unsigned m = 0; m < 8; m++)
            sum += table[256 * m + ((m < 4 ? code.x : code.y) >> 8 * (m % 4) & 255)];
        out[i] = sum;
    }
}

CBANK_CASE(pq_scan, 1 << 18, 1 << 22) // vectors
{
    const auto table = entries<distances>();
    const auto codes = input<unsigned char>(8 * size);
    const auto out = output<float>(size);
    const unsigned blocks = (unsigned)(size + 255) / 256;

    launch(pq_scan<distances>, blocks < 1024 ? blocks : 1024,
           256)(table, (const uint2 *)codes.elements, out, size);
    check(out,
          [=](cbank_u64 i) {
              double sum = 0;
              for (unsigned m = 8; m-- > 0;)
                  sum += table[256 * m + codes[8 * i + m]];
              return sum;
          },
          {1e-6});
}
