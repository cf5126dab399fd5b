/* SPDX-License-Identifier: MIT
 * Stands in for the CUDA engine and its probes in a build without a CUDA toolkit. */
#include <stdio.h>

#include "cuda_probe.h"
#include "doctor.h"
#include "engine.h"
#include "log.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

static const char reason_absent[] = "this build has no CUDA engine; install the CUDA toolkit (12.6 "
                                    "update 2 or later for counters) and run make again";

static uint32_t absent_device_count(const char **reason)
{
    *reason = reason_absent;
    return 0;
}

static bool absent_chips(const struct chip_visitor *visitor, char reason[ENGINE_REASON_BYTES])
{
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

enum status cuda_probe_open(uint32_t ordinal, struct watchdog *watchdog, double watchdog_slack,
                            struct cuda_probe **out, struct device_info *info,
                            struct probe_source *source)
{
    return log_error(STATUS_ENVIRONMENT, "%s, or analyse a recorded file with --replay",
                     reason_absent);
}

void cuda_probe_close(struct cuda_probe *probe)
{
}
