/* SPDX-License-Identifier: MIT
 * Student's t against closed forms and scipy's values, verdicts by numbers made here, and how often
 * simulated ones are right. */
#include <math.h>
#include <stdlib.h>

#include "judge.h"
#include "random.h"
#include "size.h"
#include "stats.h"
#include "student.h"
#include "test.h"

enum { CELLS_MAX = 600, PROCESSES = 20, COUNT = 24 };

static const struct judge_options defaults = {.threshold = 0.01};

static void assert_near(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.17g is not %.17g", value, expected);
}

static double normal(uint64_t *seed)
{
    const double radius = ((double)(random_next(seed) >> 11) + 0.5) / 9007199254740992.0;
    const double angle = ((double)(random_next(seed) >> 11) + 0.5) / 9007199254740992.0;

    return sqrt(-2 * log(radius)) * cos(6.283185307179586 * angle);
}

/* Sides of one cell that grow by a process at a time. */
struct simulated {
    struct process_time processes[SIDES][PROCESSES];
    size_t count;
};

/* Noise of a simulated measurement, relative: between processes, and of a time within its
 * process. */
struct noise {
    double between, within;
};

/* One more process a side; NEW takes `factor` times as long. */
static void add_process(struct simulated *cell, double factor, struct noise noise, uint64_t *seed)
{
    for (size_t side = 0; side < SIDES; side++) {
        const double ns = 1000 * (side == NEW ? factor : 1) *
                          exp(hypot(noise.between, noise.within) * normal(seed));

        cell->processes[side][cell->count] =
            (struct process_time){.value = ns, .error = noise.within};
    }
    cell->count++;
}

static struct judged_cell question(const struct simulated *cell)
{
    struct judged_cell out = judged_unknown;

    for (size_t side = 0; side < SIDES; side++) {
        out.sides[side].processes = cell->count;
        out.sides[side].clock_mhz = 1980;
        assert_int_equal(estimate_of(cell->processes[side], cell->count, false,
                                     &out.sides[side].estimate),
                         STATUS_OK);
    }
    return out;
}

static void judge_all(struct judged_cell *cells, size_t count, const struct judge_options *options)
{
    struct judged_cell *pointers[CELLS_MAX];

    assert_true(count <= CELLS_MAX);
    for (size_t i = 0; i < count; i++)
        pointers[i] = &cells[i];
    assert_int_equal(judge(pointers, count, options), STATUS_OK);
}

/* Judges `count` cells that were simulated anew, with so many processes a side; the first differs
 * by `factor`. */
static void simulate(struct judged_cell *cells, size_t count, size_t processes, double factor,
                     struct noise noise, uint64_t seed, const struct judge_options *options)
{
    for (size_t i = 0; i < count; i++) {
        struct simulated cell = {.count = 0};

        while (cell.count < processes)
            add_process(&cell, i == 0 ? factor : 1, noise, &seed);
        cells[i] = question(&cell);
    }
    judge_all(cells, count, options);
}

/* -- Student's t ------------------------------------------------------------------------------- */

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
        {0.05, 1, 12.706204736432095},  {0.05, 2, 4.302652729911275},
        {0.05, 3, 3.182446305284263},   {0.05, 5, 2.5705818366147395},
        {0.05, 10, 2.2281388519649385}, {0.05, 30, 2.0422724563012373},
        {0.01, 10, 3.169272672616951},  {0.001, 4, 8.610301581379269},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_near(student_quantile(rows[i].p, rows[i].degrees), rows[i].t, 1e-9);
    assert_near(student_quantile(0.05, INFINITY), 1.959963984540054, 1e-4);
    for (double degrees = 0.7; degrees < 40; degrees *= 1.7)
        assert_near(student_p(student_quantile(0.003, degrees), degrees), 0.003, 1e-9);
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

/* -- verdicts ---------------------------------------------------------------------------------- */

