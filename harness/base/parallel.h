/* SPDX-License-Identifier: MIT
 * Work in parts on all processors. */
#ifndef CBANK_PARALLEL_H
#define CBANK_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

/* Most threads that are started, whatever the machine has. */
enum { PARALLEL_THREADS_MAX = 16 };

/* Calls work(context, first, count) so that the calls together cover 0 .. total - 1, each once, in ranges
 * whose starts are multiples of `grain` (at least 1). Calls run at the same time on several threads, one of
 * which is the caller's; returns when all have ended. */
void parallel_ranges(uint64_t total, uint64_t grain, void (*work)(void *context, uint64_t first, uint64_t count),
                     void *context);

#endif
