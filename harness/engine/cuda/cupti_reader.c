/* SPDX-License-Identifier: MIT
 * A session of counting, from a set of counters to values:
 *
 *   metrics that the chip has -> configuration, in passes -> ranges pushed around launches ->
 * evaluation
 *
 * Each counter keeps a status of its own, so that one which cannot be read takes away no other. */
#include "cupti_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_chip.h"

/* -- sessions ---------------------------------------------------------------------------------- */

/* The state of one counter of the set. */
struct session_counter {
    enum counter_status status;
    const char *metric; /* from the counter's row: the chosen one, or the last one tried */
    size_t slot; /* index among the collected metrics */
    const char *reason; /* static text; NULL if the status is ok */
};

/* Bytes that CUPTI fills. */
struct image_bytes {
    uint8_t *data; /* owned */
    size_t bytes;
};

struct cupti_session {
    const struct cupti *cupti;
    struct cupti_request request;
    struct cupti_chip chip;
    char chip_name[32];
    bool initialized;
    const char *called; /* the last call while collecting */
    CUpti_RangeProfiler_Object *profiler;
    struct session_counter *counters; /* one for each of the set */
    const char **metrics; /* the collected metrics, metric_count of them */
    double *metric_values; /* room for their values */
    size_t metric_count;
    struct image_bytes availability, config, counts;
};

/* -- opening ----------------------------------------------------------------------------------- */

static CUptiResult make_room(struct image_bytes *image, size_t bytes)
{
    *image = (struct image_bytes){calloc(1, bytes), bytes};
    return image->data ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

static CUptiResult open_chip(struct cupti_session *session)
{
    return cupti_chip_open(&session->chip, session->cupti, session->chip_name,
                           session->availability.data);
}

static CUptiResult add_metrics(const struct cupti_session *session, const char **metrics,
                               size_t count)
{
    return CUPTI_CALL(session->cupti->f.cuptiProfilerHostConfigAddMetrics,
                      CUpti_Profiler_Host_ConfigAddMetrics, .pHostObject = session->chip.host,
                      .ppMetricNames = metrics, .numMetrics = count);
}

/* Adds the metrics of all counters that are still ok in one call. CUPTI packs the metrics of one
 * call into as few passes as it can, and gives each call its own passes. */
static CUptiResult add_chosen(struct cupti_session *session)
{
    session->metric_count = 0;
    for (size_t i = 0; i < session->request.counters->count; i++) {
        struct session_counter *counter = &session->counters[i];

        if (counter->status != COUNTER_OK)
            continue;
        counter->slot = session->metric_count;
        session->metrics[session->metric_count++] = counter->metric;
    }
    return session->metric_count > 0 ? add_metrics(session, session->metrics, session->metric_count)
                                     : CUPTI_SUCCESS;
}

/* Chooses a metric for each counter, and adds them. */
static CUptiResult choose_metrics(struct cupti_session *session)
{
    const struct counter_set *set = session->request.counters;
    CUptiResult code;

    for (size_t i = 0; i < set->count; i++) {
        struct session_counter *out = &session->counters[i];
        const bool has =
            cupti_chip_choose(&session->chip, &set->counters[i], &out->metric, &out->reason);

        out->status = has ? COUNTER_OK : COUNTER_UNSUPPORTED;
    }
    if (add_chosen(session) == CUPTI_SUCCESS)
        return CUPTI_SUCCESS;
    /* CUPTI takes all metrics of a call or none. The refused ones are found by trying each with a
     * host object of its own. The session then gets a fresh one. */
    for (size_t i = 0; i < set->count; i++) {
        struct session_counter *counter = &session->counters[i];

        if (counter->status != COUNTER_OK)
            continue;
        cupti_chip_close(&session->chip);
        if (open_chip(session) != CUPTI_SUCCESS ||
            add_metrics(session, &counter->metric, 1) != CUPTI_SUCCESS) {
            counter->status = COUNTER_UNSUPPORTED;
            counter->reason = "CUPTI does not take the metric on this device";
        }
    }
    cupti_chip_close(&session->chip);
    code = open_chip(session);
    return code == CUPTI_SUCCESS ? add_chosen(session) : code;
}

/* The name of the chip, and the image of the counters that this user may read on this device. */
static CUptiResult read_chip(struct cupti_session *session)
{
    const struct cupti_functions *f = &session->cupti->f;
    CUpti_Device_GetChipName_Params chip =
        CUPTI_PARAMETERS(CUpti_Device_GetChipName, .deviceIndex = session->request.device);
    CUpti_Profiler_GetCounterAvailability_Params availability =
        CUPTI_PARAMETERS(CUpti_Profiler_GetCounterAvailability,
                         .ctx = session->request.cuda_context);
    CUptiResult code = f->cuptiDeviceGetChipName(&chip);

    if (code != CUPTI_SUCCESS)
        return code;
    snprintf(session->chip_name, sizeof(session->chip_name), "%s", chip.pChipName);
    code = f->cuptiProfilerGetCounterAvailability(&availability);
    if (code == CUPTI_SUCCESS)
        code = make_room(&session->availability, availability.counterAvailabilityImageSize);
    if (code != CUPTI_SUCCESS)
        return code;
    availability.pCounterAvailabilityImage = session->availability.data;
    return f->cuptiProfilerGetCounterAvailability(&availability);
}

/* The image that configures the device for the chosen metrics. */
static CUptiResult make_config(struct cupti_session *session)
{
    const struct cupti_functions *f = &session->cupti->f;
    CUpti_Profiler_Host_GetConfigImageSize_Params config =
        CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize, .pHostObject = session->chip.host);
    CUptiResult code = f->cuptiProfilerHostGetConfigImageSize(&config);

    if (code == CUPTI_SUCCESS)
        code = make_room(&session->config, config.configImageSize);
    if (code != CUPTI_SUCCESS)
        return code;
    return CUPTI_CALL(f->cuptiProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage,
                      .pHostObject = session->chip.host, .configImageSize = session->config.bytes,
                      .pConfigImage = session->config.data);
}

