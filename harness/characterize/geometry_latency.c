/* SPDX-License-Identifier: MIT
 * The search for levels: the cycles of accesses fall into bands. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "geometry_search.h"
#include "log.h"

enum {
    CYCLES_MAX = 8192, /* slower accesses are outliers */
    LATENCIES_MIN = 32,
    SPACINGS_MIN = 8,  /* misses that a spacing is read from */
    NOISE_MAX = 32,    /* cycles; levels are not told apart where noise is larger */
    SWEEP_MAX = 128,   /* sizes */
    SPREAD = 32,       /* see reach_at */
};

/* -- bands of cycles ----------------------------------------------------------------------------------- */

/* The lower one of the two in the middle, of an even count. Sorts the values. */
static uint32_t median_of(uint32_t *values, size_t count)
{
    stats_sort_uint32(values, count);
    return values[(count - 1) / 2];
}

struct pool {
    uint32_t count[CYCLES_MAX]; /* samples of so many cycles */
    uint32_t near[CYCLES_MAX]; /* ... and of reach_at more or fewer */
    uint32_t sorted[CYCLES_MAX]; /* room */
    uint32_t reach;
};

/* What is far away takes more or less by more: it has a way to go that differs by address. */
static uint32_t reach_at(const struct pool *pool, uint32_t cycles)
{
    return cycles / SPREAD > pool->reach ? cycles / SPREAD : pool->reach;
}

static void pool_add(struct pool *pool, uint32_t cycles)
{
    if (cycles < CYCLES_MAX)
        pool->count[cycles]++;
}

/* Sums over the window, and what a window must hold to be of a level: well above the floor of outliers, which is what
 * the median window holds. */
static uint32_t pool_threshold(struct pool *pool)
{
    uint32_t *const near = pool->near;
    uint32_t first = CYCLES_MAX, last = 0, floor = 0;

    for (uint32_t x = 0; x < CYCLES_MAX; x++) {
        const uint32_t reach = reach_at(pool, x), end = x + reach < CYCLES_MAX ? x + reach : CYCLES_MAX - 1;

        near[x] = 0;
        for (uint32_t y = x > reach ? x - reach : 0; y <= end; y++)
            near[x] += pool->count[y];
        if (pool->count[x]) {
            first = first < x ? first : x;
            last = x;
        }
    }
    if (first < last) {
        memcpy(pool->sorted, near + first, (last - first + 1) * sizeof(*near));
        floor = median_of(pool->sorted, last - first + 1);
    }
    return 12 + floor + (uint32_t)(6 * sqrt(floor));
}

/* Humps of the histogram, each until it has fallen to a twentieth of its top. */
static void find_bands(struct search *search, struct pool *pool)
{
    const uint32_t threshold = pool_threshold(pool);
    uint32_t low = 0, top = 0, valley = 0;
    bool inside = false;

    for (uint32_t x = 0; x < CYCLES_MAX; x++) {
        const uint32_t near = pool->near[x];

        if (!inside && near >= threshold && near >= 3 * valley) {
            inside = true;
            low = x;
            top = near;
        } else if (!inside) {
            valley = near < valley ? near : valley;
        } else if (near < threshold || near < top / 20) {
            if (search->band_count < GEOMETRY_LEVELS_MAX)
                search->bands[search->band_count++] = (struct band){low, x - 1};
            inside = false;
            valley = near;
        } else {
            top = near > top ? near : top;
        }
    }
    for (uint32_t i = 0; i < search->band_count; i++) {
        struct band *band = &search->bands[i];

        band->low = band->low > 2 * reach_at(pool, band->low) ? band->low - 2 * reach_at(pool, band->low) : 0;
        band->high += 2 * reach_at(pool, band->high);
        if (i && band[-1].high >= band->low) {
            band[-1].high = (band[-1].high + band->low) / 2;
            band->low = band[-1].high + 1;
        }
    }
}

/* All words, from `first` around to the one before it; cycles[word]. */
static void walk_all(struct search *search, uint32_t first, uint32_t warm_up, uint32_t *cycles, struct pool *pool)
{
    for (uint32_t i = 0; i < search->words; i++)
        search->address[i] = (first + i) % search->words * WORD_BYTES;
    search_walk(search, search->words, warm_up, 1);
    for (uint32_t i = 0; i < search->words; i++) {
        cycles[(first + i) % search->words] = search->cycles[i];
        pool_add(pool, search->cycles[i]);
    }
}

