/* SPDX-License-Identifier: MIT
 * Launching a launchable: its arguments get the addresses of a turn, and the host writes its table
 * first where a cell asks for it. */
#include "launchable.h"

#include <stdlib.h>
#include <string.h>

void launchable_close(struct cuda_device *device, struct launchable *launchable)
{
    if (launchable->filler->close)
        launchable->filler->close(device, launchable);
    free(launchable->arguments);
    free(launchable);
}

void launchable_add_address(struct launchable *launchable, struct launchable_address address)
{
    launchable->addresses[launchable->address_count++] = address;
}

double launchable_seconds(const struct launchable *launchable, uint32_t launches)
{
    return launches * launchable->launch_seconds + launchable->copy_seconds;
}

bool launchable_allow_shared(struct cuda_device *device, const struct launchable *launchable,
                             char reason[CELL_REASON_BYTES])
{
    for (uint32_t k = 0; k < launchable->modules; k++)
        for (uint32_t copy = 0; copy < CUDA_MODULE_COPIES; copy++)
            if (!cuda_function_allow_shared(device, launchable->code[k][copy].function,
                                            launchable->shared_bytes, reason))
                return false;
    return true;
}

/* -- what a turn reads ------------------------------------------------------------------------- */

static const struct launchable_code *code_of(const struct launchable *launchable,
                                             struct cuda_turn turn)
{
    return &launchable
                ->code[turn.number % launchable->modules][turn.buffer_set % CUDA_MODULE_COPIES];
}

const struct launchable_table *launchable_table_of(const struct launchable *launchable,
                                                   uint32_t number, struct cuda_turn turn)
{
    return &launchable
                ->tables[turn.number % launchable->modules * launchable->table_count + number];
}

void *launchable_buffer_at(const struct launchable *launchable, uint32_t number,
                           struct cuda_turn turn)
{
    return cuda_buffer_at(launchable->buffers[number].memory, turn.buffer_set);
}

uint32_t launchable_buffer_sets(const struct launchable *launchable)
{
    uint32_t most = 1;

    for (uint32_t i = 0; i < launchable->buffer_count; i++)
        if (launchable->buffers[i].memory->count > most)
            most = launchable->buffers[i].memory->count;
    for (uint32_t k = 0; k < launchable->table_count; k++)
        if (launchable->tables[k].addressed && launchable->tables[k].table->memory.count > most)
            most = launchable->tables[k].table->memory.count;
    return most;
}

uint32_t launchable_table_offsets(const struct launchable *launchable)
{
    uint32_t most = 1;

    for (uint32_t k = 0; k < launchable->table_count; k++)
        if (launchable->tables[k].addressed && launchable->tables[k].table->table_offsets > most)
            most = launchable->tables[k].table->table_offsets;
    return most;
}

/* -- the table that the host writes ------------------------------------------------------------ */

/* The address on the device where a launch finds its first table. */
static void *table_home(const struct launchable *launchable, struct cuda_turn turn)
{
    const struct launchable_table *table = launchable_table_of(launchable, 0, turn);

    return table->addressed ? cuda_table_at(table->table, turn.buffer_set, turn.table_offset)
                            : (void *)(uintptr_t)code_of(launchable, turn)->bank;
}

static bool write_table(struct cuda_device *device, const struct launchable *launchable,
                        struct cuda_turn turn, size_t bytes)
{
    return cuda_device_write(device, table_home(launchable, turn),
                             launchable_table_of(launchable, 0, turn)->table->values, bytes);
}

bool launchable_clear_table(struct cuda_device *device, const struct launchable *launchable,
                            struct cuda_turn turn)
{
    return launchable->copied_bytes == 0 ||
           cuda_device_set(device, table_home(launchable, turn), 0, CBANK_TABLE_BYTES);
}

