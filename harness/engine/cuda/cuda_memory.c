/* SPDX-License-Identifier: MIT
 * Buffers in several buffer sets. Nothing is allocated in the way of another buffer's address, so a
 * placement is the same in every plan:
 *
 *   table, one buffer set     | offset 0 | offset 1 | ... | offset n |      within 2 MB, an entry
 * of a TLB start: buffer set x 79 x 512 bytes, modulo 64 KB */
#include "cuda_memory.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "random.h"

/* -- buffer sets ------------------------------------------------------------------------------- */

static const uint64_t all_bytes_max = 1ull << 29; /* of all buffer sets of one buffer */
static const size_t free_share = 4; /* 1 / free_share of the free memory stays free */

static bool copy(struct cuda_device *device, void *to, const void *from, size_t bytes)
{
    return CUDA(device, cudaMemcpyAsync, to, from, bytes, cudaMemcpyDeviceToDevice, device->stream);
}

/* Whether there is room for one more buffer set of a buffer with that many buffer sets of that many
 * bytes. */
static bool is_room(struct cuda_device *device, uint32_t buffer_sets, size_t bytes)
{
    size_t left = 0, total = 0;

    return buffer_sets < CUDA_BUFFER_SETS_MAX && bytes * (buffer_sets + 1) <= all_bytes_max &&
           CUDA(device, cudaMemGetInfo, &left, &total) && bytes < left - left / free_share;
}

void *cuda_buffer_at(const struct cuda_buffer *buffer, uint32_t buffer_set)
{
    return buffer->allocated[buffer_set % buffer->count] + buffer->guard_bytes;
}

bool cuda_buffer_guard(struct cuda_device *device, const struct cuda_buffer *buffer,
                       uint32_t buffer_set)
{
    unsigned char *const first = cuda_buffer_at(buffer, buffer_set);

    return buffer->guard_bytes == 0 ||
           (cuda_device_set(device, first - buffer->guard_bytes, CUDA_GUARD_BYTE,
                            buffer->guard_bytes) &&
            cuda_device_set(device, first + buffer->bytes, CUDA_GUARD_BYTE, buffer->guard_bytes));
}

/* Releases the last buffer set. */
static void release(struct cuda_device *device, struct cuda_buffer *buffer)
{
    void **const last = (void **)&buffer->allocated[--buffer->count];

    CUDA_TRY(device, cudaFree, *last);
    *last = NULL;
}

void cuda_buffer_close(struct cuda_device *device, struct cuda_buffer *buffer)
{
    while (buffer->count > 0)
        release(device, buffer);
}

/* Adds a buffer set. If the call fails, nothing stays allocated. */
static bool allocate(struct cuda_device *device, struct cuda_buffer *buffer)
{
    const bool allocated = CUDA(device, cudaMalloc, (void **)&buffer->allocated[buffer->count],
                                buffer->bytes + 2 * buffer->guard_bytes);

    buffer->count += allocated;
    return allocated;
}

bool cuda_buffers_extend(struct cuda_device *device, struct cuda_buffer *buffers, uint32_t count,
                         uint32_t *failed)
{
    const uint32_t set = buffers[0].count;
    bool made = true;

    for (uint32_t i = 0; made && i < count; i++) {
        made = allocate(device, &buffers[i]) && cuda_buffer_guard(device, &buffers[i], set) &&
               (set == 0 || buffers[i].output ||
                copy(device, cuda_buffer_at(&buffers[i], set), cuda_buffer_at(&buffers[i], 0),
                     buffers[i].bytes));
        if (!made && failed)
            *failed = i;
    }
    for (uint32_t i = 0; !made && i < count; i++)
        if (buffers[i].count > set)
            release(device, &buffers[i]);
    return made;
}

/* The same as often as there is room. */
static bool multiply_buffers(struct cuda_device *device, struct cuda_data *data)
{
    size_t all = 0;
    bool multiplied = true;

    for (uint32_t i = 0; i < data->buffer_count; i++)
        all += data->buffers[i].bytes;
    /* There must be room for all of them. */
    while (multiplied && is_room(device, data->buffers[0].count, data->limited_bytes) &&
           is_room(device, 0, all))
        multiplied = cuda_buffers_extend(device, data->buffers, data->buffer_count, NULL);
    return multiplied;
}

