/* SPDX-License-Identifier: MIT
 * The phases `set up counting` and `count` of the CUDA engine. */
#include <stdio.h>

#include "engine_cuda.h"

enum {
    COUNTING_RANGES = 64, /* cells counted in one collection */
    COUNTING_WARM_UP = 2, /* launches before the one that is counted, in the regime hot */
};

/* The cells of one collection. */
struct counting {
    struct engine_session *session;
    struct result *result;
    size_t cells[COUNTING_RANGES]; /* indices into the result */
    size_t count;
};

static bool wants_counters(const struct cell_result *cell)
{
    return cell->status == CELL_PENDING && cell->time.stop_reason != STOP_NONE && cell->counter_count == 0;
}

/* Gives cell `index` its counters, with what is expected of them. */
static enum status open_counters(const struct engine_session *session, struct result *result, size_t index,
                                 enum counter_status status)
{
    struct cell_result *cell = &result->cells[index];
    const struct cuda_cell *cuda = &session->cells[index];
    const struct expectation expectation = {&cell->cell, &cuda->access, cuda->counted ? &cuda->sass : NULL};

    return engine_open_counters(cell, session->options, &expectation, status, result->counters_reason);
}

/* Every counter of every cell that lacks them gets one status and reason. */
static enum status no_counters(const struct engine_session *session, struct result *result, enum counter_status why,
                               const char *reason)
{
    enum status status = STATUS_OK;

    snprintf(result->counters_reason, sizeof(result->counters_reason), "%s", reason);
    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++)
        if (wants_counters(&result->cells[i]))
            status = open_counters(session, result, i, why);
    return status;
}

/* Opens counting on the device. Where that cannot be, all counters say why. */
enum status cuda_set_up_counting(struct engine_session *session, struct result *result, const struct progress *progress)
{
    struct loading *loading = &session->loading;
    const struct cupti_request request = {
        .device = session->device.ordinal,
        .cuda_context = session->device.context,
        .counters = session->options->counters,
        .ranges_max = COUNTING_RANGES,
    };

    (void)progress;
    if (request.counters->count == 0)
        return STATUS_OK;
    if (loading->status == COUNTER_OK)
        loading->status = cupti_session_open(loading->cupti, &request, &session->counting, loading->reason);
    if (loading->status != COUNTER_OK)
        return no_counters(session, result, loading->status, loading->reason);
    snprintf(result->device.chip, sizeof(result->device.chip), "%s", cupti_session_chip(session->counting));
    return STATUS_OK;
}

/* -- counting ------------------------------------------------------------------------------------------ */

static bool counting_launch(void *context, size_t i)
{
    const struct counting *counting = context;
    struct cuda_device *device = &counting->session->device;

    return cuda_launch_kernel(device, &counting->session->cells[counting->cells[i]].launch, 0) &&
           cuda_device_wait(device);
}

/* The caches as in timing: flushed, or as earlier launches of the cell leave them. */
static bool counting_prepare(void *context, size_t i)
{
    const struct counting *counting = context;
    struct cuda_device *device = &counting->session->device;
    const struct cuda_launch *launch = &counting->session->cells[counting->cells[i]].launch;

    if (launch->cell->regime->flush && !cuda_launch_flush(device))
        return false;
    for (uint32_t turn = 0; !launch->cell->regime->flush && turn < COUNTING_WARM_UP * launch->modules; turn++)
        if (!cuda_launch_cell(device, launch, turn))
            return false;
    return cuda_launch_before(device, launch, 0) && cuda_device_wait(device);
}

/* Values of one range into its cell. */
static enum status take_counters(const struct counting *counting, size_t range)
{
    struct engine_session *session = counting->session;
    struct cell_result *cell = &counting->result->cells[counting->cells[range]];
    const enum status status = open_counters(session, counting->result, counting->cells[range], COUNTER_NOT_COLLECTED);

    if (status != STATUS_OK)
        return status;
    cupti_session_values(session->counting, range, cell->counters);
    engine_settle_counters(cell, session->options->fault);
    return STATUS_OK;
}

/* Counts all cells that lack counters, a group at a time. */
enum status cuda_count(struct engine_session *session, struct result *result, const struct progress *progress)
{
    struct counting counting = {.session = session, .result = result};
    struct cupti_ranges ranges = {.prepare = counting_prepare, .launch = counting_launch, .context = &counting};
    enum status status = STATUS_OK;
    char reason[CUPTI_REASON_BYTES];
    size_t i = 0;

    while (status == STATUS_OK && session->counting && i < result->cell_count) {
        if (progress->step(progress->context, "counting", i, result->cell_count))
            return STATUS_OK;
        for (counting.count = 0; i < result->cell_count && counting.count < COUNTING_RANGES; i++)
            if (wants_counters(&result->cells[i]))
                counting.cells[counting.count++] = i;
        ranges.count = counting.count;
        if (counting.count == 0)
            break;

        const enum counter_status collected = cupti_session_collect(session->counting, &ranges, reason);

        if (collected != COUNTER_OK)
            return no_counters(session, result, collected, reason);
        for (size_t k = 0; status == STATUS_OK && k < counting.count; k++)
            status = take_counters(&counting, k);
        if (status == STATUS_OK && i < result->cell_count)
            status = progress->checkpoint(progress->context);
    }
    return status;
}
