/* SPDX-License-Identifier: MIT
 * The phase `prepare` of the CUDA engine: kernels, memory, and what is expected of each cell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "card.h"
#include "engine_cuda.h"
#include "log.h"
#include "model.h"

/* The kernel of a cell, and what its code says. It must be what the path names: where the compiler may choose, the cell
 * is skipped if not, elsewhere it fails. */
static void prepare_kernel(struct engine_session *session, struct cell_result *cell, struct cuda_cell *cuda)
{
    struct cuda_device *device = &session->device;
    struct kernel_sass sass;
    char reason[CELL_REASON_BYTES];

    if (!cuda_launch_open(device, &cell->cell, &cuda->launch, &sass, reason)) {
        engine_end_cell(cell, CELL_FAILED, "%s", reason);
        return;
    }
    cuda->sass = sass.counts;
    cuda->counted = sass.counted;
    cell->kernel = (struct cell_kernel){.known = true, .registers = cuda_launch_registers(device, &cuda->launch)};
    snprintf(cell->kernel.symbol, sizeof(cell->kernel.symbol), "%s", sass.symbol);
    snprintf(cell->kernel.image, sizeof(cell->kernel.image), "%s",
             cuda_device_module(device, cell->cell.workload, 0, &cuda->launch.banks[0])->image);
    memcpy(cell->kernel.sha256, sass.sha256, sizeof(sass.sha256));
    if (image_kernel_differs(&cell->cell, &sass, reason))
        engine_end_cell(cell, cell->cell.path->chosen ? CELL_SKIPPED : CELL_FAILED, "%s", reason);
    else if (!cuda_launch_allow_shared(device, &cuda->launch, reason))
        engine_end_cell(cell, CELL_SKIPPED, "%s", reason);
}

/* Elements that a cell needs room for: its input may be larger than its output. */
static uint64_t cell_size(const struct cell *cell)
{
    return workload_input_elements(cell->workload, cell->elements);
}

/* The largest size of a pending cell that is less than `below`; 0 when there is none. */
static uint64_t largest_size(const struct result *result, uint64_t below)
{
    uint64_t largest = 0;

    for (size_t i = 0; i < result->cell_count; i++) {
        const uint64_t size = cell_size(&result->cells[i].cell);

        if (result->cells[i].status == CELL_PENDING && size < below && size > largest)
            largest = size;
    }
    return largest;
}

/* Allocates for the largest size that fits; cells above it fail. */
static void prepare_memory(struct engine_session *session, struct result *result)
{
    const struct fault *fault = session->options->fault;
    uint64_t size = largest_size(result, UINT64_MAX);
    bool planted = fault && fault->memory;

    while (size > 0 && (planted || !cuda_device_allocate(&session->device, size, result->seed))) {
        for (size_t i = 0; i < result->cell_count; i++)
            if (result->cells[i].status == CELL_PENDING && cell_size(&result->cells[i].cell) == size)
                engine_end_cell(&result->cells[i], CELL_FAILED,
                                "out of memory for input and output; ask for fewer --elements");
        size = largest_size(result, size);
        planted = false;
    }
}

static void prepare_flush(struct engine_session *session, struct result *result)
{
    for (size_t i = 0; i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];

        if (cell->status == CELL_PENDING && cell->cell.regime->flush &&
            !cuda_device_prepare_flush(&session->device, result->device.l2_bytes))
            engine_end_cell(cell, CELL_FAILED, "out of memory for flushing the caches");
    }
}

/* Exact counts of every cell, and what the model says of it where the card is of this chip. */
static enum status prepare_model(struct engine_session *session, struct result *result)
{
    const struct device_info *device = &result->device;
    struct access_counts *access = calloc(result->cell_count, sizeof(*access));
    struct card card;
    enum status status = access ? STATUS_OK : log_error(STATUS_ENVIRONMENT, "out of memory");

    if (status == STATUS_OK)
        status = card_read(session->options->card, &card);
    if (status == STATUS_OK)
        snprintf(result->card, sizeof(result->card), "%s", card.name);
    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];

        if (cell->status == CELL_SKIPPED)
            continue;
        status = access_count_next(result_cell, result, i, access);
        session->cells[i].access = access[i];
        cell->operations = access[i].operations;
        if (status == STATUS_OK)
            status = model_explain(&cell->cell, &access[i], device, &card, &cell->model);
        cell->modelled = status == STATUS_OK;
    }
    free(access);
    return status;
}

/* A resumed result holds cells of another process: its kernels must be these. */
static enum status check_same_kernels(struct engine_session *session, const struct result *result)
{
    char identity[CELL_IDENTITY_BYTES], reason[CELL_REASON_BYTES];

    for (size_t i = 0; i < result->cell_count; i++) {
        const struct cell_result *cell = &result->cells[i];
        struct cuda_launch launch;
        struct kernel_sass sass;

        if (!cell->kernel.known || (cuda_launch_open(&session->device, &cell->cell, &launch, &sass, reason) &&
                                    strcmp(sass.sha256, cell->kernel.sha256) == 0))
            continue;
        cell_identity(&cell->cell, identity);
        return log_error(STATUS_ENVIRONMENT,
                         "%s was measured with another kernel than this program has; resume with "
                         "the cbank that began the run",
                         identity);
    }
    return STATUS_OK;
}

enum status cuda_prepare(struct engine_session *session, struct result *result, const struct progress *progress)
{
    const enum status status = check_same_kernels(session, result);

    (void)progress;
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < result->cell_count; i++)
        if (result->cells[i].status == CELL_PENDING)
            prepare_kernel(session, &result->cells[i], &session->cells[i]);
    prepare_memory(session, result);
    prepare_flush(session, result);
    return prepare_model(session, result);
}
