/* SPDX-License-Identifier: MIT
 * Mutations of JSON that leave it JSON, so that they get past the parser: a value becomes another one, an element is
 * there twice, a member goes. Every second mutation; the others are libFuzzer's, of bytes. */
#include "mutate.h"

#include <string.h>

/* libFuzzer's. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t most);

/* Replacements of values. */
static const char *const values[] = {"null",
                                     "true",
                                     "false",
                                     "0",
                                     "1",
                                     "-1",
                                     "2",
                                     "0.5",
                                     "1e308",
                                     "-1e308",
                                     "5e-324",
                                     "1e999",
                                     "4294967295",
                                     "4294967296",
                                     "9007199254740992",
                                     "9007199254740993",
                                     "18446744073709551615",
                                     "\"18446744073709551615\"",
                                     "\"18446744073709551616\"",
                                     "\"\"",
                                     "\"\\u0000\"",
                                     "\"\\u001b[31m\"",
                                     "\"\\ud800\"",
                                     "\"%s%n\"",
                                     "\"a,b\"",
                                     "\"=1+1\"",
                                     "[]",
                                     "{}",
                                     "[[]]",
                                     "[null]",
                                     "[1,2,3,4,5,6,7]"};

enum { VALUES = sizeof(values) / sizeof(values[0]) };

/* A part of the text. */
struct span {
    size_t begin, end;
};

struct text {
    const char *at;
    size_t bytes;
    uint64_t random;
};

static size_t draw(struct text *text, size_t below)
{
    text->random = text->random * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(text->random >> 33) % below;
}

static char peek(const struct text *text, size_t i)
{
    return (char)(i < text->bytes ? text->at[i] : '\0');
}

static size_t skip_blanks(const struct text *text, size_t i)
{
    while (i < text->bytes && strchr(" \t\r\n", text->at[i]))
        i++;
    return i;
}

/* The end of what begins at i and is no object or array: a string, a literal, or one character. */
static size_t token_end(const struct text *text, size_t i)
{
    const size_t begin = i;

    if (text->at[i] == '"') {
        for (i++; i < text->bytes && text->at[i] != '"'; i++)
            i += text->at[i] == '\\';
        return i < text->bytes ? i + 1 : text->bytes;
    }
    while (i < text->bytes && !strchr("{}[]:,\" \t\r\n", text->at[i])) /* which finds a NUL, too */
        i++;
    return i > begin ? i : begin + 1;
}

/* The end of the value that begins at i. */
static size_t value_end(const struct text *text, size_t i)
{
    size_t depth = 0;

    do {
        const char c = text->at[i];

        depth += c == '{' || c == '[';
        depth -= (c == '}' || c == ']') && depth > 0;
        i = token_end(text, i);
    } while (depth > 0 && i < text->bytes);
    return i;
}

/* A value, or with `keys` a key, each with the same probability; empty where there is none. */
static struct span choose(struct text *text, bool keys)
{
    struct span chosen = {0};
    size_t seen = 0;

    for (size_t i = skip_blanks(text, 0), end; i < text->bytes; i = skip_blanks(text, end)) {
        end = token_end(text, i);
        const bool key = text->at[i] == '"' && peek(text, skip_blanks(text, end)) == ':';

        if (key == keys && !strchr("}]:,", text->at[i]) && draw(text, ++seen) == 0)
            chosen = (struct span){i, keys ? end : value_end(text, i)};
    }
    return chosen;
}

/* Puts other text in the place of a span. Returns the new length; the old one where there is no room. */
static size_t replace(uint8_t *data, size_t bytes, size_t most, struct span span, const char *with, size_t length)
{
    const size_t after = bytes - (span.end - span.begin) + length;

    if (after > most)
        return bytes;
    memmove(data + span.begin + length, data + span.end, bytes - span.end);
    memcpy(data + span.begin, with, length);
    return after;
}

/* A member with its key, and the comma behind it or before it. */
static struct span member(const struct text *text, struct span key)
{
    const size_t value = skip_blanks(text, skip_blanks(text, key.end) + 1);
    struct span span = {key.begin, value < text->bytes ? value_end(text, value) : text->bytes};

    if (peek(text, skip_blanks(text, span.end)) == ',')
        span.end = skip_blanks(text, span.end) + 1;
    else if (span.begin > 0 && text->at[span.begin - 1] == ',')
        span.begin--;
    return span;
}

size_t mutate_json(uint8_t *data, size_t bytes, size_t most, unsigned seed)
{
    static char copy[1 << 16];
    struct text text = {copy, bytes < sizeof(copy) ? bytes : sizeof(copy), seed};
    struct span span, other;
    const char *value;

    if (seed % 2 == 0 || bytes > sizeof(copy))
        return LLVMFuzzerMutate(data, bytes, most);
    memcpy(copy, data, bytes);
    switch (draw(&text, 4)) {
    case 0:
        return replace(data, bytes, most, member(&text, choose(&text, true)), "", 0);
    case 1: /* another value of the text */
        span = choose(&text, false);
        other = choose(&text, false);
        return replace(data, bytes, most, span, copy + other.begin, other.end - other.begin);
    case 2: /* once more; in an object that is no JSON, and refused soon */
        span = choose(&text, false);
        bytes = replace(data, bytes, most, (struct span){span.begin, span.begin}, ",", 1);
        return replace(data, bytes, most, (struct span){span.begin, span.begin}, copy + span.begin,
                       span.end - span.begin);
    default:
        value = values[draw(&text, VALUES)];
        return replace(data, bytes, most, choose(&text, false), value, strlen(value));
    }
}
