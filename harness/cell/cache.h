/* SPDX-License-Identifier: MIT
 * A set-associative cache, by simulation. */
#ifndef CBANK_CACHE_H
#define CBANK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"

/* Which line of a set goes when another comes. A place that is empty is filled first, the lowest before the others. */
enum cache_replacement {
    CACHE_LRU,
    CACHE_FIFO,
    CACHE_TREE, /* tree pseudo-LRU: a binary tree over the ways, a power of two; each access turns the nodes on its way
                   away from it, and the line that they lead to goes */
    CACHE_REPLACEMENT_COUNT
};

extern const char *const cache_replacement_names[CACHE_REPLACEMENT_COUNT]; /* as cards have them */

struct cache {
    enum cache_replacement replacement;
    uint32_t line_bytes;
    uint32_t sets;
    uint32_t ways;
    uint64_t clock; /* lookups so far: the age of lines */
    uint64_t hits, misses;
    struct cache_line *lines; /* sets x ways, owned */
    uint8_t *turns; /* CACHE_TREE: sets x ways, owned; of node n of a set, from 1, whether it leads right */
};

/* Opens an empty cache: sets x ways x line_bytes = capacity_bytes. Set of a line: its number modulo sets.
 * STATUS_USAGE when that leaves a rest, or ways are no power of two for CACHE_TREE; STATUS_ENVIRONMENT out of memory;
 * *cache is then zeroed. */
enum status cache_open(struct cache *cache, uint32_t capacity_bytes, uint32_t line_bytes, uint32_t ways,
                       enum cache_replacement replacement);

/* Looks up the line of byte `address`, fills it on a miss. Returns true on a hit. */
bool cache_lookup(struct cache *cache, uint64_t address);

/* Forgets all lines and counts. */
void cache_clear(struct cache *cache);

/* Releases; accepts a zeroed struct. */
void cache_close(struct cache *cache);

#endif
