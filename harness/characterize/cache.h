/* SPDX-License-Identifier: MIT
 * A simulated set-associative cache. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "status.h"

/* The line of a set that a new one replaces. Empty ways are filled first, the lowest one before
 * others. */
enum cache_replacement {
    CACHE_LRU,
    CACHE_FIFO,
    CACHE_TREE, /* tree pseudo-LRU: a binary tree over the ways, a power of two. Each access turns
                   the nodes on its way away from it, and the tree leads to the replaced line */
    CACHE_BITS, /* bit pseudo-LRU: each access marks its line; when all are marked, the others lose
                   their marks; the lowest unmarked line is replaced */
    CACHE_NRU, /* not recently used: each access marks its line; the lowest unmarked line is
                  replaced; if all are marked, all lose their marks then */
    CACHE_REPLACEMENT_COUNT
};

extern const char *const cache_replacement_names[CACHE_REPLACEMENT_COUNT]; /* names on cards */

struct cache {
    enum cache_replacement replacement;
    uint32_t line_bytes;
    uint32_t sets;
    uint32_t ways;
    uint64_t clock; /* lookups so far: the age of lines */
    struct cache_line *lines; /* sets x ways, owned */
    /* sets x ways, owned: marks of lines; for CACHE_TREE, whether node n of a set (from 1) leads
     * right. */
    uint8_t *marks;
};

/* Opens an empty cache. A line is in the set of its number modulo sets. `ways` is a power of two
 * for CACHE_TREE. STATUS_ENVIRONMENT, logged, when out of memory. The caller closes *cache in
 * either case. */
enum status cache_open(struct cache *cache, uint32_t line_bytes, uint32_t sets, uint32_t ways,
                       enum cache_replacement replacement);

/* Looks up the line of byte `address`, and fills it on a miss. Returns true on a hit. */
bool cache_lookup(struct cache *cache, uint64_t address);

/* Releases; accepts a zeroed struct. */
void cache_close(struct cache *cache);
