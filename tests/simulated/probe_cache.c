/* SPDX-License-Identifier: MIT
 * Caches that the kernels of probes meet. A unit looks a line up in its levels in turn; the cycles
 * of an access are those of the level that answers:
 *
 *   load -> L1 of the unit -> L1.5, shared by a group of SMs -> L2 */
#include "probe_cache.h"

#include <math.h>
#include <stdlib.h>

#include "cache.h"

enum cache_kind {
    CACHE_IDC,
    CACHE_UNIFORM,
    CACHE_IMC,
    CACHE_L1,
    CACHE_GCC,
    CACHE_KINDS,
    CACHE_NONE = CACHE_KINDS
};
enum {
    LEVELS = 2,
    INSTANCES_MAX = 256,
    BANKS = 32,
    SLICES = 16,
    L1_BYTES = 64 << 10,
    L1_LINE = 128,
    L1_WAYS = 4
};

/* How a unit answers: by its caches in turn, then from L2. */
static const struct unit {
    enum cache_kind level[LEVELS];
    uint32_t latency[LEVELS + 1]; /* of each, and of what is behind */
    /* every distinct address is a turn; else every 4-byte bank's second */
    bool by_address;
    double turn_latency;
} units[] = {
    [UNIT_IDC] = {{CACHE_IDC, CACHE_GCC}, {28, 98, 305}, true, 11},
    [UNIT_UNIFORM] = {{CACHE_UNIFORM, CACHE_GCC}, {6, 98, 305}, true, 0},
    [UNIT_IMC] = {{CACHE_IMC, CACHE_GCC}, {6, 98, 305}, true, 0},
    [UNIT_L1] = {{CACHE_L1, CACHE_NONE}, {41, 273, 273}, false, 2},
    [UNIT_TEXTURE] = {{CACHE_L1, CACHE_NONE}, {94, 320, 320}, false, 4},
    [UNIT_L2] = {{CACHE_NONE, CACHE_NONE}, {273, 273, 273}, false, 2},
    [UNIT_SHARED] = {{CACHE_NONE, CACHE_NONE}, {23, 23, 23}, false, 2},
    [UNIT_REGISTERS] = {{CACHE_NONE, CACHE_NONE}, {23, 23, 23}, false, 2},
    [UNIT_SELECT] = {{CACHE_NONE, CACHE_NONE}, {23, 23, 23}, false, 2},
};

static struct cache caches[CACHE_KINDS][INSTANCES_MAX];

/* -- caches ------------------------------------------------------------------------------------ */

static struct cache *open_cache(enum cache_kind kind, uint32_t instance)
{
    const struct chip_level *const level = &chip.levels[kind == CACHE_GCC];
    struct cache *const cache = &caches[kind][instance];
    const bool is_l1 = kind == CACHE_L1;

    const uint32_t line = is_l1 ? L1_LINE : level->line_bytes, ways = is_l1 ? L1_WAYS : level->ways;
    const uint32_t sets = (is_l1 ? L1_BYTES : level->capacity_bytes) / line / ways;

    if (!cache->lines &&
        cache_open(cache, line, sets, ways, is_l1 ? CACHE_LRU : level->replacement) != STATUS_OK)
        abort();
    return cache;
}

uint32_t probe_group(uint32_t sm)
{
    const char *size = settings.groups;
    uint32_t group = 0;

    if (!*size)
        return sm / chip.levels[1].sms;
    for (;; group++) {
        char *end;
        const uint32_t sms = (uint32_t)strtoul(size, &end, 10);

        if (sm < sms || *end != '+')
            return group;
        sm -= sms;
        size = end + 1;
    }
}

void probe_caches_launch(void)
{
    for (size_t kind = 0; kind < (settings.keep_second ? CACHE_GCC : CACHE_KINDS); kind++)
        for (size_t i = 0; i < INSTANCES_MAX; i++)
            cache_close(&caches[kind][i]);
}

uint32_t probe_caches_load(enum load_unit unit, uint32_t sm, uint64_t address, uint32_t *misses)
{
    const struct unit *const row = &units[unit];
    uint32_t level = 0, slice = 0;

    for (; level < LEVELS && row->level[level] != CACHE_NONE; level++) {
        const enum cache_kind kind = row->level[level];
        const bool hit =
            cache_lookup(open_cache(kind, kind == CACHE_GCC ? probe_group(sm) : sm), address);

        *misses += unit == UNIT_IDC && level == 0 && !hit;
        if (hit)
            return row->latency[level];
    }
    if (unit == UNIT_L1 || unit == UNIT_L2)
        slice = (address / L1_LINE ^ address / L1_LINE / SLICES ^
                 address / L1_LINE / SLICES / SLICES ^ sm) %
                SLICES;
    return row->latency[level] + (uint32_t)(settings.slices * slice / (SLICES - 1));
}

/* -- turns ------------------------------------------------------------------------------------- */

uint32_t probe_turns(enum load_unit unit, uint32_t distinct, uint32_t stride)
{
    uint32_t of_bank[BANKS] = {0}, most = 0;

    if (units[unit].by_address)
        return distinct;
    for (uint32_t i = 0; i < distinct; i++) {
        const uint32_t bank = i * stride / 4 % BANKS;

        most = ++of_bank[bank] > most ? of_bank[bank] : most;
    }
    return most;
}

double probe_turn_latency(enum load_unit unit)
{
    return units[unit].turn_latency;
}

double probe_busy(enum load_unit unit, uint32_t turns)
{
    switch (unit) {
    case UNIT_IDC:
        return turns * chip.levels[0].request_cycles;
    case UNIT_UNIFORM:
        return chip.uniform_request_cycles;
    case UNIT_IMC:
        return chip.immediate_request_cycles;
    case UNIT_L1:
        return fmax(1 / chip.l1_requests_per_cycle, turns);
    case UNIT_TEXTURE:
        return fmax(1 / chip.texture_requests_per_cycle, turns);
    case UNIT_SHARED:
        return turns / chip.shared_wavefronts_per_cycle;
    default:
        return 4.0 * turns;
    }
}
