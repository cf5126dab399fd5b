/* SPDX-License-Identifier: MIT
 * Geometry of caches from times, on simulated hierarchies: every number that is said is right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cache.h"
#include "geometry.h"
#include "simulated_prober.h"
#include "size.h"

enum { BANK_BYTES = 65536, SAMPLES_MAX = 65536, LARGEST_BYTES = 262144 };

/* The simulation, after a look at what is asked for: words of the memory, none twice. */
static enum status checked_walk(void *context, const struct probe_walk *walk, uint32_t *cycles)
{
    static uint32_t seen[4 * BANK_BYTES / 4], walks;

    walks++;
    assert_true(walk->count > 0 && walk->timed > 0);
    for (size_t i = 0; i < walk->count; i++) {
        assert_int_equal(walk->address[i] % 4, 0);
        assert_true(walk->address[i] / 4 < sizeof(seen) / sizeof(seen[0]));
        assert_true(seen[walk->address[i] / 4] != walks);
        seen[walk->address[i] / 4] = walks;
    }
    return sim_walk(context, walk, cycles);
}

static struct prober prober_of(struct sim *sim, uint32_t bytes, uint32_t foreign_lines)
{
    return (struct prober){.context = sim,
                           .bytes = bytes,
                           .samples_max = SAMPLES_MAX,
                           .foreign_lines = foreign_lines,
                           .walk = checked_walk,
                           .bank_bytes = sim->levels[0].bank_bytes};
}

/* -- random hierarchies ------------------------------------------------------------------------------- */

static uint32_t below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(random_next(state) % limit);
}

static uint32_t between(uint64_t *state, uint32_t low, uint32_t high)
{
    return low + below(state, high - low + 1);
}

static void random_level(uint64_t *state, struct sim_level *level, const struct sim_level *before)
{
    static const uint32_t odd_sets[] = {3, 5, 6, 7, 12, 20, 24, 33, 48};
    const uint32_t smallest = before ? 2 * before->line_bytes * before->sets * before->ways : 256;
    const uint32_t largest = before ? 32 * smallest : 16384;

    do {
        level->line_bytes = 16u << below(state, before ? 6 : 4);
        level->sets = below(state, 4) ? 1u << below(state, before ? 9 : 6) : odd_sets[below(state, 9)];
        level->ways = below(state, 2) ? 1u << below(state, 6) : between(state, 1, 32);
        if (below(state, 6) == 0) {
            level->ways = below(state, 2) ? 1u << below(state, 8) : between(state, 1, 128);
            level->sets = 1;
        }
    } while ((before && level->line_bytes < before->line_bytes) ||
             level->line_bytes * level->sets * level->ways < smallest ||
             level->line_bytes * level->sets * level->ways > largest ||
             level->line_bytes * level->sets * level->ways > LARGEST_BYTES);
    level->fetch_bytes = level->line_bytes;
    if (below(state, 8) == 0 && level->line_bytes >= 64 && (!before || before->line_bytes <= level->line_bytes / 2))
        level->fetch_bytes /= 2;
    level->policy = below(state, 2) ? SIM_LRU : (enum sim_policy)below(state, SIM_POLICIES);
    if (level->policy == SIM_TREE && (level->ways & (level->ways - 1) || level->ways > 32))
        level->policy = SIM_LRU;
}

static void random_sim(uint64_t seed, struct sim *sim, uint32_t *foreign_lines)
{
    uint64_t state = seed;
    uint32_t cycles = between(&state, 15, 80);

    *sim = (struct sim){.level_count = between(&state, 1, SIM_LEVELS_MAX), .random = seed, .outliers = 0.01};
    sim->noise = 0.3 + 2.2 * sim_uniform(&state);
    for (uint32_t i = 0; i < sim->level_count; i++) {
        random_level(&state, &sim->levels[i], i ? &sim->levels[i - 1] : NULL);
        sim->levels[i].cycles = cycles;
        cycles += between(&state, 40, 200);
        if (2 * sim->levels[i].line_bytes * sim->levels[i].sets * sim->levels[i].ways > LARGEST_BYTES)
            sim->level_count = i + 1;
    }
    sim->memory_cycles = cycles;
    sim->keeps = below(&state, 2);
    sim->foreign_count = below(&state, 5) < 2 ? between(&state, 1, 3) : 0;
    sim->foreign_every = between(&state, 1, 8);
    for (uint32_t i = 0; i < sim->foreign_count; i++)
        sim->foreign[i] = (1u << 20) + (uint64_t)below(&state, 1024) * 512;
    *foreign_lines = sim->foreign_count ? between(&state, sim->foreign_count, 4) : below(&state, 2) * 2;
    sim_open(sim);
}

