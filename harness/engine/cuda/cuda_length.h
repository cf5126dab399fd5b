/* SPDX-License-Identifier: MIT
 * How long the samples of a cell are. cuda_timing.h says what a sample is made of. */
#ifndef CBANK_CUDA_LENGTH_H
#define CBANK_CUDA_LENGTH_H

#include "cuda_sample.h"
#include "engine.h"
#include "result.h"

/* Launches of a chain from which the first estimate of a launch comes. */
enum { CUDA_ESTIMATE_LAUNCHES = 4 };

/* Fills the lengths of a chain that has its device, launch, regime and placements: stretches, draws, sites, replays
 * and the planted slowdown. They follow from the last of `time`'s samples, whose number of launches is kept, or
 * else from a first estimate, which launches the cell. False when it cannot be launched. */
bool cuda_length_set(struct cuda_chain *chain, const struct cell_time *time, const struct engine_options *options);

#endif
