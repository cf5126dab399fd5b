/* SPDX-License-Identifier: MIT
 * Which metrics a chip has. */
#include <stdlib.h>
#include <string.h>

#include "cupti_library.h"

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Appends the base metrics of one type. */
static CUptiResult add_names(struct cupti_chip *chip, CUpti_MetricType type)
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

CUptiResult cupti_chip_open(struct cupti_chip *chip, const struct cupti *cupti, const char *name,
                            const uint8_t *availability)
{
    static const CUpti_MetricType types[] = {CUPTI_METRIC_TYPE_COUNTER, CUPTI_METRIC_TYPE_RATIO,
                                             CUPTI_METRIC_TYPE_THROUGHPUT};
    CUpti_Profiler_Host_Initialize_Params initialize =
        CUPTI_PARAMETERS(CUpti_Profiler_Host_Initialize, .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER,
                         .pChipName = name, .pCounterAvailabilityImage = availability);
    CUptiResult code = cupti->f.cuptiProfilerHostInitialize(&initialize);

    *chip = (struct cupti_chip){.cupti = cupti, .host = initialize.pHostObject};
    for (size_t i = 0; code == CUPTI_SUCCESS && i < sizeof(types) / sizeof(types[0]); i++)
        code = add_names(chip, types[i]);
    if (code == CUPTI_SUCCESS)
        qsort(chip->names, chip->name_count, sizeof(*chip->names), compare_names);
    else
        cupti_chip_close(chip);
    return code;
}

void cupti_chip_close(struct cupti_chip *chip)
{
    if (chip->host)
        CUPTI_CALL(chip->cupti->f.cuptiProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize,
                   .pHostObject = chip->host);
    free(chip->names);
    *chip = (struct cupti_chip){0};
}

static bool has_metric(const struct cupti_chip *chip, const char *metric, const char **reason)
{
    char base[256];
    const char *key = base;

    snprintf(base, sizeof(base), "%.*s", (int)strcspn(metric, "."), metric);
    *reason = NULL;
    if (!bsearch(&key, chip->names, chip->name_count, sizeof(*chip->names), compare_names))
        *reason = "this chip has no such metric";
    else if (!strchr(metric, '.'))
        *reason = "the metric needs a rollup, such as .sum";
    return !*reason;
}

bool cupti_chip_choose(const struct cupti_chip *chip, const struct counter *counter, const char **metric,
                       const char **reason)
{
    for (size_t i = 0; i < COUNTER_METRICS_MAX && counter->metrics[i]; i++) {
        *metric = counter->metrics[i];
        if (has_metric(chip, *metric, reason))
            return true;
    }
    return false;
}

/* What the chip of that name has of the counter table; has[] is room for counter_count values. */
static void look_at_chip(const struct cupti *cupti, const char *name, bool *has, const struct chip_visitor *visitor)
{
    struct chip_counters found = {.chip = name, .has = has};
    struct cupti_chip chip;
    const char *metric, *why;
    char reason[CUPTI_REASON_BYTES];
    const CUptiResult code = cupti_chip_open(&chip, cupti, name, NULL);

    for (size_t i = 0; i < counter_count; i++)
        has[i] = code == CUPTI_SUCCESS && cupti_chip_choose(&chip, &counters[i], &metric, &why);
    if (code != CUPTI_SUCCESS) {
        cupti_failed(cupti, code, "cuptiProfilerHostInitialize", reason);
        found.reason = reason;
    }
    found.metrics = chip.names;
    found.metric_count = chip.name_count;
    visitor->visit(visitor->context, &found);
    cupti_chip_close(&chip);
}

bool cupti_each_chip(const struct cupti *cupti, const struct chip_visitor *visitor)
{
    CUpti_Profiler_Host_GetSupportedChips_Params chips =
        CUPTI_PARAMETERS(CUpti_Profiler_Host_GetSupportedChips, .pPriv = NULL);
    bool *has = calloc(counter_count, sizeof(*has));
    const bool known = has && cupti->f.cuptiProfilerHostGetSupportedChips(&chips) == CUPTI_SUCCESS;

    for (size_t i = 0; known && i < chips.numChips; i++)
        look_at_chip(cupti, chips.ppChipNames[i], has, visitor);
    free(has);
    return known;
}
