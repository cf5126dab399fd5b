/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "commands.h"
#include "result.h"
#include "show.h"

enum status command_show(const struct options *options, int argc, char **argv)
{
    enum status worst = STATUS_OK;

    (void)argc;
    (void)argv;
    for (size_t i = 0; i < options->argument_count; i++) {
        struct result result;
        const enum status status = result_read(options->arguments[i], &result);

        worst = status_worse(worst, status);
        if (status != STATUS_OK)
            continue;
        if (options->argument_count > 1)
            printf("%s%s:\n", i ? "\n" : "", options->arguments[i]);
        show_result(stdout, &result, options_color(options, STDOUT_FILENO));
        result_close(&result);
    }
    return worst;
}