/* Reserves the device's counters, and makes room for their values. */
static CUptiResult enable(struct cupti_session *session)
{
    const struct cupti_functions *f = &session->cupti->f;
    CUpti_RangeProfiler_Enable_Params profiler =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_Enable, .ctx = session->request.cuda_context);
    CUptiResult code = f->cuptiRangeProfilerEnable(&profiler);

    if (code != CUPTI_SUCCESS)
        return code;
    session->profiler = profiler.pRangeProfilerObject;

    CUpti_RangeProfiler_GetCounterDataSize_Params counts =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_GetCounterDataSize,
                         .pRangeProfilerObject = session->profiler,
                         .pMetricNames = session->metrics, .numMetrics = session->metric_count,
                         .maxNumOfRanges = session->request.ranges_max,
                         .maxNumRangeTreeNodes = (uint32_t)session->request.ranges_max);

    code = f->cuptiRangeProfilerGetCounterDataSize(&counts);
    return code == CUPTI_SUCCESS ? make_room(&session->counts, counts.counterDataSize) : code;
}

static CUptiResult initialize(struct cupti_session *session)
{
    const CUptiResult code = CUPTI_CALL(session->cupti->f.cuptiProfilerInitialize,
                                        CUpti_Profiler_Initialize, .pPriv = NULL);

    session->initialized = code == CUPTI_SUCCESS;
    return code;
}

/* Sets up all that counting needs. *function names the step that an error belongs to. */
static CUptiResult set_up(struct cupti_session *session, const char **function)
{
    static const struct {
        const char *function;
        CUptiResult (*take)(struct cupti_session *session);
        bool counts; /* it is for metrics, and the chip may have none */
    } steps[] = {
        {"cuptiProfilerInitialize", initialize, false},
        {"cuptiProfilerGetCounterAvailability", read_chip, false},
        {"cuptiProfilerHostInitialize", open_chip, false},
        {"cuptiProfilerHostConfigAddMetrics", choose_metrics, false},
        {"cuptiProfilerHostGetConfigImage", make_config, true},
        {"cuptiRangeProfilerEnable", enable, true},
    };
    CUptiResult code = CUPTI_SUCCESS;

    for (size_t i = 0; code == CUPTI_SUCCESS && i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (steps[i].counts && session->metric_count == 0)
            return CUPTI_SUCCESS;
        *function = steps[i].function;
        code = steps[i].take(session);
    }
    return code;
}

/* The error that says why this device and system cannot count, as far as CUPTI tells; else `code`.
 * Asked after a failure alone: an answer cannot take away counters that can be read. */
