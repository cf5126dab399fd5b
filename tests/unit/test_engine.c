/* SPDX-License-Identifier: MIT
 * What engines share: what becomes of a cell's clock and counters. */
#include <math.h>
#include <stdlib.h>

#include "cells.h"
#include "engine.h"
#include "random.h"
#include "sampling.h"
#include "test.h"

/* -- the clock --------------------------------------------------------------------------------- */

enum { CLOCKS = 6 };

/* Clocks of the samples of a cell of 2 us, and what is to become of them. */
struct clock_case {
    double mhz[CLOCKS];
    double median;
    bool varied;
};

static const struct clock_case clock_cases[] = {
    {{1980, 1980, 1980, 1980, 1980, 1980}, 1980, false},
    {{1980, 1975, 1985, 1980, 1980, 1980}, 1980, false}, /* 0.5 % */
    {{1980, 1980, 1980, 1980, 1980, 1950}, 1980, true}, /* 1.5 %, one sample, and the last */
    {{2010, 1980, 1980, 1980, 1980, 1980}, 1980, true}, /* the first */
    /* between the two, and from neither the median */
    {{1970, 1990, 1970, 1990, 1970, 1990.9}, 1980, true},
    {{1980, NAN, 1980, NAN, 1980, 1980}, 1980, false}, /* some could not be read */
    {{NAN, NAN, NAN, 1950, NAN, 1980}, 1965, true},
    {{NAN, NAN, NAN, NAN, NAN, NAN}, NAN, false},
};

TEST(clock_that_varies_is_marked)
{
    for (size_t i = 0; i < sizeof(clock_cases) / sizeof(clock_cases[0]); i++) {
        const struct clock_case *row = &clock_cases[i];
        struct cell_result cell = {.time.summary.value = 2000, .flags = FLAG_UNSTABLE};
        double mhz[CLOCKS];

        memcpy(mhz, row->mhz, sizeof(mhz));
        stopping_criterion_clock(&cell, mhz, CLOCKS);
        assert_int_equal(cell.flags, FLAG_UNSTABLE | (row->varied ? FLAG_CLOCK_VARIED : 0));
        if (isnan(row->median)) {
            assert_true(isnan(cell.time.sm_clock_mhz) && isnan(cell.time.cycles));
            continue;
        }
        assert_true(cell.time.sm_clock_mhz == row->median);
        assert_true(fabs(cell.time.cycles - 2 * row->median) < 1e-9);
    }
}

/* -- neighbours -------------------------------------------------------------------------------- */

/* Two buffer sets, the second one slower; a slice is a millisecond more than the least of the
 * sample's buffer set. */
TEST(slices_are_told_from_places)
{
    double totals_ns[] = {1e6, 2.2e6, 1.01e6, 2.3e6, 1.02e6, 2.25e6};

    assert_int_equal(contended_samples(totals_ns, 0, 2), 0);
    assert_int_equal(contended_samples(totals_ns, 6, 2), 0);
    totals_ns[4] += 1e6;
    assert_int_equal(contended_samples(totals_ns, 6, 2), 1);
    totals_ns[1] += 1e6;
    assert_int_equal(contended_samples(totals_ns, 6, 2), 2);
    /* A buffer set of its own, as with lines that meet in one slice of L2; and more than buffer
     * sets differ by. */
    totals_ns[1] = totals_ns[3] = totals_ns[5] = 3.2e6;
    assert_int_equal(contended_samples(totals_ns, 6, 2), 1);
    totals_ns[1] = totals_ns[3] = totals_ns[5] = 5.2e6;
    assert_int_equal(contended_samples(totals_ns, 6, 2), 4);
}

/* -- settling ---------------------------------------------------------------------------------- */

TEST(interim_analyses_grow_rarer)
{
    const struct engine_options options = {.samples_max = 1000, .seconds_max = 1};
    struct stopping_criterion stopping_criterion = {0};
    struct cell_time time = {0};
    size_t interim_analyses = 0;

    for (time.summary.count = 1; time.summary.count < 128; time.summary.count++)
        interim_analyses += stopping_criterion_is_due(&stopping_criterion, &time, &options);
    assert_int_equal(interim_analyses, 15 + 8 + 8 + 8);
    time.summary.count = 1000 - 1;
    assert_false(stopping_criterion_is_due(&stopping_criterion, &time, &options));
    time.summary.count++;
    assert_true(stopping_criterion_is_due(&stopping_criterion, &time, &options));
    time.summary.count = 129;
    stopping_criterion.seconds = 1;
    assert_true(stopping_criterion_is_due(&stopping_criterion, &time, &options));
}

/* A cell of 1000 ns, one of ten that are sampled. */
struct series_case {
    double each; /* seconds that a sample takes */
    double share; /* that samples differ by, up and down */
    uint32_t buffer_sets;
    double other_ns; /* every third buffer set is slower by this */
    bool uneven;
    size_t user_cells; /* it is of a user's kernel, one of so many; 0: one of ten others */
};

