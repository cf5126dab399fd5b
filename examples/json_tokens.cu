// SPDX-License-Identifier: MIT
// Tokens in pieces of JSON of 128 bytes, by a state machine: class of a character, then next state
// by class and state. Each lookup waits for the one before. Pieces have four forms, with random
// digits and letters.
#include <cbank.cuh>

CBANK_TABLE(classes, unsigned char, 256, constant);
CBANK_TABLE(transitions, unsigned char, 4 * 8, constant);

template <class Classes, class Transitions>
__global__ void json_tokens(Classes classes, Transitions next, const uint4 *text, unsigned *tokens,
                            unsigned pieces)
{
    const unsigned piece = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = 0, count = 0;

    classes.stage(), next.stage();
    for (unsigned k = 0; k < 8; k++) {
        const uint4 part = text[min(piece, pieces - 1) * 8 + k];
        for (unsigned i = 0; i < 16; i++) {
            const unsigned word = i < 4 ? part.x : i < 8 ? part.y : i < 12 ? part.z : part.w;
            state = next[state % 4 * 8 + classes[word >> 8 * (i % 4) & 255]];
            count += state >> 4; // a token begins
        }
    }
    if (piece < pieces)
        tokens[piece] = count;
}

__host__ __device__ inline bool mark(unsigned c)
{
    return (c | 32) == '{' || (c | 32) == '}' || c == ':' || c == ',';
}

CBANK_CASE(json_tokens, 1 << 14, 1 << 18) // pieces
{
    const auto class_of = entries<classes>([](unsigned c) {
        return c == '"' ? 1 : c == '\\' ? 2 : c <= ' ' ? 3 : mark(c) ? 4 : 0;
    });
    const auto next = entries<transitions>(
        [](unsigned i) { // between tokens, in a string, after a backslash, in a word
            return "\x13\x11\x13\0\x10\0\0\0"
                   "\1\0\2\1\1\0\0\0"
                   "\1\1\1\1\1\0\0\0"
                   "\3\x11\3\0\x10\0\0\0"[i];
        });
    const auto text = input<unsigned char>(128 * size, [](cbank_u64 i) {
        const char *forms =
            "{\"id\": 00000, \"name\": \"xxx xxxx\", \"tags\": [\"xx\", \"xxx\"], \"ok\":0}"
            "{\"time\":\"00-00T00:00\",\"level\":\"info\",\"text\":\"x \\\"xx\\\" x\",\"n\":0}\n"
            "[0.000, -0.00, 0.000e+0, 0.0000, 00.00, null, false, true, 0.00]"
            "{\"xxxx\": {\"xx\": [{\"x\": 0}, {\"x\": 0}, {}], \"path\":\"C:\\\\xxxx\\\\x\"}}";
        const char c = forms[cbank::random_bits(1, i / 128) % 4 * 64 + i % 64];
        return c == '0'   ? '0' + cbank::random_bits(2, i) % 10
               : c == 'x' ? 'a' + cbank::random_bits(2, i) % 26
                          : c;
    });
    const auto tokens = output<unsigned>(size);
    launch(json_tokens<classes, transitions>, (size + 255) / 256,
           256)(class_of, next, (const uint4 *)text.elements, tokens, size);
    check(tokens, [=](cbank_u64 piece) {
        unsigned count = 0, string = 0, word = 0;
        for (unsigned i = 0; i < 128; i++) {
            const unsigned c = text[128 * piece + i];
            i += string && c == '\\';
            count += !string && (c == '"' || mark(c) || (c > ' ' && !word));
            word = !string && c != '"' && !mark(c) && c > ' ';
            string ^= c == '"';
        }
        return count;
    });
}
