/* SPDX-License-Identifier: MIT
 * Verdicts by numbers made here, and how often simulated ones are right. */
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

static double normal(uint64_t *seed)
{
    const double one = ((double)(random_next(seed) >> 11) + 0.5) / 9007199254740992.0;
    const double other = ((double)(random_next(seed) >> 11) + 0.5) / 9007199254740992.0;

    return sqrt(-2 * log(one)) * cos(6.283185307179586 * other);
}

/* Sides of one cell that grow by a process at a time. */
struct simulated {
    struct process_time processes[SIDES][PROCESSES];
    size_t count;
};

/* Noise of a simulated measurement, relative: between processes, and of a time within its process. */
struct noise {
    double between, within;
};

/* One more process a side; NEW takes `factor` times as long. */
static void add_process(struct simulated *cell, double factor, struct noise noise, uint64_t *seed)
{
    for (size_t side = 0; side < SIDES; side++) {
        const double ns = 1000 * (side == NEW ? factor : 1) * exp(hypot(noise.between, noise.within) * normal(seed));

        cell->processes[side][cell->count] = (struct process_time){.value = ns, .error = noise.within};
    }
    cell->count++;
}

static struct judged_cell question(const struct simulated *cell)
{
    struct judged_cell out = judged_unknown;

    for (size_t side = 0; side < SIDES; side++) {
        out.sides[side].processes = cell->count;
        out.sides[side].clock_mhz = 1980;
        assert_int_equal(estimate_of(cell->processes[side], cell->count, false, &out.sides[side].estimate), STATUS_OK);
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

/* Judges `count` cells that were simulated anew, with so many processes a side; the first differs by `factor`. */
static void simulate(struct judged_cell *cells, size_t count, size_t processes, double factor, struct noise noise,
                     uint64_t seed, const struct judge_options *options)
{
    for (size_t i = 0; i < count; i++) {
        struct simulated cell = {.count = 0};

        while (cell.count < processes)
            add_process(&cell, i == 0 ? factor : 1, noise, &seed);
        cells[i] = question(&cell);
    }
    judge_all(cells, count, options);
}

static bool is_changed(const struct judged_cell *cell)
{
    return cell->verdict == VERDICT_REGRESSED || cell->verdict == VERDICT_IMPROVED;
}

/* -- verdicts ------------------------------------------------------------------------------------------ */

TEST(test_a_verdict_follows_from_the_ratio_its_interval_and_the_threshold)
{
    static const struct {
        double factor, threshold;
        struct noise noise;
        enum cell_verdict verdict;
    } rows[] = {
        {1, 0.01, {0.0005, 0.0005}, VERDICT_SAME},           {1.005, 0.01, {0.0005, 0.0005}, VERDICT_SAME},
        {1.03, 0.01, {0.0005, 0.0005}, VERDICT_REGRESSED},   {0.97, 0.01, {0.0005, 0.0005}, VERDICT_IMPROVED},
        {1.001, 0.01, {0.01, 0.005}, VERDICT_INCONCLUSIVE},  {1.03, 0.05, {0.0005, 0.0005}, VERDICT_SAME},
        {1.005, 0.001, {0.0005, 0.0005}, VERDICT_REGRESSED}, {1, 0, {0.0005, 0.0005}, VERDICT_INCONCLUSIVE},
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

TEST(test_a_doubtful_time_is_at_best_the_same)
{
    struct judged_cell cells[2];

    for (size_t i = 0; i < 3; i++) {
        simulate(cells, 2, 3, i == 0 ? 0.9 : i == 1 ? 1.1 : 1, (struct noise){0.0005, 0.0005}, 1, &defaults);
        cells[0].doubtful = true;
        judge_all(cells, 2, &defaults);
        assert_int_equal(cells[0].verdict, i < 2 ? VERDICT_INCONCLUSIVE : VERDICT_SAME);
        assert_int_equal(cells[0].settle, 0);
        assert_int_equal(cells[1].verdict, VERDICT_SAME);
    }
}

/* Deviations of plans, buffer sets and boards are in the interval, and no process takes them away. */
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
    assert_true(cell.error.value > 0.005 && cell.verdict == VERDICT_INCONCLUSIVE);
}

TEST(test_predictions_are_certain)
{
    static const struct {
        double base, new_ns;
        enum cell_verdict verdict;
    } rows[] = {{1000, 1015, VERDICT_REGRESSED},
                {1015, 1000, VERDICT_IMPROVED},
                {1000, 1005, VERDICT_SAME},
                {1000, 1000, VERDICT_SAME},
                {1e-308, 1e308, VERDICT_INVALID}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct judged_cell cell = judged_unknown;

        for (size_t side = 0; side < SIDES; side++) {
            const struct process_time time = {.value = side ? rows[i].new_ns : rows[i].base, .error = NAN};

            cell.sides[side].modelled = true;
            cell.sides[side].processes = 1;
            assert_int_equal(estimate_of(&time, 1, true, &cell.sides[side].estimate), STATUS_OK);
        }
        judge_all(&cell, 1, &defaults);
        assert_int_equal(cell.verdict, rows[i].verdict);
        assert_true(i == 4 ? isnan(cell.ratio.value) : cell.ratio.ci_low == cell.ratio.ci_high);
    }
}

TEST(test_the_same_data_are_the_same)
{
    struct judged_cell cell;

    simulate(&cell, 1, 1, 1, (struct noise){0.1, 0.1}, 1, &defaults);
    assert_int_equal(cell.verdict, VERDICT_INCONCLUSIVE);
    cell.same_data = true;
    judge_all(&cell, 1, &defaults);
    assert_int_equal(cell.verdict, VERDICT_SAME);
    assert_true(cell.ratio.value == 1 && cell.ratio.ci_low == 1 && cell.ratio.p == 1);
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
        const struct judge_options options = {.threshold = rows[i].threshold, .clocks_allowed = rows[i].allowed};
        struct judged_cell cell;
        double half;

        simulate(&cell, 1, 3, rows[i].time, (struct noise){0.0002, 0.0002}, 1, &defaults);
        cell.sides[NEW].clock_mhz = 1980 * moved;
        judge_all(&cell, 1, &options);
        half = student_quantile(0.05, cell.error.degrees) * cell.error.value;
        assert_int_equal(cell.verdict, rows[i].verdict);
        assert_true(fabs(judged_change(&cell) - rows[i].size) < 0.002);
        assert_true(fabs(cell.ratio.ci_low / cell.ratio.value / exp(-half) - 1) < 1e-9);
        assert_true(fabs(cell.ratio.ci_high / cell.ratio.value / exp(half) / (rows[i].allowed ? 1 : moved) - 1) < 1e-9);
        if (cell.verdict == VERDICT_INCONCLUSIVE)
            assert_int_equal(cell.settle, 0);
    }
}

/* However many cells: one that became slower is found, and the others are the same by intervals of their own. */
TEST(test_one_of_many_cells_is_found)
{
    static struct judged_cell cells[CELLS_MAX];
    size_t same = 0;

    simulate(cells, CELLS_MAX, 3, 1.05, (struct noise){0.0005, 0.0005}, 1, &defaults);
    assert_int_equal(cells[0].verdict, VERDICT_REGRESSED);
    for (size_t i = 1; i < CELLS_MAX; i++)
        same += cells[i].verdict == VERDICT_SAME;
    assert_int_equal(same, CELLS_MAX - 1);
}

/* -- how often it is right ----------------------------------------------------------------------------- */

/* The advised number of processes decides cells, mostly. A side that gets no more processes needs more of the other. */
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

/* Where the noise is what is assumed at one process a side, and where several show that it is more. */
TEST(test_intervals_hold_as_often_as_they_say)
{
    const size_t comparisons = repetitions(100, 20);

    for (size_t louder = 0; louder < 2; louder++) {
        const double assumed = deviation_default(CAUSE_process, false, false, 1000).value;
        const struct noise noise = louder ? (struct noise){0.0068, 0.0003} : (struct noise){assumed, 0.00001};
        size_t covered = 0;

        for (size_t i = 0; i < comparisons; i++) {
            struct judged_cell cells[COUNT];

            simulate(cells, COUNT, louder ? 3 : 1, 1, noise, 1000 + i, &defaults);
            for (size_t k = 0; k < COUNT; k++)
                covered += cells[k].ratio.ci_low <= 1 && cells[k].ratio.ci_high >= 1;
        }
        /* Four standard deviations of the binomial below, and no interval that says nothing. */
        assert_true((double)covered >
                    COUNT * 0.95 * (double)comparisons - 4 * sqrt(COUNT * 0.0475 * (double)comparisons));
        assert_true((double)covered < COUNT * 0.99 * (double)comparisons);
    }
}

TEST(test_false_alarms_are_rare_and_slower_cells_are_found)
{
    static const struct {
        size_t processes;
        double factor;
        struct noise noise;
        double found_least, found_most; /* share of the first cells that are called changed */
    } rows[] = {
        {3, 1, {0.002, 0.0005}, 0, 0},
        {1, 1, {0.0002, 0.0003}, 0, 0},
        {5, 1.015, {0.002, 0.0005}, 0.95, 1},
        {5, 1.003, {0.002, 0.0005}, 0, 0},
    };
    const size_t comparisons = repetitions(200, 10);

    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        size_t found = 0, alarms = 0;

        for (size_t i = 0; i < comparisons; i++) {
            struct judged_cell cells[COUNT];

            simulate(cells, COUNT, rows[row].processes, rows[row].factor, rows[row].noise, 100 * row + i, &defaults);
            found += is_changed(&cells[0]);
            for (size_t k = 1; k < COUNT; k++)
                alarms += is_changed(&cells[k]);
        }
        assert_int_equal(alarms, 0);
        assert_true((double)found >= rows[row].found_least * (double)comparisons);
        assert_true((double)found <= rows[row].found_most * (double)comparisons);
    }
}

/* -- interim analyses ---------------------------------------------------------------------------------- */

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
            alarm = alarm || is_changed(&judged[i]);
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
        print_message("process deviation %.2f%%: %d of %d gates call out without cause, %d without correction\n",
                      100 * between, (int)corrected, (int)trials, (int)plain);
        assert_true((double)corrected <= 0.05 * (double)trials);
        assert_true(plain > corrected);
    }
}
