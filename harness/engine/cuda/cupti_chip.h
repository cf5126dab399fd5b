/* SPDX-License-Identifier: MIT
 * CUPTI's libraries, its errors, and the metrics of a chip. Only for the sources of cupti_reader.h:
 * includes vendor headers. */
#pragma once

#include <cupti_activity.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include "cupti_reader.h"

/* Every CUPTI function that is used. */
#define CUPTI_FUNCTIONS(F)                          \
    F(cuptiGetVersion)                              \
    F(cuptiGetErrorMessage)                         \
    F(cuptiProfilerInitialize)                      \
    F(cuptiProfilerDeInitialize)                    \
    F(cuptiProfilerDeviceSupported)                 \
    F(cuptiProfilerGetCounterAvailability)          \
    F(cuptiDeviceGetChipName)                       \
    F(cuptiProfilerHostInitialize)                  \
    F(cuptiProfilerHostDeinitialize)                \
    F(cuptiProfilerHostGetSupportedChips)           \
    F(cuptiProfilerHostGetBaseMetrics)              \
    F(cuptiProfilerHostConfigAddMetrics)            \
    F(cuptiProfilerHostGetConfigImageSize)          \
    F(cuptiProfilerHostGetConfigImage)              \
    F(cuptiProfilerHostEvaluateToGpuValues)         \
    F(cuptiRangeProfilerEnable)                     \
    F(cuptiRangeProfilerDisable)                    \
    F(cuptiRangeProfilerGetCounterDataSize)         \
    F(cuptiRangeProfilerCounterDataImageInitialize) \
    F(cuptiRangeProfilerSetConfig)                  \
    F(cuptiRangeProfilerStart)                      \
    F(cuptiRangeProfilerStop)                       \
    F(cuptiRangeProfilerPushRange)                  \
    F(cuptiRangeProfilerPopRange)                   \
    F(cuptiRangeProfilerDecodeData)                 \
    F(cuptiActivityRegisterCallbacks)               \
    F(cuptiActivityEnable)                          \
    F(cuptiActivityDisable)                         \
    F(cuptiActivityFlushAll)                        \
    F(cuptiActivityGetNextRecord)

struct cupti_functions {
#define MEMBER(name) __typeof__(name) *name;
    CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
};

enum { CUPTI_FOLDER_BYTES = 512 };

struct cupti {
    void *perf; /* libnvperf_host: opened first, since libcupti searches for it by its bare name */
    void *library;
    struct cupti_functions f;
    char folder[CUPTI_FOLDER_BYTES];
};

/* A parameter struct, from its designators; and a call with one that is not read afterwards. */
#define CUPTI_PARAMETERS(type, ...)                          \
    (type##_Params)                                          \
    {                                                        \
        .structSize = type##_Params_STRUCT_SIZE, __VA_ARGS__ \
    }
#define CUPTI_CALL(function, type, ...) (function)(&CUPTI_PARAMETERS(type, __VA_ARGS__))

/* The metrics of one chip. */
struct cupti_chip {
    const struct cupti *cupti;
    CUpti_Profiler_Host_Object *host;
    const char **names; /* owned, sorted array of base metrics; CUPTI owns the strings */
    size_t name_count;
};

/* The status that an error of the named function gives every counter, with the reason and the
 * remedy. */
enum counter_status cupti_failed(const struct cupti *cupti, CUptiResult code, const char *function,
                                 char reason[CUPTI_REASON_BYTES]);

/* Opens a chip by name ("GH100"). It needs no GPU. `availability` is the device's counter
 * availability image, or NULL. On success the caller closes it. */
CUptiResult cupti_chip_open(struct cupti_chip *chip, const struct cupti *cupti, const char *name,
                            const uint8_t *availability);

/* Accepts a zeroed struct. */
void cupti_chip_close(struct cupti_chip *chip);

/* Chooses the metric of a counter: the first whose base name the chip has and that names a rollup.
 * False if there is none; then *metric is the last one tried, and *reason is a static text. */
bool cupti_chip_choose(const struct cupti_chip *chip, const struct counter *counter,
                       const char **metric, const char **reason);