static uint32_t policies_named[CACHE_REPLACEMENT_COUNT + 1]; /* of so many the right one is one */

struct score {
    uint32_t said, unsaid, wrong;
};

static void score(struct score *score, const struct geometry_number *finding, uint32_t truth, const char *what,
                  uint64_t seed, uint32_t level)
{
    if (!finding->known) {
        score->unsaid++;
        assert_true(finding->reason[0]);
        if (getenv("GEOMETRY_VERBOSE"))
            printf("  seed %llu level %u: %s not said: %s\n", (unsigned long long)seed, level, what, finding->reason);
        return;
    }
    score->said++;
    if (finding->value != truth) {
        score->wrong++;
        printf("  seed %llu level %u: %s is %u, not %u\n", (unsigned long long)seed, level, what, truth,
               finding->value);
    }
}

/* The bit of a finding; with two ways a tree, or a bit each, is LRU. */
static uint32_t truth_of(const struct sim_level *level)
{
    static const enum cache_replacement of[SIM_POLICIES] = {
        [SIM_LRU] = CACHE_LRU,       [SIM_FIFO] = CACHE_FIFO,
        [SIM_RANDOM] = CACHE_RANDOM, [SIM_TREE] = CACHE_TREE,
        [SIM_BITS] = CACHE_BITS,     [SIM_NRU] = CACHE_NRU,
        [SIM_CLOCK] = CACHE_CLOCK,   [SIM_CLOCK_HITS] = CACHE_CLOCK_OF_HITS,
        [SIM_SRRIP] = CACHE_SRRIP,   [SIM_SRRIP_F] = CACHE_SRRIP_OF_FREQUENCY};

    if (level->ways == 2 && (level->policy == SIM_TREE || level->policy == SIM_BITS))
        return 1u << CACHE_LRU;
    return 1u << of[level->policy];
}

/* Right: the policy is among those that it can be. */
static void score_replacement(struct score *replacement, const struct geometry_level *level, uint32_t truth,
                              uint64_t seed, uint32_t of_level)
{
    const struct geometry_number *finding = &level->replacement;
    struct geometry_number judged = *finding;

    if (finding->known && finding->value & truth) {
        judged.value = truth;
        policies_named[__builtin_popcount(finding->value)]++;
    } else if (finding->known) {
        printf("  replacement: %s\n", level->replacement_name);
    }
    score(replacement, &judged, truth, "replacement", seed, of_level);
}

enum { FETCH, LINE, WAYS, SETS, CAPACITY, REPLACEMENT, TAKEN, QUANTITIES };
static const char *const quantities[] = {"fetch", "line", "ways", "sets", "capacity", "replacement", "taken"};

static void describe(const struct sim *sim, const struct geometry *found)
{
    static const char *const policies[] = {"LRU", "FIFO",  "random",        "tree",  "bits",
                                           "NRU", "Clock", "Clock of hits", "SRRIP", "SRRIP of frequency"};

    for (uint32_t i = 0; i < sim->level_count; i++) {
        const struct sim_level *level = &sim->levels[i];

        printf("    %u B = %u ways x %u sets x %u B (fetch %u), %s, %u cycles%s\n",
               level->ways * level->sets * level->line_bytes, level->ways, level->sets, level->line_bytes,
               level->fetch_bytes, policies[level->policy], level->cycles, level->hashed ? ", hashed" : "");
    }
    printf("    memory %u cycles, noise %.1f, %u foreign lines every %u, %s; %llu walks, %llu accesses\n",
           sim->memory_cycles, sim->noise, sim->foreign_count, sim->foreign_every, sim->keeps ? "keeps" : "cold",
           (unsigned long long)found->walks, (unsigned long long)found->accesses);
    for (uint32_t i = 0; i < found->level_count; i++) {
        const struct geometry_level *level = &found->level[i];

        printf("    found: %.1f cycles, fits %u, capacity %u = %u x %u x %u (fetch %u), %s, taken %u%s%s\n",
               level->latency.value, level->fits_bytes.value, level->capacity_bytes.value, level->ways.value,
               level->sets.value, level->line_bytes.value, level->fetch_bytes.value, level->replacement_name,
               level->lines_taken.value, level->contradiction[0] ? "; " : "", level->contradiction);
    }
}

