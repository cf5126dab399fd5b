/* SPDX-License-Identifier: MIT */
#include "series.h"

#include <math.h>
#include <stdbool.h>

#include "student.h"

enum {
    CORRELATED_MIN = 8, /* fewest samples for a correlation */
    MODES_MIN = 20,     /* fewest samples for modes */
    MODE_SHARE = 10,    /* a mode has at least this part of them, and ... */
    MODE_MIN = 3,       /* ... at least this many */
};

/* -- ranks and buffer sets ------------------------------------------------------------------------------- */

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

/* Subtracts the buffer sets' means from values whose mean is 0. Returns the correlation within buffer sets, at least 0,
 * from a one-way analysis of variance. */
static double take_out(double *values, size_t count, size_t buffer_sets)
{
    const double each = (double)count / (double)buffer_sets;
    double between = 0, within = 0;

    if (buffer_sets < 2 || each < 2)
        return 0;
    for (size_t p = 0; p < buffer_sets; p++) {
        const double mean = stats_stratum_mean(values, count, buffer_sets, p);

        for (size_t i = p; i < count; i += buffer_sets) {
            values[i] -= mean;
            between += mean * mean;
            within += values[i] * values[i];
        }
    }
    between /= (double)(buffer_sets - 1);
    within /= (double)(count - buffer_sets);
    return between > within ? (between - within) / (between + (each - 1) * within) : 0;
}

/* Sets the statistics of ranks. There is room for `count` ranks. */
static void correlate(const double *samples, size_t count, const double *sorted, double *ranks, struct series *series)
{
    double products = 0, squares = 0, lag;

    series->effective = (double)count;
    if (count < CORRELATED_MIN)
        return;
    /* Ranks minus their mean; equal values share a rank. */
    for (size_t i = 0; i < count; i++)
        ranks[i] =
            (double)(count_below(sorted, count, samples[i], false) + count_below(sorted, count, samples[i], true)) / 2 -
            (double)count / 2;
    series->within = take_out(ranks, count, series->buffer_sets);
    for (size_t i = 0; i < count; i++) {
        squares += ranks[i] * ranks[i];
        products += i ? ranks[i] * ranks[i - 1] : 0;
    }
    series->autocorrelation = squares > 0 ? products / squares : 0;
    lag = series->autocorrelation > 0 ? series->autocorrelation : 0;
    series->effective *= (1 - lag) / (1 + lag);
}

/* SERIES_PROCESS as half an interval of a normal distribution. */
static const double process_half = STATS_ERRORS_TO_END * SERIES_PROCESS;

void series_summarize(const double *samples, size_t count, uint32_t buffer_sets, double *scratch, struct series *series,
                      struct summary *summary)
{
    double *sorted = scratch, half = NAN, share;
    struct trimmed_mean mean;

    *series = series_unknown;
    series->buffer_sets = buffer_sets < count ? buffer_sets : (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        sorted[i] = samples[i];
    stats_sort(sorted, count);
    correlate(samples, count, sorted, scratch + count, series);
    stats_describe_sorted(sorted, count, scratch + count, summary);
    mean = stats_trimmed_mean(samples, count, series->buffer_sets, scratch + count);
    share = series->effective / (double)count;
    if (isfinite(mean.error))
        half = hypot(mean.error / sqrt(share) * student_quantile(1 - STATS_CONFIDENCE, fmax(1, mean.degrees * share)),
                     process_half * mean.value);
    summary->value = mean.value;
    summary->ci_low = mean.value - half;
    summary->ci_high = mean.value + half;
}

double series_own_half_width(const struct summary *summary)
{
    const double half = stats_relative_half_width(summary);

    return isfinite(half) ? sqrt(fmax(half * half - process_half * process_half, 0)) : half;
}

void series_widen(struct summary *summary, double ns)
{
    const double half = hypot((summary->ci_high - summary->ci_low) / 2, STATS_ERRORS_TO_END * ns);

    summary->ci_low = summary->value - half;
    summary->ci_high = summary->value + half;
}

/* -- the dip -------------------------------------------------------------------------------------------- */

/* The steps of an empirical distribution: from low to high at x. */
struct steps {
    double *x, *low, *high;
    size_t count;
};

static void find_steps(const double *sorted, size_t count, double *scratch, struct steps *steps)
{
    *steps = (struct steps){.x = scratch, .low = scratch + count, .high = scratch + 2 * count};
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && sorted[next] == sorted[i];)
            next++;
        steps->x[steps->count] = sorted[i];
        steps->low[steps->count] = (double)i / (double)count;
        steps->high[steps->count++] = (double)next / (double)count;
    }
}

