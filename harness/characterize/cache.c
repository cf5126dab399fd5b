/* SPDX-License-Identifier: MIT
 * A set-associative cache, one lookup at a time. The marks of a tree are numbered as in a heap:
 * node n has the children 2 n and 2 n + 1, and the ways are the leaves.
 *
 *   node     1
 *          2   3           way 2 of 4 is leaf 6: an access sets node 3 to 1 and node 1 to 0,
 *   way   0 1 2 3          so that the next line to go is in the other half */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"

const char *const cache_replacement_names[CACHE_REPLACEMENT_COUNT] = {
    [CACHE_LRU] = "LRU",
    [CACHE_FIFO] = "FIFO",
    [CACHE_TREE] = "tree pseudo-LRU",
    [CACHE_BITS] = "bit pseudo-LRU",
    [CACHE_NRU] = "NRU",
};

struct cache_line {
    uint64_t number; /* address / line_bytes */
    /* cache->clock of the last lookup (CACHE_FIFO: of the first; others: 1); 0: an empty way */
    uint64_t used;
};

enum status cache_open(struct cache *cache, uint32_t line_bytes, uint32_t sets, uint32_t ways,
                       enum cache_replacement replacement)
{
    const size_t lines = (size_t)sets * ways;

    *cache = (struct cache){replacement, line_bytes, sets, ways, .clock = 0};
    cache->lines = calloc(lines, sizeof(*cache->lines));
    cache->marks = calloc(lines, sizeof(*cache->marks));
    return cache->lines && cache->marks ? STATUS_OK : log_memory("a simulated cache");
}

/* The lowest way without a mark; `ways` if there is none. */
static uint32_t lowest(const uint8_t *marks, uint32_t ways)
{
    const uint8_t *found = memchr(marks, 0, ways);

    return found ? (uint32_t)(found - marks) : ways;
}

bool cache_lookup(struct cache *cache, uint64_t address)
{
    const uint64_t number = address / cache->line_bytes;
    const uint32_t ways = cache->ways;
    const size_t first = number % cache->sets * ways;
    struct cache_line *lines = &cache->lines[first];
    uint8_t *marks = &cache->marks[first];
    /* that hits; else the one whose use, or whose fill, is longest ago, or that is empty */
    uint32_t way = 0;
    bool hit = false;

    cache->clock++;
    for (uint32_t i = 0; i < ways && !hit; i++) {
        hit = lines[i].number == number && lines[i].used;
        way = hit || lines[i].used < lines[way].used ? i : way;
    }
    if (!hit && lines[way].used)
        switch (cache->replacement) {
        case CACHE_TREE:
            for (way = 1; way < ways;)
                way = 2 * way + marks[way];
            way -= ways;
            break;
        case CACHE_NRU:
            if (lowest(marks, ways) == ways)
                memset(marks, 0, ways);
            way = lowest(marks, ways);
            break;
        case CACHE_BITS: /* with one way, that one is marked */
            way = lowest(marks, ways) % ways;
            break;
        default:
            break;
        }
    if (!hit || cache->replacement == CACHE_LRU)
        lines[way] =
            (struct cache_line){number, cache->replacement > CACHE_FIFO ? 1 : cache->clock};
    if (cache->replacement == CACHE_TREE)
        for (uint32_t node = ways + way; node > 1;
             node /= 2) /* each node turns away from the way */
            marks[node / 2] = !(node & 1);
    else
        marks[way] = 1;
    if (cache->replacement == CACHE_BITS && lowest(marks, ways) == ways) {
        memset(marks, 0, ways);
        marks[way] = 1;
    }
    return hit;
}

void cache_close(struct cache *cache)
{
    free(cache->lines);
    free(cache->marks);
    *cache = (struct cache){0};
}
