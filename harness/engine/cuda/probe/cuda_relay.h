/* SPDX-License-Identifier: MIT
 * Walks over the constant banks of several modules whose kernels run side by side: see probe_relay in
 * kernels/probe_args.h. Includes vendor headers. */
#ifndef CBANK_CUDA_RELAY_H
#define CBANK_CUDA_RELAY_H

#include "cuda_device.h"
#include "probe_args.h"

enum { CUDA_RELAY_REASON_BYTES = 256 };

struct cuda_relay {
    struct cuda_device *device;                /* not owned */
    struct cuda_module modules[PROBE_MEMBERS]; /* the module "probes" as often: each with a bank of its own */
    CUfunction functions[PROBE_MEMBERS];
    cudaStream_t streams[PROBE_MEMBERS];
    uint64_t *state; /* device: the baton, what arrived, and what is present on each SM */
    struct probe_reading *readings; /* device, PROBE_MEMBERS */
};

/* Loads the modules and lets them walk once. False, with the reason in text, where they do not run side by side or
 * something failed; then nothing is left open. */
bool cuda_relay_open(struct cuda_device *device, struct cuda_relay *out, char reason[CUDA_RELAY_REASON_BYTES]);

/* Releases; accepts a zeroed struct. */
void cuda_relay_close(struct cuda_relay *relay);

/* Copies the first `words` of `links` (pinned) to the banks, CBANK_TABLE_LENGTH to each. */
bool cuda_relay_copy(struct cuda_relay *relay, const uint32_t *links, size_t words);

/* Walks from args->start: `warm_up` accesses, then `timed` into args->cycles (device, zero before). *end is where it
 * ended, *sm the SM that walked. Waits. False when a launch failed, or when the members did not all come. */
bool cuda_relay_walk(struct cuda_relay *relay, const struct probe_args *args, uint32_t *end, uint32_t *sm);

#endif
