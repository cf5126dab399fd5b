/* SPDX-License-Identifier: MIT
 * Pieces of text for reports and exports: text from outside made safe for a format, fields of CSV, numbers that
 * people read. Whoever opened a stream looks at its error flag. */
#ifndef CBANK_TEXT_H
#define CBANK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Bytes of the UTF-8 character at text, which `left` bytes are left of; 0 when there is none: a stray or missing
 * continuation, an overlong form, a surrogate, beyond U+10FFFF. */
size_t text_utf8(const char *text, size_t left);

/* Whether all characters are printable ones of ASCII. */
bool text_is_plain(const char *text);

/* Replaces each byte that belongs to no printable character by '?'. Printable is what terminals and XML take: no
 * control characters (C0, DEL, C1), ends of lines, what changes the direction of text, U+FFFE, U+FFFF. */
void text_clean(char *text);

enum { TEXT_SHOWN_BYTES = 80 };

/* Text from outside as a message can show it: clean, and cut when it is long. Returns out. */
const char *text_shown(const char *text, char out[TEXT_SHOWN_BYTES]);

/* Adds to a text, behind the separator where there is one already, as far as there is room. */
__attribute__((format(printf, 4, 5))) void text_join(char *out, size_t bytes, const char *separator, const char *format,
                                                     ...);

/* Columns that text takes on a terminal: one for each character. */
size_t text_columns(const char *text);

/* A character that a format writes otherwise. */
struct escape {
    char from; /* '\0' ends an array of them */
    const char *to;
};

extern const struct escape escapes_none[];
extern const struct escape escapes_xml[]; /* text and attributes */
extern const struct escape escapes_markdown[]; /* also within a table */

/* Writes text with its escapes. Control characters, and bytes that are no character of UTF-8 or XML, become '?'. */
void text_put(FILE *stream, const struct escape *escapes, const char *text);

/* Writes a start tag of XML without its end, after what it begins with; attributes are pairs of name and text, with
 * NULL behind the last. */
void text_put_tag(FILE *stream, const char *start, const char *const *attributes);

/* Writes a blank, and the word as a shell takes it: in quotes where it has what is more than a name to a shell. */
void text_put_word(FILE *stream, const char *word);

/* Writes a field of a row of CSV (RFC 4180), quoted where that is needed. Text that a spreadsheet would take for a formula
 * (it begins with =, +, - or @ and is no number) gets a ' before it, unless raw. */
void text_csv(FILE *stream, const char *text, bool raw);

enum { TEXT_NUMBER_BYTES = 32 };

/* A duration with four digits, "25.31 us"; "-" when not finite. */
void text_time(double ns, char out[TEXT_NUMBER_BYTES]);

/* A count, with all its digits: "12800000"; of what is no whole number one decimal; "-" when not finite. */
void text_count(double count, char out[TEXT_NUMBER_BYTES]);

/* A relative change with three digits and its sign, "+10.0%"; "-" when not finite. */
void text_change(double relative, char out[TEXT_NUMBER_BYTES]);

/* A number with one decimal, or with two; "-" when not finite. */
void text_tenths(double value, char out[TEXT_NUMBER_BYTES]);
void text_hundredths(double value, char out[TEXT_NUMBER_BYTES]);

/* How many times as much, "1.06x"; "-" when not finite. */
void text_ratio(double ratio, char out[TEXT_NUMBER_BYTES]);

/* A part of a whole, "52%"; "-" when not finite. */
void text_share(double share, char out[TEXT_NUMBER_BYTES]);

/* Half an interval's width as a share of its middle, "±0.12%"; "±?" when not finite. */
void text_half_width(double relative, char out[TEXT_NUMBER_BYTES]);

/* A number as one of these writes it, for a place among the arguments of printf: text_of(text_time, ns).text. */
struct text_number {
    char text[TEXT_NUMBER_BYTES];
};

struct text_number text_of(void (*format)(double value, char out[TEXT_NUMBER_BYTES]), double value);

enum { TEXT_WIDTH = 80 };

/* Columns that a table or text on this stream may take: those of COLUMNS, else of the terminal, else TEXT_WIDTH. */
int text_width(FILE *stream);

/* Text that goes on the next line at a blank where it reaches the width. */
struct text_wrap {
    FILE *stream;
    int width; /* see text_width */
    int column; /* where the next character goes */
    int indent; /* of the lines after the first */
    int blanks; /* not yet printed */
};

/* Writes text, as text_put without escapes. A word is divided where it is longer than a line. */
void text_wrap(struct text_wrap *wrap, const char *text);

/* Writes blanks up to wrap's column, text from there on, of TEXT_PARAGRAPH_BYTES at most, and ends the line. */
enum { TEXT_PARAGRAPH_BYTES = 1024 };
__attribute__((format(printf, 2, 3))) void text_paragraph(struct text_wrap wrap, const char *format, ...);

#endif
