/* SPDX-License-Identifier: MIT
 * Durations of launches, from start to end, as CUPTI's activity records them. */
#pragma once

#include "cupti_reader.h"

/* Starts recording the kernels of this process. Counting must be closed: CUPTI does not do both.
 * Any other status than COUNTER_OK comes with the reason and the remedy. */
enum counter_status cupti_durations_begin(const struct cupti *cupti,
                                          char reason[CUPTI_REASON_BYTES]);

/* ns from the start to the end of the one kernel that has ended since the last call; the device
 * must be idle. NaN if CUPTI recorded none, or several. */
double cupti_durations_take(const struct cupti *cupti);

/* Stops recording. If the device is lost, this calls nothing. */
void cupti_durations_end(const struct cupti *cupti, bool lost);
