/* SPDX-License-Identifier: MIT
 * The tables: patterns against hand-computed indices, forbidden cells, identities, plans. It also
 * tests small base functions (SHA-256, random numbers, ranges of work). */
#include <stdio.h>

#include "cells.h"
#include "command.h"
#include "counter.h"
#include "parallel.h"
#include "parse.h"
#include "plan.h"
#include "random.h"
#include "sha256.h"
#include "test.h"
#include "text.h"

/* -- patterns ---------------------------------------------------------------------------------- */

struct index_case {
    const char *pattern;
    uint32_t block, thread, step;
    uint32_t distinct, stride; /* elements */
    uint32_t length;
    uint32_t index;
};

/* By hand. 16384 elements are the whole table, 512 that of a path of 2 KB. */
static const struct index_case index_cases[] = {
    {"per_block", 12499, 5, 0, 0, 0, 16384, 12499},
    {"per_block", 20000, 31, 0, 0, 0, 16384, 3616},
    {"per_block", 1000, 31, 0, 0, 0, 512, 488},
    {"per_warp", 7, 32, 0, 0, 0, 16384, 1},
    {"per_warp", 0, 1023, 0, 0, 0, 16384, 31},
    {"per_thread", 3, 1023, 0, 0, 0, 16384, 1023},
    {"per_thread", 3, 1023, 0, 0, 0, 512, 511},
    {"pseudo_random", 0, 1, 0, 0, 0, 16384, 1357},
    {"pseudo_random", 9, 13, 0, 0, 0, 16384, 1257}, /* 17641 - 16384 */
    {"pseudo_random", 0, 1023, 0, 0, 0, 16384, 11955}, /* 1388211 - 84 x 16384 */
    {"half_warp", 4, 15, 0, 0, 0, 16384, 0},
    {"half_warp", 4, 1023, 0, 0, 0, 16384, 63},
    {"distinct", 0, 5, 0, 4, 16, 16384, 16}, /* address 1 of 4 */
    {"distinct", 9, 39, 0, 4, 16, 16384, 48}, /* the next warp reads the same */
    {"distinct", 0, 31, 0, 32, 512, 16384, 15872},
    {"distinct", 0, 63, 0, 32, 16, 512, 496},
    {"distinct", 0, 17, 0, 16, 3, 16384, 3},
    {"broadcast", 12499, 1023, 0, 0, 0, 16384, 0},
    {"lockstep", 5, 77, 342, 0, 0, 512, 342},
    {"lockstep", 0, 0, 16390, 0, 0, 16384, 6},
    {"hashed", 0, 1, 0, 0, 0, 16384, 10300}, /* by another program */
    {"hashed", 1, 0, 0, 0, 0, 16384, 12948},
    {"hashed", 12499, 1023, 0, 0, 0, 16384, 9994},
    {"hashed", 5, 77, 342, 0, 0, 512, 66},
};

TEST(patterns_read_the_elements_they_name)
{
    for (size_t i = 0; i < sizeof(index_cases) / sizeof(index_cases[0]); i++) {
        const struct index_case *c = &index_cases[i];
        const struct pattern *pattern = pattern_named(c->pattern);
        const struct pattern_numbers numbers = {.distinct = c->distinct, .stride = c->stride};

        assert_non_null(pattern);
        if (pattern->index(c->block, c->thread, c->step, c->length, numbers) != c->index)
            fail_msg("case %zu: %s", i, c->pattern);
    }
}

TEST(every_pattern_stays_in_the_table_and_agrees_with_its_block_form)
{
    static const uint32_t lengths[] = {CBANK_TABLE_LENGTH, 512};
    const struct pattern_numbers numbers = {.distinct = 32, .stride = 16};
    uint32_t index[CELL_BLOCK_SIZE_MAX];

    for (size_t p = 0; p < 2 * pattern_count; p++)
        for (uint32_t block = 0; block < 70000; block += 777) {
            const struct pattern *pattern = &patterns[p / 2];
            const uint32_t length = lengths[p % 2], step = block % 345;

            pattern->block_indices(block, CELL_BLOCK_SIZE_MAX, step, length, numbers, index);
            for (uint32_t thread = 0; thread < CELL_BLOCK_SIZE_MAX; thread++) {
                assert_true(index[thread] < length);
                assert_int_equal(index[thread],
                                 pattern->index(block, thread, step, length, numbers));
            }
        }
}

