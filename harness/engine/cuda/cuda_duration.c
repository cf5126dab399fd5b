/* SPDX-License-Identifier: MIT
 * The phase `measure durations` of the CUDA engine: how long one launch takes from start to end
 * when it runs alone.
 *
 * The caches are brought to the cell's state, the device becomes idle, and one launch follows, in
 * each buffer set in turn. CUPTI's activity records the start and the end. It does so after
 * counting, when all times are known. The empty kernel is recorded first. Its durations differ by
 * the resolution. A launch that is not longer than the empty kernel by the resolution has no
 * duration that means anything. */
#include <math.h>
#include <stdio.h>

#include "cupti_duration.h"
#include "engine_cuda.h"
#include "stats.h"
#include "student.h"

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

enum status cuda_measure_durations(struct engine_session *session, struct result *result,
                                   const struct progress *progress)
{
    static const char *const unknown = "CUPTI recorded no start and end of a launch";
    struct duration_method *method = &result->duration_method;
    struct cuda_device *device = &session->device;
    const struct loading *loading = &session->loading;
    double ns[LAUNCHES_MAX], scratch[LAUNCHES_MAX];
    enum status status = STATUS_OK;
    bool known;

    if (!method->given)
        return STATUS_OK;
    *method = (struct duration_method){.given = true, .empty_ns = NAN, .resolution_ns = NAN};
    cuda_expect(device, set_up_seconds);
    cupti_session_close(session->counting);
    session->counting = NULL;
    if (!loading->cupti)
        snprintf(method->reason, sizeof(method->reason), "%s", loading->reason);
    if (!loading->cupti || cupti_durations_begin(loading->cupti, method->reason) != COUNTER_OK)
        return STATUS_OK;
    if (!measure_launches(session, NULL, NULL, ns, EMPTY_LAUNCHES, &known)) {
        status = cuda_end_run(device, cuda_device_error(device));
    } else if (!known) {
        snprintf(method->reason, sizeof(method->reason), "%s", unknown);
    } else {
        stats_sort(ns + EMPTY_UNCOUNTED, EMPTY_LAUNCHES - EMPTY_UNCOUNTED);
        method->empty_ns = stats_median(ns + EMPTY_UNCOUNTED, EMPTY_LAUNCHES - EMPTY_UNCOUNTED);
        method->resolution_ns =
            fmax(ns[EMPTY_LAUNCHES - EMPTY_BEYOND] - ns[EMPTY_UNCOUNTED + EMPTY_BEYOND - 1],
                 cuda_tick_ns(device));
    }
    for (size_t i = 0; status == STATUS_OK && !method->reason[0] && i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];
        struct cell_duration *duration = &cell->duration;
        const struct launchable *launchable = session->cells[i].launchable;
        uint32_t sets, count;

        if (cell->status != CELL_PENDING || cell->time.stop_reason == STOP_NONE || duration->given)
            continue;
        if (progress->step(progress->context, "measuring durations", i, result->cell_count))
            break;
        sets = launchable_buffer_sets(launchable);
        count = (cell->time.summary.value < long_ns ? ROUNDS : 1) * sets;
        count = count > LAUNCHES_LEAST ? count : LAUNCHES_LEAST;
        if (!measure_launches(session, launchable, cell, ns, count, &known)) {
            status = cuda_fail(device, cell, "launch failed while its duration was measured");
            continue;
        }
        *duration = (struct cell_duration){true, NAN, NAN, NAN, count, known ? NULL : unknown};
        if (!known)
            continue;

        const struct strata_mean mean = stats_strata_mean(ns, count, sets, scratch);
        const double half =
            mean.error * student_quantile(1 - STATS_CONFIDENCE, fmax(1, mean.degrees));

        if (mean.value < method->empty_ns + method->resolution_ns)
            duration->reason = "no longer than the empty kernel, within the resolution";
        else
            *duration =
                (struct cell_duration){true,  mean.value, mean.value - half, mean.value + half,
                                       count, NULL};
    }
    cupti_durations_end(loading->cupti, device->calls.lost);
    return status;
}
