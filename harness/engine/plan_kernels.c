/* SPDX-License-Identifier: MIT */
#include "plan_kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "memory.h"
#include "user_cell.h"

/* Joins the paths with the one of --against, which may be NULL, and makes room for a file each. */
static enum status make_room(const char *paths, const char *against, struct kernel_files *files)
{
    size_t count = 2;

    for (const char *c = paths; *c; c++)
        count += *c == ',' || *c == '\n';
    *files = (struct kernel_files){.files = calloc(count, sizeof(*files->files)),
                                   .seconds = calloc(count, sizeof(*files->seconds))};
    if (asprintf(&files->paths, "%s%s%s", paths, against ? "," : "", against ? against : "") < 0)
        files->paths = NULL;
    return files->paths && files->files && files->seconds ? STATUS_OK : log_memory("%zu kernel files", count);
}

static enum status open_next(const struct kernel_request *request, struct kernel_files *files)
{
    const double start = clock_seconds();
    struct kernel_file *file = &files->files[files->count];
    const enum status status = kernel_file_open(request, file);

    for (size_t i = 0; status == STATUS_OK && i < file->build_count; i++)
        if (!file->builds[i].cached)
            files->seconds[files->count] = clock_seconds() - start;
    files->count += status == STATUS_OK;
    return status;
}

static bool is_added(const struct plan *plan, const struct cell *cell)
{
    for (size_t i = 0; i < plan->count; i++)
        if (cell_order(&plan->cells[i], cell) == 0)
            return true;
    return false;
}

/* Adds the cells of a file. */
static enum status add_cells(const struct plan_options *options, const struct kernel_file *file, struct plan *plan)
{
    const struct integers *asked = &options->kernel.sizes;
    const struct selection *states = &options->cache_states;
    const uint64_t *sizes = asked->count ? asked->values : file->info.sizes;
    const size_t count = asked->count ? asked->count : file->info.size_count;

    for (size_t i = 0; i < count * states->count; i++)
        for (const struct kernel_build *build = file->builds; build < file->builds + file->build_count; build++) {
            struct cell cell = user_cell(&build->kernel, sizes[i / states->count], states->rows[i % states->count]);

            if (!cell.path || cell.elements == 0 || cell.elements > CELL_ELEMENTS_MAX)
                return log_error(STATUS_USAGE, "%s:%u: a size is from 1 to %" PRIu64, file->path, file->info.line,
                                 CELL_ELEMENTS_MAX);
            if (is_added(plan, &cell))
                return log_error(STATUS_USAGE, "%s:%u: %s is there twice, with the same code and size", file->path,
                                 file->info.line, cell.kernel.name);
            if (!memory_grow(&plan->cells, plan->count, sizeof(*plan->cells)))
                return log_memory("a plan of %zu cells", plan->count);
            cell.build = build;
            plan->cells[plan->count++] = cell;
        }
    return STATUS_OK;
}

/* The request for a file of a plan; `against`: that of --against. */
static struct kernel_request request_of(const struct kernel_options *options, uint32_t architecture, const char *path,
                                        bool against)
{
    const bool compiler = against && options->against_compiler, own = against && options->against_options;

    return (struct kernel_request){.path = path,
                                   .spaces = options->spaces,
                                   .compiler = compiler ? options->against_compiler : options->compiler,
                                   .options = own ? options->against_options : options->compiler_options,
                                   .architecture = architecture,
                                   .against = against};
}

enum status plan_open_kernels(const struct plan_options *options, uint32_t architecture, struct kernel_files *files,
                              struct plan *out)
{
    enum status status = plan_options_check(options);

    *out = (struct plan){0};
    *files = (struct kernel_files){0};
    if (status == STATUS_OK)
        status = make_room(options->kernel.paths, options->kernel.against, files);
    for (char *rest = files->paths, *path; status == STATUS_OK && (path = strsep(&rest, ","));) {
        const struct kernel_request request =
            request_of(&options->kernel, architecture, path, files->count > 0 && options->kernel.against);

        status = open_next(&request, files);
        if (status == STATUS_OK)
            status = add_cells(options, &files->files[files->count - 1], out);
    }
    return status;
}

/* -- results ------------------------------------------------------------------------------------------- */

