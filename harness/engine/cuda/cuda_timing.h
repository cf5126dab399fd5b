/* SPDX-License-Identifier: MIT
 * Times launches with CUDA graphs, so that the host's launch overhead is not in the number.
 *
 * The time of a cell is what one more launch adds to a chain of launches in a stream.
 *
 * A hot sample is one graph: lead-in launches that bring the caches to the cell's state, an event, a short chain of
 * launches, an event, one that is longer by n, an event. The long chain's time less the short one's, over n, is the
 * slope: what is fixed in a stretch between two events cancels. A cold sample is one graph of n times flush, event,
 * launch, event: the mean time between the events of a pair, less what a pair of events adds to a launch. That is
 * measured with the empty kernel, in turn with the cells and as cold as they are: its time in a pair less its time in a
 * chain. Every sample ends with a probe of the SM clock.
 *
 * The samples of a cell take its buffers' placements in turn (cuda_buffers.h). Samples of all cells are interleaved,
 * each round in a new random order. Cells go on until they have settled, and then now and then, so that those that have
 * not are never sampled out of company. */
#ifndef CBANK_CUDA_TIMING_H
#define CBANK_CUDA_TIMING_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_device.h"
#include "cuda_launch.h"
#include "cuda_sample.h"
#include "engine.h"
#include "result.h"

/* One thing to time. */
struct timed_item {
    struct cell_result *result; /* its cell is launched, its time, flags and status are filled */
    const struct cuda_launch *launch; /* of no modules: cannot be timed, left alone */
};

/* Times all items until each has settled, by the options' limits; samples that a result has already count. Items that
 * fail become CELL_FAILED. STATUS_OK also when interrupted: cells that had not settled are left pending with their
 * samples. Another status when the run has ended. */
enum status cuda_time_items(struct cuda_device *device, struct timed_item *items, size_t count,
                            const struct engine_options *options, const struct progress *progress);

#endif
