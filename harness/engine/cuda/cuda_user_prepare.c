/* SPDX-License-Identifier: MIT
 * The phase `prepare` for users' kernels: loads builds, asks for their cases, and checks what these
 * say. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_user.h"
#include "kernel_file.h"
#include "log.h"
#include "text.h"

enum { FILL_PATIENCE = 8 }; /* launches that filling a buffer may last as long as */

/* -- code -------------------------------------------------------------------------------------- */

bool cuda_user_sass(const struct kernel_build *build, struct kernel_sass *out,
                    char reason[CELL_REASON_BYTES])
{
    const char *symbol = kernel_symbol(build, reason);

    return symbol && (image_function(build->cubin, build->cubin_bytes, symbol, out) ||
                      !cell_refuse(reason, "the build has no code of %s", symbol));
}

/* -- what a case says -------------------------------------------------------------------------- */

/* Limits of CUDA, the same on all GPUs. */
static const uint64_t grid_most[] = {INT32_MAX, 65535, 65535}, block_most[] = {1024, 1024, 64};

/* Whether some GPU may have memory for so many elements. */
static bool is_possible(uint64_t elements, uint64_t bytes)
{
    return bytes > 0 && elements <= (UINT64_C(1) << 42) / bytes;
}

/* Whether the launch, or a buffer, is one that no GPU has; then writes the reason. */
static bool launch_obstacle(struct cuda_device *device, const struct cuda_user *user,
                            char reason[CELL_REASON_BYTES])
{
    const struct cbank_case_report *report = &user->report;
    const uint64_t threads = (uint64_t)report->block[0] * report->block[1] * report->block[2];
    const uint32_t most = cuda_function_attribute(device, user->functions[0],
                                                  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);

    for (uint32_t i = 0; i < 3; i++)
        if (report->grid[i] < 1 || report->grid[i] > grid_most[i] || report->block[i] < 1 ||
            report->block[i] > block_most[i])
            return cell_refuse(reason,
                               "the case asks for a grid of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                               " and blocks of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                               ", which CUDA does not have",
                               report->grid[0], report->grid[1], report->grid[2], report->block[0],
                               report->block[1], report->block[2]);
    if (most > 0 && threads > most)
        return cell_refuse(reason,
                           "the case asks for blocks of %" PRIu64
                           " threads; this kernel can have %" PRIu32,
                           threads, most);
    for (uint32_t i = 0; i < report->buffer_count; i++)
        if (!is_possible(report->buffers[i].elements, report->buffers[i].element_bytes))
            return cell_refuse(reason,
                               "buffer %" PRIu32 " has %" PRIu64
                               " elements: more than memory has; ask for a smaller --size",
                               i + 1, report->buffers[i].elements);
    for (uint32_t k = 0; k < report->table_count; k++)
        if (!is_possible(report->tables[k].entries, report->tables[k].entry_bytes))
            return cell_refuse(reason, "table %.60s is larger than memory", report->tables[k].name);
    return false;
}

/* Lays the arguments out. False, with the reason, if one is not as the loaded kernel has it, as far
 * as the driver tells. */
