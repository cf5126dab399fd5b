/* SPDX-License-Identifier: MIT
 * The phase `verify` of the CUDA engine: every output element of every cell against the CPU reference. */
#include <math.h>
#include <string.h>

#include "engine_cuda.h"

enum {
    POISON = 0xA5,
    FAULT_BIT = 22, /* of an output element: a bit that matters in floats, too */
};

/* Runs a launch of a cell over poisoned output and fetches what it wrote. */
static bool run_once(struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn)
{
    const size_t bytes = launch->cell->elements * sizeof(uint32_t);
    uint32_t *output = cuda_launch_output(device, launch, turn);

    return cuda_device_set(device, output, POISON, bytes) && cuda_launch_cell(device, launch, turn) &&
           cuda_device_read(device, device->memory.host_output, output, bytes) && cuda_device_wait(device);
}

/* The same for a cell whose table is written before every launch, over a cleared table. `values` gets what is in the
 * table then. */
static bool run_refilled(struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn,
                         uint32_t *values)
{
    memset(values, 0, CBANK_TABLE_BYTES);
    memcpy(values, cuda_launch_values(device, launch, turn.number), launch->cell->parameters[PARAMETER_refill_bytes]);
    return cuda_launch_clear_table(device, launch, turn) && run_once(device, launch, turn) &&
           cuda_launch_restore_table(device, launch, turn) && cuda_device_wait(device);
}

/* Compares what a launch wrote with the reference. */
static void check_output(struct engine_session *session, struct cell_result *cell, const uint32_t *values)
{
    struct cuda_device *device = &session->device;
    const struct fault *fault = session->options->fault;
    const struct workload_data data = {device->memory.host_input, values, device->memory.host_output};
    struct mismatch first;

    if (fault && fault->output)
        device->memory.host_output[cell->cell.elements / 2] ^= 1u << FAULT_BIT;
    watch_begin(device->calls.watchdog, "comparing with the CPU", INFINITY);
    cell->verified =
        reference_check(&session->reference, &cell->cell, &data, values != session->refilled_values, &first);
    watch_end(device->calls.watchdog);
    if (!cell->verified)
        engine_end_cell(cell, CELL_FAILED, "wrong output: %s", first.text);
}

/* One launch in each module of the cell, on placements and sites from number `index` on: the cells of a plan go through them
 * all. */
static enum status verify_cell(struct engine_session *session, struct cell_result *cell, size_t index)
{
    struct cuda_device *device = &session->device;
    const struct cuda_launch *launch = &session->cells[index].launch;
    const uint32_t placements = cuda_launch_placements(device, launch);
    const bool refilled = cuda_launch_refills(launch);
    uint32_t *values = session->refilled_values;

    cuda_expect_cell(device, cell, 1);
    for (uint32_t i = 0; cell->status == CELL_PENDING && i < launch->modules; i++) {
        const struct cuda_turn turn = {i, (uint32_t)((index + i) % placements), (uint32_t)(index + i)};

        if (!(refilled ? run_refilled(device, launch, turn, values) : run_once(device, launch, turn)))
            return cuda_fail(device, cell, "launch failed");
        check_output(session, cell, refilled ? values : cuda_launch_values(device, launch, i));
    }
    return STATUS_OK;
}

enum status cuda_verify(struct engine_session *session, struct result *result, const struct progress *progress)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++) {
        if (progress->step(progress->context, "verifying", i, result->cell_count))
            return STATUS_OK;
        if (result->cells[i].status == CELL_PENDING && !result->cells[i].verified)
            status = verify_cell(session, &result->cells[i], i);
    }
    return status;
}