/* Lines that others hold in each level; only what the first level's set can hold. */
static uint32_t taken_of(const struct sim *sim)
{
    const struct sim_level *level = &sim->levels[0];
    uint32_t taken = 0;

    for (uint32_t i = 0; i < sim->foreign_count; i++) {
        const uint64_t set = sim->foreign[i] / level->line_bytes % level->sets;
        uint32_t before = 0;
        bool same = false;

        for (uint32_t k = 0; k < i; k++) {
            before += sim->foreign[k] / level->line_bytes % level->sets == set;
            same |= sim->foreign[k] / level->line_bytes == sim->foreign[i] / level->line_bytes;
        }
        taken += !same && before < level->ways;
    }
    return taken;
}

static uint32_t compare_with_truth(const struct sim *sim, const struct geometry *found, uint32_t bytes, uint64_t seed,
                                   struct score *scores, struct score *reachable)
{
    uint32_t wrong = 0;

    for (uint32_t i = 0; i < QUANTITIES; i++)
        wrong -= scores[i].wrong;
    if (found->level_count > sim->level_count + 1) {
        printf("  seed %llu: %zu levels\n", (unsigned long long)seed, found->level_count);
        wrong++;
    }
    for (uint32_t f = 0, i = 0; f < found->level_count; f++) {
        const struct geometry_level *level = &found->level[f];
        const struct sim_level *truth;

        /* A level that never answers, the one before it being as large as the memory, is not seen. */
        while (i < sim->level_count && fabs(level->latency.value - sim->levels[i].cycles) > 1)
            i++;
        truth = &sim->levels[i];
        if (i == sim->level_count && fabs(level->latency.value - sim->memory_cycles) > 1) {
            printf("  seed %llu: a level of %g cycles\n", (unsigned long long)seed, level->latency.value);
            wrong++;
        }
        if (i == sim->level_count) {
            wrong += level->capacity_bytes.known;
            continue;
        }
        score(&scores[FETCH], &level->fetch_bytes, truth->fetch_bytes, "fetch", seed, i);
        score(&scores[LINE], &level->line_bytes, truth->line_bytes, "line", seed, i);
        score(&scores[WAYS], &level->ways, truth->ways, "ways", seed, i);
        score(&scores[SETS], &level->sets, truth->sets, "sets", seed, i);
        score(&scores[CAPACITY], &level->capacity_bytes, truth->line_bytes * truth->sets * truth->ways, "capacity",
              seed, i);
        if (truth->ways > 1)
            score_replacement(&scores[REPLACEMENT], level, truth_of(truth), seed, i);
        if (i == 0)
            score(&scores[TAKEN], &level->lines_taken, taken_of(sim), "taken", seed, i);
        if (truth->line_bytes * truth->sets * (truth->ways + 1) <= bytes && i < SIM_LEVELS_MAX) {
            reachable[i].said += level->capacity_bytes.known;
            reachable[i].unsaid += !level->capacity_bytes.known;
        }
    }
    for (uint32_t i = 0; i < QUANTITIES; i++)
        wrong += scores[i].wrong;
    return wrong;
}

