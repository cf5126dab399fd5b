/* SPDX-License-Identifier: MIT
 * The bootstrap, drawn from its exact distribution.
 *
 * The estimate of one resample of a side is the median of L draws of "the median of a resample of a process that
 * was drawn". These L draws are independent and of one discrete distribution F, that of the pool: every value
 * that the median of a resample of a process can take, with its probability. So the estimate is not simulated
 * draw by draw: the median of L independent draws of F is F's quantile at the median of L uniform numbers
 * (at the two in the middle when L is even, whose mean it then is), and such numbers come straight from a few
 * random words (see middle_draw). A resample costs some twenty words and a binary search in the pool, whatever
 * the number of processes and samples.
 *
 * Probabilities are computed by +, -, * and / of doubles alone, which are the same on every machine, and are then
 * integers in units of 2^-32 of a process; everything after that is integers. */
#include "resample.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "random.h"
#include "stats.h"

static const double weight_unit = 4294967296.0; /* 2^32: the weight of a process in the pool */
enum { TAIL_ENOUGH = 20 };                      /* resamples that say how thin a tail is */

/* -- medians of a resample of n sorted samples -------------------------------------------------------- */

/* A median that a resample can have: the mean of sorted samples low and high (equal when n is odd). */
struct outcome {
    size_t low, high;
    uint32_t weight; /* probability x 2^32 */
};

/* All outcomes of n samples that weigh anything. Their weights add up to 2^32. */
struct outcomes {
    size_t samples;
    struct outcome *rows; /* owned */
    size_t count, room;
};

static bool outcomes_add(struct outcomes *all, size_t low, size_t high, uint32_t weight)
{
    if (all->count == all->room) {
        const size_t room = all->room ? 2 * all->room : 64;
        struct outcome *larger = realloc(all->rows, room * sizeof(*larger));

        if (!larger)
            return false;
        all->rows = larger;
        all->room = room;
    }
    all->rows[all->count++] = (struct outcome){low, high, weight};
    return true;
}

/* base^exponent by multiplications alone. */
static double power(double base, size_t exponent)
{
    double result = 1;

    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2)
            result *= base;
        base *= base;
    }
    return result;
}

/* C(2m, m) / 4^m. */
static double central(size_t m)
{
    double value = 1;

    for (size_t i = 1; i <= m; i++)
        value *= (double)(2 * i - 1) / (double)(2 * i);
    return value;
}

/* P(Binomial(n, i / n) >= k) for k above the mean: the terms fall from the first on. */
static double upper_tail(size_t n, size_t i, size_t k, double first)
{
    const double odds = (double)i / (double)(n - i);
    double sum = 0;

    for (double term = first; k <= n && term > sum * 0x1p-60; k++) {
        sum += term;
        term *= (double)(n - k) / (double)(k + 1) * odds;
    }
    return sum;
}

/* For a resample of n = 2m or 2m + 1 samples, the probability that its element m + n % 2 of n, counted from 1 and
 * in ascending order (the median, or the lower of the two in the middle), is among the lowest i samples: that at
 * least that many of the draws are. */
static double middle_below(size_t n, size_t i, double central_m)
{
    const size_t m = n / 2;
    const double p = (double)i / (double)n, q = (double)(n - i) / (double)n;
    double at_m; /* P(Binomial(n, p) = m) */

    if (i == 0 || i == n)
        return i == 0 ? 0 : 1;
    at_m = central_m * power(4 * p * q, m);
    if (n % 2) /* C(2m + 1, m) is C(2m, m) (2m + 1) / (m + 1), and there is one q more */
        at_m *= (double)n / (double)(m + 1) * q;
    if (2 * i <= n)
        return upper_tail(n, i, m + n % 2, n % 2 ? at_m * p / q : at_m);
    /* The complement: at least m + 1 draws among the other n - i samples, which is at most m (odd n) or m - 1. */
    return 1 - upper_tail(n, n - i, m + 1, n % 2 ? at_m : at_m * (double)m / (double)(m + 1) * (q / p));
}

/* P(exactly m of 2m draws are among the lowest i and m among the highest j samples), i + j <= n = 2m. */
static double halves(size_t n, size_t i, size_t j, double central_m)
{
    return central_m * power(4 * ((double)i / (double)n) * ((double)j / (double)n), n / 2);
}

static uint32_t to_weight(double probability)
{
    const double weight = probability * weight_unit + 0.5;

    return weight < 0 ? 0 : weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight;
}

