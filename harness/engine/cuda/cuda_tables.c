/* SPDX-License-Identifier: MIT */
#include "cuda_tables.h"

#include "cuda_device.h"
#include "random.h"

/* Where a placement begins in what was allocated for it: it does not depend on what else is. */
static uint32_t *begin_of(void *allocated, uint32_t placement)
{
    const uintptr_t first = ((uintptr_t)allocated + CBANK_TABLE_BYTES - 1) / CBANK_TABLE_BYTES * CBANK_TABLE_BYTES;

    return (uint32_t *)(first + table_placement_bytes(placement));
}

static bool allocate(struct cuda_device *device, struct cuda_table *table, size_t bytes)
{
    void **allocated = &table->allocated[table->count];

    if (!CUDA(device, cudaMalloc, allocated, 2 * (size_t)CBANK_TABLE_BYTES + bytes))
        return false;
    table->on_device[table->count] = begin_of(*allocated, table->count);
    table->count++;
    return true;
}

static void release(struct cuda_device *device, struct cuda_table *table)
{
    const uint32_t placement = --table->count;

    for (uint32_t i = 0; i < SASS_WIDTH_COUNT; i++) {
        if (table->textures[placement][i])
            CUDA_TRY(device, cudaDestroyTextureObject, table->textures[placement][i]);
        table->textures[placement][i] = 0;
    }
    CUDA_TRY(device, cudaFree, table->allocated[placement]);
}

static void close_table(struct cuda_device *device, struct cuda_table *table)
{
    while (table->count > 0)
        release(device, table);
    CUDA_TRY(device, cudaFreeHost, table->values);
    *table = (struct cuda_table){0};
}

/* Tables have values of their own. The seed of the inputs follows that of table 0. */
static uint64_t seed_of(const struct cuda_device *device, uint32_t k)
{
    return device->seed + (k > 0 ? k + 1 : 0);
}

bool cuda_table_need(struct cuda_device *device, uint32_t k, size_t bytes)
{
    struct cuda_table *table = &device->tables[k];
    const size_t words = (bytes + sizeof(uint32_t) - 1) / sizeof(uint32_t), whole = words * sizeof(uint32_t);

    if (table->bytes >= bytes)
        return true;
    close_table(device, table);
    if (!CUDA(device, cudaMallocHost, (void **)&table->values, whole) || !allocate(device, table, whole)) {
        close_table(device, table);
        return false;
    }
    table->bytes = whole;
    random_fill_floats(seed_of(device, k), table->values, words);
    if (CUDA(device, cudaMemcpy, table->on_device[0], table->values, whole, cudaMemcpyHostToDevice))
        return true;
    close_table(device, table);
    return false;
}

bool cuda_table_texture(struct cuda_device *device, const uint32_t *on_device, size_t bytes, uint32_t width,
                        cudaTextureObject_t *texture)
{
    const int bits = width < sizeof(uint32_t) ? 8 * (int)width : 32, rest = width > 8 ? bits : 0;
    const struct cudaResourceDesc resource = {
        .resType = cudaResourceTypeLinear,
        .res.linear = {.devPtr = (void *)(uintptr_t)on_device,
                       .desc = {bits, width > sizeof(uint32_t) ? bits : 0, rest, rest, cudaChannelFormatKindUnsigned},
                       .sizeInBytes = bytes},
    };
    const struct cudaTextureDesc description = {.readMode = cudaReadModeElementType};

    return CUDA(device, cudaCreateTextureObject, texture, &resource, &description, NULL);
}

/* The texture of a placement, made when it is first asked for. */
static bool place_texture(struct cuda_device *device, struct cuda_table *table, uint32_t placement, uint32_t log2_width)
{
    cudaTextureObject_t *texture = &table->textures[placement][log2_width];

    return *texture || cuda_table_texture(device, table->on_device[placement], table->bytes, 1u << log2_width, texture);
}

bool cuda_table_need_texture(struct cuda_device *device, uint32_t k, uint32_t width)
{
    struct cuda_table *table = &device->tables[k];
    bool made = true;

    for (uint32_t i = 0; made && i < table->count; i++)
        made = place_texture(device, table, i, (uint32_t)__builtin_ctz(width));
    return made;
}

/* One more placement, with the values and the textures of the first. */
static bool add_placement(struct cuda_device *device, struct cuda_table *table)
{
    const uint32_t placement = table->count;
    bool added;

    if (!allocate(device, table, table->bytes))
        return false;
    added = CUDA(device, cudaMemcpyAsync, table->on_device[placement], table->on_device[0], table->bytes,
                 cudaMemcpyDeviceToDevice, device->stream);
    for (uint32_t i = 0; added && i < SASS_WIDTH_COUNT; i++)
        added = !table->textures[0][i] || place_texture(device, table, placement, i);
    if (!added)
        release(device, table);
    return added;
}

bool cuda_tables_multiply(struct cuda_device *device)
{
    bool multiplied = true;

    for (uint32_t k = 0; k < CUDA_TABLES_MAX; k++) {
        struct cuda_table *table = &device->tables[k];

        while (multiplied && table->bytes > 0 &&
               cuda_buffers_spare(device, table->count, 2 * CBANK_TABLE_BYTES + table->bytes))
            multiplied = add_placement(device, table);
    }
    return multiplied;
}

void cuda_tables_close(struct cuda_device *device)
{
    for (uint32_t k = 0; k < CUDA_TABLES_MAX; k++)
        close_table(device, &device->tables[k]);
}
