/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "command.h"
#include "log.h"
#include "show.h"
#include "text_print.h"

struct show_options {
    struct format_options format;
    const char *cell; /* NULL: all */
    struct output_options look;
};

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "cell", .argument = "NAME", .kind = &option_text, .offset = offsetof(struct show_options, cell),
     .help = "everything about the cell with this identity WORKLOAD/PATH/PATTERN/..., or about the cells of a glob"},
};
/* clang-format on */

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(format_option_rows, offsetof(struct show_options, format)),
    OPTION_GROUP(output_option_rows, offsetof(struct show_options, look)),
};

/* Refuses options that have no meaning together. */
static enum status check(const struct show_options *options, const struct invocation *invocation)
{
    if (options->format.json && invocation->argument_count > 1)
        return log_error(STATUS_USAGE, "--json prints one result at a time; call it for each file");
    if (options->cell && (options->format.json || options->format.markdown))
        return log_error(STATUS_USAGE, "--cell prints text, or with --csv rows; leave out the other format");
    return format_check(&options->format);
}

static enum status show_file(const struct show_options *options, const struct invocation *invocation, size_t index)
{
    const char *file = invocation->arguments[index];
    struct result result;
    enum status status = result_read(file, &result);

    if (status != STATUS_OK)
        return status;
    if (invocation->argument_count > 1 && !options->format.csv) {
        fputs(index ? "\n" : "", stdout);
        text_put(stdout, escapes_none, file);
        puts(":");
    }
    if (options->format.json)
        status = result_write(&result, "-");
    else if (options->format.csv)
        status = show_csv(stdout, &result, file, options->cell,
                          &(struct grid){.raw = options->format.raw, .continued = index > 0});
    else if (options->cell)
        status = show_cells(stdout, &result, file, options->cell);
    else if (options->format.markdown)
        status = show_markdown(stdout, &result);
    else
        status = show_result(stdout, &result, output_color(&options->look, STDOUT_FILENO));
    result_close(&result);
    return status;
}

static enum status show(const void *parsed, const struct invocation *invocation)
{
    const enum status checked = check(parsed, invocation);
    enum status worst = checked;

    for (size_t i = 0; checked == STATUS_OK && i < invocation->argument_count; i++)
        worst = status_worse(worst, show_file(parsed, invocation, i));
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
