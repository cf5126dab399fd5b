/* SPDX-License-Identifier: MIT */
#include "command.h"
#include "compare_options.h"

struct compare_command_options {
    struct comparing_options comparing;
    struct look_options look;
};

static const struct option_group groups[] = {
    OPTION_GROUP(comparing_option_rows, offsetof(struct compare_command_options, comparing)),
    OPTION_GROUP(look_option_rows, offsetof(struct compare_command_options, look)),
};

static enum status compare(const void *parsed, const struct invocation *invocation)
{
    const struct compare_command_options *options = parsed;
    struct gpu_sides sides[SIDES] = {0};
    struct calibration room = {0};
    struct comparison comparison = {0};
    const struct calibration *calibration;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < SIDES && status == STATUS_OK; i++)
        status = comparing_gpus(invocation->arguments[i], &sides[i]);
    if (status == STATUS_OK)
        status = comparing_calibration(&options->comparing, &room, &calibration);
    if (status == STATUS_OK) {
        const struct compare_options as = comparing_as(&options->comparing, calibration);

        status = gpu_sides_compare(sides, &as, &comparison);
    }
    if (status == STATUS_OK)
        status = comparing_report(&options->comparing, &options->look, &comparison);
    comparison_close(&comparison);
    calibration_close(&room);
    for (size_t i = 0; i < SIDES; i++)
        gpu_sides_close(&sides[i]);
    return status;
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
        "BASE and NEW are each a result file, a folder of them, or several with commas between. Each result is a\n"
        "process. Where a side has results of several GPUs, each GPU is compared with itself, by its UUID, and one that the\n"
        "other side lacks is missing or new. The exit code is 1 when a cell regressed, is missing or is invalid, and 3 when\n"
        "the sides are not comparable. In place of any file that is written, - is standard output, and the table stays away.",
    .run = compare,
};
