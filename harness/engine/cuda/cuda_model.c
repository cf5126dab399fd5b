/* SPDX-License-Identifier: MIT */
#include "cuda_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "log.h"

static void *count_and_model(void *argument)
{
    struct modelling *modelling = argument;
    const struct result *result = modelling->result;

    for (size_t i = 0; modelling->status == STATUS_OK && i < result->cell_count; i++) {
        if (!modelling->cells[i].wanted)
            continue;
        modelling->status = access_count_next(result_cell, result, i, modelling->access);
        if (modelling->status == STATUS_OK)
            modelling->status = model_explain(&result->cells[i].cell, &modelling->access[i], &result->device,
                                              &modelling->card, &modelling->cells[i].model);
    }
    return NULL;
}

enum status cuda_model_begin(struct engine_session *session, struct result *result, struct modelling *modelling)
{
    *modelling = (struct modelling){
        .result = result,
        .access = calloc(result->cell_count, sizeof(*modelling->access)),
        .cells = calloc(result->cell_count, sizeof(*modelling->cells)),
    };
    if (!modelling->access || !modelling->cells)
        modelling->status = log_memory("counts of accesses");
    else
        modelling->status = card_read(session->options->card, &modelling->card);
    if (modelling->status != STATUS_OK)
        return modelling->status;
    snprintf(result->card, sizeof(result->card), "%s", modelling->card.name);
    for (size_t i = 0; i < result->cell_count; i++)
        modelling->cells[i].wanted = result->cells[i].status != CELL_SKIPPED;
    parallel_begin(&modelling->task, count_and_model, modelling);
    return STATUS_OK;
}

enum status cuda_model_end(struct engine_session *session, struct result *result, struct modelling *modelling)
{
    watch_begin(session->options->watchdog, "counting accesses", INFINITY);
    parallel_end(&modelling->task);
    watch_end(session->options->watchdog);
    for (size_t i = 0; modelling->status == STATUS_OK && i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];

        if (!modelling->cells[i].wanted)
            continue;
        session->cells[i].access = modelling->access[i];
        cell->operations = modelling->access[i].operations;
        cell->model = modelling->cells[i].model;
        cell->modelled = true;
    }
    free(modelling->access);
    free(modelling->cells);
    return modelling->status;
}
