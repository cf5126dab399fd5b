/* SPDX-License-Identifier: MIT
 * A comparison for people and for machines: text, JUnit, JSON. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "compare.h"
#include "files.h"
#include "grid.h"
#include "option.h"

enum { LINE_BYTES = 1024 };

/* Options of compare and gate about judging and reporting. */
struct comparing_options {
    double threshold_percent;
    struct selection allowed; /* context fields that may differ */
    const char *calibration_path, *boards_path, *junit_path, *json_path;
    bool all, strict, quiet;
};

enum { COMPARING_OPTION_COUNT = 9 };
extern const struct option_row comparing_option_rows[COMPARING_OPTION_COUNT];

/* The data that compare and gate share. */
struct comparing {
    const struct comparing_options *options;
    bool across; /* two GPUs are shown beside each other: nothing is judged */
    struct calibration calibration;
    struct compare_options as;
    struct sides sides[SIDES], boards;
    struct comparison comparison;
};

/* Takes the options, and reads the calibration and the results that they name. The caller closes
 * *out, even after an error. */
enum status comparing_open(const struct comparing_options *options, struct comparing *out);

/* If `status` is OK and there is a comparison, prints the text, unless it is not wanted or a report
 * goes to stdout, and writes the reports. Releases everything and returns the exit code. */
enum status comparing_close(struct comparing *comparing, enum status status,
                            struct print_style look);

/* Text: a summary, the context, then cells, worst first. Cells that are the same are counted, or
 * listed with `all`. STATUS_ENVIRONMENT when out of memory. */
enum status compare_print(FILE *stream, const struct comparison *comparison, bool all,
                          const struct print_style *look);

/* Text for two GPUs, of one model or two: the cells that differ in time or in SM cycles, the
 * greatest change first. With `all` it has each cell that both sides have. STATUS_ENVIRONMENT when
 * out of memory. */
enum status compare_across(FILE *stream, const struct comparison *comparison, bool all,
                           const struct print_style *look);

/* Reports for an open stream; `context` is a struct comparison. */
file_writer compare_junit, compare_json;

/* The outcome, and the number of cells with each verdict. */
void summary_line(const struct comparison *comparison, char line[LINE_BYTES]);

/* How many processes would decide every cell that more processes can decide; 0: there is no such
 * cell. */
uint64_t comparison_needs(const struct comparison *comparison);

/* The number of processes that would decide the inconclusive cells, and how to measure them; "" if
 * there is none. */
void settle_line(const struct comparison *comparison, char line[LINE_BYTES]);

/* Writes a context field of both sides as text: "mixed" if results disagree; a count of cells for a
 * field of cells. */
void context_texts(const struct comparison *comparison, size_t field,
                   char texts[SIDES][DEVICE_TEXT_BYTES]);

/* Compares two texts of sass_code.h and writes the change as one line. False, without a line, if
 * one of them is NULL or malformed. */
bool code_change(const char *base, const char *new_code, char *out, size_t bytes);
