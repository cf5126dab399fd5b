/* SPDX-License-Identifier: MIT
 * Geometry of caches from times, on simulated hierarchies: every number that is reported is
 * right. */
#include <stdio.h>
#include <stdlib.h>

#include "cache.h"
#include "geometry.h"
#include "simulated_prober.h"
#include "size.h"
#include "test.h"

enum { BANK_BYTES = 65536, SAMPLES_MAX = 65536, LARGEST_BYTES = 262144 };

/* The simulation, after a look at the list: words of the memory, all different. */
static enum status checked_chase(void *context, const struct probe_chase *chase, uint32_t *cycles)
{
    static uint32_t seen[4 * BANK_BYTES / 4], chases;

    chases++;
    assert_true(chase->count > 0 && chase->timed > 0);
    for (size_t i = 0; i < chase->count; i++) {
        assert_int_equal(chase->address[i] % 4, 0);
        assert_true(chase->address[i] / 4 < sizeof(seen) / sizeof(seen[0]));
        assert_true(seen[chase->address[i] / 4] != chases);
        seen[chase->address[i] / 4] = chases;
    }
    return sim_chase(context, chase, cycles);
}

/* The geometry that is found in `bytes` of memory. */
static void find(struct sim *sim, uint32_t bytes, size_t samples_max, struct geometry *found)
{
    const struct prober prober = {.context = sim,
                                  .bytes = bytes,
                                  .samples_max = samples_max,
                                  .chase = checked_chase};

    sim_open(sim);
    assert_int_equal(geometry_find(&prober, GEOMETRY_LEVELS_MAX, found), STATUS_OK);
    assert_int_equal(found->chases, sim->chases);
    assert_int_equal(found->accesses, sim->accesses);
    sim_close(sim);
}

/* The bit of a policy; with two ways a tree, or a bit each, is LRU. */
static uint32_t policy_bit(enum cache_replacement policy, uint32_t ways)
{
    return 1u << (ways == 2 && (policy == CACHE_TREE || policy == CACHE_BITS) ? CACHE_LRU : policy);
}

/* -- random hierarchies ------------------------------------------------------------------------ */

static uint32_t below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(random_next(state) % limit);
}

static uint32_t between(uint64_t *state, uint32_t low, uint32_t high)
{
    return low + below(state, high - low + 1);
}

static uint32_t level_bytes(const struct sim_level *level)
{
    return level->line_bytes * level->sets * level->ways;
}

static void random_level(uint64_t *state, struct sim_level *level, const struct sim_level *before)
{
    static const uint32_t odd_sets[] = {3, 5, 6, 7, 12, 20, 24, 33, 48};
    const uint32_t smallest = before ? 2 * level_bytes(before) : 256,
                   largest = before ? 32 * smallest : 16384;

    do {
        level->line_bytes = 16u << below(state, before ? 6 : 4);
        level->sets =
            below(state, 4) ? 1u << below(state, before ? 9 : 6) : odd_sets[below(state, 9)];
        level->ways = below(state, 2) ? 1u << below(state, 6) : between(state, 1, 32);
        if (below(state, 6) == 0) {
            level->ways = below(state, 2) ? 1u << below(state, 8) : between(state, 1, 128);
            level->sets = 1;
        }
    } while ((before && level->line_bytes < before->line_bytes) || level_bytes(level) < smallest ||
             level_bytes(level) > largest || level_bytes(level) > LARGEST_BYTES);
    level->fetch_bytes = level->line_bytes;
    if (below(state, 8) == 0 && level->line_bytes >= 64 &&
        (!before || before->line_bytes <= level->line_bytes / 2))
        level->fetch_bytes /= 2;
    level->policy =
        below(state, 2) ? CACHE_LRU : (enum cache_replacement)below(state, SIM_RANDOM + 1);
    if (level->policy == CACHE_TREE && (level->ways & (level->ways - 1) || level->ways > 32))
        level->policy = CACHE_LRU;
}

static struct sim random_sim(uint64_t seed)
{
    uint64_t state = seed;
    uint32_t cycles = between(&state, 15, 80);
    struct sim sim = {.level_count = between(&state, 1, SIM_LEVELS_MAX),
                      .random = seed,
                      .outliers = 0.01};

    sim.noise = 0.3 + 2.2 * sim_uniform(&state);
    for (uint32_t i = 0; i < sim.level_count; i++) {
        random_level(&state, &sim.levels[i], i ? &sim.levels[i - 1] : NULL);
        sim.levels[i].cycles = cycles;
        cycles += between(&state, 40, 200);
        if (2 * level_bytes(&sim.levels[i]) > LARGEST_BYTES)
            sim.level_count = i + 1;
    }
    sim.memory_cycles = cycles;
    sim.keeps = below(&state, 2);
    return sim;
}

enum { FETCH, LINE, WAYS, SETS, CAPACITY, REPLACEMENT, QUANTITIES };

