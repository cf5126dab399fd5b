/* SPDX-License-Identifier: MIT
 * Input and output of cells on the device, on several placements.
 *
 * Where buffers lie moves the time of a small cell a little, and a user's buffers lie somewhere else. So every size of
 * a plan has pairs of buffers of its own, all allocated at the same time, and a cell's samples take them in turn. They
 * follow from the size alone and not from what else is in the plan. */
#ifndef CBANK_CUDA_BUFFERS_H
#define CBANK_CUDA_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "path.h"

enum {
    CUDA_PLACEMENTS_MAX = TABLE_PLACEMENTS,
    CUDA_HOST_OUTPUTS = 2, /* one is compared while the other is fetched */
};

struct cuda_device;

/* The pairs of one size. */
struct cuda_buffers {
    uint64_t elements;
    uint32_t count; /* of placements; 0: there was no memory */
    uint32_t *input[CUDA_PLACEMENTS_MAX], *output[CUDA_PLACEMENTS_MAX]; /* device; owned */
};

/* All of a device. */
struct cuda_memory {
    struct cuda_buffers *sizes; /* owned; ascending */
    size_t count;
    uint32_t *host_input; /* of the largest size: the smaller ones begin like it */
    uint32_t *host_output[CUDA_HOST_OUTPUTS]; /* pinned; owned */
};

/* Allocates the first pair for a size that is not there yet; sizes come in ascending order. False when the device has
 * not enough memory: then nothing of this size is allocated. */
bool cuda_buffers_add(struct cuda_device *device, uint64_t elements);

/* Allocates the host's memory for the largest size and fills all inputs with random values. False when there is not
 * enough memory: cuda_buffers_drop it then and call again. */
bool cuda_buffers_fill(struct cuda_device *device, uint64_t seed);

/* Releases the largest size. */
void cuda_buffers_drop(struct cuda_device *device);

/* Allocates further pairs for all sizes, as far as the device has memory that nothing else will ask for, and gives a
 * size 512 MiB at most. False when an allocation failed: there are fewer then. */
bool cuda_buffers_multiply(struct cuda_device *device);

/* Whether there is memory for one more placement of something that has so many bytes and placements, and it is wanted: 24 and
 * 512 MiB of them at most. */
bool cuda_buffers_spare(struct cuda_device *device, uint32_t placements, size_t bytes);

/* The pairs of a size that was added. */
const struct cuda_buffers *cuda_buffers_find(const struct cuda_device *device, uint64_t elements);

/* Releases all; accepts what nothing was allocated in. */
void cuda_buffers_close(struct cuda_device *device);

#endif