/* The deviation of one access from pass to pass: the median range of three values is 1.588 of it. */
static uint32_t noise_of(const uint32_t *swept, size_t accesses, uint32_t *ranges)
{
    for (size_t i = 0; i < accesses; i++)
        ranges[i] = swept[SWEEP_PASSES * i + SWEEP_PASSES - 1] - swept[SWEEP_PASSES * i];
    return (uint32_t)lround(median_of(ranges, accesses) / 1.588);
}

/* Walks a region again and again. Returns the mean of the medians of its accesses. */
static double sweep_region(struct search *search, struct pool *pool, uint32_t count)
{
    double sum = 0;

    for (uint32_t i = 0; i < count; i++)
        search->address[i] = i * SWEEP_STEP;
    search_walk(search, count, 2, SWEEP_PASSES);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *const values = search->swept + SWEEP_PASSES * search->swept_count++;

        for (uint32_t p = 0; p < SWEEP_PASSES; p++)
            values[p] = search->cycles[p * count + i];
        pool_add(pool, median_of(values, SWEEP_PASSES));
        sum += values[SWEEP_PASSES / 2];
    }
    return sum / count;
}

static void sweep(struct search *search, struct pool *pool)
{
    struct geometry *out = search->out;
    struct segment segments[SWEEP_MAX];
    double cycles[SWEEP_MAX];
    uint32_t bytes[SWEEP_MAX], noise;
    size_t points = 0, found = 0;

    for (double size = 128; size <= search->words * (double)WORD_BYTES && points < SWEEP_MAX; size *= pow(2, 0.25)) {
        const uint32_t count = (uint32_t)size / SWEEP_STEP;

        cycles[points] = sweep_region(search, pool, count);
        bytes[points++] = count * SWEEP_STEP;
    }
    if (points && search->status == STATUS_OK)
        search->status = change_point_find(cycles, points, 1, 0.5, segments, &found);
    if (!points)
        return;
    noise = noise_of(search->swept, search->swept_count, search->cycles);
    pool->reach = noise < 1 ? 1 : noise < NOISE_MAX ? noise : NOISE_MAX;
    for (const struct segment *of = segments; of < segments + found && of < segments + GEOMETRY_PLATEAUS_MAX; of++)
        out->plateau[out->plateau_count++] =
            (struct plateau){bytes[of->first], bytes[of->first + of->count - 1], of->level};
}

void search_explore(struct search *search)
{
    struct pool *pool = calloc(1, sizeof(*pool));

    if (!pool) {
        search->status = log_error(STATUS_ENVIRONMENT, "out of memory for a histogram of cycles; free some memory");
        return;
    }
    /* The first of all walks: nothing has been brought yet. The second begins elsewhere, so that what comes with the
     * time and not with the address is elsewhere, too. */
    walk_all(search, 0, 0, search->cold, pool);
    walk_all(search, 2743 % search->words, 1, search->warm, pool);
    sweep(search, pool);
    find_bands(search, pool);
    free(pool);
}

/* Of the accesses of the sweep that a level answered in the median; where those are few, of the cold walk. Of what
 * these accesses took, what is in the level's band: the rest is outliers, or who answered changed. */
void search_latencies(struct search *search)
{
    const size_t most = SWEEP_PASSES * search->swept_count + search->words;
    double *samples = malloc(2 * most * sizeof(*samples));

    if (!samples)
        search->status = log_error(STATUS_ENVIRONMENT, "out of memory for %zu samples; free some memory", most);
    for (size_t level = 0; samples && level < search->out->level_count; level++) {
        size_t n = 0;
        bool few;

        for (size_t i = 0; i < SWEEP_PASSES * search->swept_count; i++)
            if (search_answered_by(search, search->swept[i]) == level &&
                search_answered_by(search, search->swept[i / SWEEP_PASSES * SWEEP_PASSES + SWEEP_PASSES / 2]) == level)
                samples[n++] = search->swept[i];
        few = n < LATENCIES_MIN;
        n = few ? 0 : n;
        for (size_t i = 0; few && i < search->words; i++)
            if (search_answered_by(search, search->cold[i]) == level)
                samples[n++] = search->cold[i];
        if (n)
            stats_summarize(samples, n, samples + most, &search->out->level[level].latency);
    }
    free(samples);
}

