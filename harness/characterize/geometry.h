/* SPDX-License-Identifier: MIT
 * The geometry of caches, from the times of pointer chases. The search knows nothing about the
 * chip.
 *
 * The search assumes three things. Line n goes into set n modulo sets. If memory is several banks,
 * each bank may exclusive-or its own number to the set. A level sees the misses of the level before
 * it, and keeps the lines that it brought in. Each level holds more than the one before it. A shape
 * is reported only if it predicts the hits of random lists. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats.h"
#include "status.h"

/* One pointer chase: a single thread loads table[address / 4] for each address in turn. Each load
 * depends on the one before. */
struct probe_chase {
    /* `count` byte offsets, multiples of 4, all different: pointers in the table chain them */
    const uint32_t *address;
    size_t count;
    uint32_t warm_up; /* passes over the whole list before the first timed one; 0: the launch finds
                       * the caches as they are */
    uint32_t timed; /* timed passes over the whole list in the same launch; at least 1 */
};

/* Chases pointers and times every access: a GPU, a simulator, or a file of recorded chases. */
struct prober {
    void *context;
    uint32_t bytes; /* of the memory available: 65536 for a constant bank */
    /* the memory is several banks of this size, a power of two; 0: it is one */
    uint32_t bank_bytes;
    size_t samples_max; /* most accesses that one chase can time: count x timed */
    /* Writes count x timed cycles, pass after pass. Each includes reading the clock, which always
     * takes the same time. */
    enum status (*chase)(void *context, const struct probe_chase *chase, uint32_t *cycles);
};

enum { GEOMETRY_LEVELS_MAX = 6, GEOMETRY_REASON_BYTES = 200, GEOMETRY_BANKS_MAX = 16 };

/* A number, or the reason for its absence. */
struct geometry_number {
    bool known;
    uint32_t value;
    size_t samples; /* timed accesses that it rests on */
    const char *method; /* the method of the search, also if it failed */
    /* if not known: the reason, with the range that was searched */
    char reason[GEOMETRY_REASON_BYTES];
};

struct geometry_level {
    /* Cycles of accesses that this level answered: their mean, and where 95 % of them lie. During a
     * search it holds what timing adds. */
    struct summary latency;
    bool every_sm; /* it is of accesses from every SM; else from one */
    /* fetch: bytes that one miss brings in. line: bytes that are replaced together. fits: the
     * largest region from address 0 without a miss. lines_taken: lines that hold other data.
     * replacement: the policies that explain the misses, as bits of enum cache_replacement; 0:
     * none. */
    struct geometry_number fetch_bytes, line_bytes, fits_bytes, capacity_bytes, ways, sets,
        lines_taken, replacement;
    /* "LRU", "one of LRU, FIFO" or "none of ..."; "" if not known */
    char replacement_name[GEOMETRY_REASON_BYTES];
    char contradiction[GEOMETRY_REASON_BYTES]; /* findings that disagree; "" if none do */
};

struct geometry {
    uint32_t searched_bytes; /* of memory */
    const char *shared_carve_out; /* the share of L1 left to shared memory during the chases; set by
                                     the caller, not owned */
    double timing_cycles; /* added to an access by timing it; NaN: not known */
    size_t level_count; /* the last one answers everything that no cache holds */
    struct geometry_level level[GEOMETRY_LEVELS_MAX];
    uint64_t chases, accesses; /* of the search, warm-up included */
};

/* A number that the search determines at every level. */
struct geometry_finding {
    const char *key; /* the member's name */
    size_t offset; /* of its struct geometry_number in struct geometry_level */
    bool of_shape; /* unknown if lines, ways or sets are */
    const char *unit, *method; /* the method of the search */
};

enum { GEOMETRY_FINDINGS = 8 };
extern const struct geometry_finding geometry_findings[GEOMETRY_FINDINGS];

/* The level's number of that finding. */
struct geometry_number *geometry_number(const struct geometry_level *level,
                                        const struct geometry_finding *finding);

/* Cycles above which a later level answered an access. `level` must not be the last. */
double geometry_behind(const struct geometry *geometry, size_t level);

/* Finds up to levels_max levels. STATUS_OK even if little was found; else the status of a chase, or
 * STATUS_ENVIRONMENT when out of memory. *out needs no release. */
enum status geometry_find(const struct prober *prober, uint32_t levels_max, struct geometry *out);
