/* SPDX-License-Identifier: MIT
 * Student's t by the incomplete beta function:
 *
 *   p(t) = I_x(n/2, 1/2),  x = n / (n + t^2)
 *
 * Its quantile is found by Newton's method on log p, within bounds. */
#include "student.h"

#include <float.h>
#include <math.h>

static const double pi = 3.14159265358979323846;
enum { DEGREES_MOST = 100000 }; /* above this, Student's t is normal to every printed digit */

/* The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's
 * method. */
static double beta_fraction(double x, double a, double b)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1), value;

    d = 1 / (fabs(d) < tiny ? tiny : d);
    value = d;
    for (int m = 1; m < 10000; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double before = value;

        d = 1 / (1 + even * d);
        c = 1 + even / c;
        value *= c * d;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        value *= c * d;
        if (fabs(value / before - 1) < 1e-15)
            break;
    }
    return value;
}

double student_p(double t, double degrees)
{
    /* The regularized incomplete beta function. Its fraction converges fast below the mean. */
    const double known = fmin(degrees, DEGREES_MOST), a = known / 2, b = 0.5,
                 x = known / (known + t * t);
    const double front = exp(a * log(x) + b * log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b));

    if (isinf(t) || x <= 0 || x >= 1)
        return isinf(t) || x <= 0 ? 0 : 1;
    return x < (a + 1) / (a + b + 2) ? front / a * beta_fraction(x, a, b)
                                     : 1 - front / b * beta_fraction(1 - x, b, a);
}

/* Newton's method on the logarithm of p, within bounds that it narrows. A step beyond the bounds
 * halves them instead. */
double student_quantile(double p, double degrees)
{
    const double known = fmin(degrees, DEGREES_MOST);
    const double at_0 = exp(lgamma((known + 1) / 2) - lgamma(known / 2)) / sqrt(known * pi);
    double low = 0, high = 1, t;

    while (student_p(high, degrees) > p && high < 1e12)
        high *= 2;
    t = (low + high) / 2;
    for (int i = 0; i < 100 && high - low > 4 * DBL_EPSILON * high; i++) {
        const double found = student_p(t, degrees), before = t;
        const double density = at_0 * exp(-(known + 1) / 2 * log1p(t * t / known));

        if (found > p)
            low = t;
        else
            high = t;
        t += found / density / 2 * log(found / p);
        if (!(t > low && t < high))
            t = (low + high) / 2;
        if (fabs(t - before) <= 2 * DBL_EPSILON * t)
            break;
    }
    return t;
}
