/* SPDX-License-Identifier: MIT
 * Exact counts against a count thread by thread, and against numbers worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "access.h"
#include "capture.h"

/* -- patterns that the table does not have ------------------------------------------------------------ */

static uint32_t hash_index(uint32_t block, uint32_t thread, uint32_t step, uint32_t length)
{
    uint32_t x = block * 2654435761u ^ thread * 2246822519u ^ step * 3266489917u;

    x ^= x >> 15;
    x *= 2654435761u;
    x ^= x >> 13;
    return x % length;
}

/* Four distinct elements in a warp, in two sectors of a line, last threads first. */
static uint32_t clusters_index(uint32_t block, uint32_t thread, uint32_t step, uint32_t length)
{
    return (block * 16 + step + (31 - thread % 32) / 8 * 3) % length;
}

/* Even blocks are alike, and odd blocks are alike: no block is like the one before. */
static uint32_t alternating_index(uint32_t block, uint32_t thread, uint32_t step, uint32_t length)
{
    return (block % 2 ? thread * 5 : 7) % length + step * 0;
}

static uint32_t last_index(uint32_t block, uint32_t thread, uint32_t step, uint32_t length)
{
    return length - 1 - (block + thread + step) % 2;
}

static uint32_t beyond_index(uint32_t block, uint32_t thread, uint32_t step, uint32_t length)
{
    return block == 3 && thread == 40 && step == 0 ? length : thread % length;
}

#define BLOCK_INDICES(name)                                                                                 \
    static void name##_block_indices(uint32_t block, uint32_t threads, uint32_t step, uint32_t length,      \
                                     uint32_t *index)                                                       \
    {                                                                                                       \
        for (uint32_t thread = 0; thread < threads; thread++)                                               \
            index[thread] = name##_index(block, thread, step, length);                                      \
    }
BLOCK_INDICES(hash)
BLOCK_INDICES(clusters)
BLOCK_INDICES(alternating)
BLOCK_INDICES(last)
BLOCK_INDICES(beyond)

static const struct pattern local_patterns[] = {
    {.name = "hash", .index = hash_index, .block_indices = hash_block_indices},
    {.name = "clusters", .index = clusters_index, .block_indices = clusters_block_indices},
    {.name = "alternating", .index = alternating_index, .block_indices = alternating_block_indices},
    {.name = "last", .index = last_index, .block_indices = last_block_indices},
};

static const struct pattern beyond = {
    .name = "beyond", .index = beyond_index, .block_indices = beyond_block_indices};

static const struct workload three_steps = {.name = "three_steps", .steps = 3};

/* -- the count thread by thread ----------------------------------------------------------------------- */

/* Distinct values of `bytes / unit` among the byte addresses of a warp, each compared with all before. */
static uint32_t brute_distinct(const uint64_t *bytes, uint32_t count, uint32_t unit)
{
    uint32_t distinct = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = 0;

        while (bytes[j] / unit != bytes[i] / unit)
            j++;
        distinct += j == i;
    }
    return distinct;
}

struct brute {
    struct access_counts counts;
    uint8_t used[CBANK_TABLE_LENGTH];
};

static void brute_warp(struct brute *brute, const struct cell *cell, uint64_t block, uint32_t first)
{
    uint64_t table[32], input[32];
    uint32_t active = 0;

    brute->counts.warps_launched++;
    for (uint32_t lane = 0; lane < 32; lane++)
        if (block * cell->block_size + first + lane < cell->elements)
            input[active++] = (block * cell->block_size + first + lane) * 4;
    if (active == 0)
        return;
    brute->counts.warps_active++;
    brute->counts.stream_loads++;
    brute->counts.stream_sectors += brute_distinct(input, active, 32);

    for (uint32_t step = 0; step < cell->workload->steps; step++) {
        for (uint32_t lane = 0; lane < active; lane++) {
            const uint32_t index =
                cell->pattern->index((uint32_t)block, first + lane, step, CBANK_TABLE_LENGTH);

            table[lane] = (uint64_t)index * 4;
            brute->used[index] = 1;
        }
        brute->counts.payload_loads++;
        brute->counts.addresses += brute_distinct(table, active, 4);
        brute->counts.lines += brute_distinct(table, active, 64);
        brute->counts.sectors += brute_distinct(table, active, 32);
    }
}

