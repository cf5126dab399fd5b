/* SPDX-License-Identifier: MIT
 * Stands in for engine_cuda.c in a build without a CUDA toolkit. */
#include "engine.h"

static const char reason_absent[] =
    "this build has no CUDA engine; install the CUDA toolkit (12.6 update 2 or later for counters) and run make again";

static uint32_t absent_device_count(const char **reason)
{
    *reason = reason_absent;
    return 0;
}

static bool absent_chips(void (*each)(void *context, const struct chip_counters *chip), void *context,
                         const char **reason)
{
    (void)each;
    (void)context;
    *reason = reason_absent;
    return false;
}

static void absent_diagnose(const struct diagnosis *diagnosis)
{
    diagnosis->report(diagnosis->context, FINDING_PROBLEM, "CUDA engine", "not in this build",
                      "install the CUDA toolkit and run make again");
}

const struct engine engine_cuda = {
    .name = "cuda",
    .summary = "measures on an NVIDIA GPU (not in this build)",
    .device_count = absent_device_count,
    .chips = absent_chips,
    .diagnose = absent_diagnose,
};
