/* SPDX-License-Identifier: MIT
 * The model engine: exact counts by walking the pattern over the grid, everything else predicted from a
 * card. Needs no GPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "card.h"
#include "engine.h"
#include "image.h"
#include "log.h"
#include "model.h"

struct engine_session {
    const struct engine_options *options;
    struct card card;
};

/* -- devices ------------------------------------------------------------------------------------------ */

static uint32_t model_device_count(const char **reason)
{
    (void)reason;
    return 1;
}

static void card_describe(const struct card *card, struct device_info *out)
{
    *out = (struct device_info){
        .cc_major = card->cc_major,
        .cc_minor = card->cc_minor,
        .sm_count = card->sm_count,
        .l2_bytes = card->l2_bytes,
        .sm_clock_max_mhz = card->sm_clock_mhz,
        .memory_clock_max_mhz = NAN,
        .launch_ns = card->launch_ns,
    };
    snprintf(out->name, sizeof(out->name), "%s", card->name);
    snprintf(out->chip, sizeof(out->chip), "%s", card->chip);
}

static enum status model_describe(uint32_t device, const char *path, struct device_info *out)
{
    struct card card;
    const enum status status = card_read(path, &card);

    (void)device;
    if (status == STATUS_OK)
        card_describe(&card, out);
    return status;
}

static void model_close(struct engine_session *session)
{
    free(session);
}

static enum status model_open(const struct engine_options *options, struct result *result, struct engine_session **out)
{
    struct engine_session *session = calloc(1, sizeof(*session));
    enum status status;

    if (session == NULL)
        return log_error(STATUS_ENVIRONMENT, "out of memory for the model engine; free some memory");
    session->options = options;
    status = card_read(options->card, &session->card);
    if (status != STATUS_OK) {
        model_close(session);
        return status;
    }
    (void)result;
    *out = session;
    return STATUS_OK;
}

/* -- counters ----------------------------------------------------------------------------------------- */

static const char reason_no_code[] = "the model cannot say it without the kernel's code";
static const char reason_range[] = "the model gives limits, and no number";

static void predict_measured(const struct engine_session *session, const struct cell_result *cell,
                             const struct expectation *expectation, struct counter_value *value)
{
    const struct model_count count =
        model_counter(value->name, &cell->cell, expectation->access, &session->card, &cell->model.levels);

    value->reason = count.reason ? count.reason : reason_range;
    if (count.reason || count.low != count.high)
        return;
    value->value = count.low;
    value->status = COUNTER_OK;
    value->reason = NULL;
}

static void predict_exact(const struct engine_session *session, const struct counter *counter,
                          const struct expectation *expectation, struct counter_value *value)
{
    const struct fault *fault = session->options->fault;

    if (!counter->expect(expectation, &value->expected)) {
        value->reason = reason_no_code;
        return;
    }
    value->value = value->expected + (fault && fault->counter ? 1 : 0);
    value->status = COUNTER_OK;
}

static enum status predict_counters(const struct engine_session *session, struct cell_result *cell,
                                    const struct expectation *expectation)
{
    const struct counter_set *set = session->options->counters;

    free(cell->counters);
    cell->counters = NULL;
    cell->counter_count = 0;
    if (set->count == 0)
        return STATUS_OK;
    cell->counters = calloc(set->count, sizeof(*cell->counters));
    if (cell->counters == NULL)
        return log_error(STATUS_ENVIRONMENT, "out of memory for counters; ask for fewer cells or counters");
    cell->counter_count = set->count;

    for (size_t i = 0; i < set->count; i++) {
        const struct counter *counter = &set->counters[i];
        struct counter_value *value = &cell->counters[i];

        *value = (struct counter_value){
            .name = counter->name,
            .unit = counter->unit,
            .kind = counter->kind,
            .status = COUNTER_UNAVAILABLE,
            .value = NAN,
            .expected = NAN,
        };
        if (counter->kind == COUNTER_EXACT)
            predict_exact(session, counter, expectation, value);
        else
            predict_measured(session, cell, expectation, value);
        if (counter_differs(value))
            cell->flags |= FLAG_COUNTER_DIFFERS;
    }
    return STATUS_OK;
}

/* -- cells -------------------------------------------------------------------------------------------- */

/* The kernel that would run on the card's chip; its counts in *sass. False when they are not known. */
static bool read_kernel(const struct engine_session *session, struct cell_result *cell, struct sass_counts *sass)
{
    const struct card *card = &session->card;
    struct kernel_sass kernel;
    struct image image;

    cell->kernel = (struct cell_kernel){0};
    if (!image_for_chip(cell->cell.workload->name, card->cc_major, card->cc_minor, &image) ||
        !image_kernel(image.data, image.bytes, &cell->cell, &kernel))
        return false;
    cell->kernel.known = true;
    snprintf(cell->kernel.symbol, sizeof(cell->kernel.symbol), "%s", kernel.symbol);
    snprintf(cell->kernel.image, sizeof(cell->kernel.image), "%.*s", (int)image.name_bytes, image.name);
    memcpy(cell->kernel.sha256, kernel.sha256, sizeof(cell->kernel.sha256));
    *sass = kernel.counts;
    return kernel.counted;
}

/* A prediction has no spread and no samples. */
static void set_time(struct cell_time *time, double ns, double sm_clock_mhz)
{
    free(time->samples_ns);
    *time = (struct cell_time){
        .summary = {.median = ns, .ci_low = ns, .ci_high = ns, .min = ns},
        .stop_reason = STOP_MODELLED,
        .cycles = ns * sm_clock_mhz / 1000,
        .sm_clock_mhz = sm_clock_mhz,
    };
}

static enum status model_one(const struct engine_session *session, const struct access_counts *access,
                             struct cell_result *cell)
{
    struct sass_counts sass;
    const bool counted = read_kernel(session, cell, &sass);
    const struct expectation expectation = {
        .cell = &cell->cell,
        .access = access,
        .sass = counted ? &sass : NULL,
    };
    enum status status = model_predict(&cell->cell, access, &session->card, &cell->model);

    if (status == STATUS_OK)
        status = predict_counters(session, cell, &expectation);
    if (status != STATUS_OK)
        return status;
    cell->modelled = true;
    cell->operations = access->operations;
    set_time(&cell->time, cell->model.time_ns, session->card.sm_clock_mhz);
    cell->status = CELL_OK;
    return STATUS_OK;
}

/* Counts and models the pending cells one after the other; `access` has room for the counts of each. */
static enum status model_cells(struct engine_session *session, struct result *result, const struct progress *progress,
                               struct access_counts *access)
{
    for (size_t i = 0; i < result->cell_count; i++) {
        enum status status;

        if (progress->step(progress->context, "model", i, result->cell_count))
            return STATUS_OK;
        if (result->cells[i].status != CELL_PENDING)
            continue;
        status = access_count_next(result_cell, result, i, access);
        if (status == STATUS_OK)
            status = model_one(session, &access[i], &result->cells[i]);
        if (status != STATUS_OK)
            return status;
    }
    progress->step(progress->context, "model", result->cell_count, result->cell_count);
    return STATUS_OK;
}

static enum status model_time(struct engine_session *session, struct result *result, const struct progress *progress)
{
    struct access_counts *access = calloc(result->cell_count, sizeof(*access));
    enum status status;

    if (access == NULL)
        return log_error(STATUS_ENVIRONMENT, "out of memory for the counts of %zu cells; ask for fewer cells",
                         result->cell_count);
    status = model_cells(session, result, progress, access);
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
