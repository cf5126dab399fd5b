/* SPDX-License-Identifier: MIT
 * For tests: a prober (harness/characterize/geometry.h) that is a simulation, with noise. Its
 * caches are written apart from those of harness/characterize/cache.h, which the search compares
 * with. */
#ifndef CBANK_TESTS_SIMULATED_PROBER_H
#define CBANK_TESTS_SIMULATED_PROBER_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "geometry.h"
#include "random.h"

/* Policies that nobody looks for: the way is random, or behind that used last. */
#define SIM_RANDOM CACHE_REPLACEMENT_COUNT
#define SIM_NEXT   (CACHE_REPLACEMENT_COUNT + 1)

enum { SIM_LEVELS_MAX = 3 };

struct sim_level {
    uint32_t line_bytes, fetch_bytes, sets, ways;
    enum cache_replacement policy;
    bool hashed; /* the set is no modulus of the line */
    uint32_t cycles;
    /* Owned. For each way: line + 1 (0: empty), its sectors, its age by the policy. For each set:
     * the way used last, and the bits of a tree. */
    uint32_t *line, *sectors, *age, *hand;
    uint64_t *tree;
};

struct sim {
    uint32_t level_count;
    struct sim_level levels[SIM_LEVELS_MAX];
    uint32_t memory_cycles, far_cycles; /* far: what every second slice of 512 bytes takes longer */
    uint64_t kept; /* a line that something else asks for at every access; 0: none */
    bool keeps; /* from launch to launch */
    double noise, outliers;
    uint64_t random;
    uint64_t accesses, chases;
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

/* Notes that a way was used: its age is 0 then, or counts the accesses. */
static inline void sim_use(struct sim *sim, struct sim_level *level, uint32_t set, uint32_t way,
                           bool hit)
{
    uint32_t *const age = level->age + (size_t)set * level->ways, unmarked = 0;

    switch ((int)level->policy) {
    case CACHE_LRU:
        age[way] = (uint32_t)sim->accesses;
        break;
    case CACHE_FIFO:
        age[way] = hit ? age[way] : (uint32_t)sim->accesses;
        break;
    case SIM_RANDOM:
        break;
    case CACHE_TREE: /* every node on the way points elsewhere from now on */
        for (uint32_t node = level->ways + way; node > 1; node /= 2) {
            level->tree[set] &= ~(1ull << node / 2);
            level->tree[set] |= (uint64_t)!(node & 1) << node / 2;
        }
        break;
    case SIM_NEXT:
        level->hand[set] = way;
        break;
    default:
        for (uint32_t w = 0; w < level->ways; w++)
            unmarked += w != way && age[w];
        age[way] = 0;
        for (uint32_t w = 0; level->policy == CACHE_BITS && !unmarked && w < level->ways; w++)
            age[w] = w != way;
    }
}

/* The way of a full set that is replaced. */
static inline uint32_t sim_victim(struct sim *sim, struct sim_level *level, uint32_t set)
{
    uint32_t *const age = level->age + (size_t)set * level->ways, ways = level->ways;
    uint32_t oldest = 0, node = 1;

    if (level->policy == SIM_RANDOM)
        return (uint32_t)(random_next(&sim->random) % ways);
    if (level->policy == SIM_NEXT)
        return (level->hand[set] + 1) % ways;
    if (level->policy == CACHE_TREE) {
        while (node < ways)
            node = 2 * node + (level->tree[set] >> node & 1);
        return node - ways;
    }
    if (level->policy == CACHE_LRU || level->policy == CACHE_FIFO) {
        for (uint32_t w = 1; w < ways; w++)
            oldest = age[w] < age[oldest] ? w : oldest;
        return oldest;
    }
    for (uint32_t w = 0; w < ways;
         w++) /* of those without a mark, the first; NRU: if all have one, all lose it */
        if (age[w])
            return w;
    for (uint32_t w = 0; w < ways; w++)
        age[w] = 1;
    return 0;
}

static inline bool sim_level_lookup(struct sim *sim, struct sim_level *level, uint64_t address)
{
    const uint32_t number = (uint32_t)(address / level->line_bytes);
    const uint32_t mixed =
        level->hashed ? number ^ number / level->sets ^ number / level->sets / level->sets : number;
    const uint32_t set = mixed % level->sets,
                   sector = 1u << address % level->line_bytes / level->fetch_bytes;
    uint32_t *const lines = level->line + (size_t)set * level->ways;
    uint32_t *const sectors = level->sectors + (size_t)set * level->ways;
    uint32_t found = 0, empty = 0, way;
    bool hit;

    /* Without a way out, so that a compiler makes vector instructions of it. */
    for (uint32_t w = 0; w < level->ways; w++) {
        found |= lines[w] == number + 1 ? w + 1 : 0;
        empty += lines[w] == 0;
    }
    way = found ? found - 1 : empty ? level->ways - empty : sim_victim(sim, level, set);
    hit = found && sectors[way] & sector;
    sectors[way] = found ? sectors[way] | sector : sector;
    lines[way] = number + 1;
    sim_use(sim, level, set, way, found);
    return hit;
}

static inline uint32_t sim_access(struct sim *sim, uint64_t address)
{
    sim->accesses++;
    for (uint32_t i = 0; i < sim->level_count; i++)
        if (sim_level_lookup(sim, &sim->levels[i], address))
            return sim->levels[i].cycles;
    return sim->memory_cycles + (address / 512 % 2 ? sim->far_cycles : 0);
}

static inline enum status sim_chase(void *context, const struct probe_chase *chase,
                                    uint32_t *cycles)
{
    struct sim *sim = context;

    sim->chases++;
    for (uint32_t i = 0; i < sim->level_count && !sim->keeps; i++)
        memset(sim->levels[i].line, 0,
               (size_t)sim->levels[i].sets * sim->levels[i].ways * sizeof(uint32_t));
    for (uint32_t pass = 0; pass < chase->warm_up + chase->timed; pass++)
        for (size_t i = 0; i < chase->count; i++) {
            double value;

            if (sim->kept) {
                sim_access(sim, sim->kept);
                sim->accesses--;
            }
            value = sim_access(sim, chase->address[i]) + sim->noise * sim_gauss(&sim->random);
            if (pass < chase->warm_up)
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
        const size_t ways = (size_t)level->sets * level->ways;

        level->line = calloc(3 * ways + level->sets, sizeof(*level->line));
        level->tree = calloc(level->sets, sizeof(*level->tree));
        if (!level->line || !level->tree)
            abort();
        level->sectors = level->line + ways;
        level->age = level->sectors + ways;
        level->hand = level->age + ways;
    }
}

static inline void sim_close(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->level_count; i++) {
        free(sim->levels[i].line);
        free(sim->levels[i].tree);
    }
}

#endif
