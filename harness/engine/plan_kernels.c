/* SPDX-License-Identifier: MIT */
#include "plan_kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "log.h"
#include "memory.h"
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
            if (!memory_grow(&plan->cells, plan->count, sizeof(*plan->cells)))
                return log_memory("a plan of %zu cells", plan->count);
            cell.build = build;
            plan->cells[plan->count++] = cell;
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
                                   .against = against};
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
    for (char *rest = files->paths, *path; status == STATUS_OK && (path = strsep(&rest, ","));) {
        const struct kernel_request request =
            request_of(&options->kernel, architecture, path,
                       files->count > 0 && options->kernel.against);

        status = kernel_file_open(&request, &files->files[files->count]);
        if (status == STATUS_OK)
            status = add_cells(options, &files->files[files->count++], out);
    }
    return status;
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
    }
    for (struct cell_result *cell = result->cells; cell < result->cells + result->cell_count;
         cell++)
        give_build(cell, cell->cell.build);
    return STATUS_OK;
}

enum status result_give_kernels(struct result *result, const struct kernel_options *options,
                                uint32_t architecture, struct kernel_files *files)
{
    enum status status = make_room(options->paths, NULL, result->kernel_count, files);
    char *rest = files->paths;

    for (size_t i = 0; status == STATUS_OK && i < result->kernel_count; i++) {
        const struct result_kernel *kernel = &result->kernels[i];
        const char *path = options->paths ? strsep(&rest, ",") : kernel->file;
        const struct kernel_file *opened = NULL;
        struct texts pending = {0}; /* the memory spaces of the pending cells of the kernel */
        bool listed = true;
        char *spaces;

        for (size_t k = 0; listed && k < result->cell_count; k++) {
            const struct cell *cell = &result->cells[k].cell;

            if (result->cells[k].status == CELL_PENDING && result_kernel(result, cell) == kernel)
                listed = texts_share(&pending, cell->kernel.spaces);
        }
        spaces = listed ? texts_join(&pending, "") : NULL;
        if (!spaces)
            status = log_memory("the memory spaces of %s", kernel->name);
        else if (!path || (options->paths && i + 1 == result->kernel_count && rest))
            status =
                log_error(STATUS_USAGE, "--kernel: the result has %zu kernel files; name as many",
                          result->kernel_count);
        if (status == STATUS_OK && pending.count > 0) {
            struct kernel_request request =
                request_of(options, architecture, path, kernel->against);

            request.spaces = spaces;
            request.options = kernel->options;
            status = kernel_file_open(&request, &files->files[files->count]);
            opened = status == STATUS_OK ? &files->files[files->count++] : NULL;
        }
        texts_close(&pending);
        free(spaces);
        if (opened && strcmp(opened->sha256, kernel->sha256) != 0)
            status = log_error(
                STATUS_USAGE,
                "%s has changed since cells were measured with it; put the file back whose "
                "SHA-256, with "
                "what it includes and the compiler's options, is %s, or name it with --kernel",
                path, kernel->sha256);
        for (size_t k = 0;
             status == STATUS_OK && opened && k < result->cell_count * opened->build_count; k++) {
            const struct kernel_build *build = &opened->builds[k % opened->build_count];
            struct cell_result *cell = &result->cells[k / opened->build_count];

            if (cell->status == CELL_PENDING && result_kernel(result, &cell->cell) == kernel &&
                strcmp(build->kernel.spaces, cell->cell.kernel.spaces) == 0)
                give_build(cell, build);
        }
    }
    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++)
        if (result->cells[i].status == CELL_PENDING && cell_is_user(&result->cells[i].cell) &&
            !result->cells[i].cell.build)
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
