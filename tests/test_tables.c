/* SPDX-License-Identifier: MIT
 * The tables: patterns against hand-computed indices, finding and choosing rows, expected counters, and the
 * small sources of truth that they stand on (SHA-256, random numbers, ranges of work). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cell.h"
#include "counter.h"
#include "parallel.h"
#include "random.h"
#include "sha256.h"
#include "table.h"

/* -- patterns ----------------------------------------------------------------------------------------- */

struct index_case {
    const char *pattern;
    uint32_t block, thread, index;
};

/* By hand, for the 16384 elements of the table. */
static const struct index_case index_cases[] = {
    {"per_block", 0, 1023, 0},
    {"per_block", 12499, 5, 12499},
    {"per_block", 16384, 0, 0},
    {"per_block", 20000, 31, 3616},
    {"per_warp", 7, 31, 0},
    {"per_warp", 7, 32, 1},
    {"per_warp", 0, 1023, 31},
    {"per_thread", 3, 0, 0},
    {"per_thread", 3, 1023, 1023},
    {"pseudo_random", 0, 1, 1357},
    {"pseudo_random", 9, 12, 16284},
    {"pseudo_random", 9, 13, 1257},    /* 17641 - 16384 */
    {"pseudo_random", 0, 1023, 11955}, /* 1388211 - 84 x 16384 */
};

static const struct table pattern_table = TABLE("pattern", patterns, pattern_count);

static void patterns_read_the_elements_they_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(index_cases) / sizeof(index_cases[0]); i++) {
        const struct index_case *c = &index_cases[i];
        const struct pattern *pattern = table_find(&pattern_table, c->pattern);

        assert_non_null(pattern);
        assert_int_equal(pattern->index(c->block, c->thread, 0, CBANK_TABLE_LENGTH), c->index);
    }
}

static void every_pattern_stays_in_the_table_and_agrees_with_its_block_form(void **state)
{
    uint32_t index[CELL_BLOCK_SIZE_MAX];

    (void)state;
    for (size_t p = 0; p < pattern_count; p++)
        for (uint32_t block = 0; block < 70000; block += 777) {
            patterns[p].block_indices(block, CELL_BLOCK_SIZE_MAX, 0, CBANK_TABLE_LENGTH, index);
            for (uint32_t thread = 0; thread < CELL_BLOCK_SIZE_MAX; thread++) {
                assert_true(index[thread] < CBANK_TABLE_LENGTH);
                assert_int_equal(index[thread], patterns[p].index(block, thread, 0, CBANK_TABLE_LENGTH));
            }
        }
}

/* -- choosing rows ------------------------------------------------------------------------------------ */

struct fruit {
    const char *name;
};

static const struct fruit fruits[] = {{"apple"}, {"pear"}, {"quince"}};
static const size_t fruit_count = sizeof(fruits) / sizeof(fruits[0]);
static const struct table fruit_table = TABLE("fruit", fruits, fruit_count);

static void the_closest_name_is_suggested(void **state)
{
    (void)state;
    assert_string_equal(table_closest(&fruit_table, "aple"), "apple");
    assert_string_equal(table_closest(&fruit_table, "quins"), "quince");
    assert_null(table_closest(&fruit_table, "strawberry"));
    assert_null(table_find(&fruit_table, "Apple"));
}

static void lists_choose_rows_once_in_their_order(void **state)
{
    struct selection selection;

    (void)state;
    assert_int_equal(table_select(&fruit_table, "pear,apple,pear", &selection), STATUS_OK);
    assert_int_equal(selection.count, 2);
    assert_ptr_equal(selection.rows[0], &fruits[1]);
    assert_ptr_equal(selection.rows[1], &fruits[0]);
    selection_close(&selection);
    assert_int_equal(table_select(&fruit_table, "quince,all", &selection), STATUS_OK);
    assert_int_equal(selection.count, 3);
    assert_ptr_equal(selection.rows[0], &fruits[2]);
    selection_close(&selection);
    assert_int_equal(table_select(&fruit_table, "pear,,apple", &selection), STATUS_USAGE);
}

