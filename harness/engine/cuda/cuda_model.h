/* SPDX-License-Identifier: MIT
 * Exact counts of every cell, and what the model says of it where the card is of this chip: on a thread of its own, while memory is
 * prepared. */
#ifndef CBANK_CUDA_MODEL_H
#define CBANK_CUDA_MODEL_H

#include "card.h"
#include "engine_cuda.h"
#include "model.h"

struct modelling {
    struct parallel_task task;
    const struct result *result; /* not owned */
    struct card card;
    struct access_counts *access; /* owned, as is: one for each cell of the result */
    struct modelled {
        bool wanted;
        struct model_cell model;
    } *cells;
    enum status status;
};

/* Begins with the cells that are not skipped, whose grids are known; until the end nobody writes to a member `cell` of them. Fills
 * the name of the card. STATUS_USAGE for a bad card, STATUS_ENVIRONMENT when out of memory; cuda_model_end in any case. */
enum status cuda_model_begin(struct engine_session *session, struct result *result, struct modelling *modelling);

/* Waits for the end, gives the cells what came of it, and releases. Returns what beginning did, or STATUS_ENVIRONMENT when out of
 * memory. */
enum status cuda_model_end(struct engine_session *session, struct result *result, struct modelling *modelling);

#endif
