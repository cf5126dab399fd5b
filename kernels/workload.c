/* SPDX-License-Identifier: MIT
 * The reference: what each kernel of kernels.cu must write, and how often it loads its input, both
 * derived without its code. Neighbours of an element are counted by rows, as only the first and the
 * last warps of a row differ from the others:
 *
 *   image  | halo | warp 0 | warp 1 ... | last but one | last | halo |
 *
 * Floats are held against sums in double precision, within the error that their order allows. */
#include "workload.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "parameter_index.h"

/* Consecutive output elements, at most those of a block. */
struct run {
    const struct problem *problem;
    const uint32_t *input, *values;
    uint64_t first;
    uint32_t count;
};

/* The counts of one kernel body of kernels.cu. */
struct shape {
    uint32_t loads, loads_each_step; /* input loads in a thread's code */
    int halo; /* 1: the first threads of a block make some of these loads */
    /* 0: no tile; else the tile has that many elements more than a block */
    uint32_t tile_loads_each_step;
    uint32_t operations_once, operations_each_step; /* for an element */
    int multiplies; /* floats: products with the table are summed */
};

static const struct shape shape_map = {.loads = 1, .operations_once = 1},
                          shape_stencil = {.loads = 3,
                                           .halo = 1,
                                           .tile_loads_each_step = 2,
                                           .operations_each_step = 3,
                                           .multiplies = 1},
                          shape_convolution = {.loads_each_step = 1, .multiplies = 1},
                          shape_lookup = {.loads_each_step = 1, .operations_each_step = 1};
/* Of launches.cu: no element and no table. Only its row names it. */
static const struct shape shape_launch __attribute__((unused)) = {0};

static uint64_t divide_up(uint64_t value, uint64_t by)
{
    return (value + by - 1) / by;
}

/* -- loads of the input ------------------------------------------------------------------------ */

/* Adds `times` loads of `count` neighbouring elements from element `first` on; nothing where count
 * is 0. */
static void stream_add(struct workload_stream *stream, uint64_t first, uint64_t count,
                       uint64_t times, uint32_t sector_elements)
{
    if (count == 0)
        return;
    stream->loads += times;
    stream->sectors +=
        times * ((first + count - 1) / sector_elements - first / sector_elements + 1);
}

/* Adds the loads of a row: every thread loads the element at its own distance from element
 * `first`. */
static void stream_row(struct workload_stream *stream, const struct problem *problem,
                       uint64_t first, uint32_t sector_elements)
{
    const uint64_t whole = problem->elements / CBANK_WARP_THREADS,
                   rest = problem->elements % CBANK_WARP_THREADS;

    stream_add(stream, first, CBANK_WARP_THREADS, whole, sector_elements);
    stream_add(stream, first, rest, 1, sector_elements);
}