enum status result_set_kernels(struct result *result, const struct kernel_options *options,
                               const struct kernel_files *files)
{
    result->kernels = calloc(files->count + 1, sizeof(*result->kernels));
    if (!result->kernels)
        return log_memory("%zu kernel files", files->count);
    for (const struct kernel_file *file = files->files; file < files->files + files->count; file++) {
        struct result_kernel *kernel = &result->kernels[result->kernel_count++];

        *kernel = (struct result_kernel){.file = file->path,
                                         .line = file->info.line,
                                         .against = options->against && file > files->files};
        kernel->options = request_of(options, 0, NULL, kernel->against).options;
        snprintf(kernel->name, sizeof(kernel->name), "%s", file->info.name);
        snprintf(kernel->sha256, sizeof(kernel->sha256), "%s", file->sha256);
        snprintf(kernel->compiler, sizeof(kernel->compiler), "%s", file->compiler);
    }
    for (struct cell_result *cell = result->cells; cell < result->cells + result->cell_count; cell++) {
        const struct kernel_build *build = cell->cell.build;

        cell->of_case.as_written = build->as_written;
        if (!build->reason[0])
            continue;
        cell->status = CELL_SKIPPED;
        snprintf(cell->reason, sizeof(cell->reason), "%s", build->reason);
    }
    return STATUS_OK;
}

/* The memory spaces of the pending cells of a kernel, as --space has them; "": there is none. */
static enum status pending_spaces(const struct result *result, const struct result_kernel *kernel, struct memory *out)
{
    FILE *stream = memory_open(out);

    for (size_t i = 0, count = 0; stream && i < result->cell_count; i++) {
        const struct cell *cell = &result->cells[i].cell;
        bool before = result->cells[i].status != CELL_PENDING || result_kernel(result, cell) != kernel;

        for (size_t k = 0; k < i && !before; k++)
            before = result->cells[k].status == CELL_PENDING &&
                     result_kernel(result, &result->cells[k].cell) == kernel &&
                     cell_path_order(&result->cells[k].cell, cell) == 0;
        if (!before)
            fprintf(stream, "%s%s", count++ ? "," : "", cell->kernel.spaces);
    }
    return memory_close(out, stream) ? STATUS_OK : log_memory("the memory spaces of %s", kernel->name);
}

/* Gives the pending cells of a kernel their builds. */
static enum status give(struct result *result, const struct result_kernel *kernel, const struct kernel_file *file)
{
    if (strcmp(file->sha256, kernel->sha256) != 0)
        return log_error(STATUS_USAGE,
                         "%s has changed since cells were measured with it; put the file back whose SHA-256, with what "
                         "it includes and the compiler's options, is %s, or name it with --kernel",
                         file->path, kernel->sha256);
    for (struct cell_result *cell = result->cells; cell < result->cells + result->cell_count; cell++)
        for (size_t i = 0; i < file->build_count; i++)
            if (cell->status == CELL_PENDING && result_kernel(result, &cell->cell) == kernel &&
                strcmp(file->builds[i].kernel.spaces, cell->cell.kernel.spaces) == 0)
                cell->cell.build = &file->builds[i];
    return STATUS_OK;
}

enum status result_give_kernels(struct result *result, const struct kernel_options *options, uint32_t architecture,
                                struct kernel_files *files)
{
    struct memory joined = {0};
    FILE *stream = memory_open(&joined);
    enum status status;
    char *rest;

    *files = (struct kernel_files){0};
    for (size_t i = 0; stream && i < result->kernel_count; i++)
        fprintf(stream, "%s%s", i ? "\n" : "", result->kernels[i].file);
    status = memory_close(&joined, stream) ? STATUS_OK : log_memory("the names of kernel files");
    if (status == STATUS_OK && result->kernel_count > 0)
        status = make_room(options->paths ? options->paths : joined.text, NULL, files);
    rest = files->paths;
    for (size_t i = 0; status == STATUS_OK && i < result->kernel_count; i++) {
        const struct result_kernel *kernel = &result->kernels[i];
        struct memory spaces = {0};
        const char *path = strsep(&rest, options->paths ? "," : "\n");

        if (!path || (i + 1 == result->kernel_count && rest))
            status = log_error(STATUS_USAGE, "--kernel: the result has %zu kernel files; name as many",
                               result->kernel_count);
        if (status == STATUS_OK)
            status = pending_spaces(result, kernel, &spaces);
        if (status == STATUS_OK && spaces.text[0]) {
            const struct kernel_request request = {.path = path,
                                                   .spaces = spaces.text,
                                                   .compiler = options->compiler,
                                                   .options = kernel->options,
                                                   .architecture = architecture,
                                                   .against = kernel->against};

            status = open_next(&request, files);
            if (status == STATUS_OK)
                status = give(result, kernel, &files->files[files->count - 1]);
        }
        free(spaces.text);
    }
    free(joined.text);
    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++)
        if (result->cells[i].status == CELL_PENDING && cell_is_user(&result->cells[i].cell) &&
            !result->cells[i].cell.build)
            status = log_error(STATUS_USAGE, "the result does not name the kernel file of %s, whose cells are pending",
                               result->cells[i].cell.kernel.name);
    return status;
}

void kernel_files_close(struct kernel_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        kernel_file_close(&files->files[i]);
    free(files->files);
    free(files->seconds);
    free(files->paths);
    *files = (struct kernel_files){0};
}
