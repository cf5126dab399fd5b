/* SPDX-License-Identifier: MIT
 * Sampling, as far as it needs no device: which cells are sampled together, when a cell has enough samples, and whether
 * something else used the device meanwhile. */
#ifndef CBANK_SAMPLING_H
#define CBANK_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>

#include "engine.h"

/* -- groups -------------------------------------------------------------------------------------------- */

/* A group is timed together, its samples interleaved, so that times that are compared with each other are of the same
 * moments: it has whole lines of the tables of `cbank show`, whose cells differ by the path alone. A plan of
 * TIMING_GROUP_MAX cells is one group; of a larger one the first groups are smaller. */
enum { TIMING_GROUP_MAX = 64 };

/* How many cells are verified, lack a time and are not marked in grouped[] (one for each cell of the result). */
size_t timing_group_left(const struct result *result, const bool *grouped);

/* Takes and marks the next of these. A line of more than a group goes over several. Returns how many. */
size_t timing_group_next(const struct result *result, bool *grouped, size_t cells[TIMING_GROUP_MAX]);

/* -- the stopping criterion ---------------------------------------------------------------------------- */

/* A cell settles when the interval of its time is narrow enough (--max-noise) and every placement had its turn, or at a
 * limit of samples or of time. A cell whose samples have several modes takes more of them first, since no single number
 * describes those; an interval that is narrow already is narrowed further where that costs little. */
struct settling {
    uint32_t places; /* that its samples take in turn */
    double seconds; /* of its samples so far */
    double each; /* seconds that a sample takes, about, all of it */
    enum stop_reason stop; /* by the samples that there are; STOP_NONE: it needs more */
    double ample_seconds; /* of its samples, for an interval narrower than asked for */
    bool split; /* its samples had several modes once */
    bool uneven; /* set by the caller: in the first round some samples took much longer than others */
    double *scratch; /* owned */
};

/* Begins: a cell of so many places is one of `cells` that are sampled in all, and has `samples_max` samples at most.
 * False when out of memory; settling_close in any case. */
bool settling_open(struct settling *settling, uint32_t places, size_t cells, size_t samples_max);

/* Releases; accepts a zeroed struct. */
void settling_close(struct settling *settling);

/* Evaluates the samples, and sets `stop`. */
void settling_look(struct settling *settling, const struct cell_time *time, const struct engine_options *options);

/* Whether it is time to evaluate: at every sample of the first ones, then at every 8th to 16th part of their number, so
 * that evaluating many samples costs no more than taking them; and at the limits. */
bool settling_is_due(const struct settling *settling, const struct cell_time *time,
                     const struct engine_options *options);

/* Fills time, clock, flags and stop reason of a cell that has stopped. */
void settling_end(const struct settling *settling, struct cell_result *cell, const struct engine_options *options);

/* Fills clock and cycles of a cell whose time is known from the SM clocks of its samples (0: not read), and marks it
 * where they differ by more than 1 %. Sorts mhz[]. */
void settling_clock(struct cell_result *cell, double *mhz, size_t count);

/* -- contention ---------------------------------------------------------------------------------------- */

/* How many samples of a cell were interrupted by another process on the device. totals_ns[0 .. count - 1]: the whole
 * length of each; sample i is of place i modulo `places`.
 *
 * Such a process gets the device for slices of a millisecond or more, in which no part of a sample runs. Within one place
 * nothing of a sample's own varies as much: none of 86,000 committed samples does. Samples of other places may take three
 * times as long, by the slices of L2 that the lines of the table are in. */
size_t neighbour_slices(const double *totals_ns, size_t count, size_t places);

#endif