static void random_hierarchies(void **state)
{
    const char *const first = getenv("GEOMETRY_SEED");
    const char *const seeds = getenv("GEOMETRY_SEEDS");
    const uint64_t from = first ? strtoull(first, NULL, 0) : 1;
    const uint64_t count = first ? 1 : seeds ? strtoull(seeds, NULL, 0) : repetitions(200, sanitized(6, 20));
    struct score scores[QUANTITIES] = {{0}}, reachable[SIM_LEVELS_MAX] = {{0}};
    size_t walks = 0, accesses = 0, all_accesses = 0;
    uint32_t wrong = 0;

    (void)state;
    for (uint64_t seed = from; seed < from + count; seed++) {
        uint32_t foreign_lines, errors;
        struct geometry found;
        struct prober prober;
        struct sim sim;

        random_sim(seed, &sim, &foreign_lines);
        prober = prober_of(&sim, BANK_BYTES, foreign_lines);
        assert_int_equal(geometry_find(&prober, GEOMETRY_LEVELS_MAX, &found), STATUS_OK);
        assert_int_equal(found.walks, sim.walks);
        assert_int_equal(found.accesses, sim.accesses);
        errors = compare_with_truth(&sim, &found, BANK_BYTES, seed, scores, reachable);
        if (errors || getenv("GEOMETRY_VERBOSE"))
            describe(&sim, &found);
        wrong += errors;
        walks = found.walks > walks ? found.walks : walks;
        accesses = found.accesses > accesses ? found.accesses : accesses;
        all_accesses += found.accesses;
        sim_close(&sim);
    }
    for (uint32_t i = 0; i < QUANTITIES; i++)
        printf("%-12s right %4u  not said %4u  wrong %u\n", quantities[i], scores[i].said - scores[i].wrong,
               scores[i].unsaid, scores[i].wrong);
    for (uint32_t i = 0; i < SIM_LEVELS_MAX; i++)
        printf("capacity of level %u, where it is less than the memory: said %u, not said %u\n", i + 1,
               reachable[i].said, reachable[i].unsaid);
    for (uint32_t i = 1; i <= CACHE_REPLACEMENT_COUNT; i++)
        if (policies_named[i])
            printf("one of %u replacements: %u\n", i, policies_named[i]);
    printf("at most %zu walks, %zu accesses; %zu accesses in the mean\n", walks, accesses,
           all_accesses / (size_t)count);
    assert_true(walks <= 400);
    assert_int_equal(wrong, 0);
}

/* -- known hierarchies --------------------------------------------------------------------------------- */

#define LEVEL(LINE_BYTES, FETCH_BYTES, SETS, WAYS, HASHED, CYCLES) \
    {.line_bytes = LINE_BYTES,                                     \
     .fetch_bytes = FETCH_BYTES,                                   \
     .sets = SETS,                                                 \
     .ways = WAYS,                                                 \
     .hashed = HASHED,                                             \
     .cycles = CYCLES}

static void find(struct sim *sim, uint32_t bytes, uint32_t foreign_lines, struct geometry *found)
{
    const struct prober prober = prober_of(sim, bytes, foreign_lines);

    sim->outliers = bytes <= BANK_BYTES ? 0.01 : 0.0001; /* about as many in a walk */
    sim->random = 7;
    sim_open(sim);
    assert_int_equal(geometry_find(&prober, GEOMETRY_LEVELS_MAX, found), STATUS_OK);
    sim_close(sim);
}

static void assert_level(const struct geometry_level *level, uint32_t ways, uint32_t sets, uint32_t line_bytes,
                         uint32_t fetch_bytes, uint32_t taken, enum cache_replacement replacement)
{
    const uint32_t values[] = {ways, sets, line_bytes, fetch_bytes, taken, 1u << replacement, ways * sets * line_bytes};
    const struct geometry_number *const findings[] = {&level->ways,          &level->sets,        &level->line_bytes,
                                                      &level->fetch_bytes,   &level->lines_taken, &level->replacement,
                                                      &level->capacity_bytes};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        assert_string_equal(findings[i]->reason, "");
        assert_true(findings[i]->known);
        assert_int_equal(findings[i]->value, values[i]);
        assert_true(findings[i]->samples > 0);
        assert_non_null(findings[i]->method);
    }
    assert_string_equal(level->contradiction, "");
}

/* What is known of Hopper: two lines of kernel parameters beside the table, a second level that no table fills. */
static void strangers_are_counted(void **state)
{
    struct geometry found;
    struct sim sim = {.level_count = 2,
                      .levels = {LEVEL(64, 64, 8, 4, false, 38), LEVEL(256, 256, 32, 16, false, 110)},
                      .memory_cycles = 280,
                      .foreign_count = 2,
                      .foreign_every = 1,
                      .noise = 1,
                      .foreign = {(1 << 20) + 6 * 64, (1 << 20) + 7 * 64}};

    (void)state;
    find(&sim, BANK_BYTES, 4, &found);
    assert_int_equal(found.level_count, 3);
    assert_level(&found.level[0], 4, 8, 64, 64, 2, CACHE_LRU);
    assert_int_equal(found.level[0].fits_bytes.value, 30 * 64);
    assert_int_equal(found.level[1].fetch_bytes.value, 256);
    assert_false(found.level[1].capacity_bytes.known);
    assert_non_null(strstr(found.level[1].capacity_bytes.reason, "all of the 65536 bytes"));
    assert_true(fabs(found.level[1].latency.value - 110) <= 0.5);
    assert_true(found.level[1].latency.ci_low <= 110 && found.level[1].latency.ci_high >= 110);
    assert_true(found.plateau_count >= 2);
    assert_true(fabs(found.plateau[0].cycles - 38) < 15);
}

