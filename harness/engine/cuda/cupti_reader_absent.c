/* SPDX-License-Identifier: MIT
 * Stands in for CUPTI in a build with a toolkit that has none with the Range Profiler: it cannot be opened. */

#include "cupti_reader.h"

enum counter_status cupti_open(struct cupti **out, char reason[CUPTI_REASON_BYTES])
{
    *out = NULL;
    snprintf(reason, CUPTI_REASON_BYTES,
             "this program was built with CUDA %.20s, where CUPTI has no Range Profiler or is missing; "
             "build it with CUDA 12.6 update 2 or later and its CUPTI",
             tool.cuda_toolkit ? tool.cuda_toolkit : "");
    return COUNTER_UNAVAILABLE;
}

void cupti_close(struct cupti *cupti)
{
    (void)cupti;
}

void cupti_session_close(struct cupti_session *session)
{
    (void)session;
}

void cupti_session_lose(struct cupti_session *session)
{
    (void)session;
}

/* -- nothing below is reached, since nothing was opened ------------------------------------------------ */

void cupti_describe(const struct cupti *cupti, char *text, size_t bytes)
{
    (void)cupti, (void)text, (void)bytes;
}

bool cupti_each_chip(const struct cupti *cupti, const struct chip_visitor *visitor)
{
    (void)cupti, (void)visitor;
    return false;
}

enum counter_status cupti_session_open(const struct cupti *cupti, const struct cupti_request *request,
                                       struct cupti_session **out, char reason[CUPTI_REASON_BYTES])
{
    (void)cupti, (void)request, (void)out, (void)reason;
    return COUNTER_UNAVAILABLE;
}

const char *cupti_session_chip(const struct cupti_session *session)
{
    (void)session;
    return "";
}

enum counter_status cupti_session_collect(struct cupti_session *session, const struct cupti_ranges *ranges,
                                          char reason[CUPTI_REASON_BYTES])
{
    (void)session, (void)ranges, (void)reason;
    return COUNTER_UNAVAILABLE;
}

bool cupti_session_values(struct cupti_session *session, size_t range, struct counter_value *values)
{
    (void)session, (void)range, (void)values;
    return false;
}