/* Kernels for tables of other sizes take the index of the largest table and mask it. */
TEST(a_masked_index_is_that_of_a_smaller_table)
{
    const struct pattern_numbers numbers = {.distinct = 32, .stride = 16};

    for (size_t p = 0; p < pattern_count; p++)
        for (uint32_t large = CBANK_TABLE_BYTES / 16; large <= CBANK_TABLE_BYTES; large *= 2)
            for (uint32_t length = 1; length <= large; length *= 2)
                for (uint32_t i = 0; i < 100; i++) {
                    const uint32_t block = 7919 * i, thread = 331 * i % 1024, step = i % 5;

                    assert_int_equal(patterns[p].index(block, thread, step, large, numbers) &
                                         (length - 1),
                                     patterns[p].index(block, thread, step, length, numbers));
                }
}

/* A row's claims about its formula hold: the compiler sees as much as scope, and only walks depends
 * on the step. */
TEST(patterns_are_what_their_columns_say)
{
    const struct pattern_numbers numbers = {.distinct = 4, .stride = 16},
                                 others = {.distinct = 32, .stride = 2};

    for (size_t p = 0; p < pattern_count; p++) {
        bool by_block = false, by_thread = false, by_step = false, by_number = false;

        for (uint32_t i = 1; i < 100; i++) {
            const uint32_t first = patterns[p].index(0, 0, 0, CBANK_TABLE_LENGTH, numbers);

            by_block = by_block || patterns[p].index(i, 0, 0, CBANK_TABLE_LENGTH, numbers) != first;
            by_thread =
                by_thread || patterns[p].index(0, i, 0, CBANK_TABLE_LENGTH, numbers) != first;
            by_step = by_step || patterns[p].index(0, 0, i, CBANK_TABLE_LENGTH, numbers) != first;
            by_number = by_number || patterns[p].index(0, i, 0, CBANK_TABLE_LENGTH, others) !=
                                         patterns[p].index(0, i, 0, CBANK_TABLE_LENGTH, numbers);
        }
        assert_int_equal(by_thread, patterns[p].scope == INDEX_THREAD);
        assert_true(by_block == (patterns[p].scope == INDEX_BLOCK) ||
                    patterns[p].scope == INDEX_THREAD);
        /* A filter is staged, and checked, as all threads read it. */
        assert_true(!patterns[p].index_is_step ||
                    (by_step && patterns[p].scope == INDEX_IMMEDIATE));
        assert_int_equal(by_number, patterns[p].parameter_mask != 0);
    }
}

/* -- cells ------------------------------------------------------------------------------------- */

static struct cell cell_named(const char *workload, const char *path, const char *pattern)
{
    struct cell cell = {.workload = workload_named(workload),
                        .path = path_named(path),
                        .pattern = pattern_named(pattern),
                        .elements = 128000,
                        .block_size = 1024,
                        .cache_state = &cache_states[0]};

    return cell;
}

struct obstacle_case {
    const char *workload, *path, *pattern;
    enum parameter_index parameter;
    uint32_t value, stride_bytes;
    uint32_t architecture;
    const char *reason; /* NULL: nothing stands in the way */
};

