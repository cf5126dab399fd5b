/* SPDX-License-Identifier: MIT */
#include "workload.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A run of output elements, at most a block. */
struct run {
    const struct problem *problem;
    const uint32_t *input, *values;
    uint64_t first;
    uint32_t count;
};

/* What a kernel of kernels.cu does, on the CPU. */
struct shape {
    /* Reference of the elements of a run: integers or floats by their bits. */
    uint32_t (*input_loads)(uint32_t steps);
    uint64_t (*operations)(const struct problem *problem);
    int (*check)(const struct run *run, const uint32_t *output, struct mismatch *mismatch);
};

static uint32_t filter_radius(const struct problem *problem)
{
    return problem->parameters[PARAMETER_radius];
}

static double to_double(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

/* -- map ----------------------------------------------------------------------------------------------- */

static uint32_t one_load(uint32_t steps)
{
    (void)steps;
    return 1;
}

static uint64_t one_operation(const struct problem *problem)
{
    return problem->elements;
}

/* Sums of the values that the threads of one block load, step after step. */
static void block_sums(const struct run *run, uint32_t *sum)
{
    const struct problem *problem = run->problem;
    const uint32_t block = (uint32_t)(run->first / problem->block_size);
    const uint32_t steps = problem->path->loads ? workload_steps(problem->workload, problem->parameters) : 0;
    uint32_t index[CBANK_BLOCK_THREADS_MAX];

    for (uint32_t thread = 0; thread < run->count; thread++)
        sum[thread] = 0;
    for (uint32_t step = 0; step < steps; step++) {
        problem->pattern->block_indices(block, run->count, step, path_length(problem->path),
                                     pattern_numbers(problem->parameters), index);
        for (uint32_t thread = 0; thread < run->count; thread++)
            sum[thread] += run->values[index[thread]];
    }
}

static int check_map(const struct run *run, const uint32_t *output, struct mismatch *mismatch)
{
    uint32_t sum[CBANK_BLOCK_THREADS_MAX];

    block_sums(run, sum);
    for (uint32_t thread = 0; thread < run->count; thread++) {
        const uint64_t element = run->first + thread;
        const uint32_t expected = run->problem->workload->result(run->input[element], sum[thread]);

        if (output[element] != expected) {
            mismatch->element = element;
            snprintf(mismatch->text, sizeof(mismatch->text), "element %" PRIu64 " is 0x%08" PRIx32 ", expected 0x%08" PRIx32,
                     element, output[element], expected);
            return 0;
        }
    }
    return 1;
}

/* -- floats -------------------------------------------------------------------------------------------- */

/* Compares a run with its sums in double precision. */
static int check_sums(const struct run *run, const double *sum, const uint32_t *output, struct mismatch *mismatch)
{
    const double steps = workload_steps(run->problem->workload, run->problem->parameters);
    const double tolerance = (steps + 2) * 0x1p-24 * 8 * steps;

    for (uint32_t i = 0; i < run->count; i++) {
        const uint64_t element = run->first + i;
        const double actual = to_double(output[element]);

        if (!(fabs(actual - sum[i]) <= tolerance)) {
            mismatch->element = element;
            snprintf(mismatch->text, sizeof(mismatch->text), "element %" PRIu64 " is %.9g, expected %.9g within %.2g",
                     element, actual, sum[i], tolerance);
            return 0;
        }
    }
    return 1;
}

/* The coefficient of a step: what lockstep reads. 0 where the path loads nothing. */
static double filter_value(const struct run *run, uint32_t step)
{
    const struct problem *problem = run->problem;
    const uint32_t index = problem->pattern->index(0, 0, step, path_length(problem->path), pattern_numbers(problem->parameters));

    return problem->path->loads ? to_double(run->values[index]) : 0;
}

/* -- stencil ------------------------------------------------------------------------------------------- */

static uint32_t tile_loads(uint32_t steps)
{
    (void)steps;
    return 3;
}

static uint64_t stencil_operations(const struct problem *problem)
{
    return problem->elements * 3 * workload_steps(problem->workload, problem->parameters);
}

static int check_stencil(const struct run *run, const uint32_t *output, struct mismatch *mismatch)
{
    const struct problem *problem = run->problem;
    const uint32_t radius = workload_steps(problem->workload, problem->parameters);
    double sum[CBANK_BLOCK_THREADS_MAX] = {0};

    for (uint32_t i = 1; i <= radius; i++) {
        const double value = filter_value(run, i - 1);

        for (uint32_t k = 0; k < run->count; k++) {
            const uint64_t x = run->first + k;
            const double right = x + i < problem->elements ? to_double(run->input[x + i]) : 0;
            const double left = x >= i ? to_double(run->input[x - i]) : 0;

            sum[k] += value * (right - left);
        }
    }
    return check_sums(run, sum, output, mismatch);
}

/* -- convolution --------------------------------------------------------------------------------------- */

static uint32_t load_each_step(uint32_t steps)
{
    return steps;
}

/* Elements of 0 .. count - 1 whose neighbour at `offset` is inside 0 .. size - 1. */
static uint64_t inside(uint64_t count, uint64_t size, int64_t offset)
{
    const uint64_t low = offset < 0 ? (uint64_t)-offset : 0;
    const uint64_t high = offset > 0 ? size - ((uint64_t)offset < size ? (uint64_t)offset : size) : size;
    const uint64_t end = count < high ? count : high;

    return end > low ? end - low : 0;
}

/* Pairs of an element and a neighbour inside the image: whole planes, whole rows of the last plane, its last row. */
static uint64_t neighbour_pairs(const struct problem *problem)
{
    const struct image_size image = workload_image(problem->workload, problem->elements);
    const int64_t r = filter_radius(problem), ry = problem->workload->dimensions > 1 ? r : 0,
                  rz = problem->workload->dimensions > 2 ? r : 0;
    const uint64_t plane = image.width * image.height, planes = problem->elements / plane;
    const uint64_t rows = problem->elements % plane / image.width, last = problem->elements % image.width;
    uint64_t in_row = 0, in_last = 0, pairs = 0;

    for (int64_t dx = -r; dx <= r; dx++) {
        in_row += inside(image.width, image.width, dx);
        in_last += inside(last, image.width, dx);
    }
    for (int64_t dz = -rz; dz <= rz; dz++) {
        const uint64_t whole_planes = inside(planes, image.depth, dz);
        const uint64_t last_plane = inside(planes + 1, image.depth, dz) - whole_planes;

        for (int64_t dy = -ry; dy <= ry; dy++) {
            const uint64_t whole_rows = inside(rows, image.height, dy);
            const uint64_t last_row = inside(rows + 1, image.height, dy) - whole_rows;

            pairs += whole_planes * inside(image.height, image.height, dy) * in_row;
            pairs += last_plane * (whole_rows * in_row + last_row * in_last);
        }
    }
    return pairs;
}

static uint64_t convolution_operations(const struct problem *problem)
{
    return 2 * neighbour_pairs(problem);
}

/* Adds value * input[. + offset] to the sums of a run within one row, for neighbours inside the row. */
static void add_row(const uint32_t *row, uint64_t width, uint64_t x, uint32_t count, int64_t offset, double value,
                    double *sum)
{
    const int64_t begin = (int64_t)x + offset < 0 ? -((int64_t)x + offset) : 0;
    const int64_t room = (int64_t)width - (int64_t)x - offset;
    const int64_t end = room < (int64_t)count ? room : (int64_t)count;

    for (int64_t k = begin; k < end; k++) {
        float input;

        memcpy(&input, &row[(int64_t)x + offset + k], sizeof(input));
        sum[k] += value * (double)input;
    }
}

/* Sums of `count` elements of one row of the image, beginning with element `first`. */
static void row_sums(const struct run *run, uint64_t first, uint32_t count, double *sum)
{
    const struct problem *problem = run->problem;
    const struct image_size image = workload_image(problem->workload, problem->elements);
    const int64_t r = filter_radius(problem), ry = problem->workload->dimensions > 1 ? r : 0,
                  rz = problem->workload->dimensions > 2 ? r : 0;
    const uint64_t x = first % image.width, y = first / image.width % image.height,
                   z = first / image.width / image.height;
    uint32_t step = 0;

    for (int64_t dz = -rz; dz <= rz; dz++)
        for (int64_t dy = -ry; dy <= ry; dy++)
            for (int64_t dx = -r; dx <= r; dx++, step++) {
                const uint64_t row = y + (uint64_t)dy, plane = z + (uint64_t)dz;

                if (row < image.height && plane < image.depth)
                    add_row(run->input + (plane * image.height + row) * image.width, image.width, x, count, dx,
                            filter_value(run, step), sum);
            }
}

static int check_convolution(const struct run *run, const uint32_t *output, struct mismatch *mismatch)
{
    const struct image_size image = workload_image(run->problem->workload, run->problem->elements);
    double sum[CBANK_BLOCK_THREADS_MAX] = {0};

    for (uint32_t done = 0; done < run->count;) {
        const uint64_t left = image.width - (run->first + done) % image.width;
        const uint32_t count = left < run->count - done ? (uint32_t)left : run->count - done;

        row_sums(run, run->first + done, count, sum + done);
        done += count;
    }
    return check_sums(run, sum, output, mismatch);
}

/* -- the table ----------------------------------------------------------------------------------------- */

static const struct shape shape_map = {one_load, one_operation, check_map};
static const struct shape shape_stencil = {tile_loads, stencil_operations, check_stencil};
static const struct shape shape_convolution = {load_each_step, convolution_operations, check_convolution};

#define WORKLOAD(name, summary, shape, dimensions, steps, index, before, takes, radius_max, patterns, elements, \
                 block_sizes, formula)                                                                      \
    static uint32_t name##_result(uint32_t input, uint32_t sum)                                             \
    {                                                                                                       \
        (void)input;                                                                                        \
        return (formula);                                                                                   \
    }
