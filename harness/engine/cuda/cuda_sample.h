/* SPDX-License-Identifier: MIT
 * One sample as a CUDA graph: launches between stamps, a graph for each place. cuda_timing.c says what is
 * sampled, and why so. */
#ifndef CBANK_CUDA_SAMPLE_H
#define CBANK_CUDA_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_launch.h"

enum {
    CUDA_LAUNCHES_MAX = 1000,    /* of one sample: bounds the size of a graph */
    CUDA_LEAD_IN_LAUNCHES = 2,   /* of each draw of a hot sample */
    CUDA_REFERENCE_LAUNCHES = 2, /* of a short stretch of a hot sample, at most */
    CUDA_DRAW_STAMPS = 4,        /* of a draw: about its short stretch, and about its long one */
    CUDA_DRAWS_MAX = TOOL_STAMPS_MAX / CUDA_DRAW_STAMPS,
};

/* What is launched: a cell, or the empty kernel. A sample draws anew a few times: each draw has a short stretch of launches
 * and one that is longer. */
struct cuda_chain {
    struct cuda_device *device;
    const struct cuda_launch *launch; /* NULL: the empty kernel */
    bool cold; /* before each stretch is a flush; the long one has one launch */
    uint32_t draws, lead_in, reference; /* of a draw: launches before its stretches, and those of the short one, 0: it
                                           has an empty kernel; both are 0 of a cold one, and of one that needs none */
    uint32_t launches; /* that long stretches are longer by, of all draws: as many of each */
    uint32_t placements; /* of the buffers, see cuda_memory.h */
    uint32_t sites; /* of the table that launches go through in turn, see cuda_memory.h */
    uint32_t replays; /* of its graph before the one that counts, so that its commands are in the caches */
    double seconds; /* that a sample takes, about, all of it */
    uint64_t slow_ns; /* planted slowdown: work added to a long stretch */
    size_t reading; /* where the clock probe writes */
};

/* Samples of a chain. A place is where its buffers and the commands of its launches lie: each has a graph of its own. */
struct cuda_sample {
    cudaGraphExec_t graphs[CUDA_PLACEMENTS_MAX]; /* NULL: not made yet */
};

/* Makes the graph of a chain's sample in a place, once. It calls the device and launches nothing. The caller closes. */
bool cuda_sample_make(struct cuda_sample *sample, const struct cuda_chain *chain, uint32_t place);

/* Enqueues that the graphs go to the device. */
bool cuda_sample_upload(const struct cuda_sample *sample, const struct cuda_chain *chain);

/* Enqueues the sample in a place whose graph was made, its replays before it. */
bool cuda_sample_launch(const struct cuda_sample *sample, const struct cuda_chain *chain, uint32_t place);

/* Releases; accepts a zeroed struct. */
void cuda_sample_close(struct cuda_sample *sample, struct cuda_device *device);

/* The clock and the stamps of a sample that has ended. */
const struct clock_reading *cuda_sample_reading(const struct cuda_chain *chain);

/* ns of one launch, from a sample that has ended, which the clock probe has told. */
double cuda_sample_ns(const struct cuda_chain *chain);

/* ns from the first stamp of such a sample to the last. */
double cuda_sample_total_ns(const struct cuda_chain *chain);

/* Median ns of a few samples of a chain, at most 31, now; NaN when one fails. */
double cuda_sample_median(const struct cuda_chain *chain, size_t samples);

/* What one more launch of the empty kernel adds to a chain, in ns; NaN when it cannot be measured. */
double cuda_time_empty_launch(struct cuda_device *device);

#endif
