/* SPDX-License-Identifier: MIT */
#include "neighbour.h"

#include <math.h>
#include <stdbool.h>

static const double slice_ns = 0.5e6, slice_share = 0.1, places_share = 4;

/* The least of totals_ns[first], [first + step] ... below [count]. */
static double least_total(const double *totals_ns, size_t first, size_t count, size_t step)
{
    double least = INFINITY;

    for (size_t i = first; i < count; i += step)
        least = fmin(least, totals_ns[i]);
    return least;
}

static bool is_longer(double total_ns, double least, double share)
{
    return total_ns > least + fmax(slice_ns, share * least);
}

size_t neighbour_slices(const double *totals_ns, size_t count, size_t places)
{
    const double least = least_total(totals_ns, 0, count, 1);
    size_t slices = 0;

    for (size_t i = 0; i < count; i++)
        slices += is_longer(totals_ns[i], least, places_share) ||
                  is_longer(totals_ns[i], least_total(totals_ns, i % places, count, places), slice_share);
    return slices;
}
