/* SPDX-License-Identifier: MIT
 * A set-associative cache with LRU replacement, by simulation. */
#ifndef CBANK_CACHE_H
#define CBANK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"

struct cache {
    uint32_t line_bytes;
    uint32_t sets;
    uint32_t ways;
    uint64_t clock; /* lookups so far: the age of lines */
    uint64_t hits, misses;
    struct cache_line *lines; /* sets x ways, owned */
};

/* Opens an empty cache: sets x ways x line_bytes = capacity_bytes. Set of a line: its number modulo sets.
 * STATUS_USAGE when that leaves a rest, STATUS_ENVIRONMENT out of memory; *cache is then zeroed. */
enum status cache_open(struct cache *cache, uint32_t capacity_bytes, uint32_t line_bytes, uint32_t ways);

/* Looks up the line of byte `address`, fills it on a miss. Returns true on a hit. */
bool cache_lookup(struct cache *cache, uint64_t address);

/* Forgets all lines and counts. */
void cache_clear(struct cache *cache);

/* Releases; accepts a zeroed struct. */
void cache_close(struct cache *cache);

#endif
