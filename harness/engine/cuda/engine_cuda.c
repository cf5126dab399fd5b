/* SPDX-License-Identifier: MIT
 * The CUDA engine: measures a plan on a real device. The phases are files of their own: cuda_prepare.c, cuda_verify.c,
 * cuda_timing.c behind what is here, cuda_count.c. */
#include <math.h>
#include <stdlib.h>

#include "cuda_timing.h"
#include "engine_cuda.h"
#include "log.h"
#include "timing_group.h"

static const double loading_seconds = 120; /* at most: CUPTI may be on a slow file system */

/* -- open and close ----------------------------------------------------------------------------------- */

static void *load_cupti(void *argument)
{
    struct loading *loading = argument;

    loading->status = cupti_open(&loading->cupti, loading->reason);
    return NULL;
}

static void loading_end(struct loading *loading)
{
    if (!loading->task.running)
        return;
    watch_begin(loading->watchdog, "opening CUPTI", loading_seconds);
    parallel_end(&loading->task);
    watch_end(loading->watchdog);
}

static void cuda_close(struct engine_session *session)
{
    if (!session)
        return;
    loading_end(&session->loading);
    if (session->counting && session->device.calls.lost)
        cupti_session_lose(session->counting);
    cupti_session_close(session->counting);
    cupti_close(session->loading.cupti);
    cuda_device_close(&session->device);
    nvml_close(session->nvml);
    reference_close(&session->reference);
    free(session->grouped);
    free(session->cells);
    free(session);
}

static enum status cuda_open(const struct engine_options *options, struct result *result, struct engine_session **out)
{
    struct engine_session *session = calloc(1, sizeof(*session));
    const struct cuda_request request = {
        .ordinal = options->device,
        .info = &result->device,
        .seed = result->seed,
        .cells = result->cell_count,
        .watchdog = options->watchdog,
        .patience = options->patience,
    };
    enum status status = STATUS_OK;

    if (session) {
        session->cells = calloc(result->cell_count, sizeof(*session->cells));
        session->grouped = calloc(result->cell_count, sizeof(*session->grouped));
    }
    if (!session || !session->cells || !session->grouped) {
        cuda_close(session);
        return log_memory("the session");
    }
    session->options = options;
    session->loading.watchdog = options->watchdog;
    if (options->counters->count > 0)
        parallel_begin(&session->loading.task, load_cupti, &session->loading);
    watch_begin(options->watchdog, "nvmlInit", INFINITY);
    session->nvml = nvml_open(result->device.pci_bus_id);
    nvml_health_begin(session->nvml, &result->health);
    watch_end(options->watchdog);
    for (size_t i = 0; i < result->cell_count; i++)
        session->cells[i].pending = result->cells[i].status == CELL_PENDING;
    status = cuda_device_open(&session->device, &request);
    if (status != STATUS_OK) {
        cuda_close(session);
        return status;
    }
    session->device.calls.result = result;
    *out = session;
    return STATUS_OK;
}

static enum status cuda_describe(uint32_t device, const char *card, struct device_info *out)
{
    (void)card;
    return cuda_device_describe(device, out);
}

/* -- errors of the device ------------------------------------------------------------------------------ */

/* Marks the cells that this process had to do where errors grew meanwhile, and says of each kind so once. */
static void cuda_observe(struct engine_session *session, struct result *result)
{
    const uint32_t noted = session->grew;
    char text[512];

    watch_begin(session->options->watchdog, "reading errors by NVML", cuda_patience(&session->device));
    session->grew |= nvml_health_end(session->nvml, &result->health);
    watch_end(session->options->watchdog);
    if (session->grew == noted)
        return;
    log_warning("errors of the device grew during the run: %s; nvidia-smi -q tells more",
                health_text(&result->health, text, sizeof(text)));
    for (size_t i = 0; i < result->cell_count; i++)
        if (session->cells[i].pending && result->cells[i].status != CELL_SKIPPED)
            result->cells[i].flags |= FLAG_ERRORS_GREW;
}

/* -- time --------------------------------------------------------------------------------------------- */

