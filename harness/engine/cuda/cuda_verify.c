/* SPDX-License-Identifier: MIT
 * The phase `verify` of the CUDA engine: every output element of every cell against the CPU
 * reference. */
#include <math.h>

#include "cuda_user.h"

enum {
    POISON = 0xA5,
    FAULT_BIT = 22, /* of an output element: a bit that also matters in floats */
};

/* A launch of a cell, and the host memory for its output. */
struct check {
    struct cell_result *cell; /* NULL: there is none */
    const struct cuda_launch *launch;
    struct cuda_turn turn;
    uint32_t *output;
};

/* Compares the output of a launch with the reference, unless its cell has failed. A cell is
 * verified after its last module. Calls no device: another launch may be running. */
static void compare(struct engine_session *session, const struct check *check)
{
    struct cell_result *cell = check->cell;
    const struct fault *fault = session->options->fault;
    struct mismatch first;

    if (!cell || cell->status != CELL_PENDING)
        return;

    const uint32_t *values =
        cuda_launch_values(&session->device, check->launch, check->turn.number);
    const struct workload_data data = {session->device.memory->host_input, values, check->output};
    const bool refilled = cuda_launch_refills(check->launch);

    if (fault && fault->output)
        check->output[cell->cell.elements / 2] ^= 1u << FAULT_BIT;
    watch_begin(session->options->watchdog, "comparing with the CPU", INFINITY);
    const bool right = reference_check(&session->reference, &cell->cell, &data, refilled, &first);
    watch_end(session->options->watchdog);
    if (!right)
        engine_end_cell(cell, CELL_FAILED, "wrong output: %s", first.text);
    cell->verified = right && check->turn.number + 1 == check->launch->modules;
}

/* Launches the cell once in each of its modules, on buffer sets and table offsets from number i on,
 * so that the cells of a plan use all of them. The output is poisoned first. While a launch runs,
 * *before is compared: the previous launch, possibly of another cell. */
static enum status verify_cell(struct engine_session *session, struct cell_result *cell, size_t i,
                               struct check *before)
{
    struct cuda_device *device = &session->device;
    const struct cuda_launch *launch = &session->cells[i].launch;
    const uint32_t buffer_sets = cuda_launch_buffer_sets(device, launch);
    const size_t bytes = launch->cell->elements * sizeof(uint32_t);
    uint32_t *const *outputs = device->memory->host_output;

    cuda_expect_cell(device, cell, 1);
    for (uint32_t k = 0; cell->status == CELL_PENDING && k < launch->modules; k++) {
        const struct cuda_turn turn = {k, (uint32_t)((i + k) % buffer_sets), (uint32_t)(i + k)};
        const struct check check = {cell, launch, turn, outputs[before->output == outputs[0]]};
        uint32_t *output = cuda_launch_output(device, launch, turn);
        /* A table that is written before every launch is first cleared. It is then restored, even
         * after a failure: other cells read it, too. */
        bool enqueued = cuda_launch_clear_table(device, launch, turn) &&
                        cuda_device_set(device, output, POISON, bytes) &&
                        cuda_launch_cell(device, launch, turn) &&
                        cuda_device_read(device, check.output, output, bytes);

        enqueued = cuda_launch_restore_table(device, launch, turn) && enqueued;
        compare(session, before);
        before->cell = NULL;
        if (!enqueued || !cuda_device_wait(device))
            return cuda_fail(device, cell, "launch failed");
        *before = check;
    }
    return STATUS_OK;
}

enum status cuda_verify(struct engine_session *session, struct result *result,
                        const struct progress *progress)
{
    struct check before = {0};
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++) {
        if (progress->step(progress->context, "verifying", i, result->cell_count))
            return STATUS_OK;
        if (result->cells[i].status == CELL_PENDING && !result->cells[i].verified &&
            session->cells[i].launch.user == NULL)
            status = verify_cell(session, &result->cells[i], i, &before);
    }
    compare(session, &before);
    return status == STATUS_OK ? cuda_users_verify(session, result, progress) : status;
}
