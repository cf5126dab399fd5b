/* SPDX-License-Identifier: MIT
 * Stands in for the CUDA engine in a build without a CUDA toolkit. */
#include <stdio.h>

#include "doctor.h"
#include "engine.h"

static const char reason_absent[] =
    "this build has no CUDA engine; install the CUDA toolkit (12.6 update 2 or later for counters) and run make again";

static uint32_t absent_device_count(const char **reason)
{
    *reason = reason_absent;
    return 0;
}

static bool absent_chips(const struct chip_visitor *visitor, char reason[ENGINE_REASON_BYTES])
{
    (void)visitor;
    snprintf(reason, ENGINE_REASON_BYTES, "%s", reason_absent);
    return false;
}

static void absent_diagnose(struct diagnosis *diagnosis)
{
    diagnosis_add_reason(diagnosis, FINDING_PROBLEM, "CUDA engine", reason_absent);
}

const struct engine engine_cuda = {
    .name = "cuda",
    .summary = "measures on an NVIDIA GPU (not in this build)",
    .device_count = absent_device_count,
    .chips = absent_chips,
    .diagnose = absent_diagnose,
};
