/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "stats.h"

/* P(Binomial(n, 1/2) <= k) in plain doubles, from Pascal's triangle: good up to n of about 1000. */
static double brute_tail(size_t n, size_t k)
{
    double *row = calloc(n + 1, sizeof(*row));
    double sum = 0;

    assert_non_null(row);
    row[0] = 1;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = i; j > 0; j--)
            row[j] = (row[j] + row[j - 1]) / 2;
        row[0] /= 2;
    }
    for (size_t j = 0; j <= k; j++)
        sum += row[j];
    free(row);
    return sum;
}

/* The table of 95 % intervals of the median that textbooks print (Conover; Hollander and Wolfe). */
static void test_published_ranks(void **state)
{
    static const struct {
        size_t count, rank;
    } rows[] = {
        {1, 0},  {5, 0},  {6, 1},  {8, 1},   {9, 2},   {10, 2},  {12, 3},  {15, 4},
        {17, 5}, {20, 6}, {25, 8}, {30, 10}, {40, 14}, {50, 18}, {70, 27}, {100, 40},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(stats_median_rank(rows[i].count, 0.95), rows[i].rank);
}

/* The definition itself: the tail below the rank is within the error allowed, the next one is not. */
static void test_ranks_by_brute_force(void **state)
{
    const double confidences[] = {0.5, 0.9, 0.95, 0.99, 0.999};

    (void)state;
    for (size_t c = 0; c < sizeof(confidences) / sizeof(confidences[0]); c++) {
        const double tail = (1 - confidences[c]) / 2;

        for (size_t n = 1; n <= 260; n += n < 60 ? 1 : 17) {
            const size_t rank = stats_median_rank(n, confidences[c]);

            if (rank)
                assert_true(brute_tail(n, rank - 1) <= tail);
            assert_true(brute_tail(n, rank) > tail);
        }
    }
}

/* Computed with exact integers (Python): sum of C(n, j) x 2^-n against 1/40. */
static void test_large_ranks(void **state)
{
    (void)state;
    assert_int_equal(stats_median_rank(1000, 0.95), 469);
    assert_int_equal(stats_median_rank(10000, 0.95), 4902);
    assert_int_equal(stats_median_rank(100000, 0.95), 49690);
    assert_int_equal(stats_median_rank(1000000, 0.95), 499020);
}

static void assert_near(double value, double expected, double most)
{
    assert_true(fabs(value - expected) <= most);
}

static void test_summary_odd(void **state)
{
    const double samples[] = {9, 1, 5, 3, 7, 2, 100};
    double sorted[7];
    struct summary summary;

    (void)state;
    stats_summarize(samples, 7, sorted, &summary);
    assert_int_equal(summary.count, 7);
    assert_true(summary.value == 5);
    assert_true(summary.min == 1);
    assert_true(summary.ci_low == 1);    /* rank 1 of 7 */
    assert_true(summary.ci_high == 100);
    assert_true(summary.mad == 3);       /* deviations 0 2 2 3 4 4 95 */
}

static void test_summary_even(void **state)
{
    const double samples[] = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
    double sorted[10];
    struct summary summary;

    (void)state;
    stats_summarize(samples, 10, sorted, &summary);
    assert_true(summary.value == 5.5);
    assert_true(summary.ci_low == 2); /* rank 2 of 10 */
    assert_true(summary.ci_high == 9);
    assert_true(summary.mad == 2.5);
    assert_true(stats_relative_half_width(&summary) == 3.5 / 5.5);
}

static void test_too_few_for_an_interval(void **state)
{
    const double samples[] = {4, 4, 4, 4, 4};
    double sorted[5];
    struct summary summary;

    (void)state;
    stats_summarize(samples, 5, sorted, &summary);
    assert_true(summary.value == 4 && summary.mad == 0);
    assert_true(isnan(summary.ci_low) && isnan(summary.ci_high));
    assert_true(isinf(stats_relative_half_width(&summary)));
    stats_summarize(samples, 1, sorted, &summary);
    assert_true(summary.value == 4 && summary.min == 4);
}

static void test_half_width_of_nonsense(void **state)
{
    const struct summary zero = {.count = 6, .value = 0, .ci_low = 0, .ci_high = 0};
    const struct summary negative = {.count = 6, .value = -1, .ci_low = -2, .ci_high = 1};

    (void)state;
    assert_true(isinf(stats_relative_half_width(&zero)));
    assert_true(isinf(stats_relative_half_width(&negative)));
}

/* By hand, and as scipy 1.10 says (trim_mean and mstats.trimmed_stde of a seventh). */
static void test_trimmed_mean(void **state)
{
    const double samples[] = {9, 1, 5, 3, 7, 2, 100};
    double scratch[7];
    const struct trimmed_mean found = stats_trimmed_mean(samples, 7, 1, scratch);

    (void)state;
    assert_near(found.value, 5.2, 1e-12);                /* 2 3 5 7 9 */
    assert_near(found.error, 1.6370705543744897, 1e-12); /* 2 2 3 5 7 9 9: squares 402 / 7, / 6, * 7, the root, / 5 */
    assert_true(found.degrees == 4);
    /* An array of no strata is one of one. */
    assert_true(stats_trimmed_mean(samples, 7, 0, scratch).error == found.error);
}

/* Eight placements that differ much, three samples of each. By numpy. */
static void test_trimmed_mean_of_strata(void **state)
{
    const double samples[] = {10,   10.5, 13,   12.5, 20, 19,   31,   28,   10.2, 10.9, 12.8, 12.9,
                              19.6, 18.5, 30.5, 29,   11, 10.1, 13.3, 12.2, 20.4, 19.9, 29.7, 28.8};
    double scratch[24];
    const struct trimmed_mean found = stats_trimmed_mean(samples, 24, 8, scratch);

    (void)state;
    assert_near(found.value, 17.61, 1e-12);
    assert_near(found.error, 0.10488088481701512, 1e-12);
    assert_true(found.degrees == 12);
    assert_near(found.strata, 3.2908748294119508, 1e-12);
    assert_true(stats_trimmed_mean(samples, 24, 1, scratch).strata == 0);
    /* Fewer than two of a stratum tell nothing of what is within it: all that samples differ by is an error then. */
    assert_true(stats_trimmed_mean(samples, 15, 8, scratch).error == stats_trimmed_mean(samples, 15, 1, scratch).error);
    assert_true(stats_trimmed_mean(samples, 24, 1, scratch).error > 1);
}

/* Where nothing varies, nothing is lost in a digit; one that is far off moves nothing. */
static void test_trimmed_mean_of_equals(void **state)
{
    double samples[30], scratch[30];

    (void)state;
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

/* Of all lengths, of values that repeat and of values that are sorted already, in both directions. */
static void test_median_unsorted(void **state)
{
    uint64_t random = 2;

    (void)state;
    for (size_t count = 1; count <= 40; count++)
        for (size_t kind = 0; kind < 200; kind++) {
            double values[40], sorted[40];

            for (size_t i = 0; i < count; i++)
                values[i] = kind == 0 ? (double)i
                            : kind == 1
                                ? -(double)i
                                : (double)(random_next(&random) >> 32) / (kind % 2 ? 1e9 : 1) * (kind % 5 ? 1 : 0);
            for (size_t i = 0; kind % 3 == 2 && i < count; i++)
                values[i] = floor(fmod(values[i], 4));
            memcpy(sorted, values, sizeof(sorted));
            stats_sort(sorted, count);
            assert_true(stats_median_unsorted(values, count) == stats_median(sorted, count));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_median_unsorted),
        cmocka_unit_test(test_published_ranks),
        cmocka_unit_test(test_ranks_by_brute_force),
        cmocka_unit_test(test_large_ranks),
        cmocka_unit_test(test_summary_odd),
        cmocka_unit_test(test_summary_even),
        cmocka_unit_test(test_too_few_for_an_interval),
        cmocka_unit_test(test_half_width_of_nonsense),
        cmocka_unit_test(test_trimmed_mean),
        cmocka_unit_test(test_trimmed_mean_of_strata),
        cmocka_unit_test(test_trimmed_mean_of_equals),
    };

    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
