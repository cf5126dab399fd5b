/* SPDX-License-Identifier: MIT
 * The options of comparing, of compare and of gate, and what is done by them. */
#ifndef CBANK_COMPARE_OPTIONS_H
#define CBANK_COMPARE_OPTIONS_H

#include "compare_report.h"
#include "gpus.h"
#include "look.h"
#include "option.h"

struct comparing_options {
    double threshold_percent, counter_threshold_percent;
    struct selection allowed; /* facets that may differ */
    const char *calibration_path;
    const char *paths[REPORT_COUNT]; /* of the reports; NULL: none */
    bool all, strict, quiet, raw;
};

enum { COMPARING_OPTION_COUNT = 8 + REPORT_COUNT };

extern const struct option_row comparing_option_rows[COMPARING_OPTION_COUNT];

/* As compare_sides takes them; the calibration is the caller's, NULL for none. */
struct compare_options comparing_as(const struct comparing_options *options, const struct calibration *calibration);

/* Reads the calibration where there is one; *out is then NULL or `room`, which the caller closes. */
enum status comparing_calibration(const struct comparing_options *options, struct calibration *room,
                                  const struct calibration **out);

/* Adds what the user called one side: paths with commas between. On an error as side_add, or gpu_sides_add. */
enum status comparing_side(const char *paths, struct side *side);
enum status comparing_gpus(const char *paths, struct gpu_sides *sides);

/* Prints the table, unless nobody reads it: it is not wanted, or a report takes stdout. Writes the reports. Returns the
 * exit code. */
enum status comparing_report(const struct comparing_options *options, const struct look_options *look,
                             const struct comparison *comparison);

#endif
