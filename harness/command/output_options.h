/* SPDX-License-Identifier: MIT
 * Options for the style of the output, which several commands share. */
#pragma once

#include "grid.h"
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

/* A flag for each of GRID_FORMATS: instead of text */
struct format_options {
    bool given[GRID_FORMAT_COUNT]; /* by enum grid_format_index */
};

extern const struct option_row format_option_rows[GRID_FORMAT_COUNT];

/* By enum grid_format_index. */
extern const struct grid_format *const grid_formats[GRID_FORMAT_COUNT];

/* Sets the index of the format that was asked for; GRID_FORMAT_COUNT: text. STATUS_USAGE, logged,
 * if there are two. */
enum status format_taken(const struct format_options *options, size_t *out);

/* Whether to use colour on a stream, from --color, NO_COLOR, TERM and whether it is a terminal. */
bool output_color(const struct output_options *options, int descriptor);

/* The width of standard output, and whether to use colour there. */
struct print_style output_style(const struct output_options *options);
