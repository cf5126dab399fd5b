/* SPDX-License-Identifier: MIT
 * Outputs against the reference, on all processors, in parts of blocks. The last output that passed
 * is kept, since most paths of a cell write the same: then one comparison of bytes is enough. */
#include "reference.h"
#include "parameter_index.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "parallel.h"

/* A comparison, split into parts. */
struct checking {
    const struct problem problem;
    const struct workload_data *data;
    const uint32_t *like; /* an output to compare with first; NULL: none */
    uint32_t *kept; /* receives the compared output; NULL: it is not kept */
    pthread_mutex_t lock; /* protects the next members */
    bool equal;
    struct mismatch *first;
};

static void check_range(void *context, uint64_t first, uint64_t count)
{
    struct checking *checking = context;
    struct mismatch found;

    if (checking->like && memcmp(checking->like + first, checking->data->output + first,
                                 count * sizeof(uint32_t)) == 0)
        return;
    if (workload_check(&checking->problem, checking->data, first, count, &found)) {
        if (checking->kept)
            memcpy(checking->kept + first, checking->data->output + first,
                   count * sizeof(uint32_t));
        return;
    }
    pthread_mutex_lock(&checking->lock);
    if (checking->equal || found.element < checking->first->element)
        *checking->first = found;
    checking->equal = false;
    pthread_mutex_unlock(&checking->lock);
}

bool reference_check(struct reference *reference, const struct cell *cell,
                     const struct workload_data *data, bool refilled, struct mismatch *first)
{
    const struct workload_data refilled_data = {data->input, reference->refilled, data->output};
    struct checking checking = {.problem = cell_problem(cell),
                                .data = refilled ? &refilled_data : data,
                                .equal = true,
                                .first = first};

    if (refilled) {
        memset(reference->refilled, 0, sizeof(reference->refilled));
        memcpy(reference->refilled, data->values, cell->parameters[PARAMETER_refill_bytes]);
    } else {
        struct cell like = reference->cell ? *reference->cell : (struct cell){0};

        /* A cell that differs only by the path or the cache state writes the same, from the same
         * table. */
        like.cache_state = cell->cache_state;
        if (reference->cell && reference->values == data->values && like.indices == cell->indices &&
            cell_order_before(&like, cell, AXIS_PATH) == 0)
            checking.like = reference->output;
    }
    if (!refilled && !checking.like) {
        /* Its output replaces the kept one. Without memory it is not kept. */
        reference->cell = NULL;
        if (reference->room < cell->elements) {
            free(reference->output);
            reference->output = malloc(cell->elements * sizeof(uint32_t));
            reference->room = reference->output ? cell->elements : 0;
        }
        checking.kept = reference->output;
    }
    pthread_mutex_init(&checking.lock, NULL);
    parallel_ranges(cell->elements, cell->block_size, check_range, &checking);
    pthread_mutex_destroy(&checking.lock);
    if (checking.equal && checking.kept) {
        reference->cell = cell;
        reference->values = data->values;
    }
    return checking.equal;
}

void reference_close(struct reference *reference)
{
    free(reference->output);
    memset(reference, 0, sizeof(*reference)); /* a temporary of its size would be on the stack */
}
