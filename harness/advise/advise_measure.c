/* SPDX-License-Identifier: MIT
 * The places of an advice, measured on a GPU as cbank run measures them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise.h"
#include "clock.h"
#include "interrupt.h"
#include "log.h"
#include "run.h"

/* Says what failed; STATUS_FINDING where something did. */
static enum status report_failed(const struct result *result)
{
    char grew[CELL_REASON_BYTES];

    for (size_t i = 0; i < result->cell_count; i++)
        if (result->cells[i].status == CELL_FAILED)
            log_warning("%s failed and is not ranked: %s", result->cells[i].cell.path->name, result->cells[i].reason);
    if (health_verdict(&result->health) != STATUS_OK)
        log_warning("%s while it was measured: its times are doubtful",
                    health_text(&result->health, grew, sizeof(grew)));
    return result_verdict(result) == STATUS_FINDING ? STATUS_FINDING : STATUS_OK;
}

/* What was measured takes the place of what was estimated. Those without a time go behind the others, and say why. */
static enum status take_times(struct advice *advice, const struct result *result)
{
    const size_t ranked = advice->count;
    struct advised_place *places = advice->places;

    advice->count = 0;
    for (size_t i = 0; i < ranked; i++) {
        const struct cell_result *cell = &result->cells[i];
        const struct summary *time = &cell->time.summary;

        places[i].bound = NULL;
        places[i].time_ns = (struct time_range){NAN, NAN, NAN};
        if (cell->status == CELL_OK && !isnan(time->ci_low)) {
            places[i].time_ns = (struct time_range){time->value, time->ci_low, time->ci_high};
            advice->count++;
        } else {
            snprintf(places[i].reason, sizeof(places[i].reason), "%s",
                     cell->reason[0] ? cell->reason : "too few samples were taken");
        }
    }
    advice->excluded += ranked - advice->count;
    if (advice->count == 0)
        return log_error(STATUS_FINDING, "no memory space was measured: %s", places[0].reason);
    advice->modelled = false;
    advice->device = result->device;
    advice->count = ranked; /* unknown times are sorted behind the others */
    advise_rank(advice);
    while (isnan(places[advice->count - 1].time_ns.value))
        advice->count--;
    return report_failed(result);
}

/* -- measuring ----------------------------------------------------------------------------------------- */

/* The cells of the spaces that hold the table. */
static enum status list_cells(const struct advice *advice, struct plan *out)
{
    *out = (struct plan){.cells = calloc(advice->count, sizeof(*out->cells)), .count = advice->count};
    if (!out->cells)
        return log_memory("%zu cells", advice->count);
    for (size_t i = 0; i < advice->count; i++) {
        out->cells[i] = advice->places[i].cell;
        out->cells[i].grid_blocks = 0; /* of the GPU, not of the card */
    }
    return STATUS_OK;
}

/* The engine that measures, where it has a GPU. */
static enum status choose_engine(struct run *run)
{
    const char *reason = NULL;
    size_t i = 0;

    while (engine_rows[i].engine->modelled)
        i++;
    run->engine = engine_rows[i].engine;
    if (run_device_count(run->watch, run->engine, &reason) > 0)
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT, "--measure needs a GPU: %s; without --measure times are those of a card", reason);
}

static enum status measure(struct run *run, struct advice *advice, const struct invocation *invocation)
{
    struct plan plan = {0};
    enum status status = choose_engine(run);

    if (status == STATUS_OK)
        status = list_cells(advice, &plan);
    if (status == STATUS_OK)
        status = run_open_result(run, &plan, invocation);
    if (status == STATUS_OK)
        status = run_unsaved(run);
    if (status == STATUS_OK && !interrupted())
        status = take_times(advice, &run->result);
    else if (run->result.end.given)
        log_error(status, "%s; look at nvidia-smi and the kernel's log for the GPU", run->result.end.reason);
    result_close(&run->result);
    plan_close(&plan);
    return status;
}

enum status advise_measure(struct advice *advice, struct index_list *indices, const struct invocation *invocation)
{
    const struct counter_set none = {0};
    struct run_options options = {.plan.indices_path = advice->indices_path};
    struct run_watch watch = {0};
    struct run run = {
        .options = &options, .counters = &none, .watch = &watch, .indices = indices, .start = clock_seconds()};
    enum status status = measure_options_open(&options.measure);

    if (status != STATUS_OK)
        return status;
    interrupt_catch();
    run_watch_open(&watch, 0);
    status = measure(&run, advice, invocation);
    run_watch_close(&watch);
    interrupt_end();
    measure_options_close(&options.measure);
    return status;
}
