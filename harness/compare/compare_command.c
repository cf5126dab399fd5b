/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "command.h"
#include "compare_report.h"

struct compare_command_options {
    struct comparing_options comparing;
    struct output_options look;
};

static const struct option_group groups[] = {
    OPTION_GROUP(comparing_option_rows, offsetof(struct compare_command_options, comparing)),
    OPTION_GROUP(output_option_rows, offsetof(struct compare_command_options, look)),
};

static enum status compare(const void *parsed, const struct invocation *invocation)
{
    const struct compare_command_options *options = parsed;
    struct comparing comparing;
    enum status status = comparing_open(&options->comparing, &comparing);

    for (size_t i = 0; i < SIDES && status == STATUS_OK; i++)
        status = sides_add_list(&comparing.sides[i], invocation->arguments[i]);
    if (status == STATUS_OK)
        status = compare_sides(comparing.sides, &comparing.as, &comparing.comparison);
    return comparing_close(&comparing, status, output_color(&options->look, STDOUT_FILENO));
}

const struct command compare_command = {
    .name = "compare",
    .summary = "Compare results cell by cell: is NEW worse than BASE?",
    .arguments = "BASE NEW",
    .arguments_min = 2,
    .arguments_max = 2,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct compare_command_options),
    .details =
        "BASE and NEW are each a result file, a folder of them, or several with commas between. Each result is a process, and\n"
        "each GPU is compared with itself, by its UUID. The exit code is 1 when a cell regressed, is missing or is invalid, 3\n"
        "when the sides are not comparable, and 4 when no cell could be decided. For any file, - is standard output.",
    .run = compare,
};
