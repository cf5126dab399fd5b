/* SPDX-License-Identifier: MIT
 * The p of a difference of medians. A median is beyond z only where more than half of its values
 * are, whatever one of them does:
 *
 *     P(median of n > z) <= P(Binomial(n, q) > n / 2),   q = P(a value > z)
 */
#include "medians.h"

#include <math.h>

#include "student.h"

static const double pi = 3.14159265358979323846;
static const double tail_degrees = 3;
/* the upper quartile of that t over that of a normal value */
static const double tail_scale = 1.134;

double medians_tail(size_t count, double z)
{
    const double beyond = student_p(z * tail_scale, tail_degrees) / 2, n = (double)count;
    double sum = 0;

    if (beyond <= 0)
        return 0;
    for (double k = floor(n / 2) + 1; k <= n; k++) {
        const double ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
        const double term = exp(ways + k * log(beyond) + (n - k) * log1p(-beyond));

        sum += term;
        if (term < 1e-17 * sum)
            break;
    }
    return fmin(1, 2 * sum);
}

/* The same of the difference of two values, by the characteristic function of Student's t of three
 * degrees, (1 + a t) exp(-a t) with a = sqrt 3. Far out the terms cancel: there the difference is
 * as far as one of the two. */
static double difference_p(double z)
{
    const double a = sqrt(tail_degrees), x = z * tail_scale, square = 4 * a * a + x * x;

    if (x >= 1000)
        return 2 * student_p(x, tail_degrees);
    return 1 -
           2 / pi * (atan2(x, 2 * a) + 2 * a * x / square + 4 * a * a * a * x / (square * square));
}

double medians_p(double z, size_t base, size_t new_count)
{
    static const double shares[] = {0.5, 0.6, 0.7, 0.8, 0.9, 0.95}; /* of NEW */
    double p = 1;

    if (base == 1 && new_count == 1)
        return difference_p(z);
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
        p = fmin(p,
                 medians_tail(new_count, shares[i] * z) + medians_tail(base, (1 - shares[i]) * z));
    return p;
}
