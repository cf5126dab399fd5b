/* SPDX-License-Identifier: MIT
 * The model against lists, hand-made numbers and what must hold on every card; and the model engine. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "access.h"
#include "capture.h"
#include "card.h"
#include "cells.h"
#include "counter.h"
#include "engine.h"
#include "model.h"
#include "size.h"

/* Two doubles at most `tolerance` apart. */
#define assert_near(a, b, tolerance) assert_true(fabs((double)(a) - (double)(b)) <= (tolerance))

/* -- what is modelled --------------------------------------------------------------------------------- */

/* A cell of add. Patterns that take them get 8 addresses 64 bytes apart. */
static struct cell make_cell(const char *path, const char *pattern, uint64_t elements, uint32_t block_size,
                             const char *regime)
{
    struct cell cell = {
        .workload = &workloads[0],
        .path = path_named(path),
        .pattern = pattern_named(pattern),
        .elements = elements,
        .block_size = block_size,
        .regime = regime_named(regime),
    };

    if (cell.pattern->takes & PARAMETER_BIT(distinct)) {
        cell.parameters[PARAMETER_distinct] = 8;
        cell.parameters[PARAMETER_stride_bytes] = 64;
    }
    return cell;
}

/* A cell of a workload of many loads, with this radius if it takes one. */
static struct cell make_filter(const char *workload, const char *path, uint32_t radius, uint64_t elements)
{
    struct cell cell = make_cell(path, "lockstep", elements, 1024, "hot");

    cell.workload = workload_named(workload);
    cell.parameters[PARAMETER_radius] = cell.workload->variants ? radius : 0;
    return cell;
}

static struct model_cell predict_kernel(const struct cell *cell, const struct card *card,
                                        const struct model_kernel *kernel)
{
    struct access_counts access;
    struct model_cell model;

    assert_int_equal(access_count(cell, &access), STATUS_OK);
    assert_int_equal(model_predict(cell, &access, card, kernel, &model), STATUS_OK);
    return model;
}

static struct model_cell predict(const struct cell *cell, const struct card *card)
{
    return predict_kernel(cell, card, NULL);
}

static struct model_cell predict_registers(const struct cell *cell, const struct card *card, uint32_t registers)
{
    return predict_kernel(cell, card, &(struct model_kernel){.registers = registers, .instructions = NAN});
}

static struct card default_card(void)
{
    struct card card;

    assert_int_equal(card_read(NULL, &card), STATUS_OK);
    return card;
}

/* A chip with round numbers: 1 GHz, so that a cycle is a ns; two SMs that share the second level. */
static const struct card small_card = {
    .name = "small",
    .chip = "none",
    .sm_count = 2,
    .warps_per_sm = 64,
    .blocks_per_sm = 32,
    .sm_clock_mhz = 1000,
    .l2_bytes = 1 << 21,
    .l2_kept_bytes = 1 << 20,
    .l2_dirty_bytes = 1 << 18,
    .dram_bytes_per_ns = 100,
    .l2_bytes_per_ns = 400,
    .launch_ns = 1000,
    .wave_ns = 500,
    .cold_ns = 300,
    .block_launch_ns = 1,
    .block_l2_ns = 400,
    .block_dram_ns = 800,
    .block_write_back_ns = 200,
    .issue_per_cycle = 4,
    .l1_sectors_per_cycle = 4,
    .l1_requests_per_cycle = 1,
    .l1_miss_cycles = 2,
    .shared_bytes_per_sm = 200 * 1024,
    .shared_bytes_reserved = 1024,
    .l2_request_ns = 5,
    .l2_slices = 4,
    .texture_requests_per_cycle = 0.25,
    .shared_wavefronts_per_cycle = 0.5,
    .staging_wait_cycles = 100,
    .staging_round_cycles = 20,
    .uniform_request_cycles = 3,
    .immediate_request_cycles = 7,
    .copy_ns = 5000,
    .copy_bytes_per_ns = 2,
    .alternate_ns = 150,
    .parameter_lines = 2,
    .immediate_lines = 3,
    .level_count = 2,
    .levels =
        {
            {.name = "idc",
             .capacity_bytes = 2048,
             .line_bytes = 64,
             .ways = 32,
             .sms = 1,
             .kept_between_launches = false,
             .request_cycles = 2,
             .miss_cycles = 10,
             .miss_latency_cycles = 50},
            {.name = "gcc",
             .capacity_bytes = 8192,
             .line_bytes = 256,
             .ways = 32,
             .sms = 2,
             .kept_between_launches = true,
             .request_cycles = 3,
             .miss_cycles = 100,
             .miss_latency_cycles = 30},
        },
};

/* -- cards of which little is known ------------------------------------------------------------------- */

static struct card named_card(const char *name)
{
    struct card card;

    assert_int_equal(card_read(name, &card), STATUS_OK);
    return card;
}

/* 125 blocks are on every one of 80 SMs. per_warp reads 32 elements, 128 bytes, which are two lines of 64, and per_thread
 * 4096 bytes, for which there is no room in 2112 bytes of unknown ways. Whether a launch finds what the one before left
 * nobody has published: hot, it is not said. */
static void fills_of_a_published_chip(void **state)
{
    const struct card v100 = named_card("v100"), p6000 = named_card("p6000");
    struct cell cell = make_cell("constant", "per_warp", 128000, 1024, "cold");
    struct model_cell model = predict(&cell, &v100);

    (void)state;
    assert_near(model.requests_per_load, 1, 0);
    assert_near(model.levels.requests[0], 4000, 0);
    assert_near(model.levels.misses[0], 160, 0);
    assert_near(model.levels.requests[1], 160, 0);
    assert_true(isnan(model.levels.misses[1]));
    assert_true(isnan(model.time_ns) && isnan(model.parts.launch_ns) && isnan(model.parts.stream_ns));

    /* 30 SMs, and nothing says how many share an instance of the second level. */
    model = predict(&cell, &p6000);
    assert_near(model.levels.misses[0], 60, 0);
    assert_true(isnan(model.levels.misses[1]));

    /* Fewer blocks than SMs. */
    cell.elements = 3 * 1024;
    assert_near(predict(&cell, &v100).levels.misses[0], 6, 0);

    cell = make_cell("constant", "per_thread", 128000, 1024, "cold");
    model = predict(&cell, &v100);
    assert_near(model.requests_per_load, 32, 0);
    assert_near(model.levels.requests[0], 128000, 0);
    assert_true(isnan(model.levels.misses[0]) && isnan(model.levels.requests[1]));

    cell = make_cell("constant", "per_warp", 128000, 1024, "hot");
    model = predict(&cell, &v100);
    assert_near(model.levels.requests[0], 4000, 0);
    assert_true(isnan(model.levels.misses[0]));
}

/* A card that says how many SMs share, how many lines come beside the table and that nothing is kept says more. */
static void what_is_added_to_a_card_is_used(void **state)
{
    struct card card = named_card("v100");
    struct cell cell = make_cell("constant", "per_warp", 80 * 1024, 1024, "hot");
    struct access_counts access;
    struct model_cell model;
    struct model_count count;

    (void)state;
    card.levels[0].kept_unknown = card.levels[1].kept_unknown = false;
    card.levels[1].capacity_bytes = 65536;
    card.levels[1].sms = 20;
    model = predict(&cell, &card);
    assert_near(model.levels.misses[0], 160, 0);
    assert_near(model.levels.misses[1], 4, 0); /* a line of 256 bytes into each of four */
    assert_int_equal(access_count(&cell, &access), STATUS_OK);
    count = model_counter("idc_misses_new", &cell, &access, &card, &model.levels);
    assert_non_null(strstr(count.reason, "how many lines"));
    card.parameter_lines = 3;
    count = model_counter("idc_misses_new", &cell, &access, &card, &model.levels);
    assert_near(count.low, 160 + 3 * 80, 0);
}

