/* SPDX-License-Identifier: MIT
 * Written from FIPS 180-4, sections 4.1.2, 4.2.2, 5 and 6.2. */
#include "sha256.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

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

static uint32_t big_endian_word(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* The message schedule of one block (FIPS 180-4, 6.2.2 step 1). */
static void schedule(const unsigned char *block, uint32_t w[ROUNDS])
{
    for (unsigned t = 0; t < 16; t++)
        w[t] = big_endian_word(block + 4 * t);
    for (unsigned t = 16; t < ROUNDS; t++) {
        const uint32_t s0 = rotate_right(w[t - 15], 7) ^ rotate_right(w[t - 15], 18) ^ w[t - 15] >> 3;
        const uint32_t s1 = rotate_right(w[t - 2], 17) ^ rotate_right(w[t - 2], 19) ^ w[t - 2] >> 10;

        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
}

/* One round (FIPS 180-4, 6.2.2 step 3). Instead of moving all words on by one, the next round is given them moved on. */
#define ROUND(a, b, c, d, e, f, g, h, t)                                                         \
    do {                                                                                         \
        const uint32_t s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);      \
        const uint32_t t1 = (h) + s1 + (((e) & (f)) ^ (~(e) & (g))) + round_constants[t] + w[t]; \
        const uint32_t s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);      \
        (d) += t1;                                                                               \
        (h) = t1 + s0 + (((a) & (b)) ^ ((a) & (c)) ^ ((b) & (c)));                               \
    } while (0)

static void compress_anywhere(uint32_t state[WORDS], const unsigned char *block)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    uint32_t w[ROUNDS];

    schedule(block, w);
    for (unsigned t = 0; t < ROUNDS; t += WORDS) {
        ROUND(a, b, c, d, e, f, g, h, t);
        ROUND(h, a, b, c, d, e, f, g, t + 1);
        ROUND(g, h, a, b, c, d, e, f, t + 2);
        ROUND(f, g, h, a, b, c, d, e, t + 3);
        ROUND(e, f, g, h, a, b, c, d, t + 4);
        ROUND(d, e, f, g, h, a, b, c, t + 5);
        ROUND(c, d, e, f, g, h, a, b, t + 6);
        ROUND(b, c, d, e, f, g, h, a, t + 7);
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

#ifdef __x86_64__

/* By instructions of the processor, whose operands are halves of the state: a, b, e, f and c, d, g, h. */
__attribute__((target("sha,sse4.1"))) static void compress_quickly(uint32_t state[WORDS], const unsigned char *block)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
    const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state + 1), 0x1b);
    const __m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
    __m128i first = abef, second = cdgh, w[4];

    for (unsigned i = 0; i < 4; i++)
        w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)block + i), big_endian);
    for (unsigned t = 0; t < ROUNDS; t += 4) {
        const __m128i sum = _mm_add_epi32(w[0], _mm_loadu_si128((const __m128i *)(round_constants + t)));
        const __m128i before = _mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]), _mm_alignr_epi8(w[3], w[2], 4));

        second = _mm_sha256rnds2_epu32(second, first, sum);
        first = _mm_sha256rnds2_epu32(first, second, _mm_shuffle_epi32(sum, 0x0e));
        w[0] = w[1], w[1] = w[2], w[2] = w[3];
        w[3] = _mm_sha256msg2_epu32(before, w[2]);
    }
    first = _mm_shuffle_epi32(_mm_add_epi32(first, abef), 0x1b);
    second = _mm_shuffle_epi32(_mm_add_epi32(second, cdgh), 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(first, second, 0xf0));
    _mm_storeu_si128((__m128i *)state + 1, _mm_alignr_epi8(second, first, 8));
}

static bool is_quick(void)
{
    unsigned a, b, c, d, more;

    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSE4_1 && __get_cpuid_count(7, 0, &a, &more, &c, &d) &&
           more & bit_SHA;
}

#endif

static void compress(uint32_t state[WORDS], const unsigned char *message, size_t blocks)
{
    void (*one)(uint32_t state[WORDS], const unsigned char *block) = compress_anywhere;

#ifdef __x86_64__
    if (is_quick())
        one = compress_quickly;
#endif
    for (size_t i = 0; i < blocks; i++)
        one(state, message + i * BLOCK_BYTES);
}

/* The last one or two blocks: what is left of the message, a 1 bit, zeros and the length in bits. */
static void compress_tail(uint32_t state[WORDS], const unsigned char *tail, size_t tail_bytes, size_t bytes)
{
    unsigned char block[2 * BLOCK_BYTES] = {0};
    const size_t total = tail_bytes + 1 + LENGTH_BYTES <= BLOCK_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES;
    const uint64_t bits = (uint64_t)bytes * 8;

    if (tail_bytes > 0)
        memcpy(block, tail, tail_bytes);
    block[tail_bytes] = 0x80;
    for (unsigned i = 0; i < LENGTH_BYTES; i++)
        block[total - 1 - i] = (unsigned char)(bits >> 8 * i);
    compress(state, block, total / BLOCK_BYTES);
}

void sha256_hex(const void *data, size_t bytes, char hex[SHA256_HEX_BYTES])
{
    /* First 32 bits of the fractional parts of the square roots of the first 8 primes. */
    uint32_t state[WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *message = data;
    const size_t whole = bytes / BLOCK_BYTES;

    compress(state, message, whole);
    compress_tail(state, message + whole * BLOCK_BYTES, bytes % BLOCK_BYTES, bytes);
    for (unsigned i = 0; i < WORDS; i++)
        snprintf(hex + 8 * (size_t)i, 9, "%08x", (unsigned)state[i]);
}
