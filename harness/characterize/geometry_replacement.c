/* SPDX-License-Identifier: MIT
 * The search for the replacement of a level: which lines of a full set are missed, and which caches would do so. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "geometry_search.h"
#include "random.h"

enum {
    WARM_UP = 2, /* walks of random visits before they are timed, which make what a set held before no matter */
    PASSES = 4,
    VISITS_MAX = 16, /* to a line */
    ACCESSES_MAX = 8192,
    SETS_WANTED = 8,
    OLD_WARM_UP = 8, /* the same of the lists of older records */
    STARTS = 6,      /* states of a simulated cache before a list */
};

/* What a visit to a line was answered by: in most of its passes, or now this and now that. */
enum outcome { HIT, MISS, BEFORE, WAVERS };

static const char old_method[] =
    "one line more than ways, some walked twice as often: which of them miss; simulated caches that do";

/* -- candidates ---------------------------------------------------------------------------------------- */

/* With two ways both kinds of pseudo-LRU are LRU. */
static bool is_candidate(enum cache_replacement policy, uint32_t ways)
{
    return policy == CACHE_TREE ? ways > 2 && (ways & (ways - 1)) == 0 : policy != CACHE_BITS || ways > 2;
}

void replacement_text(uint32_t policies, char out[GEOMETRY_REASON_BYTES])
{
    const bool one = policies && (policies & (policies - 1)) == 0;
    size_t length = (size_t)snprintf(out, GEOMETRY_REASON_BYTES, "%s", one ? "" : policies ? "one of " : "none of ");
    const char *comma = "";

    for (size_t i = 0; i < CACHE_REPLACEMENT_COUNT && length < GEOMETRY_REASON_BYTES; i++)
        if (!policies || policies >> i & 1) {
            length += (size_t)snprintf(out + length, GEOMETRY_REASON_BYTES - length, "%s%s", comma,
                                       cache_replacement_names[i]);
            comma = ", ";
        }
}

static void found(struct search *search, uint32_t policies)
{
    struct geometry_number *finding = &search->level->replacement;

    search_found(finding, policies, finding->samples);
    replacement_text(policies, search->level->replacement_name);
}

/* A cache of the level's shape. */
static struct cache open_candidate(struct search *search, enum cache_replacement policy)
{
    const struct shape *shape = search->shape;
    struct cache cache = {0};

    if (search->status == STATUS_OK)
        search->status =
            cache_open(&cache, shape->ways * shape->sets * shape->line_bytes, shape->line_bytes, shape->ways, policy);
    return cache;
}

/* Whether the line of access i hits. */
static bool look_up(const struct search *search, struct cache *cache, size_t i)
{
    const struct shape *shape = search->shape;
    const uint32_t line = search->address[i] / shape->line_bytes;
    const uint32_t there = line / shape->sets * shape->sets + search_set_of(search, shape, line);

    return cache_lookup(cache, (uint64_t)there * shape->line_bytes);
}

/* -- random visits ------------------------------------------------------------------------------------- */

/* Lists of visits to lines of some sets: in every phase one line of each, so that no level before it keeps what the next
 * phases ask for. A visit is one access, or one to every part of the line that a level before it brings, where only so
 * that level is passed. */
struct plan {
    uint32_t bytes; /* of a line that a visit takes */
    uint32_t sets; /* the first of the level */
    uint32_t lines; /* of each */
    uint32_t resets; /* lines of each that are visited once, those among them, at the beginning */
    uint32_t visits; /* to each, with that */
    uint32_t apart; /* phases at least from one visit to a line to the next */
};

