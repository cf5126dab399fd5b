/* SPDX-License-Identifier: MIT
 * One cell on its way through timing: how long its samples are, its graphs, and its samples so far. cuda_timing.h says what
 * a sample is made of. */
#ifndef CBANK_CUDA_SAMPLING_H
#define CBANK_CUDA_SAMPLING_H

#include "cuda_sample.h"
#include "engine.h"
#include "result.h"
#include "settling.h"

/* One thing to time. */
struct timed_item {
    struct cell_result *result; /* its cell is launched, its time, flags and status are filled */
    const struct cuda_launch *launch; /* of no modules: cannot be timed, left alone */
};

/* The state of sampling an item. Its samples are in the result, so that they can be saved at any time. */
struct cuda_sampling {
    struct cell_result *result;
    struct cuda_chain chain;
    struct cuda_sample sample;
    struct settling settling;
    double *totals_ns; /* of this process's samples, from the first stamp to the last; owned */
    size_t before; /* samples of an earlier process */
    uint32_t made; /* of its graphs, one for each place */
    size_t ahead; /* samples that are under way */
    bool astray; /* one of these did not count: those behind it are not in the place that is next */
    bool done; /* it failed, or cannot be timed */
};

/* Begins: finds out how long the samples are, which launches the cell. It is one of `planned` that are timed in all. STATUS_OK
 * also where the cell failed; another status when the run has ended. cuda_sampling_close in any case. */
enum status cuda_sampling_open(struct cuda_device *device, const struct timed_item *item, size_t planned,
                               const struct engine_options *options, struct cuda_sampling *sampling);

/* Releases; accepts a zeroed struct. */
void cuda_sampling_close(struct cuda_sampling *sampling);

/* Ends a cell that failed; statuses as above. */
enum status cuda_sampling_fail(struct cuda_sampling *sampling, const char *what);

/* Whether a place lacks its graph; makes the next one, which calls the device and launches nothing. */
bool cuda_sampling_lacks_graphs(const struct cuda_sampling *sampling);
bool cuda_sampling_make_graph(struct cuda_sampling *sampling);

/* Makes the graphs that are not there yet, and uploads all. Not while samples count: uploads slow launches. */
enum status cuda_sampling_place(struct cuda_sampling *sampling);

/* Whether it needs samples. */
bool cuda_sampling_is_unsettled(const struct cuda_sampling *sampling);

/* How many samples that count are of this process. */
size_t cuda_sampling_own(const struct cuda_sampling *sampling);

/* How many of these something else interrupted: see neighbour.h. */
size_t cuda_sampling_slices(const struct cuda_sampling *sampling);

/* Enqueues a sample in the place whose turn it is. */
bool cuda_sampling_launch(struct cuda_sampling *sampling);

/* Takes over a sample that has ended, if it counts, and looks whether there are enough. */
void cuda_sampling_take(struct cuda_sampling *sampling, const struct engine_options *options, bool counts);

#endif