static const struct obstacle_case obstacle_cases[] = {
    /* Many steps need a pattern that walks. */
    {"conv_1d", "constant", "per_warp", PARAMETER_radius, 3, 0, 90,
     "conv_1d reads another element at every step, which the pattern does not"},
    {"conv_1d", "constant", "lockstep", PARAMETER_radius, 3, 0, 90, NULL},
    /* Kernels that choose at run time have only the core matrix. */
    {"add_switch", "constant", "half_warp", PARAMETER_radius, 0, 0, 90,
     "add_switch chooses between the patterns of the core matrix alone"},
    {"add_runtime", "constant", "pseudo_random", PARAMETER_radius, 0, 0, 90, NULL},
    /* Instructions that a compiler chooses when it sees enough of the index. */
    {"add", "constant_uniform", "per_warp", PARAMETER_radius, 0, 0, 90,
     "constant_uniform needs an index that the compiler sees to be the same in all threads of a "
     "block"},
    {"add", "constant_uniform", "per_block", PARAMETER_radius, 0, 0, 90, NULL},
    {"add_switch", "constant_uniform", "per_block", PARAMETER_radius, 0, 0, 90,
     "constant_uniform needs an index that the compiler sees to be the same in all threads of a "
     "block"},
    {"add", "constant_operand", "per_block", PARAMETER_radius, 0, 0, 90,
     "constant_operand needs an index that is known when the kernel is compiled"},
    {"add", "constant_operand", "broadcast", PARAMETER_radius, 0, 0, 90, NULL},
    /* Room. */
    {"conv_3d", "constant", "lockstep", PARAMETER_radius, 4, 0, 90,
     "conv_3d has a radius of 3 at most"},
    {"conv_3d", "param", "lockstep", PARAMETER_radius, 3, 0, 90, NULL},
    {"add", "param", "distinct", PARAMETER_distinct, 32, 128, 90,
     "the table of param has 2048 bytes"},
    {"add", "param", "distinct", PARAMETER_distinct, 32, 64, 90, NULL},
    {"refill", "param", "per_warp", PARAMETER_refill_bytes, 2052, 0, 90,
     "the table of param has 2048 bytes"},
    {"refill", "param", "per_warp", PARAMETER_refill_bytes, 2048, 0, 90, NULL},
    {"add", "param", "per_warp", PARAMETER_table_bytes, 4096, 0, 90,
     "param holds a table of 2048 bytes at most, which every toolkit compiles; lookups have more "
     "in param_large"},
    {"add", "param_large", "per_warp", 0, 0, 0, 90,
     "param_large is for workloads whose indices are data"},
    {"add", "constant", "distinct", PARAMETER_width_bytes, 8, 4, 90,
     "a stride of 4 bytes is no whole number of elements of 8"},
    {"add", "constant", "distinct", PARAMETER_width_bytes, 8, 24, 90, NULL},
    /* Chips; 0 is any. */
    {"add", "constant_uniform", "per_block", PARAMETER_radius, 0, 0, 70,
     "GPUs before compute capability 7.5 have no constant_uniform"},
    {"add", "constant_uniform", "per_block", PARAMETER_radius, 0, 0, 75, NULL},
};

TEST(cells_that_cannot_be_say_why)
{
    for (size_t i = 0; i < sizeof(obstacle_cases) / sizeof(obstacle_cases[0]); i++) {
        const struct obstacle_case *c = &obstacle_cases[i];
        struct cell cell = cell_named(c->workload, c->path, c->pattern);
        char reason[CELL_REASON_BYTES] = "";

        cell.parameters[c->parameter] = c->value;
        cell.parameters[PARAMETER_stride_bytes] = c->stride_bytes;
        if (cell_obstacle(&cell, c->architecture, reason) != (c->reason != NULL))
            fail_msg("case %zu: %s/%s/%s: '%s'", i, c->workload, c->path, c->pattern, reason);
        if (c->reason)
            assert_string_equal(reason, c->reason);
    }
}

/* -- the plan ---------------------------------------------------------------------------------- */

enum { ARGUMENTS_MAX = 16, IDENTITIES_BYTES = 65536 };

/* The last plan: identities with a blank behind each, the number of its cells, and how many of them
 * can be. */
static struct {
    char identities[IDENTITIES_BYTES];
    size_t count, possible;
} plan_found;

static enum status note_plan(const void *options, const struct invocation *invocation)
{
    struct index_list indices = {0};
    struct plan plan;

    (void)invocation;
    assert_int_equal(plan_open(options, &indices, &plan), STATUS_OK);
    plan_found.identities[0] = '\0';
    plan_found.count = plan.count;
    plan_found.possible = 0;
    for (size_t i = 0; i < plan.count; i++) {
        char identity[CELL_IDENTITY_BYTES], reason[CELL_REASON_BYTES];

        cell_identity(&plan.cells[i], identity);
        text_join(plan_found.identities, IDENTITIES_BYTES, "", "%s ", identity);
        plan_found.possible += !cell_obstacle(&plan.cells[i], 90, reason);
    }
    plan_close(&plan);
    index_list_close(&indices);
    return STATUS_OK;
}

/* Opens the plan of a command line. */
static void find_plan(const char *line)
{
    static const struct option_group groups[] = {OPTION_GROUP(plan_option_rows, 0)};
    static const struct command command = {.name = "plan",
                                           .summary = "A plan",
                                           .groups = groups,
                                           .group_count = 1,
                                           .options_bytes = sizeof(struct plan_options),
                                           .run = note_plan};
    char words[1024], *argv[ARGUMENTS_MAX + 3] = {"cbank", "plan"}, *rest = words;
    int argc = 2;

    snprintf(words, sizeof(words), "%s", line);
    for (char *word; argc <= ARGUMENTS_MAX && (word = strtok(rest, " ")); rest = NULL)
        argv[argc++] = word;
    assert_int_equal(command_run(&command, argc, argv), STATUS_OK);
}