#include "workloads.def"

const struct workload workloads[] = {
#define WORKLOAD(name, summary, shape, dimensions, steps, index, before, takes, radius_max, patterns, elements, \
                 block_sizes, formula)                                                                      \
    {#name, summary, #formula, &shape_##shape, dimensions, steps, index, before, takes, radius_max, patterns, \
     elements, block_sizes, name##_result},
#include "workloads.def"
};

const size_t workload_count = sizeof(workloads) / sizeof(workloads[0]);

/* The smallest power of two, 32 or more, whose power of `dimensions` is not below elements. */
static uint64_t image_width(uint32_t dimensions, uint64_t elements)
{
    uint64_t width = CBANK_WARP_THREADS;

    while ((dimensions == 2 ? width * width : width * width * width) < elements)
        width *= 2;
    return width;
}

static uint64_t divide_up(uint64_t value, uint64_t by)
{
    return (value + by - 1) / by;
}

struct image_size workload_image(const struct workload *workload, uint64_t elements)
{
    uint64_t width;

    if (workload->dimensions < 2)
        return (struct image_size){elements, 1, 1};
    width = image_width(workload->dimensions, elements);
    if (workload->dimensions == 2)
        return (struct image_size){width, divide_up(elements, width), 1};
    return (struct image_size){width, width, divide_up(elements, width * width)};
}

