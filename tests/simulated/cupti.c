/* SPDX-License-Identifier: MIT
 * CUPTI: chips and their metrics, and counting. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cupti_activity.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include "counting.h"

enum {
    CONFIG_BYTES = 256,
    AVAILABILITY_BYTES = 128,
    CONFIG_MARK = 0x5C,
    BASES_MAX = 64,
    BASE_BYTES = 128,
    PASSES = 2
};

/* The start of every struct of parameters. */
#define CHECK(type, parameters)                         \
    if ((parameters)->structSize != type##_STRUCT_SIZE) \
    return CUPTI_ERROR_INVALID_PARAMETER

/* A stub that answers with the error `fails`; where that is 0, it does what follows. */
#define CUPTI(name, type, fails, ...)           \
    CUptiResult name(type##_Params *parameters) \
    {                                           \
        ENTER(name);                            \
        CHECK(type##_Params, parameters);       \
        const CUptiResult failure = (fails);    \
        if (failure != CUPTI_SUCCESS)           \
            return failure;                     \
        __VA_ARGS__;                            \
        return CUPTI_SUCCESS;                   \
    }

CUptiResult cuptiGetVersion(uint32_t *version)
{
    ENTER(cuptiGetVersion);
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetErrorMessage(CUptiResult code, const char **text)
{
    ENTER_TEXT(cuptiGetErrorMessage);
    *text = error_text(API_CUPTI, (int)code);
    return CUPTI_SUCCESS;
}

/* -- chips ------------------------------------------------------------------------------------- */

struct chip_names {
    const char *name;
    size_t metric; /* of the alternatives that a counter has, this one at most */
};

static const struct chip_names chips[] = {{"GH100", 0}, {"GB202", 1}};

struct CUpti_Profiler_Host_Object {
    const struct chip_names *chip;
    char bases[BASES_MAX][BASE_BYTES];
    const char *names[BASES_MAX];
    size_t name_count, metric_count;
};

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *parameters)
{
    struct CUpti_Profiler_Host_Object *host = NULL;

    ENTER(cuptiProfilerHostInitialize);
    CHECK(CUpti_Profiler_Host_Initialize_Params, parameters);
    for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
        if (strcmp(chips[i].name, parameters->pChipName) == 0 &&
            (host = object_open(OBJECT_HOST, sizeof(*host))))
            host->chip = &chips[i];
    if (!host)
        return CUPTI_ERROR_INVALID_CHIP_NAME;
    for (size_t i = 0; i < counting_count() && i < BASES_MAX; i++) {
        const char *const metric = counting_metric(i, host->chip->metric);

        memcpy(host->bases[i], metric, strcspn(metric, "."));
        host->names[host->name_count++] = host->bases[i];
    }
    parameters->pHostObject = host;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *parameters)
{
    ENTER_RELEASE(cuptiProfilerHostDeinitialize);
    CHECK(CUpti_Profiler_Host_Deinitialize_Params, parameters);
    object_close(parameters->pHostObject, true);
    return (CUptiResult)entered;
}

CUptiResult
cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params *parameters)
{
    static const char *names[sizeof(chips) / sizeof(chips[0])];

    ENTER(cuptiProfilerHostGetSupportedChips);
    CHECK(CUpti_Profiler_Host_GetSupportedChips_Params, parameters);
    for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
        names[i] = chips[i].name;
    parameters->ppChipNames = names;
    parameters->numChips = sizeof(chips) / sizeof(chips[0]);
    return CUPTI_SUCCESS;
}

CUPTI(cuptiProfilerHostGetBaseMetrics, CUpti_Profiler_Host_GetBaseMetrics, 0,
      parameters->ppMetricNames = parameters->pHostObject->names;
      parameters->numMetrics = parameters->metricType == CUPTI_METRIC_TYPE_COUNTER
                                   ? parameters->pHostObject->name_count
                                   : 0)

/* All or none. */
CUptiResult
cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *parameters)
{
    ENTER(cuptiProfilerHostConfigAddMetrics);
    CHECK(CUpti_Profiler_Host_ConfigAddMetrics_Params, parameters);
    for (size_t i = 0; i < parameters->numMetrics; i++)
        if (counting_row(parameters->ppMetricNames[i]) == counting_count() ||
            strcmp(parameters->ppMetricNames[i], settings.refuse) == 0)
            return CUPTI_ERROR_INVALID_METRIC_NAME;
    parameters->pHostObject->metric_count += parameters->numMetrics;
    return CUPTI_SUCCESS;
}

CUPTI(cuptiProfilerHostGetConfigImageSize, CUpti_Profiler_Host_GetConfigImageSize, 0,
      parameters->configImageSize = CONFIG_BYTES)
CUPTI(cuptiProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage,
      (parameters->configImageSize != CONFIG_BYTES || parameters->pHostObject->metric_count == 0)
          ? CUPTI_ERROR_INVALID_PARAMETER
          : 0,
      memset(parameters->pConfigImage, CONFIG_MARK, CONFIG_BYTES))

/* -- what is counted --------------------------------------------------------------------------- */

/* The image that holds counts: a line of counting_count() for each range, behind how many there
 * are. */
struct counts {
    uint64_t ranges;
    double values[];
};

static size_t counts_bytes(size_t ranges)
{
    return sizeof(struct counts) + ranges * counting_count() * sizeof(double);
}

CUptiResult
cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *parameters)
{
    const struct counts *counts;

    ENTER(cuptiProfilerHostEvaluateToGpuValues);
    CHECK(CUpti_Profiler_Host_EvaluateToGpuValues_Params, parameters);
    counts = (const void *)parameters->pCounterDataImage;
    if (parameters->rangeIndex >= counts->ranges ||
        parameters->counterDataImageSize < counts_bytes(counts->ranges))
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < parameters->numMetrics; i++) {
        const size_t row = counting_row(parameters->ppMetricNames[i]);

        if (row == counting_count())
            return CUPTI_ERROR_INVALID_METRIC_NAME;
        parameters->pMetricValues[i] =
            counts->values[parameters->rangeIndex * counting_count() + row];
    }
    return CUPTI_SUCCESS;
}

