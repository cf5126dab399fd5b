/* SPDX-License-Identifier: MIT
 * Expected values of exact counters, by hand, for cells of every unit and shape. */
#include <math.h>

#include "access.h"
#include "cells.h"
#include "counter.h"
#include "table.h"
#include "test.h"

static const struct table counter_table = TABLE("counter", counters, counter_count);

static struct cell make_cell(const char *workload, const char *path, const char *pattern,
                             uint64_t elements, uint32_t block_size)
{
    const struct cell cell = {
        .workload = workload_named(workload),
        .path = path_named(path),
        .pattern = pattern_named(pattern),
        .elements = elements,
        .block_size = block_size,
        .cache_state = &cache_states[0],
    };

    assert_true(cell.workload && cell.path && cell.pattern);
    return cell;
}

/* Straight-line code of sm_90: 3 loads of parameters in a register, 2 in uniform registers. */
static const struct sass_counts sm_90 = {
    .architecture = 90,
    .prologue = {.instructions = 8, .ldc_parameter = 1, .uniform_constant = 1},
    .body = {.instructions = 12, .ldc_parameter = 2, .ldc_user = 1, .uniform_constant = 1},
};

/* NAN where it cannot be said. */
static double expected(const char *name, const struct cell *cell, const struct sass_counts *sass)
{
    const struct counter *counter = table_find(&counter_table, name);
    struct access_counts access;
    const struct expectation expectation = {.cell = cell, .access = &access, .sass = sass};

    assert_non_null(counter);
    assert_int_equal(counter->kind, COUNTER_EXACT);
    assert_int_equal(access_count(cell, &access), STATUS_OK);
    return optional_number(counter_expected(counter, &expectation));
}

struct expected_case {
    const char *path;
    double global_loads, requests, sectors, texture, shared_loads;
};

static void check_cases(struct cell cell, const struct expected_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cell.path = path_named(cases[i].path);
        assert_non_null(cell.path);
        assert_true(expected("global_load_instructions", &cell, NULL) == cases[i].global_loads);
        assert_true(expected("l1_requests", &cell, NULL) == cases[i].requests);
        assert_true(expected("l1_sectors", &cell, NULL) == cases[i].sectors);
        assert_true(expected("texture_instructions", &cell, NULL) == cases[i].texture);
        assert_true(expected("shared_load_instructions", &cell, NULL) == cases[i].shared_loads);
    }
}

/* 2 blocks of 1024 and one thread more: 65 warps load input of 4 sectors, one of them of 1. A warp
 * reads 8 addresses 128 bytes apart: 8 sectors, all in one bank. 3 blocks copy 16384 elements: 512
 * loads, 2048 sectors each. */
TEST(loads_of_add)
{
    static const struct expected_case cases[] = {
        {"constant", 65, 65, 257, 0, 0},
        {"param", 65, 65, 257, 0, 0},
        {"global", 130, 130, 257 + 513, 0, 0},
        {"restrict", 130, 130, 257 + 513, 0, 0},
        {"global_l2", 130, 130, 257 + 513, 0, 0},
        {"texture", 65, 65, 257, 65, 0},
        {"shared", 65 + 1536, 65 + 1536, 257 + 6144, 0, 65},
        {"shared_fill_only", 65 + 1536, 65 + 1536, 257 + 6144, 0, 0},
        /* 4096 elements, twice */
        {"shared_copies", 65 + 3 * 256, 65 + 3 * 256, 257 + 3 * 512, 0, 65},
        {"shuffle", 65 + 96, 65 + 96, 257 + 96 * 4, 0, 0}, /* each of 96 warps loads 32 elements */
        /* each of 65 with an element, 4 words */
        {"select_4", 65 + 65 * 4, 65 + 65 * 4, 257 + 65 * 4, 0, 0},
        {"prmt", 65 + 65 * 4, 65 + 65 * 4, 257 + 65 * 4, 0, 0}, /* the same */
        {"select_16", 65 + 65 * 16, 65 + 65 * 16, 257 + 65 * 16, 0, 0},
    };
    struct cell cell = make_cell("add", "constant", "distinct", 2049, 1024);

    cell.parameters[PARAMETER_distinct] = 8;
    cell.parameters[PARAMETER_stride_bytes] = 128;
    check_cases(cell, cases, COUNT(cases));
}

/* 8 blocks of 32: 8 warps, 32 sectors, and 7 left and 7 right halos of a sector; the blocks at the
 * ends execute the eighth of each. A thread reads 8 elements of the tile and 4 coefficients; 8
 * blocks copy those in one load of one sector. */
TEST(loads_of_the_stencil)
{
    static const struct expected_case cases[] = {
        {"constant", 24, 22, 46, 0, 64},
        {"global", 24 + 32, 22 + 32, 46 + 32, 0, 64},
        {"texture", 24, 22, 46, 32, 64},
        {"shared", 24 + 8, 22 + 8, 46 + 8, 0, 64 + 32},
        {"shared_fill_only", 24 + 8, 22 + 8, 46 + 8, 0, 64},
    };
    struct cell cell = make_cell("stencil_1d", "constant", "lockstep", 256, 32);

    check_cases(cell, cases, COUNT(cases));
    cell.block_size = 64;
    assert_true(isnan(expected("global_load_instructions", &cell, NULL)));
    assert_true(expected("l1_requests", &cell, NULL) == 8 + 6);
}

/* A row of 64 elements, radius 1. To the left the first warp reads elements 0 .. 30, the second 31
 * .. 62: 4 and 5 sectors. To the right 1 .. 32 and 33 .. 63: 5 and 4. */
