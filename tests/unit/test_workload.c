/* SPDX-License-Identifier: MIT
 * The CPU reference of the workloads, against sums written here element by element. Right outputs
 * pass, planted faults are found, and operations are those that the loops below count. */
#include <math.h>

#include "cells.h"
#include "random.h"
#include "test.h"
#include "workload.h"

enum { ELEMENTS_MAX = 40000, IMAGE_MAX = 1 << 18 };

static uint32_t input[IMAGE_MAX], values[CBANK_TABLE_LENGTH], output[ELEMENTS_MAX];

static struct problem problem_of(const char *workload, const char *path, const char *pattern,
                                 uint64_t elements, uint32_t block_size, uint32_t radius)
{
    struct problem problem = {.workload = workload_named(workload),
                              .path = path_named(path),
                              .pattern = pattern_named(pattern),
                              .elements = elements,
                              .block_size = block_size};

    problem.parameters[PARAMETER_radius] = radius;
    return problem;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static int check(const struct problem *problem, uint64_t first, uint64_t count,
                 struct mismatch *mismatch)
{
    return workload_check(problem, &(struct workload_data){input, values, output}, first, count,
                          mismatch);
}

/* -- convolution ------------------------------------------------------------------------------- */

/* An image that holds `elements`, as workload.h words it. */
struct image {
    long width, height, depth;
};

static struct image image_of(unsigned dimensions, uint64_t elements)
{
    struct image image = {.width = 32, .height = 1, .depth = 1};

    if (dimensions == 1)
        return (struct image){(long)elements, 1, 1};
    while (pow((double)image.width, dimensions) < (double)elements)
        image.width *= 2;
    image.height =
        dimensions == 2 ? (long)ceil((double)elements / (double)image.width) : image.width;
    image.depth =
        dimensions == 2 ? 1 : (long)ceil((double)elements / (double)(image.width * image.width));
    return image;
}

/* One output element: the products of the filter with the neighbours inside the image. skip: a tap
 * that is left out, -1 for none; backwards: from the filter's end. Counts a multiplication and an
 * addition for each product. */
static double convolve(const struct problem *problem, long element, long skip, int backwards,
                       uint64_t *operations)
{
    const unsigned dimensions = problem->workload->dimensions;
    const struct image image = image_of(dimensions, problem->elements);
    const long r = problem->parameters[PARAMETER_radius], side = 2 * r + 1;
    const long taps = dimensions == 1 ? side : dimensions == 2 ? side * side : side * side * side;
    const long x = element % image.width, y = element / image.width % image.height,
               z = element / image.width / image.height;
    double sum = 0;

    for (long tap = 0; tap < taps; tap++) {
        const long nx = x + tap % side - r;
        const long ny = dimensions > 1 ? y + tap / side % side - r : y;
        const long nz = dimensions > 2 ? z + tap / side / side - r : z;

        if (nx < 0 || nx >= image.width || ny < 0 || ny >= image.height || nz < 0 ||
            nz >= image.depth)
            continue;
        *operations += 2;
        if (tap != skip && problem->path->loads)
            sum += (double)float_of(values[backwards ? taps - 1 - tap : tap]) *
                   (double)float_of(input[(nz * image.height + ny) * image.width + nx]);
    }
    return sum;
}

static void convolve_all(const struct problem *problem, long skip, int backwards,
                         uint64_t *operations)
{
    *operations = 0;
    for (uint64_t i = 0; i < problem->elements; i++)
        output[i] = bits_of((float)convolve(problem, (long)i, skip, backwards, operations));
}

static const struct {
    const char *workload;
    uint64_t elements;
    uint32_t block_size, radius;
} convolutions[] = {
    {"conv_1d", 1, 32, 3},       {"conv_1d", 5, 32, 7},     {"conv_1d", 1000, 96, 1},
    {"conv_1d", 1025, 1024, 7},  {"conv_2d", 1, 32, 1},     {"conv_2d", 31, 32, 3},
    {"conv_2d", 33, 32, 2},      {"conv_2d", 1000, 96, 3},  {"conv_2d", 1025, 1024, 7},
    {"conv_2d", 4096, 256, 3},   {"conv_2d", 4097, 96, 1},  {"conv_3d", 1, 32, 1},
    {"conv_3d", 1023, 32, 3},    {"conv_3d", 1025, 96, 2},  {"conv_3d", 5000, 1024, 1},
    {"conv_3d", 32768, 1024, 3}, {"conv_3d", 32769, 96, 2}, {"conv_3d", 40000, 256, 1},
};

static struct problem convolution(size_t i, const char *path)
{
    return problem_of(convolutions[i].workload, path, "lockstep", convolutions[i].elements,
                      convolutions[i].block_size, convolutions[i].radius);
}

static const size_t convolution_count = sizeof(convolutions) / sizeof(convolutions[0]);

/* Right sums pass, and planted faults are found. */
TEST(convolution_is_the_sum_over_neighbours)
{
    struct mismatch mismatch;
    uint64_t operations;

    random_fill_floats(5, input, IMAGE_MAX);
    random_fill_floats(6, values, CBANK_TABLE_LENGTH);
    for (size_t i = 0; i < convolution_count; i++) {
        const struct problem problem = convolution(i, i % 2 ? "param" : "constant");
        const struct image image = image_of(problem.workload->dimensions, problem.elements);
        const uint64_t last = problem.elements - 1;
        const uint32_t steps = workload_steps(problem.workload, problem.parameters);

        assert_true(workload_input_elements(problem.workload, problem.elements) ==
                    (uint64_t)(image.width * image.height * image.depth));
        convolve_all(&problem, -1, 0, &operations);
        assert_true(workload_operations(&problem) == operations);
        if (!check(&problem, 0, problem.elements, &mismatch))
            fail_msg("case %zu: %s", i, mismatch.text);

        /* One element: the last of the grid, and one that is no number. */
        output[last] = bits_of(float_of(output[last]) + 1);
        assert_int_equal(check(&problem, 0, problem.elements, &mismatch), 0);
        assert_true(mismatch.element == last);
        output[last] = bits_of(NAN);
        assert_int_equal(check(&problem, 0, problem.elements, &mismatch), 0);
        assert_true(mismatch.element == last);

        /* The tap in the middle of the filter is missing: every element is wrong. */
        convolve_all(&problem, (long)steps / 2, 0, &operations);
        assert_int_equal(check(&problem, 0, problem.elements, &mismatch), 0);
        assert_true(mismatch.element == 0);

        /* The first or last tap is: elements with a neighbour there are. */
        if (problem.elements > 30000) {
            convolve_all(&problem, 0, 0, &operations);
            assert_int_equal(check(&problem, 0, problem.elements, &mismatch), 0);
            convolve_all(&problem, (long)steps - 1, 0, &operations);
            assert_int_equal(check(&problem, 0, problem.elements, &mismatch), 0);
        }

        /* The filter from its end: right for a row of one element, which only the middle tap
         * reaches. */
        convolve_all(&problem, -1, 1, &operations);
        assert_int_equal(check(&problem, 0, problem.elements, &mismatch), i == 0);
    }
}

/* -- stencil ----------------------------------------------------------------------------------- */

/* sum over i = 1..4 of c[i - 1] * (input[x + i] - input[x - i]), 0 beyond the ends. Faults: `skip`,
 * a distance that is left out (0: none), and a filter from its end. */
static void stencil_all(const struct problem *problem, long skip, int backwards)
{
    const long elements = (long)problem->elements;

    for (long x = 0; x < elements; x++) {
        double sum = 0;

        for (long i = 1; i <= 4; i++) {
            const double c = (double)float_of(values[backwards ? 4 - i : i - 1]);
            const double right = x + i < elements ? (double)float_of(input[x + i]) : 0;
            const double left = x - i >= 0 ? (double)float_of(input[x - i]) : 0;

            if (i != skip)
                sum += c * (right - left);
        }
        output[x] = bits_of(problem->path->loads ? (float)sum : 0.0f);
    }
}

TEST(stencil_is_antisymmetric_over_four_neighbours)
{
    static const uint64_t sizes[] = {1, 4, 5, 31, 33, 1000, 4099};
    struct mismatch mismatch;

    random_fill_floats(9, input, IMAGE_MAX);
    random_fill_floats(10, values, CBANK_TABLE_LENGTH);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (uint32_t block_size = 32; block_size <= 1024; block_size *= 4) {
            const struct problem problem =
                problem_of("stencil_1d", "constant", "lockstep", sizes[i], block_size, 0);

            stencil_all(&problem, 0, 0);
            if (!check(&problem, 0, sizes[i], &mismatch))
                fail_msg("%s", mismatch.text);
            /* For each of four distances a subtraction, a multiplication and an addition. */
            assert_true(workload_operations(&problem) == sizes[i] * 4 * 3);
            output[sizes[i] / 2] = bits_of(float_of(output[sizes[i] / 2]) - 0.001f);
            assert_int_equal(check(&problem, 0, sizes[i], &mismatch), 0);
            assert_true(mismatch.element == sizes[i] / 2);
            for (long skip = 1; skip <= 4 && sizes[i] > 4; skip++) {
                stencil_all(&problem, skip, 0);
                assert_int_equal(check(&problem, 0, sizes[i], &mismatch), 0);
            }
            stencil_all(&problem, 0, 1);
            assert_int_equal(check(&problem, 0, sizes[i], &mismatch), sizes[i] == 1);
        }
}

/* -- map --------------------------------------------------------------------------------------- */

/* input + values[index] for every row that is that, every pattern that goes with it, and both
 * lengths of the table. */
TEST(map_adds_one_value_of_the_table)
{
    static const char *const names[] = {"add", "add_switch", "add_runtime", "refill", "modules"};
    struct mismatch mismatch;

    random_fill_floats(11, input, IMAGE_MAX);
    random_fill_floats(12, values, CBANK_TABLE_LENGTH);
    for (size_t w = 0; w < sizeof(names) / sizeof(names[0]); w++)
        for (size_t p = 0; p < pattern_count * path_count; p++) {
            struct problem problem = problem_of(names[w], paths[p % path_count].name,
                                                patterns[p / path_count].name, 5001, 96, 0);
            const uint32_t length = problem.path->bytes / 4;
            struct pattern_numbers numbers;

            problem.parameters[PARAMETER_distinct] = 8;
            problem.parameters[PARAMETER_stride_bytes] = 20;
            numbers = pattern_numbers(problem.parameters);
            assert_int_equal(numbers.distinct, 8);
            assert_int_equal(numbers.stride, 5);
            for (uint32_t i = 0; i < 5001; i++) {
                const uint32_t index = problem.pattern->index(i / 96, i % 96, 0, length, numbers);

                output[i] = input[i] + (problem.path->loads ? values[index] : 0);
            }
            if (!check(&problem, 0, 5001, &mismatch))
                fail_msg("%s, %s, %s: %s", names[w], problem.path->name, problem.pattern->name,
                         mismatch.text);
            assert_true(workload_operations(&problem) == 5001);
            output[5000]++;
            output[4321]--;
            assert_int_equal(check(&problem, 0, 5001, &mismatch), 0);
            assert_true(mismatch.element == 4321);
            assert_int_equal(check(&problem, 4800 - 4800 % 96, 5001 - 4800 + 4800 % 96, &mismatch),
                             0);
            assert_true(mismatch.element == 5000);
        }
}

/* The value that a kernel makes of an element of each width, written out byte by byte. */
TEST(map_adds_elements_of_every_width)
{
    const unsigned char *const bytes = (const unsigned char *)values;
    struct mismatch mismatch;

    random_fill_floats(15, input, IMAGE_MAX);
    random_fill_floats(16, values, CBANK_TABLE_LENGTH);
    for (uint32_t width = 1; width <= 32; width++)
        for (uint32_t size = 64;
             size <= 65536 && parameter_allows(&parameters[PARAMETER_width_bytes], width);
             size *= 32) {
            struct problem problem = problem_of("add", "global", "hashed", 3001, 96, 0);

            problem.parameters[PARAMETER_width_bytes] = width == 4 ? 0 : width;
            problem.parameters[PARAMETER_table_bytes] = size;
            for (uint32_t i = 0; i < 3001; i++) {
                const uint32_t offset =
                    width * problem.pattern->index(i / 96, i % 96, 0, size / width,
                                                   (struct pattern_numbers){0, 0});

                output[i] = input[i];
                for (uint32_t byte = 0; byte < width; byte++)
                    output[i] += (uint32_t)bytes[offset + byte] << 8 * (byte % 4);
            }
            if (!check(&problem, 0, 3001, &mismatch))
                fail_msg("width %u of %u: %s", width, size, mismatch.text);
            output[77] ^= 1;
            assert_int_equal(check(&problem, 0, 3001, &mismatch), 0);
            assert_true(mismatch.element == 77);
        }
}

/* -- paths that load nothing ------------------------------------------------------------------- */
