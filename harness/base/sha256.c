/* SPDX-License-Identifier: MIT
 * SHA-256, written from FIPS 180-4, sections 4.1.2, 4.2.2, 5 and 6.2. The padding of the last block
 * is made apart, so that a message is never copied. */
#include "sha256.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_BYTES = 64, LENGTH_BYTES = 8, ROUNDS = 64, WORDS = 8 };

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate_right(uint32_t x, unsigned bits)
{
    return x >> bits | x << (32 - bits);
}

/* One round (FIPS 180-4, 6.2.2). Where the standard renames all eight words, the caller passes them
 * one place further: only d and h get new values. `added` is the constant and the word of the
 * message. NOLINTNEXTLINE(readability-function-size) */
static inline void round_of(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e, uint32_t f,
                            uint32_t g, uint32_t *h, uint32_t added)
{
    const uint32_t s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
    const uint32_t t1 = *h + s1 + ((e & f) ^ (~e & g)) + added;
    const uint32_t s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);

    *d += t1;
    *h = t1 + s0 + ((a & b) ^ (a & c) ^ (b & c));
}

/* Blocks of a message (FIPS 180-4, 6.2.2). The words a to h stay in registers. */
static void compress(uint32_t state[WORDS], const unsigned char *message, size_t blocks)
{
    for (; blocks > 0; blocks--, message += BLOCK_BYTES) {
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
        uint32_t w[ROUNDS];

        for (unsigned t = 0; t < 16; t++)
            w[t] = (uint32_t)message[4 * t] << 24 | (uint32_t)message[4 * t + 1] << 16 |
                   (uint32_t)message[4 * t + 2] << 8 | message[4 * t + 3];
        for (unsigned t = 16; t < ROUNDS; t++)
            w[t] = w[t - 16] + w[t - 7] +
                   (rotate_right(w[t - 15], 7) ^ rotate_right(w[t - 15], 18) ^ w[t - 15] >> 3) +
                   (rotate_right(w[t - 2], 17) ^ rotate_right(w[t - 2], 19) ^ w[t - 2] >> 10);
        for (unsigned t = 0; t < ROUNDS; t += WORDS) {
            const uint32_t *k = round_constants + t, *x = w + t;

            round_of(a, b, c, &d, e, f, g, &h, k[0] + x[0]);
            round_of(h, a, b, &c, d, e, f, &g, k[1] + x[1]);
            round_of(g, h, a, &b, c, d, e, &f, k[2] + x[2]);
            round_of(f, g, h, &a, b, c, d, &e, k[3] + x[3]);
            round_of(e, f, g, &h, a, b, c, &d, k[4] + x[4]);
            round_of(d, e, f, &g, h, a, b, &c, k[5] + x[5]);
            round_of(c, d, e, &f, g, h, a, &b, k[6] + x[6]);
            round_of(b, c, d, &e, f, g, h, &a, k[7] + x[7]);
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d;
        state[4] += e, state[5] += f, state[6] += g, state[7] += h;
    }
}

void sha256_hex(const void *data, size_t bytes, char hex[SHA256_HEX_BYTES])
{
    /* First 32 bits of the fractional parts of the square roots of the first 8 primes. */
    uint32_t state[WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    /* The last one or two blocks: the rest of the message, a 1 bit, zeros and the length in
     * bits. */
    unsigned char tail[2 * BLOCK_BYTES] = {0};
    const size_t left = bytes % BLOCK_BYTES,
                 total = left + 1 + LENGTH_BYTES <= BLOCK_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES;

    if (left > 0)
        memcpy(tail, (const unsigned char *)data + bytes - left, left);
    tail[left] = 0x80;
    for (unsigned i = 0; i < LENGTH_BYTES; i++)
        tail[total - 1 - i] = (unsigned char)((uint64_t)bytes * 8 >> 8 * i);
    compress(state, data, bytes / BLOCK_BYTES);
    compress(state, tail, total / BLOCK_BYTES);
    for (unsigned i = 0; i < WORDS; i++)
        snprintf(hex + 8 * (size_t)i, 9, "%08x", (unsigned)state[i]);
}
