/* SPDX-License-Identifier: MIT
 * The simple time and what bounds a cell, on a chip of round numbers, by hand: one SM at 1000 MHz,
 * so that a cycle is 1 ns. */
#include <math.h>

#include "cells.h"
#include "estimate.h"
#include "explain.h"
#include "index_list.h"
#include "source.h"
#include "test.h"

#define NUMBER(card, key, number_)                   \
    (card).number[CARD_##key] = (struct card_number) \
    {                                                \
        number_, number_, number_                    \
    }

/* Every number is 1, its interval too, but for these. A unit that should not bound is made fast by
 * its test. */
static struct card round_card(void)
{
    struct card card = {.name = "Round"};

    for (int i = 0; i < CARD_NUMBERS; i++)
        card.number[i] = (struct card_number){1, 1, 1};
    NUMBER(card, WARPS_PER_SM, 64);
    NUMBER(card, BLOCKS_PER_SM, 32);
    NUMBER(card, SHARED_BYTES_PER_SM, 65536);
    NUMBER(card, SHARED_BYTES_RESERVED, 0);
    NUMBER(card, SM_CLOCK_MHZ, 1000);
    NUMBER(card, L2_BYTES, 1e9);
    NUMBER(card, L2_BYTES_PER_NS, 1e6);
    NUMBER(card, DRAM_BYTES_PER_NS, 1e6);
    NUMBER(card, LAUNCH_NS, 5);
    NUMBER(card, BLOCK_START_NS, 0);
    NUMBER(card, BLOCK_L2_NS, 0);
    NUMBER(card, BLOCK_DRAM_NS, 0);
    NUMBER(card, ISSUE_PER_CYCLE, 1e6);
    NUMBER(card, ALU_LATENCY_CYCLES, 0);
    NUMBER(card, L1_REQUESTS_PER_CYCLE, 1e6);
    NUMBER(card, TEXTURE_REQUESTS_PER_CYCLE, 1e6);
    NUMBER(card, SHARED_WAVEFRONTS_PER_CYCLE, 1e6);
    NUMBER(card, CONSTANT_L1_BYTES, 2048);
    NUMBER(card, CONSTANT_ADDRESS_CYCLES, 0);
    NUMBER(card, CONSTANT_FILL_CYCLES, 0);
    NUMBER(card, L1_LATENCY_CYCLES, 0);
    NUMBER(card, L2_LATENCY_CYCLES, 0);
    NUMBER(card, L2_LINE_NS, 0);
    return card;
}

/* 2048 elements in two blocks of 1024, which an SM holds at a time: 64 warps, one load each. */
static struct cell two_blocks(const char *path, const char *pattern)
{
    struct cell cell = cell_of(0, 0);

    cell.path = path_named(path);
    cell.pattern = pattern_named(pattern);
    cell.elements = 2048;
    cell.block_size = 1024;
    return cell;
}

static struct cell_estimate estimate_of(const struct cell *cell, const struct card *card,
                                        const struct time_kernel *kernel)
{
    struct access_counts access;
    struct cell_estimate estimate;

    assert_int_equal(access_count(cell, &access), STATUS_OK);
    estimate_time(cell, &access, card, kernel, &estimate);
    return estimate;
}

/* Fails unless the unit is busy so long, is the longest, and the time is that and the launch of 5
 * ns. */
static void expect_busy(const struct cell_estimate *estimate, enum time_unit unit, double ns)
{
    if (fabs(estimate->busy_ns[unit] - ns) > 1e-3 * ns || estimate->longest != unit)
        fail_msg("%s takes %g ns, not %g; the longest is %s", time_units[unit].name,
                 estimate->busy_ns[unit], ns, time_units[estimate->longest].name);
    assert_true(estimate->missing == 0 && fabs(estimate->time_ns.value - 5 - ns) < 1e-3 * ns);
}

TEST(a_unit_is_busy_for_what_it_is_asked_for)
{
    /* Each row makes one number of the card slow. */
    static const struct {
        const char *path, *pattern;
        enum card_key key;
        double number;
        enum time_unit unit;
        double ns;
    } rows[] = {
        /* 64 warp loads of 32 distinct addresses, 10 cycles each. */
        {"constant", "per_thread", CARD_CONSTANT_ADDRESS_CYCLES, 10, TIME_CONSTANT, 64 * 32 * 10},
        {"constant", "per_warp", CARD_CONSTANT_ADDRESS_CYCLES, 10, TIME_CONSTANT, 64 * 10},
        /* Elements 1357 apart: 924 lines of 64 bytes in each block (test_access.c), 59,136 bytes;
         * 2,048 of them fit. A block needs 28.875 times the cache: its warps ask again, but for no
         * more than 1,024 lines. */
        {"constant", "pseudo_random", CARD_CONSTANT_FILL_CYCLES, 10, TIME_FILL,
         2 * 1024 * (1 - 2048 / 59136.0) * 10},
        /* 64 loads of the input, 64 of the table; half a load a cycle. */
        {"global", "per_thread", CARD_L1_REQUESTS_PER_CYCLE, 0.5, TIME_L1, 128 / 0.5},
        {"texture", "per_thread", CARD_TEXTURE_REQUESTS_PER_CYCLE, 0.25, TIME_L1, 64 / 0.25},
        /* 8,192 bytes in and out, one byte a ns; the table of 4 KB is in L1. */
        {"global", "per_thread", CARD_L2_BYTES_PER_NS, 1, TIME_L2, 16384},
        /* Past L1: 64 loads of 4 sectors of 32 bytes come to that. */
        {"global_l2", "per_thread", CARD_L2_BYTES_PER_NS, 1, TIME_L2, 16384 + 64 * 128},
        /* All loads ask for one line, 64 of them. */
        {"global_l2", "broadcast", CARD_L2_LINE_NS, 3, TIME_L2_LINE, 64 * 3},
        {"constant", "per_warp", CARD_BLOCK_START_NS, 100, TIME_START, 200},
        {"constant", "per_warp", CARD_BLOCK_L2_NS, 700, TIME_LATENCY, 700},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct cell cell = two_blocks(rows[i].path, rows[i].pattern);
        struct card card = round_card();
        struct cell_estimate estimate;

        card.number[rows[i].key] =
            (struct card_number){rows[i].number, rows[i].number, rows[i].number};
        estimate = estimate_of(&cell, &card, NULL);
        expect_busy(&estimate, rows[i].unit, rows[i].ns);
    }
}

TEST(instructions_are_those_of_the_code)
{
    const struct cell cell = two_blocks("constant", "per_warp");
    const struct time_kernel kernel = {.instructions = {true, 6400}};
    struct card card = round_card();
    struct cell_estimate estimate;

    NUMBER(card, ISSUE_PER_CYCLE, 4);
    estimate = estimate_of(&cell, &card, &kernel);
    expect_busy(&estimate, TIME_ISSUE, 1600);
    /* not known: loads alone, 64 of the table and 64 of the input */
    estimate = estimate_of(&cell, &card, NULL);
    expect_busy(&estimate, TIME_ISSUE, 32);
}

/* An SM holds two of its four blocks: each of two waves lives 700 ns, and an SM's own work is not
 * hidden for one block of two. */
TEST(waves_wait_one_after_the_other)
{
    struct cell cell = two_blocks("constant", "per_thread");
    struct card card = round_card();
    struct cell_estimate estimate;

    cell.elements = 4096;
    NUMBER(card, BLOCK_L2_NS, 5000);
    NUMBER(card, CONSTANT_ADDRESS_CYCLES, 1);
    estimate = estimate_of(&cell, &card, NULL);
    expect_busy(&estimate, TIME_LATENCY, 2 * 5000 + 128 * 32 / 2);
}

/* One lookup by each of 4096 elements. */
static struct cell lookups(const char *path, size_t source, uint32_t table_bytes)
{
    struct cell cell = two_blocks(path, "per_thread");

    cell.workload = workload_named("lookup");
    cell.pattern = &sources[source];
    cell.elements = 4096;
    cell.parameters[PARAMETER_loads] = cell.parameters[PARAMETER_in_flight] = 1;
    cell.parameters[PARAMETER_table_bytes] = table_bytes;
    return cell;
}

/* Where a thread takes one element, four blocks are two waves, and the second copies its table
 * after the first is done. A block copies it by two warp loads, a word a thread. A grid that
 * strides has one wave. */
TEST(every_wave_of_blocks_copies_the_table)
{
    static const uint8_t index[4096];
    const struct indices indices = {index, 1, 0, 4096};
    struct cell cell = lookups("shared", SOURCE_random, 256);
    struct card card = round_card();
    struct cell_estimate stride, single;

    cell.indices = &indices;
    NUMBER(card, BLOCK_L2_NS, 5000);
    NUMBER(card, L2_LATENCY_CYCLES, 300);
    NUMBER(card, L1_REQUESTS_PER_CYCLE, 1);
    card_set_grid(&card, &cell);
    stride = estimate_of(&cell, &card, NULL);
    cell.parameters[PARAMETER_thread_elements] = 1;
    card_set_grid(&card, &cell);
    single = estimate_of(&cell, &card, NULL);
    assert_true(fabs(single.busy_ns[TIME_L1] - stride.busy_ns[TIME_L1] - 4) < 1e-3);
    assert_true(fabs(single.busy_ns[TIME_LATENCY] - stride.busy_ns[TIME_LATENCY] -
                     (5000 + 300 + 4.0 / 2)) < 1e-3);
}

/* Four blocks of 1024 threads, two at a time. Two windows of 1 KB are what the constant cache
 * holds; each block misses its 16 lines once, but for the half of all 4 KB that may be there. Two
 * windows of 2 KB: half of a warp's lines miss. Windows of all the table: seven eighths. */
TEST(blocks_with_windows_have_a_working_set_of_their_own)
{
    static const uint32_t entries[] = {256, 512, 4096};
    static const double fills[] = {4 * 16 * 0.5, 0, 0}, of_lines[] = {0, 0.5, 0.875};
    struct card card = round_card();

    NUMBER(card, CONSTANT_FILL_CYCLES, 10);
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        struct cell cell = lookups("constant", SOURCE_window, 16384);
        struct index_list list = {.unhashed = true};
        const struct index_array *array;
        struct access_counts access;
        struct cell_estimate estimate;

        cell.parameters[PARAMETER_window_threads] = 1024;
        cell.parameters[PARAMETER_window_entries] = entries[i];
        assert_int_equal(index_list_give(&list, &cell, &array), STATUS_OK);
        assert_int_equal(access_count(&cell, &access), STATUS_OK);
        estimate = estimate_of(&cell, &card, NULL);
        expect_busy(&estimate, TIME_FILL, 10 * (fills[i] + of_lines[i] * (double)access.lines));
        index_list_close(&list);
    }
}

