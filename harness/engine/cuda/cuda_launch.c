/* SPDX-License-Identifier: MIT */
#include "cuda_launch.h"

#include <inttypes.h>
#include <stdio.h>

#include "cell_launch.h"
#include "cuda_user.h"

/* -- open -------------------------------------------------------------------------------------- */

/* The number of the table that launches in a module read. One larger than those of patterns is
 * separate, of CBANK_LARGE_BYTES at most. */
static uint32_t table_number(const struct cell *cell, uint32_t module)
{
    return table_bytes(cell->path, cell->parameters) > CBANK_TABLE_BYTES ? CUDA_LARGE_TABLE
                                                                         : module;
}

bool cuda_launch_open(struct cuda_device *device, const struct cell *cell, struct cuda_launch *out,
                      struct kernel_sass *sass, char reason[CELL_REASON_BYTES])
{
    const uint32_t asked = table_bytes(cell->path, cell->parameters);
    /* Tables of one number have the largest size that any cell needs: CBANK_TABLE_BYTES or, for the
     * large one, more. */
    const uint32_t bytes = asked < CBANK_TABLE_BYTES ? CBANK_TABLE_BYTES : asked;
    const uint32_t modules =
        cell->parameters[PARAMETER_modules] ? cell->parameters[PARAMETER_modules] : 1;

    /* The input may be larger than the output. */
    *out = (struct cuda_launch){.cell = cell,
                                .room = workload_input_elements(cell->workload, cell->elements)};
    for (uint32_t k = 0; k < modules; k++) {
        for (uint32_t copy = 0; copy < CUDA_MODULE_COPIES; copy++) {
            const struct cuda_module *module = cuda_memory_module(device, cell->workload, k, copy);

            if (!module)
                return !cell_refuse(reason, "cannot load the module of %s", cell->workload->name);
            if ((k + copy == 0 && !image_kernel(module->cubin, module->cubin_bytes, cell, sass)) ||
                !cuda_module_function(device, module, sass->symbol, &out->code[k][copy].function))
                return !cell_refuse(reason, "the program has no kernel for this cell");
            out->code[k][copy].bank = module->bank;
        }
        if (!cuda_table_need(device, table_number(cell, k), bytes))
            return !cell_refuse(reason, "out of memory for a table of %" PRIu32 " bytes", bytes);
        if (cell->path->unit == UNIT_TEXTURE &&
            !cuda_table_need_texture(device, &device->memory->tables[table_number(cell, k)],
                                     table_width(cell->parameters)))
            return !cell_refuse(reason, "cannot make the texture");
    }
    if (!cuda_device_zeros(device, &device->memory->other,
                           cell->parameters[PARAMETER_polluter_bytes]))
        return !cell_refuse(reason, "out of memory for --polluter-bytes");
    out->modules = modules;
    return true;
}

bool cuda_launch_allow_shared(struct cuda_device *device, const struct cuda_launch *launch,
                              char reason[CELL_REASON_BYTES])
{
    bool allowed = true;

    for (uint32_t k = 0; allowed && k < launch->modules; k++)
        for (uint32_t copy = 0; allowed && copy < CUDA_MODULE_COPIES; copy++)
            allowed = cuda_function_allow_shared(device, launch->code[k][copy].function,
                                                 cell_shared_bytes(launch->cell), reason);
    return allowed;
}

/* -- tables ------------------------------------------------------------------------------------ */

static const struct cuda_code *turn_code(const struct cuda_launch *launch, struct cuda_turn turn)
{
    return &launch->code[turn.number % launch->modules][turn.buffer_set % CUDA_MODULE_COPIES];
}

static const struct cuda_table *turn_table(const struct cuda_device *device,
                                           const struct cuda_launch *launch, uint32_t turn)
{
    return &device->memory->tables[table_number(launch->cell, turn % launch->modules)];
}

const uint32_t *cuda_launch_values(const struct cuda_device *device,
                                   const struct cuda_launch *launch, uint32_t turn)
{
    return turn_table(device, launch, turn)->values;
}

/* The device address of the table of a launch. */
static void *table_home(const struct cuda_device *device, const struct cuda_launch *launch,
                        struct cuda_turn turn)
{
    if (launch->cell->path->home == TABLE_CONSTANT)
        return (void *)(uintptr_t)turn_code(launch, turn)->bank;
    return cuda_table_at(turn_table(device, launch, turn.number), turn.buffer_set,
                         turn.table_offset);
}

bool cuda_launch_refills(const struct cuda_launch *launch)
{
    return !launch->user && cell_copied_bytes(launch->cell) > 0;
}

static bool write_table(struct cuda_device *device, const struct cuda_launch *launch,
                        struct cuda_turn turn, uint32_t bytes)
{
    return cuda_device_write(device, table_home(device, launch, turn),
                             cuda_launch_values(device, launch, turn.number), bytes);
}

bool cuda_launch_clear_table(struct cuda_device *device, const struct cuda_launch *launch,
                             struct cuda_turn turn)
{
    return !cuda_launch_refills(launch) ||
           cuda_device_set(device, table_home(device, launch, turn), 0, CBANK_TABLE_BYTES);
}

