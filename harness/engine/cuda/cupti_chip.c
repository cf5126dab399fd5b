/* SPDX-License-Identifier: MIT
 * CUPTI without a GPU: finding its libraries, naming its errors, and asking which of a counter's
 * metrics a chip has. The first metric of the row that the chip knows is taken. */
#include "cupti_chip.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "environment_error.h"
#include "library.h"

/* -- the libraries ----------------------------------------------------------------------------- */

#ifndef CBANK_CUDA_FOLDER
#define CBANK_CUDA_FOLDER "/usr/local/cuda"
#endif

static const struct library_symbol symbols[] = {
#define SYMBOL(name) {#name, offsetof(struct cupti_functions, name)},
    CUPTI_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static const char *folder_text(const struct cupti *cupti)
{
    return cupti->folder[0] ? cupti->folder : "the loader's path";
}

/* Folders of the libraries: below the value of an environment variable, or below a fixed folder. */
static const struct library_folder {
    const char *variable, *folder, *below;
} folders[] = {
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

/* RTLD_NODELETE: after profiling, CUPTI's hooks stay in the driver, and unloading the library would
 * crash the next CUDA call. */
static void *open_in(const char *folder, const char *name, int flags)
{
    char path[CUPTI_FOLDER_BYTES + 64];

    snprintf(path, sizeof(path), "%s%s%s", folder, folder[0] ? "/" : "", name);
    return dlopen(path, RTLD_NOW | RTLD_NODELETE | flags);
}

enum counter_status cupti_open(struct cupti **out, char reason[CUPTI_REASON_BYTES])
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    struct cupti *cupti = calloc(1, sizeof(*cupti));
    const char *missing = "", *named = getenv(folders[0].variable);
    /* Only the folder that the user names is tried, else all in turn. */
    const size_t count = !cupti ? 0 : named && named[0] ? 1 : sizeof(folders) / sizeof(folders[0]);

    for (size_t i = 0; i < count && !cupti->library; i++) {
        const char *root = folders[i].variable ? getenv(folders[i].variable) : folders[i].folder;

        if (!root || (folders[i].variable && !root[0]) ||
            snprintf(cupti->folder, sizeof(cupti->folder), "%s%s", root, folders[i].below) >=
                CUPTI_FOLDER_BYTES)
            continue;
        /* Both libraries lie in one folder; without libcupti, neither stays open. */
        cupti->perf = open_in(cupti->folder, "libnvperf_host.so", RTLD_GLOBAL);
        for (size_t k = 0; !cupti->library && k < sizeof(names) / sizeof(names[0]); k++)
            cupti->library = open_in(cupti->folder, names[k], RTLD_LOCAL);
        if (!cupti->library && cupti->perf) {
            dlclose(cupti->perf);
            cupti->perf = NULL;
        }
    }
    if (!cupti || !cupti->library) {
        snprintf(reason, CUPTI_REASON_BYTES, "%s",
                 cupti ? "libcupti not found; install the CUDA toolkit's CUPTI, or name its folder "
                         "in CBANK_CUPTI_DIR"
                       : "out of memory for CUPTI; free some memory");
    } else if (!library_bind(cupti->library, symbols, sizeof(symbols) / sizeof(symbols[0]),
                             &cupti->f, &missing)) {
        snprintf(reason, CUPTI_REASON_BYTES,
                 "libcupti in %.100s has no %s; CUDA 12.6 update 2 or later is needed",
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

/* -- errors ------------------------------------------------------------------------------------ */

enum counter_status cupti_failed(const struct cupti *cupti, CUptiResult code, const char *function,
                                 char reason[CUPTI_REASON_BYTES])
{
    const char *message = NULL;

    cupti->f.cuptiGetErrorMessage(code, &message);
    return environment_error(ENVIRONMENT_CUPTI, (int)code, function, message, reason);
}

/* -- chips and their metrics ------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void cupti_chip_close(struct cupti_chip *chip)
{
    if (chip->host)
        CUPTI_CALL(chip->cupti->f.cuptiProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize,
                   .pHostObject = chip->host);
    free(chip->names);
    *chip = (struct cupti_chip){0};
}

CUptiResult cupti_chip_open(struct cupti_chip *chip, const struct cupti *cupti, const char *name,
                            const uint8_t *availability)
{
    static const CUpti_MetricType types[] = {CUPTI_METRIC_TYPE_COUNTER, CUPTI_METRIC_TYPE_RATIO,
                                             CUPTI_METRIC_TYPE_THROUGHPUT};
    CUpti_Profiler_Host_Initialize_Params initialize =
        CUPTI_PARAMETERS(CUpti_Profiler_Host_Initialize,
                         .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER, .pChipName = name,
                         .pCounterAvailabilityImage = availability);
    CUptiResult code = cupti->f.cuptiProfilerHostInitialize(&initialize);

    *chip = (struct cupti_chip){.cupti = cupti, .host = initialize.pHostObject};
    for (size_t i = 0; code == CUPTI_SUCCESS && i < sizeof(types) / sizeof(types[0]); i++) {
        CUpti_Profiler_Host_GetBaseMetrics_Params base =
            CUPTI_PARAMETERS(CUpti_Profiler_Host_GetBaseMetrics, .pHostObject = chip->host,
                             .metricType = types[i]);
        const char **names;

        code = cupti->f.cuptiProfilerHostGetBaseMetrics(&base);
        if (code != CUPTI_SUCCESS || base.numMetrics == 0)
            continue;
        names = realloc(chip->names, (chip->name_count + base.numMetrics) * sizeof(*names));
        if (!names) {
            code = CUPTI_ERROR_OUT_OF_MEMORY;
            continue;
        }
        memcpy(names + chip->name_count, base.ppMetricNames, base.numMetrics * sizeof(*names));
        chip->names = names;
        chip->name_count += base.numMetrics;
    }
    if (code == CUPTI_SUCCESS)
        qsort(chip->names, chip->name_count, sizeof(*chip->names), compare_names);
    else
        cupti_chip_close(chip);
    return code;
}

bool cupti_chip_choose(const struct cupti_chip *chip, const struct counter *counter,
                       const char **metric, const char **reason)
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
        struct cupti_chip chip;
        const char *metric, *why;
        char reason[CUPTI_REASON_BYTES];
        const CUptiResult code = cupti_chip_open(&chip, cupti, chips.ppChipNames[i], NULL);

        for (size_t k = 0; k < counter_count; k++)
            has[k] = code == CUPTI_SUCCESS && cupti_chip_choose(&chip, &counters[k], &metric, &why);
        if (code != CUPTI_SUCCESS)
            cupti_failed(cupti, code, "cuptiProfilerHostInitialize", reason);
        visitor->visit(visitor->context,
                       &(struct chip_counters){.chip = chips.ppChipNames[i],
                                               .has = has,
                                               .reason = code == CUPTI_SUCCESS ? NULL : reason});
        cupti_chip_close(&chip);
    }
    free(has);
    return known;
}