TEST(test_a_verdict_follows_from_the_ratio_its_interval_and_the_threshold)
{
    static const struct {
        double factor, threshold;
        struct noise noise;
        enum cell_verdict verdict;
    } rows[] = {
        {1, 0.01, {0.0005, 0.0005}, VERDICT_SAME},
        {1.005, 0.01, {0.0005, 0.0005}, VERDICT_SAME},
        {1.03, 0.01, {0.0005, 0.0005}, VERDICT_REGRESSED},
        {0.97, 0.01, {0.0005, 0.0005}, VERDICT_IMPROVED},
        {1.001, 0.01, {0.01, 0.005}, VERDICT_INCONCLUSIVE},
        {1.03, 0.05, {0.0005, 0.0005}, VERDICT_SAME},
        {1.005, 0.001, {0.0005, 0.0005}, VERDICT_REGRESSED},
        {1, 0, {0.0005, 0.0005}, VERDICT_INCONCLUSIVE},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct judge_options options = {.threshold = rows[i].threshold};
        struct judged_cell cells[4];

        simulate(cells, 4, 3, rows[i].factor, rows[i].noise, 3, &options);
        if (cells[0].verdict != rows[i].verdict)
            fail_msg("row %zu: %s", i, verdict_rows[cells[0].verdict].name);
    }
}

/* One sample has no spread, which must not pass for certainty. */
TEST(test_where_nothing_is_known_there_is_no_interval_and_no_p)
{
    struct judged_cell cell;

    for (size_t processes = 1; processes <= 5; processes += 4) {
        const bool known = processes > 1;

        simulate(&cell, 1, processes, 1.03, (struct noise){0.0002, NAN}, 1, &defaults);
        /* A time of NaN error is drawn without noise: give each process another one. */
        for (size_t side = 0; side < SIDES; side++)
            cell.sides[side].estimate =
                (struct estimate){.ns = side ? 1030 : 1000,
                                  .within = NAN,
                                  .own = known ? (struct deviation){0.0002, 4, DEVIATION_PROCESSES}
                                               : (struct deviation){0}};
        judge_all(&cell, 1, &defaults);
        assert_int_equal(cell.verdict, known ? VERDICT_REGRESSED : VERDICT_INCONCLUSIVE);
        assert_int_equal(isnan(cell.ratio.p) && isnan(cell.ratio.ci_low), !known);
        assert_true(cell.ratio.value == 1.03 && cell.settle == 0);
        if (known)
            assert_int_equal(cell.deviation.origin, DEVIATION_PROCESSES);
    }
}

/* Deviations of plans, buffer sets and boards are in the interval, and no process takes them
 * away. */
TEST(test_other_plans_and_other_boards_widen_the_interval)
{
    const struct judge_options boards = {.threshold = 0.01, .boards_differ = true};
    struct judged_cell cell;
    double width;

    simulate(&cell, 1, 3, 1, (struct noise){0.0001, 0.0002}, 1, &defaults);
    width = cell.error.value;
    cell.plans_differ = true;
    judge_all(&cell, 1, &defaults);
    assert_true(cell.error.value > 1.2 * width && cell.verdict == VERDICT_SAME);
    cell.sides[BASE].estimate.placed = cell.sides[NEW].estimate.placed = 0.02;
    judge_all(&cell, 1, &defaults);
    assert_true(cell.verdict == VERDICT_INCONCLUSIVE && cell.settle == 0);
    cell.plans_differ = false;
    judge_all(&cell, 1, &boards);
    assert_true(cell.error.value > 0.0035 && cell.verdict == VERDICT_INCONCLUSIVE);
}

/* A change far beyond what boards differ by in any cell is found in a plan of any size, and 5 % is
 * not. */
TEST(test_what_no_boards_differ_by_is_a_change)
{
    enum { CELLS = 600 };
    const struct judge_options boards = {.threshold = 0.01, .boards_differ = true};
    static struct judged_cell cells[CELLS];

    for (int times = 0; times < 2; times++) {
        simulate(cells, CELLS, 1, times ? 3 : 1.05, (struct noise){0.0001, 0.0002}, 1, &boards);
        assert_int_equal(cells[0].verdict, times ? VERDICT_REGRESSED : VERDICT_INCONCLUSIVE);
    }
}

