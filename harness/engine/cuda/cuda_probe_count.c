/* SPDX-License-Identifier: MIT */
#include "cuda_probe_count.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool cuda_count_open(uint32_t ordinal, void *cuda_context, struct cuda_count *out, char reason[CUPTI_REASON_BYTES])
{
    const struct cupti_request request = {.device = ordinal,
                                          .cuda_context = cuda_context,
                                          .counters = &out->set,
                                          .ranges_max = 1};
    char names[64 * PROBE_COUNTED_COUNT] = "";

    *out = (struct cuda_count){0};
    for (size_t i = 0; i < PROBE_COUNTED_COUNT; i++)
        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? "," : "", probe_counters[i]);
    snprintf(reason, CUPTI_REASON_BYTES, "out of memory");
    if (counter_set_parse(names, &out->set) == STATUS_OK && cupti_open(&out->cupti, reason) == COUNTER_OK &&
        cupti_session_open(out->cupti, &request, &out->session, reason) == COUNTER_OK)
        return true;
    cuda_count_close(out);
    return false;
}

void cuda_count_close(struct cuda_count *count)
{
    cupti_session_close(count->session);
    cupti_close(count->cupti);
    counter_set_close(&count->set);
    *count = (struct cuda_count){0};
}

bool cuda_count_launch(struct cuda_count *count, const struct cupti_ranges *ranges,
                       uint32_t counted[PROBE_COUNTED_COUNT], char reason[CUPTI_REASON_BYTES])
{
    struct counter_value values[PROBE_COUNTED_COUNT];

    if (cupti_session_collect(count->session, ranges, reason) != COUNTER_OK)
        return false;
    if (!cupti_session_values(count->session, 0, values)) {
        snprintf(reason, CUPTI_REASON_BYTES, "what was counted cannot be evaluated");
        return false;
    }
    for (size_t i = 0; i < PROBE_COUNTED_COUNT; i++)
        counted[i] = values[i].value >= 0 && values[i].value < PROBE_NOT_COUNTED ? (uint32_t)lround(values[i].value)
                                                                                 : PROBE_NOT_COUNTED;
    return true;
}