/* The same distribution seen from the other end. */
static void mirror(const struct steps *from, double *scratch, size_t count, struct steps *to)
{
    *to = (struct steps){.x = scratch, .low = scratch + count, .high = scratch + 2 * count, .count = from->count};
    for (size_t i = 0; i < from->count; i++) {
        const size_t other = from->count - 1 - i;

        to->x[i] = -from->x[other];
        to->low[i] = 1 - from->high[other];
        to->high[i] = 1 - from->low[other];
    }
}

static double height(const struct steps *steps, size_t from, size_t to, double x)
{
    return steps->low[from] +
           (steps->low[to] - steps->low[from]) * (x - steps->x[from]) / (steps->x[to] - steps->x[from]);
}

/* Twice the least distance at which a convex function passes the first `bounded` steps and stays below those up to
 * `count`. This equals the largest distance of the tops above the greatest convex function below the feet. */
static double convex_gap(const struct steps *steps, size_t bounded, size_t count)
{
    size_t from = 0, to;
    double gap = 0;

    while (from < bounded) {
        for (size_t next = to = from + 1; next < count; next++)
            if (next == to || height(steps, from, next, steps->x[to]) <= steps->low[to])
                to = next;
        gap = fmax(gap, steps->high[from] - steps->low[from]);
        for (size_t i = from + 1; i < bounded && i < to; i++)
            gap = fmax(gap, steps->high[i] - height(steps, from, to, steps->x[i]));
        from = to;
    }
    return gap;
}

/* Both sides' gaps for a mode at step k, where the distribution may jump, or just after it. */
static void mode_gaps(const struct steps sides[2], size_t k, bool behind, double gaps[2])
{
    const size_t counts[] = {k + 1, sides[0].count - k - behind};

    for (int side = 0; side < 2; side++)
        gaps[side] = convex_gap(&sides[side], counts[side] - !behind, counts[side]);
}

/* The minimum of the larger gap: the left one grows with k, and the right one falls. */
static double least_gap(const struct steps sides[2], bool behind)
{
    size_t low = 0, high = sides[0].count;
    double least = 1, gaps[2];

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        mode_gaps(sides, middle, behind, gaps);
        least = fmin(least, fmax(gaps[0], gaps[1]));
        if (gaps[0] < gaps[1])
            low = middle + 1;
        else
            high = middle;
    }
    return least;
}

double series_dip(const double *sorted, size_t count, double *scratch)
{
    struct steps sides[2];

    find_steps(sorted, count, scratch, &sides[0]);
    mirror(&sides[0], scratch + 3 * count, count, &sides[1]);
    return fmin(least_gap(sides, false), least_gap(sides, true)) / 2;
}

/* -- modes and buffer sets ------------------------------------------------------------------------------ */

/* For a uniform distribution, 99 of 100 dips times the root of the count are below this: 0.453 at 20 values, 0.496 at
 * 500, by 20,000 simulations each. */
static const double critical_dip = 0.5;

/* Two groups with so little variance within them are two modes, even if one is too small for the dip test. For 20
 * values or more, the best two groups leave a third for a normal distribution, a quarter for a uniform one. */
static const double clear_break = 0.1;

/* Correlation within buffer sets above which their effect counts as real: above the 1 % quantile of F for two samples
 * each of twelve buffer sets. */
static const double real_effect = 0.62;

/* Values that differ by less than this share are one reading of the clock: events are read as floats. */
static const double same_share = 1e-6;

/* Returns the size of the lower of the two groups of sorted values that differ most, each of at least `least` values.
 * *left is the share of the variance that remains within the groups. */
