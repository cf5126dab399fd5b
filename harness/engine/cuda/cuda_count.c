/* SPDX-License-Identifier: MIT
 * The phases `set up counting` and `count` of the CUDA engine. */
#include <stdio.h>

#include "engine_cuda.h"

enum {
    COUNTING_RANGES = 64, /* cells counted in one collection */
};

static const double set_up_seconds = 6; /* of CUPTI, in which one call may take long */
static const double long_ns = 500e3; /* of a launch, after which a second one finds nothing else than the first did */
static const struct cuda_turn first_turn = {0};

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

/* How many cells of a collection lack counters. */
static size_t count_wanted(const struct result *result)
{
    size_t wanted = 0;

    for (size_t i = 0; i < result->cell_count && wanted < COUNTING_RANGES; i++)
        wanted += wants_counters(&result->cells[i]);
    return wanted;
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

/* CUPTI failed with `reason`. Of a device that works, all counters say so; one that does not ends the run. */
static enum status cupti_gave_up(struct engine_session *session, struct result *result, enum counter_status why,
                                 const char *reason)
{
    struct cuda_device *device = &session->device;

    device->calls.failed = "CUPTI";
    device->calls.error = reason;
    if (cuda_device_lost(device))
        return cuda_end_run(device, reason);
    cuda_device_error(device);
    return no_counters(session, result, why, reason);
}

/* Opens counting on the device, again if it is open. Room for ranges takes CUPTI time: 20 ms for 40 (H200). */
static enum status open_counting(struct engine_session *session, struct result *result)
{
    struct loading *loading = &session->loading;
    struct cuda_device *device = &session->device;
    const size_t ranges = count_wanted(result);

    cuda_expect(device, set_up_seconds);

    const struct cupti_request request = {
        .device = device->ordinal,
        .cuda_context = device->context,
        .counters = session->options->counters,
        .ranges_max = ranges > 0 ? ranges : 1,
        .watchdog = device->calls.watchdog,
        .patience = cuda_patience(device),
    };

    cupti_session_close(session->counting);
    session->counting = NULL;
    loading->status = cupti_session_open(loading->cupti, &request, &session->counting, loading->reason);
    return loading->status == COUNTER_OK ? STATUS_OK : cupti_gave_up(session, result, loading->status, loading->reason);
}

/* Where counting cannot be, all counters say why. */
enum status cuda_set_up_counting(struct engine_session *session, struct result *result, const struct progress *progress)
{
    struct loading *loading = &session->loading;
    enum status status;

    (void)progress;
    if (count_wanted(result) == 0 || session->options->counters->count == 0)
        return STATUS_OK;
    if (loading->status != COUNTER_OK)
        return no_counters(session, result, loading->status, loading->reason);
    status = open_counting(session, result);
    if (session->counting)
        snprintf(result->device.chip, sizeof(result->device.chip), "%s", cupti_session_chip(session->counting));
    return status;
}

/* -- counting ------------------------------------------------------------------------------------------ */

static bool counting_launch(void *context, size_t i)
{
    const struct counting *counting = context;
    struct cuda_device *device = &counting->session->device;

    if (!cuda_launch_kernel(device, &counting->session->cells[counting->cells[i]].launch, first_turn) ||
        !cuda_device_wait(device))
        return false;
    cuda_expect(device, set_up_seconds);
    return true;
}

/* Launches before the one that is counted. */
static uint32_t count_earlier(const struct cell_result *cell, const struct cuda_launch *launch)
{
    const uint32_t turns = cell->time.summary.value < long_ns ? 2 : 1;

    return cell->cell.regime->flush ? 0 : turns * launch->modules;
}

/* The caches as in timing: flushed, or as earlier launches of the cell leave them. */
static bool counting_prepare(void *context, size_t i)
{
    const struct counting *counting = context;
    struct cuda_device *device = &counting->session->device;
    const struct cuda_launch *launch = &counting->session->cells[counting->cells[i]].launch;
    struct cell_result *cell = &counting->result->cells[counting->cells[i]];
    const uint32_t earlier = count_earlier(cell, launch);

    cuda_expect_cell(device, cell, 1 + earlier);
    if (launch->cell->regime->flush && !cuda_launch_flush(device))
        return false;
    for (uint32_t k = 0; k < earlier; k++)
        if (!cuda_launch_cell(device, launch, (struct cuda_turn){.number = k}))
            return false;
    return cuda_launch_before(device, launch, first_turn) && cuda_device_wait(device);
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

/* A collection failed: by a launch of a cell, which then fails, so that the others can be counted again; or by CUPTI. */
static enum status collection_failed(const struct counting *counting, enum counter_status why, const char *reason)
{
    struct engine_session *session = counting->session;
    struct cuda_device *device = &session->device;
    enum status status;

    if (!device->calls.failed || device->calls.suspect_count == 0)
        return cupti_gave_up(session, counting->result, why, reason);
    status = cuda_fail(device, device->calls.suspects[0].cell, "launch failed while counting");
    return status == STATUS_OK ? open_counting(session, counting->result) : status;
}

/* Counts cells [0 .. counting->count - 1]. */
static enum status count_group(struct counting *counting)
{
    const struct cupti_ranges ranges = {.prepare = counting_prepare,
                                        .launch = counting_launch,
                                        .context = counting,
                                        .count = counting->count};
    char reason[CUPTI_REASON_BYTES];
    const enum counter_status collected = cupti_session_collect(counting->session->counting, &ranges, reason);
    enum status status = STATUS_OK;

    if (collected != COUNTER_OK)
        return collection_failed(counting, collected, reason);
    for (size_t k = 0; status == STATUS_OK && k < counting->count; k++)
        status = take_counters(counting, k);
    return status;
}

/* Counts all cells that lack counters, a group at a time. */
enum status cuda_count(struct engine_session *session, struct result *result, const struct progress *progress)
{
    struct counting counting = {.session = session, .result = result};
    enum status status = STATUS_OK;

    while (status == STATUS_OK && session->counting) {
        size_t i = 0;

        for (counting.count = 0; i < result->cell_count && counting.count < COUNTING_RANGES; i++)
            if (wants_counters(&result->cells[i]))
                counting.cells[counting.count++] = i;
        if (counting.count == 0 || progress->step(progress->context, "counting", i, result->cell_count))
            return STATUS_OK;
        status = count_group(&counting);
    }
    return status;
}
