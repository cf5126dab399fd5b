/* SPDX-License-Identifier: MIT
 * Sampling one cell: how long its samples are, its graphs, and when it has enough of them.
 * cuda_timing.c explains samples, and interleaves those of a group. */
#pragma once

#include "cuda_sample.h"
#include "sampling.h"

/* The state of sampling a cell. Its samples are in the result, which can therefore be saved at any
 * time. */
struct cuda_sampling {
    struct cell_result *result;
    struct cuda_chain chain;
    struct cuda_sample sample;
    struct stopping_criterion stopping_criterion;
    double *totals_ns; /* of this process's samples, from the first stamp to the last; owned */
    size_t before; /* samples of an earlier process */
    uint32_t made; /* graphs made, of one for each buffer set */
    size_t enqueued; /* enqueued samples */
    size_t timeless; /* samples that would count, and took no time */
    /* one of these did not count: later ones are not in the buffer set that is next */
    bool discard_pending;
    bool done; /* it failed, or it cannot be timed */
};

/* Starts sampling a cell, whose result `sampling` has: determines the length of its samples, which
 * launches the cell. `launchable` NULL: the cell cannot be launched. `planned` is the number of
 * cells that are timed in all. STATUS_OK even if the cell failed; another status if the run has
 * ended. Call sampling_close in any case. */
enum status sampling_open(struct cuda_sampling *sampling, struct cuda_device *device,
                          const struct launchable *launchable, size_t planned,
                          const struct engine_options *options);

/* Releases. */
void sampling_close(struct cuda_sampling *sampling);

/* Fails the cell. */
enum status sampling_fail(struct cuda_sampling *sampling, const char *what);

/* Whether graphs are missing; makes the next `count`, which calls the device and launches
 * nothing. */
bool sampling_lacks_graphs(const struct cuda_sampling *sampling);
bool sampling_make_graphs(struct cuda_sampling *sampling, uint32_t count);

/* Whether it needs more samples. */
bool sampling_is_unsettled(const struct cuda_sampling *sampling);

/* Samples of this process that count. */
size_t sampling_own_samples(const struct cuda_sampling *sampling);

/* Records a sample that has ended, if it counts, and checks whether there are enough. */
void sampling_take(struct cuda_sampling *sampling, const struct engine_options *options,
                   bool counts);
