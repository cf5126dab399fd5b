/* SPDX-License-Identifier: MIT
 * Options for the style of the output, which several commands share. */
#pragma once

#include "option.h"
#include "text_print.h"

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

/* --csv, --json: instead of text */
struct format_options {
    bool csv, json;
};

extern const struct option_row format_option_rows[2];

/* STATUS_USAGE, logged, if both are given. */
enum status format_check(const struct format_options *options);

/* Whether to use colour on a stream, from --color, NO_COLOR, TERM and whether it is a terminal. */
bool output_color(const struct output_options *options, int descriptor);

/* The width of standard output, and whether to use colour there. */
struct print_style output_style(const struct output_options *options);