/* -- the device -------------------------------------------------------------------------------- */

CUPTI(cuptiProfilerInitialize, CUpti_Profiler_Initialize, 0, )
CUPTI(cuptiProfilerDeInitialize, CUpti_Profiler_DeInitialize, 0, )
CUPTI(cuptiDeviceGetChipName, CUpti_Device_GetChipName,
      parameters->deviceIndex >= (size_t)settings.devices ? CUPTI_ERROR_INVALID_DEVICE : 0,
      parameters->pChipName = chips[0].name)

CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *parameters)
{
    const struct {
        const char *word;
        CUpti_Profiler_Support_Level *level, value;
    } rows[] = {
        {"architecture", &parameters->architecture, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED},
        {"sli", &parameters->sli, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED},
        {"vgpu", &parameters->vGpu, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED},
        {"vgpu_disabled", &parameters->vGpu, CUPTI_PROFILER_CONFIGURATION_DISABLED},
        {"confidential", &parameters->confidentialCompute,
         CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED},
        {"cmp", &parameters->cmp, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED},
        {"wsl", &parameters->wsl, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED},
    };

    ENTER(cuptiProfilerDeviceSupported);
    CHECK(CUpti_Profiler_DeviceSupported_Params, parameters);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        *rows[i].level = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(settings.unsupported, rows[i].word) == 0)
            *rows[i].level = rows[i].value;
    return CUPTI_SUCCESS;
}

/* Where a lack of permission shows. */
CUptiResult
cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params *parameters)
{
    ENTER(cuptiProfilerGetCounterAvailability);
    CHECK(CUpti_Profiler_GetCounterAvailability_Params, parameters);
    if (settings.deny_counters || settings.unsupported[0])
        return settings.deny_counters ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
                                      : CUPTI_ERROR_NOT_SUPPORTED;
    parameters->counterAvailabilityImageSize = AVAILABILITY_BYTES;
    if (parameters->pCounterAvailabilityImage)
        memset(parameters->pCounterAvailabilityImage, 1, AVAILABILITY_BYTES);
    return CUPTI_SUCCESS;
}

/* -- ranges ------------------------------------------------------------------------------------ */

struct CUpti_RangeProfiler_Object {
    struct device *device;
    struct counts *image; /* the program's; NULL until it is set */
    double *values; /* as in the image, before they are decoded */
    size_t ranges_max, range, pass;
    bool started, open;
};

static struct CUpti_RangeProfiler_Object profiler; /* one at a time */

bool counting_open(const struct device *device)
{
    return profiler.open && profiler.device == device;
}

void counting_launched(struct device *device, const struct launch *launch, double cycles)
{
    double counted[BASES_MAX] = {0}, *values;

    if (!counting_open(device))
        return;
    counting_add(launch, cycles, counted);
    values = profiler.values + profiler.range * counting_count();
    for (size_t i = 0; i < counting_count(); i++)
        if (i % PASSES == profiler.pass)
            values[i] = (isnan(values[i]) ? 0 : values[i]) + counted[i];
}

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *parameters)
{
    ENTER(cuptiRangeProfilerEnable);
    CHECK(CUpti_RangeProfiler_Enable_Params, parameters);
    if (profiler.device)
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    profiler = (struct CUpti_RangeProfiler_Object){.device = device_current()};
    parameters->pRangeProfilerObject = &profiler;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *parameters)
{
    ENTER_RELEASE(cuptiRangeProfilerDisable);
    CHECK(CUpti_RangeProfiler_Disable_Params, parameters);
    free(profiler.values);
    profiler = (struct CUpti_RangeProfiler_Object){0};
    return (CUptiResult)entered;
}

CUPTI(cuptiRangeProfilerGetCounterDataSize, CUpti_RangeProfiler_GetCounterDataSize, 0,
      parameters->counterDataSize = counts_bytes(parameters->maxNumOfRanges))
CUPTI(cuptiRangeProfilerCounterDataImageInitialize, CUpti_RangeProfiler_CounterDataImage_Initialize,
      0, memset(parameters->pCounterData, 0, parameters->counterDataSize))

CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *parameters)
{
    const size_t values = parameters->maxRangesPerPass * counting_count();

    ENTER(cuptiRangeProfilerSetConfig);
    CHECK(CUpti_RangeProfiler_SetConfig_Params, parameters);
    if (!profiler.device || parameters->configSize != CONFIG_BYTES ||
        parameters->pConfig[0] != CONFIG_MARK ||
        parameters->counterDataImageSize < counts_bytes(parameters->maxRangesPerPass))
        return CUPTI_ERROR_INVALID_PARAMETER;
    free(profiler.values);
    profiler.values = malloc(values * sizeof(double));
    if (!profiler.values)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < values; i++)
        profiler.values[i] = NAN;
    profiler.image = (void *)parameters->pCounterDataImage;
    profiler.ranges_max = parameters->maxRangesPerPass;
    profiler.pass = parameters->passIndex;
    return CUPTI_SUCCESS;
}

CUPTI(cuptiRangeProfilerStart, CUpti_RangeProfiler_Start,
      (!profiler.image || profiler.started) ? CUPTI_ERROR_INVALID_OPERATION : 0,
      profiler.started = true;
      profiler.range = 0)
CUPTI(cuptiRangeProfilerStop, CUpti_RangeProfiler_Stop,
      (!profiler.started || profiler.open) ? CUPTI_ERROR_INVALID_OPERATION : 0,
      profiler.started = false;
      parameters->isAllPassSubmitted = ++profiler.pass >= PASSES)
CUPTI(cuptiRangeProfilerPushRange, CUpti_RangeProfiler_PushRange,
      (!profiler.started || profiler.open || profiler.range >= profiler.ranges_max)
          ? CUPTI_ERROR_INVALID_OPERATION
          : 0,
      profiler.open = true)
CUPTI(cuptiRangeProfilerPopRange, CUpti_RangeProfiler_PopRange,
      !profiler.open ? CUPTI_ERROR_INVALID_OPERATION : 0, profiler.open = false;
      profiler.range++)
CUPTI(cuptiRangeProfilerDecodeData, CUpti_RangeProfiler_DecodeData,
      (!profiler.image || profiler.pass < PASSES) ? CUPTI_ERROR_INVALID_OPERATION : 0,
      profiler.image->ranges = profiler.range;
      memcpy(profiler.image->values, profiler.values,
             profiler.range *counting_count() * sizeof(double));
      parameters->numOfRangeDropped = 0)

/* -- activity ---------------------------------------------------------------------------------- */

enum { KERNELS_MAX = 16 };

static struct {
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    CUpti_ActivityKernel10 kernels[KERNELS_MAX];
    size_t count;
    CUpti_ActivityKind kind; /* that is enabled */
} activity;

void activity_launched(double start_ns, double end_ns)
{
    const double tick_ns = settings.activity_tick > 0 ? settings.activity_tick : 1;

    /* As on an H200, where one kind of record makes kernels slower. */
    if (activity.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
        end_ns += 0.06 * (end_ns - start_ns);
    if (activity.kind && activity.count < KERNELS_MAX)
        activity.kernels[activity.count++] = (CUpti_ActivityKernel10){
            .kind = activity.kind,
            .start = (uint64_t)(tick_ns * (1 + floor(start_ns / tick_ns))),
            .end = (uint64_t)(tick_ns * (1 + floor(end_ns / tick_ns))),
        };
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete)
{
    ENTER(cuptiActivityRegisterCallbacks);
    activity.request = request;
    activity.complete = complete;
    return CUPTI_SUCCESS;
}

/* Not while counters are reserved. */
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    ENTER(cuptiActivityEnable);
    if (profiler.device || !activity.request ||
        (kind != CUPTI_ACTIVITY_KIND_KERNEL && kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
        return CUPTI_ERROR_NOT_COMPATIBLE;
    activity.kind = kind;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    ENTER_RELEASE(cuptiActivityDisable);
    activity.kind = CUPTI_ACTIVITY_KIND_INVALID;
    return (CUptiResult)entered;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    uint8_t *buffer = NULL;
    size_t bytes = 0, records_max = 0, count;

    ENTER(cuptiActivityFlushAll);
    if (activity.count == 0)
        return CUPTI_SUCCESS;
    activity.request(&buffer, &bytes, &records_max);
    for (count = 0; count < activity.count && (count + 1) * sizeof(*activity.kernels) <= bytes;
         count++)
        memcpy(buffer + count * sizeof(*activity.kernels), &activity.kernels[count],
               sizeof(*activity.kernels));
    activity.count = 0;
    entry_unlock(); /* it asks for the records */
    activity.complete(NULL, 0, buffer, bytes, count * sizeof(*activity.kernels));
    entry_lock();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record)
{
    void *next = *record ? (uint8_t *)*record + sizeof(CUpti_ActivityKernel10) : buffer;

    ENTER_TEXT(cuptiActivityGetNextRecord);
    if ((uint8_t *)next >= buffer + valid_bytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = next;
    return CUPTI_SUCCESS;
}
