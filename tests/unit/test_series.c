/* SPDX-License-Identifier: MIT
 * Tests of the statistics of a series: dips against linear programming, correlations by hand, and
 * simulations of how often intervals hold the truth and modes are told apart. */
#include <math.h>

#include "random.h"
#include "series.h"
#include "size.h"
#include "test.h"

enum { MOST = 200, BUFFER_SETS = 24, FIRST_ANALYSIS = 24, OF_EACH = 2 };

static const double max_noise = 0.005;

static double uniform(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) * 0x1p-53;
}

/* Box and Muller. */
static double normal(uint64_t *state)
{
    const double radius = sqrt(-2 * log(uniform(state)));

    return radius * cos(2 * 3.14159265358979323846 * uniform(state));
}

static void assert_near(double value, double expected, double most)
{
    assert_true(fabs(value - expected) <= most);
}

/* -- the dip ----------------------------------------------------------------------------------- */

/* By linear programming (scipy 1.10, HiGHS): the least distance to a distribution that is convex up
 * to a mode and concave behind it, the least over all places of the mode. */
TEST(dips_are_those_of_linear_programming)
{
    static const struct {
        double values[12];
        size_t count;
        double dip;
    } rows[] = {
        {{1, 2, 3, 4}, 4, 0.125},
        {{0, 1, 10, 11}, 4, 0.125},
        {{0, 1, 2, 7, 8, 9}, 6, 1.0 / 12},
        {{0.3, 0.9, 1.4, 1.45, 1.5, 2.8, 6, 6.1, 6.2, 7.7, 7.9, 9.5}, 12, 0.11607142857142859},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_near(series_dip(rows[i].values, rows[i].count), rows[i].dip, 1e-9);
}

/* -- what a series says ------------------------------------------------------------------------ */

struct described {
    struct summary summary;
    struct series series;
};

static struct described describe(const double *samples, size_t count, uint32_t buffer_sets,
                                 double apart)
{
    double scratch[SERIES_SCRATCH(MOST)];
    struct described out;

    series_summarize(samples, count, buffer_sets, scratch, &out.series, &out.summary);
    series_describe(samples, count, apart, scratch, &out.series);
    return out;
}

/* Buffer sets of 10 to 40 that do nothing else: every sample is known from its buffer set, and
 * their mean is certain. */
TEST(buffer_sets_that_differ_leave_the_mean_certain)
{
    const double each[] = {10, 20, 30, 40};
    double samples[24];
    struct described out;

    for (size_t i = 0; i < 24; i++)
        samples[i] = each[i % 4];
    out = describe(samples, 24, 4, 1);
    assert_int_equal(out.series.buffer_sets, 4);
    assert_near(out.series.within, 1, 1e-12);
    assert_near(out.series.effective, 24, 1e-9);
    /* 10, 20, 30, 40 about 25: the root of 500 / 3. */
    assert_near(out.series.buffer_set_deviation, sqrt(500.0 / 3) / 25, 1e-12);
    assert_int_equal(out.series.modes.value, 1);
    assert_near(out.summary.value, 25, 1e-12);
    /* The deviation between processes is left. */
    assert_near(out.summary.ci_high, 25 * (1 + 1.959964 * SERIES_PROCESS), 1e-12);
    assert_near(series_own_half_width(&out.summary), 0, 1e-7);
}

/* Half of it 30 before, and 40 in addition; the value stays in the middle. Where there is none,
 * none comes of it. */
TEST(a_wider_interval_keeps_its_value)
{
    struct summary summary = {.value = 1000, .ci_low = 970, .ci_high = 1030},
                   none = {.value = 1000, .ci_low = NAN, .ci_high = NAN};

    series_widen(&summary, 40 / STATS_ERRORS_TO_END);
    assert_near(summary.value, 1000, 0);
    assert_near(summary.ci_low, 950, 1e-9);
    assert_near(summary.ci_high, 1050, 1e-9);
    series_widen(&none, 40);
    assert_true(isnan(none.ci_low) && isnan(none.ci_high));
}

/* Ranks 1 to 8 in time: by hand, about 4.5, products of neighbours 26.25, squares 42. */
TEST(neighbours_in_time_are_correlated)
{
    const double samples[] = {1, 2, 3, 4, 5, 6, 7, 80};
    const struct described out = describe(samples, 8, 1, 1);

    assert_near(out.series.autocorrelation, 26.25 / 42, 1e-12);
    assert_near(out.series.effective, 8 * (1 - 26.25 / 42) / (1 + 26.25 / 42), 1e-12);
    assert_false(out.series.modes.known);
    assert_true(isnan(out.series.buffer_set_deviation));
    /* Quartiles 2.5 and 6.5, so the upper fence is 12.5. */
    assert_int_equal(out.series.outliers.value, 1);
}

TEST(few_samples_have_no_interval)
{
    const double samples[] = {3, 1, 2};
    const struct described out = describe(samples, 3, BUFFER_SETS, 1);

    assert_int_equal(out.series.buffer_sets, 3);
    assert_true(isnan(out.series.autocorrelation) && isnan(out.summary.ci_low));
    assert_near(out.series.effective, 3, 0);
    assert_near(out.summary.value, 2, 0);
}

/* -- simulations ------------------------------------------------------------------------------- */

enum kind {
    NORMAL,
    HEAVY,
    REGRESSIVE,
    BY_SET,
    SLOW_SET,
    INTERRUPTED,
    TWO_MODES,
    THREE_MODES,
    RARE_MODE,
    UNIFORM,
    EXPONENTIAL,
    STEPPED
};

struct source {
    enum kind kind;
    uint64_t state;
    double last, sets[BUFFER_SETS];
};

static struct source source_open(enum kind kind, uint64_t seed)
{
    struct source source = {.kind = kind, .state = seed};

    source.last = normal(&source.state);
    for (size_t i = 0; i < BUFFER_SETS; i++)
        source.sets[i] = normal(&source.state);
    return source;
}

/* Sample i, of median 0 where there is one mode. */
static double draw(struct source *source, size_t i)
{
    uint64_t *state = &source->state;
    double squares = 0;

    switch (source->kind) {
    case NORMAL:
        return normal(state);
    case HEAVY: /* Student's t of 3 degrees */
        for (int k = 0; k < 3; k++)
            squares += pow(normal(state), 2);
        return normal(state) / sqrt(squares / 3);
    case REGRESSIVE:
        return source->last = 0.5 * source->last + sqrt(0.75) * normal(state);
    case BY_SET:
        return 0.5 * normal(state) + 0.5 * source->sets[i % BUFFER_SETS];
    case SLOW_SET: /* one of them, by a fifth */
        return normal(state) + (i % BUFFER_SETS == 7 ? 20 : 0);
    case INTERRUPTED: /* now and then, by nearly a third */
        return normal(state) + (uniform(state) < 0.01 ? 30 : 0);
    case TWO_MODES:
        return (uniform(state) < 0.5 ? -3 : 3) + 0.2 * normal(state);
    case THREE_MODES:
        return 4 * floor(3 * uniform(state)) + 0.2 * normal(state);
    case RARE_MODE:
        return (uniform(state) < 0.15 ? 4 : 0) + 0.2 * normal(state);
    case UNIFORM:
        return uniform(state) - 0.5;
    case EXPONENTIAL:
        return -log(uniform(state)) - log(2);
    case STEPPED: /* by a clock */
        return round(normal(state) / 0.3) * 0.3;
    }
    return 0;
}

/* The time that a source has, from how it is made: the mean over its buffer sets of what each has
 * in the middle. */
static double truth_of(const struct source *source)
{
    double truth = source->kind == SLOW_SET ? 20.0 / BUFFER_SETS : 0;

    for (size_t i = 0; source->kind == BY_SET && i < BUFFER_SETS; i++)
        truth += 0.5 * source->sets[i] / BUFFER_SETS;
    return truth;
}

/* Samples, two of each buffer set at least, until the interval is narrow enough, as the engine
 * does. Whether it then holds the truth, of samples with a deviation of 1 %. */
static bool covers(enum kind kind, uint64_t seed)
{
    struct source source = source_open(kind, seed);
    const double truth = 1 + 0.01 * truth_of(&source);
    double samples[MOST], scratch[SERIES_SCRATCH(MOST)];
    struct series series;
    struct summary summary = {0};

    for (size_t n = 0; n < MOST;) {
        samples[n] = 1 + 0.01 * draw(&source, n);
        if (++n < OF_EACH * BUFFER_SETS)
            continue;
        series_summarize(samples, n, BUFFER_SETS, scratch, &series, &summary);
        if (stats_relative_half_width(&summary) <= max_noise)
            break;
    }
    return summary.ci_low <= truth && summary.ci_high >= truth;
}

/* Coverage of the mean over the buffer sets, which every process takes in turn. The truth is not of
 * the estimator. */
TEST(intervals_hold_the_truth_as_often_as_they_say)
{
    const enum kind kinds[] = {NORMAL, HEAVY, REGRESSIVE, BY_SET, SLOW_SET, INTERRUPTED};
    const size_t runs = repetitions(1000, 150);

    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        size_t covered = 0;

        for (size_t i = 0; i < runs; i++)
            covered += covers(kinds[k], 1000 * k + i + 1);
        print_message("%zu of %zu\n", covered, runs);
        /* 0.93 and three deviations of as many draws. */
        assert_true((double)covered >=
                    (0.93 - 3 * sqrt(0.93 * 0.07 / (double)runs)) * (double)runs);
    }
}

