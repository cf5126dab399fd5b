// SPDX-License-Identifier: MIT
// CRC-32 of records of 64 bytes, by a table of 1 KB: each lookup waits for the one before.
#include <cbank.cuh>

CBANK_TABLE(remainders, unsigned, 256, constant);

template <class Table>
__global__ void crc32(Table table, const unsigned char *text, unsigned *crc, unsigned records)
{
    const unsigned record = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = ~0u;

    table.stage();
    if (record >= records)
        return;
    for (unsigned i = 0; i < 64; i++)
        value = table[(value ^ text[i * records + record]) & 255] ^ value >> 8;
    crc[record] = ~value;
}

CBANK_CASE(crc32, 1 << 17, 1 << 20)
{
    const auto table = entries<remainders>([](unsigned i) {
        for (int bit = 0; bit < 8; bit++)
            i = i & 1 ? i >> 1 ^ 0xEDB88320u : i >> 1;
        return i;
    });
    const auto text = input<unsigned char>(64 * size);
    const auto crc = output<unsigned>(size);
    const cbank_u64 records = size;

    launch(crc32<remainders>, (size + 255) / 256, 256)(table, text, crc, size);
    check(crc, [=](cbank_u64 record) {
        unsigned value = ~0u;

        for (cbank_u64 i = 0; i < 64 * 8; i++) {
            value ^= i % 8 ? 0u : text[i / 8 * records + record];
            value = value & 1 ? value >> 1 ^ 0xEDB88320u : value >> 1;
        }
        return ~value;
    });
}