TEST(loads_of_a_convolution)
{
    static const struct expected_case cases[] = {
        {"constant", 6, 6, 9 + 8 + 9, 0, 0},
        {"global_l2", 6 + 6, 6 + 6, 26 + 6, 0, 0},
        {"shared", 6 + 2, 6 + 2, 26 + 2, 0, 6},
    };
    struct cell cell = make_cell("conv_1d", "constant", "lockstep", 64, 32);

    cell.parameters[PARAMETER_radius] = 1;
    check_cases(cell, cases, COUNT(cases));
}

/* One row of 32 elements: above and below it there is nothing, and the loads of that are
 * executed. */
TEST(loads_beyond_the_edges)
{
    static const struct expected_case cases[] = {{"constant", 9, 3, 3 * 4, 0, 0}};
    struct cell cell = make_cell("conv_2d", "constant", "lockstep", 32, 32);

    cell.parameters[PARAMETER_radius] = 1;
    check_cases(cell, cases, COUNT(cases));
}

/* 2 warps of 32 distinct addresses each. Where the table is among the parameters, its load is the
 * fourth of them. */
TEST(requests_of_the_constant_caches)
{
    const struct sass_counts table_in_parameters = {.architecture = 90,
                                                    .prologue = {.ldc_parameter = 1},
                                                    .body = {.ldc_parameter = 3}};
    struct cell cell = make_cell("add", "constant", "per_thread", 64, 64);

    assert_true(expected("idc_requests", &cell, &sm_90) == 2 * (3 + 32));
    assert_true(expected("ldc_instructions", &cell, &sm_90) == 2 * 4);
    assert_true(expected("imc_requests", &cell, &sm_90) == 2 * 2);
    cell.path = path_named("param");
    assert_true(expected("idc_requests", &cell, &table_in_parameters) == 2 * (3 + 32));
    assert_true(expected("ldc_instructions", &cell, &table_in_parameters) == 2 * 4);
    cell.path = path_named("texture");
    assert_true(expected("idc_requests", &cell, &sm_90) == 2 * 3);

    cell = make_cell("add", "constant_uniform", "per_block", 64, 64);
    assert_true(expected("idc_requests", &cell, &sm_90) == 2 * 3);
    assert_true(expected("imc_requests", &cell, &sm_90) == 2 * 2);
    cell = make_cell("add", "constant_operand", "broadcast", 64, 64);
    assert_true(isnan(expected("imc_requests", &cell, &sm_90)));
}

/* A block of 32 warps; only one has an element, and the others execute only the prologue.
 * imc_requests is known of Hopper alone. */
TEST(idle_warps_execute_the_prologue_alone)
{
    const struct cell cell = make_cell("add", "constant", "per_thread", 1, 1024);
    struct sass_counts sm_80 = sm_90;

    sm_80.architecture = 80;
    assert_true(expected("instructions", &cell, &sm_90) == 32 * 8 + 12);
    assert_true(expected("ldc_instructions", &cell, &sm_90) == 32 * 1 + 3);
    assert_true(expected("idc_requests", &cell, &sm_90) == 32 * 1 + 2 + 1);
    assert_false(isnan(expected("imc_requests", &cell, &sm_90)));
    assert_true(isnan(expected("imc_requests", &cell, &sm_80)));
}

/* How many requests the constant caches make of elements that are no words, and L1 of those wider
 * than a word, is not known. How many instructions load them is. */
TEST(loads_of_other_widths)
{
    static const uint32_t widths[] = {1, 2, 8, 16};
    struct cell cell = make_cell("add", "global", "per_thread", 2048, 1024);

    for (size_t i = 0; i < COUNT(widths); i++) {
        const bool known = widths[i] < 4;

        cell.parameters[PARAMETER_width_bytes] = widths[i];
        cell.path = path_named("global");
        assert_true(expected("global_load_instructions", &cell, NULL) == 128);
        assert_true(isnan(expected("l1_requests", &cell, NULL)) == !known);
        assert_true(isnan(expected("l1_sectors", &cell, NULL)) == !known);
        assert_true(!known || expected("l1_requests", &cell, NULL) == 128);
        /* 64 warps of 32 neighbours: 32 or 64 bytes. */
        assert_true(!known || expected("l1_sectors", &cell, NULL) == 256 + 64 * widths[i]);
        assert_true(expected("idc_requests", &cell, &sm_90) == 64 * 3);
        cell.path = path_named("constant");
        assert_true(isnan(expected("idc_requests", &cell, &sm_90)));
        assert_true(expected("ldc_instructions", &cell, &sm_90) == 64 * 4);
        assert_true(expected("l1_sectors", &cell, NULL) == 256);
        cell.path = path_named("shared");
        assert_true(expected("shared_load_instructions", &cell, NULL) == 64);
        assert_true(expected("l1_requests", &cell, NULL) == 64 + 2 * 512);
        assert_true(expected("imc_requests", &cell, &sm_90) == 64 * 2);
        cell.path = path_named("constant_uniform");
        assert_true(isnan(expected("imc_requests", &cell, &sm_90)));
    }
}

TEST(without_the_code)
{
    static const char *const names[] = {"ldc_instructions", "idc_requests", "imc_requests",
                                        "instructions"};
    const struct cell cell = make_cell("add", "constant", "per_thread", 64, 64);

    for (size_t i = 0; i < COUNT(names); i++)
        assert_true(isnan(expected(names[i], &cell, NULL)));
}
