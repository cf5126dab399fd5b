/* SPDX-License-Identifier: MIT */
#include "json_grammar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "text.h"

#define QUOTE(text)       #text
#define DIGITS_OF(number) QUOTE(number)

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

/* A character of a string that stands for itself and is one byte, as most are. */
static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Steps over the string that begins at *at. NULL, or what is wrong at *at. */
static const char *scan_string(const struct json_text *text, size_t *at)
{
    for (*at += 1; *at < text->count;) {
        const unsigned char c = text->bytes[*at];
        size_t length;

        if (is_plain(c)) {
            *at += 1;
            continue;
        }
        if (c == '"') {
            *at += 1;
            return NULL;
        }
        if (c < 0x20)
            return "control character in a string";
        length = text_utf8((const char *)text->bytes + *at, text->count - *at);
        if (length == 0)
            return "not UTF-8";
        if (c == '\\') {
            const char *wrong = scan_escape(text, at);

            if (wrong)
                return wrong;
        } else {
            *at += length;
        }
    }
    return "the text ends within a string";
}

static size_t scan_digits(const unsigned char *from)
{
    size_t count = 0;

    while (is_digit(from[count]))
        count++;
    return count;
}

/* Steps over the number that begins at *at, by the grammar of RFC 8259: strtod, and with it cJSON, takes
 * more. NULL, or what is wrong at *at. The NUL at the end of the text stops every loop. */
static const char *scan_number(const struct json_text *text, size_t *at)
{
    const unsigned char *p = text->bytes + *at;
    bool may_be_large;
    size_t digits;

    p += *p == '-';
    digits = scan_digits(p);
    if (digits == 0 || (digits > 1 && *p == '0'))
        return "malformed number";
    /* Without an exponent that takes more than 300 digits. */
    may_be_large = digits > 300;
    p += digits;
    if (*p == '.') {
        digits = scan_digits(p + 1);
        if (digits == 0)
            return "malformed number";
        p += 1 + digits;
    }
    if (*p == 'e' || *p == 'E') {
        may_be_large = true;
        p++;
        p += *p == '+' || *p == '-';
        digits = scan_digits(p);
        if (digits == 0)
            return "malformed number";
        p += digits;
    }
    if (may_be_large && !isfinite(strtod((const char *)text->bytes + *at, NULL)))
        return "number too large for a double";
    *at = (size_t)(p - text->bytes);
    return NULL;
}

static const char *scan_literal(const struct json_text *text, size_t *at)
{
    static const char *const literals[] = {"true", "false", "null"};

    for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++) {
        const size_t length = strlen(literals[i]);

        if (strncmp((const char *)text->bytes + *at, literals[i], length) == 0) {
            *at += length;
            return NULL;
        }
    }
    return "not a JSON value";
}

static bool is_blank(unsigned char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Steps over blanks. Returns the byte that follows, NUL at the end of the text. */
static unsigned char skip_blanks(const struct json_text *text, size_t *at)
{
    while (is_blank(text->bytes[*at]))
        *at += 1;
    return text->bytes[*at];
}

static const char *scan_value(struct json_text *text, size_t *at, int depth);

/* Steps over the key of a member and the colon after it. */
static const char *scan_key(const struct json_text *text, size_t *at)
{
    const char *wrong;

    if (skip_blanks(text, at) != '"')
        return "expected a key in quotes";
    wrong = scan_string(text, at);
    if (wrong)
        return wrong;
    if (skip_blanks(text, at) != ':')
        return "expected ':'";
    *at += 1;
    return NULL;
}

/* Steps over the object or array that begins at *at, `depth` levels deep. */
static const char *scan_list(struct json_text *text, size_t *at, int depth)
{
    const bool object = text->bytes[*at] == '{';
    const unsigned char close = object ? '}' : ']';
    const char *wrong = NULL;

    if (depth > JSON_DEPTH_MAX)
        return "nested too deeply";
    *at += 1;
    if (skip_blanks(text, at) == close) {
        *at += 1;
        return NULL;
    }
    for (;;) {
        if (object)
            wrong = scan_key(text, at);
        if (!wrong)
            wrong = scan_value(text, at, depth);
        if (wrong)
            return wrong;
        if (skip_blanks(text, at) == close)
            break;
        if (text->bytes[*at] != ',')
            return object ? "expected ',' or '}'" : "expected ',' or ']'";
        *at += 1;
    }
    *at += 1;
    return NULL;
}

/* Steps over the value at *at, within `depth` objects and arrays. NULL, or what is wrong at *at. */
static const char *scan_value(struct json_text *text, size_t *at, int depth)
{
    const unsigned char c = skip_blanks(text, at);

    if (++text->values > JSON_VALUES_MAX)
        return "more than " DIGITS_OF(JSON_VALUES_MAX) " values";
    if (c == '{' || c == '[')
        return scan_list(text, at, depth + 1);
    if (c == '"')
        return scan_string(text, at);
    if (c == '-' || is_digit(c))
        return scan_number(text, at);
    return scan_literal(text, at);
}

const char *json_scan(struct json_text *text, size_t *at)
{
    const char *wrong;

    *at = 0;
    wrong = scan_value(text, at, 0);
    if (wrong)
        return *at == text->count ? "the text ends too early: truncated" : wrong;
    skip_blanks(text, at);
    return *at == text->count ? NULL : "text after the end of the value";
}
