/* SPDX-License-Identifier: MIT
 * Times launches with CUDA graphs, so that the host's launch overhead is not in the number.
 *
 * A sample is one graph: a few lead-in launches that bring the caches to the cell's state, an event, n
 * launches in a chain, an event, and a probe of the SM clock. A cold sample has a flush before each launch,
 * and after the second event as many flushes alone up to a third event: the difference is the launches'.
 * Samples of all cells are interleaved, each round in a new random order. */
#ifndef CBANK_CUDA_TIMING_H
#define CBANK_CUDA_TIMING_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_device.h"
#include "engine.h"
#include "result.h"

/* One thing to time. */
struct timed_item {
    struct cell_result *result; /* its cell is launched, its time, flags and status are filled */
    CUfunction function;        /* NULL: cannot be timed, left alone */
};

/* Times all items until each has settled, by the options' limits. Items that fail become CELL_FAILED.
 * STATUS_OK also when interrupted: cells that had not settled are left pending and untimed. */
enum status cuda_time_items(struct cuda_device *device, struct timed_item *items, size_t count,
                            const struct engine_options *options, const struct progress *progress);

/* What one more launch of an empty kernel adds to a chain of them, ns; NaN when it cannot be measured. */
double cuda_time_empty_launch(struct cuda_device *device);

#endif
