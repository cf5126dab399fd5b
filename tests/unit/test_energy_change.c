/* SPDX-License-Identifier: MIT
 * Tests of changes of energy: means, intervals and verdicts by hand. */
#include <math.h>
#include <string.h>

#include "energy_change.h"
#include "test.h"

/* A side of processes with these joules, whose own intervals have that half. */
static struct side_energy side_of(const double *joules, size_t count, double half)
{
    struct side_energy side = {0};

    for (size_t i = 0; i < count; i++)
        side_energy_add(&side, &(struct cell_energy){.given = true,
                                                     .launch = {joules[i], joules[i] - half,
                                                                joules[i] + half}});
    return side;
}

static bool near_to(double value, double expected)
{
    return fabs(value - expected) <= 1e-6 * fabs(expected);
}

/* Three processes that deviate by 1 of 100: t of two degrees is 4.302653. */
TEST(an_interval_holds_processes_and_their_own)
{
    static const double base[] = {99, 100, 101}, more[] = {119, 120, 121};
    const double half = hypot(0.5, 4.302653 / sqrt(3));
    const struct side_energy sides[] = {side_of(base, 3, 0.5), side_of(more, 3, 0.5)};
    struct energy_change change;
    char text[128];

    energy_compare(&sides[0], &sides[1], 0.01, false, &change);
    assert_true(change.given && near_to(change.ratio, 1.2));
    assert_true(near_to(change.ci_low, (120 - half) / (100 + half)));
    assert_true(near_to(change.ci_high, (120 + half) / (100 - half)));
    assert_int_equal(change.verdict, ENERGY_HIGHER);
    assert_string_equal(energy_change_text(&change, text, sizeof(text)),
                        "energy of a launch +20.0% (+14.6% to +25.7%): higher");
    energy_compare(&sides[1], &sides[0], 0.01, false, &change);
    assert_int_equal(change.verdict, ENERGY_LOWER);
    energy_compare(&sides[0], &sides[0], 0.1, false, &change);
    assert_int_equal(change.verdict, ENERGY_SAME);
    energy_compare(&sides[0], &sides[0], 0.01, false, &change);
    assert_int_equal(change.verdict, ENERGY_NOT_TOLD);
}

TEST(two_boards_or_few_processes_tell_nothing)
{
    static const double base[] = {100, 100, 100}, more[] = {120, 120, 120};
    const struct side_energy single = side_of(base, 1, 2), three = side_of(base, 3, 2),
                             greater = side_of(more, 3, 2), none = {0};
    struct energy_change change;

    energy_compare(&three, &greater, 0.01, true, &change);
    assert_true(change.given && change.verdict == ENERGY_NOT_TOLD);
    energy_compare(&single, &greater, 0.01, false, &change);
    assert_true(change.verdict == ENERGY_NOT_TOLD && near_to(change.ci_low, 118 / 102.));
    energy_compare(&none, &greater, 0.01, false, &change);
    assert_false(change.given);
    /* A base whose interval holds 0 has no ratio. */
    energy_compare(&(struct side_energy){.processes = 3, .mean = 1, .halves = 3}, &greater, 0.01,
                   false, &change);
    assert_true(change.given && isnan(change.ratio) && change.verdict == ENERGY_NOT_TOLD);
}

TEST(a_process_without_joules_is_none)
{
    struct side_energy side = {0};

    side_energy_add(&side, &(struct cell_energy){.given = false});
    side_energy_add(&side, &(struct cell_energy){.given = true, .launch = {NAN, NAN, NAN}});
    assert_int_equal(side.processes, 0);
    side_energy_add(&side, &(struct cell_energy){.given = true,
                                                 .launch = {1, 0.9, 1.1},
                                                 .limits = 1 << 2});
    assert_true(side.processes == 1 && side.limits == 1 << 2);
}
