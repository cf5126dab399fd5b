/* SPDX-License-Identifier: MIT
 * Text as it is printed: columns and lines of a terminal, CSV, other escapes, and numbers for
 * people. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Columns of the text on a terminal, as text_put writes it without escapes. */
size_t text_columns(const char *text);

/* A character that a format writes differently. */
struct escape {
    char from; /* '\0' ends the array */
    const char *to;
};

extern const struct escape escapes_none[];
extern const struct escape escapes_xml[]; /* text and attributes */
extern const struct escape escapes_markdown[]; /* in lines and in cells of tables */

/* Writes text with its escapes. Control characters, and bytes that are not a character of UTF-8 or
 * XML, are written like \x1b. */
void text_put(FILE *stream, const struct escape *escapes, const char *text);

/* Writes a line with names from outside (at most TEXT_LINE_BYTES), like text_put without
 * escapes. */
enum { TEXT_LINE_BYTES = 8192 };
__attribute__((format(printf, 2, 3))) void text_line(FILE *stream, const char *format, ...);

/* Writes the start and the attributes of an XML tag without its end. Attributes are pairs of name
 * and text, with NULL after the last. */
void text_put_tag(FILE *stream, const char *start, const char *const *attributes);

/* Writes a field of a CSV row (RFC 4180), quoted if needed. A ' precedes text that a spreadsheet
 * would take for a formula: it begins with =, +, - or @, of any width, and is no decimal number. */
void text_csv(FILE *stream, const char *text);

enum { TEXT_NUMBER_BYTES = 32 };

/* A duration with four digits, "25.31 us"; "-" when not finite. */
void text_time(double ns, char out[TEXT_NUMBER_BYTES]);

/* Energy with four digits, "25.31 pJ"; "-" when not finite. */
void text_energy(double joules, char out[TEXT_NUMBER_BYTES]);

/* A count with all its digits: "12800000"; with one decimal if it is not a whole number; "-" if not
 * finite. */
void text_count(double count, char out[TEXT_NUMBER_BYTES]);

/* A relative change with three digits and its sign, "+10.0%"; "-" when not finite. */
void text_change(double relative, char out[TEXT_NUMBER_BYTES]);

/* A number with one decimal, or with two; "-" when not finite. */
void text_tenths(double value, char out[TEXT_NUMBER_BYTES]);
void text_hundredths(double value, char out[TEXT_NUMBER_BYTES]);

/* A ratio, "1.06x"; "-" if not finite. */
void text_ratio(double ratio, char out[TEXT_NUMBER_BYTES]);

/* A part of a whole, "52%"; "-" when not finite. */
void text_share(double share, char out[TEXT_NUMBER_BYTES]);

/* Half the width of an interval relative to its middle, "±0.12%"; "-" if not finite. */
void text_half_width(double relative, char out[TEXT_NUMBER_BYTES]);

/* A number as one of these functions writes it, as an argument of printf: text_of(text_time,
 * ns).text. */
struct text_number {
    char text[TEXT_NUMBER_BYTES];
};

struct text_number text_of(void (*format)(double value, char out[TEXT_NUMBER_BYTES]), double value);

enum { TEXT_WIDTH = 80 };

/* Columns available on this stream: from COLUMNS, else from the terminal, else TEXT_WIDTH. */
int text_width(FILE *stream);

/* Layout of text. */
struct print_style {
    int width; /* columns of the terminal, see text_width */
    int indent; /* of every line below the title */
    bool color; /* use ANSI attributes */
    struct print_ranks {
        /* raised to the greatest rank that was printed; lowered to the least of these */
        unsigned greatest, least;
    } *ranks; /* NULL: not needed */
};

/* Text that is broken at blanks at the given width. */
struct text_wrap {
    FILE *stream;
    int width; /* see text_width */
    int column; /* of the next character */
    int indent; /* of the lines after the first */
    int blanks; /* not yet printed */
};

/* Writes text, like text_put without escapes. A word longer than a line is divided. */
void text_wrap(struct text_wrap *wrap, const char *text);

/* Writes blanks up to wrap's column, then text (at most TEXT_PARAGRAPH_BYTES), and ends the
 * line. */
enum { TEXT_PARAGRAPH_BYTES = 1024 };
__attribute__((format(printf, 2, 3))) void text_paragraph(struct text_wrap wrap, const char *format,
                                                          ...);