static double to_double(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

/* -- map --------------------------------------------------------------------------------------- */

static int check_map(const struct run *run, const uint32_t *output, struct mismatch *mismatch)
{
    const struct problem *problem = run->problem;
    const uint32_t block = (uint32_t)(run->first / problem->block_size);
    const uint32_t steps =
        problem->path->loads ? workload_steps(problem->workload, problem->parameters) : 0;
    uint32_t index[CBANK_BLOCK_THREADS_MAX],
        sum[CBANK_BLOCK_THREADS_MAX] = {0}; /* the elements that each thread loads,
                                             * and their sum */

    for (uint32_t step = 0; step < steps; step++) {
        problem_indices(problem, (struct thread_range){block, 0, run->count}, step, index);
        table_add(run->values, table_width(problem->parameters), index, run->count, sum);
    }
    for (uint32_t thread = 0; thread < run->count; thread++) {
        const uint64_t element = run->first + thread;
        const uint32_t expected = problem->workload->result(run->input[element], sum[thread]);

        if (output[element] != expected) {
            mismatch->element = element;
            snprintf(mismatch->text, sizeof(mismatch->text),
                     "element %" PRIu64 " is 0x%08" PRIx32 ", expected 0x%08" PRIx32, element,
                     output[element], expected);
            return 0;
        }
    }
    return 1;
}

/* Loads of other data by a thread for one element of a lookup. */
static uint32_t other_loads(const struct workload *workload,
                            const uint32_t parameters[PARAMETERS_MAX])
{
    return parameters[PARAMETER_polluter_bytes] ? workload_groups(workload, parameters) : 0;
}

/* Number of elements from 0 to count - 1 whose neighbour at `offset` lies from 0 to size - 1. */
static uint64_t inside(uint64_t count, uint64_t size, int64_t offset)
{
    const uint64_t low = offset < 0 ? (uint64_t)-offset : 0;
    const uint64_t high =
        offset > 0 ? size - ((uint64_t)offset < size ? (uint64_t)offset : size) : size;
    const uint64_t end = count < high ? count : high;

    return end > low ? end - low : 0;
}

/* Loads of the neighbours of elements, and pairs of an element and a neighbour inside the image. */
struct neighbours {
    struct workload_stream stream;
    uint64_t pairs;
};

static void neighbours_add(struct neighbours *sum, uint64_t times, const struct neighbours *added)
{
    sum->stream.loads += times * added->stream.loads;
    sum->stream.sectors += times * added->stream.sectors;
    sum->pairs += times * added->pairs;
}

/* Neighbours in one row, at every distance up to a radius, of the first `count` elements of the
 * row. A radius is less than a warp, so all warps are alike except the first and the last two. */
static struct neighbours row_neighbours(uint64_t count, uint64_t width, int64_t radius,
                                        uint32_t sector_elements)
{
    const uint64_t warps = divide_up(count, CBANK_WARP_THREADS);
    struct neighbours sum = {0};

    for (int64_t dx = -radius; dx <= radius; dx++) {
        sum.pairs += inside(count, width, dx);
        for (uint64_t warp = 0, times; warp < warps; warp += times) {
            const uint64_t from = warp * CBANK_WARP_THREADS, left = count - from;
            const int64_t to =
                (int64_t)(from + (left < CBANK_WARP_THREADS ? left : CBANK_WARP_THREADS)) + dx;
            const int64_t first = (int64_t)from + dx > 0 ? (int64_t)from + dx : 0;
            const int64_t end = to < (int64_t)width ? to : (int64_t)width;

            times = warp == 1 && warps > 3 ? warps - 3 : 1;
            stream_add(&sum.stream, (uint64_t)first, end > first ? (uint64_t)(end - first) : 0,
                       times, sector_elements);
        }
    }
    return sum;
}

/* Neighbours of all elements of a launch: of whole planes, of the whole rows of the last plane, and
 * of its last row. Rows of 2D and 3D images start with a warp and with a sector, so the warps of
 * all rows are alike. */
static struct neighbours image_neighbours(const struct problem *problem, uint32_t sector_elements)
{
    const struct image_size image = workload_image(problem->workload, problem->elements);
    const int64_t r = problem->parameters[PARAMETER_radius],
                  ry = problem->workload->dimensions > 1 ? r : 0,
                  rz = problem->workload->dimensions > 2 ? r : 0;
    const uint64_t plane = image.width * image.height, planes = problem->elements / plane;
    const uint64_t rows = problem->elements % plane / image.width,
                   last = problem->elements % image.width;
    const struct neighbours in_row = row_neighbours(image.width, image.width, r, sector_elements);
    const struct neighbours in_last = row_neighbours(last, image.width, r, sector_elements);
    struct neighbours sum = {0};

    for (int64_t dz = -rz; dz <= rz; dz++) {
        const uint64_t whole_planes = inside(planes, image.depth, dz);
        const uint64_t last_plane = inside(planes + 1, image.depth, dz) - whole_planes;

        for (int64_t dy = -ry; dy <= ry; dy++) {
            const uint64_t whole_rows = inside(rows, image.height, dy);
            const uint64_t last_row = inside(rows + 1, image.height, dy) - whole_rows;

            neighbours_add(&sum,
                           whole_planes * inside(image.height, image.height, dy) +
                               last_plane * whole_rows,
                           &in_row);
            neighbours_add(&sum, last_plane * last_row, &in_last);
        }
    }
    return sum;
}

struct workload_stream workload_stream(const struct problem *problem, uint32_t sector_elements)
{
    const struct shape *shape = problem->workload->shape;
    const uint64_t steps = workload_steps(problem->workload, problem->parameters);
    const uint64_t block_size = problem->block_size,
                   between = divide_up(problem->elements, block_size) - 1;
    const uint64_t in_last = problem->elements - between * block_size;
    struct workload_stream stream = {0};

    if (shape == &shape_convolution)
        return image_neighbours(problem, sector_elements).stream;
    if (shape == &shape_lookup) {
        /* One row of indices for each step, one row after the other. A row may start inside a
         * sector where `elements` is not a whole number of sectors. Other data of a warp starts at
         * a sector. */
        for (uint64_t step = 0; step < steps; step++)
            stream_row(&stream, problem, step * problem->elements % sector_elements,
                       sector_elements);
        for (uint32_t group = 0; group < other_loads(problem->workload, problem->parameters);
             group++)
            stream_row(&stream, problem, 0, sector_elements);
        return stream;
    }
    stream_row(&stream, problem, 0, sector_elements);
    if (shape == &shape_stencil && between > 0) {
        /* The first threads of a block load the elements left and right of it, as many as there are
         * steps: at most as many as a warp has threads. */
        stream_add(&stream, block_size - steps, steps, between, sector_elements);
        stream_add(&stream, block_size, steps, between - 1, sector_elements);
        stream_add(&stream, block_size, in_last < steps ? in_last : steps, 1, sector_elements);
    }
    return stream;
}

/* -- floats ------------------------------------------------------------------------------------ */

/* The coefficient of a step, as the pattern lockstep reads it. 0 where the path loads nothing. */
static double filter_value(const struct run *run, uint32_t step)
{
    const struct problem *problem = run->problem;
    const uint32_t index =
        problem->pattern->index(0, 0, step, table_length(problem->path, problem->parameters),
                                pattern_numbers(problem->parameters));

    return problem->path->loads ? to_double(run->values[index]) : 0;
}

enum { TAPS_AT_ONCE = 8 }; /* sums that are built at a time: as many as registers hold */

/* Doubles of input for `count` sums over filters of a radius. */
#define TAPS_INPUT(count, radius) ((count) + 2 * (radius) + TAPS_AT_ONCE)

/* The greatest value of each parameter. */
enum {
#define PARAMETER(name, option, summary, unit, min, max, multiple, plan_values, default_value, \
                  readers)                                                                     \
    GREATEST_##name = (max),
#include "parameters.def"
};