/* -- tables ------------------------------------------------------------------------------------ */

/* Number of table offsets for a buffer set of a table of that many bytes: together at most an
 * eighth of L2. */
static uint32_t table_offset_count(const struct cuda_device *device, size_t bytes)
{
    const uint64_t share = device->info->l2_bytes / 8 / CBANK_TABLE_BYTES;

    if (bytes > CBANK_TABLE_BYTES || share < 1)
        return 1;
    return share < CUDA_TABLE_OFFSETS_MAX ? (uint32_t)share : CUDA_TABLE_OFFSETS_MAX;
}

/* Bytes from the start of the first table offset to the end of the last one. The allocation is
 * larger, so that a buffer set can start at its own address. */
static size_t table_offsets_bytes(const struct cuda_device *device, const struct cuda_table *table)
{
    return (table_offset_count(device, table->bytes) - 1) * (size_t)CBANK_TABLE_BYTES +
           table->bytes;
}

static void release_table(struct cuda_device *device, struct cuda_table *table)
{
    cudaTextureObject_t *const textures = table->textures[table->memory.count - 1][0];

    for (uint32_t i = 0; i < CUDA_TABLE_OFFSETS_MAX * SASS_WIDTH_COUNT; i++) {
        if (textures[i])
            CUDA_TRY(device, cudaDestroyTextureObject, textures[i]);
        textures[i] = 0;
    }
    release(device, &table->memory);
}

void cuda_table_close(struct cuda_device *device, struct cuda_table *table)
{
    while (table->memory.count > 0)
        release_table(device, table);
    CUDA_TRY(device, cudaFreeHost, table->values);
    *table = (struct cuda_table){0};
}

bool cuda_table_open(struct cuda_device *device, struct cuda_table *table, size_t bytes)
{
    cuda_table_close(device, table);
    table->bytes = (bytes + sizeof(uint32_t) - 1) / sizeof(uint32_t) * sizeof(uint32_t);
    table->memory.bytes = 2 * (size_t)CBANK_TABLE_BYTES + table_offsets_bytes(device, table);
    table->table_offsets = 1;
    if (CUDA(device, cudaMallocHost, (void **)&table->values, table->bytes) &&
        allocate(device, &table->memory))
        return true;
    cuda_table_close(device, table);
    return false;
}

bool cuda_table_need(struct cuda_device *device, uint32_t k, size_t bytes)
{
    struct cuda_table *table = &device->memory->tables[k];
    /* Each table has its own values. The seed of the inputs follows that of table 0. */
    const uint64_t seed = device->memory->seed + (k > 0 ? k + 1 : 0);

    if (table->bytes >= bytes)
        return true;
    if (cuda_table_open(device, table, bytes)) {
        random_fill_floats(seed, table->values, table->bytes / sizeof(uint32_t));
        if (CUDA(device, cudaMemcpy, cuda_table_at(table, 0, 0), table->values, table->bytes,
                 cudaMemcpyHostToDevice))
            return true;
    }
    cuda_table_close(device, table);
    return false;
}

uint32_t *cuda_table_at(const struct cuda_table *table, uint32_t buffer_set, uint32_t table_offset)
{
    const uint32_t set = buffer_set % table->memory.count;
    const uintptr_t allocated = (uintptr_t)cuda_buffer_at(&table->memory, set);
    const uintptr_t first =
        (allocated + CBANK_TABLE_BYTES - 1) / CBANK_TABLE_BYTES * CBANK_TABLE_BYTES;

    return (uint32_t *)(first + table_buffer_set_bytes(set) +
                        table_offset % table->table_offsets * (uintptr_t)CBANK_TABLE_BYTES);
}

cudaTextureObject_t cuda_table_texture_at(const struct cuda_table *table, uint32_t buffer_set,
                                          uint32_t table_offset, uint32_t width)
{
    return table->textures[buffer_set % table->memory.count][table_offset % table->table_offsets]
                          [__builtin_ctz(width)];
}

