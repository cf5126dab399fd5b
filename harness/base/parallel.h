/* SPDX-License-Identifier: MIT
 * Work split over all processors. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Most threads that are started, whatever the machine has. */
enum { PARALLEL_THREADS_MAX = 16 };

/* Calls work(context, first, count) for ranges that together cover 0 to total - 1, each number
 * once. Ranges start at multiples of `grain`, which is at least 1. Calls run on several threads,
 * one of them the caller's. Returns when all have ended. */
void parallel_ranges(uint64_t total, uint64_t grain,
                     void (*work)(void *context, uint64_t first, uint64_t count), void *context);

/* Work in parallel with the caller's own. Zeroed: none. */
struct parallel_task {
    pthread_t thread;
    bool running;
};

/* Starts work(context) on a separate thread; runs it at once if no thread can be started. */
void parallel_begin(struct parallel_task *task, void *(*work)(void *context), void *context);

/* Returns when the work has ended; at once if there is none. */
void parallel_end(struct parallel_task *task);

/* From now on, released memory is kept for later allocations: the system would clear it again. */
void parallel_keep_memory(void);