static size_t natural_break(const double *sorted, size_t count, size_t least, double *left)
{
    double total = 0, squares = 0, sum = 0, greatest = 0;
    size_t found = least;

    for (size_t i = 0; i < count; i++) {
        total += sorted[i] - sorted[0];
        squares += (sorted[i] - sorted[0]) * (sorted[i] - sorted[0]);
    }
    squares -= total * total / (double)count;
    for (size_t k = 1; k + least <= count; k++) {
        const double lower = (double)k, upper = (double)(count - k);
        double between;

        sum += sorted[k - 1] - sorted[0];
        between = lower * upper / (double)count * pow((total - sum) / upper - sum / lower, 2);
        if (k < least || between <= greatest)
            continue;
        greatest = between;
        found = k;
    }
    *left = squares > 0 ? 1 - greatest / squares : 1;
    return found;
}

/* Number of modes of sorted values, each of at least `least`. */
static size_t count_modes(const double *sorted, size_t count, size_t least, double apart, double *scratch)
{
    double left;
    size_t k;

    if (count < MODES_MIN || count < 2 * least)
        return 1;
    k = natural_break(sorted, count, least, &left);
    if (stats_median(sorted + k, count - k) - stats_median(sorted, k) <= apart ||
        (left > clear_break && series_dip(sorted, count, scratch) * sqrt((double)count) <= critical_dip))
        return 1;
    return count_modes(sorted, k, least, apart, scratch) + count_modes(sorted + k, count - k, least, apart, scratch);
}

/* Subtracts real effects of buffer sets from their samples. Returns the buffer sets' deviation. */
static double level_buffer_sets(double *values, size_t count, const struct series *series, double *scratch)
{
    const bool real = series->within >= real_effect;
    double squares = 0, mean = 0;
    double *effects = scratch, *sorted = scratch + series->buffer_sets;

    for (size_t p = 0; p < series->buffer_sets; p++) {
        size_t n = 0;

        for (size_t i = p; i < count; i += series->buffer_sets)
            sorted[n++] = values[i];
        stats_sort(sorted, n);
        effects[p] = stats_median(sorted, n);
        mean += effects[p] / (double)series->buffer_sets;
    }
    for (size_t p = 0; p < series->buffer_sets; p++) {
        squares += (effects[p] - mean) * (effects[p] - mean);
        for (size_t i = p; i < count; i += series->buffer_sets)
            values[i] -= real ? effects[p] - mean : 0;
    }
    return series->buffer_sets > 1 ? sqrt(squares / (double)(series->buffer_sets - 1)) / mean : NAN;
}

/* Whether two neighbouring sorted values are practically equal. */
static bool is_tie(const double *sorted, size_t i)
{
    return sorted[i + 1] - sorted[i] <= same_share * fabs(sorted[i]);
}

/* Spreads the values of a tie evenly over the clock's step, which is the least distance of two different values; over
 * `most` at most. Without this, the dip of values that come in steps grows with their number. */
static void spread_ties(double *sorted, size_t count, double most)
{
    double step = most;

    for (size_t i = 0; i + 1 < count; i++)
        if (!is_tie(sorted, i))
            step = fmin(step, sorted[i + 1] - sorted[i]);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && is_tie(sorted, next - 1);)
            next++;
        for (size_t k = i; k < next; k++)
            sorted[k] += step * (((double)(k - i) + 0.5) / (double)(next - i) - 0.5);
    }
}

void series_describe(const double *samples, size_t count, double apart, double *scratch, struct series *series)
{
    double *values = scratch;
    const size_t least = count / MODE_SHARE > MODE_MIN ? count / MODE_SHARE : MODE_MIN;
    double low, high;

    for (size_t i = 0; i < count; i++)
        values[i] = samples[i];
    series->buffer_set_deviation = level_buffer_sets(values, count, series, scratch + count);
    stats_sort(values, count);
    /* Beyond Tukey's fences. */
    low = stats_median(values, (count + 1) / 2);
    high = stats_median(values + count / 2, (count + 1) / 2);
    series->outliers = (double)(count - count_below(values, count, high + 1.5 * (high - low), true) +
                                count_below(values, count, low - 1.5 * (high - low), false));
    spread_ties(values, count, apart);
    if (count >= MODES_MIN)
        series->modes = (double)count_modes(values, count, least, apart, scratch + count);
    /* Several modes may be those of the buffer sets until each has two samples. */
    if (series->modes > 1 && series->buffer_sets > 1 && count < 2 * (size_t)series->buffer_sets)
        series->modes = NAN;
}
