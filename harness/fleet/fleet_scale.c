/* SPDX-License-Identifier: MIT */
#include "fleet_scale.h"

#include <math.h>

#include "stats.h"

/* How many pairs are no further apart than `distance`. */
static size_t pairs_within(const double *sorted, size_t count, double distance)
{
    size_t pairs = 0, first = 0;

    for (size_t i = 0; i < count; i++) {
        while (sorted[i] - sorted[first] > distance)
            first++;
        pairs += i - first;
    }
    return pairs;
}

/* The k-th smallest distance, k >= 1, by halving. */
static double distance_of(const double *sorted, size_t count, size_t k)
{
    double low = 0, high = sorted[count - 1] - sorted[0];

    if (pairs_within(sorted, count, 0) >= k)
        return 0;
    for (int i = 0; i < 60; i++) {
        const double middle = low + (high - low) / 2;

        if (pairs_within(sorted, count, middle) >= k)
            high = middle;
        else
            low = middle;
    }
    return high;
}

double fleet_qn(const double *sorted, size_t count)
{
    static const double small[] = {[2] = 0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872};
    const size_t half = count / 2 + 1;
    const double n = (double)count;
    double factor;

    if (count < 2)
        return NAN;
    factor = count < sizeof(small) / sizeof(small[0]) ? small[count] : count % 2 ? n / (n + 1.4) : n / (n + 3.8);
    return 2.2219 * factor * distance_of(sorted, count, half * (half - 1) / 2);
}

double fleet_difference_scale(double *differences, size_t count)
{
    return stats_median_unsorted(differences, count) / (0.6745 * sqrt(2));
}
