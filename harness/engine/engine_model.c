/* SPDX-License-Identifier: MIT
 * The model engine: counts exactly by evaluating the pattern over the grid, and predicts everything
 * else from a card. It needs no GPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "card.h"
#include "engine.h"
#include "estimate.h"
#include "image.h"
#include "log.h"
#include "model_error.h"
#include "user_cell.h"

struct engine_session {
    const struct engine_options *options;
    struct card card;
};

/* -- devices ----------------------------------------------------------------------------------- */

static uint32_t model_device_count(const char **reason)
{
    (void)reason;
    return 1;
}

static enum status model_describe(uint32_t device, const char *path, struct device_info *out)
{
    struct card card;
    const enum status status = card_read(path, &card);

    (void)device;
    if (status != STATUS_OK)
        return status;
    *out = device_unknown;
    out->cc_major = card.cc_major;
    out->cc_minor = card.cc_minor;
    out->sm_count = (uint32_t)card_integer(&card, CARD_SM_COUNT).value;
    out->l2_bytes = card_integer(&card, CARD_L2_BYTES).value;
    out->sm_clock_max_mhz = card.number[CARD_SM_CLOCK_MHZ].value;
    out->launch_ns = card.number[CARD_LAUNCH_NS].value;
    snprintf(out->name, sizeof(out->name), "%s", card.name);
    snprintf(out->chip, sizeof(out->chip), "%s", card.chip);
    return STATUS_OK;
}

static void model_close(struct engine_session *session)
{
    free(session);
}

static enum status model_open(const struct engine_options *options, struct result *result,
                              struct engine_session **out)
{
    struct engine_session *session = calloc(1, sizeof(*session));
    char unknown[CARD_TEXT_BYTES];
    enum status status;

    (void)result;
    if (!session)
        return log_memory("the model engine");
    session->options = options;
    status = card_read(options->card, &session->card);
    if (status != STATUS_OK) {
        model_close(session);
        return status;
    }
    if (card_unknown_of_model(&session->card)) {
        card_keys_text(card_unknown_of_model(&session->card), unknown);
        log_warning("the card of %s does not know %s: counts are exact, and a time is given where "
                    "it needs none of them",
                    session->card.name, unknown);
    }
    *out = session;
    return STATUS_OK;
}

/* -- cells ------------------------------------------------------------------------------------- */

/* Takes the code of the kernel that would run on the card's chip, if the program has it. */
static enum status take_kernel(const struct engine_session *session, struct cell_result *cell,
                               struct kernel_sass *sass, struct expectation *expectation)
{
    struct image image;

    if (image_for_chip(cell->cell.workload->name, session->card.cc_major, session->card.cc_minor,
                       &image) &&
        image_kernel(image.data, image.bytes, &cell->cell, sass)) {
        expectation->sass = sass->counted ? &sass->counts : NULL;
        return engine_set_kernel(&cell->kernel, sass, image.name, image.name_bytes);
    }
    free(cell->kernel.made);
    cell->kernel = (struct cell_kernel){.instruction = cell->kernel.instruction};
    return STATUS_OK;
}

/* A prediction has no samples. Its interval is the one of the model, where that was shown to hold.
 * Elsewhere the document has the simple time without an interval, and tables of cells do not print
 * it. */
static void set_time(const struct engine_session *session, const struct cell_estimate *estimate,
                     struct cell_result *cell)
{
    const double sm_clock_mhz = session->card.number[CARD_SM_CLOCK_MHZ].value;
    char missing[CARD_TEXT_BYTES], group[MODEL_GROUP_BYTES];
    struct time_range ns;
    const bool is_shown = model_checked_time(&cell->cell, &session->card, estimate, &ns);
    const double value = is_shown ? ns.value : estimate->time_ns.value;

