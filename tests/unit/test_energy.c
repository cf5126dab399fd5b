/* SPDX-License-Identifier: MIT
 * Tests of energy by a counter that steps: rates and joules by hand, and how often intervals hold
 * the truth. */
#include <math.h>
#include <string.h>

#include "energy.h"
#include "noise.h"
#include "test.h"

static struct energy_points made;

/* Points a second apart, of which each batch of two steps counts `counts[batch]` more. */
static void make_points(const double counts[ENERGY_BATCHES], double bound)
{
    double count = 1000;

    made.count = 0;
    assert_true(energy_points_add(&made, (struct energy_point){50, bound, count}));
    for (size_t i = 0; i < 2 * (size_t)ENERGY_BATCHES; i++) {
        count += counts[i / 2] / 2;
        assert_true(energy_points_add(&made, (struct energy_point){51 + (double)i, bound, count}));
    }
}

static bool close_to(double value, double expected)
{
    return fabs(value - expected) <= 1e-9 * fabs(expected);
}

TEST(a_rate_is_the_count_by_the_time)
{
    static const double even[ENERGY_BATCHES] = {200, 200, 200, 200, 200};
    struct energy_rate rate;

    make_points(even, 0.25);
    assert_true(energy_rate_of(&made, 4, &rate));
    assert_true(rate.value == 100 && rate.noise == 0 && rate.seconds == 10);
    /* a unit, and a quarter of a second at both ends */
    assert_true(close_to(rate.bound, (4 + 100 * 0.5) / 10));
}

/* Half of the batches have 99 a second and half 101: their deviation is sqrt(10 / 9). Student's t
 * of nine degrees is 2.262157. */
TEST(noise_is_that_of_batches)
{
    static const double uneven[ENERGY_BATCHES] = {198, 202, 200, 198, 202};
    struct energy_rate rate;

    make_points(uneven, 0);
    assert_true(energy_rate_of(&made, 0, &rate));
    assert_true(rate.value == 100 && rate.bound == 0);
    assert_true(fabs(rate.noise - 2.776445 / sqrt(5)) < 1e-5);
}

TEST(too_few_points_have_no_rate)
{
    static const double even[ENERGY_BATCHES] = {2, 2, 2, 2, 2};
    struct energy_rate rate;

    make_points(even, 0);
    made.count = ENERGY_POINTS_MIN;
    assert_true(energy_rate_of(&made, 0, &rate));
    made.count = ENERGY_POINTS_MIN - 1;
    assert_false(energy_rate_of(&made, 0, &rate));
    assert_true(isnan(rate.value) && isnan(rate.noise) && isnan(rate.bound));
    make_points(even, 0);
    made.points[7].seconds = made.points[6].seconds;
    assert_false(energy_rate_of(&made, 0, &rate));
}

TEST(what_two_stretches_differ_by_is_a_bound)
{
    const struct energy_rate before = {70, 0.3, 0.5, 2}, after = {74, 0.4, 0.7, 2};
    const struct energy_rate between = energy_between(&before, &after);

    assert_true(between.value == 72 && close_to(between.noise, 0.25));
    assert_true(close_to(between.bound, 0.6 + 2) && between.seconds == 4);
}

/* 300 W for 10 us is 3 mJ; 100 W for 2 us of the empty kernel, 80 W idle. */
static const struct energy_load load = {{300, 3, 1, 2}, {1e5, 200, 100, 2}},
                                empty = {{100, 1, 0.5, 2}, {5e5, 0, 500, 2}};
static const struct energy_rate idle = {80, 0.5, 0.25, 2};

static void assert_value(struct energy_value value, double expected, double half)
{
    assert_true(close_to(value.value, expected));
    assert_true(close_to(value.ci_high - value.value, half));
    assert_true(close_to(value.value - value.ci_low, half));
}

TEST(joules_of_a_launch_and_of_a_lookup)
{
    /* noise: 3 W x 10 us, and 0.2 % of 3 mJ; bounds: 1 W x 10 us and 0.1 % of 3 mJ */
    assert_value(energy_of_launch(&load), 3e-3, hypot(30e-6, 6e-6) + 10e-6 + 3e-6);
    /* noise of the empty kernel: 1 W and 0.5 W of idle x 2 us; bounds: 0.75 W, and 0.1 % of 40 uJ
     */
    assert_value(energy_beyond_idle(&empty, &idle), 20 * 2e-6,
                 hypot(2e-6, 1e-6) + 0.75 * 2e-6 + 0.04e-6);
    /* 2.2 mJ beyond idle, less 40 uJ, of 1000 lookups. Idle counts for 10 us less 2. */
    assert_value(energy_of_lookup(&load, &empty, &idle, 1000), 2.16e-6,
                 1e-3 * (sqrt(pow(30e-6, 2) + pow(2e-6, 2) + pow(4e-6, 2) + pow(4.4e-6, 2)) +
                         10e-6 + 1e-6 + 2e-6 + 2.2e-6 + 0.04e-6));
}