/* -- hand-made numbers -------------------------------------------------------------------------------- */

/* 131,072 elements are 1 MiB in and out, which L2 keeps when hot. 1.5 times as much: it keeps 512 KiB.
 * Twice as much: nothing. Cold: the input comes from DRAM, and of the output L2 takes 256 KiB. */
static void stream_by_hand(void **state)
{
    struct cell cell = make_cell("global", "per_warp", 131072, 1024, "hot");

    (void)state;
    assert_near(predict(&cell, &small_card).parts.stream_ns, 1048576 / 400.0, 1e-6);
    cell.elements = 131072 * 3 / 2;
    assert_near(predict(&cell, &small_card).parts.stream_ns, 524288 / 400.0 + 1048576 / 100.0, 1e-6);
    cell.elements = 131072 * 2;
    assert_near(predict(&cell, &small_card).parts.stream_ns, 2097152 / 100.0, 1e-6);
    cell = make_cell("global", "per_warp", 131072, 1024, "cold");
    assert_near(predict(&cell, &small_card).parts.stream_ns, 262144 / 400.0 + 786432 / 100.0, 1e-6);
}

/* 4 blocks of 1024 on 2 SMs: 64 warps an SM. per_thread reads 4 sectors a load, and the input 4 more;
 * per_warp 1 and 4. */
static void l1_by_hand(void **state)
{
    struct cell cell = make_cell("global", "per_thread", 4096, 1024, "hot");
    struct model_cell model = predict(&cell, &small_card);

    (void)state;
    assert_near(model.parts.serialization_ns, 64 * (4 + 4) / 4.0, 1e-9);
    assert_near(model.requests_per_load, 4, 0);
    assert_near(model.parts.misses_ns, 0, 0);
    assert_near(model.levels.requests[0], 0, 0);
    assert_int_equal(model.footprint_bytes, 4096);
    assert_near(model.parts.wave_ns, 500 + 128 * 2, 1e-9); /* the first block reads 4 KB: 128 sectors */

    cell = make_cell("readonly", "per_warp", 4096, 1024, "hot");
    model = predict(&cell, &small_card);
    assert_near(model.parts.serialization_ns, 64 * 2, 1e-9); /* loads, not (1 + 4) / 4 of sectors */
    assert_near(model.requests_per_load, 1, 0);
    assert_near(model.parts.wave_ns, 500 + 4 * 2, 1e-9);

    /* Words that are 128 bytes apart are in one bank, and take 32 turns; beside them input is loaded. Half as far, there are two. */
    cell = make_cell("global", "distinct", 4096, 1024, "hot");
    cell.parameters[PARAMETER_distinct] = 32;
    cell.parameters[PARAMETER_stride_bytes] = 128;
    assert_near(predict(&cell, &small_card).parts.serialization_ns, 64 * (32 + 1), 1e-9);
    cell.parameters[PARAMETER_stride_bytes] = 64;
    assert_near(predict(&cell, &small_card).parts.serialization_ns, 64 * (16 + 1), 1e-9);
    cell.parameters[PARAMETER_stride_bytes] = 4;
    assert_near(predict(&cell, &small_card).parts.serialization_ns, 64 * 2, 1e-9);
}

/* 10 blocks of 1024, 4 at a time: 1.5 waves after the first. L1 takes a block's 64 loads in 64 cycles. */
static void residency_by_hand(void **state)
{
    struct cell cell = make_cell("global", "per_warp", 10240, 1024, "hot");
    struct card card = small_card;
    struct model_cell model = predict(&cell, &card);

    (void)state;
    assert_near(model.parts.residency_ns, 1.5 * (400 + 64), 1e-9);
    assert_near(model.parts.serialization_ns, 5 * 64, 1e-9);
    assert_near(model.time_ns, 1000 + 508 + 5 * 32 * (18 + 4) / 4.0, 1e-9); /* issue takes longer */

    cell = make_cell("global", "per_warp", 10240, 1024, "cold");
    model = predict(&cell, &card);
    assert_near(model.parts.residency_ns, 1.5 * (800 + 64), 1e-9);
    assert_near(model.time_ns, 1000 + 500 + 300 + 8 + 1296, 1e-9);

    /* 256 blocks: L2 keeps nothing, and writes all output of the launch before. Cold: 3 quarters of it. */
    cell = make_cell("global", "per_warp", 262144, 1024, "hot");
    assert_near(predict(&cell, &card).parts.residency_ns, 63 * (800 + 200 + 64), 1e-6);
    cell = make_cell("global", "per_warp", 262144, 1024, "cold");
    assert_near(predict(&cell, &card).parts.residency_ns, 63 * (800 + 150 + 64), 1e-6);

    /* Blocks of 32: room for 32 on an SM, not 64. Their 2 loads, of 8 sectors, take 2 cycles. */
    cell = make_cell("global", "per_thread", 32 * 128, 32, "hot");
    assert_near(predict(&cell, &card).parts.residency_ns, 1 * (400 + 2), 1e-9);

    /* One block an SM; a chip that is slow to start blocks. */
    cell = make_cell("global", "per_warp", 10240, 1024, "hot");
    card.blocks_per_sm = 1;
    assert_near(predict(&cell, &card).parts.residency_ns, 4 * (400 + 64), 1e-9);
    card.block_launch_ns = 1000;
    assert_near(predict(&cell, &card).parts.residency_ns, 10000, 1e-9);
}

/* An SM has 65,536 registers, and a warp gets 256 at a time: of 33 registers a thread it gets 1280, and each of the four
 * parts has room for 12 warps. */
static void registers_limit_residency(void **state)
{
    const struct cell cell = make_cell("global", "per_warp", 10240, 1024, "hot");
    const struct cell small = make_cell("global", "per_warp", 10240, 512, "hot");

    (void)state;
    assert_near(predict_registers(&cell, &small_card, 32).parts.residency_ns, 1.5 * (400 + 64), 1e-9);
    assert_near(predict_registers(&cell, &small_card, 33).parts.residency_ns, 4 * (400 + 64), 1e-9);
    assert_near(predict_registers(&small, &small_card, 33).parts.residency_ns, (20 / 6.0 - 1) * (400 + 32), 1e-9);
}

/* 16 blocks of a filter on 2 SMs. Two at a time live 400 and their loads; one alone half of the 400, and the same loads. */
static void a_block_alone_lives_shorter(void **state)
{
    const struct cell cell = make_filter("conv_2d", "global", 2, 16384);
    const double loads = predict_registers(&cell, &small_card, 32).parts.residency_ns / 3 - 400;

    (void)state;
    assert_true(loads >= 32 * 25);
    assert_near(predict_registers(&cell, &small_card, 64).parts.residency_ns, 7 * (200 + loads), 1e-6);
}

