/* SPDX-License-Identifier: MIT
 * The bootstrap against scipy's (tests/data/resample.json), against distributions enumerated by hand, and against
 * itself. Reads that file: run it from the root of the checkout. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "json.h"
#include "random.h"
#include "resample.h"
#include "stats.h"

enum { PROCESSES_MAX = 16 };

static struct ratio bootstrap(const struct process_samples *base, size_t base_count,
                              const struct process_samples *new_processes, size_t new_count, uint64_t seed)
{
    const struct sample_side base_side = {base, base_count}, new_side = {new_processes, new_count};
    struct ratio ratio;

    assert_int_equal(ratio_bootstrap(&base_side, &new_side, seed, RATIO_RESAMPLES, &ratio), STATUS_OK);
    assert_int_equal(ratio.resamples, RATIO_RESAMPLES);
    return ratio;
}

/* -- scipy -------------------------------------------------------------------------------------------- */

/* Reads [[...], ...] into processes; returns how many. */
static size_t read_processes(const cJSON *array, struct process_samples processes[PROCESSES_MAX])
{
    const cJSON *process, *sample;
    size_t count = 0;

    cJSON_ArrayForEach (process, array) {
        const size_t room = (size_t)cJSON_GetArraySize(process);
        double *samples = malloc(room * sizeof(*samples));
        size_t i = 0;

        assert_non_null(samples);
        assert_true(count < PROCESSES_MAX);
        cJSON_ArrayForEach (sample, process)
            samples[i++] = sample->valuedouble;
        processes[count++] = (struct process_samples){.samples = samples, .count = i};
    }
    return count;
}

static void free_processes(struct process_samples *processes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((void *)processes[i].samples);
}

static void assert_between(double value, const cJSON *pair)
{
    const double low = cJSON_GetArrayItem(pair, 0)->valuedouble, high = cJSON_GetArrayItem(pair, 1)->valuedouble;

    /* scipy's division may round otherwise in the last place. */
    if (!(value >= low * (1 - 1e-12) && value <= high * (1 + 1e-12)))
        fail_msg("%.17g is not in [%.17g, %.17g]", value, low, high);
}

static void check_case(const cJSON *json)
{
    struct process_samples base[PROCESSES_MAX], new_processes[PROCESSES_MAX];
    const size_t base_count = read_processes(json_get(json, "base"), base);
    const size_t new_count = read_processes(json_get(json, "new"), new_processes);
    double p = NAN, error = NAN;

    json_get_double(json, "p", &p);
    json_get_double(json, "p_error", &error);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const struct ratio ratio = bootstrap(base, base_count, new_processes, new_count, seed);

        assert_between(ratio.ci_low, json_get(json, "low"));
        assert_between(ratio.ci_high, json_get(json, "high"));
        if (!(fabs(ratio.p - p) <= error + 1.0 / RATIO_RESAMPLES))
            fail_msg("p %.17g is not %.17g by %.3g", ratio.p, p, error);
    }
    free_processes(base, base_count);
    free_processes(new_processes, new_count);
}

/* Within 4 standard errors of 100,000 resamples that scipy and numpy took draw by draw. */
static void test_scipy(void **state)
{
    cJSON *root = NULL;
    const cJSON *item;
    size_t count = 0;

    (void)state;
    assert_int_equal(json_read_file("tests/data/resample.json", &root), STATUS_OK);
    cJSON_ArrayForEach (item, json_get(root, "cases")) {
        check_case(item);
        count++;
    }
    assert_true(count >= 9);
    cJSON_Delete(root);
}

/* -- enumeration -------------------------------------------------------------------------------------- */

/* A discrete distribution; values may be there more than once. */
struct distribution {
    double values[2048], probabilities[2048];
    size_t count;
};

static void put(struct distribution *to, double value, double probability)
{
    for (size_t i = 0; i < to->count; i++)
        if (to->values[i] == value) {
            to->probabilities[i] += probability;
            return;
        }
    assert_true(to->count < 2048);
    to->values[to->count] = value;
    to->probabilities[to->count++] = probability;
}

static double median_of(double *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && values[k - 1] > values[k]; k--) {
            const double value = values[k];

            values[k] = values[k - 1];
            values[k - 1] = value;
        }
    return values[(count - 1) / 2] + (values[count / 2] - values[(count - 1) / 2]) / 2;
}

/* The distribution of the median of `draws` independent draws of `from`: every one of count^draws. */
static void enumerate_medians(const struct distribution *from, size_t draws, struct distribution *out)
{
    size_t digits[8] = {0}, at;

    out->count = 0;
    do {
        double values[8] = {0}, probability = 1;

        for (size_t i = 0; i < draws; i++) {
            values[i] = from->values[digits[i]];
            probability *= from->probabilities[digits[i]];
        }
        put(out, median_of(values, draws), probability);
        for (at = 0; at < draws && ++digits[at] == from->count; at++)
            digits[at] = 0;
    } while (at < draws);
}

