/* SPDX-License-Identifier: MIT
 * What compare and gate have in common: options about judging and reporting, and their use. */
#pragma once

#include <stdbool.h>

#include "compare.h"
#include "option.h"
#include "report.h"

struct comparing_options {
    double threshold_percent;
    struct selection allowed; /* context fields that may differ */
    const char *calibration_path, *boards_path;
    const char *report_paths[REPORT_COUNT]; /* by enum report_index; NULL: not asked for */
    bool later, all, strict, quiet;
};

/* --threshold, of a double: the change of time that counts, in percent. */
extern const struct option_row threshold_option_rows[1];

/* The others. */
enum { COMPARING_OPTION_COUNT = 7 + REPORT_COUNT };
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

/* Whether cells are paired whoever compiled them: before a side has any. */
void comparing_pair(struct comparing *comparing, bool jit);

/* If `status` is OK and there is a comparison, prints the text, unless it is not wanted or a report
 * goes to stdout, and writes the reports. Releases everything and returns the exit code. */
enum status comparing_close(struct comparing *comparing, enum status status,
                            struct print_style look);
