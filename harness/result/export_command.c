/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "commands.h"
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

enum status command_export(const struct options *options, int argc, char **argv)
{
    struct file_list files = {0};
    struct result *results = NULL;
    const struct result **pointers = NULL;
    enum status status = STATUS_OK;

    (void)argc;
    (void)argv;
    for (size_t i = 0; status == STATUS_OK && i < options->argument_count; i++)
        status = files_add(&files, options->arguments[i]);
    if (status != STATUS_OK)
        goto out;
    results = calloc(files.count, sizeof(*results));
    pointers = calloc(files.count, sizeof(*pointers));
    status = results && pointers ? read_all(&files, results, pointers) : log_error(STATUS_ENVIRONMENT, "out of memory");
    if (status == STATUS_OK)
        status = options->format->write(stdout, pointers, files.count);
out:
    for (size_t i = 0; results && i < files.count; i++)
        result_close(&results[i]);
    free(results);
    free(pointers);
    files_close(&files);
    return status;
}
