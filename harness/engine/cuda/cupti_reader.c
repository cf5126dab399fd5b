/* SPDX-License-Identifier: MIT */
#include "cupti_reader.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include "library.h"

/* -- the libraries ------------------------------------------------------------------------------------- */

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
    F(cuptiRangeProfilerDecodeData)

struct cupti_functions {
#define MEMBER(name) __typeof__(name) *name;
    CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
};

enum { CUPTI_FOLDER_BYTES = 512 };

struct cupti {
    void *perf; /* libnvperf_host: opened first, since libcupti looks for it by bare name */
    void *library;
    struct cupti_functions f;
    char folder[CUPTI_FOLDER_BYTES];
};

/* A parameter struct, by its designators; and a call with one that nothing is read from afterwards. */
#define CUPTI_PARAMETERS(type, ...)                          \
    (type##_Params)                                          \
    {                                                        \
        .structSize = type##_Params_STRUCT_SIZE, __VA_ARGS__ \
    }
#define CUPTI_CALL(function, type, ...) (function)(&CUPTI_PARAMETERS(type, __VA_ARGS__))

#ifndef CBANK_CUDA_FOLDER
#define CBANK_CUDA_FOLDER "/usr/local/cuda"
#endif

static const struct library_symbol symbols[] = {
#define SYMBOL(name) {#name, offsetof(struct cupti_functions, name)},
    CUPTI_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

/* Where the libraries may be: below the value of an environment variable, or below a fixed folder. */
static const struct place {
    const char *variable, *folder, *below;
} places[] = {
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
    char path[CUPTI_FOLDER_BYTES + 64];

    snprintf(path, sizeof(path), "%s%s%s", folder, folder[0] ? "/" : "", name);
    return dlopen(path, RTLD_NOW | RTLD_NODELETE | flags);
}

/* Tries the places in turn, the first alone where the user names it. Both libraries lie in one place; without libcupti
 * there, neither stays open. */
static void open_libraries(struct cupti *cupti)
{
    const char *named = getenv(places[0].variable);
    const size_t count = named && named[0] ? 1 : sizeof(places) / sizeof(places[0]);

    for (size_t i = 0; !cupti->library && i < count; i++) {
        const struct place *place = &places[i];
        const char *root = place->variable ? getenv(place->variable) : place->folder;

        if (!root || (place->variable && !root[0]) ||
            snprintf(cupti->folder, sizeof(cupti->folder), "%s%s", root, place->below) >= CUPTI_FOLDER_BYTES)
            continue;
        cupti->perf = open_in(cupti->folder, "libnvperf_host.so", RTLD_GLOBAL);
        for (size_t k = 0; !cupti->library && k < sizeof(library_names) / sizeof(library_names[0]); k++)
            cupti->library = open_in(cupti->folder, library_names[k], RTLD_LOCAL);
        if (!cupti->library && cupti->perf) {
            dlclose(cupti->perf);
            cupti->perf = NULL;
        }
    }
}

static const char *folder_text(const struct cupti *cupti)
{
    return cupti->folder[0] ? cupti->folder : "the loader's path";
}

enum counter_status cupti_open(struct cupti **out, char reason[CUPTI_REASON_BYTES])
{
    struct cupti *cupti = calloc(1, sizeof(*cupti));
    const char *missing = "";

    if (cupti)
        open_libraries(cupti);
    if (!cupti || !cupti->library) {
        snprintf(reason, CUPTI_REASON_BYTES, "%s",
                 cupti ? "libcupti not found; install the CUDA toolkit's CUPTI, or name its folder in CBANK_CUPTI_DIR"
                       : "out of memory for CUPTI; free some memory");
    } else if (!library_bind(cupti->library, symbols, sizeof(symbols) / sizeof(symbols[0]), &cupti->f, &missing)) {
        snprintf(reason, CUPTI_REASON_BYTES, "libcupti in %.100s has no %s; CUDA 12.6 update 2 or later is needed",
                 folder_text(cupti), missing);
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

void cupti_describe(const struct cupti *cupti, char *text, size_t bytes)
{
    uint32_t version = 0;

    cupti->f.cuptiGetVersion(&version);
    snprintf(text, bytes, "API version %u in %s", (unsigned)version, folder_text(cupti));
}

/* -- errors ------------------------------------------------------------------------------------------- */

/* The status that an error gives every counter, and the remedy. */
static const struct {
    CUptiResult code;
    enum counter_status status;
    const char *remedy;
} errors[] = {
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

/* The status that an error of the named function gives every counter, with the reason and the remedy. */
static enum counter_status cupti_failed(const struct cupti *cupti, CUptiResult code, const char *function,
                                        char reason[CUPTI_REASON_BYTES])
{
    const char *message = NULL;

    cupti->f.cuptiGetErrorMessage(code, &message);
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (errors[i].code == code) {
            snprintf(reason, CUPTI_REASON_BYTES, "%s: error %d; %s", function, (int)code, errors[i].remedy);
            return errors[i].status;
        }
    snprintf(reason, CUPTI_REASON_BYTES, "%s: error %d, %s", function, (int)code, message ? message : "no message");
    return COUNTER_UNAVAILABLE;
}

/* -- chips and their metrics --------------------------------------------------------------------------- */

/* The metrics of one chip. */
struct chip {
    const struct cupti *cupti;
    CUpti_Profiler_Host_Object *host;
    const char **names; /* owned, sorted array of base metrics; the strings are CUPTI's */
    size_t name_count;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Appends the base metrics of one type. */
static CUptiResult add_names(struct chip *chip, CUpti_MetricType type)
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

/* Accepts a zeroed struct. */
static void chip_close(struct chip *chip)
{
    if (chip->host)
        CUPTI_CALL(chip->cupti->f.cuptiProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize,
                   .pHostObject = chip->host);
    free(chip->names);
    *chip = (struct chip){0};
}

/* Opens a chip by name ("GH100"); no GPU needed. `availability` is the device's counter availability image, or NULL. On
 * success the caller closes. */
static CUptiResult chip_open(struct chip *chip, const struct cupti *cupti, const char *name,
                             const uint8_t *availability)
{
    static const CUpti_MetricType types[] = {CUPTI_METRIC_TYPE_COUNTER, CUPTI_METRIC_TYPE_RATIO,
                                             CUPTI_METRIC_TYPE_THROUGHPUT};
    CUpti_Profiler_Host_Initialize_Params initialize =
        CUPTI_PARAMETERS(CUpti_Profiler_Host_Initialize, .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER,
                         .pChipName = name, .pCounterAvailabilityImage = availability);
    CUptiResult code = cupti->f.cuptiProfilerHostInitialize(&initialize);

    *chip = (struct chip){.cupti = cupti, .host = initialize.pHostObject};
    for (size_t i = 0; code == CUPTI_SUCCESS && i < sizeof(types) / sizeof(types[0]); i++)
        code = add_names(chip, types[i]);
    if (code == CUPTI_SUCCESS)
        qsort(chip->names, chip->name_count, sizeof(*chip->names), compare_names);
    else
        chip_close(chip);
    return code;
}

/* The metric of a counter: the first whose base name the chip has, and which names a rollup. False when there is none;
 * then *metric is the last that was tried, and *reason (static text) says why not. */
static bool chip_choose(const struct chip *chip, const struct counter *counter, const char **metric,
                        const char **reason)
{
    for (size_t i = 0; i < COUNTER_METRICS_MAX && counter->metrics[i]; i++) {
        char base[256];
        const char *key = base;

        *metric = counter->metrics[i];
        snprintf(base, sizeof(base), "%.*s", (int)strcspn(*metric, "."), *metric);
        *reason = NULL;
        if (!bsearch(&key, chip->names, chip->name_count, sizeof(*chip->names), compare_names))
            *reason = "this chip has no such metric";
        else if (!strchr(*metric, '.'))
            *reason = "the metric needs a rollup, such as .sum";
        else
            return true;
    }
    return false;
}

bool cupti_each_chip(const struct cupti *cupti, const struct chip_visitor *visitor)
{
    CUpti_Profiler_Host_GetSupportedChips_Params chips =
        CUPTI_PARAMETERS(CUpti_Profiler_Host_GetSupportedChips, .pPriv = NULL);
    bool *has = calloc(counter_count, sizeof(*has));
    const bool known = has && cupti->f.cuptiProfilerHostGetSupportedChips(&chips) == CUPTI_SUCCESS;

    for (size_t i = 0; known && i < chips.numChips; i++) {
        struct chip chip;
        const char *metric, *why;
        char reason[CUPTI_REASON_BYTES];
        const CUptiResult code = chip_open(&chip, cupti, chips.ppChipNames[i], NULL);

        for (size_t k = 0; k < counter_count; k++)
            has[k] = code == CUPTI_SUCCESS && chip_choose(&chip, &counters[k], &metric, &why);
        if (code != CUPTI_SUCCESS)
            cupti_failed(cupti, code, "cuptiProfilerHostInitialize", reason);
        visitor->visit(visitor->context, &(struct chip_counters){.chip = chips.ppChipNames[i],
                                                                 .has = has,
                                                                 .reason = code == CUPTI_SUCCESS ? NULL : reason,
                                                                 .metrics = chip.names,
                                                                 .metric_count = chip.name_count});
        chip_close(&chip);
    }
    free(has);
    return known;
}

/* -- sessions ------------------------------------------------------------------------------------------ */

/* What became of one counter of the set. */
struct session_counter {
    enum counter_status status;
    const char *metric; /* of the counter's row: the one chosen, or the last that was tried */
    size_t slot; /* index among the collected metrics */
    const char *reason; /* static text; NULL when the status is ok */
};

/* Bytes that CUPTI fills. */
struct image_bytes {
    uint8_t *data; /* owned */
    size_t bytes;
};

struct cupti_session {
    const struct cupti *cupti;
    struct cupti_request request;
    struct chip chip;
    char chip_name[32];
    bool initialized;
    const char *called; /* the last call while collecting */
    CUpti_RangeProfiler_Object *profiler;
    struct session_counter *counters; /* one for each of the set */
    const char **metrics; /* collected, metric_count of them */
    double *metric_values; /* room for as many */
    size_t metric_count;
    struct image_bytes availability, config, counts;
};

/* -- opening, a step at a time ------------------------------------------------------------------------- */

static CUptiResult make_room(struct image_bytes *image, size_t bytes)
{
    *image = (struct image_bytes){calloc(1, bytes), bytes};
    return image->data ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

/* Fills the name of the chip and the image of the counters that this device lets this user read. */
static CUptiResult ask_availability(struct cupti_session *session)
{
    const struct cupti_functions *f = &session->cupti->f;
    CUpti_Device_GetChipName_Params chip =
        CUPTI_PARAMETERS(CUpti_Device_GetChipName, .deviceIndex = session->request.device);
    CUpti_Profiler_GetCounterAvailability_Params availability =
        CUPTI_PARAMETERS(CUpti_Profiler_GetCounterAvailability, .ctx = session->request.cuda_context);
    CUptiResult code = f->cuptiDeviceGetChipName(&chip);

    if (code == CUPTI_SUCCESS) {
        snprintf(session->chip_name, sizeof(session->chip_name), "%s", chip.pChipName);
        code = f->cuptiProfilerGetCounterAvailability(&availability);
    }
    if (code == CUPTI_SUCCESS)
        code = make_room(&session->availability, availability.counterAvailabilityImageSize);
    availability.pCounterAvailabilityImage = session->availability.data;
    return code == CUPTI_SUCCESS ? f->cuptiProfilerGetCounterAvailability(&availability) : code;
}

static CUptiResult open_chip(struct cupti_session *session)
{
    return chip_open(&session->chip, session->cupti, session->chip_name, session->availability.data);
}

static CUptiResult add_metrics(const struct cupti_session *session, const char **metrics, size_t count)
{
    return CUPTI_CALL(session->cupti->f.cuptiProfilerHostConfigAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics,
                      .pHostObject = session->chip.host, .ppMetricNames = metrics, .numMetrics = count);
}

/* Adds the metrics of all counters that are still ok in one call: CUPTI packs the metrics of one call into
 * as few passes as it can, and gives each call passes of its own. */
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
    return session->metric_count > 0 ? add_metrics(session, session->metrics, session->metric_count) : CUPTI_SUCCESS;
}

/* CUPTI takes all metrics of a call or none. After a refusal this finds which it does not take, each tried
 * with a host object of its own, and leaves the session with a fresh one. */
static CUptiResult drop_refused(struct cupti_session *session)
{
    for (size_t i = 0; i < session->request.counters->count; i++) {
        struct session_counter *counter = &session->counters[i];

        if (counter->status != COUNTER_OK)
            continue;
        chip_close(&session->chip);
        if (open_chip(session) != CUPTI_SUCCESS || add_metrics(session, &counter->metric, 1) != CUPTI_SUCCESS) {
            counter->status = COUNTER_UNSUPPORTED;
            counter->reason = "CUPTI does not take the metric on this device";
        }
    }
    chip_close(&session->chip);
    return open_chip(session);
}

static CUptiResult choose_metrics(struct cupti_session *session)
{
    CUptiResult code;

    for (size_t i = 0; i < session->request.counters->count; i++) {
        struct session_counter *out = &session->counters[i];
        const bool has =
            chip_choose(&session->chip, &session->request.counters->counters[i], &out->metric, &out->reason);

        out->status = has ? COUNTER_OK : COUNTER_UNSUPPORTED;
    }
    if (add_chosen(session) == CUPTI_SUCCESS)
        return CUPTI_SUCCESS;
    code = drop_refused(session);
    return code == CUPTI_SUCCESS ? add_chosen(session) : code;
}

/* The configuration image of the chosen metrics. */
static CUptiResult configure(struct cupti_session *session)
{
    const struct cupti_functions *f = &session->cupti->f;
    CUpti_Profiler_Host_GetConfigImageSize_Params size =
        CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize, .pHostObject = session->chip.host);
    CUptiResult code = f->cuptiProfilerHostGetConfigImageSize(&size);

    if (code == CUPTI_SUCCESS)
        code = make_room(&session->config, size.configImageSize);
    if (code != CUPTI_SUCCESS)
        return code;
    return CUPTI_CALL(f->cuptiProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage,
                      .pHostObject = session->chip.host, .configImageSize = session->config.bytes,
                      .pConfigImage = session->config.data);
}

/* Takes hold of the device's counters and makes room for their data. */
static CUptiResult enable(struct cupti_session *session)
{
    const struct cupti_functions *f = &session->cupti->f;
    CUpti_RangeProfiler_Enable_Params parameters =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_Enable, .ctx = session->request.cuda_context);
    CUptiResult code = f->cuptiRangeProfilerEnable(&parameters);

    if (code != CUPTI_SUCCESS)
        return code;
    session->profiler = parameters.pRangeProfilerObject;

    CUpti_RangeProfiler_GetCounterDataSize_Params size =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_GetCounterDataSize, .pRangeProfilerObject = session->profiler,
                         .pMetricNames = session->metrics, .numMetrics = session->metric_count,
                         .maxNumOfRanges = session->request.ranges_max,
                         .maxNumRangeTreeNodes = (uint32_t)session->request.ranges_max);

    code = f->cuptiRangeProfilerGetCounterDataSize(&size);
    return code == CUPTI_SUCCESS ? make_room(&session->counts, size.counterDataSize) : code;
}

/* Sets up in order; *function is the one that an error is put down to. */
static CUptiResult set_up(struct cupti_session *session, const char **function)
{
    static const struct {
        const char *function;
        CUptiResult (*run)(struct cupti_session *session);
        bool needs_metrics; /* there is nothing to do where the chip has none */
    } steps[] = {
        {"cuptiProfilerGetCounterAvailability", ask_availability, false},
        {"cuptiProfilerHostInitialize", open_chip, false},
        {"cuptiProfilerHostConfigAddMetrics", choose_metrics, false},
        {"cuptiProfilerHostGetConfigImage", configure, true},
        {"cuptiRangeProfilerEnable", enable, true},
    };
    CUptiResult code = CUPTI_CALL(session->cupti->f.cuptiProfilerInitialize, CUpti_Profiler_Initialize, .pPriv = NULL);

    *function = "cuptiProfilerInitialize";
    session->initialized = code == CUPTI_SUCCESS;
    for (size_t i = 0; code == CUPTI_SUCCESS && i < sizeof(steps) / sizeof(steps[0]); i++) {
        *function = steps[i].function;
        if (session->metric_count > 0 || !steps[i].needs_metrics)
            code = steps[i].run(session);
    }
    return code;
}

enum counter_status cupti_session_open(const struct cupti *cupti, const struct cupti_request *request,
                                       struct cupti_session **out, char reason[CUPTI_REASON_BYTES])
{
    const size_t count = request->counters->count + 1;
    struct cupti_session *session = calloc(1, sizeof(*session));
    const char *function = "";
    CUptiResult code = CUPTI_ERROR_OUT_OF_MEMORY;
    enum counter_status status;

    if (session) {
        *session = (struct cupti_session){.cupti = cupti,
                                          .request = *request,
                                          .counters = calloc(count, sizeof(*session->counters)),
                                          .metrics = calloc(count, sizeof(*session->metrics)),
                                          .metric_values = calloc(count, sizeof(*session->metric_values))};
        watch_begin(request->watchdog, "setting up CUPTI", request->patience);
        if (session->counters && session->metrics && session->metric_values)
            code = set_up(session, &function);
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
    watch_begin(session->request.watchdog, "closing CUPTI", session->request.patience);
    if (session->profiler)
        CUPTI_CALL(session->cupti->f.cuptiRangeProfilerDisable, CUpti_RangeProfiler_Disable,
                   .pRangeProfilerObject = session->profiler);
    chip_close(&session->chip);
    if (session->initialized)
        CUPTI_CALL(session->cupti->f.cuptiProfilerDeInitialize, CUpti_Profiler_DeInitialize, .pPriv = NULL);
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

/* -- collecting --------------------------------------------------------------------------------------- */

/* A call that may wait for the device is watched. */
static void watched_begin(struct cupti_session *session, const char *function)
{
    session->called = function;
    watch_begin(session->request.watchdog, function, session->request.patience);
}

static CUptiResult watched_end(struct cupti_session *session, CUptiResult code)
{
    watch_end(session->request.watchdog);
    return code;
}

#define WATCHED(session, function, type, ...) \
    (watched_begin((session), #function),     \
     watched_end((session), CUPTI_CALL((session)->cupti->f.function, type, __VA_ARGS__)))

static CUptiResult collect_begin(struct cupti_session *session)
{
    const CUptiResult code =
        WATCHED(session, cuptiRangeProfilerCounterDataImageInitialize, CUpti_RangeProfiler_CounterDataImage_Initialize,
                .pRangeProfilerObject = session->profiler, .counterDataSize = session->counts.bytes,
                .pCounterData = session->counts.data);

    if (code != CUPTI_SUCCESS)
        return code;
    return WATCHED(session, cuptiRangeProfilerSetConfig, CUpti_RangeProfiler_SetConfig,
                   .pRangeProfilerObject = session->profiler, .configSize = session->config.bytes,
                   .pConfig = session->config.data, .counterDataImageSize = session->counts.bytes,
                   .pCounterDataImage = session->counts.data, .range = CUPTI_UserRange, .replayMode = CUPTI_UserReplay,
                   .maxRangesPerPass = session->request.ranges_max, .numNestingLevels = 1, .minNestingLevel = 1,
                   .passIndex = 0, .targetNestingLevel = 1);
}

/* One range of one pass. */
static CUptiResult collect_range(struct cupti_session *session, const struct cupti_ranges *ranges, size_t i)
{
    char name[32];
    CUptiResult code;

    snprintf(name, sizeof(name), "%zu", i);
    if (!ranges->prepare(ranges->context, i))
        return CUPTI_ERROR_INVALID_OPERATION;
    code = WATCHED(session, cuptiRangeProfilerPushRange, CUpti_RangeProfiler_PushRange,
                   .pRangeProfilerObject = session->profiler, .pRangeName = name);
    if (code == CUPTI_SUCCESS && !ranges->launch(ranges->context, i))
        code = CUPTI_ERROR_INVALID_OPERATION;
    if (code != CUPTI_SUCCESS)
        return code;
    return WATCHED(session, cuptiRangeProfilerPopRange, CUpti_RangeProfiler_PopRange,
                   .pRangeProfilerObject = session->profiler);
}

/* One pass over all ranges; *submitted when it was the last. */
static CUptiResult collect_pass(struct cupti_session *session, const struct cupti_ranges *ranges, bool *submitted)
{
    CUpti_RangeProfiler_Stop_Params stop =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_Stop, .pRangeProfilerObject = session->profiler);
    CUptiResult code =
        WATCHED(session, cuptiRangeProfilerStart, CUpti_RangeProfiler_Start, .pRangeProfilerObject = session->profiler);

    for (size_t i = 0; code == CUPTI_SUCCESS && i < ranges->count; i++)
        code = collect_range(session, ranges, i);
    if (code == CUPTI_SUCCESS) {
        watched_begin(session, "cuptiRangeProfilerStop");
        code = watched_end(session, session->cupti->f.cuptiRangeProfilerStop(&stop));
    }
    *submitted = stop.isAllPassSubmitted != 0;
    return code;
}

enum counter_status cupti_session_collect(struct cupti_session *session, const struct cupti_ranges *ranges,
                                          char reason[CUPTI_REASON_BYTES])
{
    CUpti_RangeProfiler_DecodeData_Params decode =
        CUPTI_PARAMETERS(CUpti_RangeProfiler_DecodeData, .pRangeProfilerObject = session->profiler);
    bool submitted = false;
    CUptiResult code;

    if (session->metric_count == 0)
        return COUNTER_OK;
    code = collect_begin(session);
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

/* CUPTI evaluates a metric in floating point from counts of several units: 1600000 may come as
 * 1600000.0000000002. What is that near to a whole number is that number. */
static double without_rounding_error(double value)
{
    const double whole = round(value);

    return fabs(value - whole) <= 1e-12 * fabs(whole) ? whole : value;
}

bool cupti_session_values(struct cupti_session *session, size_t range, struct counter_value *values)
{
    const bool evaluated =
        session->metric_count == 0 ||
        CUPTI_CALL(session->cupti->f.cuptiProfilerHostEvaluateToGpuValues, CUpti_Profiler_Host_EvaluateToGpuValues,
                   .pHostObject = session->chip.host, .pCounterDataImage = session->counts.data,
                   .counterDataImageSize = session->counts.bytes, .rangeIndex = range,
                   .ppMetricNames = session->metrics, .numMetrics = session->metric_count,
                   .pMetricValues = session->metric_values) == CUPTI_SUCCESS;

    for (size_t i = 0; i < session->request.counters->count; i++) {
        const struct session_counter *counter = &session->counters[i];
        const double read = evaluated ? session->metric_values[counter->slot] : NAN;
        struct counter_value *out = &values[i];

        out->metric = counter->metric;
        out->status = counter->status;
        out->reason = counter->reason;
        out->value = counter->status == COUNTER_OK ? without_rounding_error(read) : NAN;
        if (counter->status == COUNTER_OK && isnan(read)) {
            out->status = COUNTER_UNAVAILABLE;
            out->reason = "the hardware gave no value (MIG or vGPU shares this unit)";
        }
    }
    return evaluated;
}
