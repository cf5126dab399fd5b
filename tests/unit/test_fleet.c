/* SPDX-License-Identifier: MIT
 * The statistics of a fleet: scales against brute force, tails against closed forms, steps and groups made by hand. How
 * often they are wrong is tried by scripts/fleet_simulation.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fleet_finding.h"
#include "fleet_scale.h"
#include "fleet_step.h"
#include "random.h"
#include "stats.h"

static void assert_near(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* Between -1 and 1. */
static double draw(uint64_t *state)
{
    return (double)(random_next(state) >> 11) / 4503599627370496.0 - 1;
}

/* -- scales -------------------------------------------------------------------------------------------- */

static double brute_qn(const double *values, size_t count, double factor)
{
    double *distances = calloc(count * count, sizeof(*distances));
    const size_t half = count / 2 + 1;
    size_t pairs = 0;
    double out;

    assert_non_null(distances);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            distances[pairs++] = fabs(values[i] - values[j]);
    stats_sort(distances, pairs);
    out = 2.2219 * factor * distances[half * (half - 1) / 2 - 1];
    free(distances);
    return out;
}

static void test_qn(void **state)
{
    /* Of Croux and Rousseeuw (1992). */
    static const struct {
        size_t count;
        double factor;
    } rows[] = {{2, 0.399},      {5, 0.844},         {8, 0.669},        {9, 0.872},
                {10, 10 / 13.8}, {101, 101 / 102.4}, {200, 200 / 203.8}};
    uint64_t random = 3;
    double values[200];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t j = 0; j < rows[i].count; j++)
            values[j] = draw(&random);
        stats_sort(values, rows[i].count);
        assert_near(fleet_qn(values, rows[i].count), brute_qn(values, rows[i].count, rows[i].factor), 1e-12);
    }
    assert_true(isnan(fleet_qn(values, 1)));
    assert_true(fleet_qn((double[]){4, 4, 4, 4, 9}, 5) == 0);
}

/* Nearly half of the values may be anything. */
static void test_qn_is_robust(void **state)
{
    double values[100], clean[60];
    uint64_t random = 4;

    (void)state;
    for (size_t i = 0; i < 100; i++)
        values[i] = i < 60 ? draw(&random) : 1e6 + (double)i * 1e5;
    memcpy(clean, values, sizeof(clean));
    stats_sort(values, 100);
    stats_sort(clean, 60);
    assert_true(fleet_qn(values, 100) < 4 * fleet_qn(clean, 60));
}

static void test_difference_scale(void **state)
{
    (void)state;
    assert_near(fleet_difference_scale((double[]){3, 1, 2}, 3), 2 / (0.6745 * sqrt(2)), 1e-12);
}

/* -- tails and steps ----------------------------------------------------------------------------------- */

/* One side of Student's t of three degrees of freedom, scipy.stats.t.sf(z * 1.134, 3). */
static void test_tail(void **state)
{
    static const struct {
        double z, q;
    } rows[] = {{1, 0.16960783119531614}, {5, 0.005433480222967068}, {20, 9.385997523869614e-05}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const double q = rows[i].q;

        assert_near(fleet_tail(1, rows[i].z), 2 * q, 1e-9);
        assert_near(fleet_tail(2, rows[i].z), 2 * q * q, 1e-9);
        assert_near(fleet_tail(3, rows[i].z), 2 * (3 * q * q * (1 - q) + q * q * q), 1e-9);
        assert_near(fleet_tail(4, rows[i].z), 2 * (4 * q * q * q * (1 - q) + pow(q, 4)), 1e-9);
    }
    assert_near(fleet_tail(5, 0), 1, 1e-12);
}

enum { NIGHTS = 40 };

/* Noise of 0.001 at most, and a step from a night on. */
static struct fleet_series make_series(double values[NIGHTS], size_t since, double step)
{
    uint64_t random = 9;

    for (size_t i = 0; i < NIGHTS; i++)
        values[i] = 0.001 * draw(&random) + (i >= since ? step : 0);
    return (struct fleet_series){.values = values, .count = NIGHTS, .deviation = 0.0005};
}

