/* SPDX-License-Identifier: MIT
 * Threads for ranges of numbers and for single tasks. Each thread gets one run of neighbouring
 * grains; the last one may be shorter:
 *
 *   0 ............ part ............ 2 part ............ total
 *   | caller       | thread 1        | thread 2          | */
#include "parallel.h"

#include <malloc.h>
#include <unistd.h>

void parallel_begin(struct parallel_task *task, void *(*work)(void *context), void *context)
{
    task->running = pthread_create(&task->thread, NULL, work, context) == 0;
    if (!task->running)
        work(context);
}

void parallel_end(struct parallel_task *task)
{
    if (task->running)
        pthread_join(task->thread, NULL);
    task->running = false;
}

/* One thread's share. */
struct share {
    void (*work)(void *context, uint64_t first, uint64_t count);
    void *context;
    uint64_t first, count;
    struct parallel_task task;
};

static void *share_run(void *argument)
{
    const struct share *share = argument;

    share->work(share->context, share->first, share->count);
    return NULL;
}

void parallel_ranges(uint64_t total, uint64_t grain,
                     void (*work)(void *context, uint64_t first, uint64_t count), void *context)
{
    struct share shares[PARALLEL_THREADS_MAX];
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t grains = (total + grain - 1) / grain;
    const uint64_t threads = online < 1                      ? 1
                             : online > PARALLEL_THREADS_MAX ? PARALLEL_THREADS_MAX
                                                             : (uint64_t)online;
    const uint64_t part = (grains + threads - 1) / threads * grain;
    size_t count = 0;

    for (uint64_t first = 0; first < total; first += part)
        shares[count++] =
            (struct share){work, context, first, total - first < part ? total - first : part, {0}};
    for (size_t i = 1; i < count; i++)
        parallel_begin(&shares[i].task, share_run, &shares[i]);
    if (count > 0)
        share_run(&shares[0]);
    for (size_t i = 1; i < count; i++)
        parallel_end(&shares[i].task);
}

/* -- memory ------------------------------------------------------------------------------------ */

void parallel_keep_memory(void)
{
    enum { KEPT_BYTES = 64 << 20 }; /* mallopt limits the other threshold to half of this */

    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES / 2);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}
