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

#include "geometry.h"
#include "simulated_prober.h"

enum { BANK_BYTES = 65536, SAMPLES_MAX = 65536, LARGEST_BYTES = 262144 };

static struct prober prober_of(struct sim *sim, uint32_t bytes, uint32_t foreign_lines)
{
    return (struct prober){sim, bytes, SAMPLES_MAX, foreign_lines, sim_walk};
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

struct score {
    uint32_t said, unsaid, wrong;
};

static void score(struct score *score, const struct finding *finding, uint32_t truth, const char *what, uint64_t seed,
                  uint32_t level)
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
        printf("  seed %llu level %u: %s is %u, not %u\n", (unsigned long long)seed, level, what, truth, finding->value);
    }
}

/* What an analysis can know: with two ways, a tree is LRU; one way has no policy. */
static enum replacement truth_of(const struct sim_level *level)
{
    if (level->policy == SIM_LRU || (level->policy == SIM_TREE && level->ways == 2))
        return REPLACEMENT_LRU;
    return level->policy == SIM_FIFO ? REPLACEMENT_FIFO : REPLACEMENT_NOT_LRU;
}

/* "Not LRU" is right of FIFO, too. */
static void score_replacement(struct score *replacement, const struct finding *finding, enum replacement truth,
                              uint64_t seed, uint32_t level)
{
    if (finding->known && finding->value == REPLACEMENT_NOT_LRU && truth == REPLACEMENT_FIFO)
        truth = REPLACEMENT_NOT_LRU;
    score(replacement, finding, truth, "replacement", seed, level);
}

enum { FETCH, LINE, WAYS, SETS, CAPACITY, REPLACEMENT, TAKEN, QUANTITIES };
static const char *const quantities[] = {"fetch", "line", "ways", "sets", "capacity", "replacement", "taken"};

static void describe(const struct sim *sim, const struct geometry *found)
{
    static const char *const policies[] = {"LRU", "FIFO", "random", "tree"};

    for (uint32_t i = 0; i < sim->level_count; i++) {
        const struct sim_level *level = &sim->levels[i];

        printf("    %u B = %u ways x %u sets x %u B (fetch %u), %s, %u cycles%s\n",
               level->ways * level->sets * level->line_bytes, level->ways, level->sets, level->line_bytes,
               level->fetch_bytes, policies[level->policy], level->cycles, level->hashed ? ", hashed" : "");
    }
    printf("    memory %u cycles, noise %.1f, %u foreign lines every %u, %s; %zu walks, %zu accesses\n",
           sim->memory_cycles, sim->noise, sim->foreign_count, sim->foreign_every, sim->keeps ? "keeps" : "cold",
           found->walks, found->accesses);
    for (uint32_t i = 0; i < found->level_count; i++) {
        const struct geometry_level *level = &found->level[i];

        printf("    found: %.1f cycles, fits %u, capacity %u = %u x %u x %u (fetch %u), %s, taken %u%s%s\n",
               level->latency.median, level->fits_bytes.value, level->capacity_bytes.value, level->ways.value,
               level->sets.value, level->line_bytes.value, level->fetch_bytes.value,
               replacement_name(level->replacement.value), level->lines_taken.value,
               level->contradicts ? "; " : "", level->contradiction);
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
        printf("  seed %llu: %u levels\n", (unsigned long long)seed, found->level_count);
        wrong++;
    }
    for (uint32_t f = 0, i = 0; f < found->level_count; f++) {
        const struct geometry_level *level = &found->level[f];
        const struct sim_level *truth;

        /* A level that never answers, the one before it being as large as the memory, is not seen. */
        while (i < sim->level_count && fabs(level->latency.median - sim->levels[i].cycles) > 1)
            i++;
        truth = &sim->levels[i];
        if (i == sim->level_count && fabs(level->latency.median - sim->memory_cycles) > 1) {
            printf("  seed %llu: a level of %g cycles\n", (unsigned long long)seed, level->latency.median);
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
        score(&scores[CAPACITY], &level->capacity_bytes, truth->line_bytes * truth->sets * truth->ways, "capacity", seed,
              i);
        if (truth->ways > 1)
            score_replacement(&scores[REPLACEMENT], &level->replacement, truth_of(truth), seed, i);
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
    const uint64_t count = first ? 1 : seeds ? strtoull(seeds, NULL, 0) : 200;
    struct score scores[QUANTITIES] = {{0}}, reachable[SIM_LEVELS_MAX] = {{0}};
    size_t walks = 0, accesses = 0;
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
        sim_close(&sim);
    }
    for (uint32_t i = 0; i < QUANTITIES; i++)
        printf("%-12s right %4u  not said %4u  wrong %u\n", quantities[i], scores[i].said - scores[i].wrong,
               scores[i].unsaid, scores[i].wrong);
    for (uint32_t i = 0; i < SIM_LEVELS_MAX; i++)
        printf("capacity of level %u, where it is less than the memory: said %u, not said %u\n", i + 1,
               reachable[i].said, reachable[i].unsaid);
    printf("at most %zu walks, %zu accesses\n", walks, accesses);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_hierarchies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