/* Sums of `count` elements of one row of the image, starting with element `first`. */
static void row_sums(const struct run *run, uint64_t first, uint32_t count, double *sum)
{
    const struct problem *problem = run->problem;
    const struct image_size image = workload_image(problem->workload, problem->elements);
    const int64_t r = problem->parameters[PARAMETER_radius],
                  ry = problem->workload->dimensions > 1 ? r : 0,
                  rz = problem->workload->dimensions > 2 ? r : 0;
    const uint64_t x = first % image.width, y = first / image.width % image.height,
                   z = first / image.width / image.height;
    const uint32_t taps = 2 * (uint32_t)r + 1;
    double values[2 * GREATEST_radius + 1],
        input[TAPS_INPUT(CBANK_BLOCK_THREADS_MAX, GREATEST_radius)];
    uint32_t step = 0;

    for (int64_t dz = -rz; dz <= rz; dz++)
        for (int64_t dy = -ry; dy <= ry; dy++, step += taps) {
            const uint64_t row = y + (uint64_t)dy, plane = z + (uint64_t)dz;

            if (row >= image.height || plane >= image.depth)
                continue;
            for (uint32_t tap = 0; tap < taps; tap++)
                values[tap] = filter_value(run, step + tap);
            for (int64_t k = 0; k < (int64_t)TAPS_INPUT(count, r); k++) {
                /* outside of the image are zeros */
                const uint64_t column = x - (uint64_t)r + (uint64_t)k;

                input[k] =
                    column < image.width
                        ? to_double(run->input[(plane * image.height + row) * image.width + column])
                        : 0;
            }
            for (uint32_t done = 0; done < count; done += TAPS_AT_ONCE) {
                double sums[TAPS_AT_ONCE] = {0};

                for (uint32_t tap = 0; tap < taps; tap++)
                    for (uint32_t lane = 0; lane < TAPS_AT_ONCE; lane++)
                        sums[lane] += values[tap] * input[done + tap + lane];
                for (uint32_t lane = 0; lane < TAPS_AT_ONCE && done + lane < count; lane++)
                    sum[done + lane] += sums[lane];
            }
        }
}

