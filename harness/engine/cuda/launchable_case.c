/* SPDX-License-Identifier: MIT
 * Launchables of users' kernels: a build of a kernel file is loaded, its case says how it is
 * launched, and what it says is checked. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_data.h"
#include "cuda_jit.h"
#include "engine_cuda.h"
#include "log.h"
#include "text.h"

static const double user_seconds = 0.5; /* of a launch whose work nobody knows */
/* of sampling, at least: data make launches differ */
static const double sampling_seconds = 0.12;

struct case_build *case_build_of(const struct launchable *launchable)
{
    return launchable->origin;
}

struct case_data *case_data_of(const struct launchable *launchable)
{
    return (struct case_data *)launchable->data[0];
}

/* -- code -------------------------------------------------------------------------------------- */

static bool build_code(const struct kernel_build *build, struct kernel_sass *out,
                       char reason[CELL_REASON_BYTES])
{
    const char *symbol = kernel_symbol(build, reason);

    return symbol && (image_function(build->cubin, build->cubin_bytes, symbol, out) ||
                      !cell_refuse(reason, "the build has no code of %s", symbol));
}

/* Kernel files are compiled for pending cells alone. */
static bool has_code(struct engine_session *session, const struct cell *cell, const char *sha256)
{
    struct kernel_sass sass;
    char reason[CELL_REASON_BYTES];

    (void)session;
    /* What the driver makes is known once it has compiled; it is the driver that began the run. */
    return !cell->build || cell->jit ||
           (build_code(cell->build, &sass, reason) && strcmp(sass.sha256, sha256) == 0);
}

/* Lets the driver compile the PTX of a build. False, with the reason, if it does not. */
static bool compile(struct cuda_device *device, struct launchable *launchable,
                    char reason[CELL_REASON_BYTES])
{
    struct case_build *by = case_build_of(launchable);
    const struct cuda_ptx ptx = {by->build->ptx, by->build->ptx_bytes, launchable->image};
    const char *const symbol = kernel_symbol(by->build, reason);

    if (!symbol)
        return false;
    if (!ptx.text)
        return !cell_refuse(reason, "the compiler %s kept no PTX of this kernel",
                            by->build->file->compiler);
    if (cuda_jit_compile(device, &ptx, &by->compiled) != STATUS_OK)
        return !cell_refuse(reason, "the driver does not compile the kernel");
    launchable->module = &by->compiled;
    return image_function(by->compiled.cubin, by->compiled.cubin_bytes, symbol,
                          &launchable->sass) ||
           !cell_refuse(reason, "what the driver made has no code of %s", symbol);
}

/* Loads all copies of a build, and asks for its case. False, with the reason, if a call fails. */
static bool load(struct cuda_device *device, struct launchable *launchable,
                 char reason[CELL_REASON_BYTES])
{
    struct case_build *by = case_build_of(launchable);
    struct cuda_module file = {.cubin = by->build->cubin, .cubin_bytes = by->build->cubin_bytes};

    launchable->image = text_file_name(by->build->file->path);
    if (launchable->cell->jit ? !compile(device, launchable, reason)
                              : !build_code(by->build, &launchable->sass, reason))
        return false;
    if (launchable->cell->jit)
        file = (struct cuda_module){.cubin = by->compiled.cubin,
                                    .cubin_bytes = by->compiled.cubin_bytes,
                                    .compile_ms = by->compiled.compile_ms};
    snprintf(file.image, sizeof(file.image), "%.63s", launchable->image);
    for (uint32_t copy = 0; copy < CUDA_MODULE_COPIES; copy++)
        if (cuda_module_copy(device, &file, &by->modules[copy]) != STATUS_OK ||
            !cuda_module_function(device, &by->modules[copy], launchable->sass.symbol,
                                  &launchable->code[0][copy].function))
            return !cell_refuse(reason, "cannot load the kernel");
    if (!cuda_module_function(device, &by->modules[0], "cbank_case_call", &by->call))
        return !cell_refuse(reason, "cannot load the kernel");
    return case_describe(device, by, (struct cbank_request){.size = launchable->cell->elements}) ||
           !cell_refuse(reason, "the case cannot be described");
}

/* -- what a case says -------------------------------------------------------------------------- */

/* Whether the launch, or a buffer, is one that no GPU has, or this kernel; then writes the
 * reason. */
static bool launch_obstacle(struct cuda_device *device, const struct launchable *launchable,
                            char reason[CELL_REASON_BYTES])
{
    const struct cbank_case_report *report = &case_build_of(launchable)->report;
    const uint64_t threads = (uint64_t)report->block[0] * report->block[1] * report->block[2];
    const uint32_t most = cuda_function_attribute(device, launchable->code[0][0].function,
                                                  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);

    if (kernel_case_obstacle(report, reason))
        return true;
    return most > 0 && threads > most &&
           cell_refuse(reason,
                       "the case asks for blocks of %" PRIu64
                       " threads; this kernel can have %" PRIu32,
                       threads, most);
}

