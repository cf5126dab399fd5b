/* SPDX-License-Identifier: MIT
 * What the parts of the search for a geometry share (geometry.h): the search's state, walks, and who answered them. */
#ifndef CBANK_GEOMETRY_SEARCH_H
#define CBANK_GEOMETRY_SEARCH_H

#include "geometry.h"

enum {
    WORD_BYTES = 4,
    SWEEP_STEP = 16, /* bytes from access to access of the sweep, whose sizes are a quarter of an octave apart */
    SWEEP_PASSES = 3,
    NOBODY = -1,     /* an access that no level answers in this time */
};

/* The group of an access that is in none. */
#define NO_GROUP UINT32_MAX

/* What is known of a level, for finding the next. Lines of set s: s ^ swap, s ^ swap + sets, ... with the swap of the
 * bank that they are in. */
struct shape {
    bool known;
    uint32_t line_bytes, sets, ways;
    uint32_t swap[GEOMETRY_BANKS_MAX]; /* below sets; 0 unless memory is several banks and sets a power of two */
    struct set {
        uint32_t fits, overflows; /* most lines that hit, fewest that do not (UINT32_MAX: not seen): one more where it
                                     is known how many fit */
    } *set; /* [sets], owned */
};

enum fit { UNCLEAR, FITS, OVERFLOWS };

struct search {
    const struct prober *prober;
    struct geometry *out;
    enum status status; /* not OK after the first error: the search goes on to no effect, and found nothing */
    uint64_t random;
    uint32_t words; /* that a walk over all words takes; fewer than there are where samples_max is small */
    uint32_t step;  /* bytes from one access of a region to the next: what the first level brings */
    struct band {
        uint32_t low, high; /* cycles, both in it */
    } bands[GEOMETRY_LEVELS_MAX];
    uint32_t band_count;
    struct shape shapes[GEOMETRY_LEVELS_MAX];
    int index; /* of the level that is searched, which the functions below are about; and what is known of it */
    struct geometry_level *level;
    struct shape *shape;

    void *memory; /* owned: what the following lie in */
    size_t *lines; /* [words]: of a list drawn at random */
    /* [words]: the list of the next walk, the group of each access, passes in which it was missed and in which it was
     * answered in the time of any level; of each group its passes without a miss, and whether it fits (enum fit). */
    uint32_t *address, *group, *missed, *answered, *clean;
    uint8_t *judged;
    uint32_t *expected, *load; /* [words]: of each set, whether a list is to fit (enum fit); room for counts */
    uint32_t *cycles; /* [samples_max] */
    double *samples; /* as many as there are of swept and cold together, twice */
    uint32_t *cold, *warm; /* [words]: cycles of the walks over all words */
    uint32_t *swept; /* cycles of the walks of the sweep, SWEEP_PASSES of each access together */
    size_t swept_count; /* accesses */
    uint32_t passes; /* of the last judgement */
};

/* -- geometry.c ---------------------------------------------------------------------------------------- */

/* What was found, or why nothing was. */
void search_found(struct geometry_number *finding, uint32_t value, size_t samples);
__attribute__((format(printf, 2, 3))) void search_not_found(struct geometry_number *finding, const char *format, ...);

/* The same reason for all that follows from ways and sets, where those are not known. */
void search_no_shape(struct geometry_level *level, const char *reason);

/* Whether such a walk of the first `count` of search->address would be answered: an older record may not have it. */
bool search_answers(const struct search *search, size_t count, uint32_t warm_up, uint32_t timed);

/* Walks the first `count` of search->address; does nothing after an error. */
void search_walk(struct search *search, size_t count, uint32_t warm_up, uint32_t timed);

/* The level that answers in this time; NOBODY. */
int search_answered_by(const struct search *search, uint32_t cycles);

/* Passes over the list, after a warm-up: who missed what, by access and by group. */
void search_count_misses(struct search *search, size_t count, uint32_t groups, uint32_t warm_up, uint32_t passes);

/* Judges each group of accesses of the list: whether all of them hit in the level, or one before it, when the list is
 * walked again and again. */
void search_judge(struct search *search, size_t count, uint32_t groups);

/* The smallest region that overflows each set of the levels before this one, in bytes. */
uint32_t search_passes_before(const struct search *search);

/* -- geometry_latency.c -------------------------------------------------------------------------------- */

/* Walks all words and regions of all sizes: bands of cycles, plateaus. */
void search_explore(struct search *search);

/* The latency of each level, from what was walked so far. */
void search_latencies(struct search *search);

/* What one miss of the level brings. */
void search_fetch(struct search *search);

/* -- geometry_sets.c ----------------------------------------------------------------------------------- */

/* The largest region that fits; lines, sets, ways, banks. */
void search_fits(struct search *search);
void search_shape(struct search *search);

/* The set of a line; line number `tag` of a set. */
uint32_t search_set_of(const struct search *search, const struct shape *shape, uint32_t line);
uint32_t search_line_of(const struct search *search, uint32_t tag, uint32_t set);

/* -- geometry_replacement.c ---------------------------------------------------------------------------- */

/* Which line of a full set goes. */
void search_replacement(struct search *search);

#endif