/* How many levels of all hierarchies have the quantity said, or not. */
static struct score {
    uint32_t said, unsaid;
} scores[QUANTITIES];

/* How much of what was found of a level is wrong. A replacement is right where the policy is one of
 * those that it can be. */
static uint32_t wrong_of_level(const struct geometry_level *level, const struct sim_level *truth)
{
    const uint32_t bit = policy_bit(truth->policy, truth->ways);
    const struct {
        const struct geometry_number *found;
        uint32_t truth;
    } rows[QUANTITIES] = {[FETCH] = {&level->fetch_bytes, truth->fetch_bytes},
                          [LINE] = {&level->line_bytes, truth->line_bytes},
                          [WAYS] = {&level->ways, truth->ways},
                          [SETS] = {&level->sets, truth->sets},
                          [CAPACITY] = {&level->capacity_bytes, level_bytes(truth)},
                          [REPLACEMENT] = {&level->replacement, bit}};
    uint32_t wrong = 0;

    for (size_t i = 0; i < (truth->ways > 1 ? QUANTITIES : REPLACEMENT); i++) {
        const struct geometry_number *found = rows[i].found;

        scores[i].said += found->known;
        scores[i].unsaid += !found->known;
        wrong += found->known &&
                 (i == REPLACEMENT ? !(found->value & bit) : found->value != rows[i].truth);
        assert_true(found->known || found->reason[0]);
    }
    return wrong;
}

/* Whether all that was found is right. A level that never answers, the one before it being as
 * large, is not seen. */
static bool is_right(const struct sim *sim, const struct geometry *found)
{
    uint32_t wrong = found->level_count > sim->level_count + 1, i = 0;

    for (const struct geometry_level *level = found->level;
         level < found->level + found->level_count; level++) {
        while (i < sim->level_count && fabs(level->latency.value - sim->levels[i].cycles) > 1)
            i++;
        wrong += i < sim->level_count ? wrong_of_level(level, &sim->levels[i])
                                      : fabs(level->latency.value - sim->memory_cycles) > 1 ||
                                            level->capacity_bytes.known;
    }
    return wrong == 0;
}

TEST(what_is_reported_of_random_hierarchies_is_right)
{
    const char *const first = getenv("GEOMETRY_SEED");
    const uint64_t from = first ? strtoull(first, NULL, 0) : 1;
    const uint64_t count = first ? 1 : repetitions(200, sanitized(6, 20));

    for (uint64_t seed = from; seed < from + count; seed++) {
        struct sim sim = random_sim(seed);
        struct geometry found;

        find(&sim, BANK_BYTES, SAMPLES_MAX, &found);
        assert_true(found.chases <= 400);
        if (is_right(&sim, &found))
            continue;
        for (uint32_t i = 0; i < sim.level_count; i++)
            printf("  truth: %u x %u x %u (fetch %u), policy %u, %u cycles\n", sim.levels[i].ways,
                   sim.levels[i].sets, sim.levels[i].line_bytes, sim.levels[i].fetch_bytes,
                   sim.levels[i].policy, sim.levels[i].cycles);
        for (uint32_t i = 0; i < found.level_count; i++)
            printf("  found: %u x %u x %u (fetch %u), %s, %.1f cycles\n", found.level[i].ways.value,
                   found.level[i].sets.value, found.level[i].line_bytes.value,
                   found.level[i].fetch_bytes.value, found.level[i].replacement_name,
                   found.level[i].latency.value);
        fail_msg("GEOMETRY_SEED=%llu gives a wrong geometry", (unsigned long long)seed);
    }
    /* Nothing wrong is easy where nothing is said. */
    for (size_t k = 0; k < QUANTITIES && !first; k++)
        if (scores[k].said < scores[k].unsaid / (k == REPLACEMENT ? 8 : 4))
            fail_msg("quantity %zu: said %u, not said %u", k, scores[k].said, scores[k].unsaid);
}

/* -- known hierarchies ------------------------------------------------------------------------- */

#define LEVEL(LINE_BYTES, FETCH_BYTES, SETS, WAYS, CYCLES) \
    {.line_bytes = LINE_BYTES,                             \
     .fetch_bytes = FETCH_BYTES,                           \
     .sets = SETS,                                         \
     .ways = WAYS,                                         \
     .cycles = CYCLES}

/* A second level that holds all of the memory has a latency and what a miss brings, and no size. */
TEST(a_level_that_is_never_full_has_no_size)
{
    struct geometry found;
    struct sim sim = {.level_count = 2,
                      .levels = {LEVEL(64, 64, 8, 4, 38), LEVEL(256, 256, 32, 16, 110)},
                      .memory_cycles = 280,
                      .noise = 1,
                      .outliers = 0.01,
                      .random = 7};

    find(&sim, BANK_BYTES, SAMPLES_MAX, &found);
    assert_int_equal(found.level_count, 3);
    assert_int_equal(found.level[1].fetch_bytes.value, 256);
    assert_false(found.level[1].capacity_bytes.known);
    assert_non_null(strstr(found.level[1].capacity_bytes.reason, "all of the 65536 bytes"));
    assert_true(fabs(found.level[1].latency.value - 110) <= 0.5);
    assert_true(found.level[1].latency.ci_low <= 110 && found.level[1].latency.ci_high >= 110);
}

