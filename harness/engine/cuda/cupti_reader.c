/* SPDX-License-Identifier: MIT */
#include "cupti_reader.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include "library.h"

#ifndef CBANK_CUDA_FOLDER
#define CBANK_CUDA_FOLDER "/usr/local/cuda"
#endif

/* -- the libraries ------------------------------------------------------------------------------------ */

/* Every CUPTI function that is used. */
#define CUPTI_FUNCTIONS(F)                          \
    F(cuptiGetVersion)                              \
    F(cuptiGetErrorMessage)                         \
    F(cuptiProfilerInitialize)                      \
    F(cuptiProfilerDeInitialize)                    \
    F(cuptiProfilerGetCounterAvailability)          \
    F(cuptiDeviceGetChipName)                       \
    F(cuptiProfilerHostInitialize)                  \
    F(cuptiProfilerHostDeinitialize)                \
    F(cuptiProfilerHostGetSupportedChips)           \
    F(cuptiProfilerHostGetBaseMetrics)              \
    F(cuptiProfilerHostConfigAddMetrics)            \
    F(cuptiProfilerHostGetConfigImageSize)          \
    F(cuptiProfilerHostGetConfigImage)              \
    F(cuptiProfilerHostGetNumOfPasses)              \
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
    F(cuptiRangeProfilerGetCounterDataInfo)

struct cupti_functions {
#define MEMBER(name) __typeof__(name) *name;
    CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
};