/* Kepler's sizes as published; ways made up. */
static void two_levels_are_found(void **state)
{
    struct geometry found;
    struct sim sim = {.level_count = 2,
                      .levels = {LEVEL(64, 64, 8, 4, false, 40), LEVEL(256, 256, 16, 8, false, 110)},
                      .memory_cycles = 250,
                      .noise = 1};

    (void)state;
    find(&sim, BANK_BYTES, 2, &found);
    assert_level(&found.level[0], 4, 8, 64, 64, 0, CACHE_LRU);
    assert_level(&found.level[1], 8, 16, 256, 256, 0, CACHE_LRU);
}

/* What was seen of Hopper over the banks of several modules: the first level swaps sets by bank, the second does not. */
static void banks_are_told_apart(void **state)
{
    struct geometry found;
    struct sim sim = {.level_count = 2,
                      .levels = {LEVEL(64, 64, 8, 4, false, 31), LEVEL(256, 256, 64, 8, false, 105)},
                      .memory_cycles = 320,
                      .noise = 1};

    (void)state;
    sim.levels[0].bank_bytes = BANK_BYTES;
    find(&sim, 4 * BANK_BYTES, 0, &found);
    assert_level(&found.level[0], 4, 8, 64, 64, 0, CACHE_LRU);
    assert_level(&found.level[1], 8, 64, 256, 256, 0, CACHE_LRU);
    assert_int_equal(found.level[1].fits_bytes.value, 2 * BANK_BYTES);
    assert_int_equal(found.level[0].bank_count, 4);
    for (uint32_t bank = 0; bank < 4; bank++)
        assert_int_equal(found.level[0].bank_swap[bank], bank);
    assert_int_equal(found.level[1].bank_count, 0);
}

/* Both levels as trees, which is what an H200 was seen to have. */
static void trees_are_told(void **state)
{
    struct geometry found;
    struct sim sim = {.level_count = 2,
                      .levels = {LEVEL(64, 64, 8, 4, false, 40), LEVEL(256, 256, 16, 8, false, 110)},
                      .memory_cycles = 250,
                      .noise = 1};

    (void)state;
    sim.levels[0].policy = sim.levels[1].policy = SIM_TREE;
    find(&sim, BANK_BYTES, 2, &found);
    assert_level(&found.level[0], 4, 8, 64, 64, 0, CACHE_TREE);
    assert_level(&found.level[1], 8, 16, 256, 256, 0, CACHE_TREE);
}

static bool answers_no_random_visits(void *context, const struct probe_walk *walk)
{
    (void)context;
    (void)walk;
    return false;
}

/* What is found of two levels of four and eight ways (or others) with this policy. */
static void find_policy(enum sim_policy policy, const uint32_t ways[2], bool older, struct geometry *found)
{
    struct sim sim = {.level_count = 2,
                      .levels = {LEVEL(64, 64, 8, ways[0], false, 40), LEVEL(256, 256, 16, ways[1], false, 110)},
                      .memory_cycles = 250,
                      .noise = 1,
                      .outliers = 0.01,
                      .keeps = true,
                      .random = 7};
    struct prober prober = prober_of(&sim, 2 * BANK_BYTES, 0);

    sim.levels[0].policy = sim.levels[1].policy = policy;
    prober.answers = older ? answers_no_random_visits : NULL;
    sim_open(&sim);
    assert_int_equal(geometry_find(&prober, GEOMETRY_LEVELS_MAX, found), STATUS_OK);
    sim_close(&sim);
}

/* Every policy, by itself where the ways tell it from all others; of a record without random visits it is one of some, or
 * nothing is said. */
