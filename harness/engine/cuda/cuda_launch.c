/* SPDX-License-Identifier: MIT */
#include "cuda_launch.h"

#include <inttypes.h>
#include <stdio.h>

#include "kernel_args.h"

/* -- open ---------------------------------------------------------------------------------------------- */

/* The table that launches in a module read. */
static uint32_t table_number(const struct cell *cell, uint32_t module)
{
    return table_is_large(cell->path, cell->parameters) ? CUDA_LARGE_TABLE : module;
}

/* Sees to it that the device has the table, with a texture over it where the cell reads that. Tables of one number are as large as
 * any cell asks for: CBANK_TABLE_BYTES or, of the large one, more. */
static bool open_table(struct cuda_device *device, const struct cell *cell, uint32_t module,
                       char reason[CELL_REASON_BYTES])
{
    const uint32_t table = table_number(cell, module), asked = table_bytes(cell->path, cell->parameters);
    const uint32_t bytes = asked < CBANK_TABLE_BYTES ? CBANK_TABLE_BYTES : asked;

    if (!cuda_table_need(device, table, bytes))
        snprintf(reason, CELL_REASON_BYTES, "out of memory for a table of %" PRIu32 " bytes", bytes);
    else if (cell->path->unit == UNIT_TEXTURE && !cuda_table_need_texture(device, table, table_width(cell->parameters)))
        snprintf(reason, CELL_REASON_BYTES, "cannot make the texture");
    else
        return true;
    return false;
}

/* Modules that launches of the cell alternate between. */
static uint32_t module_count(const struct cell *cell)
{
    return cell->parameters[PARAMETER_modules] ? cell->parameters[PARAMETER_modules] : 1;
}

/* The kernel in a copy of module k; the first says which it is. */
static bool open_code(struct cuda_device *device, uint32_t k, uint32_t copy, struct cuda_launch *out,
                      struct kernel_sass *sass, char reason[CELL_REASON_BYTES])
{
    const struct cell *cell = out->cell;
    const struct cuda_module *module = cuda_device_module(device, cell->workload, k, copy);

    if (!module)
        snprintf(reason, CELL_REASON_BYTES, "cannot load the module of %s", cell->workload->name);
    else if ((k + copy == 0 && !image_kernel(module->cubin, module->cubin_bytes, cell, sass)) ||
             !cuda_module_function(device, module, sass->symbol, &out->code[k][copy].function))
        snprintf(reason, CELL_REASON_BYTES, "the program has no kernel for this cell");
    else {
        out->code[k][copy].bank = module->bank;
        return true;
    }
    return false;
}

/* Module k with what its launches read. */
static bool open_module(struct cuda_device *device, uint32_t k, struct cuda_launch *out, struct kernel_sass *sass,
                        char reason[CELL_REASON_BYTES])
{
    for (uint32_t copy = 0; copy < CUDA_MODULE_COPIES; copy++)
        if (!open_code(device, k, copy, out, sass, reason))
            return false;
    return open_table(device, out->cell, k, reason);
}

bool cuda_launch_open(struct cuda_device *device, const struct cell *cell, struct cuda_launch *out,
                      struct kernel_sass *sass, char reason[CELL_REASON_BYTES])
{
    const uint32_t modules = module_count(cell);

