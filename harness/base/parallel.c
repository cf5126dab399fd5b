/* SPDX-License-Identifier: MIT */
#include "parallel.h"

#include <malloc.h>
#include <unistd.h>

/* One thread's share. */
struct share {
    void (*work)(void *context, uint64_t first, uint64_t count);
    void *context;
    uint64_t first, count;
    pthread_t thread;
    bool started;
};

static void *share_run(void *argument)
{
    const struct share *share = argument;

    if (share->count > 0)
        share->work(share->context, share->first, share->count);
    return NULL;
}

void parallel_ranges(uint64_t total, uint64_t grain, void (*work)(void *context, uint64_t first, uint64_t count),
                     void *context)
{
    struct share shares[PARALLEL_THREADS_MAX] = {0};
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t grains = (total + grain - 1) / grain;
    const uint64_t threads = online < 1 ? 1 : online > PARALLEL_THREADS_MAX ? PARALLEL_THREADS_MAX : (uint64_t)online;
    const uint64_t part = (grains + threads - 1) / threads * grain;

    for (uint64_t i = 0; i < threads; i++) {
        const uint64_t first = i * part < total ? i * part : total;

        shares[i] = (struct share){work, context, first, total - first < part ? total - first : part, 0, false};
        /* The caller does the first share, and those whose thread cannot be started. */
        shares[i].started =
            i > 0 && shares[i].count > 0 && pthread_create(&shares[i].thread, NULL, share_run, &shares[i]) == 0;
    }
    for (uint64_t i = 0; i < threads; i++)
        if (!shares[i].started)
            share_run(&shares[i]);
    for (uint64_t i = 0; i < threads; i++)
        if (shares[i].started)
            pthread_join(shares[i].thread, NULL);
}

/* -- in parallel --------------------------------------------------------------------------------------- */

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

/* -- memory ------------------------------------------------------------------------------------------- */

void parallel_keep_memory(void)
{
    enum { KEPT_BYTES = 64 << 20 }; /* mallopt limits the other threshold to half of this */

    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES / 2);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}