/* Adds the outcomes of even n whose lower middle element is sample `low`, which has probability p. */
static bool add_pairs(struct outcomes *all, size_t low, double p, double central_m)
{
    const size_t n = all->samples;
    const double apart = halves(n, low + 1, n - low - 1, central_m) - halves(n, low, n - low - 1, central_m);
    uint32_t weight = to_weight(p - apart);

    if (weight > 0 && !outcomes_add(all, low, low, weight))
        return false;
    for (size_t high = low + 1; high < n; high++) {
        weight = to_weight(halves(n, low + 1, n - high, central_m) - halves(n, low, n - high, central_m) -
                           halves(n, low + 1, n - high - 1, central_m) + halves(n, low, n - high - 1, central_m));
        if (weight == 0)
            break; /* it only falls from here */
        if (!outcomes_add(all, low, high, weight))
            return false;
    }
    return true;
}

/* Adds the outcomes of sample `low`; *heavy says whether there could be any. */
static bool add_outcomes(struct outcomes *all, size_t low, double central_m, bool *heavy)
{
    const size_t n = all->samples;
    const double p = middle_below(n, low + 1, central_m) - middle_below(n, low, central_m);
    const uint32_t weight = to_weight(p);

    *heavy = weight > 0;
    if (!*heavy)
        return true;
    return n % 2 ? outcomes_add(all, low, low, weight) : add_pairs(all, low, p, central_m);
}

/* Gives the heaviest outcome what rounding lost or added, so that all together weigh 2^32. */
static void outcomes_level(struct outcomes *all)
{
    struct outcome *heaviest = all->rows;
    uint64_t sum = 0;

    for (struct outcome *row = all->rows; row < all->rows + all->count; row++) {
        sum += row->weight;
        if (row->weight > heaviest->weight)
            heaviest = row;
    }
    /* Unsigned arithmetic: right for both signs. One sample alone would weigh 2^32, one more than fits: it is
     * dealt with where weights are added up. */
    heaviest->weight += (uint32_t)(((uint64_t)1 << 32) - sum);
}

/* Fills *all for n samples. False when out of memory. */
static bool outcomes_make(struct outcomes *all, size_t n)
{
    const double central_m = central(n / 2);
    const size_t middle = (n - 1) / 2;
    bool good = true, heavy = true;

    all->samples = n;
    all->count = 0;
    for (size_t low = middle; good && heavy && low < n; low++)
        good = add_outcomes(all, low, central_m, &heavy);
    heavy = true;
    for (size_t low = middle; good && heavy && low > 0; low--)
        good = add_outcomes(all, low - 1, central_m, &heavy);
    if (good)
        outcomes_level(all);
    return good;
}

/* -- the pool of a side ------------------------------------------------------------------------------- */

struct atom {
    double value;
    uint64_t weight; /* in the finished pool: of this atom and all before it */
};

struct pool {
    struct atom *atoms; /* owned; ascending */
    size_t count, room;
    size_t processes;
};

static int compare_atoms(const void *left, const void *right)
{
    const double a = ((const struct atom *)left)->value;
    const double b = ((const struct atom *)right)->value;

    return (a > b) - (a < b);
}

static int compare_counts(const void *left, const void *right)
{
    const size_t a = ((const struct process_samples *)left)->count;
    const size_t b = ((const struct process_samples *)right)->count;

    return (a > b) - (a < b);
}

static double mean(double low, double high)
{
    return low + (high - low) / 2;
}

static void sort_samples(const struct process_samples *process, double *sorted)
{
    memcpy(sorted, process->samples, process->count * sizeof(*sorted));
    stats_sort(sorted, process->count);
}

static bool pool_reserve(struct pool *pool, size_t more)
{
    const size_t room = 2 * (pool->room > more ? pool->room : more);
    struct atom *larger;

    if (pool->room - pool->count >= more)
        return true;
    larger = realloc(pool->atoms, room * sizeof(*larger));
    if (!larger)
        return false;
    pool->atoms = larger;
    pool->room = room;
    return true;
}

/* Adds what the median of a resample of one process can be. */
static bool pool_add(struct pool *pool, const struct outcomes *outcomes, const double *sorted)
{
    if (!pool_reserve(pool, outcomes->count))
        return false;
    for (size_t i = 0; i < outcomes->count; i++) {
        const struct outcome *row = &outcomes->rows[i];

        pool->atoms[pool->count++] = (struct atom){
            .value = mean(sorted[row->low], sorted[row->high]),
            .weight = outcomes->count == 1 ? (uint64_t)1 << 32 : row->weight,
        };
    }
    return true;
}

