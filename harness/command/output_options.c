/* SPDX-License-Identifier: MIT
 * The options --color and those of the formats of grids. */
#include "output_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

static const struct color_row color_rows[] = {
    {"auto", COLOR_AUTO},
    {"always", COLOR_ALWAYS},
    {"never", COLOR_NEVER},
};
static const size_t color_count = sizeof(color_rows) / sizeof(color_rows[0]);

const struct option_row output_option_rows[1] = {
    {.name = "color",
     .topic = TOPIC_OUTPUT,
     .argument = "WHEN",
     .help = "auto, always or never; NO_COLOR is respected",
     .kind = &option_choice,
     .offset = offsetof(struct output_options, color),
     .table = TABLE("colour mode", color_rows, color_count),
     .fallback = "auto"},
};

#define FORMAT_OPTION(format, explanation) \
    {.name = #format,                      \
     .topic = TOPIC_OUTPUT,                \
     .help = explanation,                  \
     .kind = &option_flag,                 \
     .offset = offsetof(struct format_options, given[GRID_##format])},
#define FORMAT_ROW(format, explanation) &grid_##format,

const struct option_row format_option_rows[GRID_FORMAT_COUNT] = {GRID_FORMATS(FORMAT_OPTION)};

const struct grid_format *const grid_formats[GRID_FORMAT_COUNT] = {GRID_FORMATS(FORMAT_ROW)};

enum status format_taken(const struct format_options *options, size_t *out)
{
    *out = GRID_FORMAT_COUNT;
    for (size_t i = 0; i < GRID_FORMAT_COUNT; i++) {
        if (!options->given[i])
            continue;
        if (*out < GRID_FORMAT_COUNT)
            return log_error(STATUS_USAGE, "--%s and --%s exclude each other; take one",
                             grid_formats[*out]->name, grid_formats[i]->name);
        *out = i;
    }
    return STATUS_OK;
}

bool output_color(const struct output_options *options, int descriptor)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    if (options->color->mode != COLOR_AUTO)
        return options->color->mode == COLOR_ALWAYS;
    return isatty(descriptor) && !(no_color && no_color[0]) && term && strcmp(term, "dumb") != 0;
}

struct print_style output_style(const struct output_options *options)
{
    return (struct print_style){.width = text_width(stdout),
                                .color = output_color(options, STDOUT_FILENO)};
}
