/* SPDX-License-Identifier: MIT
 * Stands in for cupti_reader.c in a build with a toolkit that has no CUPTI with the Range Profiler. */
#include "cupti_reader.h"

#include <stdio.h>

#include "version.h"

static void say_absent(char reason[CUPTI_REASON_BYTES])
{
    snprintf(reason, CUPTI_REASON_BYTES,
             "this program was built with CUDA %.20s, where CUPTI has no Range Profiler or is missing; "
             "build it with CUDA 12.6 update 2 or later and its CUPTI",
             tool.cuda_toolkit ? tool.cuda_toolkit : "");
}

enum counter_status cupti_open(struct cupti **out, char reason[CUPTI_REASON_BYTES])
{
    *out = NULL;
    say_absent(reason);
    return COUNTER_UNAVAILABLE;
}

void cupti_close(struct cupti *cupti)
{
    (void)cupti;
}

/* -- nothing below is reached, since nothing was opened ------------------------------------------------ */

uint32_t cupti_version(const struct cupti *cupti)
{
    (void)cupti;
    return 0;
}

const char *cupti_folder(const struct cupti *cupti)
{
    (void)cupti;
    return "";
}

bool cupti_each_chip(const struct cupti *cupti, void (*each)(void *context, const char *chip), void *context)
{
    (void)cupti, (void)each, (void)context;
    return false;
}

struct cupti_chip *cupti_chip_open(const struct cupti *cupti, const char *chip, const uint8_t *availability,
                                   char reason[CUPTI_REASON_BYTES])
{
    (void)cupti, (void)chip, (void)availability;
    say_absent(reason);
    return NULL;
}

void cupti_chip_close(struct cupti_chip *chip)
{
    (void)chip;
}

bool cupti_chip_has(const struct cupti_chip *chip, const char *metric, const char **reason)
{
    (void)chip, (void)metric;
    *reason = "this program has no CUPTI";
    return false;
}

enum counter_status cupti_session_open(const struct cupti *cupti, uint32_t device, void *cuda_context,
                                       const struct counter_set *counters, size_t ranges_max,
                                       struct cupti_session **out, char reason[CUPTI_REASON_BYTES])
{
    (void)cupti, (void)device, (void)cuda_context, (void)counters, (void)ranges_max;
    *out = NULL;
    say_absent(reason);
    return COUNTER_UNAVAILABLE;
}

void cupti_session_close(struct cupti_session *session)
{
    (void)session;
}

const char *cupti_session_chip(const struct cupti_session *session)
{
    (void)session;
    return "";
}

size_t cupti_session_passes(const struct cupti_session *session)
{
    (void)session;
    return 0;
}

enum counter_status cupti_session_collect(struct cupti_session *session, const struct cupti_ranges *ranges,
                                          char reason[CUPTI_REASON_BYTES])
{
    (void)session, (void)ranges;
    say_absent(reason);
    return COUNTER_UNAVAILABLE;
}

enum counter_status cupti_session_counter(const struct cupti_session *session, size_t i, const char **metric,
                                          const char **reason)
{
    (void)session, (void)i;
    *metric = NULL;
    *reason = "this program has no CUPTI";
    return COUNTER_UNAVAILABLE;
}

bool cupti_session_values(struct cupti_session *session, size_t range, double *values)
{
    (void)session, (void)range, (void)values;
    return false;
}