bool cuda_launch_restore_table(struct cuda_device *device, const struct cuda_launch *launch,
                               struct cuda_turn turn)
{
    return !cuda_launch_refills(launch) || write_table(device, launch, turn, CBANK_TABLE_BYTES);
}

/* -- buffer sets ------------------------------------------------------------------------------- */

/* The table of a launch, if buffer sets have one each; else NULL. */
static const struct cuda_table *set_table(const struct cuda_device *device,
                                          const struct cuda_launch *launch)
{
    return launch->cell->path->home == TABLE_GLOBAL ? turn_table(device, launch, 0) : NULL;
}

uint32_t cuda_launch_buffer_sets(const struct cuda_device *device, const struct cuda_launch *launch)
{
    if (launch->user)
        return launch->user->buffer_sets;

    const struct cuda_indices *indices = cuda_indices_find(device, launch->cell->indices);
    const struct cuda_table *table = set_table(device, launch);
    const uint32_t buffers = cuda_buffers_find(device, launch->room)->input_output[0].count;
    const uint32_t arrays = indices ? indices->data.count : 1;
    const uint32_t tables = table ? table->memory.count : 1,
                   most = buffers > arrays ? buffers : arrays;

    return most > tables ? most : tables;
}

uint32_t cuda_launch_table_offsets(const struct cuda_device *device,
                                   const struct cuda_launch *launch)
{
    if (launch->user)
        return launch->user->table_offsets;

    const struct cuda_table *table = set_table(device, launch);

    return table ? table->table_offsets : 1;
}

uint64_t cuda_launch_bytes(const struct cuda_device *device, const struct cuda_launch *launch)
{
    if (launch->user)
        return launch->user->of->bytes;

    const struct cuda_indices *indices = cuda_indices_find(device, launch->cell->indices);
    const uint64_t read = indices ? indices->of->count : launch->room;

    return (read + launch->room) * sizeof(uint32_t) +
           launch->cell->parameters[PARAMETER_polluter_bytes];
}

uint32_t *cuda_launch_output(const struct cuda_device *device, const struct cuda_launch *launch,
                             struct cuda_turn turn)
{
    return cuda_buffer_at(&cuda_buffers_find(device, launch->room)->input_output[1],
                          turn.buffer_set);
}

/* -- launches ---------------------------------------------------------------------------------- */

/* Enqueues the work before a launch. */
static bool launch_before(struct cuda_device *device, const struct cuda_launch *launch,
                          struct cuda_turn turn)
{
    return !cuda_launch_refills(launch) ||
           write_table(device, launch, turn, cell_copied_bytes(launch->cell));
}

bool cuda_launch_kernel(struct cuda_device *device, const struct cuda_launch *launch,
                        struct cuda_turn turn)
{
    if (launch->user)
        return cuda_user_launch(device, launch->user, turn);

    const struct cell *cell = launch->cell;
    const struct cell_launch of_cell = cell_launch(cell);
    const struct cuda_table *table = turn_table(device, launch, turn.number);
    const struct cuda_indices *indices = cuda_indices_find(device, cell->indices);
    const struct cuda_buffer *input =
        indices ? &indices->data : &cuda_buffers_find(device, launch->room)->input_output[0];
    struct kernel_args arguments = of_cell.args;

    arguments.input = cuda_buffer_at(input, turn.buffer_set);
    arguments.output = cuda_launch_output(device, launch, turn);
    arguments.table = cuda_table_at(table, turn.buffer_set, turn.table_offset);
    if (cell->path->unit == UNIT_TEXTURE)
        arguments.texture = cuda_table_texture_at(table, turn.buffer_set, turn.table_offset,
                                                  table_width(cell->parameters));
    if (of_cell.other_bytes)
        arguments.other = device->memory->other.words;

    /* The table by value, if it lies in the parameters: it is never the large one. */
    void *parameters[] = {&arguments, &arguments.table,
                          device->memory->tables[turn.number % launch->modules].values};

    return cuda_device_launch(device, turn_code(launch, turn)->function, of_cell.grid_blocks,
                              of_cell.block_size, of_cell.shared_bytes, parameters);
}

bool cuda_launch_cell(struct cuda_device *device, const struct cuda_launch *launch,
                      struct cuda_turn turn)
{
    return launch_before(device, launch, turn) && cuda_launch_kernel(device, launch, turn);
}

bool cuda_launch_prepare(struct cuda_device *device, const struct cuda_launch *launch,
                         struct cell_result *cell, struct cuda_turn turn)
{
    /* of a launch: a second one finds the same cache contents as the first */
    static const double long_ns = 500e3;
    const bool cold = cell->cell.cache_state->flush;
    const uint32_t earlier =
        cold ? 0 : (cell->time.summary.value < long_ns ? 2 : 1) * launch->modules;

    cuda_expect_cell(device, cell, 1 + earlier);
    if (cold && !cuda_launch_flush(device))
        return false;
    for (uint32_t k = 0; k < earlier; k++)
        if (!cuda_launch_cell(device, launch,
                              (struct cuda_turn){.number = k, .buffer_set = turn.buffer_set}))
            return false;
    return launch_before(device, launch, turn) && cuda_device_wait(device);
}
