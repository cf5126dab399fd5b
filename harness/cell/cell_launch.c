/* SPDX-License-Identifier: MIT
 * What the rows and numbers of a cell determine of its launch: the readers of the parameters of
 * READER_LAUNCH and READER_MEMORY. */
#include "cell_launch.h"
#include "launch_path.h"
#include "parameter_index.h"

static struct kernel_args arguments_of(const struct cell *cell, uint32_t other_bytes)
{
    const struct image_size image = workload_image(cell->workload, cell->elements);
    const uint32_t rows[] = {(uint32_t)image.width, (uint32_t)image.height, (uint32_t)image.depth};
    struct kernel_args args = {
        .elements = (uint32_t)cell->elements,
        .numbers = pattern_numbers(cell->parameters),
        .length = table_length(cell->path, cell->parameters),
    };

    if (uses_grid_stride_loop(cell)) {
        args.rows = workload_steps(cell->workload, cell->parameters);
    } else {
        args.rows = rows[cell->workload->dimensions - 1];
        args.pattern = (uint32_t)(cell->pattern - patterns);
    }
    if (path_is_small(cell->path))
        args.copies = table_copies(cell->path, cell->parameters);
    else if (cell->workload->dimensions > 1)
        args.width_log2 = (uint32_t)__builtin_ctzll(image.width);
    if (other_bytes)
        args.polluter_mask = other_bytes / (uint32_t)sizeof(uint32_t) - 1;
    return args;
}

struct cell_launch cell_launch(const struct cell *cell)
{
    const uint32_t *value = cell->parameters;
    const uint32_t modules = value[PARAMETER_modules];

    return (struct cell_launch){
        .variant = workload_variant(value),
        .grid_blocks = cell_grid_blocks(cell),
        .block_size = cell->block_size,
        .shared_bytes = cell_shared_bytes(cell),
        .modules = modules ? modules : 1,
        .table_bytes = table_bytes(cell->path, value),
        .copied_bytes = cell_copied_bytes(cell),
        .other_bytes = value[PARAMETER_polluter_bytes],
        .parameter_bytes = value[PARAMETER_parameter_bytes],
        /* The input may be larger than the output. */
        .room = workload_input_elements(cell->workload, cell->elements),
        .args = cell_launch_path(cell) ? (struct kernel_args){0}
                                       : arguments_of(cell, value[PARAMETER_polluter_bytes]),
    };
}
