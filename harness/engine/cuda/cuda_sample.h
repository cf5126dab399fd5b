/* SPDX-License-Identifier: MIT
 * Samples by CUDA graphs: launches between stamps, a graph for each buffer set. cuda_timing.c
 * explains samples and the reasons. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "launchable.h"

enum {
    CUDA_LAUNCHES_MAX = 1000,    /* of one sample: bounds the size of a graph */
    CUDA_LEAD_IN_LAUNCHES = 2,   /* of each draw of a hot sample */
    CUDA_REFERENCE_LAUNCHES = 2, /* of a short stretch of a hot sample, at most */
};

/* The launches of a cell, or of the empty kernel. A sample repeats several draws: each has a short
 * stretch of launches and a longer one. */
struct cuda_chain {
    struct cuda_device *device;
    const struct launchable *launchable; /* NULL: the empty kernel */
    bool by_host; /* stamps are the host's, and there is no graph: see launchable_by_host */
    bool cold; /* a flush precedes each stretch; the long one has one launch */
    /* of the empty kernel; 0 blocks: one warp */
    uint32_t empty_blocks, empty_threads;
    uint32_t draws; /* of a sample; 0: launches alone, without stamps */
    /* of a draw: launches before its stretches, and those of the short one; 0: none, and an empty
     * kernel */
    uint32_t lead_in, reference;
    /* additional launches of the long stretches, over all draws: equally many in each */
    uint32_t launches;
    uint32_t buffer_sets; /* of the buffers, see cuda_memory.h */
    uint32_t table_offsets; /* of the table; launches take them in turn, see cuda_memory.h */
    /* launches of its graph before those that count; they bring its commands into the caches */
    uint32_t replays;
    double seconds; /* approximate, for the whole sample */
    uint64_t slow_ns; /* planted slowdown: time added to each long stretch */
    size_t reading; /* number of the reading that the clock probe writes */
};

/* Samples of a chain. Each buffer set has a graph of its own: one draw, which a sample launches
 * again for each of its draws. There is none where stamps are the host's. */
struct cuda_sample {
    cudaGraphExec_t graphs[CUDA_BUFFER_SETS_MAX]; /* NULL: not made */
};

/* Makes the graphs of a chain's sample for buffer sets `first` to first + count - 1, once each, on
 * several threads. It calls the device and launches nothing. After a failure it may have made some.
 * The caller closes them. */
bool cuda_sample_make(struct cuda_sample *sample, const struct cuda_chain *chain, uint32_t first,
                      uint32_t count);

/* Enqueues the upload of the graphs to the device. */
bool cuda_sample_upload(const struct cuda_sample *sample, const struct cuda_chain *chain);

/* Enqueues the sample of a buffer set whose graph was made, after its replays. Where stamps are the
 * host's, the sample is taken now. */
bool cuda_sample_launch(const struct cuda_sample *sample, const struct cuda_chain *chain,
                        uint32_t buffer_set);

/* Releases; accepts a zeroed struct. */
void cuda_sample_close(struct cuda_sample *sample, struct cuda_device *device);

/* The clock and the stamps of a sample that has ended. */
const struct clock_reading *cuda_sample_reading(const struct cuda_chain *chain);

/* ns of one launch, from a sample whose clock probe has written. */
double cuda_sample_ns(const struct cuda_chain *chain);

/* Median ns of a few samples of a chain, at most 31, taken now; NaN if one fails. */
double cuda_sample_median(const struct cuda_chain *chain, size_t samples);

/* The ns that one more launch of the empty kernel adds to a chain; NaN if it cannot be measured. */
double cuda_time_empty_launch(struct cuda_device *device);