/* Input and output of 16,384 bytes: L2 keeps all of it if it has 32,768, half if 21,845, nothing if
 * 16,384, or after a flush. */
TEST(what_l2_does_not_keep_comes_from_device_memory)
{
    static const struct {
        double l2_bytes, share;
        bool cold;
    } rows[] = {{32768, 0, false},
                {65536, 0, false},
                {16384, 1, false},
                {16384 / 0.75, 0.5, false},
                {1e9, 1, true}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cell cell = two_blocks("global", "per_thread");
        struct card card = round_card();
        struct cell_estimate estimate;

        cell.cache_state = cache_state_named(rows[i].cold ? "cold" : "hot");
        NUMBER(card, L2_BYTES, rows[i].l2_bytes);
        NUMBER(card, DRAM_BYTES_PER_NS, 1);
        estimate = estimate_of(&cell, &card, NULL);
        assert_true(fabs(estimate.busy_ns[TIME_DRAM] - rows[i].share * 16384) < 1);
    }
}

TEST(the_interval_is_that_of_the_numbers_and_of_the_model)
{
    const struct cell cell = two_blocks("constant", "per_thread");
    struct card card = round_card();
    struct cell_estimate estimate;

    card.number[CARD_CONSTANT_ADDRESS_CYCLES] = (struct card_number){10, 8, 20};
    estimate = estimate_of(&cell, &card, NULL);
    assert_true(fabs(estimate.time_ns.low - (5 + 64 * 32 * 8) / TIME_MODEL_ERROR) < 1e-6);
    assert_true(fabs(estimate.time_ns.high - (5 + 64 * 32 * 20) * TIME_MODEL_ERROR) < 1e-6);
    card.number[CARD_CONSTANT_ADDRESS_CYCLES] = (struct card_number){0, 0, 0};
    card.number[CARD_L2_BYTES_PER_NS] = (struct card_number){2, 1, 4}; /* a rate: more is faster */
    estimate = estimate_of(&cell, &card, NULL);
    assert_true(fabs(estimate.time_ns.low - (5 + 16384 / 4.0) / TIME_MODEL_ERROR) < 1e-6);
    assert_true(fabs(estimate.time_ns.high - (5 + 16384) * TIME_MODEL_ERROR) < 1e-6);
}