static struct access_counts brute_count(const struct cell *cell)
{
    static struct brute brute;

    memset(&brute, 0, sizeof(brute));
    for (uint64_t block = 0; block * cell->block_size < cell->elements; block++) {
        brute.counts.blocks++;
        for (uint32_t first = 0; first < cell->block_size; first += 32)
            brute_warp(&brute, cell, block, first);
    }
    for (uint32_t i = 0; i < CBANK_TABLE_LENGTH; i++)
        brute.counts.footprint_bytes += brute.used[i] ? 4 : 0;
    return brute.counts;
}

static void assert_counts(const struct access_counts *a, const struct access_counts *b)
{
    assert_int_equal(a->blocks, b->blocks);
    assert_int_equal(a->warps_launched, b->warps_launched);
    assert_int_equal(a->warps_active, b->warps_active);
    assert_int_equal(a->payload_loads, b->payload_loads);
    assert_int_equal(a->addresses, b->addresses);
    assert_int_equal(a->lines, b->lines);
    assert_int_equal(a->sectors, b->sectors);
    assert_int_equal(a->stream_loads, b->stream_loads);
    assert_int_equal(a->stream_sectors, b->stream_sectors);
    assert_int_equal(a->footprint_bytes, b->footprint_bytes);
}

static void check(const struct workload *workload, const struct pattern *pattern, uint64_t elements,
                  uint32_t block_size)
{
    const struct cell cell = {workload, &paths[0], pattern, elements, block_size, &regimes[0]};
    const struct access_counts expected = brute_count(&cell);
    struct access_counts actual;

    assert_int_equal(access_count(&cell, &actual), STATUS_OK);
    assert_counts(&actual, &expected);
}

static void check_sizes(const struct workload *workload, const struct pattern *pattern)
{
    static const uint64_t elements[] = {
        1,    2,    7,    8,    9,    31,   32,   33,   63,   64,   65,    95,    96,    97,   127,
        512,  1000, 1023, 1024, 1025, 2047, 2049, 3001, 4096, 5000, 8191, 10240, 16384, 33000, 70001};
    static const uint32_t block_sizes[] = {32, 64, 96, 160, 256, 352, 992, 1024};

    for (size_t e = 0; e < sizeof(elements) / sizeof(elements[0]); e++)
        for (size_t b = 0; b < sizeof(block_sizes) / sizeof(block_sizes[0]); b++)
            check(workload, pattern, elements[e], block_sizes[b]);
}

static void table_patterns_match_brute_force(void **state)
{
    (void)state;
    for (size_t w = 0; w < workload_count; w++)
        for (size_t p = 0; p < pattern_count; p++)
            check_sizes(&workloads[w], &patterns[p]);
}

static void local_patterns_match_brute_force(void **state)
{
    (void)state;
    for (size_t p = 0; p < sizeof(local_patterns) / sizeof(local_patterns[0]); p++) {
        check_sizes(&workloads[0], &local_patterns[p]);
        check_sizes(&three_steps, &local_patterns[p]);
    }
}

/* More blocks than the table has elements: per_block comes round. */
static void block_index_wraps(void **state)
{
    (void)state;
    for (size_t p = 0; p < pattern_count; p++)
        check(&workloads[0], &patterns[p], 32u * 16384 + 32 * 7 + 5, 32);
}

/* -- by hand ------------------------------------------------------------------------------------------ */

static const struct pattern *find_pattern(const char *name)
{
    for (size_t i = 0; i < pattern_count; i++)
        if (strcmp(patterns[i].name, name) == 0)
            return &patterns[i];
    fail_msg("no pattern %s", name);
    return NULL;
}