static void counter_lists_take_rows_and_metrics(void **state)
{
    struct counter_set set;

    (void)state;
    assert_int_equal(counter_set_parse("none", &set), STATUS_OK);
    assert_int_equal(set.count, 0);
    counter_set_close(&set);
    assert_int_equal(counter_set_parse("idc_requests,a__b.sum,idc_requests", &set), STATUS_OK);
    assert_int_equal(set.count, 2);
    assert_int_equal(set.counters[0].kind, COUNTER_EXACT);
    assert_string_equal(set.counters[1].metrics[0], "a__b.sum");
    assert_int_equal(set.counters[1].kind, COUNTER_MEASURED);
    counter_set_close(&set);
    assert_int_equal(counter_set_parse("a__b.sum,default", &set), STATUS_OK);
    assert_int_equal(set.count, counter_count + 1);
    counter_set_close(&set);
    assert_int_equal(counter_set_parse("idc_request", &set), STATUS_USAGE);
}

/* -- expected values ---------------------------------------------------------------------------------- */

/* A kernel as the H200 runs it: per_thread on the constant path with 12,800,000 elements, 1024 a block. */
static const struct access_counts access_counts = {
    .blocks = 12500, .warps_launched = 400000, .warps_active = 400000, .payload_loads = 400000,
    .addresses = 12800000, .lines = 800000, .sectors = 1600000, .stream_loads = 400000,
    .stream_sectors = 1600000, .footprint_bytes = 4096,
};

static double expected(const char *name, const struct cell *cell, const struct access_counts *access,
                       const struct sass_counts *sass)
{
    static const struct table table = TABLE("counter", counters, counter_count);
    const struct counter *counter = table_find(&table, name);
    const struct expectation expectation = {.cell = cell, .access = access, .sass = sass};
    double value = NAN;

    assert_non_null(counter);
    assert_int_equal(counter->kind, COUNTER_EXACT);
    return counter->expect(&expectation, &value) ? value : NAN;
}

static void exact_counters_add_what_parameters_cost(void **state)
{
    const struct path idc = {.name = "x", .unit = UNIT_IDC}, l1 = {.name = "y", .unit = UNIT_L1};
    const struct cell constant = {.path = &idc}, global = {.path = &l1};
    const struct sass_counts sass = {
        .architecture = 90,
        .prologue = {.instructions = 8, .ldc_parameter = 1, .uniform_constant = 2},
        .body = {.instructions = 13, .ldc_parameter = 3, .ldc_user = 1, .uniform_constant = 1, .ldg = 1},
    };

    (void)state;
    assert_true(expected("ldc_instructions", &constant, &access_counts, &sass) == 5 * 400000.0);
    assert_true(expected("idc_requests", &constant, &access_counts, &sass) == 4 * 400000.0 + 12800000.0);
    assert_true(expected("idc_requests", &global, &access_counts, &sass) == 4 * 400000.0);
    assert_true(expected("imc_requests", &constant, &access_counts, &sass) == 3 * 400000.0);
    assert_true(expected("instructions", &constant, &access_counts, &sass) == 21 * 400000.0);
    assert_true(expected("global_load_instructions", &constant, &access_counts, &sass) == 400000.0);
    assert_true(expected("global_load_instructions", &global, &access_counts, &sass) == 800000.0);
    assert_true(expected("l1_sectors", &constant, &access_counts, &sass) == 1600000.0);
    assert_true(expected("l1_sectors", &global, &access_counts, &sass) == 3200000.0);
}

static void idle_warps_execute_the_prologue_alone(void **state)
{
    const struct path idc = {.name = "x", .unit = UNIT_IDC};
    const struct cell constant = {.path = &idc};
    const struct sass_counts sass = {.architecture = 80,
                                     .prologue = {.instructions = 8, .ldc_parameter = 1},
                                     .body = {.instructions = 13, .ldc_user = 1}};
    const struct access_counts access = {.warps_launched = 32, .warps_active = 1, .payload_loads = 1, .addresses = 1};

    (void)state;
    assert_true(expected("instructions", &constant, &access, &sass) == 32 * 8 + 13.0);
    assert_true(expected("ldc_instructions", &constant, &access, &sass) == 32 + 1.0);
    assert_true(expected("idc_requests", &constant, &access, &sass) == 32 + 1.0);
    /* Known on Hopper alone, and nowhere without the code. */
    assert_true(isnan(expected("imc_requests", &constant, &access, &sass)));
    assert_true(isnan(expected("instructions", &constant, &access, NULL)));
}

static void only_an_exact_counter_that_was_read_can_differ(void **state)
{
    struct counter_value value = {.kind = COUNTER_EXACT, .status = COUNTER_OK, .value = 5, .expected = 4};

    (void)state;
    assert_true(counter_differs(&value));
    value.expected = 5;
    assert_false(counter_differs(&value));
    value.expected = NAN;
    assert_false(counter_differs(&value));
    value = (struct counter_value){.kind = COUNTER_MEASURED, .status = COUNTER_OK, .value = 5, .expected = 4};
    assert_false(counter_differs(&value));
    value = (struct counter_value){.kind = COUNTER_EXACT, .status = COUNTER_UNSUPPORTED, .value = 5, .expected = 4};
    assert_false(counter_differs(&value));
}

