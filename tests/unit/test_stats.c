/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "stats.h"
#include "test.h"

/* The table of 95 % intervals of the median that textbooks print (Conover; Hollander and Wolfe); the last four by exact
 * integers (Python): sum of C(n, j) x 2^-n against 1/40. */
TEST(ranks_are_those_of_textbooks)
{
    static const struct {
        size_t count, rank;
    } rows[] = {
        {1, 0},   {5, 0},    {6, 1},      {8, 1},        {9, 2},          {10, 2},           {12, 3},
        {15, 4},  {17, 5},   {20, 6},     {25, 8},       {30, 10},        {40, 14},          {50, 18},
        {70, 27}, {100, 40}, {1000, 469}, {10000, 4902}, {100000, 49690}, {1000000, 499020},
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
        {{9, 1, 5, 3, 7, 2, 100}, {.count = 7, .value = 5, .min = 1, .ci_low = 1, .ci_high = 100, .mad = 3}, 49.5 / 5},
        {{10, 9, 8, 7, 6, 5, 4, 3, 2, 1},
         {.count = 10, .value = 5.5, .min = 1, .ci_low = 2, .ci_high = 9, .mad = 2.5},
         3.5 / 5.5},
        /* Too few for an interval. */
        {{4, 4, 4, 4, 4}, {.count = 5, .value = 4, .min = 4, .ci_low = NAN, .ci_high = NAN}, INFINITY},
        {{4}, {.count = 1, .value = 4, .min = 4, .ci_low = NAN, .ci_high = NAN}, INFINITY},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct summary *wanted = &rows[i].summary;
        struct summary found;
        double sorted[10];

        stats_summarize(rows[i].samples, wanted->count, sorted, &found);
        assert_true(found.value == wanted->value && found.median == wanted->value && found.min == wanted->min);
        assert_true(same(found.ci_low, wanted->ci_low) && same(found.ci_high, wanted->ci_high) &&
                    found.mad == wanted->mad);
        assert_true(stats_relative_half_width(&found) == rows[i].half_width);
    }
    assert_true(isinf(stats_relative_half_width(&(struct summary){.count = 6, .value = 0, .ci_low = 0, .ci_high = 0})));
    assert_true(
        isinf(stats_relative_half_width(&(struct summary){.count = 6, .value = -1, .ci_low = -2, .ci_high = 1})));
}

/* Eight buffer sets that differ much, three samples of each. */
static const double of_sets[] = {10,   10.5, 13,   12.5, 20, 19,   31,   28,   10.2, 10.9, 12.8, 12.9,
                                 19.6, 18.5, 30.5, 29,   11, 10.1, 13.3, 12.2, 20.4, 19.9, 29.7, 28.8};

TEST(trimmed_means_are_those_of_scipy)
{
    static const double seven[] = {9, 1, 5, 3, 7, 2, 100};
    static const struct {
        const double *samples;
        size_t count, strata;
        struct trimmed_mean mean;
    } rows[] = {
        /* By hand, and as scipy 1.10 says (trim_mean and mstats.trimmed_stde of a seventh): 2 3 5 7 9; and
         * 2 2 3 5 7 9 9: squares 402 / 7, / 6, * 7, the root, / 5. */
        {seven, 7, 1, {5.2, 1.6370705543744897, 4, 0}},
        {seven, 7, 0, {5.2, 1.6370705543744897, 4, 0}}, /* no strata are one */
        /* By numpy. */
        {of_sets, 24, 8, {17.61, 0.10488088481701512, 12, 3.2908748294119508}},
    };
    double scratch[24];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct trimmed_mean *wanted = &rows[i].mean;
        const struct trimmed_mean found = stats_trimmed_mean(rows[i].samples, rows[i].count, rows[i].strata, scratch);

        assert_true(fabs(found.value - wanted->value) <= 1e-12 && fabs(found.error - wanted->error) <= 1e-12);
        assert_true(found.degrees == wanted->degrees && fabs(found.strata - wanted->strata) <= 1e-12);
    }
    /* Fewer than two of a stratum tell nothing of what is within it: all that samples differ by is an error then. */
    assert_true(stats_trimmed_mean(of_sets, 15, 8, scratch).error == stats_trimmed_mean(of_sets, 15, 1, scratch).error);
    assert_true(stats_trimmed_mean(of_sets, 24, 1, scratch).error > 1);
}

/* Where nothing varies, nothing is lost in a digit; one that is far off moves nothing. */
TEST(a_trimmed_mean_of_equals_is_exact)
{
    double samples[30], scratch[30];

    for (size_t count = 1; count <= 30; count++) {
        struct trimmed_mean found;

        for (size_t i = 0; i < count; i++)
            samples[i] = 0.1;
        samples[count / 2] = count < 5 ? 0.1 : 1e9;
        found = stats_trimmed_mean(samples, count, 4, scratch);
        assert_true(found.value == 0.1);
        assert_true(count < STATS_SAMPLES_MIN ? isnan(found.error) : found.error == 0);
    }
}