/* False where there is no such list. */
static bool plan_visits(const struct search *search, uint32_t lines, uint32_t bytes, struct plan *out)
{
    const uint32_t line = search->shape->line_bytes, all = search->shape->sets, per_line = bytes / search->step;
    const uint32_t there = search->words * WORD_BYTES / line, between = 2 * search_passes_before(search);
    uint32_t sets = between / bytes + 1, accesses;

    *out = (struct plan){.bytes = bytes, .lines = lines < there / all ? lines : there / all + (there % all > 0)};
    if (out->lines <= search->shape->ways)
        return false;
    out->sets = there - (out->lines - 1) * all; /* those that have so many */
    sets = sets > SETS_WANTED ? sets : SETS_WANTED;
    out->sets = out->sets < sets ? out->sets : sets;
    out->sets = out->sets < all ? out->sets : all;
    out->apart = between ? (between + out->sets * bytes - 1) / (out->sets * bytes) : 1;
    accesses = search->words < ACCESSES_MAX ? search->words : ACCESSES_MAX;
    if (accesses * PASSES > search->prober->samples_max)
        accesses = (uint32_t)(search->prober->samples_max / PASSES);
    out->resets = (there - out->sets) / all + 1;
    out->resets = out->resets < 3 * search->shape->ways ? out->resets : 3 * search->shape->ways;
    if (accesses < out->resets * out->sets * per_line)
        return false;
    out->visits = 1 + (accesses / (out->sets * per_line) - out->resets) / out->lines;
    out->visits = out->visits < VISITS_MAX ? out->visits : VISITS_MAX;
    if (out->visits > search->step / WORD_BYTES)
        out->visits = search->step / WORD_BYTES;
    return out->visits >= 2 && 2 * out->apart <= search->shape->ways + 1;
}

/* Draws a line of the set that was not visited in the last phases: more likely one with many visits left. Its number in
 * the set, or `lines` where there is none. left, last: of each line the visits to come and the phase of the last one. */
static uint32_t draw_line(const struct plan *plan, uint32_t phase, uint64_t *random, const uint32_t *left,
                          const uint32_t *last)
{
    uint32_t sum = 0, tag = 0, drawn;

    for (uint32_t i = 0; i < plan->lines; i++)
        sum += last[i] + plan->apart < phase ? left[i] : 0;
    if (!sum)
        return plan->lines;
    drawn = (uint32_t)(random_next(random) % sum);
    for (;; tag++) {
        const uint32_t weight = last[tag] + plan->apart < phase ? left[tag] : 0;

        if (drawn < weight)
            return tag;
        drawn -= weight;
    }
}

/* Adds a visit to a line of a set, by its `word`th words; its group is the set where nothing else is in that. */
static size_t add_visit(struct search *search, const struct plan *plan, size_t count, uint32_t set, uint32_t tag,
                        uint32_t word)
{
    const struct shape *shape = search->shape;
    const uint32_t at = search_line_of(search, tag, set) * shape->line_bytes + word * WORD_BYTES;
    const bool whole = shape->set[set].fits == shape->ways && shape->set[set].overflows == shape->ways + 1;

    for (uint32_t sub = 0; sub < plan->bytes; sub += search->step) {
        search->address[count] = at + sub;
        search->group[count++] = whole && !sub ? set : NO_GROUP;
    }
    return count;
}

/* Writes the list: every line that there is room for once, so that what was in a set is gone, then the visits. Returns
 * accesses. */
static size_t list_visits(struct search *search, const struct plan *plan, uint64_t *random)
{
    uint32_t *const left = search->expected, *const last = search->load; /* [sets][lines] */
    const uint32_t lines = plan->lines, visits = lines * (plan->visits - 1);
    size_t count = 0;

    for (uint32_t i = 0; i < plan->sets * lines; i++) {
        left[i] = plan->visits - 1;
        last[i] = 0;
    }
    for (uint32_t tag = plan->resets; tag-- > 0;)
        for (uint32_t set = 0; set < plan->sets; set++)
            count = add_visit(search, plan, count, set, tag, plan->visits - 1);
    for (uint32_t phase = plan->apart + 1; phase <= plan->apart + visits; phase++)
        for (uint32_t set = 0; set < plan->sets; set++) {
            const uint32_t tag = draw_line(plan, phase, random, left + set * lines, last + set * lines);

            if (tag == lines)
                continue;
            last[set * lines + tag] = phase;
            count = add_visit(search, plan, count, set, tag, --left[set * lines + tag]);
        }
    return count;
}

