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
    CACHE_BITS, /* bit pseudo-LRU: each access marks its line, and when all are marked the others lose theirs; the
                   lowest that has none goes */
    CACHE_NRU, /* not recently used: each access marks its line; the lowest that has no mark goes, and where all have
                  one, all lose it then */
    CACHE_CLOCK, /* second chance: each access marks its line; a hand goes round, takes marks away, and the first line
                    without one goes */
    CACHE_CLOCK_OF_HITS, /* the same, but the access that brings a line does not mark it */
    CACHE_SRRIP, /* re-reference interval prediction of two bits: a line comes with 2, a hit makes it 0; the lowest with
                    3 goes, and all grow until there is one */
    CACHE_SRRIP_OF_FREQUENCY, /* the same, but a hit takes 1 away */
    CACHE_RANDOM,
    CACHE_REPLACEMENT_COUNT
};

extern const char *const cache_replacement_names[CACHE_REPLACEMENT_COUNT]; /* as cards have them */

struct cache {
    enum cache_replacement replacement;
    uint32_t line_bytes;
    uint32_t sets;
    uint32_t ways;
    uint64_t clock; /* lookups so far: the age of lines */
    struct cache_line *lines; /* sets x ways, owned */
    /* sets x ways, owned: marks of places; of CACHE_TREE, at node n of a set, from 1, whether it leads right. */
    uint8_t *marks;
    uint32_t *hands; /* sets, owned: the place at the hand of a clock */
    uint64_t random; /* CACHE_RANDOM: state, of the caller to set to another; the same from each opening on */
};

/* Opens an empty cache: sets x ways x line_bytes = capacity_bytes. Set of a line: its number modulo sets.
 * STATUS_USAGE when that leaves a rest, or ways are no power of two for CACHE_TREE; STATUS_ENVIRONMENT out of memory;
 * *cache is then zeroed. */
enum status cache_open(struct cache *cache, uint32_t capacity_bytes, uint32_t line_bytes, uint32_t ways,
                       enum cache_replacement replacement);

/* Looks up the line of byte `address`, fills it on a miss. Returns true on a hit. */
bool cache_lookup(struct cache *cache, uint64_t address);

/* Forgets all lines; what is random goes on. */
void cache_clear(struct cache *cache);

/* Releases; accepts a zeroed struct. */
void cache_close(struct cache *cache);

#endif