static bool misses(const struct search *search, uint32_t cycles, size_t level)
{
    const uint8_t by = search_answered_by(search, cycles);

    return by != NOBODY && by > level;
}

/* -- what one miss brings ----------------------------------------------------------------------------- */

/* Bytes of the spacings, sorted, that are `spacing` or, unless `strict`, a multiple of it. */
static uint64_t covered(const uint32_t *spacings, uint32_t count, uint32_t spacing, bool strict)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < count; i++)
        if (strict ? spacings[i] == spacing : spacings[i] % spacing == 0)
            sum += spacings[i];
    return sum;
}

/* The spacing of the misses of `level` in a walk over all words: the largest that (or, unless `strict`, the multiples
 * of which) most of the memory between misses is covered with, and that occurs itself. 0: none. Not simply the most
 * frequent: where lines of others are, every word may miss. */
static uint32_t spacing_of(struct search *search, const uint32_t *cycles, size_t level, bool strict)
{
    uint32_t *const spacings = search->missed;
    uint32_t count = 0, last = 0, best = 0;
    uint64_t all;
    bool any = false;

    for (uint32_t i = 0; i < search->words; i++) {
        if (!misses(search, cycles[i], level))
            continue;
        if (any)
            spacings[count++] = i - last;
        any = true;
        last = i;
    }
    if (count < SPACINGS_MIN)
        return 0;
    stats_sort_uint32(spacings, count);
    all = covered(spacings, count, 1, false);
    for (uint32_t i = 0, n = 0; i < count; i++) {
        n = i && spacings[i] == spacings[i - 1] ? n + 1 : 1;
        if ((n == SPACINGS_MIN / 2 || n * 10 == count) &&
            covered(spacings, count, spacings[i], strict) * 100 >= all * 85 &&
            covered(spacings, count, spacings[i], true) * 20 >= all)
            best = spacings[i];
    }
    return best * WORD_BYTES;
}

/* Whether misses at odd multiples of `bytes` are about as frequent as at even ones. */
static bool odd_and_even(const struct search *search, const uint32_t *cycles, size_t level, uint32_t bytes)
{
    const uint32_t every = bytes / WORD_BYTES;
    uint32_t count[2] = {0, 0};

    for (uint32_t i = 0; i < search->words; i += every)
        count[i / every % 2] += misses(search, cycles[i], level);
    return 2 * count[0] >= count[1] && 2 * count[1] >= count[0];
}

/* Whether the misses of a walk over all words, if they are many enough to say, are at multiples of `bytes`: several
 * times as frequent as elsewhere. */
static bool all_begin_at(const struct search *search, const uint32_t *cycles, size_t level, uint32_t bytes)
{
    const uint32_t every = bytes / WORD_BYTES;
    uint64_t count = 0, agree = 0;

    for (uint32_t i = 0; i < search->words; i++)
        if (misses(search, cycles[i], level)) {
            count++;
            agree += i % every == 0;
        }
    return count < 2 * SPACINGS_MIN || (every > 1 && agree * (every - 1) >= 4 * (count - agree));
}

void search_fetch(struct search *search, size_t level)
{
    struct geometry_number *fetch = &search->out->level[level].fetch_bytes;
    const uint32_t cold = spacing_of(search, search->cold, level, true);
    const uint32_t warm = spacing_of(search, search->warm, level, false);

    if (cold && !all_begin_at(search, search->warm, level, cold))
        search_not_found(fetch, "misses are %u bytes apart in a cold walk, but not in a warm one", cold);
    else if (cold)
        search_found(fetch, cold, 2 * (size_t)search->words);
    else if (warm && all_begin_at(search, search->warm, level, warm) && odd_and_even(search, search->warm, level, warm))
        search_found(fetch, warm, 2 * (size_t)search->words);
    else if (level + 1 == search->band_count)
        search_not_found(fetch, "nothing slower was seen in walks over %u bytes", search->words * WORD_BYTES);
    else
        search_not_found(fetch, "misses of walks over all %u bytes have no one spacing, or are too few",
                         search->words * WORD_BYTES);
}