/* 25 elements of input and 25 of the table have no room in 48 registers: a warp loads all its input first, which takes
 * 32 x 25 cycles. Its issue, 3 instructions each, goes on meanwhile. In 56 there is room. Paths through L1 do not wait. */
static void input_without_registers_comes_first(void **state)
{
    const struct cell cell = make_filter("conv_2d", "constant_uniform", 2, 16384);
    const struct cell global = make_filter("conv_2d", "global", 2, 16384);
    struct card card = small_card;
    double room;

    (void)state;
    card.uniform_request_cycles = 0.01;
    card.l1_requests_per_cycle = 1000;
    room = predict_registers(&cell, &card, 56).parts.residency_ns;
    assert_near(predict_registers(&cell, &card, 48).parts.residency_ns, room, 1e-6); /* input is there at once */
    card.l1_requests_per_cycle = 1;
    assert_near(predict_registers(&cell, &card, 48).parts.residency_ns, room + 7 * (32 * 25 - 25 * 3 * 32 / 4.0), 1e-6);
    assert_near(predict_registers(&global, &card, 48).parts.residency_ns,
                predict_registers(&global, &card, 56).parts.residency_ns, 1e-6);
}

/* 320 warps that execute 8000 instructions: 2000 cycles, an SM half of them. */
static void known_instructions_are_issued(void **state)
{
    const struct cell cell = make_cell("global", "per_warp", 10240, 1024, "hot");

    (void)state;
    assert_near(predict_kernel(&cell, &small_card, &(struct model_kernel){.instructions = 8000}).parts.issue_ns, 1000,
                1e-9);
    assert_near(predict(&cell, &small_card).parts.issue_ns, 320 * (18 + 4) / 4.0 / 2, 1e-9);
}

/* 12 blocks on 2 SMs, 32 loads of 8 addresses that hit, and 4 of parameters. The level is busy for 2 cycles each and 10
 * for each of its 8 lines; one load of each block has it alone, 11 cycles an address. */
static void changes_of_blocks_by_hand(void **state)
{
    const struct cell cell = make_cell("constant", "distinct", 12 * 1024, 1024, "hot");
    const struct model_cell model = predict(&cell, &small_card);

    (void)state;
    assert_near(model.parts.serialization_ns, 6 * 32 * (8 + 4) * 2, 1e-9);
    assert_near(model.parts.misses_ns, 8 * 10 + 6 * 8 * 11, 1e-6);
}

/* The same on the constant path. What blocks wait for there is no part of their lives: the warps side by side have it, see
 * test_warps.c. L1 takes a block's 32 loads of the input. */
static void residency_leaves_constants_out(void **state)
{
    struct cell cell = make_cell("constant", "per_block", 10240, 1024, "hot");

    (void)state;
    assert_near(predict(&cell, &small_card).parts.residency_ns, 1.5 * (400 + 32), 1e-9);
    cell = make_cell("constant", "per_block", 10240, 1024, "cold");
    assert_near(predict(&cell, &small_card).parts.residency_ns, 1.5 * (800 + 32), 1e-9);
    cell = make_cell("constant", "per_thread", 10240, 1024, "hot");
    assert_near(predict(&cell, &small_card).parts.residency_ns, 1.5 * (400 + 32), 1e-9);
}

/* per_thread, 4 blocks of 1024 on 2 SMs. A block reads 64 lines of the first level in turn, twice what it
 * holds: each line misses once a block, or once for both blocks of an SM, and 16 addresses follow. 128 to 256 misses of the
 * grid ask the second level, which holds the 4 KB: none misses when hot, 16 lines do when cold.
 * Busy cycles, hot: first level of one SM (2048 + 4 parameters of 64 warps) x 2 + 10 for each miss, half of them; second
 * at most 256 x 3 = 768. Of each block one load has the first alone, 32 x 11. The warps side by side take no less, and
 * little more. */
static void constant_by_hand(void **state)
{
    struct cell cell = make_cell("constant", "per_thread", 4096, 1024, "hot");
    struct model_cell model = predict(&cell, &small_card);

    (void)state;
    assert_near(model.requests_per_load, 32, 0);
    assert_near(model.levels.requests[0], 4096, 0);
    assert_true(model.levels.misses[0] >= 128 && model.levels.misses[0] <= 256);
    assert_near(model.levels.requests[1], model.levels.misses[0], 0);
    assert_near(model.levels.misses[1], 0, 0);
    assert_near(model.parts.serialization_ns, 4608, 1e-9);
    assert_true(model.parts.misses_ns >= 5 * model.levels.misses[0] - 1e-6 &&
                model.parts.misses_ns < 1.2 * 1280 + 2 * 352);
    assert_near(model.parts.residency_ns, 4 * 1, 1e-9); /* one wave: starting its blocks */
    assert_near(model.time_ns, 1000 + 500 + 4608 + model.parts.misses_ns, 1e-9);

    cell = make_cell("constant", "per_thread", 4096, 1024, "cold");
    model = predict(&cell, &small_card);
    assert_true(model.levels.misses[0] >= 128 && model.levels.misses[0] <= 256);
    assert_near(model.levels.misses[1], 16, 0);
    assert_near(model.parts.wave_ns, 500 + 300, 1e-9);
}

/* One block reads 32 elements: 2 lines of the first level, 1 of the second. */
static void levels_are_kept_as_the_card_says(void **state)
{
    const struct cell hot = make_cell("constant", "per_warp", 1024, 1024, "hot");
    const struct cell cold = make_cell("constant", "per_warp", 1024, 1024, "cold");

    (void)state;
    for (int kept = 0; kept < 4; kept++) {
        struct card card = small_card;
        struct model_levels levels;

        card.levels[0].kept_between_launches = (kept & 1) != 0;
        card.levels[1].kept_between_launches = (kept & 2) != 0;
        levels = predict(&hot, &card).levels;
        assert_near(levels.misses[0], kept & 1 ? 0 : 2, 0);
        assert_near(levels.misses[1], kept ? 0 : 1, 0);
        levels = predict(&cold, &card).levels;
        assert_near(levels.misses[0], 2, 0);
        assert_near(levels.misses[1], 1, 0);
    }
}

/* 4096 addresses in lines that the blocks of an SM may share, and a second level so slow that it is the busiest: 50 cycles for each, of
 * which the first level's 4608 are serialization. */
static void busiest_level_counts(void **state)
{
    const struct cell cell = make_cell("constant", "pseudo_random", 4096, 1024, "hot");
    struct card card = small_card;
    struct model_cell model;

    (void)state;
    card.levels[1].request_cycles = 50;
    card.levels[1].miss_cycles = 0;
    model = predict(&cell, &card);
    assert_near(model.parts.serialization_ns, 4608, 1e-9);
    assert_true(model.levels.requests[1] >= 2048 && model.levels.requests[1] <= 4096);
    assert_true(model.parts.serialization_ns + model.parts.misses_ns >= model.levels.requests[1] * 50 - 1e-6);
    assert_true(model.parts.serialization_ns + model.parts.misses_ns < model.levels.requests[1] * 50 * 1.05);
}

