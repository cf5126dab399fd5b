/* SPDX-License-Identifier: MIT
 * The levels of the search: humps of the histogram of how long accesses to regions of growing size
 * take. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "geometry_search.h"

enum {
    NOISE_MAX = 32,    /* cycles; with larger noise, levels cannot be distinguished */
    SPREAD = 32,       /* see reach_at */
    LATENCIES_MIN = 32,
    SEEN_MIN = 100, /* answers by a level while regions grow, to say that none moves */
    MOVED_MIN = 8, /* answers by another level, of all addresses: outliers give one or two */
};

/* The scatter of samples of one level. Slow levels scatter more: their distance differs by
 * address. */
static uint32_t reach_at(const struct search *search, uint32_t cycles)
{
    return cycles / SPREAD > search->reach ? cycles / SPREAD : search->reach;
}

/* Joins levels between which no address moves as regions grow: those are parts of one level, at
 * several distances, such as slices of L2. The cold chase shows the level that regions do not
 * reach. */
static void join_levels(struct search *search)
{
    /* how often each level answers an address */
    uint32_t *const near = search->missed, *const far = search->clean;
    const uint32_t count = search->words * WORD_BYTES / SWEEP_STEP;

    for (uint32_t level = 0; level + 1 < search->band_count;) {
        uint32_t moved = 0, seen = 0;
        size_t swept = 0;

        for (uint32_t i = 0; i < count; i++) {
            near[i] = 0;
            far[i] = search_answered_by(search, search->cold[i * SWEEP_STEP / WORD_BYTES]) ==
                     (int)level + 1;
        }
        for (double size = 128; swept < search->swept_count; size *= pow(2, 0.25))
            for (uint32_t i = 0; i < (uint32_t)size / SWEEP_STEP; i++, swept++) {
                const int by =
                    search_answered_by(search,
                                       search->swept[SWEEP_PASSES * swept + SWEEP_PASSES / 2]) -
                    (int)level;

                near[i] += by == 0;
                far[i] += by == 1;
            }
        for (uint32_t i = 0; i < count; i++) {
            seen += near[i];
            moved += near[i] < far[i] ? near[i] : far[i];
        }
        if (moved >= MOVED_MIN || seen < SEEN_MIN) {
            level++;
            continue;
        }
        search->bands[level].high = search->bands[level + 1].high;
        for (uint32_t i = level + 2; i < search->band_count; i++)
            search->bands[i - 1] = search->bands[i];
        search->band_count--;
    }
}

/* Chases regions of growing size, several times each, and counts the medians of accesses by their
 * cycles. */
static void sweep(struct search *search)
{
    for (double size = 128; size <= search->words * (double)WORD_BYTES; size *= pow(2, 0.25)) {
        const uint32_t count = (uint32_t)size / SWEEP_STEP;

        for (uint32_t i = 0; i < count; i++)
            search->address[i] = i * SWEEP_STEP;
        search_chase(search, count, 2, SWEEP_PASSES);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t *const values = search->swept + SWEEP_PASSES * search->swept_count++, middle;

            for (uint32_t p = 0; p < SWEEP_PASSES; p++)
                values[p] = search->cycles[p * count + i];
            middle = stats_lower_median(values, SWEEP_PASSES);
            search->count[middle < CYCLES_MAX ? middle : CYCLES_MAX] += 1;
        }
    }
}

/* Determines the noise of an access, from its range between the passes of the sweep: the median
 * range of three values is 1.588 times the deviation. */
static void find_noise(struct search *search)
{
    uint32_t *const ranges = search->cycles, noise;

    for (size_t i = 0; i < search->swept_count; i++)
        ranges[i] =
            search->swept[SWEEP_PASSES * i + SWEEP_PASSES - 1] - search->swept[SWEEP_PASSES * i];
    noise = (uint32_t)lround(stats_lower_median(ranges, search->swept_count) / 1.588);
    search->reach = noise < 1 ? 1 : noise < NOISE_MAX ? noise : NOISE_MAX;
}

/* Counts, for every number of cycles, the accesses of the histogram within its reach. Returns how
 * many make a hump: well above the floor of outliers, which is the content of the median window. */
static uint32_t smooth(struct search *search)
{
    uint32_t *const near = search->near, first = CYCLES_MAX, last = 0, floor = 0;

    for (uint32_t x = 0; x < CYCLES_MAX; x++) {
        const uint32_t reach = reach_at(search, x),
                       end = x + reach < CYCLES_MAX ? x + reach : CYCLES_MAX - 1;

        for (uint32_t y = x > reach ? x - reach : 0; y <= end; y++)
            near[x] += search->count[y];
        if (search->count[x]) {
            first = first < x ? first : x;
            last = x;
        }
    }
    if (first < last) {
        memcpy(search->cycles, near + first, (last - first + 1) * sizeof(*near));
        floor = stats_lower_median(search->cycles, last - first + 1);
    }
    return 12 + floor + (uint32_t)(6 * sqrt(floor));
}

/* Finds the bands of cycles: humps of the smoothed histogram. A hump rises to the threshold and to
 * three times the valley before it, and ends where it has fallen to a twentieth of its top. */
static void find_bands(struct search *search, uint32_t threshold)
{
    const uint32_t *const near = search->near;
    uint32_t low = 0, top = 0, valley = 0;
    bool inside = false;

    for (uint32_t x = 0; x < CYCLES_MAX; x++)
        if (!inside && near[x] >= threshold && near[x] >= 3 * valley) {
            inside = true;
            low = x;
            top = near[x];
        } else if (!inside) {
            valley = near[x] < valley ? near[x] : valley;
        } else if (near[x] < threshold || near[x] < top / 20) {
            if (search->band_count < GEOMETRY_LEVELS_MAX)
                search->bands[search->band_count++] = (struct band){low, x - 1};
            inside = false;
            valley = near[x];
        } else {
            top = near[x] > top ? near[x] : top;
        }
    for (uint32_t i = 0; i < search->band_count; i++) {
        struct band *band = &search->bands[i];
        const uint32_t below = 2 * reach_at(search, band->low);

        band->low = band->low > below ? band->low - below : 0;
        band->high += 2 * reach_at(search, band->high);
    }
}

/* A level's latency is that of accesses of the sweep whose median it answered; if those are few, of
 * the cold chase. Single cycles outside the level's band are outliers, or answers of another
 * level. */
static void find_latency(struct search *search, int level)
{
    double *const samples = search->samples;
    size_t n = 0;

    for (size_t i = 0; i < SWEEP_PASSES * search->swept_count; i++) {
        const size_t median = i / SWEEP_PASSES * SWEEP_PASSES + SWEEP_PASSES / 2;

        if (search_answered_by(search, search->swept[i]) == level &&
            search_answered_by(search, search->swept[median]) == level)
            samples[n++] = search->swept[i];
    }
    if (n < LATENCIES_MIN) {
        n = 0;
        for (size_t i = 0; i < search->words; i++)
            if (search_answered_by(search, search->cold[i]) == level)
                samples[n++] = search->cold[i];
    }
    if (n)
        stats_spread(samples, n, &search->out->level[level].latency);
}

void search_levels(struct search *search, uint32_t levels_max)
{
    sweep(search);
    find_noise(search);
    find_bands(search, smooth(search));
    if (search->status != STATUS_OK)
        return;
    join_levels(search);
    search->out->level_count = search->band_count < levels_max ? search->band_count : levels_max;
    for (int level = 0; level < (int)search->out->level_count; level++)
        find_latency(search, level);
}
