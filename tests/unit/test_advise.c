/* SPDX-License-Identifier: MIT
 * Ranking of memory spaces by measured lookups that are written by hand, and verdicts on tables
 * whose loads are. */
#include <math.h>

#include "advise.h"
#include "cells.h"
#include "random.h"
#include "source.h"
#include "table_verdict.h"
#include "test.h"

/* -- near lookups ------------------------------------------------------------------------------ */

/* Random lookups in a table of so many bytes, measured in global, shared and constant memory; 0:
 * not there. */
struct written {
    uint32_t table_bytes;
    double ns[3];
};

enum { WRITTEN_MAX = 6 };

static const char *const written_paths[] = {"global", "shared", "constant"};

/* Measured lookups that are written by hand. */
struct by_hand_lookups {
    struct measured_time times[WRITTEN_MAX][3];
    struct measured_lookup lookups[WRITTEN_MAX];
    struct measured measured;
};

static struct cell lookup_cell(uint32_t table_bytes)
{
    struct cell cell = {.workload = workload_named("lookup"),
                        .path = path_named("global"),
                        .pattern = &sources[SOURCE_random],
                        .elements = 4096,
                        .block_size = 256,
                        .cache_state = &cache_states[0]};

    cell.parameters[PARAMETER_table_bytes] = table_bytes;
    return cell;
}

static void write_lookups(const struct written *rows, size_t count, struct by_hand_lookups *out)
{
    *out = (struct by_hand_lookups){.measured = {.lookups = out->lookups, .count = count}};
    for (size_t i = 0; i < count; i++) {
        struct measured_lookup *lookup = &out->lookups[i];

        *lookup = (struct measured_lookup){.cell = lookup_cell(rows[i].table_bytes),
                                           .addresses = 16,
                                           .sectors = 8,
                                           .wavefronts = 2,
                                           .times = out->times[i]};
        for (size_t k = 0; k < 3; k++)
            if (rows[i].ns[k] > 0)
                lookup->times[lookup->count++] =
                    (struct measured_time){path_named(written_paths[k]), rows[i].ns[k]};
    }
}

/* What near lookups say of the three memory spaces, for a table of 1024 bytes. */
static struct advice near_advice(const struct written *rows, size_t count,
                                 struct advised_space spaces[3], struct by_hand_lookups *lookups)
{
    struct advice advice = {.cell = lookup_cell(1024),
                            .spaces = spaces,
                            .count = 3,
                            .facts = {.addresses = 16, .sectors = 8, .wavefronts = 2}};

    for (size_t k = 0; k < 3; k++)
        spaces[k] = (struct advised_space){.path = path_named(written_paths[k])};
    write_lookups(rows, count, lookups);
    near_find(&lookups->measured, &advice.cell, &advice.facts, &advice.near);
    near_judge(&advice);
    return advice;
}

/* Whether the standings are those, in the order of written_paths. */
static bool stand(const struct advised_space spaces[3], enum advise_standing global,
                  enum advise_standing shared, enum advise_standing constant)
{
    return spaces[0].standing == global && spaces[1].standing == shared &&
           spaces[2].standing == constant;
}

TEST(near_lookups_rank_what_they_agree_on)
{
    static const struct written rows[] = {{512, {1050, 1000, 1100}}, {2048, {1060, 1000, 1020}}};
    struct by_hand_lookups lookups;
    struct advised_space spaces[3];
    const struct advice advice = near_advice(rows, 2, spaces, &lookups);

    assert_null(advice.why);
    assert_true(advice.near.count == 2 && !advice.near.same);
    assert_true(advice.near.distances[0] == 1 && advice.near.distances[1] == 1);
    assert_true(stand(spaces, ADVISE_SLOWER, ADVISE_ALIKE_FIRST, ADVISE_TOO_CLOSE));
    assert_true(spaces[0].near.least == 1.05 && spaces[0].near.most == 1.06 &&
                fabs(spaces[0].near.mean - 1.055) < 1e-9 && spaces[0].near.known);
}

TEST(nothing_is_said_beyond_what_was_measured)
{
    static const struct written smaller[] = {{256, {1000, 1200, 0}}, {512, {1000, 1200, 0}}};
    static const struct written one_side[] = {{256, {1200, 1000, 0}},
                                              {512, {1200, 1000, 0}},
                                              {4096, {1000, 0, 1300}},
                                              {2048, {1000, 0, 1300}}};
    static const struct written clear[] = {{256, {1000, 1200, 0}},
                                           {512, {1000, 1200, 0}},
                                           {2048, {1000, 0, 1300}}};
    static const struct written apart[] = {{512, {1000, 1200, 0}}, {2048, {1200, 1000, 0}}};
    static const struct written far[] = {{64, {1000, 1200, 0}}, {16384, {1000, 1200, 0}}};
    struct by_hand_lookups lookups;
    struct advised_space spaces[3];

    assert_non_null(near_advice(smaller, 2, spaces, &lookups).why);
    assert_true(stand(spaces, ADVISE_UNKNOWN, ADVISE_UNKNOWN, ADVISE_UNKNOWN));
    assert_non_null(near_advice(one_side, 4, spaces, &lookups).why);
    assert_null(near_advice(clear, 3, spaces, &lookups).why);
    assert_true(stand(spaces, ADVISE_ALIKE_FIRST, ADVISE_UNKNOWN, ADVISE_UNKNOWN));
    assert_non_null(near_advice(apart, 2, spaces, &lookups).why);
    assert_true(near_advice(far, 2, spaces, &lookups).near.count == 0);
    assert_true(stand(spaces, ADVISE_UNKNOWN, ADVISE_UNKNOWN, ADVISE_UNKNOWN));
}

TEST(the_very_lookups_answer_alone)
{
    static const struct written rows[] = {{512, {1000, 1200, 1300}},
                                          {1024, {1300, 1000, 1005}},
                                          {2048, {1000, 1200, 1300}}};
    struct by_hand_lookups lookups;
    struct advised_space spaces[3];
    const struct advice advice = near_advice(rows, 3, spaces, &lookups);

    assert_true(advice.near.same && advice.near.count == 1 && !advice.why);
    assert_true(stand(spaces, ADVISE_SLOWER, ADVISE_ALIKE_FIRST, ADVISE_ALIKE_FIRST));
}

TEST(what_has_to_be_equal_is)
{
    static const struct written rows[] = {{512, {1000, 1200, 1300}}, {2048, {1000, 1200, 1300}}};
    struct by_hand_lookups lookups;
    struct advised_space spaces[3];
    struct advice advice = near_advice(rows, 2, spaces, &lookups);
    struct near_lookups near;

    assert_int_equal(advice.near.count, 2);
    advice.cell.parameters[PARAMETER_in_flight] = 4;
    near_find(&lookups.measured, &advice.cell, &advice.facts, &near);
    assert_int_equal(near.count, 0);
    advice.cell = lookup_cell(1024);
    advice.cell.parameters[PARAMETER_polluter_bytes] = 4096; /* a quarter of a factor of two */
    advice.facts.sectors = 16;
    near_find(&lookups.measured, &advice.cell, &advice.facts, &near);
    assert_int_equal(near.count, 2);
    assert_true(near.distances[0] == 2.25);
    advice.facts.addresses = 32;
    near_find(&lookups.measured, &advice.cell, &advice.facts, &near);
    assert_int_equal(near.count, 0);
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