static bool is_addressed(enum cbank_space space)
{
    return space != CBANK_SPACE_CONSTANT && space != CBANK_SPACE_PARAM;
}

/* Where launches write the address of a table into an argument, which begins with it. */
static void add_address(struct launchable *launchable, uint32_t argument, uint32_t table)
{
    const enum cbank_space space = case_build_of(launchable)->report.tables[table].space;

    if (is_addressed(space))
        launchable_add_address(launchable, (struct launchable_address){space == CBANK_SPACE_TEXTURE
                                                                           ? PLACE_TEXTURE
                                                                           : PLACE_TABLE,
                                                                       argument, 0, table});
}

/* Lays the arguments out. False, with the reason, if one is not as the loaded kernel has it, as far
 * as the driver tells. */
static bool lay_out(struct cuda_device *device, struct launchable *launchable,
                    char reason[CELL_REASON_BYTES])
{
    enum { ALIGNMENT = 16 };
    const struct cbank_case_report *report = &case_build_of(launchable)->report;

    for (uint32_t i = 0; i < report->argument_count; i++) {
        const uint32_t given = report->arguments[i].bytes;
        size_t offset, bytes = 0;
        CUresult code = CUDA_ERROR_NOT_SUPPORTED;

        if (device->param_info)
            code = device->param_info(launchable->code[0][0].function, i, &offset, &bytes);
        if ((code == CUDA_SUCCESS || code == CUDA_ERROR_INVALID_VALUE) && bytes != given)
            return !cell_refuse(reason,
                                "argument %" PRIu32 " has %" PRIu32
                                " bytes in the case and %zu in the kernel: the case launches "
                                "another kernel "
                                "than the file's %.100s",
                                i + 1, given, bytes, launchable->sass.symbol);
        launchable->offsets[i] = launchable->argument_bytes;
        launchable->argument_bytes += (given + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (report->arguments[i].table)
            add_address(launchable, i, report->arguments[i].table - 1);
    }
    launchable->argument_count = report->argument_count;
    return true;
}

/* Declares the buffers and tables. False when out of memory. */
static bool fill_data(struct cuda_device *device, struct launchable *launchable)
{
    const struct case_build *by = case_build_of(launchable);
    struct case_data *data = case_data_find(device, by, launchable->cell->elements);

    if (!data)
        return false;
    launchable->data[0] = &data->data;
    launchable->buffer_count = data->data.buffer_count;
    for (uint32_t i = 0; i < launchable->buffer_count; i++) {
        struct cuda_buffer *memory = &data->data.buffers[i];

        launchable->buffers[i] =
            (struct launchable_buffer){memory, memory->bytes, by->report.buffers[i].element_bytes,
                                       by->report.buffers[i].role};
        launchable->bytes += memory->bytes;
    }
    launchable->table_count = data->data.table_count;
    for (uint32_t k = 0; k < launchable->table_count; k++) {
        const struct cbank_table_report *report = &by->report.tables[k];

        launchable->tables[k] =
            (struct launchable_table){.table = &data->data.tables[k],
                                      .bytes = report->entries * report->entry_bytes,
                                      .width = (uint32_t)report->entry_bytes,
                                      .name = report->name,
                                      .addressed = is_addressed(report->space)};
    }
    return true;
}

static bool fill(struct engine_session *session, struct launchable *launchable,
                 enum cell_status *end, enum status *status, char reason[CELL_REASON_BYTES])
{
    struct cuda_device *device = &session->device;
    struct case_build *by = launchable->origin = calloc(1, sizeof(*by));
    const struct cbank_case_report *report;

    (void)end;
    if (!by) {
        *status = log_memory("a kernel");
        return false;
    }
    report = &by->report;
    by->build = launchable->cell->build;
    launchable->modules = 1;
    launchable->launch_seconds = user_seconds;
    launchable->sampling_seconds = sampling_seconds;
    launchable->reference = &case_reference;
    launchable->check_launches = CHECK_LAUNCHES;
    launchable->guarded = true;
    launchable->leads = by->build->as_written;
    if (!load(device, launchable, reason))
        return false;
    if (report->error[0]) { /* at any size */
        *status = log_error(STATUS_USAGE, "%s:%" PRIu32 ": %.*s", by->build->file->path,
                            report->error_line, CBANK_ERROR_BYTES, report->error);
        return false;
    }
    memcpy(launchable->grid, report->grid, sizeof(launchable->grid));
    memcpy(launchable->block, report->block, sizeof(launchable->block));
    launchable->shared_bytes = (uint32_t)report->shared_bytes;
    for (uint32_t k = 0; k < report->table_count; k++)
        launchable->shared_bytes += (uint32_t)report->tables[k].shared_bytes;
    if (launch_obstacle(device, launchable, reason) || !lay_out(device, launchable, reason))
        return false;
    return fill_data(device, launchable) ||
           !cell_refuse(reason, "out of memory for %s", case_kind.what);
}

/* -- on the device ----------------------------------------------------------------------------- */

static enum cell_status fit(struct engine_session *session, struct launchable *launchable,
                            struct cell_result *cell, uint32_t room, char reason[CELL_REASON_BYTES])
{
    struct cell_case *const said = &cell->of_case;
    char loads[CELL_REASON_BYTES] = "";

    (void)reason;
    memcpy(said->grid, launchable->grid, sizeof(said->grid));
    memcpy(said->block, launchable->block, sizeof(said->block));
    said->given = true;
    said->shared_bytes = launchable->shared_bytes +
                         cuda_function_attribute(&session->device, launchable->code[0][0].function,
                                                 CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    said->blocks_per_sm = room;
    said->items = case_build_of(launchable)->report.items;
    if (launchable->sass.known)
        sass_classes_text(&launchable->sass, loads);
    snprintf(said->instructions, sizeof(said->instructions), "%.95s", loads);
    return CELL_PENDING;
}

/* Fills the constant banks of all copies of a table. A table that the kernel does not read has no
 * variable. */
static bool fill_banks(struct cuda_device *device, const struct case_build *by,
                       const struct launchable_table *table)
{
    const char *const symbol = kernel_constant_symbol(by->build, table->name);

    for (uint32_t copy = 0; symbol && copy < CUDA_MODULE_COPIES; copy++) {
        CUdeviceptr bank = 0;
        size_t room = 0;

        if (!DRIVER(device, cuModuleGetGlobal, &bank, &room, by->modules[copy].module, symbol) ||
            room < table->bytes ||
            !cuda_device_write(device, (void *)(uintptr_t)bank, table->table->values, table->bytes))
            return false;
    }
    return true;
}

static bool place(struct engine_session *session, struct launchable *launchable,
                  char reason[CELL_REASON_BYTES])
{
    struct cuda_device *device = &session->device;
    const struct case_build *by = case_build_of(launchable);

    for (uint32_t k = 0; k < launchable->table_count; k++) {
        const struct launchable_table *table = &launchable->tables[k];
        const enum cbank_space space = by->report.tables[k].space;

        if ((space == CBANK_SPACE_TEXTURE &&
             !cuda_table_need_texture(device, table->table, table->width)) ||
            (space == CBANK_SPACE_CONSTANT && !fill_banks(device, by, table)))
            return !cell_refuse(reason, "cannot place table %.60s", table->name);
    }
    return cuda_device_wait(device) || !cell_refuse(reason, "cannot place the tables");
}

/* Copies the arguments that the case says for a buffer set. Entries that are an argument lie in it
 * from now on. */
static void copy_arguments(struct launchable *launchable, unsigned char *arguments)
{
    const struct cbank_case_report *report = &case_build_of(launchable)->report;

    for (uint32_t i = 0; i < report->argument_count; i++) {
        const struct cbank_argument *argument = &report->arguments[i];
        const uint32_t k = argument->table - 1;

        if (!argument->table)
            memcpy(arguments + launchable->offsets[i], argument->value, argument->bytes);
        else if (report->tables[k].space == CBANK_SPACE_PARAM)
            memcpy(arguments + launchable->offsets[i], launchable->tables[k].table->values,
                   launchable->tables[k].bytes);
    }
}

/* The case is asked again for each buffer set: its arguments hold addresses. */
static bool make_arguments(struct engine_session *session, struct launchable *launchable,
                           char reason[CELL_REASON_BYTES])
{
    const struct case_data *data = case_data_of(launchable);

    launchable->argument_sets = data->data.buffers[0].count;
    launchable->arguments = calloc(launchable->argument_sets, launchable->argument_bytes + 1);
    if (!launchable->arguments)
        return !cell_refuse(reason, "out of memory for arguments");
    for (uint32_t set = 0; set < launchable->argument_sets; set++) {
        if (!case_describe(&session->device, case_build_of(launchable),
                           case_request(data, set, CBANK_CALL_DESCRIBE, 0)))
            return !cell_refuse(reason, "the case cannot be described");
        copy_arguments(launchable, launchable->arguments + set * launchable->argument_bytes);
    }
    return true;
}

static void close_build(struct cuda_device *device, struct launchable *launchable)
{
    struct case_build *by = launchable->origin;

    for (uint32_t copy = CUDA_MODULE_COPIES; by && copy-- > 0;)
        cuda_module_unload(device, &by->modules[copy]);
    if (by)
        cuda_module_unload(device, &by->compiled);
    free(by);
}

static const void *toolkit(const struct engine_session *session,
                           const struct launchable *launchable, size_t *bytes, char name[64])
{
    const struct kernel_build *build = case_build_of(launchable)->build;

    (void)session;
    snprintf(name, 64, "%.63s", launchable->image);
    *bytes = build->cubin_bytes;
    return build->cubin;
}

const struct launchable_filler case_filler = {
    .has_code = has_code,
    .fill = fill,
    .fit = fit,
    .place = place,
    .make_arguments = make_arguments,
    .toolkit = toolkit,
    .close = close_build,
};
