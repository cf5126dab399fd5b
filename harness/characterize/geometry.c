/* SPDX-License-Identifier: MIT */
#include "geometry.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "log.h"
#include "random.h"

enum {
    WORD_BYTES = 4,
    CYCLES_MAX = 8192,    /* slower accesses are outliers */
    LATENCIES_MIN = 32,
    SPACINGS_MIN = 8,     /* misses that a spacing is read from */
    NOISE_MAX = 32,       /* cycles; levels are not told apart where noise is larger */
    NOBODY = 255,         /* an access that no level answers in this time */
    REPLACED_WARM_UP = 8, /* walks before what tells replacement is timed */
    CONVERGE_ACCESSES = 40000, /* of a warm-up for replacement that takes long to keep what fits */
    MANY_ACCESSES = 100000,    /* to see every line of a set missed where few are in a pass */
    LISTS_DRAWN = 6,           /* at random, to check what was found */
    SWEEP_STEP = 16,           /* bytes; the sweep's sizes are a quarter of an octave apart */
    SWEEP_MAX = 128,
    SWEEP_PASSES = 3,
    SPREAD = 32, /* see reach_at */
};

/* The group of an access that is in none. */
static const uint32_t NO_GROUP = UINT32_MAX;

static const char fetch_method[] = "spacing of the misses of a walk over all words, cold and warm";
static const char line_method[] = "length of the runs of misses of the smallest region that does not fit";
static const char fits_method[] = "bisection: regions walked again and again, who answers each access";
static const char sets_method[] = "spacing of the misses of the smallest region that does not fit; lists at random";
static const char ways_method[] = "most lines of one set that all hit, each set by itself; lists drawn at random";
static const char capacity_method[] = "ways x sets x line";
static const char taken_method[] = "ways less the lines that fit, over all sets";
static const char replacement_method[] =
    "one line more than ways, some walked twice as often: which of them miss; simulated caches that do";

struct band {
    uint32_t low, high; /* cycles, both in it */
};

/* What is known of a level, for finding the next. Lines of set s: s ^ swap, s ^ swap + sets, ... with the swap of the
 * bank that they are in. */
struct model {
    bool known;
    uint32_t line_bytes, sets, ways;
    uint32_t swap[GEOMETRY_BANKS_MAX]; /* below sets; 0 unless memory is several banks and sets a power of two */
    uint32_t *fits, *overflows; /* [sets], owned: most lines that hit, fewest that do not (UINT32_MAX: not seen) */
};

enum verdict { UNCLEAR, FITS, OVERFLOWS };

struct search {
    const struct prober *prober;
    struct geometry *out;
    uint64_t random;
    uint32_t words; /* that a walk over all words takes; fewer than there are where samples_max is small */
    uint32_t step;  /* bytes from one access of a region to the next: what the first level brings */
    struct band bands[GEOMETRY_LEVELS_MAX];
    uint32_t band_count;
    struct model models[GEOMETRY_LEVELS_MAX];

    /* Owned. [words]: the list of the next walk, the group of each access, passes in which it was missed and in which
     * it was answered in the time of any level; the verdict on each group and its passes without a miss. */
    uint32_t *address, *group, *missed, *answered, *clean;
    uint8_t *verdict;
    uint32_t *cycles; /* [samples_max] */
    uint32_t *cold, *warm; /* [words]: cycles of the walks over all words */
    uint32_t *swept; /* cycles of the walks of the sweep, SWEEP_PASSES of each access together */
    size_t swept_count; /* accesses */
    uint32_t passes; /* of the last judgement */
};

const char *replacement_name(enum replacement replacement)
{
    static const char *const names[] = {"unknown", "LRU", "FIFO", "not LRU", "tree pseudo-LRU"};

    return names[replacement];
}

/* -- findings ----------------------------------------------------------------------------------------- */

static void found(struct geometry_number *finding, uint32_t value, size_t samples)
{
    finding->known = true;
    finding->value = value;
    finding->samples = samples;
    finding->reason[0] = '\0';
}

