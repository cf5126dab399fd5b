/* SPDX-License-Identifier: MIT
 * For tests: a prober (harness/characterize/geometry.h) that is a simulation, with noise. */
#ifndef CBANK_TESTS_SIMULATED_PROBER_H
#define CBANK_TESTS_SIMULATED_PROBER_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "geometry.h"
#include "random.h"

enum sim_policy {
    SIM_LRU,
    SIM_FIFO,
    SIM_RANDOM,
    SIM_TREE,
    SIM_BITS,
    SIM_NRU,
    SIM_CLOCK,
    SIM_CLOCK_HITS,
    SIM_SRRIP,
    SIM_SRRIP_F,
    SIM_POLICIES,
    SIM_NEXT = SIM_POLICIES /* the place behind that used last goes: none that is looked for */
};
enum { SIM_LEVELS_MAX = 3 };

struct sim_level {
    uint32_t line_bytes, fetch_bytes, sets, ways;
    enum sim_policy policy;
    bool hashed; /* the set is no modulus of the line */
    uint32_t bank_bytes; /* the number of the bank is exclusive-ored to the line's; 0: memory is one bank */
    uint32_t cycles;
    /* [sets x ways], owned: line + 1, sectors there; of LRU and FIFO the next to go last. [sets], owned: how many lines
     * there are, bits of the trees. */
    uint32_t *line, *sectors, *held;
    uint64_t *tree;
    uint32_t *rested; /* [sets x ways], owned: what else a policy has of a place */
    uint32_t *at; /* [sets], owned: the hand of a clock, or the place used last */
};

struct sim {
    uint32_t level_count;
    struct sim_level levels[SIM_LEVELS_MAX];
    uint32_t memory_cycles;
    uint64_t kept; /* a line that something else asks for at every access; 0: none */
    bool keeps; /* from launch to launch */
    double noise, outliers;
    uint64_t random;
    uint64_t accesses, walks;
};

