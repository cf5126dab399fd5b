/* SPDX-License-Identifier: MIT */
#include "text_print.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "text.h"

const struct escape escapes_none[] = {{'\0', NULL}};

const struct escape escapes_xml[] = {
    {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}, {'\0', NULL},
};

static const struct escape escapes_csv[] = {{'"', "\"\""}, {'\0', NULL}};

size_t text_columns(const char *text)
{
    size_t columns = 0;

    for (; *text; text++)
        columns += (*text & 0xc0) != 0x80;
    return columns;
}

static const char *escaped(const struct escape *escapes, char from)
{
    for (; escapes->from; escapes++)
        if (escapes->from == from)
            return escapes->to;
    return NULL;
}

/* Like text_put, for that many bytes. */
static void put_bytes(FILE *stream, const struct escape *escapes, const char *text, size_t left)
{
    while (left > 0) {
        const size_t bytes = text_printable(text, left);
        const char *to = bytes == 1 ? escaped(escapes, *text) : NULL;

        if (to)
            fputs(to, stream);
        else if (bytes == 0)
            putc('?', stream);
        else
            fwrite(text, 1, bytes, stream);
        text += bytes ? bytes : 1;
        left -= bytes ? bytes : 1;
    }
}

void text_put(FILE *stream, const struct escape *escapes, const char *text)
{
    put_bytes(stream, escapes, text, strlen(text));
}

void text_put_tag(FILE *stream, const char *start, const char *const *attributes)
{
    fputs(start, stream);
    for (; *attributes; attributes += 2) {
        fprintf(stream, " %s=\"", attributes[0]);
        text_put(stream, escapes_xml, attributes[1]);
        putc('"', stream);
    }
}

/* -- CSV ---------------------------------------------------------------------------------------------- */

/* Whether a spreadsheet would take the text for a formula: by its first character, unless all of it is a number. */
static bool is_formula(const char *text)
{
    char *end;

    if (!text[0] || !strchr("=+-@\t\r", text[0]))
        return false;
    strtod(text, &end);
    return end == text || *end;
}

void text_put_word(FILE *stream, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:%@";

    putc(' ', stream);
    if (*word && word[strspn(word, plain)] == '\0') {
        fputs(word, stream);
        return;
    }
    putc('\'', stream);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, stream);
    putc('\'', stream);
}

void text_csv(FILE *stream, const char *text)
{
    const bool quoted = strpbrk(text, ",\"") != NULL;

    fputs(quoted ? "\"" : "", stream);
    fputs(is_formula(text) ? "'" : "", stream);
    text_put(stream, quoted ? escapes_csv : escapes_none, text);
    fputs(quoted ? "\"" : "", stream);
}

/* -- numbers ------------------------------------------------------------------------------------------ */

/* Writes a number with that many decimals and a unit; the buffer has room for numbers below 1e12. "-" if it is not
 * finite. */
static void put_number(double value, int decimals, const char *unit, char *out, size_t room)
{
    if (isfinite(value))
        snprintf(out, room, "%.*f%s", decimals, value, unit);
    else
        snprintf(out, room, "-");
}

void text_time(double ns, char out[TEXT_NUMBER_BYTES])
{
    static const char *const units[] = {" ns", " us", " ms", " s"};
    size_t unit = 0;

    /* Limits at which four digits would round up to five. */
    while (unit + 1 < sizeof(units) / sizeof(units[0]) && fabs(ns) >= 999.95) {
        ns /= 1000;
        unit++;
    }
    put_number(ns, fabs(ns) < 9.9995 ? 3 : fabs(ns) < 99.995 ? 2 : 1, units[unit], out, TEXT_NUMBER_BYTES);
}

void text_count(double count, char out[TEXT_NUMBER_BYTES])
{
    put_number(count, count == floor(count) ? 0 : 1, "", out, TEXT_NUMBER_BYTES);
}

void text_tenths(double value, char out[TEXT_NUMBER_BYTES])
{
    put_number(value, 1, "", out, TEXT_NUMBER_BYTES);
}

