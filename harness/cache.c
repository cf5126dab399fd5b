/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"

struct cache_line {
    uint64_t number; /* address / line_bytes */
    uint64_t used;   /* cache->clock of the last lookup; 0 when the place is empty */
};

enum status cache_open(struct cache *cache, uint32_t capacity_bytes, uint32_t line_bytes, uint32_t ways)
{
    const uint64_t set_bytes = (uint64_t)line_bytes * ways;

    *cache = (struct cache){0};
    if (capacity_bytes == 0 || set_bytes == 0 || capacity_bytes % set_bytes != 0)
        return log_error(STATUS_USAGE,
                         "a cache of %u bytes cannot have %u ways of %u-byte lines; correct the card's level",
                         capacity_bytes, ways, line_bytes);

    cache->line_bytes = line_bytes;
    cache->ways = ways;
    cache->sets = (uint32_t)(capacity_bytes / set_bytes);
    cache->lines = calloc((size_t)cache->sets * ways, sizeof(*cache->lines));
    if (cache->lines == NULL)
        return log_error(STATUS_ENVIRONMENT, "out of memory for a simulated cache; free some memory");
    return STATUS_OK;
}

bool cache_lookup(struct cache *cache, uint64_t address)
{
    const uint64_t number = address / cache->line_bytes;
    struct cache_line *set = &cache->lines[number % cache->sets * cache->ways];
    struct cache_line *oldest = set;

    cache->clock++;
    for (struct cache_line *line = set; line < set + cache->ways; line++) {
        if (line->number == number && line->used != 0) {
            line->used = cache->clock;
            cache->hits++;
            return true;
        }
        if (line->used < oldest->used)
            oldest = line;
    }
    *oldest = (struct cache_line){.number = number, .used = cache->clock};
    cache->misses++;
    return false;
}

void cache_clear(struct cache *cache)
{
    memset(cache->lines, 0, (size_t)cache->sets * cache->ways * sizeof(*cache->lines));
    cache->clock = 0;
    cache->hits = 0;
    cache->misses = 0;
}

void cache_close(struct cache *cache)
{
    free(cache->lines);
    *cache = (struct cache){0};
}
