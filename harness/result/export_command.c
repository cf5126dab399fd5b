/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "command.h"
#include "export.h"
#include "files.h"
#include "log.h"

struct export_options {
    const struct export_format *format;
    bool raw;
};

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "format", .argument = "NAME", .kind = &option_choice, .offset = offsetof(struct export_options, format),
     .help = "csv (one row a sample), gbench (Google Benchmark), bmf (Bencher), otava or otava_config (Apache Otava), "
             "kernel_tuner, or, of a card, accelsim; default csv",
     .table = TABLE("format", export_formats, export_format_count), .fallback = "csv"},
    {.name = "raw", .help = RAW_HELP, .kind = &option_flag, .offset = offsetof(struct export_options, raw)},
};
/* clang-format on */

static const struct option_group groups[] = {OPTION_GROUP(rows, 0)};

static enum status export_files(const void *parsed, const struct invocation *invocation)
{
    const struct export_options *options = parsed;
    struct file_list files = {0};
    struct result *results = NULL;
    const struct result **pointers = NULL;
    enum status status = STATUS_OK;

    if (options->format->write_card && invocation->argument_count > 1)
        return log_error(STATUS_USAGE, "--format %s takes one card", options->format->name);
    if (options->format->write_card)
        return options->format->write_card(stdout, invocation->arguments[0]);
    for (size_t i = 0; status == STATUS_OK && i < invocation->argument_count; i++)
        status = files_add(&files, invocation->arguments[i]);
    if (status == STATUS_OK) {
        results = calloc(files.count, sizeof(*results));
        pointers = calloc(files.count, sizeof(*pointers));
        if (!results || !pointers)
            status = log_memory("results");
    }
    for (size_t i = 0; status == STATUS_OK && i < files.count; i++) {
        status = result_read(files.paths[i], &results[i]);
        pointers[i] = &results[i];
    }
    if (status == STATUS_OK)
        status = export_write(options->format, stdout, pointers, files.count, options->raw);
    for (size_t i = 0; results && i < files.count; i++)
        result_close(&results[i]);
    free(results);
    free(pointers);
    files_close(&files);
    return status;
}

const struct command export_command = {
    .name = "export",
    .summary = "Print results, or a card, in the format of another tool",
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = 1000,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct export_options),
    .run = export_files,
};
