/* SPDX-License-Identifier: MIT
 * When a gate looks, and how often its looks together call out without cause. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gate.h"
#include "random.h"
#include "size.h"
#include "stats.h"

enum { CELLS = 24, SAMPLES = 12, MOST = 20 };

static const double median_ns = 10000;
static const double within = 0.001; /* relative deviation of a sample */

/* -- looks -------------------------------------------------------------------------------------------- */

static void test_when_a_gate_looks(void **state)
{
    static const struct {
        uint64_t most;
        uint64_t at[GATE_LOOKS + 1]; /* 0 behind the last */
    } cases[] = {
        {1, {1}},
        {2, {2}},
        {3, {3}},
        {4, {3, 4}},
        {5, {3, 5}},
        {12, {3, 5, 10, 12}},
        {20, {3, 5, 10, 20}},
        {50, {3, 5, 10, 20, 50}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t count = 0;

        for (uint64_t processes = 1; processes <= cases[i].most; processes++)
            if (gate_is_look(processes, cases[i].most))
                assert_int_equal(processes, cases[i].at[count++]);
        assert_true(count <= GATE_LOOKS);
        assert_int_equal(cases[i].at[count], 0);
    }
    assert_int_equal(gate_next_look(5, 20), 10);
    assert_int_equal(gate_next_look(5, 7), 7);
}

/* -- sides -------------------------------------------------------------------------------------------- */

static double normal(uint64_t *state)
{
    const double one = ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
    const double other = ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;

    return sqrt(-2 * log(one)) * cos(6.283185307179586 * other);
}

static struct side open_side(void)
{
    struct side side = {.cell_count = CELLS, .cells = calloc(CELLS, sizeof(*side.cells))};

    assert_non_null(side.cells);
    for (size_t i = 0; i < CELLS; i++) {
        side.cells[i] = (struct side_cell){.cell = {.workload = &workloads[0],
                                                    .path = &paths[0],
                                                    .pattern = &patterns[0],
                                                    .elements = 1000 + i,
                                                    .block_size = 256,
                                                    .regime = &regimes[0]},
                                           .clock.value = NAN};
        side.cells[i].status = CELL_OK;
        side.cells[i].processes = calloc(MOST, sizeof(*side.cells[i].processes));
        assert_non_null(side.cells[i].processes);
    }
    return side;
}

/* One more process of a side whose first cell takes `factor` times as long. */
static void add_process(struct side *side, double factor, double between, uint64_t *state)
{
    side->files++;
    for (size_t i = 0; i < CELLS; i++) {
        const double center = median_ns * (i == 0 ? factor : 1) * exp(between * normal(state));
        double samples[SAMPLES], scratch[SAMPLES];

        for (size_t k = 0; k < SAMPLES; k++)
            samples[k] = center * exp(within * normal(state));
        side->cells[i].processes[side->cells[i].process_count++] = process_of(samples, SAMPLES, 0, scratch);
    }
}

/* What a gate comes to. */
struct ending {
    bool alarm; /* a cell that is the same was called changed, at any look: however the gate would have ended */
    bool found; /* at the look at which it ends, the slower cell was */
    uint64_t processes; /* at that look */
};

/* A cell that was called changed; the first one apart. */
static void note_changes(const struct comparison *comparison, bool *first, bool *other)
{
    *first = *other = false;
    for (size_t i = 0; i < comparison->cell_count; i++) {
        const struct comparison_cell *cell = &comparison->cells[i];

        if (cell->verdict == VERDICT_REGRESSED || cell->verdict == VERDICT_IMPROVED)
            *(cell->cell.elements == 1000 ? first : other) = true;
    }
}

static struct ending try_gate(const struct compare_options *options, double factor, double between, uint64_t *state)
{
    struct side base = open_side(), new_side = open_side();
    struct ending out = {0};

    for (uint64_t processes = 1; processes <= MOST; processes++) {
        struct comparison comparison;
        bool first, other;

        add_process(&base, 1, between, state);
        add_process(&new_side, factor, between, state);
        if (!gate_is_look(processes, MOST))
            continue;
        assert_int_equal(compare_sides(&base, &new_side, options, &comparison), STATUS_OK);
        note_changes(&comparison, &first, &other);
        out.alarm |= other || (first && factor == 1);
        if (out.processes == 0 && (gate_needs(&comparison) == 0 || processes == MOST)) {
            out.found = first;
            out.processes = processes;
        }
        comparison_close(&comparison);
    }
    side_close(&base);
    side_close(&new_side);
    return out;
}

/* -- simulations -------------------------------------------------------------------------------------- */

static uint64_t count_alarms(unsigned looks, double between, uint64_t trials)
{
    /* So small that significance alone decides. */
    const struct compare_options options = {.threshold = 1e-6, .looks = looks};
    uint64_t state = 2026, alarms = 0;

    for (uint64_t i = 0; i < trials; i++)
        alarms += try_gate(&options, 1, between, &state).alarm;
    return alarms;
}

/* At the noise that is assumed, and at twice that. */
static void test_all_looks_together_keep_the_level(void **state)
{
    const uint64_t trials = repetitions(1000, 100);

    (void)state;
    for (double between = 0.0003; between < 0.001; between *= 2) {
        const uint64_t corrected = count_alarms(GATE_LOOKS, between, trials);
        const uint64_t plain = count_alarms(1, between, trials);

        print_message("process deviation %.2f%%: %d of %d gates call out without cause, %d without correction\n",
                      100 * between, (int)corrected, (int)trials, (int)plain);
        assert_true((double)corrected <= 0.05 * (double)trials);
        assert_true(plain > corrected);
    }
}

static void test_what_is_slower_is_found(void **state)
{
    const struct compare_options options = {.threshold = 0.01, .looks = GATE_LOOKS};
    const uint64_t trials = repetitions(200, 40);
    uint64_t random = 7, found = 0, alarms = 0, processes = 0;

    (void)state;
    for (uint64_t i = 0; i < trials; i++) {
        const struct ending ending = try_gate(&options, 1.015, 0.002, &random);

        found += ending.found;
        alarms += ending.alarm;
        processes += ending.processes;
    }
    print_message("1.5 %% slower at a process deviation of 0.2 %%: found in %d of %d gates, %.1f processes a side\n",
                  (int)found, (int)trials, (double)processes / (double)trials);
    assert_true((double)found >= 0.95 * (double)trials);
    assert_true((double)alarms <= 0.05 * (double)trials);
    assert_true(processes < MOST * trials);
}

/* Processes of NEW alone help less: what BASE's only one is off by stays. */
static void test_a_side_that_gets_no_more(void **state)
{
    struct compare_options options = {.threshold = 0.0015, .looks = GATE_LOOKS};
    struct side base = open_side(), new_side = open_side();
    struct comparison both, one;
    uint64_t random = 3;
    size_t more = 0;

    (void)state;
    add_process(&base, 1, 0.0004, &random);
    add_process(&new_side, 1, 0.0004, &random);
    assert_int_equal(compare_sides(&base, &new_side, &options, &both), STATUS_OK);
    options.fixed[BASE] = true;
    assert_int_equal(compare_sides(&base, &new_side, &options, &one), STATUS_OK);
    for (size_t i = 0; i < CELLS; i++) {
        assert_int_equal(both.cells[i].verdict, one.cells[i].verdict);
        if (both.cells[i].verdict == VERDICT_INCONCLUSIVE && one.cells[i].settle > 0) {
            assert_true(one.cells[i].settle >= both.cells[i].settle);
            more += one.cells[i].settle > both.cells[i].settle;
            assert_int_equal(one.cells[i].settle_of, MEASURED_NEW);
            assert_int_equal(both.cells[i].settle_of, MEASURED_BOTH);
        }
    }
    assert_true(more > 0 || gate_needs(&one) == 0);
    assert_true(gate_needs(&both) > 0);
    comparison_close(&both);
    comparison_close(&one);
    side_close(&base);
    side_close(&new_side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_when_a_gate_looks),
        cmocka_unit_test(test_all_looks_together_keep_the_level),
        cmocka_unit_test(test_what_is_slower_is_found),
        cmocka_unit_test(test_a_side_that_gets_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