static const struct library_symbol cupti_symbols[] = {
#define SYMBOL(name) {#name, offsetof(struct cupti_functions, name)},
    CUPTI_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

enum { SYMBOL_COUNT = sizeof(cupti_symbols) / sizeof(cupti_symbols[0]), FOLDER_BYTES = 512 };

struct cupti {
    void *perf; /* libnvperf_host: opened first, since libcupti looks for it by bare name */
    void *library;
    struct cupti_functions f;
    char folder[FOLDER_BYTES];
};

/* A place to look: an environment variable's value or a fixed folder, and what comes below it. */
struct place {
    const char *variable, *folder, *below;
};

static const struct place places[] = {
    {.variable = "CBANK_CUPTI_DIR", .below = ""},
    {.variable = "CUDA_HOME", .below = "/lib64"},
    {.variable = "CUDA_HOME", .below = "/extras/CUPTI/lib64"},
    {.variable = "CUDA_PATH", .below = "/lib64"},
    {.variable = "CUDA_PATH", .below = "/extras/CUPTI/lib64"},
    {.folder = CBANK_CUDA_FOLDER, .below = "/lib64"},
    {.folder = CBANK_CUDA_FOLDER, .below = "/extras/CUPTI/lib64"},
    {.folder = "/usr/local/cuda", .below = "/lib64"},
    {.folder = "/usr/local/cuda", .below = "/extras/CUPTI/lib64"},
    {.folder = "", .below = ""}, /* the loader's path */
};

static const char *const library_names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

/* RTLD_NODELETE: once it has profiled, CUPTI's hooks stay in the driver, and unloading it would crash the
 * next CUDA call. */
static void *open_in(const char *folder, const char *name, int flags)
{
    char path[FOLDER_BYTES + 64];

    snprintf(path, sizeof(path), "%s%s%s", folder, folder[0] ? "/" : "", name);
    return dlopen(path, RTLD_NOW | RTLD_NODELETE | flags);
}

/* Opens the pair that lies in one folder. */
static bool open_pair(struct cupti *cupti, const char *folder)
{
    cupti->perf = open_in(folder, "libnvperf_host.so", RTLD_GLOBAL);
    for (size_t i = 0; !cupti->library && i < sizeof(library_names) / sizeof(library_names[0]); i++)
        cupti->library = open_in(folder, library_names[i], RTLD_LOCAL);
    if (cupti->library)
        snprintf(cupti->folder, sizeof(cupti->folder), "%s", folder);
    else if (cupti->perf) {
        dlclose(cupti->perf);
        cupti->perf = NULL;
    }
    return cupti->library != NULL;
}

static bool open_place(struct cupti *cupti, const struct place *place)
{
    const char *root = place->variable ? getenv(place->variable) : place->folder;
    char folder[FOLDER_BYTES];

    if (!root || (place->variable && !root[0]))
        return false;
    return snprintf(folder, sizeof(folder), "%s%s", root, place->below) < FOLDER_BYTES && open_pair(cupti, folder);
}

/* Looks in the places in turn; in the first alone where the user names it. */
static void open_libraries(struct cupti *cupti)
{
    const char *named = getenv(places[0].variable);

    for (size_t i = 0; !cupti->library && i < sizeof(places) / sizeof(places[0]); i++) {
        open_place(cupti, &places[i]);
        if (named && named[0])
            return;
    }
}

enum counter_status cupti_open(struct cupti **out, char reason[CUPTI_REASON_BYTES])
{
    struct cupti *cupti = calloc(1, sizeof(*cupti));
    const char *missing = "";

    if (cupti)
        open_libraries(cupti);
    if (!cupti || !cupti->library) {
        snprintf(reason, CUPTI_REASON_BYTES,
                 "libcupti not found; install the CUDA toolkit's CUPTI, or name its folder "
                 "in CBANK_CUPTI_DIR");
    } else if (!library_bind(cupti->library, cupti_symbols, SYMBOL_COUNT, &cupti->f, &missing)) {
        snprintf(reason, CUPTI_REASON_BYTES, "libcupti in %.100s has no %s; CUDA 12.6 update 2 or later is needed",
                 cupti->folder[0] ? cupti->folder : "the loader's path", missing);
    } else {
        *out = cupti;
        return COUNTER_OK;
    }
    cupti_close(cupti);
    return COUNTER_UNAVAILABLE;
}

void cupti_close(struct cupti *cupti)
{
    if (!cupti)
        return;
    if (cupti->library)
        dlclose(cupti->library);
    if (cupti->perf)
        dlclose(cupti->perf);
    free(cupti);
}

uint32_t cupti_version(const struct cupti *cupti)
{
    uint32_t version = 0;

    cupti->f.cuptiGetVersion(&version);
    return version;
}

const char *cupti_folder(const struct cupti *cupti)
{
    return cupti->folder;
}

/* -- errors ------------------------------------------------------------------------------------------- */

/* What an error of CUPTI means for the counters, and what to do about it. */
struct cupti_error {
    CUptiResult code;
    enum counter_status status;
    const char *remedy;
};

static const struct cupti_error cupti_errors[] = {
    {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, COUNTER_NO_PERMISSION,
     "run as root or with CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, COUNTER_NO_PERMISSION,
     "the host must enable profiling for this vGPU"},
    {CUPTI_ERROR_NOT_INITIALIZED, COUNTER_UNAVAILABLE, "libnvperf_host.so was not found beside libcupti"},
    {CUPTI_ERROR_HARDWARE_BUSY, COUNTER_UNAVAILABLE, "another profiler (ncu, nsys, DCGM) holds the counters"},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, COUNTER_UNAVAILABLE,
     "another profiler or sanitizer holds the counters"},
    {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, COUNTER_UNAVAILABLE, "turn confidential computing off"},
    {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, COUNTER_UNAVAILABLE, "use a device without MIG"},
};

static enum counter_status cupti_failed(const struct cupti *cupti, CUptiResult code, const char *function,
                                        char reason[CUPTI_REASON_BYTES])
{
    const char *message = NULL;

    cupti->f.cuptiGetErrorMessage(code, &message);
    for (size_t i = 0; i < sizeof(cupti_errors) / sizeof(cupti_errors[0]); i++)
        if (cupti_errors[i].code == code) {
            snprintf(reason, CUPTI_REASON_BYTES, "%s: error %d; %s", function, (int)code, cupti_errors[i].remedy);
            return cupti_errors[i].status;
        }
    snprintf(reason, CUPTI_REASON_BYTES, "%s: error %d, %s", function, (int)code, message ? message : "no message");
    return COUNTER_UNAVAILABLE;
}

