/* SPDX-License-Identifier: MIT
 * One sample as a CUDA graph: launches between events or stamps, a graph for each place. cuda_timing.h says what is
 * sampled, and why so. */
#ifndef CBANK_CUDA_SAMPLE_H
#define CBANK_CUDA_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_device.h"
#include "cuda_launch.h"

enum {
    CUDA_LAUNCHES_MAX = 1000,    /* of one sample: bounds the size of a graph */
    CUDA_LEAD_IN_LAUNCHES = 2,   /* at least */
    CUDA_REFERENCE_LAUNCHES = 8, /* of the short chain of a hot sample, at most: enough that the launches behind an
                                    event have caught up with it */
    CUDA_COLD_STAMPS = 4,        /* for each launch of a cold sample: about an empty kernel, and about the cell */
    CUDA_COLD_LAUNCHES = TOOL_STAMPS_MAX / CUDA_COLD_STAMPS, /* of a cold sample, at most */
    CUDA_EVENTS = 3,             /* of a hot sample */
};

/* What is launched: a cell, or the empty kernel. */
struct cuda_chain {
    struct cuda_device *device;
    const struct cuda_launch *launch; /* NULL: the empty kernel */
    /* Enqueued before every launch, which then stands between two stamps of its own; NULL: launches follow
     * each other. */
    bool (*between)(struct cuda_device *device);
    uint32_t lead_in, reference,
        launches; /* reference: those of the short chain; cold ones have none, and no lead-in */
    uint32_t placements; /* of the buffers, see cuda_buffers.h: place i is of placement i modulo these */
    uint32_t replays; /* of its graph before the one that counts, so that its commands are in the caches */
    uint64_t slow_ns; /* planted slowdown: work added to the long chain, or to the first of the pairs */
    size_t reading; /* where the clock probe writes */
};

/* Samples of a chain. A place is where its buffers and the commands of its launches lie: each has a graph of its own. */
struct cuda_sample {
    cudaEvent_t events[CUDA_EVENTS]; /* of the sample that is under way, in whatever place */
    cudaGraphExec_t graphs[CUDA_PLACEMENTS_MAX]; /* NULL: not captured yet */
};

/* Makes what samples of a chain need in every place. On success the caller closes; false, with the call that failed
 * known to the device. */
bool cuda_sample_open(struct cuda_sample *sample, struct cuda_device *device);

/* Captures the sample of a chain in a place, once. */
bool cuda_sample_place(struct cuda_sample *sample, const struct cuda_chain *chain, uint32_t place);

/* Enqueues the sample in a place that it was captured in, its replays before it. */
bool cuda_sample_launch(const struct cuda_sample *sample, const struct cuda_chain *chain, uint32_t place);

/* Releases; accepts a zeroed struct. */
void cuda_sample_close(struct cuda_sample *sample, struct cuda_device *device);

/* ns of one launch, from a sample that has ended; NaN on an error. */
double cuda_sample_ns(const struct cuda_sample *sample, const struct cuda_chain *chain);

/* ns from the first event or stamp of a sample that has ended to the last; NaN on an error. */
double cuda_sample_total_ns(const struct cuda_sample *sample, const struct cuda_chain *chain);

/* Median ns of a few samples of a chain, at most 31, now; NaN when one fails. */
double cuda_sample_median(const struct cuda_chain *chain, size_t samples);

/* What one more launch of the empty kernel adds to a chain, in ns; NaN when it cannot be measured. */
double cuda_time_empty_launch(struct cuda_device *device);

#endif
