/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "random.h"

const char *const cache_replacement_names[CACHE_REPLACEMENT_COUNT] = {
    [CACHE_LRU] = "LRU",
    [CACHE_FIFO] = "FIFO",
    [CACHE_TREE] = "tree pseudo-LRU",
    [CACHE_BITS] = "bit pseudo-LRU",
    [CACHE_NRU] = "NRU",
    [CACHE_CLOCK] = "Clock",
    [CACHE_CLOCK_OF_HITS] = "Clock of hits",
    [CACHE_SRRIP] = "SRRIP",
    [CACHE_SRRIP_OF_FREQUENCY] = "SRRIP of frequency",
    [CACHE_RANDOM] = "random",
};

/* The mark of a place when a line comes, and when it is hit. Policies without a row mark otherwise, or nothing. */
enum { ONE_LESS = 255, SRRIP_COMES = 2, SRRIP_GOES = 3 };

static const struct {
    uint8_t comes, hit;
} marked[CACHE_REPLACEMENT_COUNT] = {
    [CACHE_BITS] = {1, 1},
    [CACHE_NRU] = {1, 1},
    [CACHE_CLOCK] = {1, 1},
    [CACHE_CLOCK_OF_HITS] = {0, 1},
    [CACHE_SRRIP] = {SRRIP_COMES, 0},
    [CACHE_SRRIP_OF_FREQUENCY] = {SRRIP_COMES, ONE_LESS},
};

struct cache_line {
    uint64_t number; /* address / line_bytes */
    uint64_t used; /* cache->clock of the last lookup (CACHE_FIFO: of the first; others: 1); 0: an empty place */
};

enum status cache_open(struct cache *cache, uint32_t capacity_bytes, uint32_t line_bytes, uint32_t ways,
                       enum cache_replacement replacement)
{
    const uint64_t set_bytes = (uint64_t)line_bytes * ways;

    *cache = (struct cache){0};
    if (capacity_bytes == 0 || set_bytes == 0 || capacity_bytes % set_bytes != 0)
        return log_error(STATUS_USAGE, "a cache of %u bytes cannot have %u ways of %u-byte lines", capacity_bytes, ways,
                         line_bytes);
    if (replacement == CACHE_TREE && ways & (ways - 1))
        return log_error(STATUS_USAGE, "%s takes a power of two of ways, not %u", cache_replacement_names[replacement],
                         ways);

    cache->replacement = replacement;
    cache->line_bytes = line_bytes;
    cache->ways = ways;
    cache->sets = (uint32_t)(capacity_bytes / set_bytes);
    cache->lines = calloc((size_t)cache->sets * ways, sizeof(*cache->lines));
    cache->marks = calloc((size_t)cache->sets * ways, sizeof(*cache->marks));
    cache->hands = calloc(cache->sets, sizeof(*cache->hands));
    cache->random = 1;
    if (cache->lines == NULL || cache->marks == NULL || cache->hands == NULL) {
        cache_close(cache);
        return log_memory("a simulated cache");
    }
    return STATUS_OK;
}

/* The lowest place with this mark; `ways` if there is none. */
static uint32_t lowest(const uint8_t *marks, uint32_t ways, uint8_t mark)
{
    const uint8_t *found = memchr(marks, mark, ways);

    return found ? (uint32_t)(found - marks) : ways;
}

/* Updates the marks after an access to a place. */
static void mark(const struct cache *cache, uint8_t *marks, uint32_t place, bool hit)
{
    const uint8_t new = hit ? marked[cache->replacement].hit : marked[cache->replacement].comes;
    const uint32_t ways = cache->ways;

    if (cache->replacement == CACHE_TREE) {
        for (uint32_t node = ways + place; node > 1; node /= 2) /* each node turns away from the place */
            marks[node / 2] = !(node & 1);
        return;
    }
    marks[place] = new != ONE_LESS ? new : (uint8_t)(marks[place] - (marks[place] > 0));
    if (cache->replacement == CACHE_BITS && lowest(marks, ways, 0) == ways) {
        memset(marks, 0, ways);
        marks[place] = 1;
    }
}

/* The place of a full set whose line is replaced, according to its marks. */
static uint32_t goes_from(struct cache *cache, size_t set)
{
    const uint32_t ways = cache->ways;
    uint8_t *marks = cache->marks + set * ways;
    uint32_t *hand = &cache->hands[set], place;

    switch (cache->replacement) {
    case CACHE_TREE:
        for (place = 1; place < ways;)
            place = 2 * place + marks[place];
        return place - ways;
    case CACHE_NRU:
        if (lowest(marks, ways, 0) == ways)
            memset(marks, 0, ways);
        return lowest(marks, ways, 0);
    case CACHE_CLOCK:
    case CACHE_CLOCK_OF_HITS:
        for (; marks[*hand]; *hand = (*hand + 1) % ways)
            marks[*hand] = 0;
        place = *hand;
        *hand = (place + 1) % ways;
        return place;
    case CACHE_SRRIP:
    case CACHE_SRRIP_OF_FREQUENCY:
        while (lowest(marks, ways, SRRIP_GOES) == ways)
            for (uint32_t i = 0; i < ways; i++)
                marks[i]++;
        return lowest(marks, ways, SRRIP_GOES);
    case CACHE_RANDOM:
        return (uint32_t)(random_next(&cache->random) % ways);
    default: /* CACHE_BITS; with one way, that one is marked */
        return lowest(marks, ways, 0) % ways;
    }
}

bool cache_lookup(struct cache *cache, uint64_t address)
{
    const uint64_t number = address / cache->line_bytes;
    const size_t of = number % cache->sets, first = of * cache->ways;
    struct cache_line *set = &cache->lines[first];
    struct cache_line *goes = set;

    cache->clock++;
    for (struct cache_line *line = set; line < set + cache->ways; line++) {
        if (line->number == number && line->used != 0) {
            if (cache->replacement == CACHE_LRU)
                line->used = cache->clock;
            else
                mark(cache, &cache->marks[first], (uint32_t)(line - set), true);
            return true;
        }
        if (line->used < goes->used)
            goes = line;
    }
    if (cache->replacement > CACHE_FIFO) {
        goes = goes->used ? set + goes_from(cache, of) : goes;
        mark(cache, &cache->marks[first], (uint32_t)(goes - set), false);
    }
    *goes = (struct cache_line){.number = number, .used = cache->replacement > CACHE_FIFO ? 1 : cache->clock};
    return false;
}

void cache_clear(struct cache *cache)
{
    memset(cache->lines, 0, (size_t)cache->sets * cache->ways * sizeof(*cache->lines));
    memset(cache->marks, 0, (size_t)cache->sets * cache->ways * sizeof(*cache->marks));
    memset(cache->hands, 0, cache->sets * sizeof(*cache->hands));
    cache->clock = 0;
}

void cache_close(struct cache *cache)
{
    free(cache->lines);
    free(cache->marks);
    free(cache->hands);
    *cache = (struct cache){0};
}
