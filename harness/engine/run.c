/* SPDX-License-Identifier: MIT
 * The data flow: options -> plan -> engine (prepare, verify, time, set up counting, count) ->
 * result -> JSON -> table. */
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "clock.h"
#include "files.h"
#include "json.h"
#include "log.h"
#include "result_indices.h"
#include "show_result.h"
#include "text_print.h"
#include "user_cell.h"

/* Least time between two saves: seconds, and a multiple of the time that saving takes. */
static const double save_seconds = 0.5, save_pause = 4;

/* -- saving ------------------------------------------------------------------------------------ */

static enum status save(struct run *run)
{
    const double start = clock_seconds();
    const enum status status = result_write(&run->result, run->path);
    const double end = clock_seconds();

    run->save_at = end + fmax(save_seconds, save_pause * (end - start));
    return status;
}

/* Whether the file is larger than cbank reads. It is kept: other programs may read it. */
static bool too_large(const struct run *run)
{
    struct stat about;

    return strcmp(run->path, "-") != 0 && stat(run->path, &about) == 0 &&
           about.st_size > (off_t)JSON_FILE_BYTES_MAX;
}

/* Saves the result before everything is measured. A failure, or a file that became too large, is
 * logged once. */
static void checkpoint(struct run *run)
{
    /* Only files have a lock: a pipe or a device gets the result once. */
    if (run->cannot_save || !run->file.lock.path)
        return;
    if (save(run) == STATUS_OK) {
        if (!run->too_large && too_large(run))
            log_warning("%s has become larger than %zu MiB, the most that cbank reads, and "
                        "measuring goes on; stop it, and take fewer samples (--max-samples) or "
                        "measure fewer cells at a time",
                        run->path, JSON_FILE_BYTES_MAX >> 20);
        run->too_large = run->too_large || too_large(run);
        return;
    }
    run->cannot_save = true;
    log_warning("measuring goes on; the result is written again at the end");
}

static bool run_step(void *context, const char *phase, size_t done, size_t total)
{
    struct run *run = context;
    struct progress_line *line = &run->line;
    const double now = clock_seconds();

    if (line->phase == phase)
        trace_host(run->trace, TRACE_STEPS, phase, run->step_at, now);
    run->step_at = now;
    if (line->phase != phase)
        *line = (struct progress_line){.live = line->live, .phase = phase, .phase_start = now};
    if (line->live && now - line->last > 0.1) {
        fprintf(stderr, "\r\033[K%s: %zu of %zu cells", phase, done, total);
        if (done > 0 && done < total)
            fprintf(stderr, ", %.1f s left",
                    (now - line->phase_start) / (double)done * (double)(total - done));
        line->last = now;
    }
    if (now >= run->save_at)
        checkpoint(run);
    return interrupted();
}

/* -- the end ----------------------------------------------------------------------------------- */

/* What --resume needs beside the file: the user names kernel files again. */
static void resume_words(const struct run_options *options, char words[RESULT_PATH_BYTES])
{
    const struct kernel_options *const kernel = &options->plan.kernel;

    words[0] = '\0';
    if (options->suite)
        snprintf(words, RESULT_PATH_BYTES, " --suite");
    else if (kernel->paths)
        snprintf(words, RESULT_PATH_BYTES, " --kernel %s%s%s", kernel->paths,
                 kernel->against ? "," : "", kernel->against ? kernel->against : "");
}

/* Logs that every cell was skipped, of which this is the first. */
static void say_unmeasured(const struct cell_result *first)
{
    char identity[CELL_IDENTITY_BYTES];

    cell_identity(&first->cell, identity);
    log_error(STATUS_ENVIRONMENT,
              "nothing was measured: every cell was skipped, the first is %s: %s; choose cells "
              "that can be measured here",
              identity, first->reason);
}

/* Prints the table of a run that has ended, as far as there is one. Logs why counters were not
 * read, where the result is, which cells failed, and how to resume. `written` is the outcome of
 * writing the result. Returns `written`, or worse if the table could not be printed. */
static enum status report(const struct run *run, enum status written, enum status verdict)
{
    const struct result *result = &run->result;
    const struct run_end *end = &result->end;
    const bool to_file = strcmp(run->path, "-") != 0 && strcmp(run->path, RUN_NO_FILE) != 0;
    const char *const file = to_file                       ? run->path /* for --resume */
                             : strcmp(run->path, "-") == 0 ? "FILE"
                                                           : "FILE, which --json FILE keeps,";
    /* Without memory for the file there is none for a table. */
    const bool table = to_file && !run->options->quiet && written != STATUS_ENVIRONMENT;
    const struct cell_result *first = NULL; /* that failed */
    enum status status = STATUS_OK;
    char more[RESULT_PATH_BYTES];
    size_t failed = 0;