static CUptiResult why_unsupported(const struct cupti *cupti, uint32_t device, CUptiResult code)
{
    CUpti_Profiler_DeviceSupported_Params asked =
        CUPTI_PARAMETERS(CUpti_Profiler_DeviceSupported, .cuDevice = (CUdevice)device,
                         .api = CUPTI_PROFILER_RANGE_PROFILING);
    const struct {
        const CUpti_Profiler_Support_Level *level, bad;
        CUptiResult code;
    } reasons[] = {
        {&asked.wsl, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED, 45},
        {&asked.vGpu, CUPTI_PROFILER_CONFIGURATION_DISABLED, 40},
        {&asked.vGpu, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED, 33},
        {&asked.confidentialCompute, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED, 41},
        {&asked.cmp, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED, 42},
        {&asked.sli, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED, 44},
        {&asked.architecture, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED, 27},
    };

    if (cupti->f.cuptiProfilerDeviceSupported(&asked) == CUPTI_SUCCESS)
        for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
            if (*reasons[i].level == reasons[i].bad)
                return reasons[i].code;
    return code;
}

enum counter_status cupti_session_open(const struct cupti *cupti,
                                       const struct cupti_request *request,
                                       struct cupti_session **out, char reason[CUPTI_REASON_BYTES])
{
    const size_t count = request->counters->count + 1;
    struct cupti_session *session = calloc(1, sizeof(*session));
    const char *function = "";
    CUptiResult code = CUPTI_ERROR_OUT_OF_MEMORY, why;
    enum counter_status status;

    if (session) {
        *session =
            (struct cupti_session){.cupti = cupti,
                                   .request = *request,
                                   .counters = calloc(count, sizeof(*session->counters)),
                                   .metrics = calloc(count, sizeof(*session->metrics)),
                                   .metric_values = calloc(count, sizeof(*session->metric_values))};
        watch_begin(request->watchdog, "setting up CUPTI", request->watchdog_slack);
        if (session->counters && session->metrics && session->metric_values)
            code = set_up(session, &function);
        if (code != CUPTI_SUCCESS &&
            (why = why_unsupported(cupti, request->device, code)) != code) {
            code = why;
            function = "cuptiProfilerDeviceSupported";
        }
        watch_end(request->watchdog);
    }
    if (code == CUPTI_SUCCESS) {
        *out = session;
        return COUNTER_OK;
    }
    status = cupti_failed(cupti, code, function, reason);
    cupti_session_close(session);
    return status;
}

void cupti_session_lose(struct cupti_session *session)
{
    session->profiler = NULL;
    session->initialized = false;
}

void cupti_session_close(struct cupti_session *session)
{
    if (!session)
        return;
    watch_begin(session->request.watchdog, "closing CUPTI", session->request.watchdog_slack);
    if (session->profiler)
        CUPTI_CALL(session->cupti->f.cuptiRangeProfilerDisable, CUpti_RangeProfiler_Disable,
                   .pRangeProfilerObject = session->profiler);
    cupti_chip_close(&session->chip);
    if (session->initialized)
        CUPTI_CALL(session->cupti->f.cuptiProfilerDeInitialize, CUpti_Profiler_DeInitialize,
                   .pPriv = NULL);
    watch_end(session->request.watchdog);
    free(session->counters);
    free(session->metrics);
    free(session->metric_values);
    free(session->availability.data);
    free(session->config.data);
    free(session->counts.data);
    free(session);
}

const char *cupti_session_chip(const struct cupti_session *session)
{
    return session->chip_name;
}

/* -- collecting -------------------------------------------------------------------------------- */

/* Starts a call that may wait for the device, guarded by the watchdog. */
static void watched_begin(struct cupti_session *session, const char *function)
{
    session->called = function;
    watch_begin(session->request.watchdog, function, session->request.watchdog_slack);
}

static CUptiResult watched_end(struct cupti_session *session, CUptiResult code)
{
    watch_end(session->request.watchdog);
    return code;
}

#define WATCHED(session, function, type, ...) \
    (watched_begin((session), #function),     \
     watched_end((session), CUPTI_CALL((session)->cupti->f.function, type, __VA_ARGS__)))

/* One pass over all ranges. Sets *submitted after the last pass. */
static CUptiResult collect_pass(struct cupti_session *session, const struct cupti_ranges *ranges,
                                bool *submitted)
{
    CUpti_RangeProfiler_Stop_Params stop =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_Stop, .pRangeProfilerObject = session->profiler);
    CUptiResult code = WATCHED(session, cuptiRangeProfilerStart, CUpti_RangeProfiler_Start,
                               .pRangeProfilerObject = session->profiler);

    for (size_t i = 0; code == CUPTI_SUCCESS && i < ranges->count; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%zu", i);
        if (!ranges->prepare(ranges->context, i))
            return CUPTI_ERROR_INVALID_OPERATION;
        code = WATCHED(session, cuptiRangeProfilerPushRange, CUpti_RangeProfiler_PushRange,
                       .pRangeProfilerObject = session->profiler, .pRangeName = name);
        if (code == CUPTI_SUCCESS && !ranges->launch(ranges->context, i))
            return CUPTI_ERROR_INVALID_OPERATION;
        if (code == CUPTI_SUCCESS)
            code = WATCHED(session, cuptiRangeProfilerPopRange, CUpti_RangeProfiler_PopRange,
                           .pRangeProfilerObject = session->profiler);
    }
    if (code == CUPTI_SUCCESS) {
        watched_begin(session, "cuptiRangeProfilerStop");
        code = watched_end(session, session->cupti->f.cuptiRangeProfilerStop(&stop));
    }
    *submitted = stop.isAllPassSubmitted != 0;
    return code;
}

