/* SPDX-License-Identifier: MIT
 * When a cell has enough samples, and what they say then.
 *
 * A cell settles when the interval of its time is narrow enough (--max-noise) and every place had its turn, or at a limit
 * of samples or of time. A cell whose samples are of several modes takes more of them first, since no one number tells
 * those; and an interval that is narrow already is made narrower where that costs little. */
#ifndef CBANK_SETTLING_H
#define CBANK_SETTLING_H

#include <stdbool.h>
#include <stddef.h>

#include "engine.h"

/* One cell on its way. */
struct settling {
    uint32_t places;      /* that its samples take in turn */
    double seconds;       /* of its samples so far */
    double each;          /* seconds that a sample takes, about, all of it */
    enum stop_reason stop; /* by the samples that there are; STOP_NONE: it needs more */
    double ample_seconds; /* of its samples, for an interval narrower than asked for */
    bool split;           /* they were of several modes once */
    bool uneven;          /* set by who samples: of one turn some took much longer, by a neighbour or their place */
    double *scratch;      /* owned */
};

/* Begins: a cell of so many places is one of `cells` that are sampled in all, and has `samples_max` samples at most. False
 * when out of memory; settling_close in any case. */
bool settling_open(struct settling *settling, uint32_t places, size_t cells, size_t samples_max);

/* Releases; accepts a zeroed struct. */
void settling_close(struct settling *settling);

/* Looks at the samples, and says in `stop` whether they are enough. */
void settling_look(struct settling *settling, const struct cell_time *time, const struct engine_options *options);

/* Whether it is time to look: at every sample of the first ones, then at every one of 8 to 16, so that looking at many
 * samples costs no more than taking them; and at the limits. */
bool settling_is_due(const struct settling *settling, const struct cell_time *time,
                     const struct engine_options *options);

/* Fills what the samples of a cell that has stopped say: its time, clock, flags and why it stopped. */
void settling_end(const struct settling *settling, struct cell_result *cell, const struct engine_options *options);

/* Fills clock and cycles of a cell whose time is known from the SM clocks of its samples, of which those that could not
 * be read are 0, and marks it where they differ by more than 1 %. Sorts mhz[]. */
void settling_clock(struct cell_result *cell, double *mhz, size_t count);

#endif
