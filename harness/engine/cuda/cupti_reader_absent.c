/* SPDX-License-Identifier: MIT
 * Stands in for CUPTI in a build whose toolkit has no Range Profiler: it cannot be opened. */
#include "cupti_duration.h"

#include <stdio.h>

enum counter_status cupti_open(struct cupti **out, char reason[CUPTI_REASON_BYTES])
{
    *out = NULL;
    snprintf(reason, CUPTI_REASON_BYTES,
             "this program was built with CUDA %.20s, where CUPTI has no Range Profiler or is "
             "missing; "
             "build it with CUDA 12.6 update 2 or later and its CUPTI",
             tool.cuda_toolkit ? tool.cuda_toolkit : "");
    return COUNTER_UNAVAILABLE;
}

/* Nothing was opened, so the other functions do nothing. */
#define NOTHING(type, name, result, ...) \
    type name(__VA_ARGS__)               \
    {                                    \
        return result;                   \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"
NOTHING(void, cupti_close, , struct cupti *cupti)
NOTHING(void, cupti_describe, , const struct cupti *cupti, char *text, size_t bytes)
NOTHING(bool, cupti_each_chip, false, const struct cupti *cupti, const struct chip_visitor *visitor)
NOTHING(enum counter_status, cupti_session_open, COUNTER_UNAVAILABLE, const struct cupti *cupti,
        const struct cupti_request *request, struct cupti_session **out,
        char reason[CUPTI_REASON_BYTES])
NOTHING(void, cupti_session_lose, , struct cupti_session *session)
NOTHING(void, cupti_session_close, , struct cupti_session *session)
NOTHING(const char *, cupti_session_chip, "", const struct cupti_session *session)
NOTHING(enum counter_status, cupti_session_collect, COUNTER_UNAVAILABLE,
        struct cupti_session *session, const struct cupti_ranges *ranges,
        char reason[CUPTI_REASON_BYTES])
NOTHING(enum counter_status, cupti_durations_begin, COUNTER_UNAVAILABLE, const struct cupti *cupti,
        char reason[CUPTI_REASON_BYTES])
NOTHING(double, cupti_durations_take, 0, const struct cupti *cupti)
NOTHING(void, cupti_durations_end, , const struct cupti *cupti, bool lost)
NOTHING(bool, cupti_session_values, false, struct cupti_session *session, size_t range,
        struct counter_value *values)
