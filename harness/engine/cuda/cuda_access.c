/* SPDX-License-Identifier: MIT */
#include "cuda_access.h"

#include <math.h>
#include <stdlib.h>

#include "log.h"

static void *count(void *argument)
{
    struct counting *counting = argument;

    for (size_t i = 0; counting->status == STATUS_OK && i < counting->result->cell_count; i++)
        if (counting->wanted[i])
            counting->status = access_count_next(result_cell, counting->result, i, counting->access);
    return NULL;
}

enum status cuda_access_begin(struct result *result, struct counting *counting)
{
    *counting = (struct counting){
        .result = result,
        .access = calloc(result->cell_count, sizeof(*counting->access)),
        .wanted = calloc(result->cell_count, sizeof(*counting->wanted)),
    };
    if (!counting->access || !counting->wanted)
        return counting->status = log_memory("counts of accesses");
    for (size_t i = 0; i < result->cell_count; i++)
        counting->wanted[i] = result->cells[i].status != CELL_SKIPPED;
    parallel_begin(&counting->task, count, counting);
    return STATUS_OK;
}

enum status cuda_access_end(struct engine_session *session, struct result *result, struct counting *counting)
{
    watch_begin(session->options->watchdog, "counting accesses", INFINITY);
    parallel_end(&counting->task);
    watch_end(session->options->watchdog);
    for (size_t i = 0; counting->status == STATUS_OK && i < result->cell_count; i++)
        if (counting->wanted[i]) {
            session->cells[i].access = counting->access[i];
            result_set_counts(&result->cells[i], &counting->access[i]);
        }
    free(counting->access);
    free(counting->wanted);
    return counting->status;
}