/* 3 SMs in units of 2 and 1: of one wave of 3 blocks the larger unit has 2. Of 300 blocks each has 150. */
static void later_waves_even_out(void **state)
{
    const struct cell one = make_cell("constant", "pseudo_random", 1024 * 3, 1024, "hot");
    const struct cell many = make_cell("constant", "pseudo_random", 1024 * 300, 1024, "hot");
    struct card card = small_card;
    struct model_cell model;

    (void)state;
    card.sm_count = 3;
    card.levels[1].request_cycles = 50;
    card.levels[1].miss_cycles = 0;
    model = predict(&one, &card);
    assert_near(model.parts.serialization_ns + model.parts.misses_ns, model.levels.requests[1] * 50 * 2 / 3, 1e-6);
    model = predict(&many, &card);
    assert_near(model.parts.serialization_ns + model.parts.misses_ns, model.levels.requests[1] * 50 / 2,
                0.06 * model.levels.requests[1] * 50 / 2);
}

/* A block on one of 132 SMs takes as long as 132 blocks on all. */
static void busiest_sm_counts(void **state)
{
    const struct card card = default_card();
    const struct cell one = make_cell("constant", "pseudo_random", 1024, 1024, "hot");
    const struct cell all = make_cell("constant", "pseudo_random", 1024 * 132, 1024, "hot");
    const struct cell more = make_cell("constant", "pseudo_random", 1024 * 133, 1024, "hot");
    const double one_ns = predict(&one, &card).parts.serialization_ns;

    (void)state;
    assert_near(predict(&all, &card).parts.serialization_ns, one_ns, 1e-6);
    assert_near(predict(&more, &card).parts.serialization_ns, 2 * one_ns, 1e-6);
}

/* -- the constant levels against lists ---------------------------------------------------------------- */

enum { LIST_LINES_MAX = 64 };

/* A fully associative LRU cache: lines, last used first. */
struct list {
    uint32_t line_bytes, lines, count;
    uint64_t line[LIST_LINES_MAX + 1];
};

static bool list_lookup(struct list *list, uint64_t address)
{
    const uint64_t line = address / list->line_bytes;
    uint32_t at = 0;
    bool hit;

    while (at < list->count && list->line[at] != line)
        at++;
    hit = at < list->count;
    memmove(list->line + 1, list->line, at * sizeof(list->line[0]));
    list->line[0] = line;
    if (!hit && list->count < list->lines)
        list->count++;
    return hit;
}

static uint32_t index_of(const struct cell *cell, uint32_t block, uint32_t thread)
{
    return cell->pattern->index(block, thread, 0, CBANK_TABLE_LENGTH, pattern_numbers(cell->parameters));
}

/* Whether a lower thread of the warp reads what `thread` reads. */
static bool read_before(const struct cell *cell, uint32_t block, uint32_t thread)
{
    const uint32_t index = index_of(cell, block, thread);

    for (uint32_t lower = thread / 32 * 32; lower < thread; lower++)
        if (index_of(cell, block, lower) == index)
            return true;
    return false;
}

/* One launch on small_card, whose first level it finds empty, block after block, SM 0 and SM 1 in turn. */
static void list_launch(const struct cell *cell, struct list idc[2], struct list *gcc, double misses[2])
{
    misses[0] = misses[1] = 0;
    idc[0].count = idc[1].count = 0;
    for (uint64_t element = 0; element < cell->elements; element++) {
        const uint32_t block = (uint32_t)(element / cell->block_size);
        const uint32_t thread = (uint32_t)(element % cell->block_size);
        const uint64_t address = 4 * (uint64_t)index_of(cell, block, thread);

        if (read_before(cell, block, thread) || list_lookup(&idc[block % 2], address))
            continue;
        misses[0]++;
        misses[1] += !list_lookup(gcc, address);
    }
}

static void check_lists(const char *pattern, uint64_t elements, uint32_t block_size, const char *regime)
{
    const struct cell cell = make_cell("constant", pattern, elements, block_size, regime);
    struct access_counts access;
    struct model_levels levels;
    struct list idc[2] = {{.line_bytes = 64, .lines = 32}, {.line_bytes = 64, .lines = 32}};
    struct list gcc = {.line_bytes = 256, .lines = 32};
    double misses[2];

    assert_int_equal(access_count(&cell, &access), STATUS_OK);
    assert_int_equal(model_simulate(&cell, &access, &small_card, &levels), STATUS_OK);
    list_launch(&cell, idc, &gcc, misses);
    if (!cell.regime->flush)
        list_launch(&cell, idc, &gcc, misses);
    assert_near(levels.misses[0], misses[0], 1e-6);
    assert_near(levels.requests[1], misses[0], 1e-6);
    assert_near(levels.misses[1], misses[1], 1e-6);
}

static void levels_match_lists(void **state)
{
    static const uint64_t elements[] = {1, 33, 1024, 5000, 40000, 100000};
    static const uint32_t block_sizes[] = {32, 96, 256, 1024};
    const size_t every = repetitions(1, sanitized(4, 2));

    (void)state;
    for (size_t p = 0; p < pattern_count; p++)
        for (size_t e = 0; e < sizeof(elements) / sizeof(elements[0]); e++)
            for (size_t b = (p + e) % every; b < sizeof(block_sizes) / sizeof(block_sizes[0]); b += every) {
                check_lists(patterns[p].name, elements[e], block_sizes[b], "hot");
                check_lists(patterns[p].name, elements[e], block_sizes[b], "cold");
            }
}

/* Of two ways the tree is LRU, of which every wave is simulated: those that stand for others say the same. */
static void waves_that_settle_stand_for_others(void **state)
{
    static const uint64_t elements[] = {1000, 10000, 100000, 100001, 3000000, 3000001};

    (void)state;
    for (size_t p = 0; p < pattern_count; p++)
        for (size_t e = 0; e < 2 * sizeof(elements) / sizeof(elements[0]); e++) {
            const struct cell cell =
                make_cell("constant", patterns[p].name, elements[e / 2], 256, e % 2 ? "cold" : "hot");
            struct model_levels levels[2] = {0};
            struct access_counts access;

            assert_int_equal(access_count(&cell, &access), STATUS_OK);
            for (size_t tree = 0; tree < 2; tree++) {
                struct card card = small_card;

                for (uint32_t l = 0; l < card.level_count; l++) {
                    card.levels[l].ways = 2;
                    card.levels[l].replacement = tree ? CACHE_TREE : CACHE_LRU;
                    card.levels[l].kept_between_launches = l == e / 2 % 2;
                }
                assert_int_equal(model_simulate(&cell, &access, &card, &levels[tree]), STATUS_OK);
            }
            assert_memory_equal(&levels[0], &levels[1], sizeof(levels[0]));
        }
}

/* -- single warps ------------------------------------------------------------------------------------- */

/* One warp on the H200's card: 64-byte lines in the first level, 256-byte lines in the second. per_block and per_warp:
 * one address. per_thread: 128 bytes. pseudo_random: 5428 bytes from one to the next, modulo 64 KB; 12 of those are 400
 * bytes short of 64 KB, so no two addresses are closer than that. half_warp: two neighbours. distinct: 8
 * lines of 64 bytes. Beside the table: two lines of parameters, and two for the immediate constant cache of the one
 * partition. An H200 counts the same: tests/data/single-warp.json. */
