/* SPDX-License-Identifier: MIT
 * Writers of text: terminal, XML and CSV have their escapes as tables, numbers for people a
 * function for each quantity. Every writer passes through put_bytes, so no control character of a
 * name reaches a terminal. */
#include "text_print.h"

#include <ctype.h>
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

/* An underscore within a word, as in names, is none of Markdown's. GitHub strikes what stands
 * between tildes, and reads what stands between dollars as a formula, which can hide words. */
const struct escape escapes_markdown[] = {
    {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'|', "\\|"},   {'*', "\\*"}, {'`', "\\`"},
    {'[', "\\["},   {'~', "\\~"},  {'$', "\\$"},  {'\\', "\\\\"}, {'\0', NULL},
};

static const struct escape escapes_csv[] = {{'"', "\"\""}, {'\0', NULL}};

size_t text_columns(const char *text)
{
    size_t columns = 0;

    for (size_t left = strlen(text), bytes; left > 0; left -= bytes, text += bytes) {
        bytes = text_printable(text, left);
        columns += bytes ? 1 : TEXT_ESCAPE_BYTES - 1;
        bytes += bytes == 0;
    }
    return columns;
}

/* Like text_put, for that many bytes. */
static void put_bytes(FILE *stream, const struct escape *escapes, const char *text, size_t left)
{
    while (left > 0) {
        const size_t bytes = text_printable(text, left);
        const struct escape *escape = escapes;

        while (escape->from && (bytes != 1 || escape->from != *text))
            escape++;
        if (escape->to)
            fputs(escape->to, stream);
        else if (bytes == 0)
            fprintf(stream, TEXT_ESCAPE, (unsigned char)*text);
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

void text_line(FILE *stream, const char *format, ...)
{
    char text[TEXT_LINE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    text_put(stream, escapes_none, text);
    putc('\n', stream);
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

/* -- CSV --------------------------------------------------------------------------------------- */

/* Whether a text is a decimal number. strtod takes more: "-inf" is a name for a spreadsheet. */
static bool is_decimal(const char *text)
{
    text += strspn(text, "+-") == 1;
    if (!isdigit((unsigned char)*text))
        return false;
    text += strspn(text, "0123456789");
    text += *text == '.' ? 1 + strspn(text + 1, "0123456789") : 0;
    if (*text == 'e') {
        text += strspn(text + 1, "+-") == 1 ? 2 : 1;
        if (!isdigit((unsigned char)*text))
            return false;
        text += strspn(text, "0123456789");
    }
    return *text == '\0';
}

/* Whether a spreadsheet may take a text for a formula, by its first character: where people write
 * Chinese or Japanese also the wide forms of the signs. */
static bool is_formula(const char *text)
{
    static const char *const signs[] = {"=",  "+",      "-",      "@",      "\t",
                                        "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20"};
    bool begins = false;

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        begins = begins || strncmp(text, signs[i], strlen(signs[i])) == 0;
    return begins && !is_decimal(text);
}

void text_csv(FILE *stream, const char *text)
{
    const bool quoted = strpbrk(text, ",\"") != NULL;

    fputs(quoted ? "\"" : "", stream);
    fputs(is_formula(text) ? "'" : "", stream);
    text_put(stream, quoted ? escapes_csv : escapes_none, text);
    fputs(quoted ? "\"" : "", stream);
}

/* -- numbers ----------------------------------------------------------------------------------- */

/* Writes a number with that many decimals, between a sign and a unit. There is room for numbers
 * below 1e12. */
static void put_number(const char *sign, double value, int decimals, const char *unit,
                       char out[TEXT_NUMBER_BYTES])
{
    if (isfinite(value))
        snprintf(out, TEXT_NUMBER_BYTES, "%s%.*f%s", sign, decimals, value, unit);
    else
        snprintf(out, TEXT_NUMBER_BYTES, "-");
}

/* Decimals with which a number has three digits. */
static int three_digits(double value)
{
    return fabs(value) < 9.995 ? 2 : fabs(value) < 99.95 ? 1 : 0;
}

/* A value in the first of `count` units, each a thousand times the one before, with four digits. */
static void put_in_units(double value, const char *const *units, size_t count,
                         char out[TEXT_NUMBER_BYTES])
{
    /* Limits at which four digits would round up to five. */
    for (; count > 1 && fabs(value) >= 999.95; count--, units++)
        value /= 1000;
    put_number("", value, fabs(value) < 9.9995 ? 3 : fabs(value) < 99.995 ? 2 : 1, *units, out);
}

void text_time(double ns, char out[TEXT_NUMBER_BYTES])
{
    static const char *const units[] = {" ns", " us", " ms", " s"};

    put_in_units(ns, units, sizeof(units) / sizeof(units[0]), out);
}

void text_energy(double joules, char out[TEXT_NUMBER_BYTES])
{
    static const char *const units[] = {" pJ", " nJ", " uJ", " mJ", " J"};

    put_in_units(1e12 * joules, units, sizeof(units) / sizeof(units[0]), out);
}

void text_count(double count, char out[TEXT_NUMBER_BYTES])
{
    put_number("", count, count == floor(count) ? 0 : 1, "", out);
}

void text_tenths(double value, char out[TEXT_NUMBER_BYTES])
{
    put_number("", value, 1, "", out);
}

void text_hundredths(double value, char out[TEXT_NUMBER_BYTES])
{
    put_number("", value, 2, "", out);
}

void text_ratio(double ratio, char out[TEXT_NUMBER_BYTES])
{
    put_number("", ratio, ratio < 99.995 ? 2 : 0, "x", out);
}

void text_share(double share, char out[TEXT_NUMBER_BYTES])
{
    put_number("", 100 * share, share < 0.09995 ? 1 : 0, "%", out);
}

void text_change(double relative, char out[TEXT_NUMBER_BYTES])
{
    put_number(signbit(relative) ? "" : "+", 100 * relative, three_digits(100 * relative), "%",
               out);
}

void text_half_width(double relative, char out[TEXT_NUMBER_BYTES])
{
    put_number("±", 100 * relative, three_digits(100 * relative), "%", out);
}

struct text_number text_of(void (*format)(double value, char out[TEXT_NUMBER_BYTES]), double value)
{
    struct text_number number;

    format(value, number.text);
    return number;
}

/* -- lines ------------------------------------------------------------------------------------- */

int text_width(FILE *stream)
{
    const char *columns = getenv("COLUMNS");
    const long asked = columns ? strtol(columns, NULL, 10) : 0;
    struct winsize size;

    if (asked > 0 && asked < 10000)
        return (int)asked;
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                            : TEXT_WIDTH;
}

void text_wrap(struct text_wrap *wrap, const char *text)
{
    const int most = wrap->width > wrap->indent ? wrap->width - wrap->indent : 1;
    bool divided = false;

    while (*text) {
        const int blanks = (int)strspn(text, " "), word = (int)strcspn(text + blanks, " ");
        int length = word < most ? word : most;

        wrap->blanks += blanks;
        text += blanks;
        while (length < word && length > 1 && (text[length] & 0xc0) == 0x80)
            length--;
        if (length == 0)
            return;
        /* A comma may follow. */
        if ((wrap->blanks > 0 || divided) && wrap->column + wrap->blanks + length >= wrap->width) {
            fputc('\n', wrap->stream);
            wrap->column = 0;
            wrap->blanks = wrap->indent;
        }
        fprintf(wrap->stream, "%*s", wrap->blanks, "");
        put_bytes(wrap->stream, escapes_none, text, (size_t)length);
        wrap->column += wrap->blanks + length;
        wrap->blanks = 0;
        text += length;
        divided = length < word;
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
