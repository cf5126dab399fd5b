/* SPDX-License-Identifier: MIT
 * Ranking of memory spaces by times that are written by hand, and verdicts on tables whose loads
 * are written by hand. */
#include <math.h>

#include "advise.h"
#include "cells.h"
#include "random.h"
#include "table_verdict.h"
#include "test.h"

static struct advised_space space_of(const char *path, double value, double low, double high)
{
    return (struct advised_space){.path = path_named(path),
                                  .estimate = {.time_ns = {value, low, high}}};
}

TEST(a_space_is_slower_where_the_intervals_lie_apart)
{
    struct advised_space spaces[] = {
        space_of("shared", 100, 90, 110),      space_of("global", 104, 95, 115),
        space_of("texture", 50, 40, 60),       space_of("constant", NAN, 5, INFINITY),
        space_of("param", 58, 48, 70),         space_of("readonly", 50.4, 40, 61),
        space_of("shuffle", NAN, 4, INFINITY),
    };
    static const struct {
        const char *path;
        enum advise_standing standing;
    } ranking[] = {{"texture", ADVISE_FIRST},   {"readonly", ADVISE_ALIKE_FIRST},
                   {"param", ADVISE_TOO_CLOSE}, {"shared", ADVISE_SLOWER},
                   {"global", ADVISE_SLOWER},   {"shuffle", ADVISE_UNKNOWN},
                   {"constant", ADVISE_UNKNOWN}};
    struct advice advice = {.spaces = spaces, .count = 7};

    advise_rank(&advice);
    for (size_t i = 0; i < 7; i++) {
        assert_string_equal(spaces[i].path->name, ranking[i].path);
        assert_int_equal(spaces[i].standing, ranking[i].standing);
    }
    assert_true(spaces[3].relative == 2 && isnan(spaces[5].relative) && isnan(spaces[6].relative));
}

/* -- verdicts on the tables of a kernel -------------------------------------------------------- */

#define EXACTLY(number_) {(number_), (number_), (number_)}

/* A request takes 2 cycles in global memory and 4 of the texture unit, an address 3. */
static const struct card by_hand = {.number = {
                                        [CARD_CONSTANT_ADDRESS_CYCLES] = EXACTLY(3),
                                        [CARD_SHARED_WAVEFRONTS_PER_CYCLE] = EXACTLY(1),
                                        [CARD_L1_REQUESTS_PER_CYCLE] = EXACTLY(0.5),
                                        [CARD_TEXTURE_REQUESTS_PER_CYCLE] = EXACTLY(0.25),
                                        [CARD_CONSTANT_L1_BYTES] = EXACTLY(2048),
                                    }};

/* A load of a table of 1024 bytes in constant memory, in a loop. */
static struct user_access load_of(uint32_t code_block, double addresses, double wavefronts)
{
    return (struct user_access){.instruction = "LDC",
                                .table = "table",
                                .variation = VARIATION_UNEVEN,
                                .table_bytes = optional_of(1024),
                                .counts = {addresses, wavefronts, 1, NAN},
                                .sectors_least = NAN,
                                .depth = 1,
                                .width_bytes = 4,
                                .code_block = code_block,
                                .memory = "constant"};
}

static struct user_table judged(const struct user_access *loads, size_t count,
                                const struct user_indices *indices)
{
    const struct cubin_kernel kernel = {.works_in_loops = true};
    const struct user_access *pointers[32];
    struct judge judge = {.card = &by_hand, .indices = indices};
    struct user_table table;

    for (size_t i = 0; i < count; i++)
        pointers[i] = &loads[i];
    assert_int_equal(verdict_make(&judge, &kernel, pointers, count, &table), STATUS_OK);
    judge_close(&judge);
    return table;
}

