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

/* Sites of a placement of a table of so many bytes: in all an eighth of L2 at most, of which 0 bytes are known where there is
 * none. */
static uint32_t sites_of(const struct cuda_device *device, size_t bytes)
{
    const uint64_t share = device->info->l2_bytes / 8 / CBANK_TABLE_BYTES;

    if (bytes > CBANK_TABLE_BYTES || share < 1)
        return 1;
    return share < CUDA_SITES_MAX ? (uint32_t)share : CUDA_SITES_MAX;
}

/* Bytes from the first site's begin to the last one's end. */
static size_t sites_bytes(const struct cuda_table *table)
{
    return (table->sites - 1) * (size_t)CBANK_TABLE_BYTES + table->bytes;
}

static size_t placement_bytes(const struct cuda_table *table)
{
    return 2 * (size_t)CBANK_TABLE_BYTES + sites_bytes(table);
}

static bool allocate(struct cuda_device *device, struct cuda_table *table)
{
    void **allocated = &table->allocated[table->count];

    if (!CUDA(device, cudaMalloc, allocated, placement_bytes(table)))
        return false;
    table->on_device[table->count] = begin_of(*allocated, table->count);
    table->count++;
    return true;
}

static void release(struct cuda_device *device, struct cuda_table *table)
{
    cudaTextureObject_t *const textures = table->textures[--table->count][0];

    for (uint32_t i = 0; i < CUDA_SITES_MAX * SASS_WIDTH_COUNT; i++) {
        if (textures[i])
            CUDA_TRY(device, cudaDestroyTextureObject, textures[i]);
        textures[i] = 0;
    }
    CUDA_TRY(device, cudaFree, table->allocated[table->count]);
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

static bool copy(struct cuda_device *device, void *to, const void *from, size_t bytes)
{
    return CUDA(device, cudaMemcpyAsync, to, from, bytes, cudaMemcpyDeviceToDevice, device->stream);
}

/* Copies what is at the first site to the others, twice as much each time. */
static bool fill_sites(struct cuda_device *device, const struct cuda_table *table)
{
    bool filled = true;

    for (uint32_t i = 1; filled && i < table->sites; i *= 2) {
        const uint32_t left = table->sites - i;

        filled = copy(device, cuda_table_site(table, 0, i), table->on_device[0],
                      (left < i ? left : i) * (size_t)CBANK_TABLE_BYTES);
    }
    return filled;
}

bool cuda_table_need(struct cuda_device *device, uint32_t k, size_t bytes)
{
    struct cuda_table *table = &device->tables[k];
    const size_t words = (bytes + sizeof(uint32_t) - 1) / sizeof(uint32_t), whole = words * sizeof(uint32_t);

    if (table->bytes >= bytes)
        return true;
    close_table(device, table);
    table->bytes = whole;
    table->sites = sites_of(device, whole);
    if (CUDA(device, cudaMallocHost, (void **)&table->values, whole) && allocate(device, table)) {
        random_fill_floats(seed_of(device, k), table->values, words);
        if (CUDA(device, cudaMemcpy, table->on_device[0], table->values, whole, cudaMemcpyHostToDevice) &&
            fill_sites(device, table))
            return true;
    }
    close_table(device, table);
    return false;
}

uint32_t *cuda_table_site(const struct cuda_table *table, uint32_t placement, uint32_t site)
{
    return table->on_device[placement % table->count] +
           site % table->sites * (CBANK_TABLE_BYTES / sizeof(*table->on_device[0]));
}

cudaTextureObject_t cuda_table_site_texture(const struct cuda_table *table, uint32_t placement, uint32_t site,
                                            uint32_t width)
{
    return table->textures[placement % table->count][site % table->sites][__builtin_ctz(width)];
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

/* The textures of a placement, made when they are first asked for. */
static bool place_textures(struct cuda_device *device, struct cuda_table *table, uint32_t placement,
                           uint32_t log2_width)
{
    bool placed = true;

    for (uint32_t i = 0; placed && i < table->sites; i++) {
        cudaTextureObject_t *texture = &table->textures[placement][i][log2_width];

        placed = *texture || cuda_table_texture(device, cuda_table_site(table, placement, i), table->bytes,
                                                1u << log2_width, texture);
    }
    return placed;
}

bool cuda_table_need_texture(struct cuda_device *device, uint32_t k, uint32_t width)
{
    struct cuda_table *table = &device->tables[k];
    bool made = true;

    for (uint32_t i = 0; made && i < table->count; i++)
        made = place_textures(device, table, i, (uint32_t)__builtin_ctz(width));
    return made;
}

/* One more placement, with the values and the textures of the first. */
static bool add_placement(struct cuda_device *device, struct cuda_table *table)
{
    const uint32_t placement = table->count;
    bool added;

    if (!allocate(device, table))
        return false;
    added = copy(device, table->on_device[placement], table->on_device[0], sites_bytes(table));
    for (uint32_t i = 0; added && i < SASS_WIDTH_COUNT; i++)
        added = !table->textures[0][0][i] || place_textures(device, table, placement, i);
    if (!added)
        release(device, table);
    return added;
}

bool cuda_tables_multiply(struct cuda_device *device)
{
    bool multiplied = true;

    for (uint32_t k = 0; k < CUDA_TABLES_MAX; k++) {
        struct cuda_table *table = &device->tables[k];

        while (multiplied && table->bytes > 0 && cuda_buffers_spare(device, table->count, placement_bytes(table)))
            multiplied = add_placement(device, table);
    }
    return multiplied;
}

void cuda_tables_close(struct cuda_device *device)
{
    for (uint32_t k = 0; k < CUDA_TABLES_MAX; k++)
        close_table(device, &device->tables[k]);
}
