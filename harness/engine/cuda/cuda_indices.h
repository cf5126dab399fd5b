/* SPDX-License-Identifier: MIT
 * Indices that are data, on the device, on several placements like the buffers of cuda_buffers.h: as 32-bit integers, whatever a
 * file has. */
#ifndef CBANK_CUDA_INDICES_H
#define CBANK_CUDA_INDICES_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_buffers.h"
#include "indices.h"

struct cuda_device;

/* An array that is on the device. */
struct cuda_indices {
    const struct indices *of; /* not owned */
    uint32_t count; /* of placements */
    uint32_t *on_device[CUDA_PLACEMENTS_MAX]; /* owned */
    struct cuda_indices *next; /* owned */
};

/* Copies an array to the device, unless it is there. False when there is not enough memory, or a call failed. */
bool cuda_indices_add(struct cuda_device *device, const struct indices *indices);

/* Copies all arrays to further placements, as far as the device has memory to spare: see cuda_buffers_spare. False when a call
 * failed: there are fewer then. */
bool cuda_indices_multiply(struct cuda_device *device);

/* An array that was added; NULL where it was not. */
const struct cuda_indices *cuda_indices_find(const struct cuda_device *device, const struct indices *indices);

/* Releases all; accepts what nothing was allocated in. */
void cuda_indices_close(struct cuda_device *device);

#endif