static struct fleet_step find_step(const struct fleet_series *series)
{
    double scratch[2 * NIGHTS];

    return fleet_step_find(series, 0.01, scratch);
}

static void test_step(void **state)
{
    double values[NIGHTS];

    (void)state;
    for (size_t since = NIGHTS / 2; since < NIGHTS; since++)
        for (int sign = -1; sign <= 1; sign += 2) {
            const struct fleet_series series = make_series(values, since, 0.05 * sign);
            const struct fleet_step step = find_step(&series);
            struct fleet_date date;

            assert_true(fabs(step.change - 0.05 * sign) < 0.002);
            assert_true(step.last < 2 * (NIGHTS - since)); /* the median has a few of the past */
            assert_true(step.p < 1e-2);
            assert_int_equal(fleet_step_date(&series, &step, &date), STATUS_OK);
            assert_int_equal(date.since, since);
            assert_false(date.drift);
            assert_true(date.change == step.change);
        }
}

/* p is the least over the lengths of the bound by the tails, times the number of lengths. */
static void test_step_p(void **state)
{
    const double values[] = {0, 0, 0, 0.02};
    const struct fleet_series series = {.values = values, .count = 4, .deviation = 0.001};
    double least = 1;

    (void)state;
    for (int i = 0; i < 6; i++) {
        const double share = (const double[]){0.5, 0.6, 0.7, 0.8, 0.9, 0.95}[i];

        least = fmin(least, fleet_tail(1, 20 * share) + fleet_tail(3, 20 * (1 - share)));
    }
    assert_near(find_step(&series).p, 8 * least, 1e-12);
    assert_int_equal(find_step(&series).last, 1);
}

static void test_no_step(void **state)
{
    double values[NIGHTS];
    struct fleet_series series = make_series(values, NIGHTS, 0);

    (void)state;
    assert_true(find_step(&series).change == 0 && find_step(&series).p == 1);
    /* One process that is far off, anywhere but at the end, is none. */
    for (size_t i = 0; i + 1 < NIGHTS; i++) {
        series = make_series(values, NIGHTS, 0);
        values[i] += 0.5;
        assert_true(find_step(&series).p > 0.05);
    }
    series = make_series(values, NIGHTS - 3, 0.009); /* below the threshold */
    assert_true(find_step(&series).p > 0.01);
    series.count = 1;
    assert_true(find_step(&series).p == 1);
}

static void test_drift(void **state)
{
    double values[NIGHTS];
    const struct fleet_series series = make_series(values, NIGHTS, 0);
    struct fleet_step step;
    struct fleet_date date;

    (void)state;
    for (size_t i = 10; i < NIGHTS; i++)
        values[i] += 0.001 * (double)(i - 9);
    step = find_step(&series);
    assert_true(step.p < 1e-6);
    assert_int_equal(fleet_step_date(&series, &step, &date), STATUS_OK);
    assert_true(date.drift);
    assert_in_range(date.since, 8, 12);
    assert_near(date.change, 0.03, 0.05);
}

/* Values are held against the baseline alone, and only those behind it. */
static void test_baseline(void **state)
{
    const double values[] = {1, 1, 1, 7, 7, 7, 1.5, 1.5, 1.5};
    bool base[] = {true, true, true, false, false, false, false, false, false};
    struct fleet_series series = {.values = values, .base = base, .count = 9, .deviation = 0.001};

    (void)state;
    assert_near(find_step(&series).change, 0.5, 1e-12);
    memset(base, false, sizeof(base));
    assert_true(find_step(&series).p == 1);
    base[8] = true;
    assert_true(find_step(&series).p == 1);
}

/* -- fleets -------------------------------------------------------------------------------------------- */

enum { CELLS = 4, GPUS = 24, ROUNDS = 20, NODE = 8 };

struct made {
    double log_ns[CELLS * GPUS * ROUNDS];
    struct deviation process[CELLS];
    size_t one[GPUS], driver[GPUS], node[GPUS];
    struct fleet_times times;
    struct fleet_changes changes;
    struct fleet_findings findings;
};