/* Calls one function with a parameter struct initialised by its designators. */
#define CUPTI_PARAMETERS(type, ...)                          \
    (type##_Params)                                          \
    {                                                        \
        .structSize = type##_Params_STRUCT_SIZE, __VA_ARGS__ \
    }

/* -- chips -------------------------------------------------------------------------------------------- */

struct cupti_chip {
    const struct cupti *cupti;
    CUpti_Profiler_Host_Object *host;
    const char **names; /* owned, sorted array of base metrics; the strings are CUPTI's */
    size_t name_count;
};

bool cupti_each_chip(const struct cupti *cupti, void (*each)(void *context, const char *chip), void *context)
{
    CUpti_Profiler_Host_GetSupportedChips_Params chips =
        CUPTI_PARAMETERS(CUpti_Profiler_Host_GetSupportedChips, .pPriv = NULL);

    if (cupti->f.cuptiProfilerHostGetSupportedChips(&chips) != CUPTI_SUCCESS)
        return false;
    for (size_t i = 0; i < chips.numChips; i++)
        each(context, chips.ppChipNames[i]);
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Appends the base metrics of one type. */
static CUptiResult chip_add_names(struct cupti_chip *chip, CUpti_MetricType type)
{
    CUpti_Profiler_Host_GetBaseMetrics_Params base =
        CUPTI_PARAMETERS(CUpti_Profiler_Host_GetBaseMetrics, .pHostObject = chip->host, .metricType = type);
    const CUptiResult code = chip->cupti->f.cuptiProfilerHostGetBaseMetrics(&base);

    if (code != CUPTI_SUCCESS || base.numMetrics == 0)
        return code;

    const char **names = realloc(chip->names, (chip->name_count + base.numMetrics) * sizeof(*names));

    if (!names)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    memcpy(names + chip->name_count, base.ppMetricNames, base.numMetrics * sizeof(*names));
    chip->names = names;
    chip->name_count += base.numMetrics;
    return CUPTI_SUCCESS;
}

struct cupti_chip *cupti_chip_open(const struct cupti *cupti, const char *name, const uint8_t *availability,
                                   char reason[CUPTI_REASON_BYTES])
{
    static const CUpti_MetricType types[] = {CUPTI_METRIC_TYPE_COUNTER, CUPTI_METRIC_TYPE_RATIO,
                                             CUPTI_METRIC_TYPE_THROUGHPUT};
    struct cupti_chip *chip = calloc(1, sizeof(*chip));
    CUpti_Profiler_Host_Initialize_Params initialize =
        CUPTI_PARAMETERS(CUpti_Profiler_Host_Initialize, .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER,
                         .pChipName = name, .pCounterAvailabilityImage = availability);
    CUptiResult code = CUPTI_ERROR_OUT_OF_MEMORY;

    if (!chip)
        return NULL;
    chip->cupti = cupti;
    code = cupti->f.cuptiProfilerHostInitialize(&initialize);
    chip->host = initialize.pHostObject;
    for (size_t i = 0; code == CUPTI_SUCCESS && i < sizeof(types) / sizeof(types[0]); i++)
        code = chip_add_names(chip, types[i]);
    if (code == CUPTI_SUCCESS) {
        qsort(chip->names, chip->name_count, sizeof(*chip->names), compare_names);
        return chip;
    }
    cupti_failed(cupti, code, "cuptiProfilerHostInitialize", reason);
    cupti_chip_close(chip);
    return NULL;
}

void cupti_chip_close(struct cupti_chip *chip)
{
    if (!chip)
        return;
    if (chip->host) {
        CUpti_Profiler_Host_Deinitialize_Params deinitialize =
            CUPTI_PARAMETERS(CUpti_Profiler_Host_Deinitialize, .pHostObject = chip->host);

        chip->cupti->f.cuptiProfilerHostDeinitialize(&deinitialize);
    }
    free(chip->names);
    free(chip);
}

bool cupti_chip_has(const struct cupti_chip *chip, const char *metric, const char **reason)
{
    char base[256];
    const char *key = base;

    snprintf(base, sizeof(base), "%.*s", (int)strcspn(metric, "."), metric);
    if (!bsearch(&key, chip->names, chip->name_count, sizeof(*chip->names), compare_names)) {
        *reason = "this chip has no such metric";
        return false;
    }
    if (!strchr(metric, '.')) {
        *reason = "the metric needs a rollup, such as .sum";
        return false;
    }
    return true;
}

/* -- sessions ----------------------------------------------------------------------------------------- */

/* What became of one counter of the set. */
struct session_counter {
    enum counter_status status;
    const char *metric; /* of the counter's row: the one chosen, or the last that was tried */
    size_t slot;        /* index among the collected metrics */
    const char *reason; /* static text; NULL when the status is ok */
};

struct cupti_session {
    const struct cupti *cupti;
    struct cupti_chip *chip;
    char chip_name[32];
    bool initialized;
    CUpti_RangeProfiler_Object *profiler;
    struct session_counter *counters; /* counter_count of them */
    size_t counter_count;
    const char **metrics;             /* collected, metric_count of them */
    double *metric_values;            /* room for as many */
    size_t metric_count;
    size_t ranges_max;
    size_t passes;
    uint8_t *availability, *config, *data; /* images, owned */
    size_t config_bytes, data_bytes;
};

/* Fills the name of the chip and the image of the counters that this device lets this user read. */
static CUptiResult session_availability(struct cupti_session *session, uint32_t device, CUcontext context)
{
    const struct cupti_functions *f = &session->cupti->f;
    CUpti_Device_GetChipName_Params chip = CUPTI_PARAMETERS(CUpti_Device_GetChipName, .deviceIndex = device);
    CUpti_Profiler_GetCounterAvailability_Params availability =
        CUPTI_PARAMETERS(CUpti_Profiler_GetCounterAvailability, .ctx = context);
    CUptiResult code = f->cuptiDeviceGetChipName(&chip);

    if (code != CUPTI_SUCCESS)
        return code;
    snprintf(session->chip_name, sizeof(session->chip_name), "%s", chip.pChipName);
    code = f->cuptiProfilerGetCounterAvailability(&availability);
    if (code != CUPTI_SUCCESS)
        return code;
    session->availability = calloc(1, availability.counterAvailabilityImageSize);
    if (!session->availability)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    availability.pCounterAvailabilityImage = session->availability;
    return f->cuptiProfilerGetCounterAvailability(&availability);
}

/* Chooses the metric of one counter: the first that the chip knows. */
static void session_choose_metric(struct cupti_session *session, const struct counter *counter,
                                  struct session_counter *out)
{
    out->status = COUNTER_UNSUPPORTED;
    for (size_t i = 0; i < COUNTER_METRICS_MAX && counter->metrics[i]; i++) {
        out->metric = counter->metrics[i];
        if (cupti_chip_has(session->chip, out->metric, &out->reason)) {
            out->status = COUNTER_OK;
            out->reason = NULL;
            return;
        }
    }
}

static CUptiResult add_metrics(const struct cupti_chip *chip, const char **metrics, size_t count)
{
    CUpti_Profiler_Host_ConfigAddMetrics_Params add =
        CUPTI_PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics, .pHostObject = chip->host, .ppMetricNames = metrics,
                         .numMetrics = count);

    return chip->cupti->f.cuptiProfilerHostConfigAddMetrics(&add);
}

/* Adds the metrics of all counters that are still ok in one call: CUPTI packs the metrics of one call into
 * as few passes as it can, and gives each call passes of its own. */
static CUptiResult session_add_metrics(struct cupti_session *session)
{
    session->metric_count = 0;
    for (size_t i = 0; i < session->counter_count; i++) {
        struct session_counter *counter = &session->counters[i];

        if (counter->status != COUNTER_OK)
            continue;
        counter->slot = session->metric_count;
        session->metrics[session->metric_count++] = counter->metric;
    }
    return session->metric_count > 0 ? add_metrics(session->chip, session->metrics, session->metric_count)
                                     : CUPTI_SUCCESS;
}

/* CUPTI takes all metrics of a call or none. After a refusal this finds which it does not take, each tried
 * with a host object of its own, and leaves the session with a fresh one. */
static void session_drop_refused(struct cupti_session *session, char reason[CUPTI_REASON_BYTES])
{
    for (size_t i = 0; i < session->counter_count; i++) {
        struct session_counter *counter = &session->counters[i];
        struct cupti_chip *chip = cupti_chip_open(session->cupti, session->chip_name, session->availability, reason);

        if (counter->status == COUNTER_OK && (!chip || add_metrics(chip, &counter->metric, 1) != CUPTI_SUCCESS)) {
            counter->status = COUNTER_UNSUPPORTED;
            counter->reason = "CUPTI does not take the metric on this device";
        }
        cupti_chip_close(chip);
    }
    cupti_chip_close(session->chip);
    session->chip = cupti_chip_open(session->cupti, session->chip_name, session->availability, reason);
}

/* Chooses and configures the metrics of a set. */
static CUptiResult session_choose(struct cupti_session *session, const struct counter_set *set,
                                  char reason[CUPTI_REASON_BYTES])
{
    for (size_t i = 0; i < set->count; i++)
        session_choose_metric(session, &set->counters[i], &session->counters[i]);
    if (session_add_metrics(session) == CUPTI_SUCCESS)
        return CUPTI_SUCCESS;
    session_drop_refused(session, reason);
    return session->chip ? session_add_metrics(session) : CUPTI_ERROR_INVALID_CHIP_NAME;
}

/* The configuration image of the chosen metrics, and how many passes it takes. */
static CUptiResult session_configure(struct cupti_session *session)
{
    const struct cupti_functions *f = &session->cupti->f;
    CUpti_Profiler_Host_GetConfigImageSize_Params size =
        CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize, .pHostObject = session->chip->host);
    CUptiResult code = f->cuptiProfilerHostGetConfigImageSize(&size);

    if (code != CUPTI_SUCCESS)
        return code;
    session->config_bytes = size.configImageSize;
    session->config = calloc(1, session->config_bytes);
    if (!session->config)
        return CUPTI_ERROR_OUT_OF_MEMORY;

    CUpti_Profiler_Host_GetConfigImage_Params image =
        CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImage, .pHostObject = session->chip->host,
                         .configImageSize = session->config_bytes, .pConfigImage = session->config);
    CUpti_Profiler_Host_GetNumOfPasses_Params passes =
        CUPTI_PARAMETERS(CUpti_Profiler_Host_GetNumOfPasses, .configImageSize = session->config_bytes,
                         .pConfigImage = session->config);

    code = f->cuptiProfilerHostGetConfigImage(&image);
    if (code == CUPTI_SUCCESS)
        code = f->cuptiProfilerHostGetNumOfPasses(&passes);
    session->passes = passes.numOfPasses;
    return code;
}