/* Compares a run of floats with sums in double precision. */
static int check_floats(const struct run *run, const uint32_t *output, struct mismatch *mismatch)
{
    const struct problem *problem = run->problem;
    const struct image_size image = workload_image(problem->workload, problem->elements);
    const uint32_t steps = workload_steps(problem->workload, problem->parameters);
    const double tolerance = (steps + 2) * 0x1p-24 * 8 * steps;
    double sum[CBANK_BLOCK_THREADS_MAX] = {0};

    for (uint32_t i = 1; problem->workload->shape == &shape_stencil && i <= steps; i++) {
        const double value = filter_value(run, i - 1);

        for (uint32_t k = 0; k < run->count; k++) {
            const uint64_t x = run->first + k;
            const double right = x + i < problem->elements ? to_double(run->input[x + i]) : 0;
            const double left = x >= i ? to_double(run->input[x - i]) : 0;

            sum[k] += value * (right - left);
        }
    }
    for (uint32_t done = 0; problem->workload->shape == &shape_convolution && done < run->count;) {
        const uint64_t left = image.width - (run->first + done) % image.width;
        const uint32_t count = left < run->count - done ? (uint32_t)left : run->count - done;

        row_sums(run, run->first + done, count, sum + done);
        done += count;
    }
    for (uint32_t i = 0; i < run->count; i++) {
        const uint64_t element = run->first + i;
        const double actual = to_double(output[element]);

        if (!(fabs(actual - sum[i]) <= tolerance)) {
            mismatch->element = element;
            snprintf(mismatch->text, sizeof(mismatch->text),
                     "element %" PRIu64 " is %.9g, expected %.9g within %.2g", element, actual,
                     sum[i], tolerance);
            return 0;
        }
    }
    return 1;
}

/* -- the table --------------------------------------------------------------------------------- */

#define WORKLOAD(name, shape, result, ...)                      \
    static uint32_t name##_result(uint32_t input, uint32_t sum) \
    {                                                           \
        (void)input;                                            \
        return (result);                                        \
    }
#include "workloads.def"

const struct workload workloads[] = {
#define WORKLOAD(name_, body, result_, ...) \
    {.name = #name_,                        \
     .formula = #result_,                   \
     .shape_name = #body,                   \
     .shape = &shape_##body,                \
     .result = name_##_result,              \
     __VA_ARGS__},
#include "workloads.def"
};

const size_t workload_count = sizeof(workloads) / sizeof(workloads[0]);

/* The width is the smallest power of two, at least 32, that gives the image room for all
 * elements. */
struct image_size workload_image(const struct workload *workload, uint64_t elements)
{
    const uint32_t dimensions = workload->dimensions;
    uint64_t width = CBANK_WARP_THREADS;

    if (dimensions < 2)
        return (struct image_size){elements, 1, 1};
    while ((dimensions == 2 ? width * width : width * width * width) < elements)
        width *= 2;
    return dimensions == 2 ? (struct image_size){width, divide_up(elements, width), 1}
                           : (struct image_size){width, width, divide_up(elements, width * width)};
}

uint64_t workload_input_elements(const struct workload *workload, uint64_t elements)
{
    const struct image_size image = workload_image(workload, elements);

    return image.width * image.height * image.depth;
}

/* Elements of a filter with `dimensions` dimensions. */
static uint32_t filter_elements(uint32_t dimensions, const uint32_t parameters[PARAMETERS_MAX])
{
    uint32_t elements = 1;

    for (uint32_t d = 0; d < dimensions; d++)
        elements *= 2 * parameters[PARAMETER_radius] + 1;
    return elements;
}

