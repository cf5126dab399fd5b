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

static uint64_t processors(void)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);

    return online < 1 ? 1 : online > PARALLEL_THREADS_MAX ? PARALLEL_THREADS_MAX : (uint64_t)online;
}

void parallel_ranges(uint64_t total, uint64_t grain, void (*work)(void *context, uint64_t first, uint64_t count),
                     void *context)
{
    struct share shares[PARALLEL_THREADS_MAX] = {0};
    const uint64_t grains = (total + grain - 1) / grain, threads = processors();
    const uint64_t part = (grains + threads - 1) / threads * grain;

    for (uint64_t i = 0; i < threads; i++) {
        const uint64_t first = i * part < total ? i * part : total;

        shares[i] = (struct share){work, context, first, total - first < part ? total - first : part, 0, false};
        /* The first share is the caller's; so is one whose thread cannot be started. */
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

/* -- beside ------------------------------------------------------------------------------------------- */

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

/* -- in order ------------------------------------------------------------------------------------------ */

/* Memory that is not given back when it is released: the system would clear it again for the next part. Half of it is the
 * most that mallopt takes for the other threshold. */
enum { KEPT_BYTES = 64 << 20 };

struct line {
    const struct parallel_line *of;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t taken_one;
    uint64_t total, begun, taken;
    bool made[PARALLEL_PARTS_MAX]; /* by index, those that are not taken */
    bool taking;
};

/* Takes what is made, unless another thread does. The lock is held, but not while a part is taken. */
static void take_made(struct line *line)
{
    while (!line->taking && line->made[line->taken % line->of->at_once]) {
        bool good;

        line->taking = true;
        pthread_mutex_unlock(&line->lock);
        good = line->of->take(line->of->context, line->taken);
        pthread_mutex_lock(&line->lock);
        line->taking = false;
        line->made[line->taken++ % line->of->at_once] = false;
        line->total = good ? line->total : line->begun;
        pthread_cond_broadcast(&line->taken_one);
    }
}

static void *line_run(void *argument)
{
    struct line *line = argument;

    pthread_mutex_lock(&line->lock);
    while (line->begun < line->total) {
        const uint64_t index = line->begun;
        bool good;

        if (index >= line->taken + line->of->at_once) {
            pthread_cond_wait(&line->taken_one, &line->lock);
            continue;
        }
        line->begun++;
        pthread_mutex_unlock(&line->lock);
        good = line->of->make(line->of->context, index);
        pthread_mutex_lock(&line->lock);
        line->total = good ? line->total : line->begun;
        line->made[index % line->of->at_once] = true;
        take_made(line);
    }
    pthread_mutex_unlock(&line->lock);
    return NULL;
}

void parallel_in_order(uint64_t total, const struct parallel_line *of)
{
    struct line line = {.of = of,
                        .total = total,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .taken_one = PTHREAD_COND_INITIALIZER};
    const uint64_t most = processors() < total ? processors() : total;
    pthread_t threads[PARALLEL_THREADS_MAX];
    uint64_t started = 0;

    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES / 2);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    while (started + 1 < most && pthread_create(&threads[started], NULL, line_run, &line) == 0)
        started++;
    line_run(&line);
    while (started > 0)
        pthread_join(threads[--started], NULL);
    pthread_cond_destroy(&line.taken_one);
    pthread_mutex_destroy(&line.lock);
}