/* Reads throttle reasons and temperature; what NVML does not say is not known, from now on. */
static void read_state(struct engine_session *session, struct result *result, uint64_t *reasons, double *celsius)
{
    watch_begin(session->options->watchdog, "asking NVML", cuda_patience(&session->device));
    result->device.throttle_known = result->device.throttle_known && nvml_throttle_reasons(session->nvml, reasons);
    result->temperature.known = result->temperature.known && nvml_temperature(session->nvml, celsius);
    watch_end(session->options->watchdog);
}

/* Marks what was timed while the driver held the clock down. */
static void flag_throttled(struct result *result)
{
    if (!result->device.throttle_known ||
        !((result->device.throttle_before | result->device.throttle_after) & nvml_throttle_mask()))
        return;
    for (size_t i = 0; i < result->cell_count; i++)
        if (result->cells[i].time.stop_reason != STOP_NONE)
            result->cells[i].flags |= FLAG_THROTTLED;
}

/* Begins the next group; *out is NULL where there is none. */
static enum status open_group(struct engine_session *session, struct result *result,
                              const struct cuda_timing_request *request, struct cuda_timing **out)
{
    struct timed_item items[TIMING_GROUP_MAX];
    size_t cells[TIMING_GROUP_MAX];
    const size_t count = timing_group_next(result, session->grouped, cells);

    *out = NULL;
    for (size_t i = 0; i < count; i++)
        items[i] = (struct timed_item){&result->cells[cells[i]], &session->cells[cells[i]].launch};
    return count > 0 ? cuda_timing_open(request, items, count, out) : STATUS_OK;
}

/* What is to be known of the device after each group. */
static void look_after(struct engine_session *session, struct result *result)
{
    cuda_expect(&session->device, 0);
    read_state(session, result, &result->device.throttle_after, &result->temperature.after_celsius);
    flag_throttled(result);
    cuda_observe(session, result);
}

/* Samples one group after the other. */
static enum status time_groups(struct engine_session *session, struct result *result,
                               const struct cuda_timing_request *request)
{
    struct cuda_timing *past = NULL, *timing, *next = NULL;
    enum status status = open_group(session, result, request, &timing);

    while (status == STATUS_OK && timing && !(past && cuda_timing_stopped(past))) {
        status = open_group(session, result, request, &next);
        if (status == STATUS_OK)
            status = cuda_timing_run(timing, past, next);
        look_after(session, result);
        cuda_timing_close(past);
        past = timing;
        timing = next;
    }
    cuda_timing_close(past);
    cuda_timing_close(timing);
    return status;
}

static enum status cuda_time(struct engine_session *session, struct result *result, const struct progress *progress)
{
    struct cuda_device *device = &session->device;
    const struct cuda_timing_request request = {.device = device,
                                                .options = session->options,
                                                .progress = progress,
                                                .planned = timing_group_left(result, session->grouped)};
    struct device_info *info = &result->device;

    loading_end(&session->loading);
    cuda_expect(device, 0);
    info->launch_ns = cuda_time_empty_launch(device);
    if (device->calls.failed && cuda_device_lost(device))
        return cuda_end_run(device, cuda_device_error(device));
    if (cuda_device_error(device)[0])
        info->launch_ns = cuda_time_empty_launch(device);
    info->throttle_known = result->temperature.known = true;
    read_state(session, result, &info->throttle_before, &result->temperature.before_celsius);
    result->temperature.after_celsius = result->temperature.before_celsius;
    return time_groups(session, result, &request);
}

static enum status cuda_stuck(struct engine_session *session, const char *reason)
{
    return cuda_end_run(&session->device, reason);
}

const struct engine engine_cuda = {
    .name = "cuda",
    .summary = "measures on an NVIDIA GPU",
    .device_count = cuda_device_count,
    .describe = cuda_describe,
    .open = cuda_open,
    .prepare = cuda_prepare,
    .verify = cuda_verify,
    .time = cuda_time,
    .set_up_counting = cuda_set_up_counting,
    .count = cuda_count,
    .observe = cuda_observe,
    .stuck = cuda_stuck,
    .close = cuda_close,
    .chips = cuda_chips,
    .diagnose = cuda_diagnose,
};
