/* SPDX-License-Identifier: MIT
 * A device that answers probes: declarations shared by cuda_probe.c and cuda_probe_kernels.c. Includes vendor
 * headers. */
#ifndef CBANK_CUDA_PROBE_PARTS_H
#define CBANK_CUDA_PROBE_PARTS_H

#include "cuda_probe.h"
#include "cuda_probe_count.h"
#include "cuda_relay.h"

/* A kernel, and the loads in its code. */
struct cuda_probe_kernel {
    CUfunction function;
    struct probe_kernel found;
};

struct cuda_probe {
    struct device_info info;
    struct cuda_device device;
    struct cuda_module module;
    struct cuda_probe_kernel *kernels[PROBE_KIND_COUNT]; /* owned: [path_count]; the first entry where one kernel serves
                                                          * all paths */
    uint32_t *links; /* pinned, LINK_WORDS: the next table to copy */
    uint32_t *table; /* device, LINK_WORDS */
    uint32_t *cycles, *host_cycles; /* device and pinned, SAMPLES_MAX */
    struct probe_reading *readings, *host_readings; /* device and pinned, READINGS_MAX */
    uint32_t *turn; /* device */
    cudaTextureObject_t texture;
    struct cuda_relay relay; /* open if its probe is usable; the same holds for the next member */
    struct cuda_count count;
    uint64_t bank_address[PROBE_MEMBERS];
    bool tried[PROBE_KIND_COUNT]; /* whether opening was attempted, for probes that open at the first request */
};

/* Finds all kernels of the module, and checks their loads. STATUS_ENVIRONMENT, logged, on failure. */
enum status cuda_probe_find_kernels(struct cuda_probe *probe);

#endif
