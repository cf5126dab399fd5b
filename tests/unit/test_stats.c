/* SPDX-License-Identifier: MIT
 * Tests of order statistics: intervals of the median against textbooks, trimmed means against
 * scipy, means over strata against numpy and by hand. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "stats.h"
#include "test.h"

/* The table of 95 % intervals of the median that textbooks print (Conover; Hollander and Wolfe);
 * the last four by exact integers (Python): sum of C(n, j) x 2^-n against 1/40. */
TEST(ranks_are_those_of_textbooks)
{
    static const struct {
        size_t count, rank;
    } rows[] = {
        {1, 0},    {5, 0},      {6, 1},        {8, 1},          {9, 2},
        {10, 2},   {12, 3},     {15, 4},       {17, 5},         {20, 6},
        {25, 8},   {30, 10},    {40, 14},      {50, 18},        {70, 27},
        {100, 40}, {1000, 469}, {10000, 4902}, {100000, 49690}, {1000000, 499020},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(stats_median_rank(rows[i].count, 0.95), rows[i].rank);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

TEST(summaries_are_those_by_hand)
{
    static const struct {
        double samples[10];
        struct summary summary;
        double half_width;
    } rows[] = {
        /* Ranks 1 and 7; deviations 0 2 2 3 4 4 95. */
        {{9, 1, 5, 3, 7, 2, 100},
         {.count = 7, .value = 5, .min = 1, .ci_low = 1, .ci_high = 100, .mad = 3},
         49.5 / 5},
        {{10, 9, 8, 7, 6, 5, 4, 3, 2, 1},
         {.count = 10, .value = 5.5, .min = 1, .ci_low = 2, .ci_high = 9, .mad = 2.5},
         3.5 / 5.5},
        /* Too few for an interval. */
        {{4, 4, 4, 4, 4},
         {.count = 5, .value = 4, .min = 4, .ci_low = NAN, .ci_high = NAN},
         INFINITY},
        {{4}, {.count = 1, .value = 4, .min = 4, .ci_low = NAN, .ci_high = NAN}, INFINITY},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct summary *wanted = &rows[i].summary;
        struct summary found;
        double sorted[10];

        stats_summarize(rows[i].samples, wanted->count, sorted, &found);
        assert_true(found.value == wanted->value && found.median == wanted->value &&
                    found.min == wanted->min);
        assert_true(same(found.ci_low, wanted->ci_low) && same(found.ci_high, wanted->ci_high) &&
                    found.mad == wanted->mad);
        assert_true(stats_relative_half_width(&found) == rows[i].half_width);
    }
    assert_true(isinf(stats_relative_half_width(
        &(struct summary){.count = 6, .value = 0, .ci_low = 0, .ci_high = 0})));
    assert_true(isinf(stats_relative_half_width(
        &(struct summary){.count = 6, .value = -1, .ci_low = -2, .ci_high = 1})));
}

/* Eight buffer sets that differ much, three samples of each. */
static const double of_sets[] = {10,   10.5, 13,   12.5, 20,   19,   31,   28,
                                 10.2, 10.9, 12.8, 12.9, 19.6, 18.5, 30.5, 29,
                                 11,   10.1, 13.3, 12.2, 20.4, 19.9, 29.7, 28.8};

/* 1 to 1000: 25 at each end are cut. */
TEST(a_spread_is_the_middle_of_what_there_is)
{
    double values[1000];
    struct summary found;

    for (size_t i = 0; i < 1000; i++)
        values[i] = (double)(i * 37 % 1000) + 1;
    stats_spread(values, 1000, &found);
    assert_true(found.ci_low == 26 && found.ci_high == 975 && found.value == 500.5 &&
                found.count == 1000);
}

TEST(one_stratum_is_trimmed_as_scipy_does)
{
    /* By hand, and as scipy 1.10 says (trim_mean and mstats.trimmed_stde of a seventh): 2 3 5 7 9;
     * and 2 2 3 5 7 9 9: squares 402 / 7, / 6, * 7, the root, / 5. */
    static const double seven[] = {9, 1, 5, 3, 7, 2, 100};
    double scratch[7];

    for (size_t strata = 0; strata < 2; strata++) { /* no strata are one */
        const struct strata_mean found = stats_strata_mean(seven, 7, strata, scratch);

        assert_true(fabs(found.value - 5.2) <= 1e-12 &&
                    fabs(found.error - 1.6370705543744897) <= 1e-12);
        assert_true(found.degrees == 4 && found.strata == 0);
    }
}

/* By numpy: means of the eight; the variance within, by 3 of each; and what the means differ by. */
TEST(a_mean_over_strata_holds_each_alike)
{
    double scratch[24], slow[24];
    struct strata_mean found = stats_strata_mean(of_sets, 24, 8, scratch);

    assert_true(fabs(found.value - 18.075) <= 1e-12 &&
                fabs(found.error - 0.10206207261596574) <= 1e-12);
    assert_true(found.degrees == 16 && fabs(found.strata - 2.8009511564738827) <= 1e-9);
    /* A set that takes twice as long counts in full: its 10.4 more are an eighth of it more, but
     * for one that is moved. */
    for (size_t i = 0; i < 24; i++)
        slow[i] = of_sets[i] * (i % 8 ? 1 : 2);
    assert_true(fabs(stats_strata_mean(slow, 24, 8, scratch).value - found.value - 10.4 / 8) <=
                0.05);
    /* Fewer than two of a stratum tell nothing of what is within it: all that samples differ by is
     * an error then. */
    assert_true(stats_strata_mean(of_sets, 15, 8, scratch).error > 2 &&
                stats_strata_mean(of_sets, 24, 1, scratch).error > 1);
    assert_true(stats_strata_mean(of_sets, 15, 8, scratch).degrees == 7);
}

/* Where nothing varies, nothing is lost in a digit. One that is far off moves nothing where its
 * stratum has three samples, and with fewer the error holds it. */
TEST(one_that_is_far_off_is_left_out_or_told)
{
    double samples[30], scratch[30];

    for (size_t count = 1; count <= 30; count++)
        for (size_t strata = 1; strata <= 4; strata += 3) {
            const bool enough = strata == 1 ? count >= 5 : count >= 3 * strata;
            struct strata_mean found;

            for (size_t i = 0; i < count; i++)
                samples[i] = 0.1;
            assert_true(stats_strata_mean(samples, count, strata, scratch).value == 0.1);
            samples[count / 2] = 1e9;
            found = stats_strata_mean(samples, count, strata, scratch);
            if (count < STATS_SAMPLES_MIN)
                assert_true(isnan(found.error));
            else if (enough)
                assert_true(found.value == 0.1 && found.error == 0);
            else
                assert_true(found.value <= 0.1 + 1.001 * found.error);
        }
}
