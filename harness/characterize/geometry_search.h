/* SPDX-License-Identifier: MIT
 * The state of a search for a geometry (geometry.h), and the pointer chases shared by its steps. */
#pragma once

#include "geometry.h"

/* bytes between accesses of the sweep, whose sizes are a quarter of an octave apart */
enum { SWEEP_STEP = 16 };

enum {
    WORD_BYTES = 4,
    CYCLES_MAX = 8192, /* slower accesses are outliers */
    SAMPLES_MAX = 1 << 17, /* most accesses that one chase times */
    /* accesses of the sweep: 1.58 times as many, as its sizes grow by a root */
    SWEPT_MAX = 2 * SAMPLES_MAX,
    SWEEP_PASSES = 3, /* timed pointer chases of each region of the sweep */
    NOBODY = -1,      /* no level answers in this time */
};

/* The group of an access without a group. */
#define NO_GROUP UINT32_MAX

/* Lines, sets and ways of a level. A line of set s is s ^ swap, s ^ swap + sets, ... with the swap
 * of its bank. */
struct shape {
    bool known;
    uint32_t line_bytes, sets, ways;
    /* below sets; 0 unless memory is several banks and sets is a power of two */
    uint32_t swap[GEOMETRY_BANKS_MAX];
    struct set {
        /* largest number of lines that hit, smallest that does not (UINT32_MAX: not seen) */
        uint32_t fits, overflows;
    } set[SAMPLES_MAX]; /* [sets] */
};

enum fit { UNCLEAR, FITS, OVERFLOWS };

struct search {
    const struct prober *prober;
    struct geometry *out;
    enum status status; /* not OK after the first error: the search continues without effect */
    uint64_t random;
    size_t samples_max; /* most accesses that one chase times */
    /* words of a chase over all words; fewer than there are if samples_max is small */
    uint32_t words;
    /* bytes between accesses of a region: those that a miss of the first level brings in */
    uint32_t step;
    struct band {
        uint32_t low, high; /* cycles of accesses that a level answers, both included */
    } bands[GEOMETRY_LEVELS_MAX];
    uint32_t band_count;
    struct shape shapes[GEOMETRY_LEVELS_MAX];
    int index; /* the level of the current search */
    struct geometry_level *level; /* the same level: its findings */
    struct shape *shape; /* and its shape */

    size_t lines[SAMPLES_MAX]; /* [words]: room for numbers of lines, or a count for each set */
    /* [words]: the next list; the group of each access; passes in which it missed. For each group:
     * passes without a miss, and the verdict (enum fit); the expected verdict or outcome; room for
     * counts. */
    uint32_t address[SAMPLES_MAX], group[SAMPLES_MAX], missed[SAMPLES_MAX], clean[SAMPLES_MAX];
    uint8_t judged[SAMPLES_MAX];
    uint32_t expected[SAMPLES_MAX], load[SAMPLES_MAX];
    uint32_t count[CYCLES_MAX + 1]; /* samples of so many cycles; the last: of more */
    uint32_t near[CYCLES_MAX]; /* samples up to reach_at away */
    uint32_t reach; /* the noise of an access */
    /* [words]: cycles of a chase over all words that finds nothing in the caches */
    uint32_t cold[SAMPLES_MAX];
    uint32_t cycles[SWEPT_MAX];
    /* cycles of the sweep; the SWEEP_PASSES of each access are adjacent */
    uint32_t swept[SWEEP_PASSES * SWEPT_MAX];
    double samples[4 * SWEPT_MAX]; /* room for all cycles of the sweep and of the cold chase */
    size_t swept_count; /* accesses of the sweep */
    uint32_t passes; /* of the last call of search_judge or search_count_misses */
};

/* Records a number that was found, or the reason for its absence. */
void search_found(struct geometry_number *finding, uint32_t value, size_t samples);
__attribute__((format(printf, 2, 3))) void search_not_found(struct geometry_number *finding,
                                                            const char *format, ...);

/* Chases the first `count` of search->address; does nothing after an error. */
void search_chase(struct search *search, size_t count, uint32_t warm_up, uint32_t timed);

/* The index of the level that answers in this time, or NOBODY. */
int search_answered_by(const struct search *search, uint32_t cycles);

/* Chases the list `passes` times after a warm-up. Counts misses by access and by group. */
void search_count_misses(struct search *search, size_t count, uint32_t groups, uint32_t warm_up,
                         uint32_t passes);

/* Judges each group of accesses: whether all of them hit in the level, or in an earlier one, pass
 * after pass. */
void search_judge(struct search *search, size_t count, uint32_t groups);

/* The smallest region that overflows each set of the levels before this one, in bytes. */
uint32_t search_passes_before(const struct search *search);

/* The set of a line; line number `tag` of a set. */
uint32_t search_set_of(const struct search *search, const struct shape *shape, uint32_t line);
uint32_t search_line_of(const struct search *search, uint32_t tag, uint32_t set);

/* Finds the levels by the times of regions of growing size, at most so many: geometry_levels.c. */
void search_levels(struct search *search, uint32_t levels_max);

/* Finds the replacement policy: geometry_replacement.c. The shape must be known. */
void search_replacement(struct search *search);
