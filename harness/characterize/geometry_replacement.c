/* SPDX-License-Identifier: MIT
 * The search for the replacement of a level: which lines of a full set are missed, and which cache would do so. */
#include <stdlib.h>

#include "cache.h"
#include "geometry_search.h"
#include "log.h"

enum { REPLACED_WARM_UP = 8 /* walks before what tells replacement is timed */ };

/* -- replacement -------------------------------------------------------------------------------------- */

/* One line more than ways in each set; the first `again` of them are walked a second time before the last comes.
 * LRU: those always hit, the others always miss. FIFO: the others miss, too, but each line has to go at times.
 * Written into the list; groups: 0 those, 1 the others, NO_GROUP lines of sets that are not whole. */
static size_t list_replacement(struct search *search, size_t level, uint32_t sets, uint32_t again)
{
    const struct shape *shape = &search->shapes[level];
    size_t count = 0;

    for (uint32_t phase = 0; phase < shape->ways + again + 1; phase++) {
        const bool second = phase >= shape->ways && phase < shape->ways + again;
        const uint32_t tag = phase < shape->ways ? phase : second ? phase - shape->ways : shape->ways;

        for (uint32_t set = 0; set < sets; set++) {
            const uint32_t at = search_line_of(search, shape, tag, set) * shape->line_bytes;
            const bool whole = search_resolved(shape, set) && shape->fits[set] == shape->ways;

            for (uint32_t sub = 0; sub < shape->line_bytes; sub += search->step) {
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
    double by_policy[CACHE_REPLACEMENT_COUNT]; /* agreement with each policy; 0 where the ways rule it out */
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
static void simulate(const struct search *search, const struct shape *shape, size_t count, uint32_t passes,
                     struct cache *cache, uint32_t *expected)
{
    const uint32_t per_line = shape->line_bytes / search->step;
    const uint32_t room = (uint32_t)(search->prober->samples_max / count);

    for (uint32_t done = 0, timed; done < passes; done += timed) {
        timed = passes - done < room ? passes - done : room;
        cache_clear(cache);
        for (uint32_t pass = 0; pass < REPLACED_WARM_UP + timed; pass++)
            for (size_t i = 0; i < count; i += per_line) {
                const uint32_t line = search->address[i] / shape->line_bytes;
                const uint32_t there = line / shape->sets * shape->sets + search_set_of(search, shape, line);

                if (!cache_lookup(cache, (uint64_t)there * shape->line_bytes) && pass >= REPLACED_WARM_UP)
                    expected[i]++;
            }
    }
}

/* The share of the visits to lines, of the list that was counted last, that a cache of a policy would have answered as
 * they were. */
static double agreement(struct search *search, size_t level, size_t count, uint32_t passes,
                        enum cache_replacement policy)
{
    const struct shape *shape = &search->shapes[level];
    const uint32_t per_line = shape->line_bytes / search->step;
    uint32_t *expected = calloc(count, sizeof(*expected));
    uint64_t visits = 0, differ = 0;
    struct cache cache = {0};
    enum status status = expected ? cache_open(&cache, shape->ways * shape->sets * shape->line_bytes, shape->line_bytes,
                                               shape->ways, policy)
                                  : log_error(STATUS_ENVIRONMENT, "out of memory for a simulated cache");

    if (status == STATUS_OK)
        simulate(search, shape, count, passes, &cache, expected);
    for (size_t i = 0; status == STATUS_OK && i < count; i += per_line) {
        const uint32_t missed = missed_most(search, i, per_line);

        if (search->group[i] == NO_GROUP)
            continue;
        visits += passes;
        differ += missed > expected[i] ? missed - expected[i] : expected[i] - missed;
    }
    if (search->status == STATUS_OK)
        search->status = status;
    cache_close(&cache);
    free(expected);
    return visits ? 1 - (double)differ / (double)visits : 0;
}

static void count_replaced(struct search *search, size_t level, uint32_t sets, uint32_t again, uint32_t passes,
                           struct replaced *out)
{
    const struct shape *shape = &search->shapes[level];
    const uint32_t per_line = shape->line_bytes / search->step;
    const size_t count = list_replacement(search, level, sets, again);

    search_count_misses(search, level, count, 1, REPLACED_WARM_UP, passes);
    *out = (struct replaced){0};
    for (size_t i = 0; i < count; i += per_line) {
        const uint32_t missed = missed_most(search, i, per_line);

        if (search->group[i] == NO_GROUP)
            continue;
        out->asked[search->group[i]] += search->answered[i];
        out->missed[search->group[i]] += missed;
        if (search->group[i] == 0 && missed > out->worst)
            out->worst = missed;
    }
    for (size_t i = 0; i < CACHE_REPLACEMENT_COUNT; i++)
        if (i != CACHE_TREE || (shape->ways & (shape->ways - 1)) == 0)
            out->by_policy[i] = agreement(search, level, count, passes, (enum cache_replacement)i);
    search->out->level[level].replacement.samples += count * passes;
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

/* What misses say: lines walked once, and some of them twice, in so many passes. */
static void judge_replacement(struct geometry_level *out, bool first, uint32_t passes, const struct replaced *once,
                              const struct replaced *twice)
{
    struct geometry_number *finding = &out->replacement;
    const bool all = nearly_all(once->missed[1], once->asked[1]) && nearly_all(twice->missed[1], twice->asked[1]);

    if (twice->asked[0] == 0)
        search_not_found(finding, "others hold lines of every set that could be filled");
    else if (all && twice->missed[0] * 100 <= twice->asked[0] + 200 && twice->worst * 10 <= passes)
        search_found(finding, REPLACEMENT_LRU, finding->samples);
    else if (all && first && twice->missed[0] * 100 >= twice->asked[0] * 45)
        search_found(finding, REPLACEMENT_FIFO, finding->samples);
    else if (is_tree(once->by_policy, twice->by_policy))
        search_found(finding, REPLACEMENT_TREE, finding->samples);
    else if (first || out[-1].replacement.value == REPLACEMENT_LRU)
        search_found(finding, REPLACEMENT_NOT_LRU, finding->samples);
    else
        search_not_found(finding, "not as LRU would, but the level before it may be the reason");
}

void search_replacement(struct search *search, size_t level)
{
    struct geometry_level *out = &search->out->level[level];
    const struct shape *shape = &search->shapes[level];
    const uint32_t line = shape->line_bytes, ways = shape->ways;
    const uint32_t lines = search->words * WORD_BYTES / line;
    const uint32_t more = lines > ways * shape->sets ? lines - ways * shape->sets : 0;
    const uint32_t sets = more < shape->sets ? more : shape->sets; /* those with one line more than ways */
    const uint32_t between = search_passes_before(search, level); /* bytes before a line is asked for again */
    const uint32_t again = sets && between ? (between + sets * line - 1) / (sets * line) : 1;
    const uint32_t passes = ways < 12 ? 40 : 3 * (ways + 2);
    struct replaced once, twice;

    if (ways < 2) {
        search_not_found(&out->replacement, "one way: there is nothing to choose");
        return;
    }
    /* Where more than half of the lines are walked twice, others than LRU do the same. */
    if (!sets || 2 * again > ways + 1 || search->step < 2 * WORD_BYTES ||
        (size_t)sets * (ways + again + 1) * (line / search->step) > search->words) {
        search_not_found(&out->replacement, "no list of %u bytes asks this level for a line before it would have gone",
                         search->words * WORD_BYTES);
        return;
    }
    count_replaced(search, level, sets, 0, passes, &once);
    count_replaced(search, level, sets, again, passes, &twice);
    judge_replacement(out, level == 0, passes, &once, &twice);
}
