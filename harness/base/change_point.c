/* SPDX-License-Identifier: MIT */
#include "change_point.h"

#include <math.h>
#include <stdlib.h>

#include "log.h"
#include "stats.h"

/* Of the first n values: sums, and the cheapest split. */
struct prefix {
    double sum, squares;
    double cost;
    size_t last; /* where the last segment of that split begins */
};

/* Squared deviations of values[first .. end - 1] from their mean. */
static double deviations(const struct prefix *prefix, size_t first, size_t end)
{
    const double sum = prefix[end].sum - prefix[first].sum;
    const double cost = prefix[end].squares - prefix[first].squares - sum * sum / (double)(end - first);

    return cost > 0 ? cost : 0;
}

/* `scratch` is room for 2 x count. */
static double noise_of(const double *values, size_t count, double *scratch)
{
    struct summary summary;

    if (count < 2)
        return 0;
    for (size_t i = 0; i + 1 < count; i++)
        scratch[i] = fabs(values[i + 1] - values[i]);
    stats_summarize(scratch, count - 1, scratch + count, &summary);
    return summary.value / (0.6745 * sqrt(2));
}

/* Fills prefix[1 .. count]. A split exists of no values, and of `least` or more. */
static void split(struct prefix *prefix, size_t count, size_t least, double penalty)
{
    for (size_t end = 1; end <= count; end++) {
        prefix[end].cost = INFINITY;
        for (size_t first = 0; first == 0 || first + least <= end; first++) {
            const double cost = prefix[first].cost + deviations(prefix, first, end) + penalty;

            if (end - first >= least && cost < prefix[end].cost) {
                prefix[end].cost = cost;
                prefix[end].last = first;
            }
        }
    }
}

enum status change_point_find(const double *values, size_t count, size_t least, double noise, struct segment *segments,
                              size_t *found)
{
    struct prefix *prefix = calloc(count + 1, sizeof(*prefix));
    double *scratch = calloc(2 * count, sizeof(*scratch));
    enum status status = STATUS_OK;
    double spread;
    size_t n = 0;

    *found = 0;
    if (!prefix || !scratch) {
        status = log_memory("change points");
        goto out;
    }
    /* Around the first value, so that large levels do not cost digits. */
    for (size_t i = 0; i < count; i++) {
        const double value = values[i] - values[0];

        prefix[i + 1].sum = prefix[i].sum + value;
        prefix[i + 1].squares = prefix[i].squares + value * value;
    }
    spread = fmax(noise, noise_of(values, count, scratch));
    least = least > count ? count : least ? least : 1;
    split(prefix, count, least, 3 * spread * spread * log((double)count) + 1e-9);

    for (size_t end = count; end > 0; end = prefix[end].last)
        n++;
    *found = n;
    for (size_t end = count; end > 0; end = prefix[end].last) {
        const size_t first = prefix[end].last;

        segments[--n] = (struct segment){first, end - first,
                                         values[0] + (prefix[end].sum - prefix[first].sum) / (double)(end - first)};
    }
out:
    free(prefix);
    free(scratch);
    return status;
}
