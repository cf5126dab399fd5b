// SPDX-License-Identifier: MIT
// Reed-Solomon coding, 10 shards of data to 4 of parity. A product in GF(256) takes a logarithm,
// then a power. The data are compressed: bytes as good as random.
#include <cbank.cuh>

CBANK_TABLE(logarithms, unsigned char, 256, constant);
CBANK_TABLE(powers, unsigned char, 512, constant);

enum { DATA = 10, PARITY = 4 };

template <class Logarithms, class Powers>
__global__ void reed_solomon(Logarithms logarithm, Powers power, const unsigned char *matrix,
                             const unsigned char *data, unsigned char *parity, unsigned length)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum[PARITY] = {};

    logarithm.stage(), power.stage();
    if (i >= length)
        return;
    for (unsigned j = 0; j < DATA; j++) {
        const unsigned byte = data[j * length + i], exponent = logarithm[byte];

        for (unsigned k = 0; k < PARITY; k++)
            sum[k] ^= byte ? power[exponent + logarithm[matrix[k * DATA + j]]] : 0;
    }
    for (unsigned k = 0; k < PARITY; k++)
        parity[k * length + i] = sum[k];
}

// Modulo the polynomial x^8 + x^4 + x^3 + x^2 + 1.
__host__ __device__ inline unsigned twice(unsigned a)
{
    return a << 1 ^ (a & 128 ? 0x11D : 0);
}

CBANK_CASE(reed_solomon, 1 << 16, 1 << 20) // bytes of a shard
{
    const cbank_u64 length = size;
    const auto logarithm = entries<logarithms>([](unsigned i) { // of 2; 0 has none
        unsigned exponent = 0;
        for (unsigned power = 1; power != i && exponent < 255; exponent++)
            power = twice(power);
        return exponent;
    });
    const auto power = entries<powers>([](unsigned i) {
        unsigned power = 1;
        for (; i > 0; i--)
            power = twice(power);
        return power;
    });
    const auto matrix = input<unsigned char>(PARITY * DATA, [](unsigned i) { return 6 * i + 1; });
    const auto data = input<unsigned char>(DATA * size);
    const auto parity = output<unsigned char>(PARITY * size);
    launch(reed_solomon<logarithms, powers>, (size + 255) / 256, 256)(logarithm, power, matrix,
                                                                      data, parity, size);
    check(parity, [=](cbank_u64 i) {
        unsigned sum = 0;
        for (unsigned j = 0; j < DATA; j++)
            for (unsigned a = data[j * length + i % length], b = matrix[i / length * DATA + j]; b;
                 b /= 2, a = twice(a))
                sum ^= b & 1 ? a : 0;
        return sum;
    });
}