/* Makes the missing textures of all buffer sets. */
static bool make_textures(struct cuda_device *device, struct cuda_table *table)
{
    bool made = true;

    for (uint32_t i = 0; i < table->memory.count * table->table_offsets; i++)
        for (uint32_t width = 0; made && width < SASS_WIDTH_COUNT; width++) {
            const uint32_t set = i / table->table_offsets, offset = i % table->table_offsets;
            cudaTextureObject_t *texture = &table->textures[set][offset][width];

            made = *texture || !(table->texture_widths >> width & 1) ||
                   cuda_table_texture(device, cuda_table_at(table, set, offset), table->bytes,
                                      1u << width, texture);
        }
    return made;
}

bool cuda_table_need_texture(struct cuda_device *device, struct cuda_table *table, uint32_t width)
{
    const uint32_t before = table->texture_widths;

    table->texture_widths |= 1u << __builtin_ctz(width);
    if (make_textures(device, table))
        return true;
    table->texture_widths = before;
    return false;
}

static bool multiply_table(struct cuda_device *device, struct cuda_table *table)
{
    const uint32_t table_offsets = table_offset_count(device, table->bytes);
    uint32_t *const first = cuda_table_at(table, 0, 0);
    bool multiplied = true;

    /* The first table offset of the first buffer set is copied to the other ones, twice as much
     * each time. */
    for (uint32_t i = 1; multiplied && i < table_offsets; i *= 2)
        multiplied =
            copy(device, first + i * (CBANK_TABLE_BYTES / sizeof(*first)), first,
                 (table_offsets - i < i ? table_offsets - i : i) * (size_t)CBANK_TABLE_BYTES);
    table->table_offsets = table_offsets;
    multiplied = multiplied && make_textures(device, table);
    if (!multiplied)
        table->table_offsets = 1;
    /* Further buffer sets have the values and the textures of the first. */
    while (multiplied && is_room(device, table->memory.count, table->memory.bytes)) {
        const uint32_t buffer_set = table->memory.count;

        multiplied = allocate(device, &table->memory);
        if (multiplied && !(copy(device, cuda_table_at(table, buffer_set, 0), first,
                                 table_offsets_bytes(device, table)) &&
                            make_textures(device, table))) {
            release_table(device, table);
            multiplied = false;
        }
    }
    return multiplied;
}

/* -- data -------------------------------------------------------------------------------------- */

void cuda_data_add(struct cuda_device *device, struct cuda_data *data)
{
    struct cuda_data **place = &device->memory->data;

    /* What the user did not ask for is last. */
    while (*place && (*place)->elements - 1 <= data->elements - 1)
        place = &(*place)->next;
    data->next = *place;
    *place = data;
}

static void empty_data(struct cuda_device *device, struct cuda_data *data)
{
    for (uint32_t i = 0; i < data->buffer_count; i++)
        cuda_buffer_close(device, &data->buffers[i]);
    for (uint32_t k = 0; k < data->table_count; k++)
        cuda_table_close(device, &data->tables[k]);
}

bool cuda_data_open(struct cuda_device *device, struct cuda_data *data,
                    const struct launchable *launchable, enum status *status,
                    char reason[CELL_REASON_BYTES])
{
    if (data->kind->open(device, data, launchable, status, reason))
        return true;
    empty_data(device, data);
    return false;
}

bool cuda_data_multiply(struct cuda_device *device, struct cuda_data *data)
{
    bool multiplied = data->buffers[0].count == 0 || multiply_buffers(device, data);

    for (uint32_t k = 0; multiplied && k < data->table_count; k++)
        multiplied = data->tables[k].bytes == 0 || multiply_table(device, &data->tables[k]);
    return multiplied;
}

bool cuda_tables_multiply(struct cuda_device *device)
{
    struct cuda_table *tables = device->memory->tables;

    for (uint32_t k = 0; k < CUDA_TABLES_MAX; k++)
        if (tables[k].bytes > 0 && !multiply_table(device, &tables[k]))
            return false;
    return true;
}

/* -- the host ---------------------------------------------------------------------------------- */

static void close_host(struct cuda_device *device)
{
    struct cuda_memory *memory = device->memory;

    for (size_t i = 0; i < CUDA_HOST_OUTPUTS; i++) {
        CUDA_TRY(device, cudaFreeHost, memory->host_output[i]);
        memory->host_output[i] = NULL;
    }
    free(memory->host_input);
    memory->host_input = NULL;
}

