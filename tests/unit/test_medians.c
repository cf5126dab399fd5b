/* SPDX-License-Identifier: MIT
 * p of medians by counting: simulated values, and sums by hand. */
#include <math.h>
#include <stdlib.h>

#include "medians.h"
#include "random.h"
#include "stats.h"
#include "student.h"
#include "test.h"

enum { TRIALS = 200000, VALUES_MAX = 8 };
static const double tail_scale = 1.134;

static double uniform(uint64_t *seed)
{
    return ((double)(random_next(seed) >> 11) + 0.5) / 9007199254740992.0;
}

/* A value of Student's t of three degrees, as a multiple of its deviation by quartiles: a normal
 * value over the root of a mean of three squares. */
static double value_of(uint64_t *seed)
{
    double normal[4], squares = 0;

    for (size_t i = 0; i < 4; i++)
        normal[i] = sqrt(-2 * log(uniform(seed))) * cos(2 * 3.14159265358979323846 * uniform(seed));
    for (size_t i = 1; i < 4; i++)
        squares += normal[i] * normal[i];
    return normal[0] / sqrt(squares / 3) / tail_scale;
}

static double median_of(size_t count, uint64_t *seed)
{
    double values[VALUES_MAX];

    for (size_t i = 0; i < count; i++)
        values[i] = value_of(seed);
    stats_sort(values, count);
    return stats_median(values, count);
}

/* Three of five, four of five, five of five; and one value by itself. */
TEST(a_tail_is_binomial)
{
    const double q = student_p(2 * tail_scale, 3) / 2;
    const double sum = 10 * pow(q, 3) * pow(1 - q, 2) + 5 * pow(q, 4) * (1 - q) + pow(q, 5);

    assert_float_equal(medians_tail(5, 2) / (2 * sum), 1, 1e-12);
    assert_float_equal(medians_tail(1, 2) / (2 * q), 1, 1e-12);
    assert_float_equal(medians_tail(1, 0), 1, 1e-12);
    assert_true(medians_tail(1001, 0.5) < 1e-30);
    assert_true(medians_tail(3, INFINITY) == 0);
}

/* The p of two values is their distribution. That of medians is a bound, of which no more than a
 * factor is given away. */
TEST(differences_of_simulated_medians_are_as_rare_as_p_says)
{
    static const struct {
        size_t base, new_count;
        double z, loss;
    } rows[] = {{1, 1, 3, 1}, {1, 1, 8, 1}, {5, 1, 4, 5}, {5, 3, 3, 20}, {7, 7, 2, 200}};
    uint64_t seed = 1;

    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        const double p = medians_p(rows[row].z, rows[row].base, rows[row].new_count);
        double seen = 0, error;

        for (size_t i = 0; i < TRIALS; i++)
            seen += fabs(median_of(rows[row].new_count, &seed) - median_of(rows[row].base, &seed)) >
                    rows[row].z;
        seen /= TRIALS;
        error = 4 * sqrt(seen / TRIALS);
        if (!(seen < p + error && p < rows[row].loss * (seen + error)))
            fail_msg("row %zu: p is %g, seen %g", row, p, seen);
    }
}

/* Far out the closed form cancels: p goes on as the cube of the distance. */
TEST(p_falls_to_the_last_digits)
{
    assert_float_equal(medians_p(881, 1, 1) / medians_p(883, 1, 1), pow(883.0 / 881, 3), 1e-3);
    assert_true(medians_p(1e6, 1, 1) > 0);
    assert_true(medians_p(0, 3, 4) == 1);
}