/* 12,800,000 elements in blocks of 1024: 12,500 blocks of 32 warps, none of them partial.
 * pseudo_random: 32 threads 1357 elements apart, modulo 16384. 1357 is odd, so they are distinct. Two in one
 * line would need d x 1357 within 15 of a multiple of 16384 for a d of 1 .. 31; the nearest are d = 12
 * (16284, 100 short) and d = 24 (200 short). So every address has a line of its own. A block reads 1024
 * distinct elements. */
static void large_grid_by_hand(void **state)
{
    static const struct {
        const char *pattern;
        uint64_t addresses, lines, sectors, footprint_bytes;
    } rows[] = {
        {"per_block", 400000, 400000, 400000, 12500 * 4},
        {"per_warp", 400000, 400000, 400000, 32 * 4},
        {"per_thread", 400000 * 32, 400000 * 2, 400000 * 4, 1024 * 4},
        {"pseudo_random", 400000 * 32, 400000 * 32, 400000 * 32, 1024 * 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct cell cell = {&workloads[0], &paths[0], find_pattern(rows[i].pattern), 12800000, 1024,
                                  &regimes[0]};
        const struct access_counts expected = {
            .blocks = 12500,
            .warps_launched = 400000,
            .warps_active = 400000,
            .payload_loads = 400000,
            .addresses = rows[i].addresses,
            .lines = rows[i].lines,
            .sectors = rows[i].sectors,
            .stream_loads = 400000,
            .stream_sectors = 1600000,
            .footprint_bytes = rows[i].footprint_bytes,
        };
        struct access_counts actual;

        assert_int_equal(access_count(&cell, &actual), STATUS_OK);
        assert_counts(&actual, &expected);
    }
}

/* One element beyond a block: a second block of 32 warps, of which one has one thread with an element. */
static void partial_block_by_hand(void **state)
{
    const struct cell cell = {&workloads[0], &paths[0], find_pattern("per_thread"), 1025, 1024, &regimes[0]};
    const struct access_counts expected = {
        .blocks = 2,
        .warps_launched = 64,
        .warps_active = 33,
        .payload_loads = 33,
        .addresses = 32 * 32 + 1,
        .lines = 32 * 2 + 1,
        .sectors = 32 * 4 + 1,
        .stream_loads = 33,
        .stream_sectors = 32 * 4 + 1,
        .footprint_bytes = 4096,
    };
    struct access_counts actual;

    (void)state;
    assert_int_equal(access_count(&cell, &actual), STATUS_OK);
    assert_counts(&actual, &expected);
}

static void distinct_elements_in_order_of_threads(void **state)
{
    static const uint32_t index[] = {9, 5, 9, 16383, 5, 0, 0, 9};
    static const uint32_t expected[] = {9, 5, 16383, 0};
    struct access_set seen = {0};
    const struct access_set empty = {0};
    uint32_t distinct[8];

    (void)state;
    assert_int_equal(access_distinct(index, 8, &seen, distinct), 4);
    assert_memory_equal(distinct, expected, sizeof(expected));
    assert_memory_equal(&seen, &empty, sizeof(seen));
    assert_int_equal(access_distinct(index, 1, &seen, distinct), 1);
    assert_int_equal(distinct[0], 9);
    assert_int_equal(access_distinct(index + 5, 2, &seen, distinct), 1);
    assert_int_equal(distinct[0], 0);
}

static void reading_beyond_the_table_is_an_error(void **state)
{
    const struct cell cell = {&workloads[0], &paths[0], &beyond, 1000, 64, &regimes[0]};
    struct access_counts counts;
    struct capture capture;
    enum status status;

    (void)state;
    capture_begin(&capture, stderr);
    status = access_count(&cell, &counts);
    assert_non_null(strstr(capture_end(&capture), "pattern beyond reads element 16384 of a table of 16384"));
    assert_int_equal(status, STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_patterns_match_brute_force),
        cmocka_unit_test(local_patterns_match_brute_force),
        cmocka_unit_test(block_index_wraps),
        cmocka_unit_test(large_grid_by_hand),
        cmocka_unit_test(partial_block_by_hand),
        cmocka_unit_test(distinct_elements_in_order_of_threads),
        cmocka_unit_test(reading_beyond_the_table_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
