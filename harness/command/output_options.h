/* SPDX-License-Identifier: MIT
 * Options for the style of the output, which several commands share. */
#ifndef CBANK_OUTPUT_OPTIONS_H
#define CBANK_OUTPUT_OPTIONS_H

#include "option.h"

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct color_row {
    const char *name;
    enum color_mode mode;
};

/* --color */
struct output_options {
    const struct color_row *color;
};

extern const struct option_row output_option_rows[1];

/* --markdown, --csv, --json: instead of text; --raw: for CSV */
struct format_options {
    bool markdown, csv, json, raw;
};

extern const struct option_row format_option_rows[4];

/* The help of --raw, for commands that write CSV and do not have these options. */
#define RAW_HELP "in CSV, text that begins as a formula does (=, +, -, @) without a ' before it"

/* STATUS_USAGE, logged, if more than one of the first three is given. */
enum status format_check(const struct format_options *options);

/* Whether to use colour on a stream, from --color, NO_COLOR, TERM and whether it is a terminal. */
bool output_color(const struct output_options *options, int descriptor);

#endif