/* What random visits said, of all lists. */
struct told {
    uint32_t visits, wavered, decided;
    uint32_t differ[CACHE_REPLACEMENT_COUNT]; /* decided visits that the policy answers otherwise */
    uint64_t missed, missed_at_random;
    uint32_t wavered_at_random;
};

/* search->expected: the outcome of each access. */
static void see_visits(struct search *search, size_t count, struct told *told)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t before = 0, missed = search->missed[i];
        enum outcome outcome = WAVERS;

        for (size_t pass = 0; pass < PASSES; pass++) {
            const int by = search_answered_by(search, search->cycles[pass * count + i]);

            before += by != NOBODY && by < search->index;
        }
        if (4 * before >= 3 * PASSES)
            outcome = BEFORE;
        else if (4 * missed >= 3 * PASSES)
            outcome = MISS;
        else if (!before && 4 * missed <= PASSES)
            outcome = HIT;
        search->expected[i] = outcome;
        if (search->group[i] == NO_GROUP)
            continue;
        told->visits++;
        told->wavered += missed > 0 && missed < PASSES;
        told->decided += outcome == HIT || outcome == MISS;
        told->missed += missed;
    }
}

/* What a cache of the policy answers of the same visits, from a state at random. search->load: of each how often it is
 * missed; search->clean: of each set the decided visits that it answers otherwise. */
static void simulate_visits(struct search *search, size_t count, struct cache *cache, uint64_t start)
{
    uint64_t random = start;

    memset(search->load, 0, count * sizeof(*search->load));
    memset(search->clean, 0, search->shape->sets * sizeof(*search->clean));
    cache_clear(cache);
    for (size_t i = 0; start && i < count; i++)
        look_up(search, cache, random_next(&random) % count);
    for (uint32_t pass = 0; pass < WARM_UP + PASSES; pass++)
        for (size_t i = 0; i < count; i++)
            if (search->expected[i] != BEFORE)
                search->load[i] += !look_up(search, cache, i) && pass >= WARM_UP;
    for (size_t i = 0; i < count; i++) {
        const uint32_t missed = search->load[i], outcome = search->expected[i];

        if (search->group[i] != NO_GROUP)
            search->clean[search->group[i]] += (outcome == HIT && missed == PASSES) || (outcome == MISS && missed == 0);
    }
}

/* A set may have been in any state before, and some policies never forget it: each is compared with what is nearest. */
static void compare_policy(struct search *search, size_t count, enum cache_replacement policy, struct told *told)
{
    size_t *const least = search->lines; /* of each set */
    const uint32_t sets = search->shape->sets;
    struct cache cache = open_candidate(search, policy);
    uint32_t differ = 1;

    for (uint32_t set = 0; set < sets; set++)
        least[set] = SIZE_MAX;
    for (uint64_t start = 0; search->status == STATUS_OK && start < STARTS && differ; start++) {
        simulate_visits(search, count, &cache, start);
        differ = 0;
        for (uint32_t set = 0; set < sets; set++) {
            least[set] = search->clean[set] < least[set] ? search->clean[set] : least[set];
            differ += (uint32_t)least[set];
        }
    }
    cache_close(&cache);
    told->differ[policy] += differ;
    for (size_t i = 0; policy == CACHE_RANDOM && i < count; i++)
        if (search->group[i] != NO_GROUP && search->expected[i] != BEFORE) {
            told->missed_at_random += search->load[i];
            told->wavered_at_random += search->load[i] > 0 && search->load[i] < PASSES;
        }
}

static bool is_near(double one, double other)
{
    return fabs(one - other) <= 0.2 * fmax(one, other);
}

/* One visit in a hundred may look otherwise than it was. A policy is out where clearly more do; one in fifty, since what
 * a set was before a list may matter to its end. */
