/* SPDX-License-Identifier: MIT
 * The way of the data: options -> plan -> engine (prepare, verify, time, set up counting, count) -> result -> JSON -> table. */
#include "run.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "interrupt.h"
#include "log.h"
#include "result_indices.h"
#include "run_report.h"

/* Between two times that the result is written: seconds, and how often longer than the writing took. */
static const double save_seconds = 0.5, save_pause = 4;

/* -- saving -------------------------------------------------------------------------------------------- */

static enum status save(struct run *run)
{
    const double start = clock_seconds();
    const enum status status = result_write(&run->result, run->path);
    const double end = clock_seconds();

    run->save_at = end + fmax(save_seconds, save_pause * (end - start));
    return status;
}

/* Saves what there is before all is measured; what stands in the way is said once. */
static void checkpoint(struct run *run)
{
    if (run->unsaved || run->cannot_save || strcmp(run->path, "-") == 0 || save(run) == STATUS_OK)
        return;
    run->cannot_save = true;
    log_warning("measuring goes on; the result is written again at the end");
}

static bool run_step(void *context, const char *phase, size_t done, size_t total)
{
    struct run *run = context;

    progress_line_show(&run->line, phase, done, total);
    if (clock_seconds() >= run->save_at)
        checkpoint(run);
    return interrupted();
}

/* -- the end ------------------------------------------------------------------------------------------- */

/* Cells that went through every phase are done. */
static void settle_cells(struct result *result, bool counters_asked)
{
    result->complete = !result->end.given;
    for (size_t i = 0; i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];

        if (cell->status == CELL_PENDING && cell->time.stop_reason != STOP_NONE &&
            (cell->counter_count > 0 || !counters_asked))
            cell->status = CELL_OK;
        result->complete = result->complete && cell->status != CELL_PENDING;
    }
}

enum status run_end(struct run *run)
{
    struct result *result = &run->result;
    enum status written, verdict;

    progress_line_clear(&run->line);
    settle_cells(result, run->counters->count > 0);
    if (result->complete)
        clock_utc(result->finished_utc);
    written = save(run);
    verdict = result_verdict(result);
    written = run_report(run, written, verdict);
    return status_worse(written, verdict == STATUS_INCONCLUSIVE && !run->options->strict ? STATUS_OK : verdict);
}

/* -- one run ------------------------------------------------------------------------------------------ */

static void phase_add(struct result *result, const char *name, double start)
{
    const double seconds = clock_seconds() - start;

    for (size_t i = 0; i < result->phase_count; i++)
        if (strcmp(result->phases[i].name, name) == 0) {
            result->phases[i].seconds += seconds;
            return;
        }
    if (result->phase_count < RESULT_PHASES_MAX)
        result->phases[result->phase_count++] = (struct phase_time){name, seconds};
}

/* Goes through the phases of the engine. */
static enum status run_phases(struct run *run)
{
    const struct engine *engine = run->engine;
    const struct {
        const char *name;
        engine_phase *hook;
    } phases[] = {
        {"prepare", engine->prepare}, {"verify", engine->verify},
        {"time", engine->time},       {"set up counting", engine->set_up_counting},
        {"count", engine->count},
    };
    const struct progress progress = {.step = run_step, .context = run};
    enum status status = STATUS_OK;

    run->save_at = clock_seconds() + save_seconds;
    for (size_t i = 0; status == STATUS_OK && !interrupted() && i < sizeof(phases) / sizeof(phases[0]); i++) {
        const double start = clock_seconds();

        if (!phases[i].hook)
            continue;
        status = phases[i].hook(run->session, &run->result, &progress);
        if (engine->observe)
            engine->observe(run->session, &run->result);
        phase_add(&run->result, phases[i].name, start);
        run->measuring = run->measuring || status == STATUS_OK || status == STATUS_FINDING;
        /* What follows may not come back. */
        if (run->measuring && ((phases[i].hook == engine->time && engine->count) || status != STATUS_OK))
            checkpoint(run);
    }
    return status;
}

/* Opens the engine, goes through its phases and closes it. */
static enum status run_engine(struct run *run)
{
    const struct measure_options *measure = &run->options->measure;
    const struct engine_options engine_options = {
        .device = run->device,
        .card = measure->card_path,
        .counters = run->counters,
        .seed = run->result.seed,
        .max_noise = run->result.max_noise,
        .sample_ns = 1e3 * run->result.sample_us,
        .samples_max = run->result.samples_max,
        .seconds_max = run->result.seconds_max,
        .watchdog = &run->watch->watchdog,
        .patience = run->watch->patience,
        .fault = measure->fault,
        .slow_path = measure->slow.path,
        .slow_share = measure->slow.percent / 100,
    };
    double start = clock_seconds();
    enum status status = run->engine->open(&engine_options, &run->result, &run->session);

    phase_add(&run->result, "open", start);
    if (status == STATUS_OK)
        status = run_phases(run);
    start = clock_seconds();
    run->engine->close(run->session);
    phase_add(&run->result, "close", start);
    return status;
}

/* Cells that the tables do not have on this chip say why, and are not measured. */
static void skip_impossible(struct result *result)
{
    const uint32_t architecture = 10 * result->device.cc_major + result->device.cc_minor;

    for (size_t i = 0; i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];

        if (cell->status == CELL_PENDING && cell_obstacle(&cell->cell, architecture, cell->reason))
            cell->status = CELL_SKIPPED;
    }
}

/* Measures. */
static enum status run_cells(struct run *run)
{
    struct result *result = &run->result;
    enum status status;

    run->line.live = !run->options->quiet && isatty(STDERR_FILENO);
    phase_add(result, "start", run->start);
    result->modelled_time = run->engine->modelled;
    skip_impossible(result);
    status = result_give_indices(result, run->indices, run->options->plan.indices_path);
    if (status != STATUS_OK)
        return status;
    run->watch->run = run;
    status = run_engine(run);
    run->watch->run = NULL;
    return status;
}

enum status run_unsaved(struct run *run)
{
    enum status status;

    run->unsaved = true;
    status = run_cells(run);
    progress_line_clear(&run->line);
    settle_cells(&run->result, run->counters->count > 0);
    return status;
}

/* Measures, writes and prints. */
static enum status run_measure(struct run *run)
{
    const enum status status = run_cells(run);

    /* What failed before anything was measured leaves no result. */
    return run->measuring ? status_worse(status, run_end(run)) : status;
}

enum status run_device(struct run *run, bool several)
{
    const struct run_options *options = run->options;
    const char *given = options->json_path ? options->json_path : options->resume_path;
    enum status status = result_file_open(&run->file, given, &run->result, run->device, several, run->path);

    if (status == STATUS_OK)
        status = run_measure(run);
    result_file_close(&run->file, run->path, &run->result, !run->measuring);
    return status;
}
