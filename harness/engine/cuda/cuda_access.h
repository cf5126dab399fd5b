/* SPDX-License-Identifier: MIT
 * Exact counts of every cell, made on a thread of its own while memory is prepared. */
#ifndef CBANK_CUDA_ACCESS_H
#define CBANK_CUDA_ACCESS_H

#include "engine_cuda.h"

struct counting {
    struct parallel_task task;
    const struct result *result;  /* not owned */
    struct access_counts *access; /* owned, as is: one for each cell of the result */
    bool *wanted;                 /* owned: the cells to count */
    enum status status;
};

/* Begins with the cells that are not skipped, whose grids are known. Until the end nobody writes to a member `cell` of
 * them. STATUS_ENVIRONMENT when out of memory; call cuda_access_end in any case. */
enum status cuda_access_begin(struct result *result, struct counting *counting);

/* Waits for the end, gives the counts to the cells, and releases. Returns what beginning did, or STATUS_ENVIRONMENT when
 * out of memory. */
enum status cuda_access_end(struct engine_session *session, struct result *result, struct counting *counting);

#endif
