/* SPDX-License-Identifier: MIT
 * What the kernels of cells write, from the arguments of the launch and the memory of the device:
 * kernels.cu once more, on the CPU. */
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "parallel.h"
#include "parameter_index.h"

/* A launch with what its pointers point to. */
struct running {
    const struct launch *launch;
    const uint32_t *input, *table; /* table NULL: the path loads nothing */
    uint32_t length, width; /* elements of the table, and bytes of one */
    uint32_t *output;
};

/* -- where a path finds the table -------------------------------------------------------------- */

const void *path_table(const struct path *path, const struct spaces *spaces)
{
    const struct cudaResourceDesc *const resource = (const void *)(uintptr_t)spaces->texture;

    if (path->home == TABLE_PARAMETER)
        return NULL;
    if (path->home == TABLE_CONSTANT)
        return spaces->bank ? spaces->bank->address : NULL;
    if (path->unit == UNIT_TEXTURE)
        return resource ? resource->res.linear.devPtr : NULL;
    return strcmp(path->name, "restrict") == 0 ? spaces->restricted : spaces->table;
}

static const void *table_address(const struct launch *launch)
{
    const struct kernel_args *const args = &launch->args.cell;
    const struct spaces spaces = {launch->function->module->bank, args->table, launch->restricted,
                                  args->texture};

    return path_table(launch->function->path, &spaces);
}

/* Bytes of the table that a kernel may read; at least a whole one of the plan's. */
static size_t table_room(const struct launch *launch)
{
    const size_t bytes = (size_t)launch->args.cell.length * launch->function->width;

    return bytes > CBANK_TABLE_BYTES ? bytes : CBANK_TABLE_BYTES;
}

/* Whether a texture has elements of the width that the kernel fetches, and all of the table. */
static bool texture_fits(const struct launch *launch)
{
    const struct cudaResourceDesc *const resource =
        (const void *)(uintptr_t)launch->args.cell.texture;
    const struct cudaChannelFormatDesc *const desc = resource ? &resource->res.linear.desc : NULL;
    const uint32_t width = launch->function->width ? launch->function->width : sizeof(uint32_t);

    return launch->function->path->unit != UNIT_TEXTURE ||
           (desc && (uint32_t)(desc->x + desc->y + desc->z + desc->w) == 8 * width &&
            resource->res.linear.sizeInBytes >= table_room(launch));
}

/* -- shapes ------------------------------------------------------------------------------------ */

static float to_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint32_t to_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static uint32_t steps_of(const struct launch *launch)
{
    const uint32_t parameters[PARAMETERS_MAX] = {[PARAMETER_radius] = launch->function->variant};

    return workload_steps(launch->function->workload, parameters);
}

static void write_map(const struct running *running, uint32_t block, uint32_t count)
{
    const struct launch *const launch = running->launch;
    const struct CUfunc_st *const function = launch->function;
    const bool switched = function->workload->index == INDEX_SWITCHED ||
                          function->workload->index == INDEX_SWITCHED_LENGTH;
    const struct pattern *const pattern =
        switched ? &patterns[launch->args.cell.pattern] : function->pattern;
    const uint64_t first = (uint64_t)block * launch->threads;
    uint32_t index[CBANK_BLOCK_THREADS_MAX], sum[CBANK_BLOCK_THREADS_MAX] = {0};

    for (uint32_t step = 0; running->table && step < steps_of(launch); step++) {
        pattern->block_indices(block, count, step, running->length, launch->args.cell.numbers,
                               index);
        table_add(running->table, running->width, index, count, sum);
    }
    for (uint32_t thread = 0; thread < count; thread++)
        running->output[first + thread] =
            function->workload->result(running->input[first + thread], sum[thread]);
}

static void write_lookup(const struct running *running, uint32_t block, uint32_t count)
{
    const struct launch *const launch = running->launch;
    const uint64_t first = (uint64_t)block * launch->threads;
    uint32_t sum[CBANK_BLOCK_THREADS_MAX] = {0};

    for (uint32_t step = 0; running->table && step < launch->args.cell.rows; step++)
        table_add(running->table, running->width,
                  running->input + (uint64_t)step * launch->args.cell.elements + first, count, sum);
    for (uint32_t thread = 0; thread < count; thread++)
        running->output[first + thread] = launch->function->workload->result(0, sum[thread]);
}

static float coefficient(const struct running *running, uint32_t block, uint32_t thread,
                         uint32_t step)
{
    const struct launch *const launch = running->launch;

    return running->table
               ? to_float(
                     running->table[launch->function->pattern->index(block, thread, step,
                                                                     running->length,
                                                                     launch->args.cell.numbers)])
               : 0;
}

static void write_stencil(const struct running *running, uint32_t block, uint32_t count)
{
    const uint64_t first = (uint64_t)block * running->launch->threads,
                   elements = running->launch->args.cell.elements;
    const uint32_t radius = steps_of(running->launch);

    for (uint32_t thread = 0; thread < count; thread++) {
        const uint64_t element = first + thread;
        float sum = 0;

        for (uint32_t i = 1; i <= radius; i++) {
            const float right = elements - element > i ? to_float(running->input[element + i]) : 0;
            const float left = element >= i ? to_float(running->input[element - i]) : 0;

            sum += coefficient(running, block, thread, i - 1) * (right - left);
        }
        running->output[element] = to_bits(sum);
    }
}

