/* SPDX-License-Identifier: MIT
 * The phase `verify` of the CUDA engine: every output element of every cell against the CPU reference. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine_cuda.h"
#include "parallel.h"

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
    const struct workload_data data = {device->memory.host_input, checking->values, device->memory.host_output};
    struct mismatch found;

    if (workload_check(&problem, &data, first, count, &found))
        return;
    pthread_mutex_lock(&checking->lock);
    if (checking->equal || found.element < checking->first.element)
        checking->first = found;
    checking->equal = false;
    pthread_mutex_unlock(&checking->lock);
}

/* Whether two cells write the same, from the same table: they differ by the path or the regime alone. */
static bool writes_same(const struct cell *a, const struct cell *b)
{
    struct cell like = *a;

    like.regime = b->regime;
    return a->indices == b->indices && cell_order_before(&like, b, AXIS_PATH) == 0;
}

/* Whether the output is, bit by bit, that of another path, which was compared with the CPU. */
static bool is_checked(const struct engine_session *session, const struct cell *cell, const uint32_t *values)
{
    const struct checked *checked = &session->checked;

    return checked->cell && checked->values == values && writes_same(checked->cell, cell) &&
           memcmp(checked->output, session->device.memory.host_output, cell->elements * sizeof(uint32_t)) == 0;
}

/* Keeps an output that was compared, for further paths: the first of those that write the same. Without memory each is
 * compared. */
static void keep_checked(struct engine_session *session, const struct cell *cell, const uint32_t *values)
{
    struct checked *checked = &session->checked;
    const size_t bytes = cell->elements * sizeof(uint32_t);
    uint32_t *output;

    if (checked->cell && checked->values == values && writes_same(checked->cell, cell))
        return;
    output = realloc(checked->output, bytes);
    checked->output = output ? output : checked->output;
    checked->cell = output ? cell : NULL;
    checked->values = values;
    if (output)
        memcpy(output, session->device.memory.host_output, bytes);
}

/* Compares what a launch wrote with the reference. */
static void check_output(struct engine_session *session, struct cell_result *cell, const uint32_t *values)
{
    struct cuda_device *device = &session->device;
    const struct fault *fault = session->options->fault;
    struct checking checking = {.cell = &cell->cell, .device = device, .values = values, .equal = true};

    if (fault && fault->output)
        device->memory.host_output[cell->cell.elements / 2] ^= 1u << FAULT_BIT;
    pthread_mutex_init(&checking.lock, NULL);
    watch_begin(device->calls.watchdog, "comparing with the CPU", INFINITY);
    if (!is_checked(session, &cell->cell, values))
        parallel_ranges(cell->cell.elements, cell->cell.block_size, check_range, &checking);
    watch_end(device->calls.watchdog);
    pthread_mutex_destroy(&checking.lock);
    cell->verified = checking.equal;
    if (checking.equal && values != session->refilled_values)
        keep_checked(session, &cell->cell, values);
    if (!checking.equal)
        engine_end_cell(cell, CELL_FAILED, "wrong output: %s", checking.first.text);
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