/* Boards of one kind differ little. Boards that may be of two differ by what kinds do, and what is
 * beyond that is a change. */
TEST(test_boards_are_judged_by_what_is_known_of_their_kinds)
{
    static const struct {
        bool same_kind;
        double apart, change;
        enum cell_verdict verdict;
    } rows[] = {
        {true, NAN, 1.02, VERDICT_REGRESSED},      {true, NAN, 1.001, VERDICT_SAME},
        {false, 0.03, 1.02, VERDICT_INCONCLUSIVE}, {false, 0.03, 1.05, VERDICT_REGRESSED},
        {false, 0, 1.02, VERDICT_REGRESSED},       {false, NAN, 1.02, VERDICT_INCONCLUSIVE},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct judge_options boards = {.threshold = 0.01,
                                             .boards_differ = true,
                                             .same_kind = rows[i].same_kind};
        struct judged_cell cell;

        simulate(&cell, 1, 3, rows[i].change, (struct noise){0.0001, 0.0002}, 1, &boards);
        cell.kinds_apart = rows[i].apart;
        judge_all(&cell, 1, &boards);
        assert_int_equal(cell.verdict, rows[i].verdict);
    }
}

/* NEW's clock is 0.7 % higher, and times follow it, do not, or change by themselves. */
TEST(test_what_the_clocks_may_explain_is_no_change)
{
    static const double moved = 1.007;
    static const struct {
        double time, threshold;
        bool allowed;
        enum cell_verdict verdict;
        double size;
    } rows[] = {
        {1 / 1.007, 0.01, false, VERDICT_SAME, 0},
        {1 / 1.007, 0.005, false, VERDICT_INCONCLUSIVE, 0},
        {1 / 1.007, 0.005, true, VERDICT_IMPROVED, 0.007},
        {1, 0.005, false, VERDICT_INCONCLUSIVE, 0},
        {1, 0.005, true, VERDICT_SAME, 0},
        {1.03, 0.01, false, VERDICT_REGRESSED, 0.03},
        {1 / 1.03, 0.01, false, VERDICT_IMPROVED, 0.0228},
        {1 / 1.012, 0.01, false, VERDICT_INCONCLUSIVE, 0.005},
        {1 / 1.012, 0.01, true, VERDICT_IMPROVED, 0.012},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct judge_options options = {.threshold = rows[i].threshold,
                                              .clocks_allowed = rows[i].allowed};
        struct judged_cell cell;
        double half;

        simulate(&cell, 1, 3, rows[i].time, (struct noise){0.0002, 0.0002}, 1, &defaults);
        cell.sides[NEW].clock_mhz = 1980 * moved;
        judge_all(&cell, 1, &options);
        half = student_quantile(0.05, cell.error.degrees) * cell.error.value;
        assert_int_equal(cell.verdict, rows[i].verdict);
        assert_true(fabs(judged_change(&cell) - rows[i].size) < 0.002);
        assert_true(fabs(cell.ratio.ci_low / cell.ratio.value / exp(-half) - 1) < 1e-9);
        assert_true(
            fabs(cell.ratio.ci_high / cell.ratio.value / exp(half) / (rows[i].allowed ? 1 : moved) -
                 1) < 1e-9);
        if (cell.verdict == VERDICT_INCONCLUSIVE)
            assert_int_equal(cell.settle, 0);
    }
}

/* -- how often it is right --------------------------------------------------------------------- */

/* The advised number of processes decides cells, mostly. A side that gets no more processes needs
 * more of the other. */
