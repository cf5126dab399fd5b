/* SPDX-License-Identifier: MIT
 * Reports of a comparison. A format is a file report_NAME.c with one struct report_format, and a
 * line of REPORT_FORMATS, from which the option --NAME FILE of compare and gate follows. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "compare.h"
#include "text_print.h"

/* How much of a comparison is shown, and how. Formats of files may ignore it. */
struct report_view {
    struct print_style look; /* of text */
    bool all; /* cells that are the same, too */
};

struct document;

struct report_format {
    /* Writes the report. Failed writes show in the stream's error flag. STATUS_ENVIRONMENT, logged,
     * when out of memory. */
    enum status (*write)(FILE *stream, const struct comparison *comparison,
                         const struct report_view *view);
    /* It says what passes: compare --across, which judges nothing, refuses it. */
    bool judges;
};

/* clang-format off */
/* EACH(NAME, help of the option), in the order of help. */
#define REPORT_FORMATS(EACH) \
    EACH(json, "write the comparison as JSON") \
    EACH(junit, "write a JUnit report: a test case for each cell") \
    EACH(markdown, "write the table as Markdown, for a page or a comment on a change")
/* clang-format on */

#define REPORT_INDEX(name, help)    REPORT_##name,
#define REPORT_DECLARED(name, help) extern const struct report_format report_##name;

enum report_index { REPORT_FORMATS(REPORT_INDEX) REPORT_COUNT };

REPORT_FORMATS(REPORT_DECLARED)

/* A struct comparison as a document; it is written and never read. */
extern const struct document comparison_document;

/* By enum report_index. */
extern const struct report_format *const report_formats[REPORT_COUNT];

/* The text on standard output: a summary, the context, then the cells, worst first. Cells that are
 * the same are counted. `all` lists them. */
extern const struct report_format report_text;

/* The text of two GPUs, of one model or two: the cells that differ in time or in SM cycles, the
 * greatest change first. With `all` it has each cell that both sides have. */
extern const struct report_format report_across;
