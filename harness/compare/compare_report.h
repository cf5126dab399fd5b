/* SPDX-License-Identifier: MIT
 * A comparison for people and for machines: text, Markdown, JUnit, JSON. All use the sentences and the grid of
 * compare_report.c. */
#ifndef CBANK_COMPARE_REPORT_H
#define CBANK_COMPARE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "compare.h"
#include "files.h"
#include "grid.h"
#include "option.h"

enum { LINE_BYTES = 1024 };

/* Options of compare and gate about judging and reporting. */
struct comparing_options {
    double threshold_percent, counter_threshold_percent;
    struct selection allowed; /* context fields that may differ */
    const char *calibration_path, *markdown_path, *junit_path, *json_path;
    bool all, strict, quiet;
};

enum { COMPARING_OPTION_COUNT = 10 };
extern const struct option_row comparing_option_rows[COMPARING_OPTION_COUNT];

/* Options for compare_sides. The caller keeps the calibration; NULL for none. */
struct compare_options comparing_as(const struct comparing_options *options, const struct calibration *calibration);

/* Prints the text, unless it is not wanted or a report goes to stdout; writes the reports. Returns the exit code. */
enum status comparing_report(const struct comparing_options *options, bool color, const struct comparison *comparison);

/* Text: a summary, the context, then cells, worst first. Cells that are the same are counted, or listed with `all`.
 * STATUS_ENVIRONMENT when out of memory. */
enum status compare_print(FILE *stream, const struct comparison *comparison, bool all, const struct print_style *look);

/* Reports for an open stream; `context` is a struct comparison. */
file_writer compare_markdown, compare_junit, compare_json;

/* The same document. The caller deletes it. */
cJSON *comparison_to_json(const struct comparison *comparison);

/* The facts of a judged cell in a document, except its verdict. */
extern const struct fields judged_fields;

/* The outcome, and the number of cells with each verdict. */
void summary_line(const struct comparison *comparison, char line[LINE_BYTES]);

/* The number of processes that would decide the inconclusive cells, and how to measure them; "" if there is none. */
void settle_line(const struct comparison *comparison, char line[LINE_BYTES]);

/* Writes a context field of both sides as text: "mixed" if results disagree; a count of cells for a field of cells. */
void context_texts(const struct comparison *comparison, size_t field, char texts[SIDES][DEVICE_TEXT_BYTES]);

/* "a side", "of BASE" or "of NEW": the side whose processes are counted. */
const char *measured_text(const bool fixed[SIDES]);

#endif