/* Takes hold of the device's counters and makes room for their data. */
static CUptiResult session_enable(struct cupti_session *session, CUcontext context)
{
    const struct cupti_functions *f = &session->cupti->f;
    CUpti_RangeProfiler_Enable_Params enable = CUPTI_PARAMETERS(CUpti_RangeProfiler_Enable, .ctx = context);
    CUptiResult code = f->cuptiRangeProfilerEnable(&enable);

    if (code != CUPTI_SUCCESS)
        return code;
    session->profiler = enable.pRangeProfilerObject;

    CUpti_RangeProfiler_GetCounterDataSize_Params size =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_GetCounterDataSize, .pRangeProfilerObject = session->profiler,
                         .pMetricNames = session->metrics, .numMetrics = session->metric_count,
                         .maxNumOfRanges = session->ranges_max, .maxNumRangeTreeNodes = (uint32_t)session->ranges_max);

    code = f->cuptiRangeProfilerGetCounterDataSize(&size);
    if (code != CUPTI_SUCCESS)
        return code;
    session->data_bytes = size.counterDataSize;
    session->data = calloc(1, session->data_bytes);
    return session->data ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

static CUptiResult session_set_up(struct cupti_session *session, uint32_t device, CUcontext context,
                                  const struct counter_set *set, char reason[CUPTI_REASON_BYTES], const char **step)
{
    CUpti_Profiler_Initialize_Params initialize = CUPTI_PARAMETERS(CUpti_Profiler_Initialize, .pPriv = NULL);
    CUptiResult code;

    *step = "cuptiProfilerInitialize";
    code = session->cupti->f.cuptiProfilerInitialize(&initialize);
    if (code != CUPTI_SUCCESS)
        return code;
    session->initialized = true;
    *step = "cuptiProfilerGetCounterAvailability";
    code = session_availability(session, device, context);
    if (code != CUPTI_SUCCESS)
        return code;
    *step = "cuptiProfilerHostInitialize";
    session->chip = cupti_chip_open(session->cupti, session->chip_name, session->availability, reason);
    if (!session->chip)
        return CUPTI_ERROR_INVALID_CHIP_NAME;
    *step = "cuptiProfilerHostConfigAddMetrics";
    code = session_choose(session, set, reason);
    if (code != CUPTI_SUCCESS || session->metric_count == 0)
        return code;
    *step = "cuptiProfilerHostGetConfigImage";
    code = session_configure(session);
    if (code != CUPTI_SUCCESS)
        return code;
    *step = "cuptiRangeProfilerEnable";
    return session_enable(session, context);
}

