/* SPDX-License-Identifier: MIT
 * The way of the data: options -> plan -> engine (prepare, verify, time, set up counting, count) -> result -> JSON -> table. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "engine.h"
#include "log.h"
#include "plan.h"
#include "plan_options.h"
#include "progress_line.h"
#include "result.h"
#include "result_file.h"
#include "show.h"

/* -- options ------------------------------------------------------------------------------------------ */

struct run_options {
    struct plan_options plan;
    struct measure_options measure;
    struct look_options look;
    const char *json_path;   /* NULL: a name made up in the current folder; "-": stdout */
    const char *resume_path; /* NULL: a new run */
    bool strict, quiet;
};

/* clang-format off */
#define OWN(member) .offset = offsetof(struct run_options, member)

static const struct option_row own_rows[] = {
    {.name = "json", .argument = "PATH",
     .help = "write the result to a file, into a folder (made if it ends in /), or - for stdout",
     .kind = &option_text, OWN(json_path)},
    {.name = "resume", .argument = "FILE", .help = "measure what an interrupted result is missing, in place",
     .kind = &option_text, OWN(resume_path)},
    {.name = "strict", .help = "exit 4 when a cell is inconclusive", .kind = &option_flag, OWN(strict)},
    {.name = "quiet", .help = "print errors and warnings alone", .kind = &option_flag, OWN(quiet)},
};
/* clang-format on */

static const struct option_group groups[] = {
    OPTION_GROUP(plan_option_rows, offsetof(struct run_options, plan)),
    OPTION_GROUP(measure_option_rows, offsetof(struct run_options, measure)),
    OPTION_GROUP(own_rows, 0),
    OPTION_GROUP(look_option_rows, offsetof(struct run_options, look)),
};

/* -- interruption ------------------------------------------------------------------------------------- */

/* The one variable that a signal handler may write. */
static volatile sig_atomic_t signal_received;

static void on_signal(int number)
{
    signal_received = number;
}

static void catch_signals(void (*handler)(int))
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        /* One chance to end well: a second signal kills. */
        struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND};

        sigaction(numbers[i], &action, NULL);
    }
}

/* An interrupted run ends as the signal would have ended it, after everything is saved. */
static void end_by_signal(void)
{
    fflush(stdout);
    catch_signals(SIG_DFL);
    raise(signal_received);
}

/* -- one run ------------------------------------------------------------------------------------------ */

/* One device's run. */
struct run {
    const struct run_options *options;
    const struct engine *engine;
    const struct counter_set *counters;
    uint32_t device;
    double start; /* seconds: when the command began, or the device before was done */
    struct result result;
    char path[RESULT_PATH_BYTES];
    struct progress_line line;
};

static bool run_step(void *context, const char *phase, size_t done, size_t total)
{
    struct run *run = context;

    progress_line_show(&run->line, phase, done, total);
    return signal_received != 0;
}

static enum status run_checkpoint(void *context)
{
    const struct run *run = context;

    return strcmp(run->path, "-") == 0 ? STATUS_OK : result_write(&run->result, run->path);
}

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
static enum status run_phases(struct run *run, struct engine_session *session)
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
    const struct progress progress = {.step = run_step, .checkpoint = run_checkpoint, .context = run};
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && !signal_received && i < sizeof(phases) / sizeof(phases[0]); i++) {
        const double start = clock_seconds();

        if (!phases[i].hook)
            continue;
        status = phases[i].hook(session, &run->result, &progress);
        phase_add(&run->result, phases[i].name, start);
    }
    progress_line_clear(&run->line);
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
        .sample_ns = 1e3 * measure->sample_us,
        .samples_max = (uint32_t)measure->samples_max,
        .seconds_max = measure->seconds_max,
        .fault = measure->fault,
        .slow_path = measure->slow.path,
        .slow_share = measure->slow.percent / 100,
    };
    struct engine_session *session = NULL;
    double start = clock_seconds();
    enum status status = run->engine->open(&engine_options, &run->result, &session);

    phase_add(&run->result, "open", start);
    if (status == STATUS_OK)
        status = run_phases(run, session);
    start = clock_seconds();
    run->engine->close(session);
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

/* Cells that went through every phase are done. */
static void settle_cells(struct result *result, bool counters_asked)
{
    result->complete = true;
    for (size_t i = 0; i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];

        if (cell->status == CELL_PENDING && cell->time.stop_reason != STOP_NONE &&
            (cell->counter_count > 0 || !counters_asked))
            cell->status = CELL_OK;
        result->complete = result->complete && cell->status != CELL_PENDING;
    }
}

