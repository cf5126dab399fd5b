/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "export.h"
#include "files.h"
#include "log.h"

/* Reads files[0 .. count - 1] into results, which are the caller's to close up to the first that failed. */
static enum status read_all(const struct file_list *files, struct result *results, const struct result **pointers)
{
    for (size_t i = 0; i < files->count; i++) {
        const enum status status = result_read(files->paths[i], &results[i]);

        if (status != STATUS_OK)
            return status;
        pointers[i] = &results[i];
    }
    return STATUS_OK;
}

struct export_options {
    const struct export_format *format;
};

static const struct option_row rows[] = {
    {.name = "format",
     .argument = "NAME",
     .help = "csv (one row a sample), gbench (Google Benchmark), bmf (Bencher) or otava (Apache Otava); default csv",
     .kind = &option_choice,
     .offset = offsetof(struct export_options, format),
     .table = TABLE("format", export_formats, export_format_count),
     .fallback = "csv"},
};

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
};

static enum status export(const void *parsed, const struct invocation *invocation) {
    const struct export_options *options = parsed; struct file_list files = {0}; struct result *results = NULL;
    const struct result **pointers = NULL;
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < invocation->argument_count; i++)
        status = files_add(&files, invocation->arguments[i]);
    if (status != STATUS_OK) goto out;
    results = calloc(files.count, sizeof(*results));
    pointers = calloc(files.count, sizeof(*pointers));
    status = results && pointers ? read_all(&files, results, pointers) : log_error(STATUS_ENVIRONMENT, "out of memory");
    if (status == STATUS_OK) status = export_write(options->format, stdout, pointers, files.count);
    out : for (size_t i = 0; results && i < files.count; i++) result_close(&results[i]);
    free(results);
    free(pointers);
    files_close(&files);
    return status;
}

const struct command export_command = {
    .name = "export",
    .summary = "Print results in the format of another tool",
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = 1000,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct export_options),
    .run = export,
};
