/* SPDX-License-Identifier: MIT
 * Work in parts on all processors. */
#ifndef CBANK_PARALLEL_H
#define CBANK_PARALLEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Most threads that are started, whatever the machine has. */
enum { PARALLEL_THREADS_MAX = 16 };

/* Calls work(context, first, count) so that the calls together cover 0 .. total - 1, each once, in ranges whose
 * starts are multiples of `grain` (at least 1). Calls run at the same time on several threads, and one is the
 * caller's. Returns when all have ended. */
void parallel_ranges(uint64_t total, uint64_t grain, void (*work)(void *context, uint64_t first, uint64_t count),
                     void *context);

/* Work beside the caller's own. Zeroed: none. */
struct parallel_task {
    pthread_t thread;
    bool running;
};

/* Begins work(context) on a thread of its own; where none can be started, does it at once. */
void parallel_begin(struct parallel_task *task, void *(*work)(void *context), void *context);

/* Returns when the work has ended; at once where there is none. */
void parallel_end(struct parallel_task *task);

/* From now on memory that is released is kept for what is allocated next: the system would clear it again. */
void parallel_keep_memory(void);

#endif
