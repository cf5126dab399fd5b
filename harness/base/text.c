/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "log.h"

const struct escape escapes_none[] = {{'\0', NULL}};

const struct escape escapes_xml[] = {
    {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}, {'\0', NULL},
};

const struct escape escapes_markdown[] = {
    {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'|', "\\|"}, {'*', "\\*"},   {'_', "\\_"},   {'`', "\\`"},
    {'[', "\\["},   {']', "\\]"},  {'~', "\\~"},  {'#', "\\#"}, {'@', "&#64;"}, {'\\', "\\\\"}, {'\0', NULL},
};

static const struct escape escapes_csv[] = {{'"', "\"\""}, {'\0', NULL}};

/* Bytes of the character that text begins with; 0 when it is none that every format takes. */
static size_t character_bytes(const char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* by length: what needs as many bytes */
    const unsigned char *bytes = (const unsigned char *)text;
    const size_t length = bytes[0] < 0x80   ? 1
                          : bytes[0] < 0xc0 ? 0
                          : bytes[0] < 0xe0 ? 2
                          : bytes[0] < 0xf0 ? 3
                          : bytes[0] < 0xf8 ? 4
                                            : 0;
    uint32_t code = length < 2 ? bytes[0] : bytes[0] & (0x7fu >> length);

    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (bytes[i] & 0x3fu);
    }
    if (length == 0 || code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    /* Controls, C1 ones too, and what XML has no place for. */
    if (code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xfffe || code == 0xffff)
        return 0;
    return length;
}

static const char *escaped(const struct escape *escapes, char from)
{
    for (; escapes->from; escapes++)
        if (escapes->from == from)
            return escapes->to;
    return NULL;
}

void text_put(FILE *stream, const struct escape *escapes, const char *text)
{
    while (*text) {
        const size_t bytes = character_bytes(text);
        const char *to = bytes == 1 ? escaped(escapes, *text) : NULL;

        if (to)
            fputs(to, stream);
        else if (bytes == 0)
            putc('?', stream);
        else
            fwrite(text, 1, bytes, stream);
        text += bytes ? bytes : 1;
    }
}

/* -- CSV ---------------------------------------------------------------------------------------------- */

void text_csv(FILE *stream, const char *text)
{
    const bool quoted = strpbrk(text, ",\"") != NULL;

    fputs(quoted ? "\"" : "", stream);
    text_put(stream, quoted ? escapes_csv : escapes_none, text);
    fputs(quoted ? "\"" : "", stream);
}

void text_csv_number(FILE *stream, double value)
{
    if (isfinite(value))
        fprintf(stream, "%.17g", value);
}

void text_csv_end(FILE *stream)
{
    fputs("\r\n", stream);
}

/* -- JSON --------------------------------------------------------------------------------------------- */

enum status text_put_json(FILE *stream, cJSON *value)
{
    char *text = value ? cJSON_Print(value) : NULL;

    cJSON_Delete(value);
    if (!text)
        return log_error(STATUS_ENVIRONMENT, "out of memory for the JSON of a report");
    fputs(text, stream);
    putc('\n', stream);
    cJSON_free(text);
    return STATUS_OK;
}

/* -- numbers ------------------------------------------------------------------------------------------ */

void text_time(double ns, char out[TEXT_NUMBER_BYTES])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    size_t unit = 0;

    /* The limits are where four digits would round up to five. */
    while (unit + 1 < sizeof(units) / sizeof(units[0]) && fabs(ns) >= 999.95) {
        ns /= 1000;
        unit++;
    }
    if (isfinite(ns))
        snprintf(out, TEXT_NUMBER_BYTES, "%.*f %s", fabs(ns) < 9.9995 ? 3 : fabs(ns) < 99.995 ? 2 : 1, ns, units[unit]);
    else
        snprintf(out, TEXT_NUMBER_BYTES, "-");
}

void text_change(double relative, char out[TEXT_NUMBER_BYTES])
{
    const double percent = 100 * relative;
    const double size = fabs(percent);

    if (!isfinite(percent))
        snprintf(out, TEXT_NUMBER_BYTES, "-");
    else if (size < 999.5)
        snprintf(out, TEXT_NUMBER_BYTES, "%+.*f%%", size < 9.995 ? 2 : size < 99.95 ? 1 : 0, percent);
    else
        snprintf(out, TEXT_NUMBER_BYTES, "%+.3g%%", percent);
}

void text_half_width(double relative, char out[TEXT_NUMBER_BYTES])
{
    const double percent = 100 * relative;

    if (isfinite(percent))
        snprintf(out, TEXT_NUMBER_BYTES, "±%.*f%%", percent < 9.995 ? 2 : percent < 99.95 ? 1 : 0, percent);
    else
        snprintf(out, TEXT_NUMBER_BYTES, "±?");
}

/* -- lines -------------------------------------------------------------------------------------------- */

void text_wrap(struct text_wrap *wrap, const char *text)
{
    while (*text) {
        const int blanks = (int)strspn(text, " "), length = (int)strcspn(text + blanks, " ");

        wrap->blanks += blanks;
        text += blanks + length;
        if (length == 0)
            return;
        /* A comma may follow. */
        if (wrap->blanks > 0 && wrap->column + wrap->blanks + length >= TEXT_COLUMNS) {
            fputc('\n', wrap->stream);
            wrap->column = 0;
            wrap->blanks = wrap->indent;
        }
        fprintf(wrap->stream, "%*s%.*s", wrap->blanks, "", length, text - length);
        wrap->column += wrap->blanks + length;
        wrap->blanks = 0;
    }
}
