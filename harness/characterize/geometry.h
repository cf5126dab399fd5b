/* SPDX-License-Identifier: MIT
 * The geometry of caches, from the times of walks (probe.h): nothing about a chip is known beforehand.
 *
 * What is assumed: a line goes into the set (its number modulo sets), exclusive-or a number of its bank where memory is
 * several; a level is asked for what the one before it
 * misses, and keeps what it brought; each level holds more than the one before it. What was found is used to say which
 * accesses of lists drawn at random hit, and is withdrawn where they do not. */
#ifndef CBANK_GEOMETRY_H
#define CBANK_GEOMETRY_H

#include "change_point.h"
#include "probe.h"
#include "stats.h"

enum { GEOMETRY_LEVELS_MAX = 6, GEOMETRY_REASON_BYTES = 200, GEOMETRY_PLATEAUS_MAX = 64, GEOMETRY_BANKS_MAX = 16 };

/* A number, or why there is none. */
struct geometry_number {
    bool known;
    uint32_t value;
    size_t samples;                     /* timed accesses that it rests on */
    const char *method;                 /* how it was looked for, known or not */
    char reason[GEOMETRY_REASON_BYTES]; /* where not known: why, with the range that was searched */
};

struct geometry_level {
    uint32_t number; /* from 1 */
    struct summary latency; /* cycles of accesses that this level answered, the clock's own included */
    /* fetch: what one miss brings. line: what leaves together. fits: the largest region from address 0 that can be
     * walked without a miss. lines_taken: that others keep in use (struct prober). replacement: bits of enum
     * cache_replacement, of those that it can be; 0: none of them. */
    struct geometry_number fetch_bytes, line_bytes, fits_bytes, capacity_bytes, ways, sets, lines_taken, replacement;
    char replacement_name[GEOMETRY_REASON_BYTES]; /* of those bits, by replacement_text(); "" where it is not known */
    uint32_t bank_count; /* banks of which the next is known; 0: memory is one bank, or it is not known */
    uint32_t bank_swap[GEOMETRY_BANKS_MAX]; /* line i of this bank is in the set of line i ^ this of the first */
    char contradiction[GEOMETRY_REASON_BYTES]; /* how what was found does not agree with itself; "" where it does */
};

/* Cycles over the size of a region that is walked again and again. */
struct plateau {
    uint32_t first_bytes, last_bytes;
    double cycles; /* mean of the accesses */
};

struct geometry {
    uint32_t searched_bytes; /* of memory */
    const char *shared_carve_out; /* what the walks asked of shared memory: set by who searches; not owned */
    size_t level_count; /* the last is what answers behind all caches that were seen to be too small */
    struct geometry_level level[GEOMETRY_LEVELS_MAX];
    size_t plateau_count;
    struct plateau plateau[GEOMETRY_PLATEAUS_MAX];
    uint64_t walks, accesses; /* what it cost, warm-up included */
};

/* What is looked for of every level. */
struct geometry_finding {
    const char *key; /* the member's name */
    size_t offset; /* of a struct geometry_number in struct geometry_level */
    bool of_shape; /* it is not known without lines, ways and sets */
    const char *unit, *method;
};

enum { GEOMETRY_FINDINGS = 8 };
extern const struct geometry_finding geometry_findings[GEOMETRY_FINDINGS];

/* The number of the level. */
const struct geometry_number *geometry_number(const struct geometry_level *level, const struct geometry_finding *of);

/* The cycles from which on an access was answered behind the level; not of the last one. */
double geometry_behind(const struct geometry *geometry, size_t level);

/* Finds up to levels_max levels. STATUS_OK also when little could be said; else the status of a walk, or
 * STATUS_ENVIRONMENT out of memory. Nothing in *out needs releasing. */
enum status geometry_find(const struct prober *prober, uint32_t levels_max, struct geometry *out);

/* "LRU", "one of LRU, FIFO" or "none of ...", of bits of enum cache_replacement. */
void replacement_text(uint32_t policies, char out[GEOMETRY_REASON_BYTES]);

#endif
