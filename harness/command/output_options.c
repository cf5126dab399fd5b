/* SPDX-License-Identifier: MIT
 * The options that commands share for their output: colour, CSV, JSON; and what follows from them.
 */
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

const struct option_row format_option_rows[2] = {
    {.name = "csv",
     .topic = TOPIC_OUTPUT,
     .help = "print CSV",
     .kind = &option_flag,
     .offset = offsetof(struct format_options, csv)},
    {.name = "json",
     .topic = TOPIC_OUTPUT,
     .help = "print JSON",
     .kind = &option_flag,
     .offset = offsetof(struct format_options, json)},
};

enum status format_check(const struct format_options *options)
{
    return options->csv && options->json
               ? log_error(STATUS_USAGE, "--csv and --json exclude each other; take one")
               : STATUS_OK;
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