/* Three nodes, noise of 0.0005, boards that differ by 0.01 at most. */
static struct made *make_fleet(void)
{
    struct made *made = calloc(1, sizeof(*made));
    uint64_t random = 5;

    assert_non_null(made);
    for (size_t i = 0; i < CELLS * GPUS; i++) {
        const double board = 0.01 * draw(&random);

        for (size_t round = 0; round < ROUNDS; round++)
            made->log_ns[i * ROUNDS + round] = 7 + board + 0.0005 * draw(&random);
    }
    for (size_t gpu = 0; gpu < GPUS; gpu++)
        made->node[gpu] = gpu / NODE;
    for (size_t cell = 0; cell < CELLS; cell++)
        made->process[cell] = (struct deviation){0.0005, 16, DEVIATION_DEFAULT};
    made->times = (struct fleet_times){.cells = CELLS,
                                       .gpus = GPUS,
                                       .rounds = ROUNDS,
                                       .log_ns = made->log_ns,
                                       .process = made->process,
                                       .groups = {NULL, made->driver, made->one, made->node},
                                       .group_counts = {1, 1, 1, GPUS / NODE}};
    return made;
}

static void change(struct made *made, size_t cell, size_t gpu, size_t since, double by)
{
    for (size_t round = since; round < ROUNDS; round++)
        made->log_ns[(cell * GPUS + gpu) * ROUNDS + round] += by;
}

static void judge(struct made *made)
{
    const struct fleet_limits limits = FLEET_LIMITS_DEFAULT;

    assert_int_equal(fleet_judge(&made->times, &limits, &made->changes), STATUS_OK);
    assert_int_equal(fleet_find(&made->times, &made->changes, &made->findings), STATUS_OK);
}

static void assert_finding(const struct fleet_finding *finding, enum fleet_level level, size_t group, double by,
                           size_t since)
{
    assert_int_equal(finding->level, level);
    assert_int_equal(finding->group, group);
    assert_near(finding->change, by, 0.05);
    assert_int_equal(finding->surest->since, since);
    assert_int_equal(finding->slower, by > 0);
}

static void close_fleet(struct made *made)
{
    fleet_findings_close(&made->findings);
    fleet_changes_close(&made->changes);
    free(made);
}

static void test_quiet(void **state)
{
    struct made *made = make_fleet();

    (void)state;
    judge(made);
    assert_int_equal(made->findings.count, 0);
    close_fleet(made);
}

static void test_one_gpu(void **state)
{
    struct made *made = make_fleet();

    (void)state;
    change(made, 1, 13, 18, 0.02);
    change(made, 2, 13, 18, 0.02);
    change(made, 3, 4, 15, -0.02);
    judge(made);
    assert_int_equal(made->findings.count, 2);
    assert_finding(&made->findings.items[0], FLEET_GPU, 13, 0.02, 18);
    assert_int_equal(made->findings.items[0].count, 2);
    assert_finding(&made->findings.items[1], FLEET_GPU, 4, -0.02, 15);
    close_fleet(made);
}

/* All, a node of them more, and a GPU of another node: each told once. */
static void test_groups(void **state)
{
    struct made *made = make_fleet();

    (void)state;
    for (size_t gpu = 0; gpu < GPUS; gpu++)
        for (size_t cell = 0; cell < CELLS; cell++)
            change(made, cell, gpu, 12, 0.01);
    for (size_t gpu = NODE; gpu < 2 * NODE; gpu++)
        change(made, 0, gpu, 16, 0.05);
    change(made, 0, 23, 17, 0.03);
    judge(made);
    assert_int_equal(made->findings.count, 3);
    assert_finding(&made->findings.items[0], FLEET_MODEL, 0, 0.01, 12);
    assert_int_equal(made->findings.items[0].covered, GPUS);
    assert_finding(&made->findings.items[1], FLEET_NODE, 1, 0.05, 16);
    assert_int_equal(made->findings.items[1].covered, NODE);
    assert_finding(&made->findings.items[2], FLEET_GPU, 23, 0.03, 17);
    close_fleet(made);
}