static void judge_visits(struct search *search, const struct told *told)
{
    struct geometry_number *finding = &search->level->replacement;
    uint32_t least = UINT32_MAX, policies = 0, nearest = 0;
    const bool steady = 20 * told->wavered <= told->visits;

    for (uint32_t i = 0; i < CACHE_RANDOM; i++)
        if (is_candidate((enum cache_replacement)i, search->shape->ways) && told->differ[i] < least) {
            least = told->differ[i];
            nearest = i;
        }
    for (uint32_t i = 0; i < CACHE_RANDOM; i++)
        if (is_candidate((enum cache_replacement)i, search->shape->ways) &&
            (told->differ[i] <= 4 + 2 * least || 50 * told->differ[i] <= told->decided))
            policies |= 1u << i;
    if (told->visits == 0)
        search_not_found(finding, "others hold lines of every set that could be filled");
    else if (10 * told->decided >= 9 * told->visits && 100 * least <= told->decided)
        found(search, policies);
    else if (is_near((double)told->missed, (double)told->missed_at_random) &&
             is_near(told->wavered, told->wavered_at_random))
        found(search, 1u << CACHE_RANDOM);
    else if (steady && 20 * least >= told->decided && least >= 16)
        found(search, 0);
    else
        search_not_found(finding,
                         "of %u visits %u hit now and then, and of the others %u otherwise than with %s, the nearest",
                         told->visits, told->wavered, least, cache_replacement_names[nearest]);
}

/* False where no list can be made, or the prober does not answer it. */
static bool visit_at_random(struct search *search)
{
    const uint32_t ways = search->shape->ways, more[] = {1, ways < 4 ? 2 : ways / 2};
    struct told told = {0};
    uint64_t random = 1;

    for (size_t k = 0; k < sizeof(more) / sizeof(more[0]); k++) {
        struct plan plan;
        size_t count;

        if (!plan_visits(search, ways + more[k], search->step, &plan) &&
            !plan_visits(search, ways + more[k], search->shape->line_bytes, &plan))
            return false;
        count = list_visits(search, &plan, &random);
        if (!search_answers(search, count, WARM_UP, PASSES))
            return false;
        search_count_misses(search, count, search->shape->sets, WARM_UP, PASSES);
        search->level->replacement.samples += count * PASSES;
        see_visits(search, count, &told);
        for (size_t i = 0; i < CACHE_REPLACEMENT_COUNT; i++)
            if (is_candidate((enum cache_replacement)i, ways))
                compare_policy(search, count, (enum cache_replacement)i, &told);
    }
    judge_visits(search, &told);
    return true;
}

/* -- what older records have --------------------------------------------------------------------------- */

/* One line more than ways in each set; the first `again` of them are walked a second time before the last comes.
 * Written into the list; groups: 0 lines of sets that nothing else is in, NO_GROUP others. */
static size_t list_replacement(struct search *search, uint32_t sets, uint32_t again)
{
    const struct shape *shape = search->shape;
    size_t count = 0;

    for (uint32_t phase = 0; phase < shape->ways + again + 1; phase++) {
        const bool second = phase >= shape->ways && phase < shape->ways + again;
        const uint32_t tag = phase < shape->ways ? phase : second ? phase - shape->ways : shape->ways;

        for (uint32_t set = 0; set < sets; set++) {
            const uint32_t at = search_line_of(search, tag, set) * shape->line_bytes;
            const bool whole = shape->set[set].fits == shape->ways && shape->set[set].overflows == shape->ways + 1;

            for (uint32_t sub = 0; sub < shape->line_bytes; sub += search->step) {
                search->address[count] = at + sub + (second ? WORD_BYTES : 0);
                search->group[count++] = whole ? 0 : NO_GROUP;
            }
        }
    }
    return count;
}

/* The share of the visits to lines, of the list that was counted last, that a cache of a policy would have answered as
 * they were, walked as they were, from a state at random; search->load: of each visit to a line what that misses. */