static void single_warps_by_hand(void **state)
{
    static const struct {
        const char *pattern;
        double requests, misses, lines;
    } rows[] = {
        {"per_block", 1, 1, 1}, {"per_warp", 1, 1, 1}, {"per_thread", 32, 2, 1}, {"pseudo_random", 32, 32, 32},
        {"half_warp", 2, 1, 1}, {"distinct", 8, 8, 2}, {"broadcast", 1, 1, 1},   {"lockstep", 1, 1, 1},
    };
    const struct card card = default_card();

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t regime = 0; regime < regime_count; regime++) {
            const struct cell cell = make_cell("constant", rows[i].pattern, 32, 32, regimes[regime].name);
            const struct model_levels levels = predict(&cell, &card).levels;
            struct access_counts access;
            struct model_count count;

            assert_near(levels.requests[0], rows[i].requests, 0);
            assert_near(levels.misses[0], rows[i].misses, 0);
            assert_near(levels.requests[1], rows[i].misses, 0);
            assert_near(levels.misses[1], rows[i].lines, 0);
            assert_int_equal(access_count(&cell, &access), STATUS_OK);
            count = model_counter("idc_misses_new", &cell, &access, &card, &levels);
            assert_near(count.low, rows[i].misses + 2, 0);
            assert_near(count.high, rows[i].misses + 2, 0);
            count = model_counter("gcc_constant_requests", &cell, &access, &card, &levels);
            assert_near(count.low, rows[i].misses + 4, 0);
            assert_near(count.high, rows[i].misses + 4, 0);
            count = model_counter("gcc_constant_misses", &cell, &access, &card, &levels);
            assert_near(count.low, rows[i].lines, 0);
            assert_near(count.high, rows[i].lines + 4, 0);
            count = model_counter("idc_hits", &cell, &access, &card, &levels);
            assert_non_null(count.reason);
            assert_true(isnan(count.low) && isnan(count.high));
        }
}

/* 135 blocks of 32 on 132 SMs: three have two warps, on two partitions. Of 64: three have four. Of 96: three have six,
 * on four partitions, and 129 three. Two lines a partition, and two of parameters an SM. */
static void partitions_fetch_their_lines(void **state)
{
    const struct card card = default_card();
    const struct model_levels none = {0};

    (void)state;
    for (uint32_t warps = 1; warps <= 3; warps++) {
        const struct cell cell = make_cell("global", "per_warp", 135 * 32 * warps, 32 * warps, "hot");
        struct access_counts access;
        struct model_count count;

        assert_int_equal(access_count(&cell, &access), STATUS_OK);
        count = model_counter("gcc_constant_requests", &cell, &access, &card, &none);
        assert_near(count.low, 132 * 2 + 2 * (129 * warps + 3 * (warps == 1 ? 2 : 4)), 0);
    }
}

/* A kernel that chooses its pattern fetches two lines more, as all-paths.json has counted: 6 an SM where add has 4. One of them
 * holds the first of a table that is a parameter. What comes again comes beside that. */
static void other_kernels_fetch_more(void **state)
{
    const struct card card = default_card();
    const struct access_counts access = {.blocks = 132};
    struct model_levels levels = {.misses = {[0] = 264}};
    struct cell cell = make_cell("constant", "per_warp", 128000, 1024, "hot");

    (void)state;
    assert_near(model_counter("idc_misses_new", &cell, &access, &card, &levels).low, 264 + 2 * 132, 0);
    levels.parameter_refills = 10;
    assert_near(model_counter("idc_misses_new", &cell, &access, &card, &levels).low, 264 + 2 * 132 + 10, 0);
    cell.workload = workload_named("add_switch");
    assert_near(model_counter("idc_misses_new", &cell, &access, &card, &levels).low, 264 + 4 * 132 + 10, 0);
    cell.path = path_named("param");
    assert_near(model_counter("idc_misses_new", &cell, &access, &card, &levels).low, 264 + 3 * 132 + 10, 0);
}

/* -- long streams, of which a part is simulated -------------------------------------------------------- */

/* per_block: the blocks of an SM are 132 elements apart, each in a line of its own, and the lines come
 * round long after they are gone. */
static void long_stream_by_rate(void **state)
{
    const struct card card = default_card();
    const struct cell cell = make_cell("constant", "per_block", UINT64_C(1) << 28, 1024, "hot");
    const struct model_cell model = predict(&cell, &card);

    (void)state;
    assert_near(model.levels.requests[0], 1 << 23, 0.5);
    assert_near(model.levels.misses[0], 1 << 18, 0.01 * (1 << 18));
    assert_near(model.levels.misses[1], 256 * 132 / 18.0, 0.2 * 256 * 132 / 18.0); /* each line once in each GPC */
}

/* Cold misses come once, however long the launch is: the rate of the beginning is not taken for the rest. */
static void cold_misses_are_not_scaled(void **state)
{
    const struct card card = default_card();
    const struct cell small = make_cell("constant", "pseudo_random", 12800000, 1024, "cold");
    const struct cell large = make_cell("constant", "pseudo_random", 128000000, 1024, "cold");
    const double misses = predict(&small, &card).levels.misses[1];

    (void)state;
    assert_true(misses > 0);
    assert_near(predict(&large, &card).levels.misses[1], misses, 0.01 * misses);
}

/* -- what must hold on every cell --------------------------------------------------------------------- */

static void check_invariants(const struct cell *cell, const struct card *card)
{
    struct access_counts access;
    struct model_cell model;

    assert_int_equal(access_count(cell, &access), STATUS_OK);
    assert_int_equal(model_predict(cell, &access, card, NULL, &model), STATUS_OK);

    const struct model_parts *parts = &model.parts;
    const double unit_ns = parts->serialization_ns + parts->misses_ns;
    const double longest_ns = fmax(fmax(parts->issue_ns, unit_ns), fmax(parts->stream_ns, parts->residency_ns));

    assert_near(model.time_ns, parts->launch_ns + parts->wave_ns + longest_ns, 1e-6);
    assert_true(parts->wave_ns >= card->wave_ns && parts->residency_ns > 0);
    assert_true(parts->issue_ns > 0 && parts->serialization_ns > 0 && parts->stream_ns > 0);
    assert_true(parts->misses_ns >= 0);
    if (cell->path->loads)
        assert_true(model.requests_per_load >= 1 && model.requests_per_load <= 32);
    else
        assert_true(isnan(model.requests_per_load));
    assert_int_equal(model.footprint_bytes, access.footprint_bytes);
    if (cell->path->unit != UNIT_IDC)
        return;
    assert_near(model.levels.requests[0], (double)access.addresses, 1e-6 * (double)access.addresses);
    for (uint32_t l = 0; l < card->level_count; l++) {
        assert_true(model.levels.misses[l] <= model.levels.requests[l]);
        if (l > 0)
            assert_near(model.levels.requests[l], model.levels.misses[l - 1], 0);
    }
}

static void check_on_cards(const struct cell *cell)
{
    const struct card card = default_card();
    struct card one_level = card;
    char reason[CELL_REASON_BYTES];

    if (cell_obstacle(cell, 0, reason))
        return;
    one_level.level_count = 1;
    check_invariants(cell, &card);
    check_invariants(cell, &small_card);
    check_invariants(cell, &one_level);
}

static void invariants_hold(void **state)
{
    static const uint64_t elements[] = {1000, 1, 128000, 3000000};
    const size_t sizes = repetitions(sizeof(elements) / sizeof(elements[0]), sanitized(2, 3));

    (void)state;
    for (size_t path = 0; path < path_count; path++)
        for (size_t pattern = 0; pattern < pattern_count; pattern++)
            for (size_t e = 0; e < sizes; e++)
                for (size_t regime = 0; regime < regime_count; regime++) {
                    const struct cell cell =
                        make_cell(paths[path].name, patterns[pattern].name, elements[e], 256, regimes[regime].name);

                    check_on_cards(&cell);
                }
}

