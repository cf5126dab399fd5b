/* SPDX-License-Identifier: MIT */
#include "fleet_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "change_point.h"
#include "deviation.h"
#include "log.h"
#include "stats.h"
#include "student.h"

static const size_t lengths[] = {1, 2, 3, 5, 8, 13, 21, 30};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static const double shares[] = {0.5, 0.6, 0.7, 0.8, 0.9, 0.95}; /* of a difference that the end has */
static const double tail_degrees = 3, tail_scale = 1.134; /* the quartile of that t over that of a normal value */

enum { LINE_LEAST = 5 };

/* -- p ------------------------------------------------------------------------------------------------- */

/* P(more than half of `count` happen, each with probability q). */
static double most_of(size_t count, double q)
{
    const double n = (double)count;
    double sum = 0;

    if (q <= 0)
        return 0;
    for (size_t i = count / 2 + 1; i <= count; i++) {
        const double k = (double)i;

        sum += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(q) + (n - k) * log1p(-q));
    }
    return sum;
}

double fleet_tail(size_t count, double z)
{
    return fmin(1, 2 * most_of(count, student_p(z * tail_scale, tail_degrees) / 2));
}

/* Of a difference of z between medians of `last` and of `base` values. */
static double p_of(double z, size_t last, size_t base)
{
    double least = 1;

    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
        least = fmin(least, fleet_tail(last, shares[i] * z) + fleet_tail(base, (1 - shares[i]) * z));
    return least;
}

/* -- a step -------------------------------------------------------------------------------------------- */

/* Both sides of a length; each sorted. */
struct sides {
    double *base, *last;
    size_t base_count, last_count;
};

/* The values that are no baseline, behind all of it. */
static size_t new_values(const struct fleet_series *series)
{
    size_t count = 0;

    while (series->base && count < series->count && !series->base[series->count - 1 - count])
        count++;
    return series->base ? count : series->count - 1;
}

static void split(const struct fleet_series *series, size_t last, double *scratch, struct sides *out)
{
    const size_t first = series->count - last;

    *out = (struct sides){.base = scratch, .last = scratch + series->count, .last_count = last};
    for (size_t i = 0; i < first; i++)
        if (!series->base || series->base[i])
            out->base[out->base_count++] = series->values[i];
    memcpy(out->last, series->values + first, last * sizeof(*out->last));
    stats_sort(out->base, out->base_count);
    stats_sort(out->last, last);
}

/* Of the two in the middle of an even number the lower or the upper one. */
static double middle(const double *sorted, size_t count, bool upper)
{
    return sorted[upper ? count / 2 : (count - 1) / 2];
}

static struct fleet_step step_of(const struct sides *sides, double deviation, double threshold)
{
    const double change = stats_median(sides->last, sides->last_count) - stats_median(sides->base, sides->base_count);
    const bool up = change > 0;
    const double sure = middle(sides->last, sides->last_count, !up) - middle(sides->base, sides->base_count, up);

    if (fabs(change) < threshold || (sure > 0) != up)
        return (struct fleet_step){.p = 1};
    return (struct fleet_step){.change = change,
                               .p = p_of(fabs(sure) / deviation, sides->last_count, sides->base_count),
                               .last = sides->last_count};
}

/* How far the values are apart: no medians of theirs are further. */
static double range_of(const struct fleet_series *series)
{
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < series->count; i++) {
        low = fmin(low, series->values[i]);
        high = fmax(high, series->values[i]);
    }
    return high - low;
}

struct fleet_step fleet_step_find(const struct fleet_series *series, double threshold, double *scratch)
{
    struct fleet_step best = {.p = 1};
    const size_t most = series->count > 1 && range_of(series) >= threshold ? new_values(series) : 0;
    struct sides sides;

    for (size_t i = 0; i < LENGTHS && lengths[i] <= most; i++) {
        struct fleet_step step;

        split(series, lengths[i], scratch, &sides);
        if (sides.base_count == 0)
            break;
        step = step_of(&sides, series->deviation, threshold);
        if (step.p < best.p)
            best = step;
    }
    best.p = fmin(1, best.p * LENGTHS);
    return best;
}

/* -- its date ------------------------------------------------------------------------------------------ */

static double middle_of_three(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* Each value but the ends becomes the middle one of it and its neighbours (Tukey, Exploratory data analysis, 1977): a
 * value that is far off alone goes, steps of two values or more and lines stay. */
static void smooth(const struct fleet_series *series, double *out)
{
    const double *values = series->values;

    memcpy(out, values, series->count * sizeof(*out));
    for (size_t i = 1; i + 1 < series->count; i++)
        out[i] = middle_of_three(values[i - 1], values[i], values[i + 1]);
}

/* Squares about a line that is level up to `since` and rises from there, by least squares. *rise: up to the end. */
static double hinge_squares(const double *values, size_t count, size_t since, double *rise)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    const double n = (double)count;

    for (size_t i = 0; i < count; i++) {
        const double x = i < since ? 0 : (double)(i - since + 1), y = values[i] - values[0];

        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
        syy += y * y;
    }
    sxx -= sx * sx / n;
    sxy -= sx * sy / n;
    syy -= sy * sy / n;
    *rise = sxy / sxx * (n - (double)since);
    return syy - sxy * sxy / sxx;
}

/* Squares about two levels. */
static double jump_squares(const double *values, size_t count, size_t since)
{
    double squares = 0;

    for (size_t side = 0; side < 2; side++) {
        const size_t first = side ? since : 0, end = side ? count : since;
        double sum = 0;

        for (size_t i = first; i < end; i++)
            sum += values[i];
        for (size_t i = first; i < end; i++)
            squares += pow(values[i] - sum / (double)(end - first), 2);
    }
    return squares;
}

static void set_date(const double *values, size_t count, size_t jump, struct fleet_date *out)
{
    double least = jump_squares(values, count, jump);

    out->since = jump;
    for (size_t since = 1; since + LINE_LEAST <= count; since++) {
        double rise;
        const double squares = hinge_squares(values, count, since, &rise);

        if (squares < least) {
            least = squares;
            *out = (struct fleet_date){.since = since, .drift = true, .change = rise};
        }
    }
}

enum status fleet_step_date(const struct fleet_series *series, const struct fleet_step *step, struct fleet_date *out)
{
    double *values = calloc(series->count, sizeof(*values));
    struct segment *segments = calloc(series->count, sizeof(*segments));
    const double sign = step->change > 0 ? 1 : -1;
    enum status status = STATUS_ENVIRONMENT;
    size_t found = 0, jump = series->count - step->last;
    double most = 0;

    if (!values || !segments) {
        status = log_memory("a change of a fleet");
        goto out;
    }
    smooth(series, values);
    status = change_point_find(values, series->count, step->last < 2 ? 1 : 2, series->deviation, segments, &found);
    for (size_t i = 1; i < found; i++)
        if (sign * (segments[i].level - segments[i - 1].level) > most) {
            most = sign * (segments[i].level - segments[i - 1].level);
            jump = segments[i].first;
        }
    *out = (struct fleet_date){.change = step->change};
    set_date(values, series->count, jump, out);
out:
    free(values);
    free(segments);
    return status;
}