static double agreement_from(struct search *search, size_t count, struct cache *cache, uint64_t start)
{
    const uint32_t per_line = search->shape->line_bytes / search->step;
    const uint32_t room = (uint32_t)(search->prober->samples_max / count);
    uint64_t visits = 0, differ = 0;

    memset(search->load, 0, count * sizeof(*search->load));
    for (uint32_t done = 0, timed; done < search->passes; done += timed) {
        uint64_t random = start;

        timed = search->passes - done < room ? search->passes - done : room;
        cache_clear(cache);
        for (size_t i = 0; start && i < count; i++)
            look_up(search, cache, random_next(&random) % (count / per_line) * per_line);
        for (uint32_t pass = 0; pass < OLD_WARM_UP + timed; pass++)
            for (size_t i = 0; i < count; i += per_line)
                search->load[i] += !look_up(search, cache, i) && pass >= OLD_WARM_UP;
    }
    for (size_t i = 0; i < count; i += per_line)
        if (search->group[i] != NO_GROUP) {
            visits += search->passes;
            differ += (uint64_t)labs((long)search->missed[i] - (long)search->load[i]);
        }
    return visits ? 1 - (double)differ / (double)visits : 0;
}

/* The least of agreement[policy] of the list and those before it. */
static void agree(struct search *search, uint32_t sets, uint32_t again, double agreement[CACHE_REPLACEMENT_COUNT])
{
    const uint32_t per_line = search->shape->line_bytes / search->step, ways = search->shape->ways;
    const size_t count = list_replacement(search, sets, again);

    search_count_misses(search, count, 1, OLD_WARM_UP, ways < 12 ? 40 : 3 * (ways + 2));
    /* The most that an access to the line was missed: of a line in sectors others may hit. */
    for (size_t i = 0; i < count; i += per_line)
        for (uint32_t k = 1; k < per_line; k++)
            if (search->missed[i + k] > search->missed[i])
                search->missed[i] = search->missed[i + k];
    for (size_t i = 0; i < CACHE_REPLACEMENT_COUNT; i++) {
        struct cache cache = {0};
        double most = 0;

        if (agreement[i] > 0)
            cache = open_candidate(search, (enum cache_replacement)i);

        for (uint64_t start = 0; cache.lines && start < STARTS; start++)
            most = fmax(most, agreement_from(search, count, &cache, start));
        cache_close(&cache);
        agreement[i] = fmin(agreement[i], most);
    }
    search->level->replacement.samples += count * search->passes;
}

/* What these lists speak against is out; that they speak against all is not believed. */
static void search_by_old_lists(struct search *search)
{
    struct geometry_number *finding = &search->level->replacement;
    const uint32_t line = search->shape->line_bytes, ways = search->shape->ways, all = search->shape->sets;
    const uint32_t lines = search->words * WORD_BYTES / line, more = lines > ways * all ? lines - ways * all : 0;
    const uint32_t sets = more < all ? more : all; /* those with one line more than ways */
    const uint32_t between = search_passes_before(search); /* bytes before a line is asked for again */
    const uint32_t again = sets && between ? (between + sets * line - 1) / (sets * line) : 1;
    double agreement[CACHE_REPLACEMENT_COUNT], most = 0;
    uint32_t policies = 0;

    /* Where more than half of the lines are walked twice, others than LRU do the same. */
    if (!sets || 2 * again > ways + 1 || search->step < 2 * WORD_BYTES ||
        (size_t)sets * (ways + again + 1) * (line / search->step) > search->words) {
        search_not_found(finding, "no list of %u bytes asks this level for a line before it would have gone",
                         search->words * WORD_BYTES);
        return;
    }
    for (size_t i = 0; i < CACHE_REPLACEMENT_COUNT; i++)
        agreement[i] = is_candidate((enum cache_replacement)i, ways);
    agree(search, sets, 0, agreement);
    agree(search, sets, again, agreement);
    for (size_t i = 0; i < CACHE_REPLACEMENT_COUNT; i++) {
        most = fmax(most, agreement[i]);
        policies |= (uint32_t)(agreement[i] > 0.95) << i;
    }
    finding->method = old_method;
    if (most >= 0.97)
        found(search, policies);
    else
        search_not_found(finding, "no simulated cache answers as this level does: the nearest, %.0f %% of the visits",
                         100 * most);
}

void search_replacement(struct search *search)
{
    if (search->shape->ways < 2)
        search_not_found(&search->level->replacement, "one way: there is nothing to choose");
    else if (!visit_at_random(search))
        search_by_old_lists(search);
}