/* Adds all processes; those with the same number of samples, which share their outcomes, one after another. */
static bool pool_fill(struct pool *pool, const struct process_samples *by_count)
{
    struct outcomes outcomes = {0};
    double *sorted = malloc(by_count[pool->processes - 1].count * sizeof(*sorted));
    bool good = sorted != NULL;

    for (size_t i = 0; good && i < pool->processes; i++) {
        if (by_count[i].count != outcomes.samples)
            good = outcomes_make(&outcomes, by_count[i].count);
        if (good) {
            sort_samples(&by_count[i], sorted);
            good = pool_add(pool, &outcomes, sorted);
        }
    }
    free(outcomes.rows);
    free(sorted);
    return good;
}

/* Makes the pool of a side. False when out of memory; the caller frees pool->atoms in any case. */
static bool pool_make(struct pool *pool, const struct sample_side *side)
{
    struct process_samples *by_count = malloc(side->count * sizeof(*by_count));
    uint64_t sum = 0;
    bool good;

    *pool = (struct pool){.processes = side->count};
    if (!by_count)
        return false;
    for (size_t i = 0; i < side->count; i++)
        by_count[i] = side->processes[i];
    qsort(by_count, side->count, sizeof(*by_count), compare_counts);
    good = pool_fill(pool, by_count);
    free(by_count);
    if (!good)
        return false;
    qsort(pool->atoms, pool->count, sizeof(*pool->atoms), compare_atoms);
    for (size_t i = 0; i < pool->count; i++)
        pool->atoms[i].weight = sum += pool->atoms[i].weight;
    return true;
}

/* The pool's quantile at u / 2^64. */
static double pool_quantile(const struct pool *pool, uint64_t u)
{
    const uint64_t processes = pool->processes;
    /* u x processes / 2^32 of the processes x 2^32 that all atoms weigh; no step exceeds 64 bits. */
    const uint64_t at = (u >> 32) * processes + ((u & UINT32_MAX) * processes >> 32);
    size_t low = 0, high = pool->count - 1;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (pool->atoms[middle].weight > at)
            high = middle;
        else
            low = middle + 1;
    }
    return pool->atoms[low].value;
}

/* -- order statistics of uniform numbers -------------------------------------------------------------- */

/* How many of `count` fair coins show heads. */
static uint64_t coins(uint64_t *state, uint64_t count)
{
    uint64_t heads = 0;

    for (; count >= 64; count -= 64)
        heads += (uint64_t)__builtin_popcountll(random_next(state));
    if (count > 0)
        heads += (uint64_t)__builtin_popcountll(random_next(state) >> (64 - count));
    return heads;
}

/* Element `rank` (from 0, ascending) of `count` uniform numbers of which the bits above `bits` are `known`. How many
 * of them have 0 for their next bit is a number of coins; that says the next bit of the element asked for, and how
 * many numbers share it. */
static uint64_t rank_draw(uint64_t *state, uint64_t count, uint64_t rank, uint64_t known, unsigned bits)
{
    while (bits > 0 && count > 1) {
        const uint64_t zeros = coins(state, count);
        const bool one = rank >= zeros;

        bits--;
        known |= (uint64_t)one << bits;
        rank -= one ? zeros : 0;
        count = one ? count - zeros : zeros;
    }
    return bits > 0 ? known | random_next(state) >> (64 - bits) : known;
}

/* The two elements in the middle of `count` uniform numbers, the same element twice when count is odd. */
static void middle_draw(uint64_t *state, uint64_t count, uint64_t *low, uint64_t *high)
{
    uint64_t rank = count / 2 - 1, known = 0;
    unsigned bits = 64;

    if (count % 2) {
        *low = *high = rank_draw(state, count, count / 2, 0, bits);
        return;
    }
    while (bits > 0) {
        const uint64_t zeros = coins(state, count);

        bits--;
        if (rank + 1 == zeros) { /* here the two part: the greatest with a 0, the least with a 1 */
            *low = rank_draw(state, zeros, rank, known, bits);
            *high = rank_draw(state, count - zeros, 0, known | (uint64_t)1 << bits, bits);
            return;
        }
        if (rank >= zeros) {
            known |= (uint64_t)1 << bits;
            rank -= zeros;
            count -= zeros;
        } else {
            count = zeros;
        }
    }
    *low = *high = known;
}

