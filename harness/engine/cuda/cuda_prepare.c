/* SPDX-License-Identifier: MIT
 * The phase `prepare` of the CUDA engine: kernels, memory, and exact counts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_user.h"
#include "log.h"
#include "user_cell.h"

static const double load_seconds = 6; /* for a module that the driver compiles, or for memory */

/* -- exact counts ------------------------------------------------------------------------------ */

/* Counts accesses on a separate thread while memory is prepared. Until it ends, nobody may write to
 * a member `cell` of a result's cells. */
struct access_task {
    struct parallel_task task;
    const struct result *result;
    struct access_counts *access; /* owned; one for each cell of the result, like `wanted` */
    bool *wanted; /* owned: the cells that are not skipped */
    enum status status;
};

static void *count_accesses(void *argument)
{
    struct access_task *counting = argument;

    for (size_t i = 0; counting->status == STATUS_OK && i < counting->result->cell_count; i++)
        if (counting->wanted[i])
            counting->status =
                access_count_next(result_cell, counting->result, i, counting->access);
    return NULL;
}

/* -- kernels ----------------------------------------------------------------------------------- */

/* Opens the kernel of a cell, and reads its code. The code must have the path's instruction:
 * otherwise the cell is skipped where the compiler may choose, and fails elsewhere. A cell with a
 * grid-stride loop gets its grid: the blocks that fit the device, or that the cell names. */
static enum status prepare_kernel(struct engine_session *session, struct cell_result *cell,
                                  struct cuda_cell *cuda)
{
    struct cuda_device *device = &session->device;
    const uint32_t sm_count = device->info->sm_count, wanted = requested_blocks_per_sm(&cell->cell);
    struct kernel_sass sass;
    char reason[CELL_REASON_BYTES];
    const char *image;
    CUfunction function;

    if (CUDA_VERSION < 12010 && cell->cell.path->home == TABLE_PARAMETER &&
        cell->cell.path->bytes > CBANK_PARAMETER_BYTES) {
        engine_end_cell(cell, CELL_SKIPPED,
                        "kernels have 4 KB of parameters: build with CUDA 12.1 or later for more");
        return STATUS_OK;
    }
    cuda_expect(device, load_seconds);
    if (!cuda_launch_open(device, &cell->cell, &cuda->launch, &sass, reason))
        return cuda_fail(device, cell, reason);
    cuda->sass = sass.counts;
    cuda->counted = sass.counted;
    function = cuda->launch.code[0][0].function;
    image = cuda_memory_module(device, cell->cell.workload, 0, 0)->image;
    if (engine_set_kernel(&cell->kernel, &sass, image, strlen(image)) != STATUS_OK)
        return STATUS_ENVIRONMENT;
    cell->kernel.registers = cuda_function_attribute(device, function, CU_FUNC_ATTRIBUTE_NUM_REGS);
    if (sass_differs(&cell->cell, &sass, reason))
        engine_end_cell(cell, cell->cell.path->chosen ? CELL_SKIPPED : CELL_FAILED, "%s", reason);
    else if (!cuda_launch_allow_shared(device, &cuda->launch, reason))
        engine_end_cell(cell, CELL_SKIPPED, "%s", reason);
    if (cell->status == CELL_PENDING && cell->cell.indices) {
        int room = 0; /* blocks that an SM runs at a time; 0 if the call fails */

        DRIVER_TRY(device, cuOccupancyMaxActiveBlocksPerMultiprocessor, &room, function,
                   (int)cell->cell.block_size, cell_shared_bytes(&cell->cell));
        if (requested_blocks_obstacle(&cell->cell, sm_count, (uint32_t)room, reason))
            engine_end_cell(cell, CELL_SKIPPED, "%s", reason);
        else
            cell_set_grid(&cell->cell, (uint64_t)sm_count * (wanted ? wanted : (uint32_t)room));
    }
    return device->calls.failed ? cuda_fail(device, cell, "cannot prepare the kernel") : STATUS_OK;
}

/* -- memory ------------------------------------------------------------------------------------ */

/* The smallest room above `above` that a pending cell needs, in elements; 0 if there is none. */
static uint64_t next_room(const struct engine_session *session, const struct result *result,
                          uint64_t above)
{
    uint64_t next = 0;

    for (size_t i = 0; i < result->cell_count; i++) {
        const uint64_t room = session->cells[i].launch.room;

        if (result->cells[i].status == CELL_PENDING && room > above && (next == 0 || room < next))
            next = room;
    }
    return next;
}

/* Writes the reason for a failed allocation. The run ends if the device is lost. */
static enum status no_memory(struct cuda_device *device, const char *what,
                             char reason[CELL_REASON_BYTES])
{
    const bool lost = cuda_device_lost(device);
    const char *error = cuda_device_error(device);

    snprintf(reason, CELL_REASON_BYTES, "out of memory for %s; ask for fewer --elements%s%s", what,
             error[0] ? ": " : "", error);
    return lost ? cuda_end_run(device, reason) : STATUS_OK;
}

