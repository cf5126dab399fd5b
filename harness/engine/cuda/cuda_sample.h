/* SPDX-License-Identifier: MIT
 * One sample as a CUDA graph: launches between events, a graph for each placement of the buffers. cuda_timing.h says
 * what is sampled, and why so. */
#ifndef CBANK_CUDA_SAMPLE_H
#define CBANK_CUDA_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_device.h"
#include "cuda_launch.h"

enum {
    CUDA_LAUNCHES_MAX = 1000,    /* of one sample: bounds the size of a graph */
    CUDA_LEAD_IN_LAUNCHES = 2,   /* at least */
    CUDA_REFERENCE_LAUNCHES = 8, /* of the short chain of a hot sample: enough that the launches behind an event have
                                    caught up with it */
    CUDA_COLD_LAUNCHES = 8,      /* of a cold sample */
    CUDA_EVENTS_MAX = 2 * CUDA_COLD_LAUNCHES,
};

/* What is launched: a cell, or the empty kernel. */
struct cuda_chain {
    struct cuda_device *device;
    const struct cuda_launch *launch; /* NULL: the empty kernel */
    /* Enqueued before every launch, which then stands between two events of its own; NULL: launches follow
     * each other. */
    bool (*between)(struct cuda_device *device);
    uint32_t lead_in, launches;
    double extra_ns; /* cold: what a pair of events adds to a launch */
    uint64_t slow_ns; /* planted slowdown: work added to the long chain, or to the first of the pairs */
    size_t reading; /* where the clock probe writes */
};

/* Samples of a chain. */
struct cuda_sample {
    cudaEvent_t events[CUDA_EVENTS_MAX]; /* of the sample that is under way, on whatever placement */
    cudaGraphExec_t graphs[CUDA_PLACEMENTS_MAX]; /* NULL: not captured yet */
};

/* Makes what samples of a chain need on every placement. On success the caller closes; false, with the call that failed
 * known to the device. */
bool cuda_sample_open(struct cuda_sample *sample, struct cuda_device *device);

/* Captures the sample of a chain on a placement, unless that was done. The device may be at work meanwhile. */
bool cuda_sample_place(struct cuda_sample *sample, const struct cuda_chain *chain, uint32_t placement);

/* Enqueues the sample on a placement that it was captured on. */
bool cuda_sample_launch(const struct cuda_sample *sample, const struct cuda_chain *chain, uint32_t placement);

/* Releases; accepts a zeroed struct. */
void cuda_sample_close(struct cuda_sample *sample, struct cuda_device *device);

/* ns of one launch, from the events of a sample that has ended; NaN on an error. */
double cuda_sample_ns(const struct cuda_sample *sample, const struct cuda_chain *chain);

/* ns from the first event of a sample that has ended to the last; NaN on an error. */
double cuda_sample_total_ns(const struct cuda_sample *sample, const struct cuda_chain *chain);

/* Median ns of a few samples of a chain, at most 31, now; NaN when one fails. */
double cuda_sample_median(const struct cuda_chain *chain, size_t samples);

/* What one more launch of the empty kernel adds to a chain, in ns; NaN when it cannot be measured. */
double cuda_time_empty_launch(struct cuda_device *device);

#endif