static void invariants_hold_for_every_workload(void **state)
{
    static const uint64_t elements[] = {1, 5000, 300000};
    const size_t sizes = repetitions(sizeof(elements) / sizeof(elements[0]), sanitized(2, 3));

    (void)state;
    for (size_t w = 0; w < workload_count; w++)
        for (size_t path = 0; path < path_count && workloads[w].index != INDEX_LOADED; path++) /* test_lookup.c */
            for (size_t e = 0; e < sizes; e++) {
                struct cell cell = make_filter(workloads[w].name, paths[path].name, 2, elements[e]);

                if (workload_steps(cell.workload, cell.parameters) == 1)
                    cell.pattern = pattern_named("per_warp");
                cell.parameters[PARAMETER_modules] = cell.workload->takes & PARAMETER_BIT(modules) ? 2 : 0;
                cell.parameters[PARAMETER_refill_bytes] = cell.workload->takes & PARAMETER_BIT(refill_bytes) ? 1024 : 0;
                check_on_cards(&cell);
            }
}

/* -- more costs more ---------------------------------------------------------------------------------- */

static void larger_filters_take_longer(void **state)
{
    const struct card card = default_card();
    char reason[CELL_REASON_BYTES];

    (void)state;
    for (size_t w = 0; w < workload_count; w++)
        for (size_t path = 0; path < path_count && workloads[w].takes & PARAMETER_BIT(radius); path++) {
            double first = 0, before = 0;

            for (uint32_t radius = 1; radius <= workloads[w].variants;
                 radius += sanitized(workloads[w].variants - 1, 1)) {
                const struct cell cell = make_filter(workloads[w].name, paths[path].name, radius, 1 << 22);

                if (cell_obstacle(&cell, 0, reason))
                    continue;
                const double ns = predict(&cell, &card).time_ns;

                assert_true(ns >= before);
                before = ns;
                first = first > 0 ? first : ns;
            }
            assert_true(before > first || path_is_small(&paths[path]));
        }
}

/* Of no unit does a warp that reads more addresses cost less; of some it costs more. */
static void more_addresses_take_longer(void **state)
{
    static const char *const dearer[] = {"constant", "param", "shared"};
    const struct card card = default_card();
    char reason[CELL_REASON_BYTES];

    (void)state;
    for (size_t path = 0; path < path_count; path++) {
        struct cell cell = make_cell(paths[path].name, "distinct", 12800000, 1024, "hot");
        double first = 0, before = 0;

        cell.parameters[PARAMETER_stride_bytes] = 4 * 16; /* 2 KB at most: param has no more */
        if (cell_obstacle(&cell, 0, reason))
            continue;
        for (uint32_t distinct = 1; distinct <= 32; distinct *= (uint32_t)sanitized(32, 2)) {
            cell.parameters[PARAMETER_distinct] = distinct;
            const double ns = predict(&cell, &card).time_ns;

            /* One line of L2 has one slice: more lines are answered by more. */
            assert_true(ns >= before || cell.path->unit == UNIT_L2);
            before = ns;
            first = first > 0 ? first : ns;
        }
        for (size_t i = 0; i < 3; i++)
            if (strcmp(dearer[i], cell.path->name) == 0)
                assert_true(before > first);
    }
}

/* 4096 bytes more take copy_bytes_per_ns; tables among the parameters are not copied. */
static void what_comes_before_a_launch_by_hand(void **state)
{
    struct cell cell = make_cell("constant", "per_warp", 4096, 1024, "hot");

    (void)state;
    cell.workload = workload_named("refill");
    cell.parameters[PARAMETER_refill_bytes] = 4096;
    assert_near(predict(&cell, &small_card).parts.launch_ns, 1000 + 5000 + 2048, 1e-9);
    cell.path = path_named("param");
    cell.parameters[PARAMETER_refill_bytes] = 1024;
    assert_near(predict(&cell, &small_card).parts.launch_ns, 1000, 1e-9);
    cell = make_cell("constant", "per_warp", 4096, 1024, "hot");
    cell.workload = workload_named("modules");
    cell.parameters[PARAMETER_modules] = 1;
    assert_near(predict(&cell, &small_card).parts.launch_ns, 1000, 1e-9);
    cell.parameters[PARAMETER_modules] = 2;
    assert_near(predict(&cell, &small_card).parts.launch_ns, 1150, 1e-9);
}

/* 4 blocks of 1024 on 2 SMs, 64 warps each. Uniform: 3 cycles a load. Operand: 7. Texture: 4, and 1 for the
 * load of the input. L2: all loads ask for one line, for one of its four sectors: 7 of 31 others want the same, and the cube of
 * that share is answered with another's, in 0.495 of a turn. Of pseudo_random they ask for 32 lines each, of eight
 * banks, since so small a chip has one stack. */
static void other_units_by_hand(void **state)
{
    struct model_cell model;
    struct cell cell = make_cell("constant_uniform", "broadcast", 4096, 1024, "hot");

    (void)state;
    model = predict(&cell, &small_card);
    assert_near(model.parts.serialization_ns, 64 * 3, 1e-9);
    assert_near(model.parts.misses_ns, 0, 0);
    assert_near(model.requests_per_load, 1, 0);
    assert_near(model.levels.requests[0], 0, 0);
    cell = make_cell("constant_operand", "broadcast", 4096, 1024, "hot");
    assert_near(predict(&cell, &small_card).parts.serialization_ns, 64 * 7, 1e-9);
    cell = make_cell("texture", "per_warp", 4096, 1024, "hot");
    model = predict(&cell, &small_card);
    assert_near(model.parts.serialization_ns, 64 * (4 + 1), 1e-9);
    assert_near(model.parts.wave_ns, 500 + 4 * 2, 1e-9);
    cell = make_cell("global_l2", "per_warp", 4096, 1024, "hot");
    model = predict(&cell, &small_card);
    assert_near(model.parts.serialization_ns, 64 * 2, 1e-9);
    assert_near(model.parts.serialization_ns + model.parts.misses_ns, 128 * 5 * (1 - 0.505 * pow(7 / 31.0, 3)), 1e-9);
    cell = make_cell("global_l2", "pseudo_random", 4096, 1024, "hot");
    model = predict(&cell, &small_card);
    assert_true(model.parts.serialization_ns + model.parts.misses_ns > 128 * 31 * 5 / 8.0);
    assert_true(model.parts.serialization_ns + model.parts.misses_ns < 1.2 * 128 * 32 * 5 / 8.0);
}

/* Loads that all ask for the same, as results/h200/serialization.json has them: us in the table's places that take the shortest
 * and the longest, of 400,000 loads. A load of one line takes 0.3278 ns, two requests at once. */
