/* SPDX-License-Identifier: MIT
 * Stands in for cuda_probe.c in a build without a CUDA toolkit. */
#include "cuda_probe.h"

#include "log.h"

enum status cuda_probe_open(uint32_t ordinal, struct cuda_probe **out, struct device_info *info,
                            struct probe_source *source)
{
    (void)ordinal;
    (void)out;
    (void)info;
    (void)source;
    return log_error(STATUS_ENVIRONMENT, "this build has no CUDA engine; install the CUDA toolkit and run make again, "
                                         "or analyse a recorded file with --replay");
}

void cuda_probe_close(struct cuda_probe *probe)
{
    (void)probe;
}