/* The exact distribution of a side's estimate. */
static void enumerate_side(const struct process_samples *processes, size_t count, struct distribution *out)
{
    static struct distribution samples, medians, pool;

    pool.count = 0;
    for (size_t i = 0; i < count; i++) {
        samples.count = 0;
        for (size_t k = 0; k < processes[i].count; k++)
            put(&samples, processes[i].samples[k], 1.0 / (double)processes[i].count);
        enumerate_medians(&samples, processes[i].count, &medians);
        for (size_t k = 0; k < medians.count; k++)
            put(&pool, medians.values[k], medians.probabilities[k] / (double)count);
    }
    enumerate_medians(&pool, count, out);
}

/* Compares P(estimate <= c) for every c that matters: against a base that is always c, that is what p tells. */
static void check_distribution(const struct process_samples *processes, size_t count)
{
    static struct distribution exact;

    enumerate_side(processes, count, &exact);
    for (size_t i = 0; i < exact.count; i++) {
        const double c = exact.values[i];
        const struct process_samples constant = {.samples = &c, .count = 1};
        const struct ratio ratio = bootstrap(&constant, 1, processes, count, i + 1);
        double below = 0, above = 0, tail, error;

        for (size_t k = 0; k < exact.count; k++) {
            below += exact.values[k] <= c ? exact.probabilities[k] : 0;
            above += exact.values[k] >= c ? exact.probabilities[k] : 0;
        }
        tail = fmin(below, above);
        error = 5 * sqrt(tail * (1 - fmin(tail, 1)) / RATIO_RESAMPLES) + 1.0 / RATIO_RESAMPLES;
        if (!(fabs(ratio.p - fmin(1, 2 * tail)) <= 2 * error))
            fail_msg("processes %zu of %zu samples: p %g, exactly %g", count, processes[0].count, ratio.p, 2 * tail);
    }
}

static void test_exact_distributions(void **state)
{
    static const double a[] = {3, 1, 7, 12, 2, 9, 5}, b[] = {4, 6, 8}, c[] = {2.5, 11};
    const struct process_samples several[] = {{b, 3, NULL}, {c, 2, NULL}, {a, 4, NULL}};

    (void)state;
    for (size_t n = 1; n <= 7; n++)
        check_distribution(&(struct process_samples){.samples = a, .count = n}, 1);
    for (size_t processes = 2; processes <= 3; processes++)
        check_distribution(several, processes);
}

/* -- properties --------------------------------------------------------------------------------------- */

static void test_nothing_varies(void **state)
{
    static const double two[] = {2, 2, 2}, three[] = {3, 3, 3, 3};
    const struct process_samples base[] = {{two, 3, NULL}, {two, 1, NULL}}, slower[] = {{three, 4, NULL}};
    struct ratio ratio = bootstrap(base, 2, slower, 1, 1);

    (void)state;
    assert_true(ratio.value == 1.5 && ratio.ci_low == 1.5 && ratio.ci_high == 1.5);
    assert_true(ratio.p == 1.0 / (RATIO_RESAMPLES + 1));
    ratio = bootstrap(base, 2, base, 1, 1);
    assert_true(ratio.value == 1 && ratio.ci_low == 1 && ratio.ci_high == 1 && ratio.p == 1);
}

static void fill(double *samples, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        samples[i] = 1000 + (double)(random_next(&seed) >> 44) / 65536;
}

/* More resamples than RATIO_RESAMPLES are for p alone, and where they can tell more. */
static void test_more_resamples(void **state)
{
    enum { MOST = 5 * RATIO_RESAMPLES };
    static const double a[] = {100, 101, 102, 103, 104, 105, 106}, b[] = {104, 105, 106, 107, 108, 109, 110};
    const struct process_samples processes[] = {{a, 7, NULL}, {b, 7, NULL}};
    const struct sample_side base = {&processes[0], 1}, slower = {&processes[1], 1};
    struct ratio few, many;

    (void)state;
    few = bootstrap(processes, 1, processes + 1, 1, 3);
    assert_int_equal(ratio_bootstrap(&base, &slower, 3, MOST, &many), STATUS_OK);
    assert_true(many.value == few.value && many.ci_low == few.ci_low && many.ci_high == few.ci_high);
    assert_true(many.resamples == RATIO_RESAMPLES || many.p < few.p);
    /* Nothing below 1 whatever is drawn: all that are allowed. */
    assert_int_equal(ratio_bootstrap(&base, &(struct sample_side){&(struct process_samples){b + 3, 4, NULL}, 1}, 3,
                                     MOST, &many),
                     STATUS_OK);
    assert_true(many.resamples == MOST && many.p == 1.0 / (MOST + 1));
    /* As often below as above: 10,000 say it. */
    assert_int_equal(ratio_bootstrap(&base, &base, 3, MOST, &many), STATUS_OK);
    assert_int_equal(many.resamples, RATIO_RESAMPLES);
}

