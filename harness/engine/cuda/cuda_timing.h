/* SPDX-License-Identifier: MIT
 * Times launches with CUDA graphs, so that the host's launch overhead is not in the number.
 *
 * The time of a cell is what one more launch adds to a chain of launches in a stream.
 *
 * A sample is one graph. It draws anew a few times. A draw of a hot sample is a kernel that lets the SMs come free in a
 * random order, lead-in launches that bring the caches to the cell's state, a short stretch of launches and one that is
 * longer by n. A draw of a cold sample is a flush, an empty kernel, a flush and a launch. Each stretch stands between two
 * stamps, kernels that read the device's timer. The long ones' time less the short ones', over the launches that they are
 * longer by, is the slope: what is fixed in a stretch cancels. The short stretch of a launch that is long by itself is an
 * empty kernel, too; what that adds to a chain is added where it was in the short one's place. A longer one that fills L2
 * has no lead-in. (Events in the place of stamps
 * say another time in every graph, and one that depends on how long a stretch is.) Where a cell's data stay in L2, its graph
 * is launched twice, so that its commands are there, too. Behind every sample the SM clock is probed, and the stamps are
 * taken over.
 *
 * The samples of a cell take its places in turn: the pairs of its buffers (cuda_buffers.h), each with a graph of its own.
 * Samples of all cells of a group are interleaved, each round in a new random order, until each has settled. While the
 * device is at them, the host makes the graphs of the next group, which are uploaded before that group's first sample.
 */
#ifndef CBANK_CUDA_TIMING_H
#define CBANK_CUDA_TIMING_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_sampling.h"

/* Cells that are sampled together. */
struct cuda_timing;

struct cuda_timing_request {
    struct cuda_device *device;
    const struct engine_options *options;
    const struct progress *progress;
    size_t planned; /* cells that are timed in all, in this group and in others */
};

/* Begins a group, which launches each cell to find out how long its samples are. Items that fail become CELL_FAILED; another
 * status than STATUS_OK when the run has ended. The caller closes *out in any case. */
enum status cuda_timing_open(const struct cuda_timing_request *request, const struct timed_item *items, size_t count,
                             struct cuda_timing **out);

/* Releases; accepts NULL. */
void cuda_timing_close(struct cuda_timing *timing);

/* Times all items until each has settled, by the options' limits; samples that a result has already count. Meanwhile
 * it makes graphs of the `next` group and releases what the one before has (NULL: there is none); the caller closes both.
 * Statuses as above, and STATUS_OK also when it was stopped: cells that had not settled are left pending with their
 * samples. */
enum status cuda_timing_run(struct cuda_timing *timing, struct cuda_timing *past, struct cuda_timing *next);

/* Whether the user wants to stop. */
bool cuda_timing_stopped(const struct cuda_timing *timing);

#endif
