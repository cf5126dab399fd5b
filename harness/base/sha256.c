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

/* Blocks of a message (FIPS 180-4, 6.2.2). */
static void compress(uint32_t state[WORDS], const unsigned char *message, size_t blocks)
{
    for (; blocks > 0; blocks--, message += BLOCK_BYTES) {
        uint32_t w[ROUNDS], v[WORDS];

        for (unsigned t = 0; t < 16; t++)
            w[t] = (uint32_t)message[4 * t] << 24 | (uint32_t)message[4 * t + 1] << 16 |
                   (uint32_t)message[4 * t + 2] << 8 | message[4 * t + 3];
        for (unsigned t = 16; t < ROUNDS; t++)
            w[t] = w[t - 16] + w[t - 7] +
                   (rotate_right(w[t - 15], 7) ^ rotate_right(w[t - 15], 18) ^ w[t - 15] >> 3) +
                   (rotate_right(w[t - 2], 17) ^ rotate_right(w[t - 2], 19) ^ w[t - 2] >> 10);
        memcpy(v, state, sizeof(v)); /* a .. h */
        for (unsigned t = 0; t < ROUNDS; t++) {
            const uint32_t s1 =
                rotate_right(v[4], 6) ^ rotate_right(v[4], 11) ^ rotate_right(v[4], 25);
            const uint32_t t1 =
                v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + round_constants[t] + w[t];
            const uint32_t s0 =
                rotate_right(v[0], 2) ^ rotate_right(v[0], 13) ^ rotate_right(v[0], 22);
            const uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

            memmove(v + 1, v, 7 * sizeof(*v));
            v[4] += t1;
            v[0] = t1 + t2;
        }
        for (unsigned i = 0; i < WORDS; i++)
            state[i] += v[i];
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
