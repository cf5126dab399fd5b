/* SPDX-License-Identifier: MIT
 * The caches that probes meet: those of the card on the constant path, and others of made-up
 * sizes. */
#ifndef SIMULATED_PROBE_CACHE_H
#define SIMULATED_PROBE_CACHE_H

#include "path.h"
#include "simulated.h"

/* Forgets what a launch does not find of an earlier one; all that is not L2's. */
void probe_caches_launch(void);

/* Cycles until a load by that unit from that SM has come. Counts misses of the first level of the
 * constant path. */
uint32_t probe_caches_load(enum load_unit unit, uint32_t sm, uint64_t address, uint32_t *misses);

/* Cycles of each further turn of a load; cycles that a unit is busy with a load of that many turns.
 * Turns: distinct addresses, or what banks of 4 bytes make of them. */
uint32_t probe_turns(enum load_unit unit, uint32_t distinct, uint32_t stride);
double probe_turn_latency(enum load_unit unit);
double probe_busy(enum load_unit unit, uint32_t turns);

/* SMs of one instance of the second level. */
uint32_t probe_group(uint32_t sm);

#endif
