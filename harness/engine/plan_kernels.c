/* SPDX-License-Identifier: MIT
 * Cells of kernel files: one for each build and size, compiled for the device. The second part
 * compiles again for a run that is resumed: only what its document allows, and only if the file is
 * the one that was measured. */
#include "plan_kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "engine.h"
#include "kernel_document.h"
#include "log.h"
#include "text.h"
#include "texts.h"
#include "user_cell.h"

/* Makes room for so many files. Joins their paths, to split them, with the one of --against; both
 * may be NULL. */
static enum status make_room(const char *paths, const char *against, size_t count,
                             struct kernel_files *files)
{
    *files = (struct kernel_files){.files = calloc(count + 1, sizeof(*files->files))};
    if (asprintf(&files->paths, "%s%s%s", paths ? paths : "", against ? "," : "",
                 against ? against : "") < 0)
        files->paths = NULL;
    return files->paths && files->files ? STATUS_OK : log_memory("%zu kernel files", count);
}

enum status plan_check_kernels(const struct kernel_options *options)
{
    struct kernel_files files;
    enum status status = make_room(options->paths, options->against, 0, &files);
    char *rest = files.paths;

    for (char *path; status == STATUS_OK && (path = strsep(&rest, ","));)
        status = kernel_file_readable(path);
    kernel_files_close(&files);
    return status;
}

/* Adds the cells of a file. */
static enum status add_cells(const struct plan_options *options, const struct kernel_file *file,
                             struct plan *plan)
{
    const struct integers *asked = &options->kernel.sizes;
    const struct selection *states = &options->cache_states;
    const uint64_t *sizes = asked->count ? asked->values : file->info.sizes;
    const size_t count = asked->count ? asked->count : file->info.size_count;

    for (size_t i = 0; i < count * states->count; i++)
        for (const struct kernel_build *build = file->builds;
             build < file->builds + file->build_count; build++) {
            struct cell cell = user_cell(&build->kernel, sizes[i / states->count],
                                         states->rows[i % states->count]);
            enum status status;
            bool twice = false;

            if (!cell.path || cell.elements == 0 || cell.elements > CELL_ELEMENTS_MAX)
                return log_error(STATUS_USAGE, "%s:%u: a size is from 1 to %" PRIu64, file->path,
                                 file->info.line, CELL_ELEMENTS_MAX);
            for (size_t k = 0; k < plan->count && !twice; k++)
                twice = cell_order(&plan->cells[k], &cell) == 0;
            if (twice)
                return log_error(STATUS_USAGE,
                                 "%s:%u: %s is there twice, with the same code and size",
                                 file->path, file->info.line, cell.kernel.name);
            cell.build = build;
            cell.jit = options->jit;
            status = plan_add(plan, &cell);
            if (status != STATUS_OK)
                return status;
        }
    return STATUS_OK;
}

/* The request for a file of a plan; `against`: that of --against. */
static struct kernel_request request_of(const struct kernel_options *options, uint32_t architecture,
                                        const char *path, bool against)
{
    const bool compiler = against && options->against_compiler,
               own = against && options->against_options;

    return (struct kernel_request){.path = path,
                                   .spaces = options->spaces,
                                   .compiler =
                                       compiler ? options->against_compiler : options->compiler,
                                   .options =
                                       own ? options->against_options : options->compiler_options,
                                   .architecture = architecture,
                                   .against = against,
                                   .seconds = options->compiler_seconds,
                                   .expected = options->expected};
}

enum status plan_open_kernels(const struct plan_options *options, uint32_t architecture,
                              struct kernel_files *files, struct plan *out)
{
    enum status status;
    size_t count = 2;