static void policies_are_told(void **state)
{
    static const uint32_t ways[][2] = {{2, 6}, {4, 8}, {3, 16}, {6, 10}, {8, 12}};
    const uint32_t every = (uint32_t)repetitions(1, sanitized(3, 1));
    uint32_t alone = 0, older = 0;

    (void)state;
    for (enum sim_policy policy = 0; policy < SIM_POLICIES; policy += every)
        for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
            for (size_t pass = 0; pass < 2; pass++) {
                struct geometry found;

                if (i != 1 && (policy == SIM_TREE || !test_is_full()))
                    continue;
                find_policy(policy, ways[i], pass, &found);
                for (size_t level = 0; level < 2; level++) {
                    const struct sim_level truth = {.policy = policy, .ways = ways[i][level]};
                    const struct geometry_number *finding = &found.level[level].replacement;

                    if (finding->known && !(finding->value & truth_of(&truth)))
                        fail_msg("policy %u, %u ways, pass %zu: %s", policy, truth.ways, pass,
                                 found.level[level].replacement_name);
                    alone += !pass && finding->known && finding->value == truth_of(&truth);
                    older += pass && finding->known;
                }
            }
    printf("alone: %u; of older records, said: %u\n", alone, older);
    assert_true(alone >= repetitions(60, sanitized(4, 12)) && older >= repetitions(50, sanitized(3, 10)));
}

/* A policy that nobody looked for is called none of them, or nothing is said. */
static void another_policy_is_none(void **state)
{
    static const uint32_t ways[][2] = {{4, 8}, {8, 16}};

    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        for (size_t pass = 0; pass < 2; pass++) {
            struct geometry found;

            find_policy(SIM_NEXT, ways[i], pass, &found);
            for (size_t level = 0; level < 2; level++)
                assert_true(!found.level[level].replacement.known || found.level[level].replacement.value == 0);
            assert_int_equal(found.level[0].replacement.known, pass == 0);
            if (pass == 0)
                assert_string_equal(
                    found.level[0].replacement_name,
                    "none of LRU, FIFO, tree pseudo-LRU, bit pseudo-LRU, NRU, Clock, Clock of hits, SRRIP, "
                    "SRRIP of frequency, random");
        }
}

/* A number of sets that no power of two divides, and sectors. */
static void odd_sets_and_sectors(void **state)
{
    struct geometry found;
    struct sim sim = {.level_count = 1, .levels = {LEVEL(128, 32, 33, 5, false, 33)}, .memory_cycles = 260, .noise = 1};

    (void)state;
    find(&sim, BANK_BYTES, 0, &found);
    assert_level(&found.level[0], 5, 33, 128, 32, 0, CACHE_LRU);
}

/* Where the set is no modulus of the line, nothing is made up. */
static void hashed_sets_are_not_said(void **state)
{
    (void)state;
    for (uint32_t ways = 1; ways <= 8; ways *= 2)
        for (uint32_t sets = 4; sets <= 32; sets *= 2) {
            struct geometry found;
            struct sim sim = {.level_count = 1,
                              .levels = {LEVEL(64, 64, sets, ways, true, 33)},
                              .memory_cycles = 260,
                              .noise = 1};

            find(&sim, BANK_BYTES, 0, &found);
            assert_int_equal(found.level[0].fetch_bytes.value, 64);
            assert_false(found.level[0].ways.known);
            assert_false(found.level[0].capacity_bytes.known);
            assert_true(found.level[0].capacity_bytes.reason[0]);
        }
}

/* All lines of one set: that others hold some cannot be told from a smaller cache. */
static void strangers_in_one_set_are_not_said(void **state)
{
    struct geometry found;
    struct sim sim = {.level_count = 1,
                      .levels = {LEVEL(64, 64, 1, 32, false, 33)},
                      .memory_cycles = 260,
                      .noise = 1,
                      .foreign_count = 2,
                      .foreign = {1 << 20, (1 << 20) + 64}};

    (void)state;
    find(&sim, BANK_BYTES, 2, &found);
    assert_int_equal(found.level[0].fits_bytes.value, 30 * 64);
    assert_false(found.level[0].capacity_bytes.known);
    assert_non_null(strstr(found.level[0].capacity_bytes.reason, "at least 1920 bytes"));
}

static void noise_is_not_read(void **state)
{
    struct geometry found;
    struct sim sim = {.level_count = 1, .levels = {LEVEL(64, 64, 8, 4, false, 100)}, .memory_cycles = 160, .noise = 40};

    (void)state;
    find(&sim, BANK_BYTES, 0, &found);
    for (uint32_t i = 0; i < found.level_count; i++) {
        assert_false(found.level[i].ways.known);
        assert_false(found.level[i].capacity_bytes.known);
    }
}

