/* SPDX-License-Identifier: MIT
 * Student's t against closed forms and scipy's values, deviations against cases made by hand and published tables, and
 * how often intervals cover, by simulation. */
#include <math.h>

#include "random.h"
#include "series.h"
#include "side.h"
#include "stats.h"
#include "student.h"
#include "test.h"

static void assert_near(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* -- Student's t -------------------------------------------------------------------------------------- */

/* For 1, 2 and 4 degrees there are closed forms. */
TEST(test_student_p)
{
    static const double ts[] = {0.01, 0.5, 1, 2, 5, 30, 1000};

    for (size_t i = 0; i < sizeof(ts) / sizeof(ts[0]); i++) {
        const double t = ts[i], share = t * t / (4 + t * t);

        assert_near(student_p(t, 1), 2 / 3.14159265358979323846 * atan(1 / t), 1e-12);
        assert_near(student_p(t, 2), 2 / (t * t + 2 + t * sqrt(t * t + 2)), 1e-11);
        if (t < 30)
            assert_near(student_p(t, 4), 1 - sqrt(share) * (1 + (1 - share) / 2), 1e-9);
        if (t < 6)
            assert_near(student_p(t, 1e9), erfc(t / sqrt(2)), 3e-3);
    }
    assert_true(student_p(0, 3) == 1 && student_p(INFINITY, 3) == 0);
}

/* scipy.stats.t.ppf(1 - p / 2, degrees). */
TEST(test_student_quantile)
{
    static const struct {
        double p, degrees, t;
    } rows[] = {
        {0.05, 1, 12.706204736432095}, {0.05, 2, 4.302652729911275},   {0.05, 3, 3.182446305284263},
        {0.05, 5, 2.5705818366147395}, {0.05, 10, 2.2281388519649385}, {0.05, 30, 2.0422724563012373},
        {0.01, 10, 3.169272672616951}, {0.001, 4, 8.610301581379269},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_near(student_quantile(rows[i].p, rows[i].degrees), rows[i].t, 1e-9);
    assert_near(student_quantile(0.05, INFINITY), 1.959963984540054, 1e-4);
    for (double degrees = 0.7; degrees < 40; degrees *= 1.7)
        assert_near(student_p(student_quantile(0.003, degrees), degrees), 0.003, 1e-9);
}

/* -- deviations --------------------------------------------------------------------------------------- */

TEST(test_of_values)
{
    const double values[] = {100, 100 * exp(0.01), 100 * exp(0.02)};
    const struct deviation found = deviation_of(values, 3);

    assert_near(found.value, 0.01, 1e-9);
    assert_true(found.degrees == 2 && found.origin == DEVIATION_PROCESSES);
    assert_true(deviation_of(values, 1).degrees == 0);
}

static double uniform(uint64_t *seed)
{
    return ((double)(random_next(seed) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *seed)
{
    const double radius = sqrt(-2 * log(uniform(seed)));

    return radius * cos(6.283185307179586 * uniform(seed));
}

TEST(test_of_median)
{
    enum { DRAWS = 20000 };
    uint64_t seed = 1;

    for (size_t count = 1; count <= 9; count++) {
        double sum = 0;

        for (size_t i = 0; i < DRAWS; i++) {
            double values[9], median;

            for (size_t k = 0; k < count; k++)
                values[k] = normal(&seed);
            stats_sort(values, count);
            median = stats_median(values, count);
            sum += median * median;
        }
        /* Four standard errors of a variance. */
        assert_near(deviation_of_median(count), sum / DRAWS, 4 * sqrt(2.0 / DRAWS) + 0.01);
    }
}

/* -- estimates and ratios ------------------------------------------------------------------------------ */

TEST(test_estimate)
{
    double a[] = {96, 104, 99, 100, 101, 102, 98}, b[] = {102}, c[] = {500, 101, 1};
    double scratch[7];
    const struct process_time processes[] = {process_of(a, 7, 0, scratch), process_of(b, 1, 0, scratch),
                                             process_of(c, 3, 0, scratch)};
    struct estimate found;

    assert_int_equal(estimate_of(processes, 1, false, &found), STATUS_OK);
    /* 98 to 102; winsorized 98 98 99 100 101 102 102 the squares are 18, / 6, * 7, the root, / 5. */
    assert_near(found.ns, 100, 1e-12);
    assert_true(found.own.degrees == 0);
    assert_near(found.within, sqrt(21) / 5 / 100, 1e-12);
    assert_int_equal(estimate_of(processes, 3, false, &found), STATUS_OK);
    assert_true(found.ns == 102 && isnan(found.within) && found.own.degrees == 2);
    assert_near(found.own.value, deviation_of((double[]){100, 102, 602.0 / 3}, 3).value, 1e-12);
    assert_int_equal(estimate_of(processes, 3, true, &found), STATUS_OK);
    assert_true(found.within == 0 && found.own.degrees == 0);
}

/* The error is that of samples about their buffer set's mean: here 0.1 of 100, whatever buffer sets differ by. */
TEST(test_error_within_buffer_sets)
{
    enum { COUNT = 240, BUFFER_SETS = 24 };
    double samples[COUNT], even[COUNT], scratch[COUNT];
    uint64_t seed = 5;

    for (size_t i = 0; i < COUNT; i++) {
        even[i] = 100 + 0.1 * normal(&seed);
        samples[i] = even[i] + (i % BUFFER_SETS < BUFFER_SETS / 2 ? 40 : 0);
    }
    assert_true(process_of(samples, COUNT, 0, scratch).error > 0.005);
    assert_near(process_of(samples, COUNT, BUFFER_SETS, scratch).error / process_of(even, COUNT, 0, scratch).error, 1,
                0.3);
    assert_true(process_of(samples, COUNT, BUFFER_SETS, scratch).value == process_of(samples, COUNT, 0, scratch).value);
    /* Fewer than two of each say nothing of it. */
    assert_true(process_of(samples, 47, BUFFER_SETS, scratch).error == process_of(samples, 47, 0, scratch).error);
}

/* The same samples in any order say the same; one other sample says something else. */
TEST(test_process)
{
    enum { COUNT = 100 };
    double turned[COUNT], other[COUNT], sorted[COUNT], scratch[COUNT];
    uint64_t seed = 3;

    for (size_t count = 1; count <= COUNT; count++) {
        struct process_time of_sorted, of_turned;

        for (size_t i = 0; i < count; i++)
            turned[i] = 1000 + normal(&seed);
        memcpy(sorted, turned, sizeof(sorted));
        memcpy(other, turned, sizeof(other));
        other[count / 2] = nextafter(other[count / 2], 0);
        stats_sort(sorted, count);
        of_sorted = process_of(sorted, count, 0, scratch);
        of_turned = process_of(turned, count, 0, scratch);
        assert_true(of_turned.value == stats_trimmed_mean(turned, count, 1, scratch).value);
        assert_true(isnan(of_turned.error) == (count < STATS_SAMPLES_MIN));
        assert_true(of_turned.samples == of_sorted.samples);
        assert_true(of_turned.samples != process_of(other, count, 1, scratch).samples);
    }
}

/* The parts of the default add as squares: of short times the part that does not grow with them counts. */
TEST(test_default)
{
    for (int cause = 0; cause < CAUSES; cause++) {
        const struct deviation brief = deviation_default(cause, false, false, 1000);
        const struct deviation lengthy = deviation_default(cause, false, false, 1e6);

        assert_true(brief.value >= lengthy.value && brief.value < 0.01 && brief.degrees > 0);
        assert_int_equal(brief.origin, DEVIATION_DEFAULT);
    }
    assert_true(deviation_default(CAUSE_process, true, false, 2000).value >
                3 * deviation_default(CAUSE_process, false, false, 2000).value);
    assert_true(deviation_default(CAUSE_process, true, true, 2000).degrees !=
                deviation_default(CAUSE_process, true, false, 2000).degrees);
}