bool launchable_restore_table(struct cuda_device *device, const struct launchable *launchable,
                              struct cuda_turn turn)
{
    return launchable->copied_bytes == 0 ||
           write_table(device, launchable, turn, CBANK_TABLE_BYTES);
}

/* -- launches ---------------------------------------------------------------------------------- */

/* Writes an address of the turn into an argument. */
static void write_address(const struct launchable *launchable,
                          const struct launchable_address *address, struct cuda_turn turn,
                          void **parameters)
{
    const bool of_buffer = address->place == PLACE_BUFFER;
    const struct launchable_table *table =
        launchable_table_of(launchable, of_buffer ? 0 : address->number, turn);
    uint64_t value = 0; /* addresses and textures have 64 bits */

    switch (address->place) {
    case PLACE_BUFFER:
        value = (uintptr_t)launchable_buffer_at(launchable, address->number, turn);
        break;
    case PLACE_TABLE:
        value = (uintptr_t)cuda_table_at(table->table, turn.buffer_set, turn.table_offset);
        break;
    case PLACE_TEXTURE:
        value =
            cuda_table_texture_at(table->table, turn.buffer_set, turn.table_offset, table->width);
        break;
    case PLACE_ENTRIES:
        parameters[address->argument] = table->table->values;
        return;
    }
    memcpy((unsigned char *)parameters[address->argument] + address->offset, &value, sizeof(value));
}

bool launchable_launch_kernel(struct cuda_device *device, const struct launchable *launchable,
                              struct cuda_turn turn)
{
    const uint32_t *grid = launchable->grid, *block = launchable->block;
    unsigned char *arguments = launchable->arguments + turn.buffer_set % launchable->argument_sets *
                                                           launchable->argument_bytes;
    void *parameters[CBANK_ARGUMENTS_MAX];

    for (uint32_t i = 0; i < launchable->argument_count; i++)
        parameters[i] = arguments + launchable->offsets[i];
    for (uint32_t i = 0; i < launchable->address_count; i++)
        write_address(launchable, &launchable->addresses[i], turn, parameters);
    return DRIVER(device, cuLaunchKernel, code_of(launchable, turn)->function, grid[0], grid[1],
                  grid[2], block[0], block[1], block[2], launchable->shared_bytes, device->stream,
                  parameters, NULL);
}

bool launchable_by_host(const struct launchable *launchable)
{
    return launchable->action && launchable->action->by_host;
}

const char *launchable_uncounted(const struct launchable *launchable)
{
    return launchable->action ? launchable->action->uncounted : NULL;
}

bool launchable_launch_before(struct cuda_device *device, const struct launchable *launchable,
                              struct cuda_turn turn)
{
    return launchable->copied_bytes == 0 ||
           write_table(device, launchable, turn, launchable->copied_bytes);
}

bool launchable_launch(struct cuda_device *device, const struct launchable *launchable,
                       struct cuda_turn turn)
{
    return launchable->action ? launchable->action->act(device, launchable, turn)
                              : launchable_launch_before(device, launchable, turn) &&
                                    launchable_launch_kernel(device, launchable, turn);
}

bool launchable_prepare(struct cuda_device *device, const struct launchable *launchable,
                        struct cell_result *cell, struct cuda_turn turn)
{
    /* of a launch: a second one finds the same cache contents as the first */
    static const double long_ns = 500e3;
    const bool cold = cell->cell.cache_state->flush;
    const uint32_t earlier =
        cold ? 0 : (cell->time.summary.value < long_ns ? 2 : 1) * launchable->modules;

    cuda_expect_cell(device, cell, launchable_seconds(launchable, 1 + earlier));
    if (cold && !cuda_launch_flush(device))
        return false;
    for (uint32_t k = 0; k < earlier; k++)
        if (!launchable_launch(device, launchable,
                               (struct cuda_turn){.number = k, .buffer_set = turn.buffer_set}))
            return false;
    return launchable_launch_before(device, launchable, turn) && cuda_device_wait(device);
}