static bool lay_out(struct cuda_device *device, struct cuda_user *user,
                    char reason[CELL_REASON_BYTES])
{
    enum { ALIGNMENT = 16 };
    const struct cbank_case_report *report = &user->report;

    for (uint32_t i = 0; i < report->argument_count; i++) {
        const uint32_t given = report->arguments[i].bytes;
        size_t offset, bytes = 0;
        CUresult code = CUDA_ERROR_NOT_SUPPORTED;

        if (device->param_info)
            code = device->param_info(user->functions[0], i, &offset, &bytes);
        if ((code == CUDA_SUCCESS || code == CUDA_ERROR_INVALID_VALUE) && bytes != given)
            return !cell_refuse(reason,
                                "argument %" PRIu32 " has %" PRIu32
                                " bytes in the case and %zu in the kernel: the case launches "
                                "another kernel "
                                "than the file's %.100s",
                                i + 1, given, bytes, user->sass.symbol);
        user->offsets[i] = user->argument_bytes;
        user->argument_bytes += (given + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return true;
}

/* -- the case ---------------------------------------------------------------------------------- */

/* Finds the case of a build, of the same buffers and tables, or makes it. NULL, with the reason, if
 * that fails; *status as in cuda_case_fill. */
static struct cuda_case *find_case(struct engine_session *session, const struct result *result,
                                   struct cuda_user *user, uint64_t size, enum status *status,
                                   char reason[CELL_REASON_BYTES])
{
    struct cuda_case *of, **at = &session->device.memory->cases;
    bool planted = session->options->fault && session->options->fault->memory;

    for (; (of = *at); at = &of->next) {
        const struct cbank_case_report *a = &of->report, *b = &user->report;
        bool same =
            of->size == size && of->hash == user->build->kernel.hash &&
            a->buffer_count == b->buffer_count && a->table_count == b->table_count &&
            memcmp((const void *)a->buffers, (const void *)b->buffers, sizeof(a->buffers)) == 0;

        for (uint32_t k = 0; same && k < a->table_count; k++)
            same = a->tables[k].entries == b->tables[k].entries &&
                   a->tables[k].entry_bytes == b->tables[k].entry_bytes &&
                   strcmp(a->tables[k].file, b->tables[k].file) == 0;
        if (same)
            return of;
    }
    /* The planted fault takes the memory of cases of the largest size. */
    for (size_t i = 0; planted && i < result->cell_count; i++)
        planted = result->cells[i].cell.elements <= size;
    of = planted ? NULL : calloc(1, sizeof(*of));
    if (!of) {
        snprintf(reason, CELL_REASON_BYTES, "out of memory for buffers; ask for a smaller --size");
        return NULL;
    }
    of->size = size;
    of->hash = user->build->kernel.hash;
    of->report = user->report;
    if (!cuda_case_fill(&session->device, of, user, status, reason)) {
        cuda_case_close(&session->device, of);
        return NULL;
    }
    return *at = of;
}

/* Fills the constant banks of all copies, and makes textures. */
static bool place_tables(struct cuda_device *device, struct cuda_user *user,
                         char reason[CELL_REASON_BYTES])
{
    bool placed = true;

    for (uint32_t k = 0; placed && k < user->report.table_count; k++) {
        const struct cbank_table_report *report = &user->report.tables[k];
        struct cuda_table *table = &user->of->tables[k];
        const size_t bytes = report->entries * report->entry_bytes;
        const char *const symbol = report->space == CBANK_SPACE_CONSTANT
                                       ? kernel_constant_symbol(user->build, report->name)
                                       : NULL;

        snprintf(reason, CELL_REASON_BYTES, "cannot place table %.60s", report->name);
        placed = report->space != CBANK_SPACE_TEXTURE ||
                 cuda_table_need_texture(device, table, (uint32_t)report->entry_bytes);
        /* There is no variable of a table that the kernel does not read. */
        for (uint32_t copy = 0; placed && symbol && copy < CUDA_MODULE_COPIES; copy++) {
            CUdeviceptr bank = 0;
            size_t room = 0;

            placed = DRIVER(device, cuModuleGetGlobal, &bank, &room, user->modules[copy].module,
                            symbol) &&
                     room >= bytes &&
                     cuda_device_write(device, (void *)(uintptr_t)bank, table->values, bytes);
        }
    }
    return placed && cuda_device_wait(device);
}

/* -- builds ------------------------------------------------------------------------------------ */

/* Loads all copies of a build, and asks for its case. False, with the reason, if a call fails. */
static bool load(struct cuda_device *device, struct cuda_user *user, uint64_t size,
                 char reason[CELL_REASON_BYTES])
{
    const struct kernel_build *build = user->build;
    struct cuda_module of = {.cubin = build->cubin, .cubin_bytes = build->cubin_bytes};
    bool loaded = cuda_user_sass(build, &user->sass, reason);

    if (!loaded)
        return false;
    snprintf(of.image, sizeof(of.image), "%.63s", text_file_name(build->file->path));
    for (uint32_t copy = 0; loaded && copy < CUDA_MODULE_COPIES; copy++)
        loaded = cuda_module_copy(device, &of, &user->modules[copy]) == STATUS_OK &&
                 cuda_module_function(device, &user->modules[copy], user->sass.symbol,
                                      &user->functions[copy]);
    if (!loaded || !cuda_module_function(device, &user->modules[0], "cbank_case_call", &user->call))
        return !cell_refuse(reason, "cannot load the kernel");
    return cuda_case_describe(device, user, (struct cbank_request){.size = size}) ||
           !cell_refuse(reason, "the case cannot be described");
}

/* Opens a build at the size of a cell. The cell is no longer pending if it cannot go on; *out is
 * NULL then. */
static enum status open_user(struct engine_session *session, const struct result *result,
                             struct cell_result *cell, struct cuda_user **out)
{
    struct cuda_device *device = &session->device;
    const uint64_t size = cell->cell.elements;
    struct cuda_user *user = calloc(1, sizeof(*user)), **at;
    enum status status = STATUS_OK;
    char reason[CELL_REASON_BYTES];

    *out = NULL;
    if (!user)
        return log_memory("a kernel");

    const struct cbank_case_report *report = &user->report;

    user->build = cell->cell.build;
    if (!load(device, user, size, reason))
        goto failed;
    if (report->error[0]) { /* at any size */
        status = log_error(STATUS_USAGE, "%s:%" PRIu32 ": %.*s", user->build->file->path,
                           report->error_line, CBANK_ERROR_BYTES, report->error);
        goto closed;
    }
    user->shared_bytes = (uint32_t)report->shared_bytes;
    for (uint32_t k = 0; k < report->table_count; k++)
        user->shared_bytes += (uint32_t)report->tables[k].shared_bytes;
    if (launch_obstacle(device, user, reason))
        goto failed;
    for (uint32_t copy = 0; copy < CUDA_MODULE_COPIES; copy++)
        if (!cuda_function_allow_shared(device, user->functions[copy], user->shared_bytes,
                                        reason)) {
            engine_end_cell(cell, CELL_SKIPPED, "%s", reason);
            goto closed;
        }
    if (lay_out(device, user, reason) &&
        (user->of = find_case(session, result, user, size, &status, reason)) &&
        place_tables(device, user, reason)) {
        for (at = &user->of->users; *at;)
            at = &(*at)->next;
        *out = *at = user;
        return STATUS_OK;
    }
failed:
    if (status == STATUS_OK)
        status = cuda_fail(device, cell, reason);
closed:
    cuda_user_close(device, user);
    return status;
}

enum status cuda_user_prepare(struct engine_session *session, struct result *result,
                              struct cell_result *cell, struct cuda_cell *cuda)
{
    struct cuda_device *device = &session->device;
    struct cell_case *const about = &cell->of_case;
    struct cuda_user *user = NULL;
    const char *const name = text_file_name(cell->cell.build->file->path);
    enum status status = STATUS_OK;
    char loads[CELL_REASON_BYTES] = "";
    int room = 0; /* blocks that an SM runs at a time */

    cuda_expect_cell(device, cell, FILL_PATIENCE);
    for (struct cuda_case *of = device->memory->cases; !user && of; of = of->next)
        for (user = of->size == cell->cell.elements ? of->users : NULL;
             user && user->build != cell->cell.build;)
            user = user->next;
    if (!user)
        status = open_user(session, result, cell, &user);
    if (!user)
        return status;
    cuda->launch = (struct cuda_launch){.cell = &cell->cell, .user = user, .modules = 1};
    cuda->sass = user->sass.counts;
    if (engine_set_kernel(&cell->kernel, &user->sass, name, strlen(name)) != STATUS_OK)
        return STATUS_ENVIRONMENT;
    memcpy(about->grid, user->report.grid, sizeof(about->grid));
    memcpy(about->block, user->report.block, sizeof(about->block));
    DRIVER_TRY(device, cuOccupancyMaxActiveBlocksPerMultiprocessor, &room, user->functions[0],
               (int)(about->block[0] * about->block[1] * about->block[2]), user->shared_bytes);
    cell->kernel.registers =
        cuda_function_attribute(device, user->functions[0], CU_FUNC_ATTRIBUTE_NUM_REGS);
    about->given = true;
    about->shared_bytes =
        user->shared_bytes +
        cuda_function_attribute(device, user->functions[0], CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    about->blocks_per_sm = (uint32_t)room;
    about->items = user->report.items;
    if (user->sass.known)
        sass_classes_text(&user->sass, loads);
    snprintf(about->instructions, sizeof(about->instructions), "%.95s", loads);
    return STATUS_OK;
}

/* -- arguments --------------------------------------------------------------------------------- */

static bool is_in_memory(enum cbank_space space)
{
    return space != CBANK_SPACE_CONSTANT && space != CBANK_SPACE_PARAM;
}

/* Counts buffer sets and table offsets, and asks for the arguments in each buffer set. Entries that
 * are an argument lie in it from now on. */
static bool get_arguments(struct cuda_device *device, struct cuda_user *user)
{
    const struct cbank_case_report *report = &user->report;
    const struct cuda_case *of = user->of;
    const uint32_t sets = of->buffers[0].count;

    user->buffer_sets = sets;
    user->table_offsets = 1;
    for (uint32_t k = 0; k < report->table_count; k++) {
        const struct cuda_table *table = &of->tables[k];

        if (!is_in_memory(report->tables[k].space))
            continue;
        if (table->memory.count > user->buffer_sets)
            user->buffer_sets = table->memory.count;
        if (table->table_offsets > user->table_offsets)
            user->table_offsets = table->table_offsets;
    }
    user->arguments = calloc(sets, user->argument_bytes + 1);
    if (!user->arguments)
        return false;
    for (uint32_t i = 0; i < sets; i++) {
        unsigned char *arguments = user->arguments + i * user->argument_bytes;

        if (!cuda_case_describe(device, user, cuda_case_request(of, i, CBANK_CALL_DESCRIBE, 0)))
            return false;
        for (uint32_t k = 0; k < report->argument_count; k++) {
            const struct cbank_argument *argument = &report->arguments[k];
            const struct cbank_table_report *table =
                argument->table ? &report->tables[argument->table - 1] : NULL;

            if (!table)
                memcpy(arguments + user->offsets[k], argument->value, argument->bytes);
            else if (table->space == CBANK_SPACE_PARAM)
                memcpy(arguments + user->offsets[k], of->tables[argument->table - 1].values,
                       table->entries * table->entry_bytes);
        }
    }
    return true;
}

struct cell_result *cuda_user_cell(const struct cuda_user *user, struct result *result,
                                   bool verified)
{
    for (size_t i = 0; i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];

        if (cell->status == CELL_PENDING && cell->verified == verified &&
            cell->cell.build == user->build && cell->cell.elements == user->of->size)
            return cell;
    }
    return NULL;
}

enum status cuda_users_multiply(struct engine_session *session, struct result *result)
{
    struct cuda_device *device = &session->device;
    enum status status = STATUS_OK;

    /* Without memory for more buffer sets there is one of each. */
    for (struct cuda_case *of = device->memory->cases; of; of = of->next)
        if (!cuda_case_multiply(device, of)) {
            if (cuda_device_lost(device))
                return cuda_end_run(device, cuda_device_error(device));
            cuda_device_error(device);
        }
    for (struct cuda_case *of = device->memory->cases; of; of = of->next)
        for (struct cuda_user *user = of->users; status == STATUS_OK && user; user = user->next) {
            const bool got = get_arguments(device, user);
            struct cell_result *cell;

            while (!got && status == STATUS_OK &&
                   ((cell = cuda_user_cell(user, result, false)) ||
                    (cell = cuda_user_cell(user, result, true))))
                status = cuda_fail(device, cell, "the case cannot be described");
        }
    return status;
}

/* -- launches ---------------------------------------------------------------------------------- */

bool cuda_user_launch(struct cuda_device *device, const struct cuda_user *user,
                      struct cuda_turn turn)
{
    const struct cbank_case_report *report = &user->report;
    unsigned char *arguments =
        user->arguments + turn.buffer_set % user->of->buffers[0].count * user->argument_bytes;
    void *parameters[CBANK_ARGUMENTS_MAX];

    for (uint32_t i = 0; i < report->argument_count; i++) {
        const uint32_t number = report->arguments[i].table;
        const struct cuda_table *table = number ? &user->of->tables[number - 1] : NULL;

        parameters[i] = arguments + user->offsets[i];
        if (table && is_in_memory(report->tables[number - 1].space)) {
            const uint32_t width = (uint32_t)report->tables[number - 1].entry_bytes;
            /* Both have 64 bits. */
            const uint64_t texture_or_address =
                report->tables[number - 1].space == CBANK_SPACE_TEXTURE
                    ? cuda_table_texture_at(table, turn.buffer_set, turn.table_offset, width)
                    : (uintptr_t)cuda_table_at(table, turn.buffer_set, turn.table_offset);

            memcpy(parameters[i], &texture_or_address, sizeof(texture_or_address));
        }
    }
    return DRIVER(device, cuLaunchKernel, user->functions[turn.buffer_set % CUDA_MODULE_COPIES],
                  report->grid[0], report->grid[1], report->grid[2], report->block[0],
                  report->block[1], report->block[2], user->shared_bytes, device->stream,
                  parameters, NULL);
}