static void banks_answer_as_measured(void **state)
{
    static const struct {
        uint32_t distinct, stride;
        double least, most;
    } rows[] = {{1, 4, 65, 65},         {2, 32, 69.9, 69.9},   {4, 32, 97.7, 97.7},    {2, 128, 123.6, 123.6},
                {4, 128, 123.6, 123.6}, {8, 128, 123.8, 241},  {16, 128, 241, 241},    {32, 128, 241.2, 241.2},
                {2, 256, 65, 65},       {4, 256, 65.2, 123.6}, {8, 256, 123.7, 123.7}, {16, 256, 123.8, 123.8},
                {32, 256, 123.8, 241},  {2, 512, 65.2, 123.6}, {8, 512, 123.7, 123.7}, {16, 512, 123.8, 241},
                {32, 512, 123.8, 241},  {8, 32, 133, 133},     {16, 32, 138.7, 138.7}, {32, 64, 244.5, 244.5}};
    struct card card = small_card;

    (void)state;
    card.l2_slices = 48;
    card.l2_request_ns = 1000 * 0.3278; /* far more than L1 takes */
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cell cell = make_cell("global_l2", "distinct", 4096, 1024, "hot");
        struct model_cell model;
        double us;

        cell.parameters[PARAMETER_distinct] = rows[i].distinct;
        cell.parameters[PARAMETER_stride_bytes] = rows[i].stride;
        model = predict(&cell, &card);
        us = (model.parts.serialization_ns + model.parts.misses_ns) * 400000 / 128 / 1e6;
        assert_true(us > 0.95 * rows[i].least && us < 1.05 * rows[i].most);
    }
}

/* 64 KB a block, with 1 KB for the system: room for 3 blocks, but for 2 of 1024 threads. A thread copies 16 elements:
 * a block waits 100 + 16 x 20 cycles. Its 32 warps copy in 512 loads of 4 sectors, load 32 sectors of input: L1 takes
 * 544 cycles; shared memory takes 512 stores and 32 loads at 2 cycles each. */
static void staging_by_hand(void **state)
{
    struct cell cell = make_cell("shared", "per_warp", 10240, 1024, "hot");
    struct model_cell model = predict(&cell, &small_card);

    (void)state;
    assert_near(model.requests_per_load, 1, 0);
    assert_near(model.parts.wave_ns, 500 + 420, 1e-9);
    assert_near(model.parts.serialization_ns, 5 * (544 + 544 * 2), 1e-9);
    assert_near(model.parts.residency_ns, 1.5 * (400 + 1632 + 420), 1e-9);
    cell = make_cell("shared", "per_warp", 10240, 256, "hot"); /* 40 blocks, 6 at a time; 64 elements a thread */
    assert_near(predict(&cell, &small_card).parts.residency_ns,
                (40 / 6.0 - 1) * (400 + (520 + 520 * 2) + 100 + 64 * 20), 1e-9);
    cell = make_cell("staging", "per_warp", 10240, 1024, "hot");
    model = predict(&cell, &small_card);
    assert_near(model.parts.serialization_ns, 5 * (544 + 512 * 2), 1e-9);
}

/* -- the engine --------------------------------------------------------------------------------------- */

static bool never_stop(void *context, const char *phase, size_t done, size_t total)
{
    (void)phase;
    assert_true(done <= total);
    ++*(size_t *)context;
    return false;
}

static bool stop_at_once(void *context, const char *phase, size_t done, size_t total)
{
    (void)context;
    (void)phase;
    (void)done;
    (void)total;
    return true;
}

enum { ENGINE_CELLS_MAX = 120 };

struct engine_run {
    struct cell_result cells[ENGINE_CELLS_MAX];
    struct result result;
    struct counter_set set;
};

static void engine_run_open(struct engine_run *run, const char *counters, const struct fault *fault)
{
    size_t steps = 0;
    struct progress progress = {.step = never_stop, .context = &steps};
    const struct engine_options options = {.counters = &run->set, .fault = fault};
    struct engine_session *session;
    char reason[CELL_REASON_BYTES];

    *run = (struct engine_run){0};
    for (size_t pattern = 0; pattern < pattern_count; pattern++)
        for (size_t path = 0; path < path_count; path++) {
            const struct cell cell = make_cell(paths[path].name, patterns[pattern].name, 128000, 1024, "hot");

            assert_true(run->result.cell_count < ENGINE_CELLS_MAX);
            if (!cell_obstacle(&cell, 0, reason))
                run->cells[run->result.cell_count++].cell = cell;
        }
    run->result.cells = run->cells;
    assert_int_equal(counter_set_parse(counters, &run->set), STATUS_OK);
    assert_int_equal(engine_model.describe(0, NULL, &run->result.device), STATUS_OK);
    assert_int_equal(engine_model.open(&options, &run->result, &session), STATUS_OK);
    assert_int_equal(engine_model.time(session, &run->result, &progress), STATUS_OK);
    assert_int_equal(steps, run->result.cell_count);
    engine_model.close(session);
}

static void engine_run_close(struct engine_run *run)
{
    for (size_t i = 0; i < run->result.cell_count; i++) {
        free(run->cells[i].counters);
        free(run->cells[i].kernel.made);
    }
    counter_set_close(&run->set);
}

static const struct counter_value *find_value(const struct cell_result *cell, const char *name)
{
    for (size_t i = 0; i < cell->counter_count; i++)
        if (strcmp(cell->counters[i].name, name) == 0)
            return &cell->counters[i];
    fail_msg("no counter %s", name);
    return NULL;
}

static void engine_models_every_cell(void **state)
{
    struct engine_run run;

    (void)state;
    engine_run_open(&run, "default", NULL);
    assert_string_equal(run.result.device.name, "H200");
    assert_int_equal(run.result.device.sm_count, 132);
    for (size_t i = 0; i < run.result.cell_count; i++) {
        const struct cell_result *cell = &run.cells[i];
        const struct cell_time *time = &cell->time;

        assert_int_equal(cell->status, CELL_OK);
        assert_true(cell->modelled);
        assert_false(cell->verified);
        assert_int_equal(cell->flags, 0);
        assert_int_equal(time->stop_reason, STOP_MODELLED);
        assert_near(time->summary.value, cell->model.time_ns, 0);
        assert_near(time->summary.ci_high, cell->model.time_ns, 0);
        assert_int_equal(time->summary.count, 0);
        assert_null(time->samples_ns);
        assert_near(time->cycles, cell->model.time_ns * time->sm_clock_mhz / 1000, 1e-6);
    }
    engine_run_close(&run);
}

/* Every counter has a status that says what its value is worth. */
static void engine_says_what_counters_are(void **state)
{
    struct engine_run run;

    (void)state;
    engine_run_open(&run, "default", NULL);
    for (size_t i = 0; i < run.result.cell_count; i++) {
        assert_int_equal(run.cells[i].counter_count, counter_count);
        for (size_t c = 0; c < counter_count; c++) {
            const struct counter_value *value = &run.cells[i].counters[c];

            assert_string_equal(value->name, counters[c].name);
            assert_true(value->status == COUNTER_OK || value->status == COUNTER_UNAVAILABLE);
            assert_int_equal(isnan(value->value) != 0, value->status != COUNTER_OK);
            assert_int_equal(value->reason == NULL, value->status == COUNTER_OK);
            assert_null(value->metric);
            if (value->kind == COUNTER_EXACT && value->status == COUNTER_OK)
                assert_near(value->value, value->expected, 0);
        }
    }
    engine_run_close(&run);
}

