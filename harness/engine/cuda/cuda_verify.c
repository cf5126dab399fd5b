/* SPDX-License-Identifier: MIT
 * The phase `verify` of the CUDA engine: every output element of every cell against the CPU reference. */
#include <stdio.h>
#include <string.h>

#include "engine_cuda.h"
#include "parallel.h"

enum {
    POISON = 0xA5,
    FAULT_BIT = 22, /* of an output element: a bit that matters in floats, too */
};

/* Runs launch number `turn` of a cell over poisoned output and fetches what it wrote. */
static bool run_once(struct cuda_device *device, const struct cuda_launch *launch, uint32_t turn)
{
    const size_t bytes = launch->cell->elements * sizeof(uint32_t);

    return cuda_device_set(device, device->output, POISON, bytes) && cuda_launch_cell(device, launch, turn) &&
           cuda_device_read(device, device->host_output, device->output, bytes) && cuda_device_wait(device);
}

/* The same for a cell whose table is written before every launch, over a cleared table. `values` gets what is in the
 * table then. */
static bool run_refilled(struct cuda_device *device, const struct cuda_launch *launch, uint32_t *values)
{
    memset(values, 0, CBANK_TABLE_BYTES);
    memcpy(values, cuda_launch_values(device, launch, 0), launch->cell->parameters[PARAMETER_refill_bytes]);
    return cuda_launch_clear_table(device, launch) && run_once(device, launch, 0) &&
           cuda_launch_restore_table(device, launch) && cuda_device_wait(device);
}

/* A comparison with the CPU reference, made in parts. */
struct checking {
    const struct cell *cell;
    const struct cuda_device *device;
    const uint32_t *values; /* the table */
    pthread_mutex_t lock; /* of what follows */
    bool equal;
    struct mismatch first;
};

static void check_range(void *context, uint64_t first, uint64_t count)
{
    struct checking *checking = context;
    const struct problem problem = cell_problem(checking->cell);
    const struct cuda_device *device = checking->device;
    const struct workload_data data = {device->host_input, checking->values, device->host_output};
    struct mismatch found;

    if (workload_check(&problem, &data, first, count, &found))
        return;
    pthread_mutex_lock(&checking->lock);
    if (checking->equal || found.element < checking->first.element)
        checking->first = found;
    checking->equal = false;
    pthread_mutex_unlock(&checking->lock);
}

/* Compares what a launch wrote with the reference. */
static void check_output(struct engine_session *session, struct cell_result *cell, const uint32_t *values)
{
    struct cuda_device *device = &session->device;
    const struct fault *fault = session->options->fault;
    struct checking checking = {.cell = &cell->cell, .device = device, .values = values, .equal = true};

    if (fault && fault->output)
        device->host_output[cell->cell.elements / 2] ^= 1u << FAULT_BIT;
    pthread_mutex_init(&checking.lock, NULL);
    parallel_ranges(cell->cell.elements, cell->cell.block_size, check_range, &checking);
    pthread_mutex_destroy(&checking.lock);
    cell->verified = checking.equal;
    if (!checking.equal)
        engine_end_cell(cell, CELL_FAILED, "wrong output: %s", checking.first.text);
}

/* One launch in each module of the cell. */
static void verify_cell(struct engine_session *session, struct cell_result *cell, const struct cuda_launch *launch)
{
    struct cuda_device *device = &session->device;
    const bool refilled = cuda_launch_refills(launch);
    uint32_t *values = session->refilled_values;

    for (uint32_t turn = 0; cell->status == CELL_PENDING && turn < launch->modules; turn++)
        if (refilled ? run_refilled(device, launch, values) : run_once(device, launch, turn))
            check_output(session, cell, refilled ? values : cuda_launch_values(device, launch, turn));
        else
            engine_end_cell(cell, CELL_FAILED, "launch failed: %s", cuda_device_error(device));
}

enum status cuda_verify(struct engine_session *session, struct result *result, const struct progress *progress)
{
    for (size_t i = 0; i < result->cell_count; i++) {
        if (progress->step(progress->context, "verifying", i, result->cell_count))
            return STATUS_OK;
        if (result->cells[i].status == CELL_PENDING && !result->cells[i].verified)
            verify_cell(session, &result->cells[i], &session->cells[i].launch);
    }
    return progress->checkpoint(progress->context);
}
