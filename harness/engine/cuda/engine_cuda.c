/* SPDX-License-Identifier: MIT
 * The CUDA engine: measures a plan on a real device. The phases are files of their own: cuda_prepare.c, cuda_verify.c,
 * cuda_timing.c behind what is here, cuda_count.c. */
#include <stdlib.h>

#include "cuda_timing.h"
#include "engine_cuda.h"
#include "log.h"

enum { TIMING_CELLS = 64 }; /* cells whose samples are interleaved; the result is saved after each such group */

/* -- open and close ----------------------------------------------------------------------------------- */

static void *load_cupti(void *argument)
{
    struct loading *loading = argument;

    loading->status = cupti_open(&loading->cupti, loading->reason);
    return NULL;
}

static void loading_begin(struct loading *loading)
{
    loading->running = pthread_create(&loading->thread, NULL, load_cupti, loading) == 0;
    if (!loading->running)
        load_cupti(loading);
}

static void loading_end(struct loading *loading)
{
    if (loading->running)
        pthread_join(loading->thread, NULL);
    loading->running = false;
}

static void cuda_close(struct engine_session *session)
{
    if (!session)
        return;
    loading_end(&session->loading);
    cupti_session_close(session->counting);
    cupti_close(session->loading.cupti);
    cuda_device_close(&session->device);
    nvml_close(session->nvml);
    free(session->cells);
    free(session);
}

static enum status cuda_open(const struct engine_options *options, struct result *result, struct engine_session **out)
{
    struct engine_session *session = calloc(1, sizeof(*session));
    enum status status = STATUS_OK;

    if (session)
        session->cells = calloc(result->cell_count, sizeof(*session->cells));
    if (!session || !session->cells) {
        cuda_close(session);
        return log_error(STATUS_ENVIRONMENT, "out of memory");
    }
    session->options = options;
    if (options->counters->count > 0)
        loading_begin(&session->loading);
    session->nvml = nvml_open(result->device.pci_bus_id);
    status = cuda_device_open(&session->device, options->device, &result->device, result->seed, result->cell_count);
    if (status == STATUS_OK)
        *out = session;
    else
        cuda_close(session);
    return status;
}

static enum status cuda_describe(uint32_t device, const char *card, struct device_info *out)
{
    (void)card;
    return cuda_device_describe(device, out);
}

/* -- time --------------------------------------------------------------------------------------------- */

static bool wants_time(const struct cell_result *cell)
{
    return cell->status == CELL_PENDING && cell->verified && cell->time.stop_reason == STOP_NONE;
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

static enum status cuda_time(struct engine_session *session, struct result *result, const struct progress *progress)
{
    struct timed_item items[TIMING_CELLS];
    struct device_info *info = &result->device;
    enum status status = STATUS_OK;
    size_t i = 0;

    loading_end(&session->loading);

    const struct empty_launch empty = cuda_time_empty_launch(&session->device);

    info->launch_ns = empty.chain_ns;
    info->throttle_known = nvml_throttle_reasons(session->nvml, &info->throttle_before);
    while (status == STATUS_OK && i < result->cell_count) {
        size_t count = 0;

        for (; i < result->cell_count && count < TIMING_CELLS; i++)
            if (wants_time(&result->cells[i]))
                items[count++] = (struct timed_item){&result->cells[i], &session->cells[i].launch};
        status = cuda_time_items(&session->device, items, count, &empty, session->options, progress);
        info->throttle_known = info->throttle_known && nvml_throttle_reasons(session->nvml, &info->throttle_after);
        flag_throttled(result);
        if (status == STATUS_OK)
            status = progress->checkpoint(progress->context);
    }
    return status;
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
    .close = cuda_close,
    .chips = cuda_chips,
    .diagnose = cuda_diagnose,
};