static inline double sim_uniform(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

static inline double sim_gauss(uint64_t *state)
{
    const double radius = sqrt(-2 * log(sim_uniform(state)));

    return radius * cos(6.283185307179586 * sim_uniform(state));
}

static inline uint32_t sim_tree_victim(uint64_t tree, uint32_t ways)
{
    uint32_t node = 1;

    while (node < ways)
        node = 2 * node + (tree >> node & 1);
    return node - ways;
}

/* Every node on the way points elsewhere from now on. */
static inline uint64_t sim_tree_touch(uint64_t tree, uint32_t ways, uint32_t way)
{
    for (uint32_t node = ways + way; node > 1; node /= 2) {
        tree &= ~(1ull << node / 2);
        tree |= (uint64_t)!(node & 1) << node / 2;
    }
    return tree;
}

/* Written so that a compiler makes vector instructions of it: most lookups go through all ways. */
static inline uint32_t sim_find(const uint32_t *lines, uint32_t held, uint32_t line)
{
    uint32_t way = 0;

    for (uint32_t w = 0; w < held; w++)
        way |= lines[w] == line ? w + 1 : 0;
    return way;
}

/* Line and sectors to the front of the first `ways`. */
static inline void sim_to_front(uint32_t *lines, uint32_t *sectors, uint32_t ways, uint32_t line, uint32_t there)
{
    memmove(lines + 1, lines, (ways - 1) * sizeof(*lines));
    memmove(sectors + 1, sectors, (ways - 1) * sizeof(*sectors));
    lines[0] = line;
    sectors[0] = there;
}

/* The other policies. `rested` of a place: 0 as soon as it is used; how it grows, and what goes, is the policy's. */
static inline void sim_rest(struct sim_level *level, uint32_t set, uint32_t way, bool hit)
{
    uint32_t *const rested = level->rested + (size_t)set * level->ways;
    uint32_t resting = 0;

    if (level->policy == SIM_NEXT)
        level->at[set] = way;
    if (level->policy == SIM_SRRIP || level->policy == SIM_SRRIP_F)
        rested[way] = !hit ? 2 : level->policy == SIM_SRRIP || !rested[way] ? 0 : rested[way] - 1;
    else
        rested[way] = level->policy == SIM_CLOCK_HITS && !hit;
    for (uint32_t w = 0; level->policy == SIM_BITS && w < level->ways; w++)
        resting += rested[w];
    for (uint32_t w = 0; level->policy == SIM_BITS && !resting && w < level->ways; w++)
        rested[w] = w != way;
}

static inline uint32_t sim_longest_rested(struct sim_level *level, uint32_t set)
{
    uint32_t *const rested = level->rested + (size_t)set * level->ways;
    const uint32_t enough = level->policy == SIM_SRRIP || level->policy == SIM_SRRIP_F ? 3 : 1;
    const bool clock = level->policy == SIM_CLOCK || level->policy == SIM_CLOCK_HITS;
    uint32_t longest = 0;

    for (uint32_t w = clock ? level->at[set] : 0; clock; w = (w + 1) % level->ways) {
        if (rested[w]) {
            level->at[set] = (w + 1) % level->ways;
            return w;
        }
        rested[w] = 1;
    }
    for (uint32_t w = 0; w < level->ways; w++)
        longest = rested[w] > longest ? rested[w] : longest;
    for (uint32_t w = 0; longest < enough && w < level->ways; w++)
        rested[w] += enough - longest;
    for (uint32_t w = 0;; w++)
        if (rested[w] >= enough)
            return w;
}

static inline bool sim_level_lookup(struct sim *sim, struct sim_level *level, uint64_t address)
{
    const uint32_t number = (uint32_t)(address / level->line_bytes);
    const uint32_t bank = level->bank_bytes ? (uint32_t)(address / level->bank_bytes) : 0;
    const uint32_t mixed =
        level->hashed ? number ^ number / level->sets ^ number / level->sets / level->sets : number ^ bank;
    const uint32_t set = mixed % level->sets;
    const uint32_t sector = 1u << address % level->line_bytes / level->fetch_bytes;
    uint32_t *const lines = level->line + (size_t)set * level->ways;
    uint32_t *const sectors = level->sectors + (size_t)set * level->ways;
    uint32_t way = sim_find(lines, level->held[set], number + 1);

    if (way--) {
        const bool hit = sectors[way] & sector;

        sectors[way] |= sector;
        if (level->policy == SIM_TREE)
            level->tree[set] = sim_tree_touch(level->tree[set], level->ways, way);
        if (level->policy > SIM_TREE)
            sim_rest(level, set, way, true);
        if (level->policy == SIM_LRU)
            sim_to_front(lines, sectors, way + 1, number + 1, sectors[way]);
        return hit;
    }
    if (level->held[set] < level->ways)
        way = level->held[set]++;
    else if (level->policy == SIM_RANDOM)
        way = (uint32_t)(random_next(&sim->random) % level->ways);
    else if (level->policy == SIM_TREE)
        way = sim_tree_victim(level->tree[set], level->ways);
    else if (level->policy == SIM_NEXT)
        way = (level->at[set] + 1) % level->ways;
    else if (level->policy > SIM_TREE)
        way = sim_longest_rested(level, set);
    else
        way = level->ways - 1;
    if (level->policy > SIM_TREE)
        sim_rest(level, set, way, false);
    if (level->policy == SIM_TREE)
        level->tree[set] = sim_tree_touch(level->tree[set], level->ways, way);
    if (level->policy == SIM_LRU || level->policy == SIM_FIFO)
        sim_to_front(lines, sectors, way + 1, number + 1, sector);
    else {
        lines[way] = number + 1;
        sectors[way] = sector;
    }
    return false;
}

static inline uint32_t sim_access(struct sim *sim, uint64_t address)
{
    for (uint32_t i = 0; i < sim->level_count; i++)
        if (sim_level_lookup(sim, &sim->levels[i], address))
            return sim->levels[i].cycles;
    return sim->memory_cycles;
}

static inline void sim_forget(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->level_count; i++) {
        const struct sim_level *level = &sim->levels[i];

        memset(level->held, 0, level->sets * sizeof(*level->held));
    }
}

static inline enum status sim_walk(void *context, const struct probe_walk *walk, uint32_t *cycles)
{
    struct sim *sim = context;

    sim->walks++;
    if (!sim->keeps)
        sim_forget(sim);
    for (uint32_t pass = 0; pass < walk->warm_up + walk->timed; pass++)
        for (size_t i = 0; i < walk->count; i++) {
            double value;

            sim->accesses++;
            if (sim->kept)
                sim_access(sim, sim->kept);
            value = sim_access(sim, walk->address[i]) + sim->noise * sim_gauss(&sim->random);
            if (pass < walk->warm_up)
                continue;
            if (sim_uniform(&sim->random) < sim->outliers)
                value += 50 + 950 * sim_uniform(&sim->random);
            *cycles++ = value < 1 ? 1 : (uint32_t)lround(value);
        }
    return STATUS_OK;
}

static inline void sim_open(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->level_count; i++) {
        struct sim_level *level = &sim->levels[i];
        const size_t places = (size_t)level->sets * level->ways;

        level->line = calloc(places, sizeof(*level->line));
        level->sectors = calloc(places, sizeof(*level->sectors));
        level->held = calloc(level->sets, sizeof(*level->held));
        level->tree = calloc(level->sets, sizeof(*level->tree));
        level->rested = calloc(places, sizeof(*level->rested));
        level->at = calloc(level->sets, sizeof(*level->at));
        if (!level->line || !level->sectors || !level->held || !level->tree || !level->rested || !level->at)
            abort();
    }
}

static inline void sim_close(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->level_count; i++) {
        free(sim->levels[i].line);
        free(sim->levels[i].sectors);
        free(sim->levels[i].held);
        free(sim->levels[i].tree);
        free(sim->levels[i].rested);
        free(sim->levels[i].at);
    }
}

#endif