/* Half of the fleet has a new driver. */
static void test_driver(void **state)
{
    struct made *made = make_fleet();

    (void)state;
    made->times.group_counts[FLEET_DRIVER] = 2;
    for (size_t gpu = 0; gpu < GPUS; gpu++)
        made->driver[gpu] = gpu % 2;
    for (size_t gpu = 1; gpu < GPUS; gpu += 2)
        change(made, 2, gpu, 17, 0.02);
    judge(made);
    assert_int_equal(made->findings.count, 1);
    assert_finding(&made->findings.items[0], FLEET_DRIVER, 1, 0.02, 17);
    assert_int_equal(made->findings.items[0].covered, GPUS / 2);
    close_fleet(made);
}

/* What all do on one night, below the threshold, hides nothing and is nobody's. */
static void test_wander(void **state)
{
    struct made *made = make_fleet();
    uint64_t random = 8;

    (void)state;
    for (size_t round = 0; round < ROUNDS; round++) {
        const double all = 0.004 * draw(&random);

        for (size_t i = 0; i < CELLS * GPUS; i++)
            made->log_ns[i * ROUNDS + round] += all;
    }
    change(made, 1, 2, 18, 0.02);
    judge(made);
    assert_int_equal(made->findings.count, 1);
    assert_finding(&made->findings.items[0], FLEET_GPU, 2, 0.02, 18);
    close_fleet(made);
}

/* A GPU that was slow from the start differs from the others. Rounds and cells that are not there hide nothing. */
static void test_peers(void **state)
{
    struct made *made = make_fleet();

    (void)state;
    change(made, 3, 9, 0, 0.15);
    for (size_t gpu = 0; gpu < GPUS; gpu++)
        for (size_t round = 0; round < ROUNDS; round++)
            if ((gpu + round) % 5 == 0 || (gpu == 9 && round < 16))
                made->log_ns[(3 * GPUS + gpu) * ROUNDS + round] = NAN;
    for (size_t i = 0; i < GPUS * ROUNDS; i++)
        made->log_ns[i] = NAN;
    judge(made);
    assert_int_equal(made->findings.count, 1);
    assert_int_equal(made->findings.items[0].against, FLEET_PEERS);
    assert_int_equal(made->findings.items[0].group, 9);
    assert_near(made->findings.items[0].change, 0.15, 0.1);
    close_fleet(made);
}

/* A GPU that became as slow is told of its past alone. */
static void test_peers_explained(void **state)
{
    struct made *made = make_fleet();

    (void)state;
    change(made, 3, 9, 14, 0.15);
    judge(made);
    assert_int_equal(made->findings.count, 1);
    assert_finding(&made->findings.items[0], FLEET_GPU, 9, 0.15, 14);
    close_fleet(made);
}

static void test_fleet_baseline(void **state)
{
    static bool base[GPUS * ROUNDS];
    struct made *made = make_fleet();

    (void)state;
    for (size_t i = 0; i < GPUS * ROUNDS; i++)
        base[i] = i % ROUNDS < 4;
    made->times.base = base;
    change(made, 1, 7, 6, 0.02); /* longer ago than half of the past */
    judge(made);
    assert_int_equal(made->findings.count, 1);
    assert_finding(&made->findings.items[0], FLEET_GPU, 7, 0.02, 6);
    close_fleet(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_qn),
        cmocka_unit_test(test_qn_is_robust),
        cmocka_unit_test(test_difference_scale),
        cmocka_unit_test(test_tail),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_step_p),
        cmocka_unit_test(test_no_step),
        cmocka_unit_test(test_drift),
        cmocka_unit_test(test_baseline),
        cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_one_gpu),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_driver),
        cmocka_unit_test(test_wander),
        cmocka_unit_test(test_peers),
        cmocka_unit_test(test_peers_explained),
        cmocka_unit_test(test_fleet_baseline),
    };

    return cmocka_run_group_tests_name("fleet", tests, NULL, NULL);
}