/* -- what they stand on ------------------------------------------------------------------------------- */

static void sha256_of_published_messages(void **state)
{
    /* FIPS 180-4 examples, and the empty message. */
    static const char *const cases[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char hex[SHA256_HEX_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sha256_hex(cases[i][0], strlen(cases[i][0]), hex);
        assert_string_equal(hex, cases[i][1]);
    }
}

static void random_numbers_are_the_published_sequence(void **state)
{
    /* First outputs of SplitMix64 from 1234567, as its author's reference program prints them. */
    static const uint64_t published[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u};
    uint64_t sequence = 1234567;
    static uint32_t filled[200000];

    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_true(random_next(&sequence) == published[i]);
    random_fill(99, filled, 200000);
    sequence = 99;
    for (size_t i = 0; i < 200000; i++)
        assert_int_equal(filled[i], random_next(&sequence) >> 32);
}

static void a_shuffle_keeps_every_item(void **state)
{
    size_t items[100];
    bool seen[100] = {false};
    uint64_t sequence = 7;

    (void)state;
    for (size_t i = 0; i < 100; i++)
        items[i] = i;
    random_shuffle(&sequence, items, 100);
    for (size_t i = 0; i < 100; i++) {
        assert_false(seen[items[i]]);
        seen[items[i]] = true;
    }
}

/* Marks the range; each element has one writer, so no lock is needed. */
static void mark_range(void *context, uint64_t first, uint64_t count)
{
    unsigned char *marks = context;

    assert_int_equal(first % 96, 0);
    for (uint64_t i = first; i < first + count; i++)
        marks[i]++;
}

static void parallel_work_covers_everything_once(void **state)
{
    static const uint64_t totals[] = {1, 95, 96, 97, 1000, 100000};
    static unsigned char marks[100000];

    (void)state;
    for (size_t t = 0; t < sizeof(totals) / sizeof(totals[0]); t++) {
        memset(marks, 0, sizeof(marks));
        parallel_ranges(totals[t], 96, mark_range, marks);
        for (uint64_t i = 0; i < sizeof(marks); i++)
            assert_int_equal(marks[i], i < totals[t]);
    }
}

static void the_reference_finds_the_first_wrong_element(void **state)
{
    static uint32_t input[3000], values[CBANK_TABLE_LENGTH], output[3000];
    const struct pattern *per_warp = table_find(&pattern_table, "per_warp");
    struct mismatch mismatch;

    (void)state;
    random_fill(1, input, 3000);
    random_fill(2, values, CBANK_TABLE_LENGTH);
    for (uint32_t i = 0; i < 3000; i++)
        output[i] = input[i] + values[i % 96 / 32]; /* blocks of 96 threads: warps 0, 1, 2 */
    assert_int_equal(workload_check(&workloads[0], per_warp, 0, 3000, 96, input, values, output, &mismatch), 1);
    output[2999] ^= 1;
    output[1234] ^= 0x80000000u;
    assert_int_equal(workload_check(&workloads[0], per_warp, 0, 3000, 96, input, values, output, &mismatch), 0);
    assert_int_equal(mismatch.element, 1234);
    assert_int_equal(mismatch.actual, mismatch.expected ^ 0x80000000u);
    assert_int_equal(workload_check(&workloads[0], per_warp, 1248, 1700, 96, input, values, output, &mismatch), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_read_the_elements_they_name),
        cmocka_unit_test(every_pattern_stays_in_the_table_and_agrees_with_its_block_form),
        cmocka_unit_test(the_closest_name_is_suggested),
        cmocka_unit_test(lists_choose_rows_once_in_their_order),
        cmocka_unit_test(counter_lists_take_rows_and_metrics),
        cmocka_unit_test(exact_counters_add_what_parameters_cost),
        cmocka_unit_test(idle_warps_execute_the_prologue_alone),
        cmocka_unit_test(only_an_exact_counter_that_was_read_can_differ),
        cmocka_unit_test(sha256_of_published_messages),
        cmocka_unit_test(random_numbers_are_the_published_sequence),
        cmocka_unit_test(a_shuffle_keeps_every_item),
        cmocka_unit_test(parallel_work_covers_everything_once),
        cmocka_unit_test(the_reference_finds_the_first_wrong_element),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
