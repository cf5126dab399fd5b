/* SPDX-License-Identifier: MIT
 * The replacement policy: random visits to more lines than fit, compared with simulated caches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "geometry_search.h"
#include "random.h"
#include "text.h"

enum {
    /* untimed passes of random visits, which remove the influence of earlier contents */
    WARM_UP = 2,
    PASSES = 4,
    VISITS_MAX = 16, /* to a line */
    ACCESSES_MAX = 8192,
    SETS_WANTED = 8,
    STARTS = 6, /* states of a simulated cache before a list */
};

/* The answer to a visit in most of its passes; WAVERS: both hits and misses. */
enum outcome { HIT, MISS, BEFORE, WAVERS };

/* With two ways, both kinds of pseudo-LRU equal LRU. */
static bool is_candidate(enum cache_replacement policy, uint32_t ways)
{
    return policy == CACHE_TREE ? ways > 2 && (ways & (ways - 1)) == 0
                                : policy != CACHE_BITS || ways > 2;
}

/* -- lists ------------------------------------------------------------------------------------- */

/* A list of visits to lines of some sets. Each phase visits one line of each set, so that no
 * earlier level keeps data for the next phases. A visit is one access. If the earlier level would
 * answer that, it is one access to every part of the line that a miss of that level brings in. */
struct plan {
    uint32_t bytes; /* of a line, for one visit */
    uint32_t sets; /* the first ones of the level */
    uint32_t lines; /* in each set, visited at random */
    uint32_t resets; /* lines of each set visited once at the start, including those above */
    uint32_t visits; /* to each line, including the first one */
    uint32_t apart; /* least number of phases between visits to a line */
};

/* Plans a list; false if none is possible. */
static bool plan_visits(const struct search *search, uint32_t lines, uint32_t bytes,
                        struct plan *out)
{
    const uint32_t line = search->shape->line_bytes, all = search->shape->sets,
                   per_line = bytes / search->step;
    const uint32_t there = search->words * WORD_BYTES / line,
                   between = 2 * search_passes_before(search);
    uint32_t sets = between / bytes + 1, accesses;

    *out = (struct plan){.bytes = bytes,
                         .lines = lines < there / all ? lines : there / all + (there % all > 0)};
    if (out->lines <= search->shape->ways)
        return false;
    out->sets = there - (out->lines - 1) * all; /* sets that have enough lines */
    sets = sets > SETS_WANTED ? sets : SETS_WANTED;
    out->sets = out->sets < sets ? out->sets : sets;
    out->sets = out->sets < all ? out->sets : all;
    out->apart = between ? (between + out->sets * bytes - 1) / (out->sets * bytes) : 1;
    accesses = search->words < ACCESSES_MAX ? search->words : ACCESSES_MAX;
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

/* Adds a visit to a line by its `word`th words. Its first access has the set as its group. */
static size_t add_visit(struct search *search, const struct plan *plan, size_t count, uint32_t set,
                        uint32_t tag, uint32_t word)
{
    const uint32_t address =
        search_line_of(search, tag, set) * search->shape->line_bytes + word * WORD_BYTES;

    for (uint32_t sub = 0; sub < plan->bytes; sub += search->step) {
        search->address[count] = address + sub;
        search->group[count++] = sub ? NO_GROUP : set;
    }
    return count;
}

/* Writes the list. It first visits all possible lines, which empties the sets. Then it visits
 * lines at random: preferably with many visits left, and none of the last phases. Returns the
 * accesses. */
static size_t list_visits(struct search *search, const struct plan *plan, uint64_t *random)
{
    const uint32_t lines = plan->lines, visits = lines * (plan->visits - 1);
    size_t count = 0;

    for (uint32_t i = 0; i < plan->sets * lines; i++) {
        search->expected[i] = plan->visits - 1; /* [sets][lines]: visits left */
        search->load[i] = 0; /* [sets][lines]: phase of the last visit */
    }
    for (uint32_t tag = plan->resets; tag-- > 0;)
        for (uint32_t set = 0; set < plan->sets; set++)
            count = add_visit(search, plan, count, set, tag, plan->visits - 1);
    for (uint32_t phase = plan->apart + 1; phase <= plan->apart + visits; phase++)
        for (uint32_t set = 0; set < plan->sets; set++) {
            uint32_t *const left = search->expected + set * lines, *const last =
                                                                       search->load + set * lines;
            uint32_t sum = 0, tag = 0, drawn;

            for (uint32_t i = 0; i < lines; i++)
                sum += last[i] + plan->apart < phase ? left[i] : 0;
            if (!sum)
                continue;
            drawn = (uint32_t)(random_next(random) % sum);
            for (uint32_t weight;
                 drawn >= (weight = last[tag] + plan->apart < phase ? left[tag] : 0); tag++)
                drawn -= weight;
            last[tag] = phase;
            count = add_visit(search, plan, count, set, tag, --left[tag]);
        }
    return count;
}

/* -- answers ----------------------------------------------------------------------------------- */

/* Counts over the visits of all lists. */
struct seen {
    uint32_t visits, wavered, decided;
    uint32_t differ[CACHE_REPLACEMENT_COUNT]; /* clear visits with another answer by the policy */
};

/* Compares the visits with a cache of the policy, which is empty before the list. */
static void compare_policy(struct search *search, size_t count, enum cache_replacement policy,
                           struct seen *seen)
{
    const struct shape *shape = search->shape;
    uint32_t *const missed = search->load; /* of each access */
    struct cache cache;
    const enum status status =
        cache_open(&cache, shape->line_bytes, shape->sets, shape->ways, policy);

