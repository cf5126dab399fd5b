/* SPDX-License-Identifier: MIT */
#include "json_grammar.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "text.h"

/* Digits of a number below 2^64, whatever they are. */
enum { DIGITS_MAX = 19 };

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(unsigned char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_unicode(const unsigned char *escape)
{
    return escape[0] == '\\' && escape[1] == 'u' && is_hex(escape[2]) && is_hex(escape[3]) && is_hex(escape[4]) &&
           is_hex(escape[5]);
}

/* Whether the escape is half of a surrogate pair: the first, \uD800 to \uDBFF, or the second, \uDC00 to \uDFFF. */
static bool is_half(const unsigned char *escape, bool second)
{
    const char digit = (char)(escape[3] | 0x20);

    return (escape[2] | 0x20) == 'd' && (second ? digit >= 'c' && digit <= 'f' : strchr("89ab", digit) != NULL);
}

/* The same of \u and four digits. */
static const char *scan_unicode(const struct json_text *text, size_t *at)
{
    const unsigned char *escape = text->bytes + *at;

    if (!is_unicode(escape))
        return "\\u without four hexadecimal digits";
    /* cJSON's strings are C strings: the rest would be lost. */
    if (memcmp(escape + 2, "0000", 4) == 0)
        return "NUL character in a string";
    if (is_half(escape, true) || (is_half(escape, false) && !(is_unicode(escape + 6) && is_half(escape + 6, true))))
        return "half of a surrogate pair";
    *at += is_half(escape, false) ? 12 : 6;
    return NULL;
}

/* Steps over the escape whose backslash is at *at. NULL, or what is wrong with it. The text ends in a NUL,
 * which is no part of any escape. */
static const char *scan_escape(const struct json_text *text, size_t *at)
{
    const unsigned char *escape = text->bytes + *at + 1;

    if (*escape == 'u')
        return scan_unicode(text, at);
    if (*escape == '\0' || !strchr("\"\\/bfnrt", *escape))
        return "unknown escape in a string";
    *at += 2;
    return NULL;
}

/* A character of a string that stands for itself, is one byte, and printable: as most are. */
static bool is_plain(unsigned char c)
{
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

static const unsigned char *skip_plain(const unsigned char *from)
{
    while (is_plain(*from))
        from++;
    return from;
}

const char *json_scan_string(const struct json_text *text, size_t *at, bool *plain)
{
    *plain = true;
    for (*at += 1; *at < text->count; *plain = false) {
        const unsigned char *from = skip_plain(text->bytes + *at);
        const char *wrong = NULL;
        size_t length;

        *at = (size_t)(from - text->bytes);
        if (*from == '"') {
            *at += 1;
            return NULL;
        }
        if (*from < ' ')
            return "control character in a string";
        length = text_utf8((const char *)from, text->count - *at);
        if (length == 0)
            return "not UTF-8";
        if (*from == '\\')
            wrong = scan_escape(text, at);
        else
            *at += length;
        if (wrong)
            return wrong;
    }
    return "the text ends within a string";
}

/* digits / 10^decimals. False where that cannot be said: it is rounded to the 64 bits of a long double first, and those may
 * lie in the middle between two doubles. */
static bool divide(uint64_t digits, size_t decimals, double *out)
{
#if LDBL_MANT_DIG == 64
    static const long double tens[DIGITS_MAX + 1] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                                     1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                                     1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L};
    const long double quotient = (long double)digits / tens[decimals];
    uint64_t mantissa;

    memcpy(&mantissa, &quotient, sizeof(mantissa));
    *out = (double)quotient;
    return (mantissa & 0x7ff) != 0x400;
#else
    *out = (double)digits;
    return decimals == 0;
#endif
}

/* Steps over digits, and appends them to *value; returns how many there are. */
static size_t take_digits(const unsigned char **from, uint64_t *value)
{
    const unsigned char *first = *from;

    for (; is_digit(**from); *from += 1)
        *value = 10 * *value + (uint64_t)(**from - '0');
    return (size_t)(*from - first);
}

/* strtod, and with it cJSON, takes more, and takes long. The NUL at the end of the text stops every loop. */
const char *json_scan_number(const struct json_text *text, size_t *at, double *out)
{
    const unsigned char *first = text->bytes + *at, *p = first + (*first == '-');
    const bool zero = *p == '0';
    uint64_t digits = 0, exponent = 0;
    const size_t whole = take_digits(&p, &digits);
    size_t decimals = 0;
    bool quick;

    if (whole == 0 || (whole > 1 && zero))
        return "malformed number";
    if (*p == '.') {
        p++;
        decimals = take_digits(&p, &digits);
        if (decimals == 0)
            return "malformed number";
    }
    quick = whole + decimals <= DIGITS_MAX && divide(digits, decimals, out);
    if (*p == 'e' || *p == 'E') {
        quick = false;
        p++;
        p += *p == '+' || *p == '-';
        if (take_digits(&p, &exponent) == 0)
            return "malformed number";
    }
    if (!quick)
        *out = strtod((const char *)first, NULL);
    else if (*first == '-')
        *out = -*out;
    if (!isfinite(*out))
        return "number too large for a double";
    *at = (size_t)(p - text->bytes);
    return NULL;
}

const char *json_scan_word(const struct json_text *text, size_t *at, int *kind)
{
    static const struct {
        const char *word;
        int kind;
    } words[] = {{"null", cJSON_NULL}, {"true", cJSON_True}, {"false", cJSON_False}};
    const char *from = (const char *)text->bytes + *at;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (*from == *words[i].word && strncmp(from, words[i].word, strlen(words[i].word)) == 0) {
            *at += strlen(words[i].word);
            *kind = words[i].kind;
            return NULL;
        }
    return "not a JSON value";
}