uint64_t workload_input_elements(const struct workload *workload, uint64_t elements)
{
    const struct image_size image = workload_image(workload, elements);

    return image.width * image.height * image.depth;
}

uint32_t workload_steps(const struct workload *workload, const uint32_t parameters[PARAMETER_COUNT])
{
    const uint32_t side = 2 * parameters[PARAMETER_radius] + 1;
    uint32_t steps = 1;

    if (workload->steps)
        return workload->steps;
    for (uint32_t d = 0; d < workload->dimensions; d++)
        steps *= side;
    return steps;
}

uint32_t workload_input_loads(const struct workload *workload, const uint32_t parameters[PARAMETER_COUNT])
{
    return workload->shape->input_loads(workload_steps(workload, parameters));
}

uint32_t workload_table_length(const struct problem *problem)
{
    const uint32_t steps = workload_steps(problem->workload, problem->parameters);

    return problem->workload->shape == &shape_map ? path_length(problem->path) : steps;
}

uint64_t workload_operations(const struct problem *problem)
{
    return problem->workload->shape->operations(problem);
}

int workload_check(const struct problem *problem, uint64_t first, uint64_t count, const uint32_t *input,
                   const uint32_t *values, const uint32_t *output, struct mismatch *mismatch)
{
    for (uint64_t start = first; start < first + count; start += problem->block_size) {
        const uint64_t left = first + count - start;
        const struct run run = {problem, input, values, start, left < problem->block_size ? (uint32_t)left : problem->block_size};

        if (!problem->workload->shape->check(&run, output, mismatch))
            return 0;
    }
    return 1;
}
