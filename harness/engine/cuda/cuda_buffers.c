/* SPDX-License-Identifier: MIT */
#include "cuda_buffers.h"

#include <stdlib.h>

#include "cuda_device.h"
#include "random.h"

static const uint64_t all_bytes_max = 1ull << 29; /* of all placements of one thing */
static const size_t free_share = 4; /* of the free memory is left alone by placements that are not needed */

static size_t bytes_of(const struct cuda_buffers *size)
{
    return size->elements * sizeof(uint32_t);
}

/* Allocates one more pair, with the input of the first. False when there is no more memory: then there is no more than
 * before. */
static bool add_pair(struct cuda_device *device, struct cuda_buffers *size)
{
    uint32_t **input = &size->input[size->count], **output = &size->output[size->count];

    if (CUDA(device, cudaMalloc, (void **)input, bytes_of(size)) &&
        CUDA(device, cudaMalloc, (void **)output, bytes_of(size)) &&
        (size->count == 0 || CUDA(device, cudaMemcpyAsync, *input, size->input[0], bytes_of(size),
                                  cudaMemcpyDeviceToDevice, device->stream))) {
        size->count++;
        return true;
    }
    CUDA_TRY(device, cudaFree, *input);
    CUDA_TRY(device, cudaFree, *output);
    *input = *output = NULL;
    return false;
}

bool cuda_buffers_add(struct cuda_device *device, uint64_t elements)
{
    struct cuda_memory *memory = &device->memory;
    struct cuda_buffers *sizes = realloc(memory->sizes, (memory->count + 1) * sizeof(*sizes));

    if (!sizes)
        return false;
    memory->sizes = sizes;
    sizes[memory->count] = (struct cuda_buffers){.elements = elements};
    if (!add_pair(device, &sizes[memory->count]))
        return false;
    memory->count++;
    return true;
}

static bool open_host(struct cuda_device *device, size_t bytes)
{
    struct cuda_memory *memory = &device->memory;

    for (size_t i = 0; i < CUDA_HOST_OUTPUTS; i++)
        if (!CUDA(device, cudaMallocHost, (void **)&memory->host_output[i], bytes))
            return false;
    memory->host_input = malloc(bytes);
    return memory->host_input != NULL;
}

static void close_host(struct cuda_device *device)
{
    struct cuda_memory *memory = &device->memory;

    for (size_t i = 0; i < CUDA_HOST_OUTPUTS; i++) {
        CUDA_TRY(device, cudaFreeHost, memory->host_output[i]);
        memory->host_output[i] = NULL;
    }
    free(memory->host_input);
    memory->host_input = NULL;
}

bool cuda_buffers_fill(struct cuda_device *device, uint64_t seed)
{
    struct cuda_memory *memory = &device->memory;
    const struct cuda_buffers *largest = &memory->sizes[memory->count - 1];
    bool filled = open_host(device, bytes_of(largest));

    if (filled)
        random_fill_floats(seed + 1, memory->host_input, largest->elements);
    for (size_t i = 0; filled && i < memory->count; i++)
        filled = cuda_device_write(device, memory->sizes[i].input[0], memory->host_input, bytes_of(&memory->sizes[i]));
    /* Copies are of the stream that launches are of: it waits for no other. */
    filled = filled && cuda_device_wait(device);
    if (!filled)
        close_host(device);
    return filled;
}

void cuda_buffers_drop(struct cuda_device *device)
{
    struct cuda_buffers *size = &device->memory.sizes[--device->memory.count];

    for (; size->count > 0; size->count--) {
        CUDA_TRY(device, cudaFree, size->input[size->count - 1]);
        CUDA_TRY(device, cudaFree, size->output[size->count - 1]);
    }
}

bool cuda_buffers_spare(struct cuda_device *device, uint32_t placements, size_t bytes)
{
    size_t left = 0, total = 0;

    return placements < CUDA_PLACEMENTS_MAX && bytes * (placements + 1) <= all_bytes_max &&
           CUDA(device, cudaMemGetInfo, &left, &total) && bytes < left - left / free_share;
}

bool cuda_buffers_multiply(struct cuda_device *device)
{
    struct cuda_buffers *sizes = device->memory.sizes;
    bool multiplied = true;

    for (size_t i = 0; multiplied && i < device->memory.count; i++)
        while (multiplied && cuda_buffers_spare(device, sizes[i].count, 2 * bytes_of(&sizes[i])))
            multiplied = add_pair(device, &sizes[i]);
    return multiplied;
}

const struct cuda_buffers *cuda_buffers_find(const struct cuda_device *device, uint64_t elements)
{
    const struct cuda_buffers *size = device->memory.sizes;

    while (size->elements != elements)
        size++;
    return size;
}

void cuda_buffers_close(struct cuda_device *device)
{
    while (device->memory.count > 0)
        cuda_buffers_drop(device);
    close_host(device);
    free(device->memory.sizes);
    device->memory.sizes = NULL;
}
