/* SPDX-License-Identifier: MIT
 * The phase `measure durations` of the CUDA engine: how long one launch takes from start to end
 * when it runs alone.
 *
 * The caches are brought to the cell's state, the device becomes idle, and one launch follows, in
 * each buffer set in turn. CUPTI's activity records the start and the end. It does so after
 * counting, when all times are known. The empty kernel is recorded first. Its durations differ by
 * the resolution. A launch that is not longer than the empty kernel by the resolution has no
 * duration that means anything. Durations are of whole ticks of a timer (ticks.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_duration.h"
#include "engine_cuda.h"
#include "log.h"
#include "stats.h"
#include "ticks.h"

enum {
    EMPTY_LAUNCHES = 200, /* of the empty kernel, without ... */
    EMPTY_UNCOUNTED = 20, /* ... the first */
    EMPTY_BEYOND = 5,     /* of these on either side of the resolution: 95 % are within */
    ROUNDS = 3,           /* of launches in each buffer set, ... */
    LAUNCHES_LEAST = 12,  /* ... at least this many, ... */
    LAUNCHES_MAX = EMPTY_LAUNCHES,
};

_Static_assert(ROUNDS *CUDA_BUFFER_SETS_MAX <= LAUNCHES_MAX, "launches of a cell");

static const double long_ns = 500e3; /* of a launch: one round */
static const double set_up_seconds = 6; /* for calls of CUPTI */

/* Measures `count` launches of a cell, or without one of the empty kernel, each on an idle
 * device; they take the buffer sets in turn. False if the device fails. *known: CUPTI recorded
 * all of them. */
static bool measure_launches(struct engine_session *session, const struct launchable *launchable,
                             struct cell_result *cell, double *ns, size_t count, bool *known)
{
    struct cuda_device *device = &session->device;
    const struct cupti *cupti = session->loading.cupti;
    const uint32_t sets = launchable ? launchable_buffer_sets(launchable) : 1;

    *known = true;
    for (size_t i = 0; i < count && *known; i++) {
        const struct cuda_turn turn = {.buffer_set = (uint32_t)(i % sets)};

        if (launchable && !launchable_prepare(device, launchable, cell, turn))
            return false;
        cupti_durations_take(cupti);
        if (!(launchable ? launchable_launch_kernel(device, launchable, turn)
                         : cuda_launch_empty(device)) ||
            !cuda_device_wait(device))
            return false;
        ns[i] = cupti_durations_take(cupti);
        *known = !isnan(ns[i]);
    }
    return true;
}

static const char unknown[] = "CUPTI recorded no start and end of a launch";

/* Keeps the samples in the result. */
static enum status keep(struct numbers *kept, const double *ns, size_t count)
{
    *kept = (struct numbers){malloc(count * sizeof(*ns)), count};
    if (!kept->values)
        return log_memory("%zu durations", count);
    memcpy(kept->values, ns, count * sizeof(*ns));
    return STATUS_OK;
}

/* The durations of the empty kernel: their median, within what they differ, and the tick of the
 * timer. The method has the reason if they are not known. */
static enum status measure_empty(struct engine_session *session, struct duration_method *method)
{
    const size_t counted = EMPTY_LAUNCHES - EMPTY_UNCOUNTED;
    double launches_ns[EMPTY_LAUNCHES], *ns = launches_ns + EMPTY_UNCOUNTED;
    bool known;

    if (!measure_launches(session, NULL, NULL, launches_ns, EMPTY_LAUNCHES, &known))
        return cuda_end_run(&session->device, cuda_device_error(&session->device));
    if (!known) {
        snprintf(method->reason, sizeof(method->reason), "%s", unknown);
        return STATUS_OK;
    }
    if (keep(&method->samples, ns, counted) != STATUS_OK)
        return STATUS_ENVIRONMENT;
    stats_sort(ns, counted);
    method->tick_ns = ticks_of(ns + EMPTY_BEYOND, counted - (size_t)2 * EMPTY_BEYOND,
                               cuda_tick_ns(&session->device));
    method->empty_ns = stats_median(ns, counted);
    method->resolution_ns =
        fmax(ns[counted - EMPTY_BEYOND] - ns[EMPTY_BEYOND - 1], method->tick_ns);
    return STATUS_OK;
}

/* The duration of a cell, or the reason why it has none. */
static enum status measure_cell(struct engine_session *session, const struct launchable *launchable,
                                const struct duration_method *method, struct cell_result *cell)
{
    struct cell_duration *duration = &cell->duration;
    const uint32_t sets = launchable_buffer_sets(launchable),
                   wanted = (cell->time.summary.value < long_ns ? ROUNDS : 1) * sets,
                   count = wanted > LAUNCHES_LEAST ? wanted : LAUNCHES_LEAST;
    double ns[LAUNCHES_MAX], scratch[LAUNCHES_MAX];
    struct ticks_mean mean;
    const char *const uncounted = launchable_uncounted(launchable);
    bool known = false;

    if (!uncounted && !measure_launches(session, launchable, cell, ns, count, &known))
        return cuda_fail(&session->device, cell, "launch failed while its duration was measured");
    *duration = (struct cell_duration){.given = true,
                                       .value = NAN,
                                       .ci_low = NAN,
                                       .ci_high = NAN,
                                       .launches = uncounted ? 0 : count,
                                       .reason = uncounted ? uncounted
                                                 : known   ? NULL
                                                           : unknown};
    if (!known)
        return STATUS_OK;
    mean = ticks_mean(ns, count, sets, method->tick_ns, scratch);
    if (mean.value < method->empty_ns + method->resolution_ns) {
        duration->reason = "no longer than the empty kernel, within the resolution";
    } else {
        duration->value = mean.value;
        duration->ci_low = mean.value - mean.half;
        duration->ci_high = mean.value + mean.half;
    }
    return keep(&duration->samples, ns, count);
}

enum status cuda_measure_durations(struct engine_session *session, struct result *result,
                                   const struct progress *progress)
{
    struct duration_method *method = &result->duration_method;
    const struct loading *loading = &session->loading;
    enum status status;

    if (!method->given)
        return STATUS_OK;
    *method = (struct duration_method){.given = true,
                                       .empty_ns = NAN,
                                       .resolution_ns = NAN,
                                       .tick_ns = NAN};
    cuda_expect(&session->device, set_up_seconds);
    cupti_session_close(session->counting);
    session->counting = NULL;
    if (!loading->cupti)
        snprintf(method->reason, sizeof(method->reason), "%s", loading->reason);
    if (!loading->cupti || cupti_durations_begin(loading->cupti, method->reason) != COUNTER_OK)
        return STATUS_OK;
    status = measure_empty(session, method);
    for (size_t i = 0; status == STATUS_OK && !method->reason[0] && i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];

        if (cell->status != CELL_PENDING || cell->time.stop_reason == STOP_NONE ||
            cell->duration.given)
            continue;
        if (progress->step(progress->context, "measuring durations", i, result->cell_count))
            break;
        status = measure_cell(session, session->cells[i].launchable, method, cell);
    }
    cupti_durations_end(loading->cupti, session->device.calls.lost);
    return status;
}