    /* The input may be larger than the output. */
    *out = (struct cuda_launch){.cell = cell, .room = workload_input_elements(cell->workload, cell->elements)};
    for (uint32_t k = 0; k < modules; k++)
        if (!open_module(device, k, out, sass, reason))
            return false;
    if (!cuda_device_zeros(device, &device->other, cell->parameters[PARAMETER_pressure_bytes])) {
        snprintf(reason, CELL_REASON_BYTES, "out of memory for --pressure-bytes");
        return false;
    }
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

/* -- tables -------------------------------------------------------------------------------------------- */

static uint32_t turn_module(const struct cuda_launch *launch, uint32_t turn)
{
    return turn % launch->modules;
}

static const struct cuda_code *turn_code(const struct cuda_launch *launch, struct cuda_turn turn)
{
    return &launch->code[turn_module(launch, turn.number)][turn.placement % CUDA_MODULE_COPIES];
}

static const struct cuda_table *turn_table(const struct cuda_device *device, const struct cuda_launch *launch,
                                           uint32_t turn)
{
    return &device->tables[table_number(launch->cell, turn_module(launch, turn))];
}

const uint32_t *cuda_launch_values(const struct cuda_device *device, const struct cuda_launch *launch, uint32_t turn)
{
    return turn_table(device, launch, turn)->values;
}

/* Where the table of a launch is on the device. */
static void *table_home(const struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn)
{
    if (launch->cell->path->home == TABLE_CONSTANT)
        return (void *)(uintptr_t)turn_code(launch, turn)->bank;
    return cuda_table_site(turn_table(device, launch, turn.number), turn.placement, turn.site);
}

bool cuda_launch_refills(const struct cuda_launch *launch)
{
    return cell_copied_bytes(launch->cell) > 0;
}

static bool write_table(struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn,
                        uint32_t bytes)
{
    return cuda_device_write(device, table_home(device, launch, turn), cuda_launch_values(device, launch, turn.number),
                             bytes);
}

bool cuda_launch_clear_table(struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn)
{
    return !cuda_launch_refills(launch) ||
           cuda_device_set(device, table_home(device, launch, turn), 0, CBANK_TABLE_BYTES);
}

bool cuda_launch_restore_table(struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn)
{
    return !cuda_launch_refills(launch) || write_table(device, launch, turn, CBANK_TABLE_BYTES);
}

/* -- placements ---------------------------------------------------------------------------------------- */

/* The table of a launch, if it is one of those that lie in several places; else NULL. */
static const struct cuda_table *placed_table(const struct cuda_device *device, const struct cuda_launch *launch)
{
    return launch->cell->path->home == TABLE_GLOBAL ? turn_table(device, launch, 0) : NULL;
}

uint32_t cuda_launch_placements(const struct cuda_device *device, const struct cuda_launch *launch)
{
    const struct cuda_indices *indices = cuda_indices_find(device, launch->cell->indices);
    const struct cuda_table *table = placed_table(device, launch);
    const uint32_t buffers = cuda_buffers_find(device, launch->room)->count, arrays = indices ? indices->count : 1;
    const uint32_t tables = table ? table->count : 1, most = buffers > arrays ? buffers : arrays;

    return most > tables ? most : tables;
}

uint32_t cuda_launch_sites(const struct cuda_device *device, const struct cuda_launch *launch)
{
    const struct cuda_table *table = placed_table(device, launch);

    return table ? table->sites : 1;
}

uint64_t cuda_launch_bytes(const struct cuda_device *device, const struct cuda_launch *launch)
{
    const struct cuda_indices *indices = cuda_indices_find(device, launch->cell->indices);
    const uint64_t read = indices ? indices->of->count : launch->room;

    return (read + launch->room) * sizeof(uint32_t) + launch->cell->parameters[PARAMETER_pressure_bytes];
}

uint32_t *cuda_launch_output(const struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn)
{
    const struct cuda_buffers *buffers = cuda_buffers_find(device, launch->room);

    return buffers->output[turn.placement % buffers->count];
}

/* What a launch reads: its elements, or their indices. */
static const uint32_t *place_input(const struct cuda_device *device, const struct cuda_launch *launch,
                                   uint32_t placement)
{
    const struct cuda_indices *indices = cuda_indices_find(device, launch->cell->indices);
    const struct cuda_buffers *buffers = cuda_buffers_find(device, launch->room);

    return indices ? indices->on_device[placement % indices->count] : buffers->input[placement % buffers->count];
}

/* -- launches ------------------------------------------------------------------------------------------ */

/* What an image needs, or the copies of a table. */
static uint32_t width_or_copies(const struct cell *cell)
{
    const struct image_size image = workload_image(cell->workload, cell->elements);

    if (path_is_small(cell->path))
        return table_copies(cell->path, cell->parameters);
    return cell->workload->dimensions > 1 ? (uint32_t)__builtin_ctzll(image.width) : 0;
}

static struct kernel_args launch_arguments(const struct cuda_device *device, const struct cuda_launch *launch,
                                           struct cuda_turn turn)
{
    const struct cell *cell = launch->cell;
    const struct image_size image = workload_image(cell->workload, cell->elements);
    const uint64_t rows[] = {image.width, image.height, image.depth};
    const struct cuda_table *table = turn_table(device, launch, turn.number);

    return (struct kernel_args){
        .input = place_input(device, launch, turn.placement),
        .output = cuda_launch_output(device, launch, turn),
        .table = cuda_table_site(table, turn.placement, turn.site),
        .elements = (uint32_t)cell->elements,
        .divergence = 0,
        .texture = cuda_table_site_texture(table, turn.placement, turn.site, table_width(cell->parameters)),
        .numbers = pattern_numbers(cell->parameters),
        .pattern = cell->indices ? 0 : (uint32_t)(cell->pattern - patterns),
        .length = table_length(cell->path, cell->parameters),
        .width_log2 = width_or_copies(cell),
        .rows = cell->indices ? workload_steps(cell->workload, cell->parameters)
                              : (uint32_t)rows[cell->workload->dimensions - 1],
    };
}

bool cuda_launch_before(struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn)
{
    return !cuda_launch_refills(launch) || write_table(device, launch, turn, cell_copied_bytes(launch->cell));
}

bool cuda_launch_kernel(struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn)
{
    const struct cell *cell = launch->cell;
    struct kernel_args arguments = launch_arguments(device, launch, turn);
    const uint32_t other_bytes = cell->parameters[PARAMETER_pressure_bytes];
    const uint32_t *restricted = arguments.table;

    if (other_bytes) {
        arguments.other = device->other.words;
        arguments.other_mask = other_bytes / (uint32_t)sizeof(uint32_t) - 1;
    }

    /* The table by value, where it lies in the parameters: it is never the large one. */
    void *parameters[] = {&arguments, &restricted, device->tables[turn_module(launch, turn.number)].values};

    return cuda_device_launch(device, turn_code(launch, turn)->function, cell_grid_blocks(cell), cell->block_size,
                              cell_shared_bytes(cell), parameters);
}

bool cuda_launch_cell(struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn)
{
    return cuda_launch_before(device, launch, turn) && cuda_launch_kernel(device, launch, turn);
}