enum counter_status cupti_session_open(const struct cupti *cupti, uint32_t device, void *cuda_context,
                                       const struct counter_set *set, size_t ranges_max, struct cupti_session **out,
                                       char reason[CUPTI_REASON_BYTES])
{
    struct cupti_session *session = calloc(1, sizeof(*session));
    const char *step = "";
    CUptiResult code = CUPTI_ERROR_OUT_OF_MEMORY;

    if (session) {
        session->cupti = cupti;
        session->ranges_max = ranges_max;
        session->counter_count = set->count;
        session->counters = calloc(set->count + 1, sizeof(*session->counters));
        session->metrics = calloc(set->count + 1, sizeof(*session->metrics));
        session->metric_values = calloc(set->count + 1, sizeof(*session->metric_values));
        if (session->counters && session->metrics && session->metric_values)
            code = session_set_up(session, device, cuda_context, set, reason, &step);
    }
    if (code == CUPTI_SUCCESS) {
        *out = session;
        return COUNTER_OK;
    }

    const enum counter_status status = cupti_failed(cupti, code, step, reason);

    cupti_session_close(session);
    return status;
}

void cupti_session_close(struct cupti_session *session)
{
    if (!session)
        return;
    if (session->profiler) {
        CUpti_RangeProfiler_Disable_Params disable =
            CUPTI_PARAMETERS(CUpti_RangeProfiler_Disable, .pRangeProfilerObject = session->profiler);

        session->cupti->f.cuptiRangeProfilerDisable(&disable);
    }
    cupti_chip_close(session->chip);
    if (session->initialized) {
        CUpti_Profiler_DeInitialize_Params deinitialize = CUPTI_PARAMETERS(CUpti_Profiler_DeInitialize, .pPriv = NULL);

        session->cupti->f.cuptiProfilerDeInitialize(&deinitialize);
    }
    free(session->counters);
    free(session->metrics);
    free(session->metric_values);
    free(session->availability);
    free(session->config);
    free(session->data);
    free(session);
}