TEST(a_load_costs_what_the_card_says)
{
    const struct warp_counts counts = {.addresses = 8, .wavefronts = 3, .tag_wavefronts = 5};
    static const double cycles[SPACES] = {[SPACE_SHUFFLE] = 2, /* two words of 8 bytes */
                                          [SPACE_SHARED] = 3,
                                          [SPACE_GLOBAL] = 5,
                                          [SPACE_CONSTANT] = 24,
                                          [SPACE_TEXTURE] = 5};
    const struct warp_counts together = {1, 1, 1, 1};
    struct card card = by_hand;

    for (int space = 0; space < SPACES; space++)
        assert_true(load_cycles((enum space)space, &counts, 8, &by_hand).value == cycles[space]);
    assert_true(load_cycles(SPACE_GLOBAL, &together, 4, &by_hand).value == 2);
    assert_true(load_cycles(SPACE_TEXTURE, &together, 4, &by_hand).value == 4);
    assert_true(copy_cycles(SPACE_SHARED, &by_hand).value == 3);
    assert_true(copy_cycles(SPACE_SHUFFLE, &by_hand).value == 2);
    card.number[CARD_L1_REQUESTS_PER_CYCLE] = (struct card_number){NAN, NAN, NAN};
    assert_true(isnan(load_cycles(SPACE_GLOBAL, &together, 4, &card).value));
}

TEST(blocks_that_disagree_decide_nothing)
{
    const struct user_access loads[] = {load_of(1, 32, 1), load_of(2, 1, 1)};
    const struct user_access alike[] = {load_of(1, 32, 1), load_of(2, 16, 1)};
    const struct user_access beside[] = {load_of(1, 32, 1), load_of(1, 1, 1)};
    struct user_table table = judged(loads, 2, NULL);

    assert_string_equal(table.verdict, "depends");
    assert_string_equal(table.better, "shared");
    assert_false(verdict_is_gain(&table));
    assert_true(table.low * TIME_MODEL_ERROR == 3 && table.high / TIME_MODEL_ERROR == 96);
    table = judged(alike, 2, NULL);
    assert_string_equal(table.verdict, "faster elsewhere");
    assert_true(table.low * TIME_MODEL_ERROR == 48 && table.high / TIME_MODEL_ERROR == 96);
    table = judged(beside, 2, NULL); /* in one block, both run equally often */
    assert_string_equal(table.verdict, "faster elsewhere");
    assert_true(table.unit_time_ratio == (96 + 3) / 2.0);
}

/* However often each block runs, the ratio of the sums lies between the ends. */
TEST(no_rounds_of_loops_leave_the_ends)
{
    uint64_t random = 7;

    for (int round = 0; round < 500; round++) {
        const uint32_t count = 1 + (uint32_t)(random_next(&random) % 12);
        struct user_access loads[12];
        double constant = 0, shared = 0, runs = 0;
        struct user_table table;

        for (uint32_t i = 0; i < count; i++) {
            const bool begins = i == 0 || random_next(&random) % 2;
            const double addresses = 2 + (double)(random_next(&random) % 31);

            loads[i] = load_of(i == 0 ? 0 : loads[i - 1].code_block + begins, addresses,
                               1 + (double)(random_next(&random) % 2));
            runs = begins ? (double)(random_next(&random) % 100000) : runs;
            constant += runs * 3 * addresses;
            shared += runs * loads[i].counts.wavefronts;
        }
        table = judged(loads, count, NULL);
        if (shared == 0 || !table.better || strcmp(table.better, "shared") != 0)
            continue;
        assert_true(constant / shared >= table.low * TIME_MODEL_ERROR * (1 - 1e-12));
        assert_true(constant / shared <= table.high / TIME_MODEL_ERROR * (1 + 1e-12));
    }
}