    free(cell->time.samples_ns);
    cell->time = (struct cell_time){
        .summary = summary_unknown,
        .series = series_unknown,
        .stop_reason = STOP_MODELLED,
        .cycles = value * sm_clock_mhz / 1000,
        .sm_clock_mhz = sm_clock_mhz,
    };
    cell->time.summary.value = cell->time.summary.median = cell->time.summary.min = value;
    cell->time.summary.mad = 0;
    cell->reason[0] = '\0';
    if (is_shown) {
        cell->time.summary.ci_low = ns.low;
        cell->time.summary.ci_high = ns.high;
    } else if (estimate->missing) {
        estimate_missing_text(estimate, missing);
        snprintf(cell->reason, sizeof(cell->reason), "at least %.4g ns: not known are %.200s",
                 ns.low, missing);
    } else {
        model_group(&cell->cell, estimate, group);
        snprintf(cell->reason, sizeof(cell->reason),
                 "at least %.4g ns: no interval was shown to hold for %s", ns.low, group);
    }
}

static enum status model_one(const struct engine_session *session,
                             const struct access_counts *access, struct cell_result *cell)
{
    struct expectation expectation = {.cell = &cell->cell, .access = access};
    struct cell_estimate estimate;
    struct time_kernel kernel;
    struct kernel_sass sass;
    enum status status = take_kernel(session, cell, &sass, &expectation);

    if (status != STATUS_OK)
        return status;
    status = engine_open_counters(cell, session->options, &expectation, COUNTER_UNAVAILABLE,
                                  "the model cannot say it without the kernel's code");
    if (status != STATUS_OK)
        return status;
    /* Exact counters get their expected value; the others get none. */
    for (struct counter_value *value = cell->counters; value < cell->counters + cell->counter_count;
         value++) {
        if (value->kind == COUNTER_MEASURED)
            value->reason = "only a GPU can say it";
        else if (value->expected.known)
            *value = (struct counter_value){value->name,     value->metric,
                                            value->unit,     value->kind,
                                            COUNTER_OK,      (double)value->expected.value,
                                            value->expected, NULL};
    }
    engine_settle_counters(cell, session->options->fault);
    kernel = estimate_kernel(&expectation);
    estimate_time(&cell->cell, access, &session->card, &kernel, &estimate);
    result_set_counts(cell, access);
    set_time(session, &estimate, cell);
    cell->status = CELL_OK;
    return STATUS_OK;
}

/* Counts and models the pending cells one after the other. */
static enum status model_time(struct engine_session *session, struct result *result,
                              const struct progress *progress)
{
    struct access_counts *access = calloc(result->cell_count + 1, sizeof(*access));
    enum status status = STATUS_OK;
    char reason[CELL_REASON_BYTES];

    if (!access)
        return log_memory("the counts of %zu cells", result->cell_count);
    for (size_t i = 0; i < result->cell_count; i++) {
        if (progress->step(progress->context, "modelling", i, result->cell_count))
            break;
        if (result->cells[i].status != CELL_PENDING)
            continue;

        const char *unmodelled = cell_origin(&result->cells[i].cell)->unmodelled;

        if (unmodelled) {
            engine_end_cell(&result->cells[i], CELL_SKIPPED, "the engine model has no model of %s",
                            unmodelled);
            continue;
        }
        if (requested_blocks_obstacle(&result->cells[i].cell,
                                      (uint32_t)card_integer(&session->card, CARD_SM_COUNT).value,
                                      card_blocks_room(&session->card, &result->cells[i].cell, 0),
                                      reason)) {
            engine_end_cell(&result->cells[i], CELL_SKIPPED, "%s", reason);
            continue;
        }
        watch_begin(session->options->watchdog, "counting accesses", INFINITY);
        card_set_grid(&session->card, &result->cells[i].cell);
        status = access_count_next(result_cell, result, i, access);
        watch_end(session->options->watchdog);
        if (status != STATUS_OK)
            goto out;
        status = model_one(session, &access[i], &result->cells[i]);
        if (status != STATUS_OK)
            goto out;
    }
out:
    free(access);
    return status;
}

const struct engine engine_model = {
    .name = "model",
    .summary = "predicts counters and time from a card, on the CPU",
    .modelled = true,
    .device_count = model_device_count,
    .describe = model_describe,
    .open = model_open,
    .time = model_time,
    .close = model_close,
};