const char *cupti_session_chip(const struct cupti_session *session)
{
    return session->chip_name;
}

size_t cupti_session_passes(const struct cupti_session *session)
{
    return session->passes;
}

enum counter_status cupti_session_counter(const struct cupti_session *session, size_t i, const char **metric,
                                          const char **reason)
{
    const struct session_counter *counter = &session->counters[i];

    *metric = counter->metric;
    *reason = counter->reason;
    return counter->status;
}

/* -- collecting --------------------------------------------------------------------------------------- */

static CUptiResult collect_begin(struct cupti_session *session)
{
    const struct cupti_functions *f = &session->cupti->f;
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params initialize =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_CounterDataImage_Initialize, .pRangeProfilerObject = session->profiler,
                         .counterDataSize = session->data_bytes, .pCounterData = session->data);
    CUpti_RangeProfiler_SetConfig_Params set =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_SetConfig, .pRangeProfilerObject = session->profiler,
                         .configSize = session->config_bytes, .pConfig = session->config,
                         .counterDataImageSize = session->data_bytes, .pCounterDataImage = session->data,
                         .range = CUPTI_UserRange, .replayMode = CUPTI_UserReplay,
                         .maxRangesPerPass = session->ranges_max, .numNestingLevels = 1, .minNestingLevel = 1,
                         .passIndex = 0, .targetNestingLevel = 1);
    const CUptiResult code = f->cuptiRangeProfilerCounterDataImageInitialize(&initialize);

    return code == CUPTI_SUCCESS ? f->cuptiRangeProfilerSetConfig(&set) : code;
}