TEST(without_a_number_a_time_is_at_least_what_the_others_say)
{
    const struct cell cell = two_blocks("constant", "per_thread");
    char text[CARD_TEXT_BYTES];
    struct card card = round_card();
    struct cell_estimate estimate;

    NUMBER(card, CONSTANT_ADDRESS_CYCLES, 10);
    NUMBER(card, TEXTURE_REQUESTS_PER_CYCLE, NAN); /* which the cell does not need */
    estimate = estimate_of(&cell, &card, NULL);
    expect_busy(&estimate, TIME_CONSTANT, 64 * 32 * 10);
    NUMBER(card, L2_BYTES_PER_NS, NAN);
    NUMBER(card, LAUNCH_NS, NAN);
    estimate = estimate_of(&cell, &card, NULL);
    assert_true(isnan(estimate.time_ns.value) && isinf(estimate.time_ns.high) &&
                isnan(estimate.busy_ns[TIME_L2]));
    assert_true(fabs(estimate.time_ns.low - 64 * 32 * 10 / TIME_MODEL_ERROR) < 1e-6);
    estimate_missing_text(&estimate, text);
    assert_string_equal(text, "l2_bytes_per_ns, launch_ns");
}

TEST(what_the_host_writes_before_a_launch_is_not_known)
{
    struct cell cell = two_blocks("constant", "per_warp");
    const struct card card = round_card();
    struct cell_estimate estimate;

    cell.workload = workload_named("refill");
    cell.parameters[PARAMETER_refill_bytes] = 1024;
    estimate = estimate_of(&cell, &card, NULL);
    assert_true(isnan(estimate.time_ns.value) && estimate.missing == ESTIMATE_HOST_COPY);
}