bool cuda_host_need(struct cuda_device *device, uint64_t elements)
{
    struct cuda_memory *memory = device->memory;
    const size_t bytes = elements * sizeof(*memory->host_input);
    uint32_t *outputs[CUDA_HOST_OUTPUTS] = {NULL}, *input;
    bool made = true;

    if (memory->host_elements >= elements)
        return true;
    for (size_t i = 0; made && i < CUDA_HOST_OUTPUTS; i++)
        made = CUDA(device, cudaMallocHost, (void **)&outputs[i], bytes);
    input = made ? malloc(bytes) : NULL;
    if (!input) {
        for (size_t i = 0; i < CUDA_HOST_OUTPUTS; i++)
            CUDA_TRY(device, cudaFreeHost, outputs[i]);
        return false;
    }
    random_fill_floats(memory->seed + 1, input, elements);
    close_host(device);
    memcpy(memory->host_output, outputs, sizeof(outputs));
    memory->host_input = input;
    memory->host_elements = elements;
    return true;
}

/* -- all of it --------------------------------------------------------------------------------- */

/* Compilers whose modules there are: the toolkit's, and the driver's. */
enum { COMPILERS = 2 };

const struct cuda_module *cuda_memory_module(struct cuda_device *device, const struct cell *cell,
                                             uint32_t k, uint32_t copy)
{
    const bool again = k + copy > 0;
    const struct cuda_module *const first = again ? cuda_memory_module(device, cell, 0, 0) : NULL;
    struct cuda_module *const module =
        &device->memory->modules[COMPILERS * (cell->workload - workloads) + cell->jit]
             .copies[k][copy];
    enum status status;

    if (module->module || module->refused)
        return module->refused ? NULL : module;
    if (again)
        status = first ? cuda_module_copy(device, first, module) : STATUS_ENVIRONMENT;
    else
        status = cuda_module_load(device, cell->workload->name, cell->jit, module);
    if (status == STATUS_OK)
        status = cuda_module_find_bank(device, "cbank_values", module);
    if (status == STATUS_OK &&
        !(cuda_table_need(device, k, CBANK_TABLE_BYTES) &&
          CUDA(device, cudaMemcpy, (void *)(uintptr_t)module->bank,
               device->memory->tables[k].values, CBANK_TABLE_BYTES, cudaMemcpyHostToDevice)))
        status = log_error(STATUS_ENVIRONMENT, "cannot fill the constant bank of %s: %s",
                           module->image, cuda_device_error(device));
    if (status == STATUS_OK)
        return module;
    cuda_module_unload(device, module);
    module->refused = cell->jit; /* it takes seconds to fail again */
    return NULL;
}

enum status cuda_memory_open(struct cuda_device *device, uint64_t seed)
{
    struct cuda_memory *memory = calloc(1, sizeof(*memory));

    device->memory = memory;
    if (!memory ||
        !(memory->modules = calloc(COMPILERS * workload_count, sizeof(*memory->modules))))
        return log_memory("the device");
    memory->seed = seed;
    if (!cuda_table_need(device, 0, CBANK_TABLE_BYTES))
        return log_error(STATUS_ENVIRONMENT, "cannot fill a table: %s", cuda_device_error(device));
    return STATUS_OK;
}

void cuda_memory_close(struct cuda_device *device)
{
    struct cuda_memory *memory = device->memory;

    if (!memory)
        return;
    for (struct cuda_data *data; (data = memory->data);) {
        memory->data = data->next;
        empty_data(device, data);
        free(data->tables);
        data->kind->close(data);
    }
    close_host(device);
    CUDA_TRY(device, cudaFree, memory->report);
    for (uint32_t k = 0; k < CUDA_TABLES_MAX; k++)
        cuda_table_close(device, &memory->tables[k]);
    CUDA_TRY(device, cudaFree, memory->polluter.words);
    for (size_t i = 0; memory->modules && i < COMPILERS * workload_count; i++)
        for (size_t k = CUDA_MODULES_MAX; k-- > 0;)
            for (size_t copy = CUDA_MODULE_COPIES; copy-- > 0;)
                cuda_module_unload(device, &memory->modules[i].copies[k][copy]);
    free(memory->modules);
    free(memory);
    device->memory = NULL;
}