TEST(test_the_number_of_processes_that_is_advised_settles)
{
    const struct noise noise = {0.0001, 0.004};
    const struct judge_options fixed = {.threshold = 0.01, .base_fixed = true};
    struct judged_cell cells[COUNT], again[COUNT];
    size_t settle = 0, undecided = 0, same = 0;

    simulate(cells, COUNT, 1, 1, noise, 1, &defaults);
    memcpy(again, cells, sizeof(again));
    judge_all(again, COUNT, &fixed);
    for (size_t i = 0; i < COUNT; i++) {
        undecided += cells[i].verdict == VERDICT_INCONCLUSIVE;
        settle = cells[i].settle > settle ? cells[i].settle : settle;
        assert_int_equal(cells[i].verdict, again[i].verdict);
        assert_true(again[i].settle == 0 || again[i].settle >= cells[i].settle);
    }
    assert_true(undecided > 0 && settle > 1 && settle <= PROCESSES);
    simulate(cells, COUNT, settle, 1, noise, 2, &defaults);
    for (size_t i = 0; i < COUNT; i++)
        same += cells[i].verdict == VERDICT_SAME;
    assert_true(same >= 20);
}

/* Where the noise is what is assumed at one process a side, and where several show that it is
 * more. */
TEST(test_intervals_hold_as_often_as_they_say)
{
    const size_t comparisons = repetitions(100, 20);

    for (size_t louder = 0; louder < 2; louder++) {
        const double assumed = deviation_default(CAUSE_PROCESS, false, false, 1000).value;
        const struct noise noise =
            louder ? (struct noise){0.0068, 0.0003} : (struct noise){assumed, 0.00001};
        size_t covered = 0;

        for (size_t i = 0; i < comparisons; i++) {
            struct judged_cell cells[COUNT];

            simulate(cells, COUNT, louder ? 3 : 1, 1, noise, 1000 + i, &defaults);
            for (size_t k = 0; k < COUNT; k++)
                covered += cells[k].ratio.ci_low <= 1 && cells[k].ratio.ci_high >= 1;
        }
        /* Four standard deviations of the binomial below, and no interval that says nothing. */
        assert_true((double)covered > COUNT * 0.95 * (double)comparisons -
                                          4 * sqrt(COUNT * 0.0475 * (double)comparisons));
        assert_true((double)covered < COUNT * 0.99 * (double)comparisons);
    }
}

/* By hand: what is common to both sides cancels, and more processes of an occasion change
 * nothing. */
TEST(test_weights_of_occasions)
{
    static struct {
        double base[4], new_side[4];
        size_t counts[SIDES];
        double weight;
    } rows[] = {
        {{0}, {9}, {1, 1}, 0}, /* one occasion */
        {{0}, {11}, {1, 1}, 2}, /* one each */
        {{3, 1, 0, 2}, {13, 12, 11}, {4, 3}, 2}, /* the same, with more processes */
        {{0, 20}, {21, 1}, {2, 2}, 0}, /* in turns */
        {{0, 20}, {40}, {2, 1}, 1.5}, /* 1/4 + 1/4 + 1 */
        {{0, 1, 2, 20}, {22}, {4, 1}, 9 / 8.0}, /* shares of 3/4, and of 1/4 against 1 */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double *const moments[] = {rows[i].base, rows[i].new_side};

        assert_near(deviation_weight(moments, rows[i].counts, 10) + 1, rows[i].weight + 1, 1e-12);
    }
}

/* Each side was measured on an occasion of its own, which moves its time. Without the term more
 * than one comparison in twenty calls out, the more processes the more; with it none of them
 * does. */