    resume_words(run->options, more);
    for (size_t i = 0; i < result->cell_count; i++)
        if (result->cells[i].status == CELL_FAILED && failed++ == 0)
            first = &result->cells[i];
    if (result->counters_reason[0])
        log_warning("counters were not read: %s", result->counters_reason);
    if (table)
        status = show_result(stdout, result, output_color(&run->options->look, STDOUT_FILENO));
    if (table && status == STATUS_OK && written == STATUS_OK)
        text_line(stdout, "result: %s", run->path);
    fflush(stdout);
    if (written != STATUS_OK && to_file)
        log_warning("the result is not written: it would be in %s; make room there, or name "
                    "another path with --json, and run again",
                    run->path);
    if (end->given) {
        const struct cell_origin *origin = cell_origin(&result->cells[0].cell);

        log_error(STATUS_FINDING,
                  "the run ended before its time%s%s: %s; look %s, then cbank run --resume %s%s "
                  "measures the rest%s",
                  end->cell[0] ? " at " : "", end->cell, end->reason, origin->look, file, more,
                  origin->again);
    } else if (!result->complete)
        log_note(run->options->quiet, "interrupted; cbank run --resume %s%s measures the rest",
                 file, more);
    else if (first) {
        char identity[CELL_IDENTITY_BYTES];

        cell_identity(&first->cell, identity);
        log_warning("%zu cell%s failed; %s%s: %s; cbank run --resume %s%s --retry-failed tries "
                    "again",
                    failed, failed == 1 ? "" : "s", failed == 1 ? "" : "the first is ", identity,
                    first->reason, file, more);
    } else if (result_unmeasured(result))
        say_unmeasured(&result->cells[0]);
    else if (!table && verdict == STATUS_FINDING)
        log_warning(
            "an exact counter differs or errors of the device grew; cbank show tells which");
    return status_worse(status, written);
}

/* Writes and prints the available part of a run whose session is or was open. Returns the exit
 * code. */
static enum status run_end(struct run *run)
{
    struct result *result = &run->result;
    enum status written, traced, verdict;

    if (run->line.live)
        fputs("\r\033[K", stderr);
    result->complete = !result->end.given;
    for (size_t i = 0; i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];

        /* Cells that went through every phase are done. */
        if (cell->status == CELL_PENDING && cell->time.stop_reason != STOP_NONE &&
            (cell->counter_count > 0 || run->counters->count == 0) &&
            (cell->duration.given || !result->duration_method.given ||
             result->duration_method.reason[0]) &&
            (cell->energy.given || !result->energy_method.given || result->energy_method.reason[0]))
            cell->status = CELL_OK;
        result->complete = result->complete && cell->status != CELL_PENDING;
    }
    if (result->complete)
        clock_utc(result->finished_utc);
    written = save(run);
    traced = trace_write(run->trace, result, run->trace_path);
    verdict = result_verdict(result);
    written = status_worse(report(run, written, verdict), traced);
    if (too_large(run))
        written =
            status_worse(written, log_error(STATUS_USAGE,
                                            "%s is larger than %zu MiB, the most that cbank reads; "
                                            "take fewer samples "
                                            "(--max-samples), or measure fewer cells at a time",
                                            run->path, JSON_FILE_BYTES_MAX >> 20));
    if (run->judge && !interrupted())
        written = status_worse(written, run->judge(result, run->options));
    return status_worse(written, verdict == STATUS_INCONCLUSIVE && !run->options->strict ? STATUS_OK
                                                                                         : verdict);
}

/* -- calls that do not come back --------------------------------------------------------------- */

void run_end_now(void *context, const char *call, double seconds)
{
    struct run *run = ((struct run_watch *)context)->run;
    char reason[CELL_REASON_BYTES];
    enum status status = STATUS_FINDING;

    snprintf(reason, sizeof(reason), "%s did not come back in %.1f s", call, seconds);
    if (run && run->session && run->engine->stuck && !interrupted())
        run->engine->stuck(run->session, reason);
    if (run && run->session)
        status = status_worse(status, run_end(run));
    else if (!interrupted())
        log_error(status,
                  "%s, and nothing was measured; look at nvidia-smi and the system's log for the "
                  "GPU",
                  reason);
    if (run)
        result_file_close(&run->file, run->path, &run->result, !run->session);
    fflush(stdout);
    interrupt_end();
    _exit(status);
}

/* -- one run ----------------------------------------------------------------------------------- */

static void phase_add(struct run *run, const char *name, double start)
{
    struct result *result = &run->result;
    const double end = clock_seconds(), seconds = end - start;

    trace_host(run->trace, TRACE_PHASES, name, start, end);
    for (size_t i = 0; i < result->phase_count; i++)
        if (strcmp(result->phases[i].name, name) == 0) {
            result->phases[i].seconds += seconds;
            return;
        }
    if (result->phase_count < RESULT_PHASES_MAX)
        result->phases[result->phase_count++] = (struct phase_time){name, seconds};
}