TEST(the_unit_divides_all_differences)
{
    static const uint64_t differences[] = {7500, 10000, 12500, 0};
    uint64_t unit = 0;

    for (size_t i = 0; i < 4; i++)
        unit = energy_unit_mj(unit, differences[i]);
    assert_int_equal(unit, 2500);
    assert_int_equal(energy_unit_mj(unit, 999), 1);
}

/* -- how often intervals hold the truth -------------------------------------------------------- */

/* A counter, its device and its host. */
struct simulated {
    double period, unit_joules; /* of the counter */
    double poll; /* seconds between questions */
    double deviation, correlation; /* of the power of periods: a share; of neighbours */
};

/* What a host sees of two seconds at that power. */
static struct energy_rate seen(const struct simulated *simulated, double watts, uint64_t *random)
{
    const size_t steps = (size_t)ceil(2 / simulated->period);
    const double new_part = sqrt(1 - simulated->correlation * simulated->correlation);
    double joules = 1e4 + 100 * uniform(random), off = nearly_normal(random);
    struct energy_rate rate;

    made.count = 0;
    for (size_t i = 0; i <= steps; i++) {
        const double late = simulated->poll * (uniform(random) - 0.5);

        assert_true(
            energy_points_add(&made, (struct energy_point){(double)i * simulated->period + late,
                                                           simulated->poll / 2,
                                                           floor(joules / simulated->unit_joules) *
                                                               simulated->unit_joules}));
        joules += watts * simulated->period * (1 + simulated->deviation * off);
        off = simulated->correlation * off + new_part * nearly_normal(random);
    }
    assert_true(energy_rate_of(&made, simulated->unit_joules, &rate));
    return rate;
}

/* Launches whose ends the host sees half a poll early or late, at most. */
static struct energy_rate seen_launches(double launches, double poll, uint64_t *random)
{
    struct energy_rate rate;

    made.count = 0;
    for (size_t i = 0; i <= 100; i++)
        assert_true(
            energy_points_add(&made, (struct energy_point){0.02 * (double)i +
                                                               poll * (uniform(random) - 0.5),
                                                           poll / 2, 0.02 * (double)i * launches}));
    assert_true(energy_rate_of(&made, 0, &rate));
    return rate;
}

/* 250 W for 20 us, an empty kernel of 130 W and 4 us, 75 W idle: 3.28 mJ of a million lookups. */
TEST(intervals_hold_the_truth_whatever_the_counter_does)
{
    enum { TRIALS = 1000 };
    static const struct simulated counters[] = {
        {0.1, 0.001, 0.001, 0, 0},      {0.1, 0.001, 0.001, 0.01, 0},
        {0.1, 0.001, 0.001, 0.01, 0.5}, {0.02, 0.001, 0.0005, 0.03, 0.5},
        {0.1, 1, 0.01, 0.01, 0},        {0.2, 5, 0.015, 0, 0},
    };
    uint64_t random = 1;

    for (size_t k = 0; k < sizeof(counters) / sizeof(counters[0]); k++) {
        const struct simulated *counter = &counters[k];
        size_t held = 0;

        for (size_t i = 0; i < TRIALS; i++) {
            const struct energy_load cell = {seen(counter, 250, &random),
                                             seen_launches(5e4, counter->poll, &random)},
                                     none = {seen(counter, 130, &random),
                                             seen_launches(2.5e5, counter->poll, &random)};
            const struct energy_rate still = seen(counter, 75, &random);
            const struct energy_value lookup = energy_of_lookup(&cell, &none, &still, 1e6);

            held += lookup.ci_low <= 3.28e-9 && lookup.ci_high >= 3.28e-9;
        }
        if ((double)held < 0.945 * TRIALS)
            fail_msg("counter %zu: %zu of %d intervals hold the truth", k, held, TRIALS);
    }
    energy_points_close(&made);
}