TEST(test_occasions_cause_no_alarms)
{
    const struct judge_options options = {.threshold = 1e-6};
    const size_t comparisons = repetitions(400, 100);
    const double moved = deviation_default(CAUSE_LATER, false, false, 1000).value;

    for (size_t processes = 1; processes <= 5; processes += 4) {
        size_t alarms[2] = {0}; /* without the term, and with it */
        uint64_t seed = 77;

        for (size_t i = 0; i < comparisons; i++)
            for (size_t with = 0; with < 2; with++) {
                struct judged_cell cells[COUNT];
                bool alarm = false;

                simulate(cells, COUNT, processes, 1, (struct noise){0.0003, 0.00001}, 3000 + i,
                         &defaults);
                for (size_t k = 0; k < COUNT; k++) {
                    cells[k].later = cells[k].occasions = 2 * (double)with;
                    for (size_t side = 0; side < SIDES; side++)
                        cells[k].sides[side].estimate.ns *= exp(moved * normal(&seed));
                }
                judge_all(cells, COUNT, &options);
                for (size_t k = 0; k < COUNT; k++)
                    alarm |= cells[k].verdict == VERDICT_REGRESSED ||
                             cells[k].verdict == VERDICT_IMPROVED;
                alarms[with] += alarm;
            }
        assert_true(alarms[0] > comparisons / 5);
        assert_true((double)alarms[1] <= 0.05 * (double)comparisons);
    }
}

/* A cell that is slower by the threshold itself is not called slower: 5 % of comparisons at most,
 * and half of that in each direction. One that is slower by a little more is, sooner or later. */
TEST(test_a_change_is_tested_against_the_threshold)
{
    const size_t comparisons = repetitions(2000, 400);
    const struct noise noise = {deviation_default(CAUSE_PROCESS, false, false, 1000).value,
                                0.00001};
    size_t called = 0, beyond = 0;

    for (size_t i = 0; i < comparisons; i++) {
        struct judged_cell cell;

        simulate(&cell, 1, 3, 1.01, noise, 5000 + i, &defaults);
        called += cell.verdict == VERDICT_REGRESSED;
        simulate(&cell, 1, 3, 1.01 * (1 + 4 * noise.between), noise, 9000 + i, &defaults);
        beyond += cell.verdict == VERDICT_REGRESSED;
    }
    print_message("%d called at the threshold, %d beyond, of %d\n", (int)called, (int)beyond,
                  (int)comparisons);
    assert_true((double)called <=
                0.025 * (double)comparisons + 4 * sqrt(0.0244 * (double)comparisons));
    assert_true(called > 0);
    assert_true(beyond > comparisons * 8 / 10);
}

/* -- interim analyses -------------------------------------------------------------------------- */

/* Whether a cell that did not change was called changed at any interim analysis. */
static bool gate_alarms(unsigned other_analyses, double between, uint64_t *seed)
{
    /* So small a threshold that significance alone decides. */
    const struct judge_options options = {.threshold = 1e-6, .other_analyses = other_analyses};
    static const size_t analyses[] = {3, 5, 10, 20};
    static struct simulated cells[COUNT];
    bool alarm = false;

    memset(cells, 0, sizeof(cells));
    for (size_t k = 0; k < sizeof(analyses) / sizeof(analyses[0]); k++) {
        struct judged_cell judged[COUNT];

        for (size_t i = 0; i < COUNT; i++) {
            while (cells[i].count < analyses[k])
                add_process(&cells[i], 1, (struct noise){between, 0.0003}, seed);
            judged[i] = question(&cells[i]);
        }
        judge_all(judged, COUNT, &options);
        for (size_t i = 0; i < COUNT; i++)
            alarm |=
                judged[i].verdict == VERDICT_REGRESSED || judged[i].verdict == VERDICT_IMPROVED;
    }
    return alarm;
}

/* At the noise that is assumed, and at twice that. */
TEST(test_all_interim_analyses_together_keep_the_level)
{
    const uint64_t trials = repetitions(1000, 100);

    for (double between = 0.0003; between < 0.001; between *= 2) {
        uint64_t seed = 2026, corrected = 0, plain = 0;

        for (uint64_t i = 0; i < trials; i++) {
            corrected += gate_alarms(4, between, &seed);
            plain += gate_alarms(0, between, &seed);
        }
        print_message("process deviation %.2f%%: %d of %d gates call out without cause, %d without "
                      "correction\n",
                      100 * between, (int)corrected, (int)trials, (int)plain);
        assert_true((double)corrected <= 0.05 * (double)trials);
        assert_true(plain > corrected);
    }
}