TEST(every_built_in_card_bounds_every_cell)
{
    for (size_t i = 0; i < card_text_count; i++) {
        struct card card;

        assert_int_equal(card_read(card_texts[i].name, &card), STATUS_OK);
        for (size_t path = 0; path < path_count; path++) {
            struct cell cell = two_blocks(paths[path].name, "per_block");
            char reason[CELL_REASON_BYTES];
            struct cell_estimate estimate;

            cell.elements = 1 << 20;
            if (cell_obstacle(&cell, 90, reason))
                continue;
            estimate = estimate_of(&cell, &card, NULL);
            assert_true(estimate.time_ns.low > 0 ||
                        !isfinite(card.number[CARD_SM_CLOCK_MHZ].value));
            assert_true(isnan(estimate.time_ns.value) ||
                        (estimate.time_ns.low < estimate.time_ns.value &&
                         estimate.time_ns.value < estimate.time_ns.high));
        }
    }
}

/* -- explain ----------------------------------------------------------------------------------- */

static struct counter_value counted(const char *name, double value)
{
    return (struct counter_value){.name = name, .status = COUNTER_OK, .value = value};
}

enum { ISSUE, LOADS, ADDRESSES, L2 = 7, DRAM };

/* 10,000 cycles, 10,000 ns: 4,000 instructions at one a cycle, 2,000 loads at one a cycle, 4,500
 * requests of 2 cycles, 100 sectors of 32 bytes at 1; the other units did nothing. */