static void not_found(struct geometry_number *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void not_found(struct geometry_number *finding, const char *format, ...)
{
    va_list arguments;

    finding->known = false;
    finding->value = 0;
    va_start(arguments, format);
    vsnprintf(finding->reason, sizeof(finding->reason), format, arguments);
    va_end(arguments);
}

static void contradiction(struct geometry_level *level, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void contradiction(struct geometry_level *level, const char *format, ...)
{
    va_list arguments;

    level->contradicts = true;
    va_start(arguments, format);
    vsnprintf(level->contradiction, sizeof(level->contradiction), format, arguments);
    va_end(arguments);
}

/* What follows from ways and sets, when those are not known. */
static void not_shaped(struct geometry_level *level, const char *reason)
{
    struct geometry_number *const findings[] = {&level->line_bytes, &level->capacity_bytes, &level->ways,
                                                &level->sets,       &level->lines_taken,    &level->replacement};

    for (size_t i = 0; i < sizeof(findings) / sizeof(findings[0]); i++)
        not_found(findings[i], "%s", reason);
}

/* -- walks -------------------------------------------------------------------------------------------- */

static enum status walk(struct search *search, size_t count, uint32_t warm_up, uint32_t timed)
{
    const struct probe_walk list = {search->address, count, warm_up, timed};

    search->out->walks++;
    search->out->accesses += count * (warm_up + timed);
    return search->prober->walk(search->prober->context, &list, search->cycles);
}

static uint8_t answered_by(const struct search *search, uint32_t cycles)
{
    for (uint32_t i = 0; i < search->band_count; i++)
        if (cycles >= search->bands[i].low && cycles <= search->bands[i].high)
            return (uint8_t)i;
    return NOBODY;
}

static bool misses(const struct search *search, uint32_t cycles, uint32_t level)
{
    const uint8_t by = answered_by(search, cycles);

    return by != NOBODY && by > level;
}

/* -- levels of latency -------------------------------------------------------------------------------- */

static int compare_cycles(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

static uint32_t median_of(uint32_t *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare_cycles);
    return values[(count - 1) / 2];
}

struct pool {
    uint32_t count[CYCLES_MAX]; /* samples of so many cycles */
    uint32_t near[CYCLES_MAX]; /* ... and of reach_at more or fewer */
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
        uint32_t *sorted = malloc((last - first + 1) * sizeof(*sorted));

        if (sorted) {
            memcpy(sorted, near + first, (last - first + 1) * sizeof(*sorted));
            floor = median_of(sorted, last - first + 1);
            free(sorted);
        }
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
static enum status walk_all(struct search *search, uint32_t first, uint32_t warm_up, uint32_t *cycles,
                            struct pool *pool)
{
    enum status status;

    for (uint32_t i = 0; i < search->words; i++)
        search->address[i] = (first + i) % search->words * WORD_BYTES;
    status = walk(search, search->words, warm_up, 1);
    for (uint32_t i = 0; status == STATUS_OK && i < search->words; i++) {
        cycles[(first + i) % search->words] = search->cycles[i];
        pool_add(pool, search->cycles[i]);
    }
    return status;
}

/* The deviation of one access from pass to pass: the median range of three values is 1.588 of it. */
static uint32_t noise_of(const uint32_t *swept, size_t accesses, uint32_t *ranges)
{
    for (size_t i = 0; i < accesses; i++)
        ranges[i] = swept[SWEEP_PASSES * i + SWEEP_PASSES - 1] - swept[SWEEP_PASSES * i];
    return (uint32_t)lround(median_of(ranges, accesses) / 1.588);
}

static enum status sweep(struct search *search, struct pool *pool)
{
    struct geometry *out = search->out;
    struct segment segments[SWEEP_MAX];
    uint32_t bytes[SWEEP_MAX];
    double cycles[SWEEP_MAX];
    size_t points = 0, found_count = 0;

    for (double size = 128; size <= search->words * (double)WORD_BYTES && points < SWEEP_MAX; size *= pow(2, 0.25)) {
        const uint32_t count = (uint32_t)size / SWEEP_STEP;
        enum status status;
        double sum = 0;

        for (uint32_t i = 0; i < count; i++)
            search->address[i] = i * SWEEP_STEP;
        status = walk(search, count, 2, SWEEP_PASSES);
        if (status != STATUS_OK)
            return status;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t *const values = search->swept + SWEEP_PASSES * search->swept_count++;

            for (uint32_t p = 0; p < SWEEP_PASSES; p++)
                values[p] = search->cycles[p * count + i];
            pool_add(pool, median_of(values, SWEEP_PASSES));
            sum += values[SWEEP_PASSES / 2];
        }
        bytes[points] = count * SWEEP_STEP;
        cycles[points++] = sum / count;
    }
    if (points) {
        const uint32_t noise = noise_of(search->swept, search->swept_count, search->cycles);
        const enum status status = change_point_find(cycles, points, 1, 0.5, segments, &found_count);

        if (status != STATUS_OK)
            return status;
        pool->reach = noise < 1 ? 1 : noise < NOISE_MAX ? noise : NOISE_MAX;
    }
    for (size_t i = 0; i < found_count && i < GEOMETRY_PLATEAUS_MAX; i++)
        out->plateau[out->plateau_count++] =
            (struct plateau){bytes[segments[i].first], bytes[segments[i].first + segments[i].count - 1],
                             segments[i].level};
    return STATUS_OK;
}

static enum status explore(struct search *search)
{
    struct pool *pool = calloc(1, sizeof(*pool));
    enum status status;

    if (!pool)
        return log_error(STATUS_ENVIRONMENT, "out of memory for a histogram of cycles; free some memory");
    /* The first of all walks: nothing has been brought yet. The second begins elsewhere, so that what comes with the
     * time and not with the address is elsewhere, too. */
    status = walk_all(search, 0, 0, search->cold, pool);
    if (status == STATUS_OK)
        status = walk_all(search, 2743 % search->words, 1, search->warm, pool);
    if (status == STATUS_OK)
        status = sweep(search, pool);
    if (status == STATUS_OK)
        find_bands(search, pool);
    free(pool);
    return status;
}

/* Of the accesses of the sweep that a level answered in the median; where those are few, of the cold walk. Of what
 * these accesses took, what is in the level's band: the rest is outliers, or who answered changed. */
static enum status find_latencies(struct search *search)
{
    const size_t most = SWEEP_PASSES * search->swept_count + search->words;
    double *samples = malloc(2 * most * sizeof(*samples));

    if (!samples)
        return log_error(STATUS_ENVIRONMENT, "out of memory for %zu samples; free some memory", most);
    for (uint32_t level = 0; level < search->out->level_count; level++) {
        size_t n = 0;
        bool few;

        for (size_t i = 0; i < SWEEP_PASSES * search->swept_count; i++)
            if (answered_by(search, search->swept[i]) == level &&
                answered_by(search, search->swept[i / SWEEP_PASSES * SWEEP_PASSES + SWEEP_PASSES / 2]) == level)
                samples[n++] = search->swept[i];
        few = n < LATENCIES_MIN;
        n = few ? 0 : n;
        for (size_t i = 0; few && i < search->words; i++)
            if (answered_by(search, search->cold[i]) == level)
                samples[n++] = search->cold[i];
        if (n)
            stats_summarize(samples, n, samples + most, &search->out->level[level].latency);
    }
    free(samples);
    return STATUS_OK;
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
static uint32_t spacing_of(struct search *search, const uint32_t *cycles, uint32_t level, bool strict)
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
    qsort(spacings, count, sizeof(*spacings), compare_cycles);
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
static bool odd_and_even(const struct search *search, const uint32_t *cycles, uint32_t level, uint32_t bytes)
{
    const uint32_t every = bytes / WORD_BYTES;
    uint32_t count[2] = {0, 0};

    for (uint32_t i = 0; i < search->words; i += every)
        count[i / every % 2] += misses(search, cycles[i], level);
    return 2 * count[0] >= count[1] && 2 * count[1] >= count[0];
}

/* Whether the misses of a walk over all words, if they are many enough to say, are at multiples of `bytes`: several
 * times as frequent as elsewhere. */
static bool all_begin_at(const struct search *search, const uint32_t *cycles, uint32_t level, uint32_t bytes)
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

static void find_fetch(struct search *search, uint32_t level)
{
    struct geometry_number *fetch = &search->out->level[level].fetch_bytes;
    const uint32_t cold = spacing_of(search, search->cold, level, true);
    const uint32_t warm = spacing_of(search, search->warm, level, false);

    if (cold && !all_begin_at(search, search->warm, level, cold))
        not_found(fetch, "misses are %u bytes apart in a cold walk, but not in a warm one", cold);
    else if (cold)
        found(fetch, cold, 2 * (size_t)search->words);
    else if (warm && all_begin_at(search, search->warm, level, warm) && odd_and_even(search, search->warm, level, warm))
        found(fetch, warm, 2 * (size_t)search->words);
    else if (level + 1 == search->band_count)
        not_found(fetch, "nothing slower was seen in walks over %u bytes", search->words * WORD_BYTES);
    else
        not_found(fetch, "misses of walks over all %u bytes have no one spacing, or are too few",
                  search->words * WORD_BYTES);
}

/* -- hit or miss -------------------------------------------------------------------------------------- */

/* Passes over the list, after a warm-up. */
static enum status count_misses(struct search *search, uint32_t level, size_t count, uint32_t groups, uint32_t warm_up,
                                uint32_t passes)
{
    const size_t room = search->prober->samples_max / count;
    uint32_t done = 0;

    memset(search->missed, 0, count * sizeof(*search->missed));
    memset(search->answered, 0, count * sizeof(*search->answered));
    for (uint32_t g = 0; g < groups; g++)
        search->clean[g] = passes;
    while (done < passes) {
        const uint32_t timed = passes - done < room ? passes - done : (uint32_t)room;
        const enum status status = walk(search, count, warm_up, timed);

        if (status != STATUS_OK)
            return status;
        for (uint32_t p = 0; p < timed; p++) {
            memset(search->verdict, 0, groups);
            for (size_t i = 0; i < count; i++) {
                const uint8_t by = answered_by(search, search->cycles[p * count + i]);

                search->answered[i] += by != NOBODY;
                if (by == NOBODY || by <= level)
                    continue;
                search->missed[i]++;
                if (search->group[i] != NO_GROUP && !search->verdict[search->group[i]]) {
                    search->verdict[search->group[i]] = 1;
                    search->clean[search->group[i]]--;
                }
            }
        }
        done += timed;
    }
    search->passes = passes;
    return STATUS_OK;
}

/* One miss is nothing: an outlier can look like it. The same access missed again and again, or hardly a pass without
 * one, is. *wavers: in some group misses come and go. */
static void judge_groups(struct search *search, size_t count, uint32_t groups, bool *wavers)
{
    const uint32_t passes = search->passes;
    const uint32_t often = passes / 3 > 3 ? passes / 3 : 3;

    for (uint32_t g = 0; g < groups; g++)
        search->verdict[g] = search->clean[g] * 10 >= passes * 4 ? FITS
                             : search->clean[g] * 10 <= passes   ? OVERFLOWS
                                                                 : UNCLEAR;
    for (size_t i = 0; i < count; i++)
        if (search->group[i] != NO_GROUP && search->missed[i] >= often)
            search->verdict[search->group[i]] = OVERFLOWS;
    *wavers = false;
    for (size_t i = 0; i < count; i++)
        if (search->group[i] != NO_GROUP && search->missed[i] >= 2 && search->missed[i] + 1 < passes)
            *wavers = true;
    for (uint32_t g = 0; g < groups; g++)
        *wavers |= search->verdict[g] == UNCLEAR;
}

/* The verdict on each group of accesses of the list: whether all of them hit in `level`, or a level before it, when the
 * list is walked again and again. */
static enum status judge(struct search *search, uint32_t level, size_t count, uint32_t groups)
{
    const uint32_t converge = (uint32_t)(CONVERGE_ACCESSES / count);
    const uint32_t warm_ups[] = {2, converge < 8 ? 8 : converge > 300 ? 300 : converge};
    bool wavers = true;

    for (uint32_t round = 0; round < 2 && wavers; round++) {
        const enum status status = count_misses(search, level, count, groups, warm_ups[round], round ? 12 : 4);

        if (status != STATUS_OK)
            return status;
        judge_groups(search, count, groups, &wavers);
    }
    return STATUS_OK;
}

/* The list of the first units of `unit` bytes, in one group. */
static size_t list_region(struct search *search, uint32_t units, uint32_t unit)
{
    const size_t count = (size_t)units * unit / search->step;

    for (size_t i = 0; i < count; i++) {
        search->address[i] = (uint32_t)i * search->step;
        search->group[i] = 0;
    }
    return count;
}

static uint32_t swap_of(const struct search *search, const struct model *model, uint32_t line)
{
    const uint32_t bytes = search->prober->bank_bytes;

    return bytes ? model->swap[(uint64_t)line * model->line_bytes / bytes] : 0;
}

/* The set of a line. */
static uint32_t set_of(const struct search *search, const struct model *model, uint32_t line)
{
    return line % model->sets ^ swap_of(search, model, line);
}

/* Line number `tag` of a set. */
static uint32_t line_of(const struct search *search, const struct model *model, uint32_t tag, uint32_t set)
{
    return tag * model->sets + (set ^ swap_of(search, model, tag * model->sets));
}

/* The list of the first lines; the group of an access is its set. */
static size_t list_lines(struct search *search, const struct model *model, uint32_t lines)
{
    const size_t count = list_region(search, lines, model->line_bytes);

    for (size_t i = 0; i < count; i++)
        search->group[i] = set_of(search, model, search->address[i] / model->line_bytes);
    return count;
}

/* -- the largest region that fits ---------------------------------------------------------------------- */

/* The smallest region that overflows each set of the levels before `level`. */
static uint32_t passes_levels_before(const struct search *search, uint32_t level)
{
    const struct geometry_level *before = &search->out->level[level - (level > 0)];

    if (level == 0)
        return 0;
    if (before->capacity_bytes.known)
        return before->capacity_bytes.value + before->sets.value * before->line_bytes.value;
    return 2 * before->fits_bytes.value;
}

static enum status find_fits(struct search *search, uint32_t level)
{
    struct geometry_number *fits = &search->out->level[level].fits_bytes;
    const uint32_t unit = search->out->level[level].fetch_bytes.value;
    const uint32_t most = search->words * WORD_BYTES / unit;
    const uint32_t first = (passes_levels_before(search, level) + unit - 1) / unit;
    uint32_t low = 0, high = 0; /* fit, do not */

    for (uint32_t units = first ? first : 1;; units = high ? (low + high) / 2 : units * 2 < most ? units * 2 : most) {
        size_t count;
        enum status status;

        if (units > most)
            break;
        count = list_region(search, units, unit);
        status = judge(search, level, count, 1);
        if (status != STATUS_OK)
            return status;
        if (search->verdict[0] == UNCLEAR) {
            not_found(fits, "too noisy: whether %u bytes fit cannot be told", units * unit);
            return STATUS_OK;
        }
        if (search->verdict[0] == FITS)
            low = units;
        else
            high = units;
        fits->samples = count * search->passes;
        if (low == most || high == low + 1 || (!low && high))
            break;
    }
    if (low == 0 && high)
        not_found(fits, "already the smallest region that passes the levels before it, %u bytes, does not fit",
                  high * unit);
    else if (low == 0)
        not_found(fits, "%u bytes are too few to pass the levels before it", most * unit);
    else if (low == most)
        not_found(fits, "all of the %u bytes that could be walked fit", most * unit);
    else
        found(fits, low * unit, fits->samples);
    return STATUS_OK;
}

/* -- sets --------------------------------------------------------------------------------------------- */

static uint32_t divisor(uint32_t a, uint32_t b)
{
    while (b) {
        const uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Runs of missed units: how long, how far apart. */
struct runs {
    uint32_t count, units; /* runs, and units in all of them */
    uint32_t length; /* of the first; 0: others differ (but for the last, which may be cut) */
    uint32_t apart; /* greatest common divisor of the distances of their starts */
    bool even; /* those are all equal */
};

static struct runs runs_of(const uint8_t *missed, uint32_t units)
{
    struct runs runs = {0, 0, 0, 0, true};
    uint32_t start = 0, before = 0;

    for (uint32_t i = 0; i < units; i++) {
        if (!missed[i])
            continue;
        runs.units++;
        if (i == 0 || !missed[i - 1]) {
            start = i;
            if (runs.count++) {
                runs.even = runs.even && (!runs.apart || runs.apart == i - before);
                runs.apart = divisor(runs.apart, i - before);
            }
            before = i;
        }
        if (i + 1 == units || !missed[i + 1]) {
            const uint32_t length = i + 1 - start;

            if (runs.count == 1)
                runs.length = length;
            else if (length != runs.length && (i + 1 < units || length > runs.length))
                runs.length = 0;
        }
    }
    return runs;
}

/* Which units of the smallest region that does not fit are missed: those of one set. */
static enum status find_sets(struct search *search, uint32_t level, uint32_t *unit_per_line, uint32_t *sets)
{
    struct geometry_level *out = &search->out->level[level];
    const uint32_t unit = out->fetch_bytes.value;
    const uint32_t units = out->fits_bytes.value / unit + 1;
    const size_t count = list_region(search, units, unit);
    struct runs runs = {0};

    *sets = 0;
    for (uint32_t round = 0; round < 2; round++) {
        const uint32_t passes = round == 0 ? 8 : count < MANY_ACCESSES / 96 ? 96 : MANY_ACCESSES / count + 24;
        const enum status status = count_misses(search, level, count, 1, round ? 16 : 4, passes);
        bool steady = true;

        if (status != STATUS_OK)
            return status;
        memset(search->verdict, 0, units);
        for (size_t i = 0; i < count; i++) {
            steady = steady && (search->missed[i] < 2 || search->missed[i] + 1 >= passes);
            if (search->missed[i] >= (round ? 4 : passes - 1))
                search->verdict[search->address[i] / unit] = 1;
        }
        runs = runs_of(search->verdict, units);
        if (steady && runs.count && runs.even)
            break;
    }
    out->sets.samples = count * search->passes;
    if (runs.units * 20 >= units * 19) {
        *unit_per_line = 1;
        *sets = 1;
    } else if (runs.count < 2 || runs.length == 0 || runs.apart % runs.length || runs.apart == 0) {
        not_shaped(out, "the lines that miss when one more than fits is walked are not evenly spaced");
    } else {
        *unit_per_line = runs.length;
        *sets = runs.apart / runs.length;
    }
    return STATUS_OK;
}

/* -- ways --------------------------------------------------------------------------------------------- */

static uint32_t lines_of_set(uint32_t lines, uint32_t sets, uint32_t set)
{
    return lines / sets + (set < lines % sets);
}

/* How many lines of each set fit. */
static enum status map_sets(struct search *search, uint32_t level, size_t *samples)
{
    const struct geometry_level *out = &search->out->level[level];
    struct model *model = &search->models[level];
    const uint32_t most = search->words * WORD_BYTES / model->line_bytes;
    const uint32_t fit = out->fits_bytes.value / model->line_bytes;
    uint32_t lines = fit;

    for (uint32_t set = 0; set < model->sets; set++) {
        model->fits[set] = lines_of_set(fit, model->sets, set);
        model->overflows[set] = UINT32_MAX;
    }
    for (uint32_t round = 0; round < search->prober->foreign_lines + 3 && lines < most; round++) {
        enum status status;
        size_t count;
        bool open = false;

        lines = (lines / model->sets + 1) * model->sets;
        lines = lines < most ? lines : most;
        count = list_lines(search, model, lines);
        status = judge(search, level, count, model->sets);
        if (status != STATUS_OK)
            return status;
        *samples += count * search->passes;
        for (uint32_t set = 0; set < model->sets; set++) {
            const uint32_t held = lines_of_set(lines, model->sets, set);

            if (search->verdict[set] == FITS && held > model->fits[set])
                model->fits[set] = held;
            else if (search->verdict[set] == OVERFLOWS && held < model->overflows[set])
                model->overflows[set] = held;
            open |= model->overflows[set] == UINT32_MAX;
        }
        if (!open)
            break;
    }
    return STATUS_OK;
}

static bool resolved(const struct model *model, uint32_t set)
{
    return model->overflows[set] == model->fits[set] + 1;
}

/* Ways, and lines that others take, from the map. */
static void find_ways(struct search *search, uint32_t level, size_t samples)
{
    struct geometry_level *out = &search->out->level[level];
    struct model *model = &search->models[level];
    const uint32_t foreign = search->prober->foreign_lines;
    uint32_t seen = 0, taken = 0;
    bool consistent = true;

    model->ways = 0;
    for (uint32_t set = 0; set < model->sets; set++) {
        consistent = consistent && model->overflows[set] > model->fits[set];
        if (!resolved(model, set))
            continue;
        seen++;
        model->ways = model->fits[set] > model->ways ? model->fits[set] : model->ways;
    }
    for (uint32_t set = 0; set < model->sets; set++) {
        consistent = consistent && model->fits[set] <= model->ways;
        taken += model->ways > model->fits[set] ? model->ways - model->fits[set] : 0;
    }
    if (!consistent || (seen == model->sets && taken > foreign)) {
        not_shaped(out, "sets differ in how many lines fit by more than others can hold");
        return;
    }
    model->known = model->ways > 0;
    found(&out->line_bytes, model->line_bytes, out->sets.samples);
    found(&out->sets, model->sets, out->sets.samples);
    if (seen <= foreign || model->ways == 0) {
        const char *reason = "others may hold a line of every set that could be filled";

        not_found(&out->ways, "at least %u: %s", model->ways, reason);
        not_found(&out->capacity_bytes, "at least %u bytes: %s", out->fits_bytes.value, reason);
        not_found(&out->lines_taken, "%s", reason);
        return;
    }
    found(&out->ways, model->ways, samples);
    found(&out->capacity_bytes, model->ways * model->sets * model->line_bytes, samples);
    if (seen == model->sets)
        found(&out->lines_taken, taken, samples);
    else
        not_found(&out->lines_taken, "only %u of %u sets could be filled with %u bytes", seen, model->sets,
                  search->words * WORD_BYTES);
}

/* -- banks -------------------------------------------------------------------------------------------- */

/* Which line of a bank is in the first set of the first bank: the one, of the first `sets`, which as many lines of that
 * set as fit cannot be walked with. UINT32_MAX where it is not one. */
static enum status find_swap(struct search *search, uint32_t level, uint32_t bank, uint32_t *swap)
{
    const struct model *model = &search->models[level];
    const uint32_t fits = model->fits[0], first = bank * (search->prober->bank_bytes / model->line_bytes);

    *swap = UINT32_MAX;
    for (uint32_t i = 0; i < model->sets; i++) {
        enum status status;

        for (uint32_t tag = 0; tag <= fits; tag++) {
            search->address[tag] = (tag < fits ? tag * model->sets : first + i) * model->line_bytes;
            search->group[tag] = 0;
        }
        status = judge(search, level, fits + 1, 1);
        if (status != STATUS_OK)
            return status;
        if (search->verdict[0] == FITS)
            continue;
        if (*swap != UINT32_MAX || search->verdict[0] == UNCLEAR) {
            *swap = UINT32_MAX;
            return STATUS_OK;
        }
        *swap = i;
    }
    return STATUS_OK;
}

/* Of the first level. Behind it a list of a few lines is not asked for; there all banks are taken to be alike, and
 * lists drawn at random tell. */
static enum status find_banks(struct search *search, uint32_t level)
{
    const uint32_t bytes = search->prober->bank_bytes, banks = bytes ? search->words * WORD_BYTES / bytes : 0;
    struct geometry_level *out = &search->out->level[level];
    struct model *model = &search->models[level];
    uint32_t swap[GEOMETRY_BANKS_MAX] = {0};

    if (level || banks < 2 || banks > GEOMETRY_BANKS_MAX || model->sets < 2 || model->sets & (model->sets - 1) ||
        model->sets * model->line_bytes * (model->fits[0] + 1) > bytes)
        return STATUS_OK;
    for (uint32_t bank = 1; bank < banks; bank++) {
        const enum status status = find_swap(search, level, bank, &swap[bank]);

        if (status != STATUS_OK || swap[bank] == UINT32_MAX)
            return status;
    }
    memcpy(model->swap, swap, sizeof(swap));
    memcpy(out->bank_swap, swap, sizeof(swap));
    out->bank_count = banks;
    return STATUS_OK;
}

/* -- lists drawn at random ---------------------------------------------------------------------------- */

/* Adds the accesses to one line: a word of it in the first level; below, every word that asks for another line of the
 * first level, in one half of it. */
static size_t add_line(struct search *search, uint32_t level, uint32_t line, size_t count)
{
    const struct model *model = &search->models[level];
    const uint32_t bytes = model->line_bytes;
    uint32_t at = line * bytes, end = at + bytes;

    if (level == 0 || bytes < 2 * search->step) {
        at += (uint32_t)(random_next(&search->random) % (bytes / WORD_BYTES)) * WORD_BYTES;
        end = at + 1;
    } else if (random_next(&search->random) & 1) {
        at += bytes / 2 / search->step * search->step;
    } else {
        end -= bytes / 2;
    }
    for (; at < end; at += search->step) {
        search->address[count] = at;
        search->group[count++] = set_of(search, model, line);
    }
    return count;
}

/* Draws lines of every set: of its lines every first, second or fourth, so that what was taken for lines and is parts
 * of larger ones shows. In expected[set]: FITS, OVERFLOWS or UNCLEAR. `lines` is room for words. */
static size_t draw_list(struct search *search, uint32_t level, uint32_t list, uint8_t *expected, size_t *lines)
{
    const struct model *model = &search->models[level];
    const uint32_t most = search->words * WORD_BYTES / model->line_bytes;
    const uint32_t every = list < 2 ? 1 : list < 4 ? 2 : 4;
    size_t count = 0, drawn = 0;

    for (uint32_t set = 0; set < model->sets; set++) {
        const uint32_t there = (lines_of_set(most, model->sets, set) + every - 1) / every;
        const uint32_t fits = model->fits[set];
        const uint32_t least = list == 0 ? fits + 1 : fits > 1 ? fits - 1 : 1; /* the first: too many everywhere */
        uint32_t wanted = least + (uint32_t)(random_next(&search->random) % 4);
        uint32_t passed = 0, taken = 0;

        wanted = list == 3 || list == 5 ? fits : wanted; /* nowhere too many */
        wanted = wanted < there ? wanted : there;
        for (uint32_t tag = 0; tag < there; tag++, passed++)
            if (random_next(&search->random) % (there - passed) < wanted - taken) {
                lines[drawn++] = line_of(search, model, tag * every, set);
                taken++;
            }
        expected[set] = taken <= model->fits[set] ? FITS : taken >= model->overflows[set] ? OVERFLOWS : UNCLEAR;
    }
    random_shuffle(&search->random, lines, drawn);
    for (size_t i = 0; i < drawn; i++)
        count = add_line(search, level, (uint32_t)lines[i], count);
    return count;
}

/* Takes OVERFLOWS back from sets whose accesses a level before may answer. `load` is room for a count of each set. */
static void expect_what_passes(struct search *search, uint32_t level, size_t count, uint8_t *expected, uint32_t *load)
{
    for (uint32_t before = 0; before < level; before++) {
        const struct model *model = &search->models[before];
        uint32_t last = UINT32_MAX;

        memset(load, 0, (model->known ? model->sets : 1) * sizeof(*load));
        for (size_t i = 0; model->known && i < count; i++) {
            const uint32_t line = search->address[i] / model->line_bytes;

            load[set_of(search, model, line)] += line != last;
            last = line;
        }
        for (size_t i = 0; i < count; i++)
            if (expected[search->group[i]] == OVERFLOWS &&
                (!model->known || load[set_of(search, model, search->address[i] / model->line_bytes)] <= model->ways))
                expected[search->group[i]] = UNCLEAR;
    }
}

static enum status check_model(struct search *search, uint32_t level)
{
    struct geometry_level *out = &search->out->level[level];
    const struct model *model = &search->models[level];
    uint8_t *expected = malloc(search->words);
    uint32_t *load = malloc(search->words * sizeof(*load));
    size_t *lines = malloc(search->words * sizeof(*lines));
    enum status status = STATUS_OK;
    uint32_t agree = 0, differ = 0, overflows = 0;

    if (!expected || !load || !lines) {
        status = log_error(STATUS_ENVIRONMENT, "out of memory for a list of addresses; free some memory");
        goto out;
    }
    for (uint32_t list = 0; list < LISTS_DRAWN; list++) {
        const size_t count = draw_list(search, level, list, expected, lines);

        expect_what_passes(search, level, count, expected, load);
        status = judge(search, level, count, model->sets);
        if (status != STATUS_OK)
            goto out;
        for (uint32_t set = 0; set < model->sets; set++) {
            if (expected[set] == UNCLEAR || search->verdict[set] == UNCLEAR)
                continue;
            agree += expected[set] == search->verdict[set];
            differ += expected[set] != search->verdict[set];
            overflows += expected[set] == OVERFLOWS;
        }
        out->ways.samples += count * search->passes;
    }
    if (differ) {
        search->models[level].known = false;
        not_shaped(out, "lists drawn at random do not hit as the sets that were found would");
        contradiction(out, "%u sets of %u lines of %u bytes: %u of %u sets of lists drawn at random hit otherwise",
                      model->sets, model->ways, model->line_bytes, differ, agree + differ);
    } else if (!overflows) {
        search->models[level].known = false;
        not_shaped(out, "no list drawn at random passes the levels before it: what was found could not be checked");
    }
out:
    free(expected);
    free(load);
    free(lines);
    return status;
}

/* -- replacement -------------------------------------------------------------------------------------- */

/* One line more than ways in each set; the first `again` of them are walked a second time before the last comes.
 * LRU: those always hit, the others always miss. FIFO: the others miss, too, but each line has to go at times.
 * Written into the list; groups: 0 those, 1 the others, NO_GROUP lines of sets that are not whole. */
static size_t list_replacement(struct search *search, uint32_t level, uint32_t sets, uint32_t again)
{
    const struct model *model = &search->models[level];
    size_t count = 0;

    for (uint32_t phase = 0; phase < model->ways + again + 1; phase++) {
        const bool second = phase >= model->ways && phase < model->ways + again;
        const uint32_t tag = phase < model->ways ? phase : second ? phase - model->ways : model->ways;

        for (uint32_t set = 0; set < sets; set++) {
            const uint32_t at = line_of(search, model, tag, set) * model->line_bytes;
            const bool whole = resolved(model, set) && model->fits[set] == model->ways;

            for (uint32_t sub = 0; sub < model->line_bytes; sub += search->step) {
                search->address[count] = at + sub + (second ? WORD_BYTES : 0);
                search->group[count++] = !whole ? NO_GROUP : tag < again ? 0 : 1;
            }
        }
    }
    return count;
}

/* Of the lines walked twice and of the others: how often they were asked for, and missed. */
struct replaced {
    uint64_t asked[2], missed[2];
    uint32_t worst; /* misses of one access to a line walked twice */
};

/* The most that an access to the line which begins there was missed: of a line in sectors others may hit. */
static uint32_t missed_most(const struct search *search, size_t first, uint32_t accesses)
{
    uint32_t most = 0;

    for (size_t i = first; i < first + accesses; i++)
        most = search->missed[i] > most ? search->missed[i] : most;
    return most;
}

/* Walks the list that was counted last through a simulated cache, as it was walked; of each visit to a line the
 * misses are added to expected[its first access]. */
static void simulate(const struct search *search, const struct model *model, size_t count, uint32_t passes,
                     struct cache *cache, uint32_t *expected)
{
    const uint32_t per_line = model->line_bytes / search->step;
    const uint32_t room = (uint32_t)(search->prober->samples_max / count);

    for (uint32_t done = 0, timed; done < passes; done += timed) {
        timed = passes - done < room ? passes - done : room;
        cache_clear(cache);
        for (uint32_t pass = 0; pass < REPLACED_WARM_UP + timed; pass++)
            for (size_t i = 0; i < count; i += per_line) {
                const uint32_t line = search->address[i] / model->line_bytes;
                const uint64_t there = (uint64_t)(line / model->sets * model->sets + set_of(search, model, line));

                if (!cache_lookup(cache, there * model->line_bytes) && pass >= REPLACED_WARM_UP)
                    expected[i]++;
            }
    }
}

/* The share of the visits to lines, of the list that was counted last, that a cache of a policy would have answered as
 * they were. */
static enum status agreement(struct search *search, uint32_t level, size_t count, uint32_t passes,
                             enum cache_replacement policy, double *share)
{
    const struct model *model = &search->models[level];
    const uint32_t per_line = model->line_bytes / search->step;
    uint32_t *expected = calloc(count, sizeof(*expected));
    uint64_t visits = 0, differ = 0;
    struct cache cache = {0};
    enum status status = expected ? cache_open(&cache, model->ways * model->sets * model->line_bytes, model->line_bytes,
                                               model->ways, policy)
                                  : log_error(STATUS_ENVIRONMENT, "out of memory for a simulated cache");

    if (status == STATUS_OK)
        simulate(search, model, count, passes, &cache, expected);
    for (size_t i = 0; status == STATUS_OK && i < count; i += per_line) {
        const uint32_t missed = missed_most(search, i, per_line);

        if (search->group[i] == NO_GROUP)
            continue;
        visits += passes;
        differ += missed > expected[i] ? missed - expected[i] : expected[i] - missed;
    }
    *share = visits ? 1 - (double)differ / (double)visits : 0;
    cache_close(&cache);
    free(expected);
    return status;
}

/* `by_policy`: agreement with each policy, by enum cache_replacement; 0 where the ways rule it out. */
static enum status count_replaced(struct search *search, uint32_t level, uint32_t sets, uint32_t again, uint32_t passes,
                                  struct replaced *out, double by_policy[CACHE_REPLACEMENT_COUNT])
{
    const struct model *model = &search->models[level];
    const uint32_t per_line = model->line_bytes / search->step;
    const size_t count = list_replacement(search, level, sets, again);
    enum status status = count_misses(search, level, count, 1, REPLACED_WARM_UP, passes);

    *out = (struct replaced){0};
    for (size_t i = 0; status == STATUS_OK && i < count; i += per_line) {
        const uint32_t missed = missed_most(search, i, per_line);

        if (search->group[i] == NO_GROUP)
            continue;
        out->asked[search->group[i]] += search->answered[i];
        out->missed[search->group[i]] += missed;
        if (search->group[i] == 0 && missed > out->worst)
            out->worst = missed;
    }
    for (size_t policy = 0; policy < CACHE_REPLACEMENT_COUNT; policy++) {
        by_policy[policy] = 0;
        if (status == STATUS_OK && (policy != CACHE_TREE || (model->ways & (model->ways - 1)) == 0))
            status = agreement(search, level, count, passes, (enum cache_replacement)policy, &by_policy[policy]);
    }
    search->out->level[level].replacement.samples += count * passes;
    return status;
}

static bool nearly_all(uint64_t part, uint64_t whole)
{
    return part * 100 >= whole * 97;
}

/* Nearly all as a tree would have it, and clearly not as the others would: with two ways all three are the same. */
static bool is_tree(const double *once, const double *twice)
{
    return once[CACHE_TREE] >= 0.97 && twice[CACHE_TREE] >= 0.97 && twice[CACHE_LRU] <= 0.95 &&
           twice[CACHE_FIFO] <= 0.95;
}

static enum status find_replacement(struct search *search, uint32_t level)
{
    struct geometry_level *out = &search->out->level[level];
    struct geometry_number *finding = &out->replacement;
    const struct model *model = &search->models[level];
    const uint32_t line = model->line_bytes;
    const uint32_t lines = search->words * WORD_BYTES / line;
    const uint32_t more = lines > model->ways * model->sets ? lines - model->ways * model->sets : 0;
    const uint32_t sets = more < model->sets ? more : model->sets; /* those with one line more than ways */
    const uint32_t between = passes_levels_before(search, level); /* bytes before a line is asked for again */
    const uint32_t again = sets && between ? (between + sets * line - 1) / (sets * line) : 1;
    const uint32_t passes = model->ways < 12 ? 40 : 3 * (model->ways + 2);
    double once_by[CACHE_REPLACEMENT_COUNT], twice_by[CACHE_REPLACEMENT_COUNT];
    struct replaced once, twice;
    enum status status;
    bool all;

    if (model->ways < 2) {
        not_found(finding, "one way: there is nothing to choose");
        return STATUS_OK;
    }
    /* Where more than half of the lines are walked twice, others than LRU do the same. */
    if (!sets || 2 * again > model->ways + 1 || search->step < 2 * WORD_BYTES ||
        (size_t)sets * (model->ways + again + 1) * (line / search->step) > search->words) {
        not_found(finding, "no list of %u bytes asks this level for a line before it would have gone",
                  search->words * WORD_BYTES);
        return STATUS_OK;
    }
    status = count_replaced(search, level, sets, 0, passes, &once, once_by);
    if (status == STATUS_OK)
        status = count_replaced(search, level, sets, again, passes, &twice, twice_by);
    if (status != STATUS_OK)
        return status;
    all = nearly_all(once.missed[1], once.asked[1]) && nearly_all(twice.missed[1], twice.asked[1]);
    if (twice.asked[0] == 0)
        not_found(finding, "others hold lines of every set that could be filled");
    else if (all && twice.missed[0] * 100 <= twice.asked[0] + 200 && twice.worst * 10 <= passes)
        found(finding, REPLACEMENT_LRU, finding->samples);
    else if (all && level == 0 && twice.missed[0] * 100 >= twice.asked[0] * 45)
        found(finding, REPLACEMENT_FIFO, finding->samples);
    else if (is_tree(once_by, twice_by))
        found(finding, REPLACEMENT_TREE, finding->samples);
    else if (level == 0 || out[-1].replacement.value == REPLACEMENT_LRU)
        found(finding, REPLACEMENT_NOT_LRU, finding->samples);
    else
        not_found(finding, "not as LRU would, but the level before it may be the reason");
    return STATUS_OK;
}

/* -- a level ------------------------------------------------------------------------------------------ */

static void check_capacity(struct geometry_level *level)
{
    const uint32_t capacity = level->capacity_bytes.value;
    const uint32_t fits = level->fits_bytes.value;

    if (level->capacity_bytes.known && level->lines_taken.known && level->lines_taken.value == 0 && fits != capacity)
        contradiction(level, "%u bytes fit, but ways x sets x line is %u bytes, with no line taken", fits, capacity);
}

static enum status find_shape(struct search *search, uint32_t level)
{
    struct geometry_level *out = &search->out->level[level];
    struct model *model = &search->models[level];
    uint32_t unit_per_line = 0;
    size_t samples = 0;
    enum status status = find_sets(search, level, &unit_per_line, &model->sets);

    if (status != STATUS_OK || model->sets == 0)
        return status;
    model->line_bytes = unit_per_line * out->fetch_bytes.value;
    model->fits = calloc(model->sets, sizeof(*model->fits));
    model->overflows = calloc(model->sets, sizeof(*model->overflows));
    if (!model->fits || !model->overflows)
        return log_error(STATUS_ENVIRONMENT, "out of memory for %u sets; free some memory", model->sets);
    status = map_sets(search, level, &samples);
    if (status != STATUS_OK)
        return status;
    find_ways(search, level, samples);
    if (model->known)
        status = find_banks(search, level);
    if (status == STATUS_OK && model->known)
        status = check_model(search, level);
    if (status == STATUS_OK && model->known && out->ways.known)
        status = find_replacement(search, level);
    else if (!out->ways.known)
        not_found(&out->replacement, "ways are not known");
    check_capacity(out);
    return status;
}

static void name_methods(struct geometry_level *level)
{
    level->fetch_bytes.method = fetch_method;
    level->line_bytes.method = line_method;
    level->fits_bytes.method = fits_method;
    level->capacity_bytes.method = capacity_method;
    level->ways.method = ways_method;
    level->sets.method = sets_method;
    level->lines_taken.method = taken_method;
    level->replacement.method = replacement_method;
}

static enum status find_level(struct search *search, uint32_t level)
{
    struct geometry_level *out = &search->out->level[level];
    const uint32_t fetch = out->fetch_bytes.value;
    enum status status;

    if (!out->fetch_bytes.known) {
        not_found(&out->fits_bytes, "%s", out->fetch_bytes.reason);
        not_shaped(out, out->fetch_bytes.reason);
        return STATUS_OK;
    }
    if (level && (!out[-1].fits_bytes.known || fetch % search->step)) {
        not_found(&out->fits_bytes, "the level before it is not known well enough to pass it");
        not_shaped(out, out->fits_bytes.reason);
        return STATUS_OK;
    }
    status = find_fits(search, level);
    if (status != STATUS_OK)
        return status;
    if (!out->fits_bytes.known) {
        not_shaped(out, out->fits_bytes.reason);
        return STATUS_OK;
    }
    return find_shape(search, level);
}

static enum status search_open(struct search *search, const struct prober *prober, struct geometry *out)
{
    uint32_t words = prober->bytes / WORD_BYTES;
    size_t swept;

    if (prober->samples_max / SWEEP_PASSES * SWEEP_STEP / WORD_BYTES < words)
        words = (uint32_t)(prober->samples_max / SWEEP_PASSES * SWEEP_STEP / WORD_BYTES);
    words = words < prober->samples_max ? words : (uint32_t)prober->samples_max;
    *search = (struct search){.prober = prober, .out = out, .random = 1, .words = words};
    /* The sweep's sizes are a geometric row of the quotient q: less than the largest / (1 - 1/q), 6.3 times it. */
    swept = (size_t)words * 7 / (SWEEP_STEP / WORD_BYTES) + 1;
    search->address = calloc(words, sizeof(*search->address));
    search->group = calloc(words, sizeof(*search->group));
    search->missed = calloc(words, sizeof(*search->missed));
    search->answered = calloc(words, sizeof(*search->answered));
    search->clean = calloc(words, sizeof(*search->clean));
    search->verdict = calloc(words, sizeof(*search->verdict));
    search->cold = calloc(words, sizeof(*search->cold));
    search->warm = calloc(words, sizeof(*search->warm));
    search->swept = calloc(swept * SWEEP_PASSES, sizeof(*search->swept));
    search->cycles = calloc(swept > prober->samples_max ? swept : prober->samples_max, sizeof(*search->cycles));
    if (!search->address || !search->group || !search->missed || !search->answered || !search->clean ||
        !search->verdict || !search->cycles || !search->cold || !search->warm || !search->swept)
        return log_error(STATUS_ENVIRONMENT, "out of memory for walks of %u accesses; free some memory", words);
    return STATUS_OK;
}

static void search_close(struct search *search)
{
    for (uint32_t i = 0; i < GEOMETRY_LEVELS_MAX; i++) {
        free(search->models[i].fits);
        free(search->models[i].overflows);
    }
    free(search->address);
    free(search->group);
    free(search->missed);
    free(search->answered);
    free(search->clean);
    free(search->verdict);
    free(search->cycles);
    free(search->cold);
    free(search->warm);
    free(search->swept);
}

enum status geometry_find(const struct prober *prober, uint32_t levels_max, struct geometry *out)
{
    struct search search;
    enum status status;

    *out = (struct geometry){0};
    status = search_open(&search, prober, out);
    if (status == STATUS_OK)
        status = explore(&search);
    if (status != STATUS_OK)
        goto out;
    out->level_count = search.band_count < levels_max ? search.band_count : levels_max;
    status = find_latencies(&search);
    for (uint32_t level = 0; level < out->level_count; level++) {
        name_methods(&out->level[level]);
        find_fetch(&search, level);
    }
    search.step = out->level_count ? out->level[0].fetch_bytes.value : 0;
    for (uint32_t level = 0; status == STATUS_OK && level < out->level_count; level++)
        status = find_level(&search, level);
out:
    search_close(&search);
    return status;
}
