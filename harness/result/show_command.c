/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "command.h"
#include "result.h"
#include "show.h"

struct show_options {
    struct look_options look;
};

static const struct option_group groups[] = {
    OPTION_GROUP(look_option_rows, offsetof(struct show_options, look)),
};

static enum status show(const void *parsed, const struct invocation *invocation)
{
    const struct show_options *options = parsed;
    enum status worst = STATUS_OK;

    for (size_t i = 0; i < invocation->argument_count; i++) {
        struct result result;
        const enum status status = result_read(invocation->arguments[i], &result);

        worst = status_worse(worst, status);
        if (status != STATUS_OK)
            continue;
        if (invocation->argument_count > 1)
            printf("%s%s:\n", i ? "\n" : "", invocation->arguments[i]);
        show_result(stdout, &result, look_color(&options->look, STDOUT_FILENO));
        result_close(&result);
    }
    return worst;
}

const struct command show_command = {
    .name = "show",
    .summary = "Print the table of a result file",
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = 1000,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct show_options),
    .run = show,
};