static struct cell_result busy_cell(struct card *card)
{
    static struct counter_value values[10];
    struct cell_result cell = {.cell = two_blocks("constant", "per_thread"), .counters = values};
    const struct counter_value were[] = {
        counted("instructions", 4000),   counted("ldc_instructions", 2000),
        counted("idc_requests", 4500),   counted("idc_misses_new", 0),
        counted("l1_requests", 0),       counted("texture_instructions", 0),
        counted("shared_wavefronts", 0), counted("l2_sectors", 100),
        counted("dram_read_bytes", 0),   counted("dram_write_bytes", 0),
    };

    memcpy(values, were, sizeof(values));
    cell.counter_count = sizeof(values) / sizeof(values[0]);
    cell.time.summary.value = cell.time.cycles = 10000;
    *card = round_card();
    NUMBER(*card, ISSUE_PER_CYCLE, 1);
    NUMBER(*card, CONSTANT_LOADS_PER_CYCLE, 1);
    NUMBER(*card, CONSTANT_ADDRESS_CYCLES, 2);
    NUMBER(*card, L2_BYTES_PER_NS, 1);
    return cell;
}

TEST(the_busiest_unit_bounds_a_cell)
{
    struct card card;
    const struct cell_result cell = busy_cell(&card);
    struct explained_cell explained;

    explain_cell(&cell, NULL, &card, false, &explained);
    assert_string_equal(explained.bound, "constant cache");
    assert_string_equal(explained.busiest, "constant cache 90%");
    assert_true(fabs(explained.share[ISSUE].value - 0.4) < 1e-9);
    assert_true(fabs(explained.share[LOADS].value - 0.2) < 1e-9);
    assert_true(fabs(explained.share[ADDRESSES].value - 0.9) < 1e-9);
    assert_true(fabs(explained.share[L2].value - 0.32) < 1e-9);
    assert_true(explained.share[DRAM].value == 0);

    /* By the limit of a stream; by what cells reached where there is none. */
    NUMBER(card, L2_LIMIT_BYTES_PER_NS, 2);
    explain_cell(&cell, NULL, &card, false, &explained);
    assert_true(fabs(explained.share[L2].value - 0.16) < 1e-9);
    NUMBER(card, L2_LIMIT_BYTES_PER_NS, NAN);
    explain_cell(&cell, NULL, &card, false, &explained);
    assert_true(fabs(explained.share[L2].value - 0.32) < 1e-9);
}

TEST(a_bound_is_named_where_all_of_its_interval_says_so)
{
    struct card card;
    struct cell_result cell = busy_cell(&card);
    struct explained_cell explained;

    /* Addresses cost from 1 to 2.2 cycles: the share is 45 to 99 %. */
    card.number[CARD_CONSTANT_ADDRESS_CYCLES].low = 1;
    card.number[CARD_CONSTANT_ADDRESS_CYCLES].high = 2.2;
    explain_cell(&cell, NULL, &card, false, &explained);
    assert_null(explained.bound);
    assert_string_equal(explained.busiest, "constant cache 45% to 99%");

    /* A rate of L2 from 0.1 on: 32 to 320 %, though its value is no longer the largest. */
    NUMBER(card, CONSTANT_ADDRESS_CYCLES, 1);
    card.number[CARD_L2_LIMIT_BYTES_PER_NS].low = 0.1;
    explain_cell(&cell, NULL, &card, false, &explained);
    assert_null(explained.bound);

    /* Busy for longer than the cell took: the card is wrong. */
    NUMBER(card, CONSTANT_ADDRESS_CYCLES, 3);
    explain_cell(&cell, NULL, &card, false, &explained);
    assert_null(explained.bound);

    NUMBER(card, CONSTANT_ADDRESS_CYCLES, 1);
    NUMBER(card, L2_LIMIT_BYTES_PER_NS, 1);
    explain_cell(&cell, NULL, &card, false, &explained);
    assert_string_equal(explained.bound, "latency");

    /* Without the counters of DRAM, which may be busy, nobody knows that it is latency. */
    cell.counter_count -= 2;
    explain_cell(&cell, NULL, &card, false, &explained);
    assert_true(isnan(explained.share[DRAM].value));
    assert_string_equal(explained.unknown, "DRAM");
    assert_null(explained.bound);
    cell.counter_count = 0;
    explain_cell(&cell, NULL, &card, false, &explained);
    assert_null(explained.bound);
}
