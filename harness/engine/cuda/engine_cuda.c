/* SPDX-License-Identifier: MIT
 * The CUDA engine: measures a plan on a real device. Its phases are cuda_prepare.c, cuda_verify.c,
 * cuda_timing.c and cuda_count.c; they know cells by their launchables. cuda_board.c records the
 * board. */
#include <math.h>
#include <stdlib.h>

#include "cuda_jit.h"
#include "engine_cuda.h"
#include "log.h"

static const double loading_seconds = 120; /* at most: CUPTI may be on a slow file system */

/* -- open and close ---------------------------------------------------------------------------- */

static void *load_cupti(void *argument)
{
    struct loading *loading = argument;

    loading->status = cupti_open(&loading->cupti, loading->reason);
    return NULL;
}

void cuda_loading_end(struct loading *loading)
{
    if (!loading->task.running)
        return;
    watch_begin(loading->watchdog, "opening CUPTI", loading_seconds);
    parallel_end(&loading->task);
    watch_end(loading->watchdog);
}

struct cell_result *launchable_cell(const struct engine_session *session, struct result *result,
                                    const struct launchable *launchable)
{
    for (size_t i = launchable->number; i < result->cell_count; i++)
        if (session->cells[i].launchable == launchable && result->cells[i].status == CELL_PENDING &&
            !result->cells[i].verified)
            return &result->cells[i];
    return NULL;
}

static void cuda_close(struct engine_session *session)
{
    if (!session)
        return;
    cuda_loading_end(&session->loading);
    if (session->counting && session->device.calls.lost)
        cupti_session_lose(session->counting);
    cupti_session_close(session->counting);
    cupti_close(session->loading.cupti);
    for (struct launchable *launchable; (launchable = session->launchables);) {
        session->launchables = launchable->next;
        launchable_close(&session->device, launchable);
    }
    cuda_memory_close(&session->device);
    cuda_device_close(&session->device);
    nvml_close(session->nvml);
    reference_close(&session->reference);
    free(session->grouped);
    free(session->cells);
    free(session);
}

static enum status cuda_open(const struct engine_options *options, struct result *result,
                             struct engine_session **out)
{
    struct engine_session *session = calloc(1, sizeof(*session));
    const struct cuda_request request = {
        .ordinal = options->device,
        .info = &result->device,
        .cells = result->cell_count > CUDA_ENERGY_SLOTS ? result->cell_count : CUDA_ENERGY_SLOTS,
        .watchdog = options->watchdog,
        .watchdog_slack = options->watchdog_slack,
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
    if (options->counters->count > 0 || result->duration_method.given)
        parallel_begin(&session->loading.task, load_cupti, &session->loading);
    watch_begin(options->watchdog, "nvmlInit", INFINITY);
    session->nvml = nvml_open(result->device.pci_bus_id);
    nvml_health_begin(session->nvml, &result->health);
    watch_end(options->watchdog);
    for (size_t i = 0; i < result->cell_count; i++)
        session->cells[i].pending = result->cells[i].status == CELL_PENDING;
    status = cuda_device_open(&session->device, &request);
    if (status == STATUS_OK)
        status = cuda_jit_check(&session->device, result);
    if (status == STATUS_OK)
        status = cuda_memory_open(&session->device, result->seed);
    if (status != STATUS_OK) {
        cuda_close(session);
        return status;
    }
    session->device.calls.result = result;
    *out = session;
    return STATUS_OK;
}

/* -- errors of the device ---------------------------------------------------------------------- */

/* Flags the cells of this process if errors grew meanwhile, and logs each kind once. */
void cuda_observe(struct engine_session *session, struct result *result)
{
    const uint32_t noted = session->grew;
    char text[512];

    watch_begin(session->options->watchdog, "reading errors by NVML",
                cuda_watchdog_slack(&session->device));
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

static enum status cuda_stuck(struct engine_session *session, const char *reason)
{
    return cuda_end_run(&session->device, reason);
}

const struct engine engine_cuda = {
    .name = "cuda",
    .summary = "measures on an NVIDIA GPU",
    .timing_scheme = 1, /* a sample is the median of up to eight launches of one graph */
    .device_count = cuda_device_count,
    .describe = cuda_device_describe,
    .open = cuda_open,
    .prepare = cuda_prepare,
    .verify = cuda_verify,
    .time = cuda_time,
    .set_up_counting = cuda_set_up_counting,
    .count = cuda_count,
    .measure_durations = cuda_measure_durations,
    .measure_energy = cuda_measure_energy,
    .observe = cuda_observe,
    .identify = cuda_identify,
    .identify_device = cuda_identify_device,
    .stuck = cuda_stuck,
    .close = cuda_close,
    .chips = cuda_chips,
    .diagnose = cuda_diagnose,
};
