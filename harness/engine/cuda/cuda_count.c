/* SPDX-License-Identifier: MIT
 * The phases `set up counting` and `count` of the CUDA engine. */
#include <stdio.h>

#include "engine_cuda.h"

enum {
    COUNTING_RANGES = 64, /* cells counted in one collection */
};

static const double set_up_seconds = 6; /* for calls of CUPTI; one may take long */
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
    return cell->status == CELL_PENDING && cell->time.stop_reason != STOP_NONE &&
           cell->counter_count == 0;
}

/* Finds the next cells that lack counters, as many as a collection takes. *end is the index after
 * the last cell examined. */
static void find_wanted(struct counting *counting, size_t *end)
{
    size_t i = 0;

    for (counting->count = 0; i < counting->result->cell_count && counting->count < COUNTING_RANGES;
         i++)
        if (wants_counters(&counting->result->cells[i]))
            counting->cells[counting->count++] = i;
    *end = i;
}

/* Gives cell `index` its counters, with their expected values. */
static enum status open_counters(const struct engine_session *session, struct result *result,
                                 size_t index, enum counter_status status, const char *reason)
{
    struct cell_result *cell = &result->cells[index];
    const struct cuda_cell *cuda = &session->cells[index];
    const struct kernel_sass *sass = &cuda->launchable->sass;
    const struct expectation expectation = {&cell->cell, &cuda->access,
                                            sass->counted ? &sass->counts : NULL};

    return engine_open_counters(cell, session->options, &expectation, status, reason);
}

/* Gives every counter of every cell that lacks them one status and reason. */
static enum status no_counters(const struct engine_session *session, struct result *result,
                               enum counter_status why, const char *reason)
{
    enum status status = STATUS_OK;

    snprintf(result->counters_reason, sizeof(result->counters_reason), "%s", reason);
    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++)
        if (wants_counters(&result->cells[i]))
            status = open_counters(session, result, i, why, result->counters_reason);
    return status;
}

/* Says of cells that launch no kernel that there is nothing to count. */
static enum status skip_uncounted(const struct engine_session *session, struct result *result)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++) {
        const struct launchable *launchable = session->cells[i].launchable;
        const char *reason = launchable ? launchable_uncounted(launchable) : NULL;

        if (reason && wants_counters(&result->cells[i]))
            status = open_counters(session, result, i, COUNTER_UNAVAILABLE, reason);
    }
    return status;
}

/* Handles a failure of CUPTI with `reason`. If the device works, all counters get the reason; else
 * the run ends. */
static enum status cupti_gave_up(struct engine_session *session, struct result *result,
                                 enum counter_status why, const char *reason)
{
    struct cuda_device *device = &session->device;

    device->calls.failed = "CUPTI";
    device->calls.error = reason;
    if (cuda_device_lost(device))
        return cuda_end_run(device, reason);
    cuda_device_error(device);
    return no_counters(session, result, why, reason);
}

/* Opens counting on the device; reopens it if it is open. CUPTI takes time for each range: 20 ms
 * for 40 (H200). */
static enum status open_counting(struct engine_session *session, struct result *result,
                                 size_t ranges)
{
    struct loading *loading = &session->loading;
    struct cuda_device *device = &session->device;

    cuda_expect(device, set_up_seconds);
    cupti_session_close(session->counting);
    session->counting = NULL;
    loading->status =
        cupti_session_open(loading->cupti,
                           &(struct cupti_request){.device = device->ordinal,
                                                   .cuda_context = device->context,
                                                   .counters = session->options->counters,
                                                   .ranges_max = ranges > 0 ? ranges : 1,
                                                   .watchdog = device->calls.watchdog,
                                                   .watchdog_slack = cuda_watchdog_slack(device)},
                           &session->counting, loading->reason);
    return loading->status == COUNTER_OK
               ? STATUS_OK
               : cupti_gave_up(session, result, loading->status, loading->reason);
}

enum status cuda_set_up_counting(struct engine_session *session, struct result *result,
                                 const struct progress *progress)
{
    const struct loading *loading = &session->loading;
    struct counting counting = {.session = session, .result = result};
    enum status status;
    size_t end;

    (void)progress;
    if (session->options->counters->count == 0)
        return STATUS_OK;
    status = skip_uncounted(session, result);
    find_wanted(&counting, &end);
    if (status != STATUS_OK || counting.count == 0)
        return status;
    if (loading->status != COUNTER_OK)
        return no_counters(session, result, loading->status, loading->reason);
    status = open_counting(session, result, counting.count);
    if (session->counting)
        snprintf(result->device.chip, sizeof(result->device.chip), "%s",
                 cupti_session_chip(session->counting));
    return status;
}

/* -- counting ---------------------------------------------------------------------------------- */

static bool counting_prepare(void *context, size_t i)
{
    const struct counting *counting = context;
    const size_t cell = counting->cells[i];

    return launchable_prepare(&counting->session->device, counting->session->cells[cell].launchable,
                              &counting->result->cells[cell], first_turn);
}

static bool counting_launch(void *context, size_t i)
{
    const struct counting *counting = context;
    struct cuda_device *device = &counting->session->device;

    if (!launchable_launch_kernel(device, counting->session->cells[counting->cells[i]].launchable,
                                  first_turn) ||
        !cuda_device_wait(device))
        return false;
    cuda_expect(device, set_up_seconds);
    return true;
}

/* Counts the cells of a collection. If the launch of a cell fails, that cell fails, and the others
 * are counted again. */
static enum status count_group(struct counting *counting)
{
    struct engine_session *session = counting->session;
    struct cuda_device *device = &session->device;
    const struct cupti_ranges ranges = {.prepare = counting_prepare,
                                        .launch = counting_launch,
                                        .context = counting,
                                        .count = counting->count};
    char reason[CUPTI_REASON_BYTES];
    const enum counter_status collected = cupti_session_collect(session->counting, &ranges, reason);
    enum status status = STATUS_OK;
    size_t end;

    if (collected != COUNTER_OK && (!device->calls.failed || device->calls.suspect_count == 0))
        return cupti_gave_up(session, counting->result, collected, reason);
    if (collected != COUNTER_OK) {
        status = cuda_fail(device, device->calls.suspects[0].cell, "launch failed while counting");
        find_wanted(counting, &end);
        return status == STATUS_OK ? open_counting(session, counting->result, counting->count)
                                   : status;
    }
    for (size_t k = 0; status == STATUS_OK && k < counting->count; k++) {
        struct cell_result *cell = &counting->result->cells[counting->cells[k]];

        status = open_counters(session, counting->result, counting->cells[k], COUNTER_NOT_COLLECTED,
                               counting->result->counters_reason);
        if (status != STATUS_OK)
            break;
        cupti_session_values(session->counting, k, cell->counters);
        engine_settle_counters(cell, session->options->fault);
    }
    return status;
}

enum status cuda_count(struct engine_session *session, struct result *result,
                       const struct progress *progress)
{
    struct counting counting = {.session = session, .result = result};
    enum status status = STATUS_OK;

    while (status == STATUS_OK && session->counting) {
        size_t end;

        find_wanted(&counting, &end);
        if (counting.count == 0 ||
            progress->step(progress->context, "counting", end, result->cell_count))
            return STATUS_OK;
        status = count_group(&counting);
    }
    return status;
}