/* The estimate of one resample. */
static double pool_draw(const struct pool *pool, uint64_t *state)
{
    uint64_t low, high;
    double value;

    middle_draw(state, pool->processes, &low, &high);
    value = pool_quantile(pool, low);
    return low == high ? value : mean(value, pool_quantile(pool, high));
}

/* -- the ratio ---------------------------------------------------------------------------------------- */

/* How many ratios lie on either side of 1. */
struct tails {
    size_t not_above, not_below;
};

static size_t thinner(const struct tails *tails)
{
    return tails->not_above < tails->not_below ? tails->not_above : tails->not_below;
}

/* The ratio of one more resample of both sides. */
static double ratio_draw(const struct pool *base, const struct pool *new_side, uint64_t *seed, struct tails *tails)
{
    const double below = pool_draw(base, seed), ratio = pool_draw(new_side, seed) / below;

    tails->not_above += ratio <= 1;
    tails->not_below += ratio >= 1;
    return ratio;
}

/* Sets interval and p. `ratios` is room for RATIO_RESAMPLES. */
static void resample(const struct pool *base, const struct pool *new_side, uint64_t seed, size_t most, double *ratios,
                     struct ratio *out)
{
    const size_t outside = (size_t)((1 - STATS_CONFIDENCE) / 2 * RATIO_RESAMPLES + 0.5);
    struct tails tails = {0};

    for (out->resamples = 0; out->resamples < RATIO_RESAMPLES; out->resamples++)
        ratios[out->resamples] = ratio_draw(base, new_side, &seed, &tails);
    for (; out->resamples < most && thinner(&tails) < TAIL_ENOUGH; out->resamples++)
        ratio_draw(base, new_side, &seed, &tails);
    stats_sort(ratios, RATIO_RESAMPLES);
    out->ci_low = ratios[outside];
    out->ci_high = ratios[RATIO_RESAMPLES - 1 - outside];
    out->p = fmin(1, (2 * (double)thinner(&tails) + 1) / ((double)out->resamples + 1));
}

static enum status out_of_memory(void)
{
    return log_error(STATUS_ENVIRONMENT, "out of memory for resampling; compare fewer processes at a time");
}

enum status ratio_bootstrap(const struct sample_side *base, const struct sample_side *new_side, uint64_t seed,
                            size_t most, struct ratio *out)
{
    double *ratios = malloc(RATIO_RESAMPLES * sizeof(*ratios));
    struct pool base_pool = {0}, new_pool = {0};
    double base_value, new_value;
    enum status status;

    status = side_median(base, &base_value);
    if (status == STATUS_OK)
        status = side_median(new_side, &new_value);
    if (status != STATUS_OK)
        goto out;
    if (!ratios || !pool_make(&base_pool, base) || !pool_make(&new_pool, new_side)) {
        status = out_of_memory();
        goto out;
    }
    out->value = new_value / base_value;
    resample(&base_pool, &new_pool, seed, most, ratios, out);
out:
    free(new_pool.atoms);
    free(base_pool.atoms);
    free(ratios);
    return status;
}

enum status side_median(const struct sample_side *side, double *out)
{
    double *medians = malloc(side->count * sizeof(*medians)), *sorted = NULL;
    enum status status = STATUS_OK;
    size_t most = 1;

    for (size_t i = 0; i < side->count; i++)
        most = side->processes[i].count > most ? side->processes[i].count : most;
    sorted = malloc(most * sizeof(*sorted));
    if (!medians || !sorted) {
        status = out_of_memory();
        goto out;
    }
    for (size_t i = 0; i < side->count; i++) {
        sort_samples(&side->processes[i], sorted);
        medians[i] = stats_median(sorted, side->processes[i].count);
    }
    stats_sort(medians, side->count);
    *out = stats_median(medians, side->count);
out:
    free(sorted);
    free(medians);
    return status;
}

/* -- Holm --------------------------------------------------------------------------------------------- */

struct ranked {
    double p;
    size_t index;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;

    return a->p != b->p ? (a->p > b->p) - (a->p < b->p) : (a->index > b->index) - (a->index < b->index);
}

enum status holm_adjust(const double *p, size_t count, double *adjusted)
{
    struct ranked *ranked = malloc((count ? count : 1) * sizeof(*ranked));
    double least = 0;

    if (!ranked)
        return out_of_memory();
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){p[i], i};
    qsort(ranked, count, sizeof(*ranked), compare_ranked);
    for (size_t i = 0; i < count; i++) {
        least = fmax(least, fmin(1, ranked[i].p * (double)(count - i)));
        adjusted[ranked[i].index] = least;
    }
    free(ranked);
    return STATUS_OK;
}
