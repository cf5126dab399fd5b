/* SPDX-License-Identifier: MIT
 * The search for levels: the cycles of accesses fall into bands. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "geometry_search.h"

enum {
    CYCLES_MAX = 8192, /* slower accesses are outliers */
    LATENCIES_MIN = 32,
    SPACINGS_MIN = 8,  /* misses that a spacing is read from */
    NOISE_MAX = 32,    /* cycles; levels are not told apart where noise is larger */
    SWEEP_MAX = 128,   /* sizes */
    SPREAD = 32,       /* see reach_at */
};

/* -- bands of cycles ----------------------------------------------------------------------------------- */

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
        floor = stats_lower_median(pool->sorted, last - first + 1);
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
        pool_add(pool, stats_lower_median(values, SWEEP_PASSES));
        sum += values[SWEEP_PASSES / 2];
    }
    return sum / count;
}

static void sweep(struct search *search, struct pool *pool)
{
    struct geometry *out = search->out;
    struct segment segments[SWEEP_MAX];
    double cycles[SWEEP_MAX];
    uint32_t bytes[SWEEP_MAX], *const ranges = search->cycles, noise;
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
    /* The deviation of one access from pass to pass: the median range of three values is 1.588 of it. */
    for (size_t i = 0; i < search->swept_count; i++)
        ranges[i] = search->swept[SWEEP_PASSES * i + SWEEP_PASSES - 1] - search->swept[SWEEP_PASSES * i];
    noise = (uint32_t)lround(stats_lower_median(ranges, search->swept_count) / 1.588);
    pool->reach = noise < 1 ? 1 : noise < NOISE_MAX ? noise : NOISE_MAX;
    for (const struct segment *of = segments; of < segments + found && of < segments + GEOMETRY_PLATEAUS_MAX; of++)
        out->plateau[out->plateau_count++] =
            (struct plateau){bytes[of->first], bytes[of->first + of->count - 1], of->level};
}

void search_explore(struct search *search)
{
    struct pool pool = {0};

    /* The first of all walks: nothing has been brought yet. The second begins elsewhere, so that what comes with the
     * time and not with the address is elsewhere, too. */
    walk_all(search, 0, 0, search->cold, &pool);
    walk_all(search, 2743 % search->words, 1, search->warm, &pool);
    sweep(search, &pool);
    find_bands(search, &pool);
}

/* Of the accesses of the sweep that a level answered in the median; where those are few, of the cold walk. Of what
 * these accesses took, what is in the level's band: the rest is outliers, or who answered changed. */
void search_latencies(struct search *search)
{
    const size_t swept = SWEEP_PASSES * search->swept_count;
    double *const samples = search->samples;

    for (int level = 0; level < (int)search->out->level_count; level++) {
        size_t n = 0;

        for (size_t i = 0; i < swept; i++)
            if (search_answered_by(search, search->swept[i]) == level &&
                search_answered_by(search, search->swept[i / SWEEP_PASSES * SWEEP_PASSES + SWEEP_PASSES / 2]) == level)
                samples[n++] = search->swept[i];
        n = n < LATENCIES_MIN ? 0 : n;
        for (size_t i = 0, few = n == 0; few && i < search->words; i++)
            if (search_answered_by(search, search->cold[i]) == level)
                samples[n++] = search->cold[i];
        if (n)
            stats_summarize(samples, n, samples + swept + search->words, &search->out->level[level].latency);
    }
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
static uint32_t spacing_of(struct search *search, const uint32_t *cycles, bool strict)
{
    uint32_t *const spacings = search->missed;
    uint32_t count = 0, last = search->words, best = 0;
    uint64_t all;

    for (uint32_t i = 0; i < search->words; i++)
        if (search_answered_by(search, cycles[i]) > search->index) {
            spacings[count] = i - last;
            count += last < i; /* the first has none before it */
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

/* Misses at odd and at even multiples of the spacing have to be about as frequent where only a warm walk has it; and all
 * misses of the warm walk, if they are many enough to say, at multiples several times as frequent as elsewhere. */
void search_fetch(struct search *search)
{
    struct geometry_number *fetch = &search->level->fetch_bytes;
    const uint32_t cold = spacing_of(search, search->cold, true), warm = spacing_of(search, search->warm, false);
    const uint32_t spacing = cold ? cold : warm, every = spacing / WORD_BYTES, all = search->words * WORD_BYTES;
    uint64_t at[2] = {0}, elsewhere = 0;
    bool begin;

    for (uint32_t i = 0; spacing && i < search->words; i++)
        if (search_answered_by(search, search->warm[i]) > search->index)
            ++*(i % every ? &elsewhere : &at[i / every % 2]);
    begin =
        at[0] + at[1] + elsewhere < 2 * SPACINGS_MIN || (every > 1 && (at[0] + at[1]) * (every - 1) >= 4 * elsewhere);
    if (cold && !begin)
        search_not_found(fetch, "misses are %u bytes apart in a cold walk, but not in a warm one", cold);
    else if (cold || (warm && begin && 2 * at[0] >= at[1] && 2 * at[1] >= at[0]))
        search_found(fetch, spacing, 2 * (size_t)search->words);
    else if (search->index + 1 == (int)search->band_count)
        search_not_found(fetch, "nothing slower was seen in walks over %u bytes", all);
    else
        search_not_found(fetch, "misses of walks over all %u bytes have no one spacing, or are too few", all);
}