    search->status = search->status == STATUS_OK ? status : search->status;
    memset(missed, 0, count * sizeof(*missed));
    for (uint32_t pass = 0; status == STATUS_OK && pass < WARM_UP + PASSES; pass++)
        for (size_t i = 0; i < count; i++) {
            const uint32_t line = search->address[i] / shape->line_bytes;
            const uint32_t there =
                line / shape->sets * shape->sets + search_set_of(search, shape, line);

            if (search->expected[i] != BEFORE)
                missed[i] +=
                    !cache_lookup(&cache, (uint64_t)there * shape->line_bytes) && pass >= WARM_UP;
        }
    for (size_t i = 0; i < count; i++) {
        if (search->group[i] == NO_GROUP || search->expected[i] == BEFORE)
            continue;
        seen->differ[policy] += (search->expected[i] == HIT && missed[i] == PASSES) ||
                                (search->expected[i] == MISS && missed[i] == 0);
    }
    cache_close(&cache);
}

/* Classifies the accesses of a list that was chased, and counts its visits. */
static void read_visits(struct search *search, size_t count, struct seen *seen)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t missed = search->missed[i];
        uint32_t before = 0;

        for (size_t pass = 0; pass < PASSES; pass++) {
            const int by = search_answered_by(search, search->cycles[pass * count + i]);

            before += by != NOBODY && by < search->index;
        }
        search->expected[i] = 4 * before >= 3 * PASSES   ? BEFORE
                              : 4 * missed >= 3 * PASSES ? MISS
                              : 4 * missed <= PASSES     ? HIT
                                                         : WAVERS;
        if (search->group[i] == NO_GROUP)
            continue;
        seen->visits++;
        seen->wavered += missed > 0 && missed < PASSES;
        seen->decided += search->expected[i] == HIT || search->expected[i] == MISS;
    }
}

/* Chases a list that asks each set for more lines than it has ways, and holds it against every
 * policy. False if there is no such list. */
static bool try_lines(struct search *search, uint32_t lines, uint64_t *random, struct seen *seen)
{
    struct plan plan;
    size_t count;

    if (!plan_visits(search, lines, search->step, &plan) &&
        !plan_visits(search, lines, search->shape->line_bytes, &plan))
        return false;
    count = list_visits(search, &plan, random);
    search_count_misses(search, count, 0, WARM_UP, PASSES);
    search->level->replacement.samples += count * PASSES;
    read_visits(search, count, seen);
    for (size_t i = 0; i < CACHE_REPLACEMENT_COUNT; i++)
        if (is_candidate((enum cache_replacement)i, search->shape->ways))
            compare_policy(search, count, (enum cache_replacement)i, seen);
    return true;
}

/* The policies that the visits leave, a bit for each; 0: none of them. False if the visits decide
 * nothing. *least is the number of visits that differ from the nearest policy. */
static bool policies_left(const struct seen *seen, uint32_t ways, uint32_t *policies,
                          uint32_t *least)
{
    *policies = 0;
    *least = UINT32_MAX;
    for (uint32_t i = 0; i < CACHE_REPLACEMENT_COUNT; i++)
        if (is_candidate((enum cache_replacement)i, ways) && seen->differ[i] < *least)
            *least = seen->differ[i];
    /* One visit in a hundred may be read wrong. A policy is excluded if clearly more visits differ
     * than for the best one. */
    if (10 * seen->decided < 9 * seen->visits || 100 * *least > seen->decided)
        return 20 * seen->wavered <= seen->visits && 20 * *least >= seen->decided && *least >= 16;
    for (uint32_t i = 0; i < CACHE_REPLACEMENT_COUNT; i++)
        if (is_candidate((enum cache_replacement)i, ways) && seen->differ[i] <= 4 + 2 * *least)
            *policies |= 1u << i;
    return true;
}

/* "LRU", "one of LRU, FIFO", or "none of ..." with all. */
static void name_policies(uint32_t policies, char name[GEOMETRY_REASON_BYTES])
{
    const char *comma = "";

    snprintf(name, GEOMETRY_REASON_BYTES, "%s",
             !policies                   ? "none of "
             : policies & (policies - 1) ? "one of "
                                         : "");
    for (uint32_t i = 0; i < CACHE_REPLACEMENT_COUNT; i++)
        if (!policies || policies >> i & 1) {
            text_join(name, GEOMETRY_REASON_BYTES, comma, "%s", cache_replacement_names[i]);
            comma = ", ";
        }
}

void search_replacement(struct search *search)
{
    const uint32_t ways = search->shape->ways, more[] = {1, ways < 4 ? 2 : ways / 2};
    struct geometry_number *finding = &search->level->replacement;
    uint32_t least, policies;
    struct seen seen = {0};
    uint64_t random = 1;

    if (ways < 2) {
        search_not_found(finding, "one way: there is nothing to choose");
        return;
    }
    for (size_t k = 0; k < sizeof(more) / sizeof(more[0]); k++)
        if (!try_lines(search, ways + more[k], &random, &seen)) {
            search_not_found(finding,
                             "no list in %u bytes asks this level for more lines of a set than it "
                             "holds",
                             search->words * WORD_BYTES);
            return;
        }
    if (!policies_left(&seen, ways, &policies, &least)) {
        search_not_found(finding,
                         "%u of %u visits hit now and then; %u of the others differ from the "
                         "nearest policy",
                         seen.wavered, seen.visits, least);
        return;
    }
    search_found(finding, policies, finding->samples);
    name_policies(policies, search->level->replacement_name);
}