/* 125 blocks, each on an SM of its own. */
static void engine_predicts_constant_counters(void **state)
{
    static const char *const not_predicted[] = {"idc_hits", "idc_misses", "gcc_constant_misses", "dram_read_bytes",
                                                "some__metric"};
    struct engine_run run;

    (void)state;
    engine_run_open(&run,
                    "idc_misses,idc_misses_new,gcc_constant_requests,gcc_constant_misses,idc_hits,"
                    "dram_read_bytes,some__metric",
                    NULL);
    for (size_t i = 0; i < run.result.cell_count; i++) {
        const struct cell_result *cell = &run.cells[i];
        const struct model_levels *levels = &cell->model.levels;

        assert_near(find_value(cell, "idc_misses_new")->value, levels->misses[0] + 125 * 2 + levels->parameter_refills,
                    0);
        if (cell->cell.path->unit == UNIT_UNIFORM || cell->cell.path->unit == UNIT_IMC)
            assert_int_equal(find_value(cell, "gcc_constant_requests")->status, COUNTER_UNAVAILABLE);
        else
            assert_near(find_value(cell, "gcc_constant_requests")->value,
                        levels->requests[1] + 125 * 10 + levels->parameter_refills, 0);
        for (size_t n = 0; n < sizeof(not_predicted) / sizeof(not_predicted[0]); n++)
            assert_int_equal(find_value(cell, not_predicted[n])->status, COUNTER_UNAVAILABLE);
        assert_int_equal(cell->counter_count, 7);
    }
    engine_run_close(&run);
}

static void engine_does_without_counters(void **state)
{
    struct engine_run run;

    (void)state;
    engine_run_open(&run, "none", NULL);
    for (size_t i = 0; i < run.result.cell_count; i++)
        assert_int_equal(run.cells[i].counter_count, 0);
    engine_run_close(&run);
}

static void planted_counter_fault_is_flagged(void **state)
{
    static const struct fault fault = {.name = "counter", .counter = true};
    struct engine_run run;

    (void)state;
    engine_run_open(&run, "default", &fault);
    for (size_t i = 0; i < run.result.cell_count; i++) {
        assert_true(counter_differs(find_value(&run.cells[i], "l1_sectors")));
        assert_int_equal(run.cells[i].flags, FLAG_COUNTER_DIFFERS);
    }
    engine_run_close(&run);
}

/* What is not pending stays as it is, and a user's stop leaves the rest pending. */
static void engine_leaves_other_cells_alone(void **state)
{
    struct counter_set set = {0};
    const struct engine_options options = {.counters = &set};
    struct cell_result cells[2] = {0};
    struct result result = {.cells = cells, .cell_count = 2};
    size_t steps = 0;
    const struct progress go = {.step = never_stop, .context = &steps};
    const struct progress stop = {.step = stop_at_once};
    struct engine_session *session;

    (void)state;
    cells[0].cell = cells[1].cell = make_cell("constant", "per_thread", 128000, 1024, "hot");
    cells[0].status = CELL_SKIPPED;
    assert_int_equal(engine_model.open(&options, &result, &session), STATUS_OK);
    assert_int_equal(engine_model.time(session, &result, &stop), STATUS_OK);
    assert_int_equal(cells[1].status, CELL_PENDING);
    assert_int_equal(engine_model.time(session, &result, &go), STATUS_OK);
    assert_int_equal(cells[0].status, CELL_SKIPPED);
    assert_false(cells[0].modelled);
    assert_int_equal(cells[1].status, CELL_OK);
    engine_model.close(session);
    free(cells[1].counters);
    free(cells[1].kernel.made);
}

static void engine_describes_itself(void **state)
{
    const struct engine_options options = {.card = "/nonexistent/card.json"};
    struct engine_session *session = NULL;
    struct device_info device;
    struct result result = {0};
    struct capture capture;
    const char *reason = NULL;
    enum status status;

    (void)state;
    assert_true(engine_model.modelled);
    assert_int_equal(engine_model.device_count(&reason), 1);
    assert_int_equal(engine_model.describe(0, NULL, &device), STATUS_OK);
    assert_string_equal(device.chip, "GH100");
    assert_true(isnan(device.memory_clock_max_mhz));
    capture_begin(&capture, stderr);
    status = engine_model.open(&options, &result, &session);
    capture_end(&capture);
    assert_int_equal(status, STATUS_USAGE);
    assert_null(session);
    engine_model.close(NULL);
}

/* A load of 16 bytes is two, each of which asks for every address; and the table is in as many lines as its bytes are. */
static void elements_of_16_bytes_are_loaded_in_two_pieces(void **state)
{
    struct cell cell = make_cell("constant", "per_thread", 135168, 1024, "hot");
    const struct card card = default_card();
    double requests[2], times[2];

    (void)state;
    cell.parameters[PARAMETER_table_bytes] = 16384;
    for (uint32_t i = 0; i < 2; i++) {
        struct model_cell model;

        cell.parameters[PARAMETER_width_bytes] = i ? 16 : 8;
        model = predict(&cell, &card);
        requests[i] = model.levels.requests[0];
        times[i] = model.time_ns;
        assert_near(model.requests_per_load, 32, 0);
        assert_int_equal(model.footprint_bytes, i ? 16384 : 8192);
    }
    assert_near(requests[0], 135168, 0.5);
    assert_near(requests[1], 2 * 135168, 0.5);
    assert_true(times[1] > 1.3 * times[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_of_a_published_chip),
        cmocka_unit_test(what_is_added_to_a_card_is_used),
        cmocka_unit_test(stream_by_hand),
        cmocka_unit_test(l1_by_hand),
        cmocka_unit_test(residency_by_hand),
        cmocka_unit_test(registers_limit_residency),
        cmocka_unit_test(a_block_alone_lives_shorter),
        cmocka_unit_test(input_without_registers_comes_first),
        cmocka_unit_test(known_instructions_are_issued),
        cmocka_unit_test(changes_of_blocks_by_hand),
        cmocka_unit_test(residency_leaves_constants_out),
        cmocka_unit_test(constant_by_hand),
        cmocka_unit_test(levels_are_kept_as_the_card_says),
        cmocka_unit_test(busiest_level_counts),
        cmocka_unit_test(busiest_sm_counts),
        cmocka_unit_test(later_waves_even_out),
        cmocka_unit_test(levels_match_lists),
        cmocka_unit_test(waves_that_settle_stand_for_others),
        cmocka_unit_test(single_warps_by_hand),
        cmocka_unit_test(partitions_fetch_their_lines),
        cmocka_unit_test(other_kernels_fetch_more),
        cmocka_unit_test(long_stream_by_rate),
        cmocka_unit_test(cold_misses_are_not_scaled),
        cmocka_unit_test(invariants_hold),
        cmocka_unit_test(invariants_hold_for_every_workload),
        cmocka_unit_test(larger_filters_take_longer),
        cmocka_unit_test(more_addresses_take_longer),
        cmocka_unit_test(what_comes_before_a_launch_by_hand),
        cmocka_unit_test(other_units_by_hand),
        cmocka_unit_test(banks_answer_as_measured),
        cmocka_unit_test(staging_by_hand),
        cmocka_unit_test(engine_models_every_cell),
        cmocka_unit_test(engine_says_what_counters_are),
        cmocka_unit_test(engine_predicts_constant_counters),
        cmocka_unit_test(engine_does_without_counters),
        cmocka_unit_test(planted_counter_fault_is_flagged),
        cmocka_unit_test(engine_leaves_other_cells_alone),
        cmocka_unit_test(engine_describes_itself),
        cmocka_unit_test(elements_of_16_bytes_are_loaded_in_two_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
