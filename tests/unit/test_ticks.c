/* SPDX-License-Identifier: MIT
 * Tests of durations by a coarse timer: intervals by hand, and how often they hold the truth. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "noise.h"
#include "test.h"
#include "ticks.h"

/* Six samples of one stratum. The mean moves the least and the greatest of them in. */
TEST(an_interval_holds_a_tick_more_than_its_samples)
{
    static const double alike[] = {64, 64, 64, 64, 64, 64}, two[] = {32, 64, 32, 64, 32, 64},
                        few[] = {64, 64, 64, 64, 64};
    double scratch[6];
    struct ticks_mean found = ticks_mean(alike, 6, 1, 32, scratch);

    assert_true(found.value == 64 && found.half == 32);
    found = ticks_mean(two, 6, 1, 32, scratch);
    /* Tukey and McLaughlin: 4 of 6 are left; t of 3 degrees is 3.182446. */
    assert_true(found.value == 48 &&
                fabs(found.half - 32 - 3.182446 * sqrt(6 * 256 / 5. * 6) / 4) <= 1e-4);
    assert_true(isnan(ticks_mean(few, 5, 1, 32, scratch).half));
}

TEST(a_tick_is_the_least_distance_beyond_rounding)
{
    static const double rounded[] = {1823, 1824, 1825, 1856, 1857, 1920}, alike[] = {7, 7, 7};

    assert_true(ticks_of(rounded, 6, 16) == 31 && ticks_of(rounded, 6, 32) == 32);
    assert_true(ticks_of(alike, 3, 32) == 32 && ticks_of(alike, 1, 32) == 32);
}

/* A small version of scripts/studies/duration_coverage.py: launches that start at the same place
 * of a tick, or anywhere. */
TEST(intervals_hold_the_truth_whatever_tick_and_phase)
{
    enum { LAUNCHES = 12, TRIALS = 4000 };
    static const double ticks[] = {32, 64}, noises[] = {0, 4, 15, 60};
    uint64_t random = 1;

    for (size_t k = 0; k < 16; k++) {
        const double tick = ticks[k & 1], noise = noises[k >> 2];
        size_t held = 0;

        for (size_t trial = 0; trial < TRIALS; trial++) {
            const double truth = tick * (90 + 20 * uniform(&random)), place = uniform(&random);
            double samples[LAUNCHES], scratch[LAUNCHES];
            struct ticks_mean found;

            for (size_t i = 0; i < LAUNCHES; i++) {
                const double start = tick * (k & 2 ? place : uniform(&random)),
                             end = start + truth + noise * nearly_normal(&random);

                samples[i] = tick * (floor(end / tick) - floor(start / tick));
            }
            found = ticks_mean(samples, LAUNCHES, 1, tick, scratch);
            held += fabs(found.value - truth) <= found.half;
        }
        assert_true(held >= 0.95 * TRIALS);
    }
}