/* Prints the table, or, where the user wants none, that something was found. An interrupted run just says how
 * to go on. */
static void report(const struct run *run, enum status verdict)
{
    const bool table = strcmp(run->path, "-") != 0 && !run->options->quiet;

    if (run->result.counters_reason[0])
        log_warning("counters were not read: %s", run->result.counters_reason);
    if (!run->result.complete) {
        log_note(run->options->quiet, "interrupted; cbank run --resume %s measures the rest", run->path);
    } else if (table) {
        show_result(stdout, &run->result, look_color(&run->options->look, STDOUT_FILENO));
        printf("result: %s\n", run->path);
    } else if (verdict == STATUS_FINDING) {
        log_warning("a cell failed or an exact counter differs; cbank show tells which");
    }
}

/* Measures, writes and prints. `several`: it is one of several devices. */
static enum status run_device(struct run *run, bool several)
{
    const struct run_options *options = run->options;
    struct result *result = &run->result;
    const char *given = options->json_path ? options->json_path : options->resume_path;
    enum status status, verdict;

    result_file_path(given, result, run->device, several, run->path);
    status = result_file_check(given, run->path);
    if (status != STATUS_OK)
        return status;
    run->line.live = !options->quiet && isatty(STDERR_FILENO);
    phase_add(result, "start", run->start);
    result->modelled_time = run->engine->modelled;
    skip_impossible(result);
    status = run_engine(run);
    if (status != STATUS_OK)
        return status;
    settle_cells(result, run->counters->count > 0);
    if (result->complete)
        clock_utc(result->finished_utc);
    status = result_write(result, run->path);
    verdict = result_verdict(result);
    if (status == STATUS_OK)
        report(run, verdict);
    return status_worse(status, verdict == STATUS_INCONCLUSIVE && !options->strict ? STATUS_OK : verdict);
}

/* -- new runs ----------------------------------------------------------------------------------------- */

static uint64_t clock_seed(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec;
}

/* The engine that was named, or the first that has a device. Who asked for none hears that nothing is measured, --quiet
 * or not. */
static enum status choose_engine(const struct engine_row *named, const struct engine **out, uint32_t *devices)
{
    const char *reason = NULL;

    for (size_t i = 0; i < engine_count; i++) {
        *out = engine_rows[i].engine;
        if (named && named->engine != *out)
            continue;
        *devices = (*out)->device_count(&reason);
        if (*devices == 0 && named)
            return log_error(STATUS_ENVIRONMENT, "engine %s cannot run here: %s", named->name, reason);
        if (*devices == 0)
            continue;
        if (reason)
            log_warning("no GPU measured: %s; the %s engine runs instead, and all its numbers are modelled", reason,
                        (*out)->name);
        return STATUS_OK;
    }
    return log_error(STATUS_ENVIRONMENT, "no engine can run here: %s", reason);
}

/* The devices that were asked for are there. */
static enum status check_devices(const struct integers *asked, uint32_t devices)
{
    for (size_t i = 0; i < asked->count; i++)
        if (asked->values[i] >= devices)
            return log_error(STATUS_USAGE, "--device: there is no device %" PRIu64 "; valid: 0 to %" PRIu32,
                             asked->values[i], devices - 1);
    return STATUS_OK;
}

static enum status check_memory(const struct integers *elements, const struct device_info *device)
{
    const uint64_t limit = device->memory_bytes / (2 * sizeof(uint32_t));

    for (size_t i = 0; device->memory_bytes && i < elements->count; i++)
        if (elements->values[i] > limit)
            return log_error(STATUS_USAGE,
                             "--elements: %" PRIu64 " need more memory than %s has; at most %" PRIu64 " elements",
                             elements->values[i], device->name, limit);
    return STATUS_OK;
}

/* A result of the plan, with nothing measured yet. */
static enum status open_result(struct run *run, const struct plan *plan, const struct invocation *invocation)
{
    const struct measure_options *measure = &run->options->measure;
    struct result *result = &run->result;
    enum status status = result_open(result, plan->cells, plan->count);

    if (status != STATUS_OK)
        return status;
    result->engine = run->engine->name;
    result->seed = measure->seed_given ? measure->seed : clock_seed();
    result->max_noise = measure->max_noise_percent / 100;
    clock_utc(result->started_utc);
    command_line(invocation, result->argv, sizeof(result->argv));
    snprintf(result->counters_asked, sizeof(result->counters_asked), "%s", measure->counters.text);
    status = run->engine->describe(run->device, measure->card_path, &result->device);
    return status == STATUS_OK ? check_memory(&run->options->plan.elements, &result->device) : status;
}

