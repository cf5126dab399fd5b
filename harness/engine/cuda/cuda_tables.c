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

/* Sites that a placement of a table of so many bytes has room for: in all an eighth of L2 at most. */
static uint32_t sites_of(const struct cuda_device *device, size_t bytes)
{
    const uint64_t share = device->info->l2_bytes / 8 / CBANK_TABLE_BYTES;

    if (bytes > CBANK_TABLE_BYTES || share < 1)
        return 1;
    return share < CUDA_SITES_MAX ? (uint32_t)share : CUDA_SITES_MAX;
}

/* Bytes of that, from the first site's begin to the last one's end; and with room to begin where it should. */
static size_t sites_bytes(const struct cuda_device *device, const struct cuda_table *table)
{
    return (sites_of(device, table->bytes) - 1) * (size_t)CBANK_TABLE_BYTES + table->bytes;
}

static size_t placement_bytes(const struct cuda_device *device, const struct cuda_table *table)
{
    return 2 * (size_t)CBANK_TABLE_BYTES + sites_bytes(device, table);
}

static bool allocate(struct cuda_device *device, struct cuda_table *table)
{
    void **allocated = &table->allocated[table->count];

    if (!CUDA(device, cudaMalloc, allocated, placement_bytes(device, table)))
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

bool cuda_table_need(struct cuda_device *device, uint32_t k, size_t bytes)
{
    struct cuda_table *table = &device->tables[k];
    const size_t words = (bytes + sizeof(uint32_t) - 1) / sizeof(uint32_t), whole = words * sizeof(uint32_t);

    if (table->bytes >= bytes)
        return true;
    close_table(device, table);
    table->bytes = whole;
    table->sites = 1;
    if (CUDA(device, cudaMallocHost, (void **)&table->values, whole) && allocate(device, table)) {
        random_fill_floats(seed_of(device, k), table->values, words);
        if (CUDA(device, cudaMemcpy, table->on_device[0], table->values, whole, cudaMemcpyHostToDevice))
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

static bool copy(struct cuda_device *device, void *to, const void *from, size_t bytes)
{
    return CUDA(device, cudaMemcpyAsync, to, from, bytes, cudaMemcpyDeviceToDevice, device->stream);
}

/* The textures of a placement like those at the first site of all. */
static bool copy_textures(struct cuda_device *device, struct cuda_table *table, uint32_t placement)
{
    bool copied = true;

    for (uint32_t i = 0; copied && i < SASS_WIDTH_COUNT; i++)
        copied = !table->textures[0][0][i] || place_textures(device, table, placement, i);
    return copied;
}

/* Copies what is at the first site of the first placement to its others, twice as much each time. When a call fails, there is one
 * site. */
static bool fill_sites(struct cuda_device *device, struct cuda_table *table)
{
    const uint32_t sites = sites_of(device, table->bytes);
    bool filled = true;

    for (uint32_t i = 1; filled && i < sites; i *= 2)
        filled = copy(device, table->on_device[0] + i * (CBANK_TABLE_BYTES / sizeof(uint32_t)), table->on_device[0],
                      (sites - i < i ? sites - i : i) * (size_t)CBANK_TABLE_BYTES);
    table->sites = sites;
    if (filled && copy_textures(device, table, 0))
        return true;
    table->sites = 1;
    return false;
}

/* One more placement, with the values and the textures of the first. */
static bool add_placement(struct cuda_device *device, struct cuda_table *table)
{
    const uint32_t placement = table->count;

    if (!allocate(device, table))
        return false;
    if (copy(device, table->on_device[placement], table->on_device[0], sites_bytes(device, table)) &&
        copy_textures(device, table, placement))
        return true;
    release(device, table);
    return false;
}

bool cuda_tables_multiply(struct cuda_device *device)
{
    bool multiplied = true;

    for (uint32_t k = 0; multiplied && k < CUDA_TABLES_MAX; k++) {
        struct cuda_table *table = &device->tables[k];

        multiplied = table->bytes == 0 || fill_sites(device, table);
        while (multiplied && table->bytes > 0 &&
               cuda_buffers_spare(device, table->count, placement_bytes(device, table)))
            multiplied = add_placement(device, table);
    }
    return multiplied;
}

void cuda_tables_close(struct cuda_device *device)
{
    for (uint32_t k = 0; k < CUDA_TABLES_MAX; k++)
        close_table(device, &device->tables[k]);
}
