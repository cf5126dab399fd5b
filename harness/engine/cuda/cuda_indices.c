/* SPDX-License-Identifier: MIT */
#include "cuda_indices.h"

#include <stdlib.h>

#include "cuda_device.h"

enum { CHUNK = 1 << 22 }; /* indices that are made 32-bit integers at a time */

const struct cuda_indices *cuda_indices_find(const struct cuda_device *device, const struct indices *indices)
{
    const struct cuda_indices *array = device->indices;

    while (array && array->of != indices)
        array = array->next;
    return array;
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

static size_t bytes_of(const struct cuda_indices *array)
{
    return array->of->count * sizeof(*array->on_device[0]);
}

bool cuda_indices_add(struct cuda_device *device, const struct indices *indices)
{
    struct cuda_indices *array;

    if (cuda_indices_find(device, indices))
        return true;
    array = calloc(1, sizeof(*array));
    if (!array)
        return false;
    *array = (struct cuda_indices){.of = indices, .count = 1, .next = device->indices};
    if (!CUDA(device, cudaMalloc, (void **)&array->on_device[0], bytes_of(array)) ||
        !copy(device, indices, array->on_device[0])) {
        CUDA_TRY(device, cudaFree, array->on_device[0]);
        free(array);
        return false;
    }
    device->indices = array;
    return true;
}

static bool add_placement(struct cuda_device *device, struct cuda_indices *array)
{
    uint32_t **place = &array->on_device[array->count];

    if (CUDA(device, cudaMalloc, (void **)place, bytes_of(array)) &&
        CUDA(device, cudaMemcpyAsync, *place, array->on_device[0], bytes_of(array), cudaMemcpyDeviceToDevice,
             device->stream)) {
        array->count++;
        return true;
    }
    CUDA_TRY(device, cudaFree, *place);
    *place = NULL;
    return false;
}

bool cuda_indices_multiply(struct cuda_device *device)
{
    bool multiplied = true;

    for (struct cuda_indices *array = device->indices; multiplied && array; array = array->next)
        while (multiplied && cuda_buffers_spare(device, array->count, bytes_of(array)))
            multiplied = add_placement(device, array);
    return multiplied;
}

void cuda_indices_close(struct cuda_device *device)
{
    for (struct cuda_indices *array = device->indices, *next; array; array = next) {
        next = array->next;
        for (uint32_t i = 0; i < array->count; i++)
            CUDA_TRY(device, cudaFree, array->on_device[i]);
        free(array);
    }
    device->indices = NULL;
}