static double share_of_modes(enum kind kind, size_t count, double apart, uint64_t modes)
{
    const size_t runs = repetitions(1000, 200);
    size_t found = 0;

    for (size_t i = 0; i < runs; i++) {
        struct source source = source_open(kind, 77 * i + 5);
        double samples[MOST];

        for (size_t n = 0; n < count; n++)
            samples[n] = 1 + 0.01 * draw(&source, n);
        found += describe(samples, count, BUFFER_SETS, apart).series.modes.value == modes;
    }
    return (double)found / (double)runs;
}

TEST(modes_are_counted)
{
    static const struct {
        enum kind kind;
        size_t count;
        double apart;
        uint64_t modes;
        double least; /* share of the runs that find these modes */
    } rows[] = {
        {TWO_MODES, 60, 0, 2, 0.99},
        {THREE_MODES, 100, 0, 3, 0.99},
        {RARE_MODE, 100, 0, 2, 0.9},
        {STEPPED, MOST, 0.005, 1, 0.98}, /* steps of the clock, as those of short chains */
    };
    static const enum kind single[] = {NORMAL, UNIFORM, EXPONENTIAL, HEAVY, BY_SET};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_true(share_of_modes(rows[i].kind, rows[i].count, rows[i].apart, rows[i].modes) >=
                    rows[i].least);
    /* nothing is spread, and the steps show */
    assert_true(share_of_modes(STEPPED, MOST, 0, 1) <= 0.9);
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
        for (size_t count = FIRST_ANALYSIS; count <= MOST; count = count * 3 - 10)
            assert_true(share_of_modes(single[i], count, 0, 1) >=
                        (single[i] == UNIFORM ? 0.95 : 0.98));
}

/* Loads of a few lines from L2 take one time or twice as long, as the buffer set says, and on each
 * set always the same. */
TEST(sets_of_two_kinds_are_no_modes)
{
    double samples[60];

    for (size_t i = 0; i < 60; i++)
        samples[i] = (i % 24 * 7 % 5 < 2 ? 65 : 123.6) + 0.01 * (double)(i * 13 % 11);
    assert_int_equal(describe(samples, 60, 24, 0.5).series.modes.value, 1);
    assert_int_equal(describe(samples, 48, 24, 0.5).series.modes.value, 1);
    /* One sample of a set may be its set's, or a mode. */
    assert_false(describe(samples, 47, 24, 0.5).series.modes.known);
}

/* Modes that lie nearer together than what matters are one. */
TEST(modes_that_lie_close_are_one)
{
    struct source source = source_open(TWO_MODES, 9);
    double samples[100];

    for (size_t n = 0; n < 100; n++)
        samples[n] = 1 + 0.01 * draw(&source, n);
    assert_int_equal(describe(samples, 100, 1, 0.05).series.modes.value, 2);
    assert_int_equal(describe(samples, 100, 1, 0.07).series.modes.value, 1);
}
