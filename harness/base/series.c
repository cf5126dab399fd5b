/* SPDX-License-Identifier: MIT
 * The statistics of one cell's samples, which are taken on P buffer sets in turn:
 *
 *   samples      0 1 2 ... P-1 | P P+1 ... 2P-1 | ...        neighbours in time: autocorrelation r
 *   buffer set   0 1 2 ... P-1 | 0 1   ... P-1  | ...        columns: effect of a buffer set, rho
 *
 *   value = mean over buffer sets;  half width = hypot(t x error / sqrt(share), assumed x value)
 *
 * The second part tells modes apart by Hartigan's dip. The dip of n sorted values is the least
 * distance of their distribution to one that is convex up to some value and concave from there;
 * convex_gap finds each side, and a binary search the value between them. */
#include "series.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "student.h"

enum {
    CORRELATED_MIN = 8, /* fewest samples for a correlation */
    MODES_MIN = 20,     /* fewest samples for modes */
    MODE_SHARE = 10,    /* a mode has at least this part of them, and ... */
    MODE_MIN = 3,       /* ... at least this many */
};

/* -- ranks and buffer sets --------------------------------------------------------------------- */

/* How many of sorted[] are below a value, or not above it. */
static size_t count_below(const double *sorted, size_t count, double value, bool or_equal)
{
    size_t low = 0, high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (sorted[middle] < value || (or_equal && sorted[middle] == value))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* SERIES_PROCESS as half an interval of a normal distribution. */
static const double process_half = STATS_ERRORS_TO_END * SERIES_PROCESS;

void series_summarize(const double *samples, size_t count, uint32_t buffer_sets, double *scratch,
                      struct series *series, struct summary *summary)
{
    double *sorted = scratch, *ranks = scratch + count, half = NAN, share, products = 0,
           squares = 0, lag;
    double between = 0, within = 0;
    const size_t sets = buffer_sets < count ? buffer_sets : count;
    const double each = (double)count / (double)sets;
    struct strata_mean mean;

    *series = series_unknown;
    series->buffer_sets = (uint32_t)sets;
    series->effective = (double)count;
    memcpy(sorted, samples, count * sizeof(*samples));
    stats_sort(sorted, count);
    if (count >= CORRELATED_MIN) {
        /* Ranks minus their mean; equal values share a rank. */
        for (size_t i = 0; i < count; i++)
            ranks[i] = (double)(count_below(sorted, count, samples[i], false) +
                                count_below(sorted, count, samples[i], true)) /
                           2 -
                       (double)count / 2;
        /* The correlation within buffer sets, from a one-way analysis of variance. Their means are
         * taken out. */
        for (size_t p = 0; sets > 1 && each >= 2 && p < sets; p++) {
            const double mean_rank = stats_stratum_mean(ranks, count, sets, p);

            for (size_t i = p; i < count; i += sets) {
                ranks[i] -= mean_rank;
                between += mean_rank * mean_rank;
                within += ranks[i] * ranks[i];
            }
        }
        between /= (double)(sets - 1);
        within /= (double)(count - sets);
        series->within =
            between > within ? (between - within) / (between + (each - 1) * within) : 0;
        for (size_t i = 0; i < count; i++) {
            squares += ranks[i] * ranks[i];
            products += i ? ranks[i] * ranks[i - 1] : 0;
        }
        series->autocorrelation = squares > 0 ? products / squares : 0;
        lag = fmax(series->autocorrelation, 0);
        series->effective *= (1 - lag) / (1 + lag);
    }
    stats_describe_sorted(sorted, count, scratch + count, summary);
    mean = stats_strata_mean(samples, count, series->buffer_sets, scratch + count);
    share = series->effective / (double)count;
    if (isfinite(mean.error))
        half = mean.error / sqrt(share) *
               student_quantile(1 - STATS_CONFIDENCE, fmax(1, mean.degrees * share));
    summary->value = mean.value;
    summary->samples_half = half;
    summary->assumed_half = isnan(half) ? NAN : process_half * mean.value;
    half = hypot(half, process_half * mean.value);
    summary->ci_low = mean.value - half;
    summary->ci_high = mean.value + half;
}

double series_own_half_width(const struct summary *summary)
{
    return isfinite(summary->samples_half) ? summary->samples_half / summary->value : INFINITY;
}

void series_widen(struct summary *summary, double ns)
{
    const double half = hypot((summary->ci_high - summary->ci_low) / 2, STATS_ERRORS_TO_END * ns);

    summary->assumed_half = hypot(summary->assumed_half, STATS_ERRORS_TO_END * ns);
    summary->ci_low = summary->value - half;
    summary->ci_high = summary->value + half;
}

/* -- the dip ----------------------------------------------------------------------------------- */

/* Value i from the lower end, or from the upper end with its sign changed: both sides of a mode
 * look alike then. */
static double from_end(const double *sorted, size_t count, bool upper, size_t i)
{
    return upper ? -sorted[count - 1 - i] : sorted[i];
}

/* The empirical distribution rises by 1 at each value. Returns twice the least distance at which a
 * convex function passes its first `bounded` steps and stays below those up to `reach`. This equals
 * the largest distance of the tops above the greatest convex function below the feet. */
static double convex_gap(const double *sorted, size_t count, bool upper, size_t bounded,
                         size_t reach)
{
    double gap = 0;

    for (size_t from = 0, to = 0; from < bounded; from = to) {
        const double start = from_end(sorted, count, upper, from);
        double slope = INFINITY;

        to = from + 1;
        for (size_t next = to; next < reach; next++) {
            const double toward =
                (double)(next - from) / (from_end(sorted, count, upper, next) - start);

            if (toward <= slope) {
                slope = toward;
                to = next;
            }
        }
        gap = fmax(gap, 1);
        for (size_t i = from + 1; i < bounded && i < to; i++)
            gap = fmax(gap, (double)(i + 1 - from) -
                                slope * (from_end(sorted, count, upper, i) - start));
    }
    return gap;
}

double series_dip(const double *sorted, size_t count)
{
    double least = (double)count;

    /* The distribution may jump at its mode k, or rise behind it. The left gap grows with k, and
     * the right one falls. */
    for (size_t behind = 0; behind < 2; behind++)
        for (size_t low = 0, high = count; low < high;) {
            const size_t k = low + (high - low) / 2;
            const double left = convex_gap(sorted, count, false, k + behind, k + 1);
            const double right = convex_gap(sorted, count, true, count - k - 1, count - k - behind);

            least = fmin(least, fmax(left, right));
            if (left < right)
                low = k + 1;
            else
                high = k;
        }
    return least / 2 / (double)count;
}

/* -- modes and buffer sets --------------------------------------------------------------------- */

/* For a uniform distribution, 99 of 100 dips times the root of the count are below this: 0.453 at
 * 20 values, 0.496 at 500, by 20,000 simulations each. */
static const double critical_dip = 0.5;

/* Two groups with so little variance within them are two modes, even if one is too small for the
 * dip test. For 20 values or more, the best two groups leave a third for a normal distribution, a
 * quarter for a uniform one. */
static const double clear_break = 0.1;

/* Correlation within buffer sets above which their effect counts as real: above the 1 % quantile of
 * F for two samples each of twelve buffer sets. */
static const double real_effect = 0.62;

/* Values that differ by less than this share are one reading of the clock: events are read as
 * floats. */
static const double same_share = 1e-6;

/* Number of modes of sorted values, each of at least `least`: of the two groups that differ most,
 * if they are two modes, and of the groups within each. */
static size_t count_modes(const double *sorted, size_t count, size_t least, double apart)
{
    double total = 0, squares = 0, sum = 0, greatest = 0;
    size_t k = least;

    if (count < MODES_MIN || count < 2 * least)
        return 1;
    for (size_t i = 0; i < count; i++) {
        total += sorted[i] - sorted[0];
        squares += (sorted[i] - sorted[0]) * (sorted[i] - sorted[0]);
    }
    squares -= total * total / (double)count;
    for (size_t i = 1; i + least <= count; i++) {
        const double lower = (double)i, upper = (double)(count - i);
        double between;

        sum += sorted[i - 1] - sorted[0];
        between = lower * upper / (double)count * pow((total - sum) / upper - sum / lower, 2);
        if (i >= least && between > greatest) {
            greatest = between;
            k = i;
        }
    }
    if (stats_median(sorted + k, count - k) - stats_median(sorted, k) <= apart ||
        (squares - greatest > clear_break * squares &&
         series_dip(sorted, count) * sqrt((double)count) <= critical_dip))
        return 1;
    return count_modes(sorted, k, least, apart) + count_modes(sorted + k, count - k, least, apart);
}

/* Whether two neighbouring sorted values are practically equal. */
static bool is_tie(const double *sorted, size_t i)
{
    return sorted[i + 1] - sorted[i] <= same_share * fabs(sorted[i]);
}

void series_set_medians(const double *samples, size_t count, size_t sets, double *sorted,
                        double *medians)
{
    for (size_t k = 0; k < sets; k++) {
        size_t n = 0;

        for (size_t i = k; i < count; i += sets)
            sorted[n++] = samples[i];
        stats_sort(sorted, n);
        medians[k] = stats_median(sorted, n);
    }
}

void series_describe(const double *samples, size_t count, double apart, double *scratch,
                     struct series *series)
{
    double *values = scratch, *effects = scratch + count, *sorted = effects + series->buffer_sets;
    const size_t least = count / MODE_SHARE > MODE_MIN ? count / MODE_SHARE : MODE_MIN,
                 sets = series->buffer_sets;
    double low, high, squares = 0, mean = 0, step = apart;

    /* Subtract real effects of buffer sets. */
    series_set_medians(samples, count, sets, sorted, effects);
    for (size_t p = 0; p < sets; p++)
        mean += effects[p] / (double)sets;
    for (size_t p = 0; p < sets; p++) {
        squares += (effects[p] - mean) * (effects[p] - mean);
        for (size_t i = p; i < count; i += sets)
            values[i] = samples[i] - (series->within >= real_effect ? effects[p] - mean : 0);
    }
    series->buffer_set_deviation = sets > 1 ? sqrt(squares / (double)(sets - 1)) / mean : NAN;
    stats_sort(values, count);
    /* Beyond Tukey's fences. */
    low = stats_median(values, (count + 1) / 2);
    high = stats_median(values + count / 2, (count + 1) / 2);
    series->outliers =
        optional_of(count - count_below(values, count, high + 1.5 * (high - low), true) +
                    count_below(values, count, low - 1.5 * (high - low), false));
    /* Spread the values of a tie evenly over the clock's step, which is the least distance of two
     * different values; over `apart` at most. Without this, the dip of values that come in steps
     * grows with their number. */
    for (size_t i = 0; i + 1 < count; i++)
        if (!is_tie(values, i))
            step = fmin(step, values[i + 1] - values[i]);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && is_tie(values, next - 1);)
            next++;
        for (size_t k = i; k < next; k++)
            values[k] += step * (((double)(k - i) + 0.5) / (double)(next - i) - 0.5);
    }
    if (count >= MODES_MIN)
        series->modes = optional_of(count_modes(values, count, least, apart));
    /* Several modes may be those of the buffer sets until each has two samples. */
    if (series->modes.value > 1 && sets > 1 && count < 2 * sets)
        series->modes = (struct optional){0};
}
