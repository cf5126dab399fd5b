/* SPDX-License-Identifier: MIT
 * Work in parts, one after the other, in place of base/parallel.c: threads would cost more than what they do here, and
 * a run would not be the same every time. */
#include "parallel.h"

void parallel_ranges(uint64_t total, uint64_t grain, void (*work)(void *context, uint64_t first, uint64_t count),
                     void *context)
{
    (void)grain;
    if (total > 0)
        work(context, 0, total);
}

void parallel_keep_memory(void)
{
}

void parallel_begin(struct parallel_task *task, void *(*work)(void *context), void *context)
{
    task->running = false;
    work(context);
}

void parallel_end(struct parallel_task *task)
{
    (void)task;
}
