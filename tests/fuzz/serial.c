/* SPDX-License-Identifier: MIT
 * Work in parts, one after the other, in place of base/parallel.c. Threads would cost more than
 * they save here, and no two runs would be the same. */
#include "parallel.h"

void parallel_ranges(uint64_t total, uint64_t grain,
                     void (*work)(void *context, uint64_t first, uint64_t count), void *context)
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
