/* SPDX-License-Identifier: MIT
 * How long all warps of an SM took, from the readings of a launch. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "probe_args.h"

/* The cycles from the first start to the last end of an SM's warps: the median over the SMs on
 * which `warps` of them all loaded at the same time. Blocks that run one after the other do not
 * count. PROBE_NOT_AT_ONCE if there is no such SM. */
uint32_t probe_median_span(const struct probe_reading *readings, size_t count, uint32_t warps);

/* The time from the first start to the last end of all readings, which are of one clock. */
uint32_t probe_whole_span(const struct probe_reading *readings, size_t count);
