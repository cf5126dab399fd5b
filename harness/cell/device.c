/* SPDX-License-Identifier: MIT */
#include "device.h"

#include <math.h>

const struct device_info device_unknown = {.sm_clock_max_mhz = NAN,
                                           .memory_clock_max_mhz = NAN,
                                           .launch_ns = NAN};