void text_hundredths(double value, char out[TEXT_NUMBER_BYTES])
{
    put_number(value, 2, "", out, TEXT_NUMBER_BYTES);
}

void text_ratio(double ratio, char out[TEXT_NUMBER_BYTES])
{
    put_number(ratio, ratio < 99.995 ? 2 : 0, "x", out, TEXT_NUMBER_BYTES);
}

void text_share(double share, char out[TEXT_NUMBER_BYTES])
{
    put_number(100 * share, share < 0.09995 ? 1 : 0, "%", out, TEXT_NUMBER_BYTES);
}

void text_change(double relative, char out[TEXT_NUMBER_BYTES])
{
    const double percent = 100 * relative;
    const double size = fabs(percent);

    out[0] = signbit(percent) ? '-' : '+';
    if (size < 999.5)
        put_number(size, size < 9.995 ? 2 : size < 99.95 ? 1 : 0, "%", out + 1, TEXT_NUMBER_BYTES - 1);
    else if (isfinite(percent))
        snprintf(out, TEXT_NUMBER_BYTES, "%+.3g%%", percent);
    else
        snprintf(out, TEXT_NUMBER_BYTES, "-");
}

void text_half_width(double relative, char out[TEXT_NUMBER_BYTES])
{
    static const char sign[] = "±";
    const size_t bytes = sizeof(sign) - 1;
    const double percent = 100 * relative;

    memcpy(out, sign, sizeof(sign));
    if (isfinite(percent))
        put_number(percent, percent < 9.995 ? 2 : percent < 99.95 ? 1 : 0, "%", out + bytes, TEXT_NUMBER_BYTES - bytes);
    else
        snprintf(out + bytes, TEXT_NUMBER_BYTES - bytes, "?");
}

struct text_number text_of(void (*format)(double value, char out[TEXT_NUMBER_BYTES]), double value)
{
    struct text_number number;

    format(value, number.text);
    return number;
}

/* -- lines -------------------------------------------------------------------------------------------- */

int text_width(FILE *stream)
{
    const char *columns = getenv("COLUMNS");
    const long asked = columns ? strtol(columns, NULL, 10) : 0;
    struct winsize size;

    if (asked > 0 && asked < 10000)
        return (int)asked;
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : TEXT_WIDTH;
}

/* Writes a word. The rest of a word longer than a line goes on the next line. */
static void wrap_word(struct text_wrap *wrap, const char *word, int length)
{
    for (int room; (room = wrap->width - wrap->column) < length && room > 0 && wrap->width > wrap->indent;) {
        while (room > 1 && (word[room] & 0xc0) == 0x80)
            room--;
        put_bytes(wrap->stream, escapes_none, word, (size_t)room);
        fprintf(wrap->stream, "\n%*s", wrap->indent, "");
        wrap->column = wrap->indent;
        word += room;
        length -= room;
    }
    put_bytes(wrap->stream, escapes_none, word, (size_t)length);
    wrap->column += length;
}

void text_wrap(struct text_wrap *wrap, const char *text)
{
    while (*text) {
        const int blanks = (int)strspn(text, " "), length = (int)strcspn(text + blanks, " ");

        wrap->blanks += blanks;
        text += blanks + length;
        if (length == 0)
            return;
        /* A comma may follow. */
        if (wrap->blanks > 0 && wrap->column + wrap->blanks + length >= wrap->width) {
            fputc('\n', wrap->stream);
            wrap->column = 0;
            wrap->blanks = wrap->indent;
        }
        fprintf(wrap->stream, "%*s", wrap->blanks, "");
        wrap->column += wrap->blanks;
        wrap->blanks = 0;
        wrap_word(wrap, text - length, length);
    }
}

void text_paragraph(struct text_wrap wrap, const char *format, ...)
{
    char text[TEXT_PARAGRAPH_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(wrap.stream, "%*s", wrap.column, "");
    text_wrap(&wrap, text);
    putc('\n', wrap.stream);
}