/* Calls the phases of the engine. */
static enum status run_phases(struct run *run)
{
    const struct engine *engine = run->engine;
    const struct {
        const char *name;
        engine_phase *hook;
    } phases[] = {
        {"prepare", engine->prepare},
        {"verify", engine->verify},
        {"time", engine->time},
        {"set up counting", engine->set_up_counting},
        {"count", engine->count},
        {"measure durations", engine->measure_durations},
        {"measure energy", engine->measure_energy},
    };
    const struct progress progress = {.step = run_step, .context = run};
    enum status status = STATUS_OK;

    run->save_at = clock_seconds() + save_seconds;
    for (size_t i = 0;
         status == STATUS_OK && !interrupted() && i < sizeof(phases) / sizeof(phases[0]); i++) {
        const double start = clock_seconds();

        if (!phases[i].hook)
            continue;
        status = phases[i].hook(run->session, &run->result, &progress);
        if (engine->observe)
            engine->observe(run->session, &run->result);
        phase_add(run, phases[i].name, start);
        run->measuring = run->measuring || status == STATUS_OK || status == STATUS_FINDING;
        /* The following calls may not come back. */
        if (run->measuring &&
            (((phases[i].hook == engine->time || phases[i].hook == engine->count) &&
              phases[i + 1].hook) ||
             status != STATUS_OK))
            checkpoint(run);
    }
    return status;
}

/* Lets the engine record the board. A run that ended before its time has a device that no longer
 * works. */
static void run_identify(struct run *run)
{
    const double start = clock_seconds();

    if (!run->engine->identify || !run->measuring || run->result.end.given)
        return;
    run->engine->identify(run->session, &run->result);
    phase_add(run, "identify", start);
}

/* Skips the pending cells that the engine or the GPU cannot measure. */
static void skip_impossible(struct run *run)
{
    struct result *result = &run->result;
    const uint32_t architecture = 10 * result->device.cc_major + result->device.cc_minor;

    for (size_t i = 0; i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];

        if (cell->status != CELL_PENDING)
            continue;
        if (cell_obstacle(&cell->cell, architecture, cell->reason)) {
            cell->status = CELL_SKIPPED;
        }
    }
}

/* Opens the engine, runs its phases, and closes it. */
static enum status run_engine(struct run *run)
{
    const struct measure_options *measure = &run->options->measure;
    struct result *result = &run->result;
    const struct engine_options engine_options = {
        .device = run->device,
        .card = measure->card_path,
        .counters = run->counters,
        .seed = result->seed,
        .max_noise = result->max_noise,
        .sample_ns = 1e3 * result->sample_us,
        .samples_max = result->samples_max,
        .seconds_max = result->seconds_max,
        .watchdog = &run->watch->watchdog,
        .watchdog_slack = run->watch->watchdog_slack,
        .fault = measure->fault,
        .slow_path = measure->slow.path,
        .slow_share = measure->slow.percent / 100,
        .trace = run->trace,
    };
    double start = clock_seconds();
    enum status status;

    run->watch->run = run;
    status = run->engine->open(&engine_options, result, &run->session);
    phase_add(run, "open", start);
    if (status == STATUS_OK)
        status = run_phases(run);
    if (status == STATUS_OK)
        run_identify(run);
    start = clock_seconds();
    run->engine->close(run->session);
    phase_add(run, "close", start);
    run->watch->run = NULL;
    return status;
}

/* Begins the timeline and writes an empty one: a path that cannot be written is told before
 * anything is measured. */
static enum status open_trace(struct run *run, bool several)
{
    const char *const path = run->options->trace_path;

    if (!path)
        return STATUS_OK;
    run->trace_path = several ? file_of_device(path, run->device) : strdup(path);
    if (!run->trace_path)
        return log_memory("the name of the timeline");
    run->trace = trace_open(run->start);
    return run->trace ? trace_write(run->trace, &run->result, run->trace_path) : STATUS_ENVIRONMENT;
}

static void close_trace(struct run *run)
{
    trace_close(run->trace);
    free(run->trace_path);
}

enum status run_device(struct run *run, bool several)
{
    const struct run_options *options = run->options;
    const char *given = options->json_path ? options->json_path : options->resume_path;
    struct result *result = &run->result;
    enum status status =
        result_file_open(&run->file, given, result, run->device, several, run->path);

    if (status == STATUS_OK)
        status = open_trace(run, several);
    if (status != STATUS_OK)
        goto out;
    run->line.live = !options->quiet && isatty(STDERR_FILENO);
    phase_add(run, "start", run->start);
    result->modelled_time = run->engine->modelled;
    skip_impossible(run);
    status = result_give_indices(result, run->indices, options->plan.indices_path);
    if (status == STATUS_OK)
        status = run_engine(run);
out:
    /* A failure before anything was measured leaves no result. */
    if (run->measuring)
        status = status_worse(status, run_end(run));
    close_trace(run);
    result_file_close(&run->file, run->path, result, !run->measuring);
    return status;
}