/* Sets by a hash, noise as large as a level is far, and a line that something else keeps: nothing
 * is made up. */
/* Slices of the memory at two distances are one level, whose latency spans both. */
TEST(two_groups_of_latencies_are_one_level)
{
    for (uint32_t far = 0; far <= 120; far += 20) {
        struct geometry found;
        struct sim sim = {.level_count = 2,
                          .levels = {LEVEL(64, 64, 8, 4, 38), LEVEL(256, 256, 16, 8, 110)},
                          .memory_cycles = 250,
                          .far_cycles = far,
                          .noise = 1,
                          .outliers = 0.002,
                          .random = 7};

        find(&sim, BANK_BYTES, SAMPLES_MAX, &found);
        assert_int_equal(found.level_count, 3);
        assert_true(found.level[0].capacity_bytes.value == 2048 &&
                    found.level[1].capacity_bytes.value == 32768);
        assert_true(fabs(found.level[2].latency.value - 250 - far / 2.0) < 1);
        assert_true(found.level[2].latency.ci_low < 252 &&
                    found.level[2].latency.ci_high > 247 + far);
    }
}

TEST(what_cannot_be_told_is_not_reported)
{
    for (uint32_t ways = 1; ways <= 8; ways *= 2)
        for (uint32_t sets = 4; sets <= 32; sets *= 2)
            for (uint32_t fault = 0; fault < 3; fault++) {
                struct geometry found;
                struct sim sim = {.level_count = 1,
                                  .levels = {LEVEL(64, 64, sets, ways, fault == 1 ? 100 : 33)},
                                  .memory_cycles = fault == 1 ? 160 : 260,
                                  .noise = fault == 1 ? 40 : 1,
                                  .outliers = 0.01,
                                  .random = 7};

                if (fault && (ways != 4 || sets != 8))
                    continue;
                sim.levels[0].hashed = fault == 0;
                sim.kept = fault == 2 ? 1 << 20 : 0;
                find(&sim, BANK_BYTES, SAMPLES_MAX, &found);
                if (fault != 1)
                    assert_int_equal(found.level[0].fetch_bytes.value, 64);
                for (uint32_t i = 0; i < found.level_count; i++) {
                    assert_false(found.level[i].ways.known || found.level[i].capacity_bytes.known);
                    assert_true(found.level[i].capacity_bytes.reason[0]);
                }
            }
}

/* -- replacement ------------------------------------------------------------------------------- */

/* Finds two levels with a policy that nobody looks for. */
static void find_next(const uint32_t ways[2], struct geometry *found)
{
    struct sim sim = {.level_count = 2,
                      .levels = {LEVEL(64, 64, 8, ways[0], 40), LEVEL(256, 256, 16, ways[1], 110)},
                      .memory_cycles = 250,
                      .noise = 1,
                      .outliers = 0.01,
                      .keeps = true,
                      .random = 7};

    sim.levels[0].policy = sim.levels[1].policy = SIM_NEXT;
    find(&sim, 2 * BANK_BYTES, SAMPLES_MAX, found);
}

/* A policy that nobody looks for is none of them, or nothing is said. */
TEST(another_policy_is_none)
{
    static const uint32_t ways[][2] = {{4, 8}, {8, 16}};

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct geometry found;

        find_next(ways[i], &found);
        assert_true(found.level[0].replacement.known);
        for (size_t level = 0; level < 2; level++)
            assert_int_equal(found.level[level].replacement.value, 0);
        assert_string_equal(found.level[0].replacement_name,
                            "none of LRU, FIFO, tree pseudo-LRU, bit pseudo-LRU, NRU");
    }
}

/* -- failures ---------------------------------------------------------------------------------- */

static enum status failing_chase(void *context, const struct probe_chase *chase, uint32_t *cycles)
{
    uint32_t *left = context;

    if ((*left)-- == 0)
        return STATUS_ENVIRONMENT;
    for (size_t i = 0; i < chase->count * chase->timed; i++)
        cycles[i] = i % 16 ? 20 : 100;
    return STATUS_OK;
}

TEST(a_chase_that_fails_ends_the_search)
{
    for (uint32_t chases = 0; chases < 39; chases++) {
        uint32_t left = chases;
        const struct prober prober = {.context = &left,
                                      .bytes = BANK_BYTES,
                                      .samples_max = SAMPLES_MAX,
                                      .chase = failing_chase};
        struct geometry found;

        assert_int_equal(geometry_find(&prober, GEOMETRY_LEVELS_MAX, &found), STATUS_ENVIRONMENT);
    }
}