enum counter_status cupti_session_collect(struct cupti_session *session,
                                          const struct cupti_ranges *ranges,
                                          char reason[CUPTI_REASON_BYTES])
{
    CUpti_RangeProfiler_DecodeData_Params decode =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_DecodeData, .pRangeProfilerObject = session->profiler);
    bool submitted = false;
    CUptiResult code;

    if (session->metric_count == 0)
        return COUNTER_OK;
    code = WATCHED(session, cuptiRangeProfilerCounterDataImageInitialize,
                   CUpti_RangeProfiler_CounterDataImage_Initialize,
                   .pRangeProfilerObject = session->profiler,
                   .counterDataSize = session->counts.bytes, .pCounterData = session->counts.data);
    if (code == CUPTI_SUCCESS)
        code =
            WATCHED(session, cuptiRangeProfilerSetConfig, CUpti_RangeProfiler_SetConfig,
                    .pRangeProfilerObject = session->profiler, .configSize = session->config.bytes,
                    .pConfig = session->config.data, .counterDataImageSize = session->counts.bytes,
                    .pCounterDataImage = session->counts.data, .range = CUPTI_UserRange,
                    .replayMode = CUPTI_UserReplay, .maxRangesPerPass = session->request.ranges_max,
                    .numNestingLevels = 1, .minNestingLevel = 1, .passIndex = 0,
                    .targetNestingLevel = 1);
    while (code == CUPTI_SUCCESS && !submitted)
        code = collect_pass(session, ranges, &submitted);
    if (code == CUPTI_SUCCESS) {
        watched_begin(session, "cuptiRangeProfilerDecodeData");
        code = watched_end(session, session->cupti->f.cuptiRangeProfilerDecodeData(&decode));
    }
    if (code != CUPTI_SUCCESS)
        return cupti_failed(session->cupti, code, session->called, reason);
    if (decode.numOfRangeDropped == 0)
        return COUNTER_OK;
    snprintf(reason, CUPTI_REASON_BYTES, "CUPTI dropped %zu ranges", decode.numOfRangeDropped);
    return COUNTER_UNAVAILABLE;
}

bool cupti_session_values(struct cupti_session *session, size_t range, struct counter_value *values)
{
    const bool evaluated =
        session->metric_count == 0 ||
        CUPTI_CALL(session->cupti->f.cuptiProfilerHostEvaluateToGpuValues,
                   CUpti_Profiler_Host_EvaluateToGpuValues, .pHostObject = session->chip.host,
                   .pCounterDataImage = session->counts.data,
                   .counterDataImageSize = session->counts.bytes, .rangeIndex = range,
                   .ppMetricNames = session->metrics, .numMetrics = session->metric_count,
                   .pMetricValues = session->metric_values) == CUPTI_SUCCESS;

    for (size_t i = 0; i < session->request.counters->count; i++) {
        const struct session_counter *counter = &session->counters[i];
        const double read = evaluated ? session->metric_values[counter->slot] : NAN,
                     whole = round(read);
        /* CUPTI evaluates a metric in floating point from counts of several units, so 1600000
         * may come as 1600000.0000000002. A value that close to a whole number is taken as that
         * number. */
        const double value = fabs(read - whole) <= 1e-12 * fabs(whole) ? whole : read;
        struct counter_value *out = &values[i];

        out->metric = counter->metric;
        out->status = counter->status;
        out->reason = counter->reason;
        out->value = counter->status == COUNTER_OK ? value : NAN;
        if (counter->status == COUNTER_OK && isnan(read)) {
            out->status = COUNTER_UNAVAILABLE;
            out->reason = "the hardware gave no value (MIG or vGPU shares this unit)";
        }
    }
    return evaluated;
}
