// SPDX-License-Identifier: MIT
// AES-128 in counter mode by four tables of 1 KB: 160 lookups a block, at bytes that are as good as
// random.
#include <cbank.cuh>

CBANK_TABLE(te0, unsigned, 256, constant);
CBANK_TABLE(te1, unsigned, 256, constant);
CBANK_TABLE(te2, unsigned, 256, constant);
CBANK_TABLE(te3, unsigned, 256, constant);

__host__ __device__ inline unsigned left(unsigned w, unsigned bits)
{
    return w << bits | w >> (32 - bits);
}
__host__ __device__ inline unsigned twice(unsigned w)
{
    return (w << 1 & 0xfefefefe) ^ (w >> 7 & 0x01010101) * 0x1b;
}

template <class T0, class T1, class T2, class T3>
__global__ void aes_ctr(T0 t0, T1 t1, T2 t2, T3 t3, const unsigned *k, const uint4 *text,
                        uint4 *out, unsigned blocks)
{
    const unsigned block = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned s[4] = {k[0], k[1], k[2], k[3] ^ block}, t[4];
    t0.stage(), t1.stage(), t2.stage(), t3.stage();
    if (block >= blocks)
        return;
    for (unsigned round = 1; round < 10;
         round++, s[0] = t[0], s[1] = t[1], s[2] = t[2], s[3] = t[3])
        for (unsigned c = 0; c < 4; c++)
            t[c] = k[4 * round + c] ^ t0[s[c] >> 24] ^ t1[s[(c + 1) % 4] >> 16 & 255] ^
                   t2[s[(c + 2) % 4] >> 8 & 255] ^ t3[s[(c + 3) % 4] & 255];
    for (unsigned c = 0; c < 4;
         c++) // the last round: the S-box alone, which is a byte of each table
        t[c] = k[40 + c] ^ (t2[s[c] >> 24] & 0xff000000) ^
               (t3[s[(c + 1) % 4] >> 16 & 255] & 0xff0000) ^
               (t0[s[(c + 2) % 4] >> 8 & 255] & 0xff00) ^ (t1[s[(c + 3) % 4] & 255] & 0xff);
    const uint4 in = text[block];
    out[block] = make_uint4(in.x ^ t[0], in.y ^ t[1], in.z ^ t[2], in.w ^ t[3]);
}

CBANK_CASE(aes_ctr, 1 << 14, 1 << 19) // blocks of 16 bytes
{
    const auto te = [](unsigned i) {
        unsigned p = 1, q = i ? 1 : 0; // a power of 3, and its inverse
        for (; i && p != i; q = (q & 128 ? q ^ 9 : q) & 255)
            p ^= twice(p), q ^= q << 1, q ^= q << 2, q ^= q << 4;
        q |= q << 8, q = (q ^ q >> 4 ^ q >> 5 ^ q >> 6 ^ q >> 7 ^ 99) & 255; // the S-box
        return twice(q) << 24 | q << 16 | q << 8 | (twice(q) ^ q);
    };
    const auto t0 = entries<te0>(te);
    const auto t1 = entries<te1>([=](unsigned i) { return left(te(i), 24); });
    const auto t2 = entries<te2>([=](unsigned i) { return left(te(i), 16); });
    const auto t3 = entries<te3>([=](unsigned i) { return left(te(i), 8); });
    const auto keys =
        input<unsigned>(44); // random, and the same in every run: other keys take other times
    const auto text = input<uint4>(size);
    const auto out = output<uint4>(size);
    launch(aes_ctr<te0, te1, te2, te3>, (size + 255) / 256, 256)(t0, t1, t2, t3, keys, text, out,
                                                                 size);
    check(out, [=](cbank_u64 block) { // SubBytes and ShiftRows, MixColumns, AddRoundKey
        unsigned s[4] = {keys[0], keys[1], keys[2], keys[3] ^ (unsigned)block}, t[4] = {};
        for (unsigned round = 1; round <= 10; round++) {
            for (unsigned i = 0; i < 16; i++)
                t[i / 4] =
                    t[i / 4] << 8 | (t0[s[(i + i / 4) % 4] >> (24 - i % 4 * 8) & 255] >> 8 & 255);
            for (unsigned c = 0; c < 4; c++)
                s[c] =
                    keys[4 * round + c] ^ (round > 9 ? t[c]
                                                     : twice(t[c]) ^ left(twice(t[c]) ^ t[c], 8) ^
                                                           left(t[c], 16) ^ left(t[c], 24));
        }
        return uint4{text[block].x ^ s[0], text[block].y ^ s[1], text[block].z ^ s[2],
                     text[block].w ^ s[3]};
    });
}
