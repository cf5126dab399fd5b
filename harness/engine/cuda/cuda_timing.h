/* SPDX-License-Identifier: MIT
 * Times launches with CUDA graphs, so that the host's launch overhead is not in the number.
 *
 * The time of a cell is what one more launch adds to a chain of launches in a stream.
 *
 * A hot sample is one graph: lead-in launches that bring the caches to the cell's state, an event, one launch,
 * an event, a chain of n + 1 launches, an event. The chain's time less the single launch's, over n, is the
 * slope: what is fixed in a stretch between two events cancels. A cold sample is one graph of n times flush,
 * event, launch, event: the mean time between the events of a pair, less what a pair of events adds to a
 * launch. That is measured with the empty kernel: its time in a pair less its time in a chain. Every sample
 * ends with a probe of the SM clock. Samples of all cells are interleaved, each round in a new random
 * order; all go on until the last has settled, so that none is sampled out of company. */
#ifndef CBANK_CUDA_TIMING_H
#define CBANK_CUDA_TIMING_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_device.h"
#include "cuda_launch.h"
#include "engine.h"
#include "result.h"

/* One thing to time. */
struct timed_item {
    struct cell_result *result; /* its cell is launched, its time, flags and status are filled */
    const struct cuda_launch *launch; /* of no modules: cannot be timed, left alone */
};

/* The empty kernel: what one more launch adds to a chain, and how long it takes between two events
 * that follow another kernel. */
struct empty_launch {
    double chain_ns; /* NaN when it cannot be measured */
    double pair_ns;  /* the same */
};

struct empty_launch cuda_time_empty_launch(struct cuda_device *device);

/* Times all items until each has settled, by the options' limits. Items that fail become CELL_FAILED.
 * STATUS_OK also when interrupted: cells that had not settled are left pending and untimed. */
enum status cuda_time_items(struct cuda_device *device, struct timed_item *items, size_t count,
                            const struct empty_launch *empty, const struct engine_options *options,
                            const struct progress *progress);

#endif