static enum status run_new(const struct run_options *options, const struct invocation *invocation)
{
    const struct integers *asked = &options->measure.devices;
    struct run run = {.options = options, .counters = &options->measure.counters.set, .start = clock_seconds()};
    struct plan plan = {0};
    uint32_t devices = 0;
    enum status status = choose_engine(options->measure.engine, &run.engine, &devices), worst;

    if (status == STATUS_OK)
        status = check_devices(asked, devices);
    if (status == STATUS_OK)
        status = plan_open(&options->plan, &plan);
    worst = status;
    for (size_t i = 0, count = asked->all ? devices : asked->count;
         status == STATUS_OK && !signal_received && i < count; i++) {
        struct run one = run;
        enum status ended;

        one.device = (uint32_t)(asked->all ? i : asked->values[i]);
        ended = open_result(&one, &plan, invocation);
        if (ended == STATUS_OK)
            ended = run_device(&one, count > 1);
        result_close(&one.result);
        worst = status_worse(worst, ended);
        run.start = clock_seconds();
    }
    plan_close(&plan);
    return worst;
}

/* -- resumed runs ------------------------------------------------------------------------------------- */

/* The device of the interrupted run, by UUID; for devices without one, by name. */
static enum status find_device(struct run *run)
{
    const struct device_info *wanted = &run->result.device;
    const char *reason = NULL;
    const uint32_t count = run->engine->device_count(&reason);

    if (count == 0)
        return log_error(STATUS_ENVIRONMENT, "engine %s cannot run here: %s", run->engine->name, reason);
    for (run->device = 0; run->device < count; run->device++) {
        struct device_info info = {0};

        if (run->engine->describe(run->device, run->options->measure.card_path, &info) == STATUS_OK &&
            strcmp(info.uuid, wanted->uuid) == 0 && strcmp(info.name, wanted->name) == 0 &&
            strcmp(info.driver, wanted->driver) == 0)
            return STATUS_OK;
    }
    return log_error(STATUS_ENVIRONMENT,
                     "the interrupted run was on %s %s with driver %s, which is not here; cells "
                     "of two devices or drivers do not belong in one result",
                     wanted->name, wanted->uuid, wanted->driver[0] ? wanted->driver : "(none)");
}

static enum status run_resumed(const struct run_options *options)
{
    static const struct table engines = TABLE("engine", engine_rows, engine_count);
    struct counter_set counters = {0};
    struct run run = {.options = options, .counters = &counters, .start = clock_seconds()};
    enum status status;

    if (options->plan.given || options->measure.given || options->measure.seed_given)
        return log_error(STATUS_USAGE,
                         "--resume takes its plan from %s; leave out the options that choose cells or "
                         "how to measure them",
                         options->resume_path);
    status = result_read(options->resume_path, &run.result);
    if (status != STATUS_OK)
        return status;
    result_sign(&run.result);
    run.engine = ((const struct engine_row *)table_find(&engines, run.result.engine))->engine;
    status = counter_set_parse(run.result.counters_asked, &counters);
    if (status == STATUS_OK && run.result.complete)
        log_note(options->quiet, "%s is complete: nothing is missing", options->resume_path);
    if (status == STATUS_OK)
        status = find_device(&run);
    if (status == STATUS_OK)
        status = run_device(&run, false);
    counter_set_close(&counters);
    result_close(&run.result);
    return status;
}

static enum status run(const void *parsed, const struct invocation *invocation)
{
    const struct run_options *options = parsed;
    enum status status;

    catch_signals(on_signal);
    status = options->resume_path ? run_resumed(options) : run_new(options, invocation);
    if (signal_received)
        end_by_signal();
    return status;
}

const struct command run_command = {
    .name = "run",
    .summary = "Run the access-pattern matrix, verify it, count it, write a JSON result",
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct run_options),
    .details =
        "The plan is every combination of what the options select. Cells that cannot be (a path that a chip or a\n"
        "pattern has not, a filter too large) are skipped and say why. Each device gets a result file of its own.\n"
        "\n"
        "With --resume the plan, the seed and the counters are the file's: options that choose cells or how to\n"
        "measure them are refused. Device and driver have to be the same.",
    .run = run,
};