static void write_convolution(const struct running *running, uint32_t block, uint32_t count)
{
    const struct kernel_args *const args = &running->launch->args.cell;
    const uint32_t dimensions = running->launch->function->workload->dimensions;
    const int64_t width = dimensions > 1 ? 1ll << args->width_log2 : args->rows;
    const int64_t height = dimensions > 2 ? width : dimensions > 1 ? args->rows : 1;
    const int64_t depth = dimensions > 2 ? args->rows : 1, rx = running->launch->function->variant;
    const int64_t ry = dimensions > 1 ? rx : 0, rz = dimensions > 2 ? rx : 0;

    for (uint32_t thread = 0; thread < count; thread++) {
        const int64_t element = (int64_t)block * running->launch->threads + thread;
        const int64_t ex = element % width, ey = element / width % height,
                      ez = element / width / height;
        uint32_t step = 0;
        float sum = 0;

        for (int64_t z = ez - rz; z <= ez + rz; z++)
            for (int64_t y = ey - ry; y <= ey + ry; y++)
                for (int64_t x = ex - rx; x <= ex + rx; x++, step++)
                    if (z >= 0 && z < depth && y >= 0 && y < height && x >= 0 && x < width)
                        sum += coefficient(running, block, thread, step) *
                               to_float(running->input[(z * height + y) * width + x]);
        running->output[element] = to_bits(sum);
    }
}

/* -- a launch ---------------------------------------------------------------------------------- */

static void write_blocks(void *context, uint64_t first, uint64_t count)
{
    const struct running *const running = context;
    const struct launch *const launch = running->launch;
    const char *const shape = launch->function->workload->shape_name;

    for (uint64_t element = first; element < first + count; element += launch->threads) {
        const uint32_t block = (uint32_t)(element / launch->threads);
        const uint64_t left = first + count - element;
        const uint32_t threads = left < launch->threads ? (uint32_t)left : launch->threads;

        if (strcmp(shape, "map") == 0)
            write_map(running, block, threads);
        else if (strcmp(shape, "stencil") == 0)
            write_stencil(running, block, threads);
        else if (strcmp(shape, "convolution") == 0)
            write_convolution(running, block, threads);
        else
            write_lookup(running, block, threads);
    }
}

static bool reads_indices(const struct launch *launch)
{
    return launch->function->workload->index == INDEX_LOADED;
}

static uint64_t input_elements(const struct launch *launch)
{
    if (reads_indices(launch))
        return (uint64_t)launch->args.cell.rows * launch->args.cell.elements;
    return workload_input_elements(launch->function->workload, launch->args.cell.elements);
}

/* Where bytes of a block are. */
static const uint32_t *words_of(const struct block *block, const void *address)
{
    const void *const words = block->data + ((const char *)address - block->address);

    return words;
}

struct indices cell_launch_indices(const struct launch *launch)
{
    const uint64_t count = input_elements(launch);
    const struct block *const block =
        block_find(launch->args.cell.input, count * sizeof(uint32_t), BLOCK_DEVICE);

    return (struct indices){block ? words_of(block, launch->args.cell.input) : NULL,
                            sizeof(uint32_t), 0, block ? count : 0};
}

static const uint32_t *table_of(const struct launch *launch)
{
    const struct path *const path = launch->function->path;

    if (!path->loads)
        return NULL;
    return path->home == TABLE_PARAMETER ? launch->values
                                         : words_of(launch->reads[1], table_address(launch));
}

void cell_write(const struct launch *launch, uint32_t *output)
{
    const struct kernel_args *const args = &launch->args.cell;
    static const uint32_t whole[PARAMETERS_MAX];
    const uint32_t width = launch->function->width;
    const bool at_run_time = width || launch->function->workload->index == INDEX_SWITCHED_LENGTH;
    const uint64_t launched = (uint64_t)launch->blocks * launch->threads;
    const uint64_t elements =
        args->elements < launched || reads_indices(launch) ? args->elements : launched;
    struct running running = {.launch = launch,
                              .input = words_of(launch->reads[0], args->input),
                              .table = table_of(launch),
                              .length = at_run_time ? args->length
                                                    : table_length(launch->function->path, whole),
                              .width = width ? width : table_width(whole),
                              .output = output};

    parallel_ranges(elements, launch->threads, write_blocks, &running);
    if (launch->wrong)
        output[elements / 2] ^= 1u << 22;
}

/* Finds what it reads, as a GPU does when it runs; then what it writes waits until it is read. */
int run_cell(struct device *device, struct launch *launch, double *work_ns)
{
    const struct kernel_args *const args = &launch->args.cell;
    const bool placed = launch->function->path->home != TABLE_PARAMETER;
    struct block *const input =
        block_find(args->input, input_elements(launch) * sizeof(uint32_t), BLOCK_DEVICE);
    struct block *const table =
        placed ? block_find(table_address(launch), table_room(launch), BLOCK_DEVICE) : NULL;

    if (!input || (placed && !table) || args->divergence != 0 || !texture_fits(launch))
        return cudaErrorIllegalAddress;
    launch->reads[0] = input;
    launch->reads[1] = table;
    return memory_defer(launch, args->output, args->elements * sizeof(uint32_t))
               ? 0
               : cudaErrorIllegalAddress;
}