/* More memory, as behind the global path, and walks that can time little at once. */
static void larger_memory_and_short_walks(void **state)
{
    static const size_t samples_max[] = {200000, 12000};

    (void)state;
    for (size_t i = 0; i < sizeof(samples_max) / sizeof(samples_max[0]); i++) {
        struct geometry found;
        struct sim sim = {.level_count = 1,
                          .levels = {LEVEL(64, 64, 16, 8, false, 33)},
                          .memory_cycles = 260,
                          .noise = 1,
                          .outliers = 0.01,
                          .random = 3};
        struct prober prober = prober_of(&sim, 4 * BANK_BYTES, 0);

        prober.samples_max = samples_max[i];
        sim_open(&sim);
        assert_int_equal(geometry_find(&prober, GEOMETRY_LEVELS_MAX, &found), STATUS_OK);
        sim_close(&sim);
        assert_level(&found.level[0], 8, 16, 64, 64, 0, CACHE_LRU);
    }
}

static enum status failing_walk(void *context, const struct probe_walk *walk, uint32_t *cycles)
{
    uint32_t *left = context;

    if ((*left)-- == 0)
        return STATUS_ENVIRONMENT;
    for (size_t i = 0; i < walk->count * walk->timed; i++)
        cycles[i] = i % 16 ? 20 : 100;
    return STATUS_OK;
}

static void failures_are_passed_on(void **state)
{
    (void)state;
    for (uint32_t walks = 0; walks < 39; walks++) {
        uint32_t left = walks;
        const struct prober prober = {.context = &left,
                                      .bytes = BANK_BYTES,
                                      .samples_max = SAMPLES_MAX,
                                      .walk = failing_walk};
        struct geometry found;

        assert_int_equal(geometry_find(&prober, GEOMETRY_LEVELS_MAX, &found), STATUS_ENVIRONMENT);
    }
}

/* -- change points ------------------------------------------------------------------------------------- */

static void change_points_are_found(void **state)
{
    enum { COUNT = 90 };
    struct segment segments[COUNT];
    double values[COUNT];
    uint64_t random = 5;
    size_t found;

    (void)state;
    for (uint32_t trial = 0; trial < 200; trial++) {
        for (size_t i = 0; i < COUNT; i++)
            values[i] = (i < 30 ? 40 : i < 50 ? 110 : 280) + sim_gauss(&random);
        assert_int_equal(change_point_find(values, COUNT, 1, 0, segments, &found), STATUS_OK);
        assert_true(found >= 3 && found <= 5);
        assert_int_equal(segments[0].first, 0);
        for (size_t i = 0; i < found; i++)
            assert_int_equal(segments[i].first + segments[i].count,
                             i + 1 < found ? segments[i + 1].first : (size_t)COUNT);
    }
    for (size_t i = 0; i < COUNT; i++)
        values[i] = 7;
    assert_int_equal(change_point_find(values, COUNT, 1, 0, segments, &found), STATUS_OK);
    assert_int_equal(found, 1);
    assert_true(segments[0].level == 7);
    values[COUNT - 1] = 8;
    assert_int_equal(change_point_find(values, COUNT, 1, 0, segments, &found), STATUS_OK);
    assert_int_equal(found, 2);
    assert_int_equal(change_point_find(values, COUNT, 2, 10, segments, &found), STATUS_OK);
    assert_int_equal(found, 1);
    assert_int_equal(change_point_find(values, 1, 3, 0, segments, &found), STATUS_OK);
    assert_int_equal(found, 1);
    assert_int_equal(segments[0].count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_hierarchies),       cmocka_unit_test(strangers_are_counted),
        cmocka_unit_test(two_levels_are_found),     cmocka_unit_test(banks_are_told_apart),
        cmocka_unit_test(trees_are_told),           cmocka_unit_test(policies_are_told),
        cmocka_unit_test(another_policy_is_none),   cmocka_unit_test(odd_sets_and_sectors),
        cmocka_unit_test(hashed_sets_are_not_said), cmocka_unit_test(strangers_in_one_set_are_not_said),
        cmocka_unit_test(noise_is_not_read),        cmocka_unit_test(larger_memory_and_short_walks),
        cmocka_unit_test(failures_are_passed_on),   cmocka_unit_test(change_points_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
