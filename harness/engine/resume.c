/* SPDX-License-Identifier: MIT
 * cbank run --resume: what an interrupted run left. */
#include <math.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "run.h"

/* The device of the interrupted run, by UUID; for devices without one, by name. */
static enum status find_device(struct run *run)
{
    const struct device_info *wanted = &run->result.device;
    const char *reason = NULL;
    const uint32_t count = run_device_count(run->watch, run->engine, &reason);

    if (count == 0)
        return log_error(STATUS_ENVIRONMENT, "engine %s cannot run here: %s", run->engine->name, reason);
    for (run->device = 0; run->device < count; run->device++) {
        struct device_info info = {0};

        if (run_describe(run, run->device, &info) == STATUS_OK && strcmp(info.uuid, wanted->uuid) == 0 &&
            strcmp(info.name, wanted->name) == 0 && strcmp(info.driver, wanted->driver) == 0)
            return STATUS_OK;
    }
    return log_error(STATUS_ENVIRONMENT,
                     "the interrupted run was on %s %s with driver %s, which is not here; cells "
                     "of two devices or drivers do not belong in one result",
                     wanted->name, wanted->uuid, wanted->driver[0] ? wanted->driver : "(none)");
}

/* Cells that failed are pending again, and what the last run ended by is over. Returns how many failed and stay so. */
static size_t retry_failed(struct result *result, bool all)
{
    size_t left = 0;

    for (size_t i = 0; i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];

        if (cell->status != CELL_FAILED)
            continue;
        if (!all && !result->end.given) {
            left++;
            continue;
        }
        cell->status = CELL_PENDING;
        cell->reason[0] = '\0';
        result->complete = false;
        result->finished_utc[0] = '\0';
    }
    result->end = (struct run_end){0};
    return left;
}

/* What a file before 2.1 does not say of sampling is as the options' fallbacks say. */
static void take_limits(struct result *result, const struct measure_options *measure)
{
    if (!(result->sample_us > 0))
        result->sample_us = measure->sample_us;
    if (result->samples_max == 0)
        result->samples_max = (uint32_t)measure->samples_max;
    if (!(result->seconds_max > 0))
        result->seconds_max = measure->seconds_max;
}

static void say_nothing_missing(const struct run_options *options, size_t failed)
{
    if (failed > 0)
        log_note(options->quiet, "%s: all cells are measured but %zu that failed; --retry-failed tries them again",
                 options->resume_path, failed);
    else
        log_note(options->quiet, "%s is complete: nothing is missing", options->resume_path);
}

enum status run_resumed(const struct run_options *options, struct run_watch *watch)
{
    static const struct table engines = TABLE("engine", engine_rows, engine_count);
    struct counter_set counters = {0};
    struct index_list indices = {0};
    struct run run = {
        .options = options, .counters = &counters, .watch = watch, .indices = &indices, .start = clock_seconds()};
    enum status status;
    size_t failed;

    if (plan_options_given(&options->plan) || options->measure.given || options->measure.seed_given)
        return log_error(STATUS_USAGE,
                         "--resume takes its plan from %s; leave out the options that choose cells or "
                         "how to measure them",
                         options->resume_path);
    /* Before it is read: another process that resumes it may be about to end. */
    status = options->json_path ? STATUS_OK : file_lock_take(options->resume_path, &run.file.lock);
    if (status == STATUS_OK)
        status = result_read(options->resume_path, &run.result);
    if (status != STATUS_OK) {
        file_lock_release(&run.file.lock);
        return status;
    }
    failed = retry_failed(&run.result, options->retry_failed);
    take_limits(&run.result, &options->measure);
    result_sign(&run.result);
    run.engine = ((const struct engine_row *)table_find(&engines, run.result.engine))->engine;
    status = counter_set_parse(run.result.counters_asked, &counters);
    if (status == STATUS_OK && run.result.complete)
        say_nothing_missing(options, failed);
    if (status == STATUS_OK)
        status = find_device(&run);
    if (status == STATUS_OK)
        status = run_device(&run, false);
    file_lock_release(&run.file.lock);
    counter_set_close(&counters);
    result_close(&run.result);
    index_list_close(&indices);
    return status;
}
