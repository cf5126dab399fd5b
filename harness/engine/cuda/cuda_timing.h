/* SPDX-License-Identifier: MIT
 * Times launches with CUDA graphs, so that the host's launch overhead is not in the number.
 *
 * The time of a cell is what one more launch adds to a chain of launches in a stream.
 *
 * A sample is one graph. It draws anew a few times. A draw of a hot sample is a kernel that lets the SMs come free in a
 * random order, lead-in launches that bring the caches to the cell's state, a short stretch of launches and one that is
 * longer by n. A draw of a cold sample is a flush, an empty kernel, a flush and a launch. Each stretch stands between two
 * stamps, kernels that read the device's timer. The long ones' time less the short ones', over the launches that they are
 * longer by, is the slope: what is fixed in a stretch cancels. To that of a cold sample belongs what the empty kernel adds
 * to a chain. (Events in the place of stamps say another time in every graph, and one that depends on how long a stretch
 * is.) Where a cell's data stay in L2, its graph is launched twice, so that its commands are there, too. Behind every
 * sample the SM clock is probed, and the stamps are taken over.
 *
 * The samples of a cell take its places in turn: the pairs of its buffers (cuda_buffers.h), each with a graph of its own.
 * All graphs are made before the first sample. Samples of all cells are interleaved, each round in a new random order,
 * until each has settled.
 */
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
