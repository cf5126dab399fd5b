/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"

const char *const cache_replacement_names[CACHE_REPLACEMENT_COUNT] = {
    [CACHE_LRU] = "LRU", [CACHE_FIFO] = "FIFO", [CACHE_TREE] = "tree pseudo-LRU"};

struct cache_line {
    uint64_t number; /* address / line_bytes */
    uint64_t used;   /* cache->clock of the last lookup, of CACHE_FIFO of the first; 0 when the place is empty */
};

enum status cache_open(struct cache *cache, uint32_t capacity_bytes, uint32_t line_bytes, uint32_t ways,
                       enum cache_replacement replacement)
{
    const uint64_t set_bytes = (uint64_t)line_bytes * ways;

    *cache = (struct cache){0};
    if (capacity_bytes == 0 || set_bytes == 0 || capacity_bytes % set_bytes != 0)
        return log_error(STATUS_USAGE,
                         "a cache of %u bytes cannot have %u ways of %u-byte lines; correct the card's level",
                         capacity_bytes, ways, line_bytes);
    if (replacement == CACHE_TREE && ways & (ways - 1))
        return log_error(STATUS_USAGE, "%s takes a power of two of ways, not %u; correct the card's level",
                         cache_replacement_names[replacement], ways);

    cache->replacement = replacement;
    cache->line_bytes = line_bytes;
    cache->ways = ways;
    cache->sets = (uint32_t)(capacity_bytes / set_bytes);
    cache->lines = calloc((size_t)cache->sets * ways, sizeof(*cache->lines));
    cache->turns = calloc((size_t)cache->sets * ways, sizeof(*cache->turns));
    if (cache->lines == NULL || cache->turns == NULL) {
        cache_close(cache);
        return log_error(STATUS_ENVIRONMENT, "out of memory for a simulated cache; free some memory");
    }
    return STATUS_OK;
}

/* The nodes on the way to a place lead elsewhere from now on. */
static void turn_from(uint8_t *turns, uint32_t ways, uint32_t place)
{
    for (uint32_t node = ways + place; node > 1; node /= 2)
        turns[node / 2] = !(node & 1);
}

static uint32_t led_to(const uint8_t *turns, uint32_t ways)
{
    uint32_t node = 1;

    while (node < ways)
        node = 2 * node + turns[node];
    return node - ways;
}

bool cache_lookup(struct cache *cache, uint64_t address)
{
    const uint64_t number = address / cache->line_bytes;
    const size_t first = number % cache->sets * cache->ways;
    struct cache_line *set = &cache->lines[first];
    uint8_t *turns = &cache->turns[first];
    struct cache_line *goes = set;

    cache->clock++;
    for (struct cache_line *line = set; line < set + cache->ways; line++) {
        if (line->number == number && line->used != 0) {
            if (cache->replacement != CACHE_FIFO)
                line->used = cache->clock;
            if (cache->replacement == CACHE_TREE)
                turn_from(turns, cache->ways, (uint32_t)(line - set));
            cache->hits++;
            return true;
        }
        if (line->used < goes->used)
            goes = line;
    }
    if (cache->replacement == CACHE_TREE) {
        goes = goes->used ? set + led_to(turns, cache->ways) : goes;
        turn_from(turns, cache->ways, (uint32_t)(goes - set));
    }
    *goes = (struct cache_line){.number = number, .used = cache->clock};
    cache->misses++;
    return false;
}

void cache_clear(struct cache *cache)
{
    memset(cache->lines, 0, (size_t)cache->sets * cache->ways * sizeof(*cache->lines));
    memset(cache->turns, 0, (size_t)cache->sets * cache->ways * sizeof(*cache->turns));
    cache->clock = 0;
    cache->hits = 0;
    cache->misses = 0;
}

void cache_close(struct cache *cache)
{
    free(cache->lines);
    free(cache->turns);
    *cache = (struct cache){0};
}