/* The same numbers on every machine: these are of x86-64, gcc. */
static void test_same_seed_same_output(void **state)
{
    double samples[44];
    const struct process_samples base[] = {{samples, 10, NULL}, {samples + 10, 11, NULL}},
                                 slower[] = {{samples + 21, 23, NULL}};
    struct ratio one, two;

    (void)state;
    fill(samples, 44, 7);
    one = bootstrap(base, 2, slower, 1, 42);
    two = bootstrap(base, 2, slower, 1, 42);
    assert_memory_equal(&one, &two, sizeof(one));
    two = bootstrap(base, 2, slower, 1, 43);
    assert_true(one.value == two.value && one.p != two.p);
    if (!(one.ci_low == 0x1.fc2b737acf8dp-1 && one.ci_high == 0x1.00b8bd074c13fp+0 && one.p == 0x1.73928b9bc2ab2p-2))
        fail_msg("%a, %a, %a", one.ci_low, one.ci_high, one.p);
}

/* Numbers of samples far beyond what a run takes, where tails underflow. */
static void test_many(void **state)
{
    enum { MANY = 200000, PROCESSES = 5000 };
    double *samples = malloc(MANY * sizeof(*samples));
    struct process_samples *processes = malloc(PROCESSES * sizeof(*processes));
    struct ratio ratio;

    (void)state;
    assert_non_null(samples);
    assert_non_null(processes);
    fill(samples, MANY, 3);
    for (size_t i = 0; i < PROCESSES; i++)
        processes[i] = (struct process_samples){samples + i * (MANY / PROCESSES), i % (MANY / PROCESSES) + 1, NULL};
    ratio = bootstrap(&(struct process_samples){.samples = samples, .count = MANY}, 1, processes, PROCESSES, 1);
    /* Uniform between 1000 and 1016. The median of n has a standard error of 8 / sqrt(n). */
    assert_true(fabs(ratio.value - 1) < 0.001);
    assert_true(ratio.ci_low > 0.999 && ratio.ci_low < ratio.value);
    assert_true(ratio.ci_high < 1.001 && ratio.ci_high > ratio.value);
    free(processes);
    free(samples);
}

static void test_side_median(void **state)
{
    static const double a[] = {5, 1, 3}, b[] = {10, 20}, c[] = {100};
    const struct process_samples processes[] = {{a, 3, NULL}, {b, 2, NULL}, {c, 1, NULL}};
    double median;

    (void)state;
    assert_int_equal(side_median(&(struct sample_side){processes, 3}, &median), STATUS_OK);
    assert_true(median == 15);
    assert_int_equal(side_median(&(struct sample_side){processes, 2}, &median), STATUS_OK);
    assert_true(median == 9);
    assert_int_equal(side_median(&(struct sample_side){processes, 1}, &median), STATUS_OK);
    assert_true(median == 3);
}

/* -- Holm --------------------------------------------------------------------------------------------- */

/* By hand, and what R's p.adjust(method = "holm") gives. */
static void test_holm(void **state)
{
    static const double p[] = {0.01, 0.04, 0.03, 0.005}, expected[] = {0.03, 0.06, 0.06, 0.02};
    static const double large[] = {0.6, 0.5, 1}, equal[] = {0.02, 0.02};
    double adjusted[4];

    (void)state;
    assert_int_equal(holm_adjust(p, 4, adjusted), STATUS_OK);
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(adjusted[i] - expected[i]) < 1e-15);
    assert_int_equal(holm_adjust(large, 3, adjusted), STATUS_OK);
    for (size_t i = 0; i < 3; i++)
        assert_true(adjusted[i] == 1);
    assert_int_equal(holm_adjust(equal, 2, adjusted), STATUS_OK);
    assert_true(adjusted[0] == 0.04 && adjusted[1] == 0.04);
    assert_int_equal(holm_adjust(p, 1, adjusted), STATUS_OK);
    assert_true(adjusted[0] == 0.01);
    assert_int_equal(holm_adjust(p, 0, adjusted), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scipy),
        cmocka_unit_test(test_exact_distributions),
        cmocka_unit_test(test_nothing_varies),
        cmocka_unit_test(test_more_resamples),
        cmocka_unit_test(test_same_seed_same_output),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_side_median),
        cmocka_unit_test(test_holm),
    };

    return cmocka_run_group_tests_name("resample", tests, NULL, NULL);
}
