/* SPDX-License-Identifier: MIT
 * Pieces of text for reports and exports: text from outside made safe for a format, fields of CSV, numbers that
 * people read. Whoever opened a stream looks at its error flag. */
#ifndef CBANK_TEXT_H
#define CBANK_TEXT_H

#include <stdio.h>

#include <cjson/cJSON.h>

#include "status.h"

/* A character that a format writes otherwise. */
struct escape {
    char from; /* '\0' ends an array of them */
    const char *to;
};

extern const struct escape escapes_none[];
extern const struct escape escapes_xml[];      /* text and attributes */
extern const struct escape escapes_markdown[]; /* also within a table */

/* Writes text with its escapes. What is no character of UTF-8, a control character or no character of XML
 * becomes '?'. */
void text_put(FILE *stream, const struct escape *escapes, const char *text);

/* Fields of a row of CSV (RFC 4180), quoted where that is needed; the number exact, empty when not finite. The
 * caller writes the commas, and text_csv_end the line's end, which is CR LF. */
void text_csv(FILE *stream, const char *text);
void text_csv_number(FILE *stream, double value);
void text_csv_end(FILE *stream);

/* Writes value as indented JSON with a newline, and deletes it. STATUS_ENVIRONMENT when memory ran out, here or
 * when a member was added. */
enum status text_put_json(FILE *stream, cJSON *value);

enum { TEXT_NUMBER_BYTES = 32 };

/* A duration with four digits, "25.31 us"; "-" when not finite. */
void text_time(double ns, char out[TEXT_NUMBER_BYTES]);

/* A relative change with three digits and its sign, "+10.0%"; "-" when not finite. */
void text_change(double relative, char out[TEXT_NUMBER_BYTES]);

/* Half an interval's width as a share of its middle, "±0.12%"; "±?" when not finite. */
void text_half_width(double relative, char out[TEXT_NUMBER_BYTES]);

/* Text that goes on the next line at a blank where it reaches TEXT_COLUMNS. */
enum { TEXT_COLUMNS = 110 };

struct text_wrap {
    FILE *stream;
    int column;
    int indent; /* of the lines after the first */
    int blanks; /* not yet printed */
};

void text_wrap(struct text_wrap *wrap, const char *text);

#endif
