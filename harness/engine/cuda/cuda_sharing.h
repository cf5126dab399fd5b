/* SPDX-License-Identifier: MIT
 * The probe of SMs that share a constant cache: the kernel of sharing.cu. Includes vendor
 * headers. */
#pragma once

#include "cuda_device.h"
#include "probe_source.h"

struct cuda_sharing {
    struct cuda_device *device; /* not owned; NULL: not open */
    struct cuda_module module;
    CUfunction function;
    uint32_t shared_bytes; /* of a block: no two blocks fit on an SM */
    struct probe_reading *readings, *host_readings; /* device and pinned, one for each SM */
    uint32_t *turn; /* device */
};

/* Loads the module. False after a failure: see cuda_device_error. The caller closes *out in either
 * case. */
bool cuda_sharing_open(struct cuda_device *device, struct cuda_sharing *out);

/* Answers a request of the kind PROBE_SHARING. Empties the caches before. False as above. */
bool cuda_sharing_ask(struct cuda_sharing *sharing, const struct probe_request *request,
                      uint32_t *answer);

/* Releases; accepts a zeroed struct. */
void cuda_sharing_close(struct cuda_sharing *sharing);
