/* SPDX-License-Identifier: MIT
 * Ranking of places: standings from times and errors that are written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "advise.h"

/* A place of a path of that unit: the first or, to tell them apart, the last in paths.def. */
static struct advised_place place_of(enum load_unit unit, double time_ns)
{
    struct advised_place place = {.time_ns = time_ns,
                                  .low_ns = time_ns * 0.98,
                                  .high_ns = time_ns * 1.02,
                                  .model = {.time_ns = time_ns}};

    for (size_t i = path_count; i-- > 0;)
        if (paths[i].unit == unit && paths[i].loads)
            place.path = &paths[i];
    return place;
}

static void test_errors_are_of_pairs(void **state)
{
    (void)state;
    assert_true(advise_ratio_error(UNIT_IDC, UNIT_L1, 0) > 0);
    assert_true(advise_ratio_error(UNIT_IDC, UNIT_L1, 0.5) == advise_ratio_error(UNIT_L1, UNIT_IDC, 0.5));
    assert_true(advise_ratio_error(UNIT_L1, UNIT_L1, 0) < 0.01);
    /* The more two places differ in, the less is known of their ratio; beyond the last row it is that of the last. */
    assert_true(advise_ratio_error(UNIT_L1, UNIT_SHARED, 0.01) < advise_ratio_error(UNIT_L1, UNIT_SHARED, 0.1));
    assert_true(advise_ratio_error(UNIT_L1, UNIT_SHARED, 0.1) < advise_ratio_error(UNIT_L1, UNIT_SHARED, 0.5));
    assert_true(advise_ratio_error(UNIT_L1, UNIT_L1, 0.5) == advise_ratio_error(UNIT_L1, UNIT_L1, 0.01));
    for (int one = UNIT_IDC; one <= UNIT_SHARED; one++)
        for (int other = UNIT_IDC; other <= UNIT_SHARED; other++) {
            /* No committed cell is of UNIT_IMC: the largest error is taken. */
            assert_true(advise_ratio_error(UNIT_IMC, UNIT_IDC, 0) >=
                        advise_ratio_error((enum load_unit)one, (enum load_unit)other, 1));
            assert_true(advise_time_error(UNIT_IMC) >= advise_time_error((enum load_unit)one));
        }
}

/* The first two of the ranking have no parts: they are nowhere apart. Half of the times of IDC is another part. */
static void test_modelled_standings(void **state)
{
    const double far = 100 * (1 + advise_ratio_error(UNIT_L1, UNIT_IDC, 0.5));
    struct advised_place places[] = {
        place_of(UNIT_IDC, far + 0.1), place_of(UNIT_SHARED, 300), place_of(UNIT_IDC, far - 0.1),
        place_of(UNIT_L1, 100.1),      place_of(UNIT_L1, 100),
    };
    struct advice advice = {.modelled = true, .places = places, .count = 5};
    static const enum advise_standing wanted[] = {ADVISE_FIRST, ADVISE_ALIKE_FIRST, ADVISE_NO_FASTER, ADVISE_SLOWER,
                                                  ADVISE_SLOWER};

    (void)state;
    places[0].model.parts.issue_ns = places[2].model.parts.issue_ns = 50;
    advise_rank(&advice);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(places[i].standing, wanted[i]);
    assert_true(places[0].time_ns == 100 && places[0].relative == 1 && places[0].ratio_error == 0);
    assert_true(places[4].relative == 3 && places[4].apart == 0);
    assert_false(advise_is_close(&advice));
}

/* What is known least may be faster by 5 %, unless it is predicted to be so much slower. */
static void test_too_close_to_call(void **state)
{
    const double bound = 0.95 * (1 + advise_ratio_error(UNIT_L1, UNIT_IMC, 0));
    const struct advised_place first = place_of(UNIT_L1, 100);
    struct advised_place places[2];
    struct advice advice = {.modelled = true, .places = places, .count = 2};

    (void)state;
    assert_true(bound > 1.002); /* else there is no such place */
    for (int close = 0; close < 2; close++) {
        places[0] = first;
        places[1] = place_of(UNIT_IMC, 100 * bound + (close ? -0.1 : 0.1));
        advise_rank(&advice);
        assert_int_equal(places[1].standing, close ? ADVISE_TOO_CLOSE : ADVISE_NO_FASTER);
        assert_int_equal(advise_is_close(&advice), close);
    }
    assert_true(advice.told == ADVISE_TOLD_MODELLED);
    advice.modelled = false; /* the intervals are those of place_of: 4 % together, and 1 % is told */
    advise_rank(&advice);
    assert_true(advice.told == ADVISE_TOLD_MEASURED);
    assert_int_equal(places[1].standing, places[1].relative < 0.99 * 1.04 ? ADVISE_TOO_CLOSE
                                         : places[1].relative > 1.04      ? ADVISE_SLOWER
                                                                          : ADVISE_NO_FASTER);
}

/* Of equal times the path that paths.def has first comes first. */
static void test_equal_times(void **state)
{
    struct advised_place places[] = {place_of(UNIT_SHARED, 50), place_of(UNIT_L1, 50), place_of(UNIT_IDC, 50)};
    struct advice advice = {.modelled = true, .places = places, .count = 3};

    (void)state;
    advise_rank(&advice);
    assert_int_equal(places[0].path->unit, UNIT_IDC);
    assert_int_equal(places[1].path->unit, UNIT_L1);
    assert_int_equal(places[2].path->unit, UNIT_SHARED);
}

static void test_every_place_has_its_code(void **state)
{
    (void)state;
    for (size_t i = 0; i < path_count; i++)
        assert_true(!paths[i].loads == !place_code_of(&paths[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_are_of_pairs),      cmocka_unit_test(test_modelled_standings),
        cmocka_unit_test(test_too_close_to_call),        cmocka_unit_test(test_equal_times),
        cmocka_unit_test(test_every_place_has_its_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
