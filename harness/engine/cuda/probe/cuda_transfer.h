/* SPDX-License-Identifier: MIT
 * The probe of streams: loads of L1 by their width, of L2 and of device memory, and copies.
 * Includes vendor headers. */
#pragma once

#include "cuda_device.h"
#include "probe_source.h"

struct cuda_transfer {
    struct cuda_device *device; /* not owned; NULL: not open */
    CUfunction function; /* probe_transfer */
    uint32_t *source, *target; /* device, `bytes` and `target_bytes`; NULL: none yet */
    uint64_t bytes, target_bytes;
    struct probe_reading *readings, *host_readings; /* device and pinned, one for each warp */
    size_t warps; /* of a launch: all that it has */
};

/* Takes the kernel. False after a failure: see cuda_device_error. The caller closes *out in either
 * case. */
bool cuda_transfer_open(struct cuda_device *device, CUfunction function, struct cuda_transfer *out);

/* Answers a request of the kind PROBE_TRANSFER; `wrong` tells that a warp read what is not there.
 * Memory of the GPU is taken with the first request that needs it. False as above. */
bool cuda_transfer_ask(struct cuda_transfer *transfer, const struct probe_request *request,
                       uint32_t *answer, bool *wrong);

/* Releases; accepts a zeroed struct. */
void cuda_transfer_close(struct cuda_transfer *transfer);
