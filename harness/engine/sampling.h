/* SPDX-License-Identifier: MIT
 * The part of sampling that needs no device: groups of cells, the stopping criterion, and the
 * detection of other processes on the device. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine.h"

/* -- groups ------------------------------------------------------------------------------------ */

/* The cells of a group are timed together, with interleaved samples, so that compared times come
 * from the same moments. A group has whole lines of the tables of `cbank show`: cells of a line
 * differ only by the path. A plan of at most TIMING_GROUP_MAX cells is one group; in a larger one
 * the first groups are smaller. */
enum { TIMING_GROUP_MAX = 64 };

/* Number of cells that are verified, lack a time and are not marked in grouped[], which has one
 * entry for each cell of the result. */
size_t timing_group_left(const struct result *result, const bool *grouped);

/* Takes and marks the next of these cells. A line longer than a group is split. Returns their
 * number. */
size_t timing_group_next(const struct result *result, bool *grouped,
                         size_t cells[TIMING_GROUP_MAX]);

/* -- the stopping criterion -------------------------------------------------------------------- */

/* A cell settles when the interval of its time is narrow enough (--max-noise) and every buffer set
 * has had a sample, or at a limit of samples or of time. A cell whose samples have several modes
 * takes more of them first, since no single number describes those. A narrow interval is narrowed
 * further if that costs little. */
struct stopping_criterion {
    uint32_t buffer_sets; /* number of buffer sets that its samples take in turn */
    double seconds; /* of its samples so far */
    double each; /* approximate seconds that one sample takes in all */
    enum stop_reason stop; /* according to the samples so far; STOP_NONE: it needs more */
    double ample_seconds; /* seconds of sampling allowed for an interval narrower than required */
    bool split; /* its samples once had several modes */
    /* set by the caller: in the first round some samples took much longer than others */
    bool uneven;
    double *scratch; /* owned */
};

/* Starts the criterion for a cell with that many buffer sets, one of `cells` that are sampled in
 * all, with at most `samples_max` samples. It gets least_seconds for an interval narrower than
 * required, or more. False when out of memory; call stopping_criterion_close in any case. */
bool stopping_criterion_open(struct stopping_criterion *stopping_criterion, uint32_t buffer_sets,
                             size_t cells, double least_seconds, size_t samples_max);

/* Releases; accepts a zeroed struct. */
void stopping_criterion_close(struct stopping_criterion *stopping_criterion);

/* Evaluates the samples, and sets `stop`. */
void stopping_criterion_look(struct stopping_criterion *stopping_criterion,
                             const struct cell_time *time, const struct engine_options *options);

/* Whether it is time to evaluate. It is at each of the first samples, later after every 8th to 16th
 * part of their number, and at the limits. Evaluating then costs no more than sampling. */
bool stopping_criterion_is_due(const struct stopping_criterion *stopping_criterion,
                               const struct cell_time *time, const struct engine_options *options);

/* Sets time, clock, flags and stop reason of a cell that has stopped. */
void stopping_criterion_end(const struct stopping_criterion *stopping_criterion,
                            struct cell_result *cell, const struct engine_options *options);

/* Sets clock and cycles of a cell whose time is known, from the SM clocks of its samples (0: not
 * read). Flags the cell if they differ by more than 1 %. Sorts mhz[]. */
void stopping_criterion_clock(struct cell_result *cell, double *mhz, size_t count);

/* -- contention -------------------------------------------------------------------------------- */

/* Number of samples of a cell that another process on the device interrupted. totals_ns has the
 * whole length of each of `count` samples; sample i is in buffer set i modulo `buffer_sets`.
 *
 * Another process gets the device for slices of a millisecond or more, and no part of a sample runs
 * in those. Within one buffer set no other cause varies as much: none of 86,000 committed samples
 * does. Samples of different buffer sets may differ by a factor of three, depending on the slices
 * of L2 that hold the table's lines. */
size_t contended_samples(const double *totals_ns, size_t count, size_t buffer_sets);