    for (const char *c = options->kernel.paths; *c; c++)
        count += *c == ',';
    *out = (struct plan){0};
    status = make_room(options->kernel.paths, options->kernel.against, count, files);
    if (status != STATUS_OK)
        return status;
    for (char *rest = files->paths, *path; (path = strsep(&rest, ","));) {
        const struct kernel_request request =
            request_of(&options->kernel, architecture, path,
                       files->count > 0 && options->kernel.against);

        status = kernel_file_open(&request, &files->files[files->count]);
        if (status != STATUS_OK)
            return status;
        status = add_cells(options, &files->files[files->count++], out);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* -- results ----------------------------------------------------------------------------------- */

/* Gives a build to a cell, which is skipped if its tables cannot live where they should. */
static void give_build(struct cell_result *cell, const struct kernel_build *build)
{
    cell->cell.build = build;
    cell->of_case.as_written = build->as_written;
    if (build->reason[0])
        engine_end_cell(cell, CELL_SKIPPED, "%s", build->reason);
}

enum status result_set_kernels(struct result *result, const struct kernel_options *options,
                               const struct kernel_files *files)
{
    result->kernels = calloc(files->count + 1, sizeof(*result->kernels));
    if (!result->kernels)
        return log_memory("%zu kernel files", files->count);
    for (const struct kernel_file *file = files->files; file < files->files + files->count;
         file++) {
        struct result_kernel *kernel = &result->kernels[result->kernel_count++];

        *kernel = (struct result_kernel){.file = file->path,
                                         .line = file->info.line,
                                         .compile_seconds = file->compile_seconds,
                                         .against = options->against && file > files->files};
        kernel->options = request_of(options, 0, NULL, kernel->against).options;
        snprintf(kernel->name, sizeof(kernel->name), "%s", file->info.name);
        snprintf(kernel->sha256, sizeof(kernel->sha256), "%s", file->sha256);
        snprintf(kernel->compiler, sizeof(kernel->compiler), "%s", file->compiler);
        snprintf(kernel->headers_sha256, sizeof(kernel->headers_sha256), "%s",
                 file->headers_sha256);
    }
    for (struct cell_result *cell = result->cells; cell < result->cells + result->cell_count;
         cell++)
        give_build(cell, cell->cell.build);
    return STATUS_OK;
}

/* Compiles the file of a kernel for the memory spaces of its pending cells. The document says what
 * the file must be; which file is compiled, and by what, the user says. */
static enum status open_pending(const struct result_kernel *kernel,
                                const struct kernel_options *options, uint32_t architecture,
                                const char *path, const char *spaces, struct kernel_file *out)
{
    struct kernel_request request = request_of(options, architecture, path, kernel->against);
    char shown[TEXT_SHOWN_BYTES];
    enum status status = STATUS_OK;

    if (!path)
        return log_error(STATUS_USAGE,
                         "cells of the kernel file %s are pending, and no file is compiled because "
                         "a document names it; name it by --kernel FILE",
                         text_shown(kernel->file, shown));
    if (!request.options) {
        status = kernel_document_options(kernel->options, path);
        request.options = kernel->options;
    }
    request.spaces = spaces;
    request.expected = kernel->sha256;
    return status == STATUS_OK ? kernel_file_open(&request, out) : status;
}

/* The memory spaces of the pending cells of a kernel, as struct kernel_request has them: "" for
 * none. NULL when out of memory. The caller frees it. */
static char *pending_spaces(const struct result *result, const struct result_kernel *kernel)
{
    struct texts pending = {0};
    bool listed = true;
    char *spaces;

    for (size_t k = 0; listed && k < result->cell_count; k++) {
        const struct cell *cell = &result->cells[k].cell;

        if (result->cells[k].status == CELL_PENDING && result_kernel(result, cell) == kernel)
            listed = texts_share(&pending, cell->kernel.spaces);
    }
    spaces = listed ? texts_join(&pending, "") : NULL;
    texts_close(&pending);
    return spaces;
}

/* Gives the builds of a file to the pending cells of its kernel. */
static void give_builds(struct result *result, const struct result_kernel *kernel,
                        const struct kernel_file *file)
{
    for (size_t k = 0; k < result->cell_count * file->build_count; k++) {
        const struct kernel_build *build = &file->builds[k % file->build_count];
        struct cell_result *cell = &result->cells[k / file->build_count];

        if (cell->status == CELL_PENDING && result_kernel(result, &cell->cell) == kernel &&
            strcmp(build->kernel.spaces, cell->cell.kernel.spaces) == 0)
            give_build(cell, build);
    }
}

enum status result_give_kernels(struct result *result, const struct kernel_options *options,
                                uint32_t architecture, struct kernel_files *files)
{
    enum status status = make_room(options->paths, NULL, result->kernel_count, files);
    char *rest = files->paths;

    for (size_t i = 0; status == STATUS_OK && i < result->kernel_count; i++) {
        const struct result_kernel *kernel = &result->kernels[i];
        const char *path = options->paths ? strsep(&rest, ",") : NULL;
        char *const spaces = pending_spaces(result, kernel);

        if (!spaces)
            status = log_memory("the memory spaces of %s", kernel->name);
        else if (options->paths && (!path || (i + 1 == result->kernel_count && rest)))
            status =
                log_error(STATUS_USAGE, "--kernel: the result has %zu kernel files; name as many",
                          result->kernel_count);
        else if (spaces[0]) {
            struct kernel_file *const opened = &files->files[files->count];

            status = open_pending(kernel, options, architecture, path, spaces, opened);
            files->count += status == STATUS_OK;
            if (status == STATUS_OK)
                give_builds(result, kernel, opened);
        }
        free(spaces);
    }
    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++)
        if (result->cells[i].status == CELL_PENDING &&
            cell_origin(&result->cells[i].cell)->compiled && !result->cells[i].cell.build)
            status =
                log_error(STATUS_USAGE,
                          "the result does not name the kernel file of %s, whose cells are pending",
                          result->cells[i].cell.kernel.name);
    return status;
}

void kernel_files_close(struct kernel_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        kernel_file_close(&files->files[i]);
    free(files->files);
    free(files->paths);
    *files = (struct kernel_files){0};
}

/* -- what is read ------------------------------------------------------------------------------ */

/* Adds the words of a text, with blanks between. */
static bool add_words(struct texts *words, const char *text)
{
    char *const copy = strdup(text ? text : ""), *rest = copy;
    bool added = copy;

    for (char *word; added && (word = strsep(&rest, " \t\n"));)
        added = !word[0] || texts_take(words, strdup(word));
    free(copy);
    return added;
}

enum status kernels_read(const struct invocation *invocation, const char *value, struct texts *out)
{
    char *const copy = strdup(value), *rest = copy;
    struct texts words = {0};
    /* Options for the compiler are among those of the line. */
    bool added = copy && add_words(&words, getenv("NVCC_PREPEND_FLAGS")) &&
                 add_words(&words, getenv("NVCC_APPEND_FLAGS"));

    for (size_t i = 0; added && i < invocation->given_count; i++)
        added = invocation->given[i].option->file != FILE_NONE ||
                invocation->given[i].option->kind != &option_text ||
                add_words(&words, invocation->given[i].value);
    for (char *path; added && (path = strsep(&rest, ","));)
        added = texts_take(out, strdup(path)) && kernel_file_reads(path, &words, out);
    texts_close(&words);
    free(copy);
    return added ? STATUS_OK : log_memory("what kernel files read");
}
