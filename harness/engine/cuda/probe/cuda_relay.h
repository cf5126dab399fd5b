/* SPDX-License-Identifier: MIT
 * Pointer chases over the constant banks of several modules whose kernels run at the same time: see
 * probe_relay in kernels/probe_args.h. Includes vendor headers. */
#pragma once

#include "cuda_device.h"
#include "probe_args.h"

enum { CUDA_RELAY_REASON_BYTES = 256 };

struct cuda_relay {
    struct cuda_device *device;                /* not owned */
    /* PROBE_MEMBERS copies of the module "probes", each with its own bank */
    struct cuda_module modules[PROBE_MEMBERS];
    CUfunction functions[PROBE_MEMBERS];
    cudaStream_t streams[PROBE_MEMBERS];
    /* device: the baton, the number of arrived blocks, and the members present on each SM */
    uint64_t *state;
    struct probe_reading *readings; /* device, PROBE_MEMBERS */
};

/* Loads the modules and runs one chase. False, with the reason in text, if they do not run at the
 * same time or something failed; then nothing stays open. */
bool cuda_relay_open(struct cuda_device *device, struct cuda_relay *out,
                     char reason[CUDA_RELAY_REASON_BYTES]);

/* Releases; accepts a zeroed struct. */
void cuda_relay_close(struct cuda_relay *relay);

/* Copies the first `words` of `links` (pinned) to the banks, CBANK_TABLE_LENGTH to each. */
bool cuda_relay_copy(struct cuda_relay *relay, const uint32_t *links, size_t words);

/* Runs a chase from args->start: `warm_up` accesses, then `timed` into args->cycles (device, zero
 * before). *end is its last address, *sm the SM that ran it. Waits for the device. False if a
 * launch failed, or if not all members arrived. */
bool cuda_relay_chase(struct cuda_relay *relay, const struct probe_args *args, uint32_t *end,
                      uint32_t *sm);