uint32_t workload_steps(const struct workload *workload, const uint32_t parameters[PARAMETERS_MAX])
{
    if (workload->steps)
        return workload->steps;
    return parameters[PARAMETER_loads] ? parameters[PARAMETER_loads]
                                       : filter_elements(workload->dimensions, parameters);
}

uint32_t workload_variant(const uint32_t parameters[PARAMETERS_MAX])
{
    const uint32_t pressed = parameters[PARAMETER_polluter_bytes] ? CBANK_IN_FLIGHT_MAX : 0;

    return parameters[PARAMETER_in_flight] ? parameters[PARAMETER_in_flight] + pressed
                                           : parameters[PARAMETER_radius];
}

uint32_t workload_groups(const struct workload *workload, const uint32_t parameters[PARAMETERS_MAX])
{
    return workload->index == INDEX_LOADED
               ? parameters[PARAMETER_loads] / parameters[PARAMETER_in_flight]
               : 1;
}

uint32_t workload_streamed(const struct workload *workload,
                           const uint32_t parameters[PARAMETERS_MAX])
{
    return workload->index == INDEX_LOADED ? workload_steps(workload, parameters) : 1;
}

uint32_t workload_input_rows(const struct workload *workload,
                             const uint32_t parameters[PARAMETERS_MAX])
{
    return filter_elements(workload->dimensions - 1, parameters);
}

uint32_t workload_input_loads(const struct workload *workload,
                              const uint32_t parameters[PARAMETERS_MAX])
{
    const struct shape *shape = workload->shape;

    return shape->loads + shape->loads_each_step * workload_steps(workload, parameters) +
           other_loads(workload, parameters);
}

int workload_has_halo(const struct workload *workload)
{
    return workload->shape->halo;
}

uint32_t workload_tile_loads(const struct workload *workload,
                             const uint32_t parameters[PARAMETERS_MAX])
{
    return workload->shape->tile_loads_each_step * workload_steps(workload, parameters);
}

uint32_t workload_tile_bytes(const struct workload *workload,
                             const uint32_t parameters[PARAMETERS_MAX])
{
    const uint32_t both_sides = workload_tile_loads(workload, parameters);

    return both_sides ? (CBANK_BLOCK_THREADS_MAX + both_sides) * (uint32_t)sizeof(float) : 0;
}

uint32_t workload_table_length(const struct problem *problem)
{
    const uint32_t steps = workload_steps(problem->workload, problem->parameters);

    return problem->workload->shape->multiplies ? steps
                                                : table_length(problem->path, problem->parameters);
}

void problem_indices(const struct problem *problem, struct thread_range threads, uint32_t step,
                     uint32_t *index)
{
    const uint32_t length = table_length(problem->path, problem->parameters);
    const struct pattern_numbers numbers = pattern_numbers(problem->parameters);
    const uint64_t element = (uint64_t)threads.block * problem->block_size + threads.first;

    if (problem->indices)
        indices_read(problem->indices, step * problem->elements + element, threads.count, index);
    else if (threads.first == 0)
        problem->pattern->block_indices(threads.block, threads.count, step, length, numbers, index);
    else
        for (uint32_t i = 0; i < threads.count; i++)
            index[i] =
                problem->pattern->index(threads.block, threads.first + i, step, length, numbers);
}

int workload_multiplies(const struct workload *workload)
{
    return workload->shape && workload->shape->multiplies;
}

uint64_t workload_operations(const struct problem *problem)
{
    const struct shape *shape = problem->workload->shape;
    const uint64_t steps = workload_steps(problem->workload, problem->parameters);

    return shape == &shape_convolution
               ? 2 * image_neighbours(problem, 1).pairs
               : problem->elements * (shape->operations_once + shape->operations_each_step * steps);
}

int workload_check(const struct problem *problem, const struct workload_data *data, uint64_t first,
                   uint64_t count, struct mismatch *mismatch)
{
    for (uint64_t start = first; start < first + count; start += problem->block_size) {
        const uint64_t left = first + count - start;
        const struct run run = {problem, data->input, data->values, start,
                                left < problem->block_size ? (uint32_t)left : problem->block_size};

        if (!(problem->workload->shape->multiplies ? check_floats : check_map)(&run, data->output,
                                                                               mismatch))
            return 0;
    }
    return 1;
}