TEST(constants_that_are_read_once_do_not_count)
{
    struct user_access loads[] = {load_of(1, 32, 1), load_of(2, 1, 1)};
    struct user_table table;

    loads[0].depth = 0;
    table = judged(loads, 1, NULL);
    assert_string_equal(table.verdict, "as it should be");
    assert_true(table.once && !table.better && table.counts.addresses == 32);
    table = judged(loads, 2, NULL);
    assert_string_equal(table.verdict, "as it should be");
    assert_true(!table.once && table.loads == 1 && table.counts.addresses == 1);
    assert_non_null(strstr(table.why, "what each thread reads once"));
    loads[0].counts.addresses = NAN; /* nor do those that are not known */
    loads[0].variation = VARIATION_DATA;
    table = judged(loads, 2, NULL);
    assert_string_equal(table.verdict, "as it should be");
}

TEST(each_load_has_its_own_least_wavefronts)
{
    struct user_access loads[] = {load_of(1, 32, 4), load_of(1, 32, 2)};
    struct user_table table;

    loads[0].memory = loads[1].memory = "shared";
    loads[0].table_bytes = loads[1].table_bytes = (struct optional){0};
    loads[0].width_bytes = 16;
    table = judged(loads, 1, NULL);
    assert_string_equal(table.verdict, "as it should be");
    table = judged(loads, 2, NULL); /* 4 of 4, and 2 of 1 */
    assert_string_equal(table.verdict, "bank conflicts");
    assert_true(table.counts.wavefronts == 3 && table.wavefronts_least == 2.5);
}

/* A warp has 32 registers for 32 entries. */
TEST(a_warp_holds_as_many_entries_as_the_narrowest_load_says)
{
    struct user_access loads[] = {load_of(1, 32, 1), load_of(1, 32, 1)};
    struct user_table table;

    loads[0].table_bytes = loads[1].table_bytes = optional_of(128);
    table = judged(loads, 2, NULL);
    assert_string_equal(table.better, "shuffle");
    loads[1].width_bytes = 2; /* 64 entries */
    table = judged(loads, 2, NULL);
    assert_string_equal(table.better, "shared");
    loads[1].width_bytes = 8; /* two registers */
    table = judged(loads, 2, NULL);
    assert_string_equal(table.better, "shared");
}

/* Counts 5 addresses, and how often it was asked. */
static enum status five_addresses(const void *context, uint64_t bytes, uint32_t width,
                                  struct described *out)
{
    ++*(unsigned *)(uintptr_t)context;
    assert_true(width == 4);
    if (bytes > 1024)
        snprintf(out->reason, sizeof(out->reason), "too large");
    out->counts = (struct warp_counts){5, 2, 1, 3};
    return STATUS_OK;
}

TEST(indices_are_counted_once_for_each_size)
{
    unsigned asked = 0;
    const struct user_indices indices = {.count = five_addresses, .context = &asked};
    struct user_access loads[] = {load_of(1, NAN, NAN), load_of(2, NAN, NAN)};
    struct user_table table;

    loads[0].variation = loads[1].variation = VARIATION_DATA;
    table = judged(loads, 2, &indices);
    assert_true(asked == 1 && table.assumed && table.counts.addresses == 5);
    assert_string_equal(table.verdict, "faster elsewhere");
    loads[0].memory = loads[1].memory = "shared"; /* wavefronts of data have no better order */
    table = judged(loads, 2, &indices);
    assert_string_equal(table.verdict, "as it should be");
    loads[1] = load_of(1, 32, 32); /* those that the code decides have one */
    loads[1].memory = "shared";
    table = judged(loads, 2, &indices);
    assert_string_equal(table.verdict, "bank conflicts");
    loads[0].memory = "constant";
    loads[1] = loads[0];
    loads[1].variation = VARIATION_THREAD; /* not decided by data: a source does not stand for it */
    loads[1].code_block = 2;
    table = judged(loads, 2, &indices);
    assert_string_equal(table.verdict, "depends");
    loads[0].table_bytes = loads[1].table_bytes = optional_of(2048);
    loads[1].variation = VARIATION_DATA;
    table = judged(loads, 2, &indices);
    assert_string_equal(table.verdict, "cannot tell");
    assert_non_null(strstr(table.why, "too large"));
}
