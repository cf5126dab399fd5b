/* SPDX-License-Identifier: MIT
 * UTF-8 by its ranges of bytes, what of it is safe on a terminal and in XML, and Levenshtein's
 * distance for suggestions. */
#include "text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

size_t text_utf8(const char *text, size_t left)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t length;
    } forms[] = {
        {0x00, 0x7f, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    const unsigned char *bytes = (const unsigned char *)text;

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        const size_t length = forms[i].length;

        if (bytes[0] < forms[i].first_low || bytes[0] > forms[i].first_high)
            continue;
        if (length > left ||
            (length > 1 && (bytes[1] < forms[i].second_low || bytes[1] > forms[i].second_high)))
            return 0;
        for (size_t k = 2; k < length; k++)
            if (bytes[k] < 0x80 || bytes[k] > 0xbf)
                return 0;
        return length;
    }
    return 0;
}

size_t text_printable(const char *text, size_t left)
{
    /* Ranges of bytes: C1; blanks without width, ends of lines and characters that change the
     * direction of text; the mark of byte orders; notes between lines; U+FFFE and U+FFFF. */
    static const char none[][2][4] = {
        {"\xc2\x80", "\xc2\x9f"},         {"\xd8\x9c", "\xd8\x9c"},
        {"\xe2\x80\x8b", "\xe2\x80\x8f"}, {"\xe2\x80\xa8", "\xe2\x80\xae"},
        {"\xe2\x81\xa6", "\xe2\x81\xa9"}, {"\xef\xbb\xbf", "\xef\xbb\xbf"},
        {"\xef\xbf\xb9", "\xef\xbf\xbb"}, {"\xef\xbf\xbe", "\xef\xbf\xbf"},
    };
    const size_t length = text_utf8(text, left);

    if (length == 1)
        return *text >= ' ' && *text != 0x7f;
    for (size_t i = 0; length > 0 && i < sizeof(none) / sizeof(none[0]); i++)
        if (memcmp(text, none[i][0], length) >= 0 && memcmp(text, none[i][1], length) <= 0)
            return 0;
    return length;
}

void text_clean(char *text, size_t bytes)
{
    enum { LONGEST = 4 }; /* character, in bytes */
    const char *end = text + bytes;

    while (*text) {
        const size_t length = text_printable(text, strnlen(text, LONGEST));
        char escape[TEXT_ESCAPE_BYTES];

        if (length == 0 && text + strlen(text) + sizeof(escape) <= end) {
            snprintf(escape, sizeof(escape), TEXT_ESCAPE, (unsigned char)*text);
            memmove(text + sizeof(escape) - 1, text + 1, strlen(text + 1) + 1);
            memcpy(text, escape, sizeof(escape) - 1);
        } else if (length == 0) {
            *text = '?';
        }
        text += length ? length : 1;
    }
}

const char *text_shown(const char *text, char out[TEXT_SHOWN_BYTES])
{
    static const char cut[] = "...";
    const size_t room = TEXT_SHOWN_BYTES - sizeof(cut);
    size_t used = 0;

    for (size_t left = strlen(text), bytes;
         left > 0 && used + (bytes = text_utf8(text, left)) <= room; left -= bytes) {
        bytes += bytes == 0;
        memcpy(out + used, text, bytes);
        used += bytes;
        text += bytes;
    }
    memcpy(out + used, *text ? cut : "", *text ? sizeof(cut) : 1);
    return out;
}

size_t text_edits(const char *from, const char *to)
{
    size_t least[32]; /* to make the first letters of `to` of the letters of `from` so far */
    const size_t length = strlen(to);

    if (length >= sizeof(least) / sizeof(least[0]))
        return SIZE_MAX;
    for (size_t k = 0; k <= length; k++)
        least[k] = k;
    for (size_t i = 0; from[i]; i++)
        for (size_t k = 0, replaced = 0; k <= length; k++) {
            const size_t removed = least[k] + 1;
            size_t edits = removed;

            if (k > 0 && least[k - 1] + 1 < edits)
                edits = least[k - 1] + 1;
            if (k > 0 && replaced < edits)
                edits = replaced;
            replaced = removed - 1 + (from[i] != to[k]);
            least[k] = edits;
        }
    return least[length];
}

const char *text_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

void text_join(char *out, size_t bytes, const char *separator, const char *format, ...)
{
    size_t used = strlen(out);
    va_list arguments;

    used += (size_t)snprintf(out + used, bytes - used, "%s", used ? separator : "");
    if (used >= bytes)
        return;
    va_start(arguments, format);
    vsnprintf(out + used, bytes - used, format, arguments);
    va_end(arguments);
}
