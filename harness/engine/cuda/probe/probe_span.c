/* SPDX-License-Identifier: MIT
 * Spans of readings. Clocks have 32 bits and wrap: only their differences are compared.
 *
 *   warp 0   |---------|            begin = the first start, last = the last end,
 *   warp 1      |----------|        at once if the last start lies before the first end */
#include "probe_span.h"

#include <stdbool.h>

#include "probe_source.h"
#include "stats.h"

enum { SMS_MAX = 1024 };

/* The starts and the ends of readings. */
struct span {
    uint32_t begin, last_begin, first_end, last, seen;
};

static void add(struct span *span, const struct probe_reading *reading)
{
    const bool first = span->seen++ == 0;

    if (first || (int32_t)(reading->begin - span->begin) < 0)
        span->begin = reading->begin;
    if (first || (int32_t)(reading->begin - span->last_begin) > 0)
        span->last_begin = reading->begin;
    if (first || (int32_t)(reading->end - span->first_end) < 0)
        span->first_end = reading->end;
    if (first || (int32_t)(reading->end - span->last) > 0)
        span->last = reading->end;
}

uint32_t probe_median_span(const struct probe_reading *readings, size_t count, uint32_t warps)
{
    struct span spans[SMS_MAX] = {0};
    uint32_t cycles[SMS_MAX], sms = 0;

    for (size_t i = 0; i < count; i++)
        if (readings[i].sm < SMS_MAX)
            add(&spans[readings[i].sm], &readings[i]);
    for (size_t sm = 0; sm < SMS_MAX; sm++)
        if (spans[sm].seen == warps && (int32_t)(spans[sm].first_end - spans[sm].last_begin) > 0)
            cycles[sms++] = spans[sm].last - spans[sm].begin;
    if (sms == 0)
        return PROBE_NOT_AT_ONCE;
    stats_sort_uint32(cycles, sms);
    return cycles[(sms - 1) / 2];
}

uint32_t probe_whole_span(const struct probe_reading *readings, size_t count)
{
    struct span span = {0};

    for (size_t i = 0; i < count; i++)
        add(&span, &readings[i]);
    return span.last - span.begin;
}
