/* SPDX-License-Identifier: MIT
 * Counters of single launches: the probe_counters of probe_source.h. Includes no vendor header. */
#ifndef CBANK_CUDA_PROBE_COUNT_H
#define CBANK_CUDA_PROBE_COUNT_H

#include "cupti_reader.h"
#include "probe_source.h"

struct cuda_count {
    struct cupti *cupti;
    struct cupti_session *session;
    struct counter_set set;
};

/* Opens counting on the device, whose context is current. False, with the reason, on failure; then nothing stays
 * open. */
bool cuda_count_open(uint32_t ordinal, void *cuda_context, struct cuda_count *out, char reason[CUPTI_REASON_BYTES]);

/* Releases; accepts a zeroed struct. */
void cuda_count_close(struct cuda_count *count);

/* Counts one range, a launch, with as many passes as needed. A value that the chip cannot count is PROBE_NOT_COUNTED.
 * False, with the reason, on failure. */
bool cuda_count_launch(struct cuda_count *count, const struct cupti_ranges *ranges,
                       uint32_t counted[PROBE_COUNTED_COUNT], char reason[CUPTI_REASON_BYTES]);

#endif
