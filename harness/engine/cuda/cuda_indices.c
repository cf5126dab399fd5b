/* SPDX-License-Identifier: MIT */
#include "cuda_indices.h"

#include <stdlib.h>

#include "cuda_device.h"

enum { CHUNK = 1 << 22 }; /* indices that are made 32-bit integers at a time */

const uint32_t *cuda_indices_find(const struct cuda_device *device, const struct indices *indices)
{
    const struct cuda_indices *array = device->indices;

    while (array && array->of != indices)
        array = array->next;
    return array ? array->on_device : NULL;
}

/* A file may be larger than the host has memory for: it goes there in pieces. */
static bool copy(struct cuda_device *device, const struct indices *indices, uint32_t *to)
{
    const uint64_t room = indices->count < CHUNK ? indices->count : CHUNK;
    uint32_t *piece = malloc(room * sizeof(*piece));
    bool copied = piece != NULL;

    for (uint64_t first = 0; copied && first < indices->count; first += CHUNK) {
        const uint64_t left = indices->count - first, count = left < CHUNK ? left : CHUNK;

        indices_read(indices, first, (uint32_t)count, piece);
        copied = cuda_device_write(device, to + first, piece, count * sizeof(*piece)) && cuda_device_wait(device);
    }
    free(piece);
    return copied;
}

bool cuda_indices_add(struct cuda_device *device, const struct indices *indices)
{
    struct cuda_indices *array;

    if (cuda_indices_find(device, indices))
        return true;
    array = calloc(1, sizeof(*array));
    if (!array)
        return false;
    if (!CUDA(device, cudaMalloc, (void **)&array->on_device, indices->count * sizeof(*array->on_device)) ||
        !copy(device, indices, array->on_device)) {
        CUDA_TRY(device, cudaFree, array->on_device);
        free(array);
        return false;
    }
    array->of = indices;
    array->next = device->indices;
    device->indices = array;
    return true;
}

void cuda_indices_close(struct cuda_device *device)
{
    for (struct cuda_indices *array = device->indices, *next; array; array = next) {
        next = array->next;
        CUDA_TRY(device, cudaFree, array->on_device);
        free(array);
    }
    device->indices = NULL;
}