/* Identities are kept in files: a parameter that came later leaves out what every cell had
 * before. */
TEST(identities_leave_out_what_every_table_was)
{
    static const struct {
        const char *line, *identities;
    } rows[] = {
        {"--path constant --pattern per_warp --elements 64 --width-bytes 4,16,1",
         "add/constant/per_warp/64/1024/hot add/constant/per_warp/64/1024/hot/width_bytes=16 "
         "add/constant/per_warp/64/1024/hot/width_bytes=1 "},
        {"--path param --pattern per_warp --elements 64 --width-bytes 8,4 --table-bytes 2048,16",
         "add/param/per_warp/64/1024/hot/width_bytes=8/table_bytes=2048 "
         "add/param/per_warp/64/1024/hot/width_bytes=8/table_bytes=16 "
         "add/param/per_warp/64/1024/hot/table_bytes=2048 "
         "add/param/per_warp/64/1024/hot/table_bytes=16 "},
        {"--path param --pattern per_warp --elements 64 --table-bytes whole",
         "add/param/per_warp/64/1024/hot "},
        /* Those that do not take them are as they were. */
        {"--workload stencil_1d,add --path global --pattern lockstep --elements 64 --block-size 32 "
         "--width-bytes 1,2 "
         "--table-bytes 64",
         "stencil_1d/global/lockstep/64/32/hot "
         "add/global/lockstep/64/32/hot/width_bytes=1/table_bytes=64 "
         "add/global/lockstep/64/32/hot/width_bytes=2/table_bytes=64 "},
        /* Options stay as given in a sweep. */
        {"--table-bytes 64 --elements 32 --path global --sweep sizes",
         "add/global/per_block/32/1024/hot/table_bytes=64 "
         "add/global/per_thread/32/1024/hot/table_bytes=64 "
         "add/global/hashed/32/1024/hot/table_bytes=64 "},
        {"--quick --path constant,shared --elements 32",
         "add/constant/per_thread/32/1024/hot add/shared/per_thread/32/1024/hot "},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        find_plan(rows[i].line);
        assert_string_equal(plan_found.identities, rows[i].identities);
    }
}

TEST(a_sweep_is_a_plan_of_at_most_1000_cells_and_most_can_be)
{
    for (size_t i = 0; i < sweep_count; i++) {
        char line[64];

        snprintf(line, sizeof(line), "--sweep %s", sweeps[i].name);
        find_plan(line);
        assert_in_range(plan_found.count, strcmp(sweeps[i].name, "quick") == 0 ? 5 : 50, 1000);
        assert_true(4 * plan_found.possible >= 3 * plan_found.count);
    }
    find_plan("--sweep sizes");
    assert_int_equal(plan_found.count, 6 * 3 * 13);
}

/* -- what they stand on ------------------------------------------------------------------------ */

TEST(sha256_of_published_messages)
{
    /* FIPS 180-4 examples, and the empty message. */
    static const char *const cases[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char hex[SHA256_HEX_BYTES];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sha256_hex(cases[i][0], strlen(cases[i][0]), hex);
        assert_string_equal(hex, cases[i][1]);
    }
}

TEST(random_numbers_are_the_published_sequence)
{
    /* First outputs of SplitMix64 from 1234567, as its author's reference program prints them. */
    static const uint64_t published[] = {6457827717110365317u, 3203168211198807973u,
                                         9817491932198370423u};
    uint64_t sequence = 1234567;
    static uint32_t filled[200000];

    for (size_t i = 0; i < 3; i++)
        assert_true(random_next(&sequence) == published[i]);
    random_fill_floats(99, filled, 200000);
    sequence = 99;
    for (size_t i = 0; i < 200000; i++)
        assert_int_equal(filled[i], (random_next(&sequence) >> 32 & 0x807fffff) | 0x3f800000);
}

TEST(a_shuffle_keeps_every_item)
{
    size_t items[100];
    bool seen[100] = {false};
    uint64_t sequence = 7;

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

TEST(parallel_work_covers_everything_once)
{
    static const uint64_t totals[] = {1, 95, 96, 97, 1000, 100000};
    static unsigned char marks[100000];

    for (size_t t = 0; t < sizeof(totals) / sizeof(totals[0]); t++) {
        memset(marks, 0, sizeof(marks));
        parallel_ranges(totals[t], 96, mark_range, marks);
        for (uint64_t i = 0; i < sizeof(marks); i++)
            assert_int_equal(marks[i], i < totals[t]);
    }
}