/* Fails the cells that need that much room. */
static enum status fail_room(struct engine_session *session, struct result *result, uint64_t room)
{
    char reason[CELL_REASON_BYTES];
    const enum status status = no_memory(&session->device, "input and output", reason);

    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++)
        if (result->cells[i].status == CELL_PENDING && session->cells[i].launch.room == room)
            engine_end_cell(&result->cells[i], CELL_FAILED, "%s", reason);
    return status;
}

/* Allocates memory for the pending cells; those without memory fail. */
static enum status prepare_memory(struct engine_session *session, struct result *result)
{
    enum { INDICES, FLUSH, NEEDS };
    static const char *const needs[] = {[INDICES] = "indices", [FLUSH] = "flushing the caches"};
    const struct fault *fault = session->options->fault;
    struct cuda_device *device = &session->device;
    struct cuda_memory *memory = device->memory;
    enum status status = STATUS_OK;
    char reason[CELL_REASON_BYTES];

    for (uint64_t room = next_room(session, result, 0), next; status == STATUS_OK && room > 0;
         room = next) {
        next = next_room(session, result, room);
        if ((fault && fault->memory && next == 0) || !cuda_buffers_add(device, room))
            status = fail_room(session, result, room);
    }
    while (status == STATUS_OK && memory->buffer_count > 0 &&
           !cuda_buffers_fill(device, result->seed)) {
        status = fail_room(session, result, memory->buffers[memory->buffer_count - 1].elements);
        cuda_buffers_drop(device);
    }
    for (size_t need = 0; need < NEEDS; need++)
        for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++) {
            struct cell_result *cell = &result->cells[i];

            if (cell->status != CELL_PENDING)
                continue;
            if (need == INDICES &&
                (!cell->cell.indices || cuda_indices_add(device, cell->cell.indices)))
                continue;
            if (need == FLUSH && (!cell->cell.cache_state->flush ||
                                  cuda_flush_prepare(device, device->info->l2_bytes)))
                continue;
            status = no_memory(device, needs[need], reason);
            if (status == STATUS_OK)
                engine_end_cell(cell, CELL_FAILED, "%s", reason);
        }
    /* Without memory for more buffer sets there is one of each. */
    if (status != STATUS_OK)
        return status;
    if (!cuda_memory_multiply(device) && cuda_device_lost(device))
        return cuda_end_run(device, cuda_device_error(device));
    cuda_device_error(device);
    return cuda_users_multiply(session, result);
}

enum status cuda_prepare(struct engine_session *session, struct result *result,
                         const struct progress *progress)
{
    struct access_task counting = {.result = result};
    enum status status = STATUS_OK;

    /* A resumed result holds cells of another process, which must have had the same kernels. */
    for (size_t i = 0; i < result->cell_count; i++) {
        const struct cell_result *cell = &result->cells[i];
        char identity[CELL_IDENTITY_BYTES], reason[CELL_REASON_BYTES];
        struct cuda_launch launch;
        struct kernel_sass sass;

        /* Kernel files are compiled for pending cells alone. */
        if (!cell->kernel.symbol[0] || (cell_is_user(&cell->cell) && !cell->cell.build) ||
            ((cell_is_user(&cell->cell)
                  ? cuda_user_sass(cell->cell.build, &sass, reason)
                  : cuda_launch_open(&session->device, &cell->cell, &launch, &sass, reason)) &&
             strcmp(sass.sha256, cell->kernel.sha256) == 0))
            continue;
        cell_identity(&cell->cell, identity);
        return log_error(STATUS_ENVIRONMENT,
                         "%s was measured with another kernel than this program has; resume with "
                         "the cbank that began "
                         "the run",
                         identity);
    }
    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++) {
        if (progress->step(progress->context, "preparing", i, result->cell_count))
            return STATUS_OK;
        if (result->cells[i].status != CELL_PENDING)
            continue;
        status = cell_is_user(&result->cells[i].cell)
                     ? cuda_user_prepare(session, result, &result->cells[i], &session->cells[i])
                     : prepare_kernel(session, &result->cells[i], &session->cells[i]);
    }
    if (status != STATUS_OK)
        return status;
    cuda_expect(&session->device, load_seconds);
    counting.access = calloc(result->cell_count, sizeof(*counting.access));
    counting.wanted = calloc(result->cell_count, sizeof(*counting.wanted));
    if (!counting.access || !counting.wanted) {
        counting.status = log_memory("counts of accesses");
    } else {
        for (size_t i = 0; i < result->cell_count; i++)
            counting.wanted[i] =
                result->cells[i].status != CELL_SKIPPED && !cell_is_user(&result->cells[i].cell);
        parallel_begin(&counting.task, count_accesses, &counting);
        status = prepare_memory(session, result);
    }
    watch_begin(session->options->watchdog, "counting accesses", INFINITY);
    parallel_end(&counting.task);
    watch_end(session->options->watchdog);
    for (size_t i = 0; counting.status == STATUS_OK && i < result->cell_count; i++)
        if (counting.wanted[i]) {
            session->cells[i].access = counting.access[i];
            result_set_counts(&result->cells[i], &counting.access[i]);
        }
    free(counting.access);
    free(counting.wanted);
    return status_worse(status, counting.status);
}