/* After how many samples it settles, for an interval of 1 %; *stop is why. */
static size_t samples_to_settle(struct series_case row, enum stop_reason *stop)
{
    enum { MOST = 800 };
    const struct engine_options options = {.samples_max = MOST,
                                           .seconds_max = 100,
                                           .max_noise = 0.01};
    double samples_ns[MOST];
    struct cell_time time = {.samples_ns = samples_ns};
    struct stopping_criterion stopping_criterion;
    uint64_t random = 1;

    assert_true(stopping_criterion_open(&stopping_criterion, row.buffer_sets,
                                        row.user_cells ? row.user_cells : 10,
                                        row.user_cells ? 0.12 : 0, MOST));
    stopping_criterion.each = row.each;
    stopping_criterion.uneven = row.uneven;
    while (stopping_criterion.stop == STOP_NONE && time.summary.count < MOST) {
        const size_t i = time.summary.count++;
        const double set_ns = i % row.buffer_sets % 3 == 0 ? row.other_ns : 0;

        samples_ns[i] =
            set_ns + 1000 +
            1000 * row.share * (2 * ((double)(random_next(&random) >> 11) * 0x1p-53) - 1);
        if (stopping_criterion_is_due(&stopping_criterion, &time, &options))
            stopping_criterion_look(&stopping_criterion, &time, &options);
    }
    *stop = stopping_criterion.stop;
    stopping_criterion_close(&stopping_criterion);
    return time.summary.count;
}

/* A tenth of four seconds is its part. With a quarter of that, an eighth of the required width
 * is narrow enough; with less it is not. With all of it, more samples would cost more than they
 * tell. */
TEST(cheap_cells_are_narrowed_further)
{
    const struct series_case usual = {0.1 / 60, 0.01, 1, 0, false, 0},
                             cheap = {0.1 / 600, 0.01, 1, 0, false, 0},
                             dear = {0.4 / 24, 0.01, 1, 0, false, 0};
    enum stop_reason stop;

    assert_true(samples_to_settle(cheap, &stop) >= 2 * samples_to_settle(usual, &stop));
    assert_int_equal(stop, STOP_CONVERGED);
    assert_int_equal(samples_to_settle(dear, &stop), 24);
    assert_int_equal(stop, STOP_CONVERGED);
}

/* Each of 24 buffer sets has its turn twice; once where that took the cell's part of the time, and
 * the buffer sets agree. */
TEST(places_that_agree_take_one_turn)
{
    const struct series_case cheap = {0.35 / 24, 0.01, 24, 0, false, 0},
                             dear = {0.4 / 24, 0.01, 24, 0, false, 0},
                             differ = {0.4 / 24, 0.01, 24, 300, false, 0},
                             uneven = {0.4 / 24, 0.01, 24, 0, true, 0};
    enum stop_reason stop;

    assert_true(samples_to_settle(cheap, &stop) > 24);
    assert_int_equal(samples_to_settle(dear, &stop), 24);
    assert_int_equal(stop, STOP_CONVERGED);
    assert_int_equal(samples_to_settle(differ, &stop), 48);
    assert_int_equal(stop, STOP_CONVERGED);
    assert_int_equal(samples_to_settle(uneven, &stop), 48);
    assert_int_equal(stop, STOP_CONVERGED);
}

/* In a plan of 400 cells each has a hundredth of a second. A cell of a user's kernel has 0.12 s at
 * least. */
TEST(cells_of_users_kernels_have_more_time)
{
    const struct series_case
        few = {.each = 0.12 / 100, .share = 0.02, .buffer_sets = 24, .user_cells = 10},
        many = {.each = 0.12 / 100, .share = 0.02, .buffer_sets = 24, .user_cells = 400},
        dear = {.each = 0.12 / 24, .share = 0.02, .buffer_sets = 24, .user_cells = 400};
    enum stop_reason stop;

    assert_in_range(samples_to_settle(many, &stop), 100, 112);
    assert_int_equal(stop, STOP_CONVERGED);
    assert_true(samples_to_settle(few, &stop) > 112);
    assert_int_equal(samples_to_settle(dear, &stop), 24);
}

/* For 1 % samples that differ by 40 % take some 2000, and 800 are the most: it gives up when it had
 * four times its part, but not before the samples tell how they differ. */
TEST(hopeless_cells_hold_nobody_up)
{
    const struct series_case cheap = {1.6 / 1000, 0.4, 1, 0, false, 0},
                             usual = {1.6 / 100, 0.4, 1, 0, false, 0},
                             dear = {1.6 / 10, 0.4, 1, 0, false, 0};
    enum stop_reason stop;

    assert_int_equal(samples_to_settle(cheap, &stop), 800);
    assert_int_equal(stop, STOP_SAMPLES);
    assert_in_range(samples_to_settle(usual, &stop), 100, 108);
    assert_int_equal(stop, STOP_SAMPLES);
    assert_int_equal(samples_to_settle(dear, &stop), 60);
    assert_int_equal(stop, STOP_SAMPLES);
}
