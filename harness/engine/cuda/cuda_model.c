/* SPDX-License-Identifier: MIT
 * Exact counts of every cell, and what the model says of it where the card is of this chip: on a thread of its own, while cells
 * are verified. It writes to nothing that others read. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine_cuda.h"
#include "log.h"

static void *count_and_model(void *argument)
{
    struct modelling *modelling = argument;
    const struct result *result = modelling->result;

    for (size_t i = 0; modelling->status == STATUS_OK && i < modelling->count; i++) {
        if (!modelling->cells[i].wanted)
            continue;
        modelling->status = access_count_next(result_cell, result, i, modelling->access);
        if (modelling->status == STATUS_OK)
            modelling->status = model_explain(&result->cells[i].cell, &modelling->access[i], &result->device,
                                              &modelling->card, &modelling->cells[i].model);
    }
    return NULL;
}

enum status cuda_model_begin(struct engine_session *session, struct result *result)
{
    struct modelling *modelling = &session->modelling;

    *modelling = (struct modelling){
        .result = result,
        .count = result->cell_count,
        .access = calloc(result->cell_count, sizeof(*modelling->access)),
        .cells = calloc(result->cell_count, sizeof(*modelling->cells)),
    };
    if (!modelling->access || !modelling->cells)
        return log_memory("counts of accesses");
    modelling->status = card_read(session->options->card, &modelling->card);
    if (modelling->status != STATUS_OK)
        return modelling->status;
    snprintf(result->card, sizeof(result->card), "%s", modelling->card.name);
    for (size_t i = 0; i < result->cell_count; i++)
        modelling->cells[i].wanted = result->cells[i].status != CELL_SKIPPED;
    modelling->running = pthread_create(&modelling->thread, NULL, count_and_model, modelling) == 0;
    if (!modelling->running)
        count_and_model(modelling);
    return STATUS_OK;
}

void cuda_model_drop(struct modelling *modelling)
{
    if (modelling->running)
        pthread_join(modelling->thread, NULL);
    free(modelling->access);
    free(modelling->cells);
    *modelling = (struct modelling){.status = modelling->status};
}

enum status cuda_model_end(struct engine_session *session, struct result *result)
{
    struct modelling *modelling = &session->modelling;

    watch_begin(session->options->watchdog, "counting accesses", INFINITY);
    if (modelling->running)
        pthread_join(modelling->thread, NULL);
    watch_end(session->options->watchdog);
    modelling->running = false;
    for (size_t i = 0; modelling->status == STATUS_OK && i < modelling->count; i++) {
        struct cell_result *cell = &result->cells[i];

        if (!modelling->cells[i].wanted)
            continue;
        session->cells[i].access = modelling->access[i];
        cell->operations = modelling->access[i].operations;
        cell->model = modelling->cells[i].model;
        cell->modelled = true;
    }
    cuda_model_drop(modelling);
    return modelling->status;
}