/* One range of one pass. */
static CUptiResult collect_range(struct cupti_session *session, const struct cupti_ranges *ranges, size_t i)
{
    const struct cupti_functions *f = &session->cupti->f;
    char name[32];
    CUpti_RangeProfiler_PushRange_Params push =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_PushRange, .pRangeProfilerObject = session->profiler, .pRangeName = name);
    CUpti_RangeProfiler_PopRange_Params pop =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_PopRange, .pRangeProfilerObject = session->profiler);
    CUptiResult code;

    snprintf(name, sizeof(name), "%zu", i);
    if (!ranges->prepare(ranges->context, i))
        return CUPTI_ERROR_INVALID_OPERATION;
    code = f->cuptiRangeProfilerPushRange(&push);
    if (code == CUPTI_SUCCESS && !ranges->launch(ranges->context, i))
        code = CUPTI_ERROR_INVALID_OPERATION;
    return code == CUPTI_SUCCESS ? f->cuptiRangeProfilerPopRange(&pop) : code;
}

/* One pass over all ranges; *submitted when it was the last. */
static CUptiResult collect_pass(struct cupti_session *session, const struct cupti_ranges *ranges, bool *submitted)
{
    const struct cupti_functions *f = &session->cupti->f;
    CUpti_RangeProfiler_Start_Params start =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_Start, .pRangeProfilerObject = session->profiler);
    CUpti_RangeProfiler_Stop_Params stop =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_Stop, .pRangeProfilerObject = session->profiler);
    CUptiResult code = f->cuptiRangeProfilerStart(&start);

    for (size_t i = 0; code == CUPTI_SUCCESS && i < ranges->count; i++)
        code = collect_range(session, ranges, i);
    if (code == CUPTI_SUCCESS)
        code = f->cuptiRangeProfilerStop(&stop);
    *submitted = stop.isAllPassSubmitted != 0;
    return code;
}

enum counter_status cupti_session_collect(struct cupti_session *session, const struct cupti_ranges *ranges,
                                          char reason[CUPTI_REASON_BYTES])
{
    const struct cupti_functions *f = &session->cupti->f;
    CUpti_RangeProfiler_DecodeData_Params decode =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_DecodeData, .pRangeProfilerObject = session->profiler);
    const char *step = "cuptiRangeProfilerSetConfig";
    bool submitted = false;
    CUptiResult code;

    if (session->metric_count == 0)
        return COUNTER_OK;
    code = collect_begin(session);
    while (code == CUPTI_SUCCESS && !submitted) {
        step = "counting pass";
        code = collect_pass(session, ranges, &submitted);
    }
    if (code == CUPTI_SUCCESS) {
        step = "cuptiRangeProfilerDecodeData";
        code = f->cuptiRangeProfilerDecodeData(&decode);
    }
    if (code != CUPTI_SUCCESS)
        return cupti_failed(session->cupti, code, step, reason);
    if (decode.numOfRangeDropped > 0) {
        snprintf(reason, CUPTI_REASON_BYTES, "CUPTI dropped %zu ranges", decode.numOfRangeDropped);
        return COUNTER_UNAVAILABLE;
    }
    return COUNTER_OK;
}

/* CUPTI evaluates a metric in floating point from counts of several units: 1600000 may come as
 * 1600000.0000000002. What is that near to a whole number is that number. */
static double without_rounding_error(double value)
{
    const double whole = round(value);

    return fabs(value - whole) <= 1e-12 * fabs(whole) ? whole : value;
}

bool cupti_session_values(struct cupti_session *session, size_t range, double *values)
{
    CUpti_Profiler_Host_EvaluateToGpuValues_Params evaluate =
        CUPTI_PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues, .pHostObject = session->chip->host,
                         .pCounterDataImage = session->data, .counterDataImageSize = session->data_bytes,
                         .rangeIndex = range, .ppMetricNames = session->metrics, .numMetrics = session->metric_count,
                         .pMetricValues = session->metric_values);
    const bool evaluated = session->metric_count == 0 ||
                           session->cupti->f.cuptiProfilerHostEvaluateToGpuValues(&evaluate) == CUPTI_SUCCESS;

    for (size_t i = 0; i < session->counter_count; i++) {
        const struct session_counter *counter = &session->counters[i];

        values[i] = evaluated && counter->status == COUNTER_OK
                        ? without_rounding_error(session->metric_values[counter->slot])
                        : NAN;
    }
    return evaluated;
}
