/* SPDX-License-Identifier: MIT
 * The way of the data: options -> plan -> engine (prepare, verify, time, set up counting, count) -> result -> JSON -> table. */
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "engine.h"
#include "log.h"
#include "plan.h"
#include "plan_options.h"
#include "result.h"
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

#define OWN(member) .offset = offsetof(struct run_options, member)

static const struct option_row own_rows[] = {
    {.name = "json",
     .argument = "PATH",
     .help = "write the result to a file, into a folder (made if it ends in /), or - for stdout",
     .kind = &option_text,
     OWN(json_path)},
    {.name = "resume",
     .argument = "FILE",
     .help = "measure what an interrupted result is missing, in place",
     .kind = &option_text,
     OWN(resume_path)},
    {.name = "strict", .help = "exit 4 when a cell is inconclusive", .kind = &option_flag, OWN(strict)},
    {.name = "quiet", .help = "print errors and warnings alone", .kind = &option_flag, OWN(quiet)},
};

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

/* -- where the result goes ---------------------------------------------------------------------------- */

enum { PATH_BYTES = 4096 };

/* "cbank-ENGINE-NAME-DEVICE-TIME.json", with nothing in it that a shell or a file system minds. */
static void made_up_name(const struct result *result, uint32_t device, char *name, size_t bytes)
{
    char when[CLOCK_UTC_BYTES], *end = when;

    clock_utc(when);
    /* Without what divides its parts: "20260131T120000Z". */
    for (const char *c = when; *c; c++)
        if (*c != '-' && *c != ':')
            *end++ = *c;
    *end = '\0';
    snprintf(name, bytes, "cbank-%s-%s-%u-%s.json", result->engine, result->device.name, (unsigned)device, when);
    for (char *c = name; *c; c++)
        if (*c == ' ' || *c == '/')
            *c = '_';
}

static bool is_folder(const char *path)
{
    struct stat info;

    return path[0] && (path[strlen(path) - 1] == '/' || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)));
}

/* Makes a folder and those above it; what exists already is fine. */
static void make_folders(const char *path)
{
    char part[PATH_BYTES];

    snprintf(part, sizeof(part), "%s", path);
    for (char *c = part + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        mkdir(part, 0777);
        *c = '/';
    }
    mkdir(part, 0777);
}

/* Puts a number before ".json" while there is a file of that name: nothing made up overwrites a result. */
static void make_new(char path[PATH_BYTES])
{
    const size_t stem = strlen(path) - strlen(".json");

    for (unsigned i = 2; access(path, F_OK) == 0 && i < 1000; i++)
        snprintf(path + stem, PATH_BYTES - stem, "-%u.json", i);
}

/* Where the result of one device goes, from --json, --resume or a made-up name. `several`: one of several
 * devices, whose number goes into a given file name. */
static void result_path(const struct run_options *options, const struct result *result, uint32_t device, bool several,
                        char path[PATH_BYTES])
{
    const char *given = options->json_path ? options->json_path : options->resume_path;
    const char *dot = given ? strrchr(given, '.') : NULL;
    char name[256];

    made_up_name(result, device, name, sizeof(name));
    if (!given || is_folder(given)) {
        snprintf(path, PATH_BYTES, "%s%s%s", given ? given : "", given && given[strlen(given) - 1] != '/' ? "/" : "",
                 name);
        make_new(path);
    } else if (several && strcmp(given, "-") != 0)
        snprintf(path, PATH_BYTES, "%.*s-device%u%s", (int)(dot ? dot - given : (ptrdiff_t)strlen(given)), given,
                 (unsigned)device, dot ? dot : "");
    else
        snprintf(path, PATH_BYTES, "%s", given);
}

/* Whether a file can be made in a folder: by making one, since permissions do not say all. */
static bool can_make_file(const char *folder)
{
    char probe[PATH_BYTES];
    int descriptor;

    if (snprintf(probe, sizeof(probe), "%s/.cbank-XXXXXX", folder) >= PATH_BYTES)
        return false;
    descriptor = mkstemp(probe);
    if (descriptor < 0)
        return false;
    close(descriptor);
    unlink(probe);
    return true;
}

/* Finds out before measuring that the result could not be written. */
static enum status check_writable(const struct run_options *options, const char *path)
{
    char folder[PATH_BYTES], copy[PATH_BYTES];
    struct stat info;
    bool exists;

    if (strcmp(path, "-") == 0)
        return STATUS_OK;
    if (options->json_path && is_folder(options->json_path))
        make_folders(options->json_path);
    snprintf(copy, sizeof(copy), "%s", path);
    snprintf(folder, sizeof(folder), "%s", dirname(copy));
    exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode))
        return log_error(STATUS_USAGE, "cannot write the result to %s: it is a folder; end it in /", path);
    if (exists && !S_ISREG(info.st_mode))
        return STATUS_OK; /* a device or a pipe is written in place */
    if ((exists && access(path, W_OK) != 0) || !can_make_file(folder))
        return log_error(STATUS_USAGE, "cannot write the result to %s: %s; choose another place with --json", path,
                         strerror(errno));
    return STATUS_OK;
}

/* -- progress ----------------------------------------------------------------------------------------- */

/* One device's run. */
struct run {
    const struct run_options *options;
    const struct engine *engine;
    struct result result;
    double start;        /* seconds: when the command began, or the device before was done */
    char path[PATH_BYTES];
    bool live;           /* stderr is a terminal and wants a progress line */
    const char *phase;   /* of the progress line */
    double phase_start;  /* seconds */
    double last_line;
};

static void progress_clear(const struct run *run)
{
    if (run->live)
        fputs("\r\033[K", stderr);
}

static bool run_step(void *context, const char *phase, size_t done, size_t total)
{
    struct run *run = context;
    const double now = clock_seconds();

    if (run->phase != phase) {
        run->phase = phase;
        run->phase_start = now;
        run->last_line = 0;
    }
    if (run->live && now - run->last_line > 0.1) {
        fprintf(stderr, "\r\033[K%s: %zu of %zu cells", phase, done, total);
        if (done > 0 && done < total)
            fprintf(stderr, ", %.1f s left", (now - run->phase_start) / (double)done * (double)(total - done));
        run->last_line = now;
    }
    return signal_received != 0;
}

static enum status run_checkpoint(void *context)
{
    const struct run *run = context;

    return strcmp(run->path, "-") == 0 ? STATUS_OK : result_write(&run->result, run->path);
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

/* A phase of an engine, by where its hook stands. */
struct phase {
    const char *name;
    size_t hook;
};

typedef enum status phase_hook(struct engine_session *, struct result *, const struct progress *);

static const struct phase phases[] = {
    {"prepare", offsetof(struct engine, prepare)}, {"verify", offsetof(struct engine, verify)},
    {"time", offsetof(struct engine, time)},       {"set up counting", offsetof(struct engine, set_up_counting)},
    {"count", offsetof(struct engine, count)},
};

static enum status run_phases(struct run *run, struct engine_session *session)
{
    const struct progress progress = {.step = run_step, .checkpoint = run_checkpoint, .context = run};
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && !signal_received && i < sizeof(phases) / sizeof(phases[0]); i++) {
        const double start = clock_seconds();
        phase_hook *hook;

        memcpy(&hook, (const char *)run->engine + phases[i].hook, sizeof(hook));
        if (!hook)
            continue;
        status = hook(session, &run->result, &progress);
        phase_add(&run->result, phases[i].name, start);
    }
    progress_clear(run);
    return status;
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

/* Opens the engine, goes through its phases and closes it. */
static enum status run_engine(struct run *run, uint32_t device, const struct counter_set *counters)
{
    const struct run_options *options = run->options;
    const struct engine_options engine_options = {
        .device = device,
        .card = options->measure.card_path,
        .counters = counters,
        .seed = run->result.seed,
        .max_noise = run->result.max_noise,
        .sample_ns = 1e3 * options->measure.sample_us,
        .samples_max = (uint32_t)options->measure.samples_max,
        .seconds_max = options->measure.seconds_max,
        .fault = options->measure.fault,
        .slow_path = options->measure.slow.path,
        .slow_share = options->measure.slow.percent / 100,
    };
    struct engine_session *session = NULL;
    const double start = clock_seconds();
    enum status status = run->engine->open(&engine_options, &run->result, &session);

    phase_add(&run->result, "open", start);
    if (status == STATUS_OK)
        status = run_phases(run, session);

    const double end = clock_seconds();

    run->engine->close(session);
    phase_add(&run->result, "close", end);
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

/* Measures, writes and prints; result and path are set. */
static enum status run_device(struct run *run, uint32_t device, const struct counter_set *counters)
{
    enum status status = check_writable(run->options, run->path);

    if (status != STATUS_OK)
        return status;
    run->live = !run->options->quiet && isatty(STDERR_FILENO);
    phase_add(&run->result, "start", run->start);
    run->result.modelled_time = run->engine->modelled;
    skip_impossible(&run->result);
    status = run_engine(run, device, counters);
    if (status != STATUS_OK)
        return status;
    settle_cells(&run->result, counters->count > 0);
    if (run->result.complete)
        clock_utc(run->result.finished_utc);
    status = result_write(&run->result, run->path);

    const enum status verdict = result_verdict(&run->result);

    if (status == STATUS_OK)
        report(run, verdict);
    return status_worse(status, verdict == STATUS_INCONCLUSIVE && !run->options->strict ? STATUS_OK : verdict);
}

/* -- new runs ----------------------------------------------------------------------------------------- */

static uint64_t clock_seed(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec;
}

/* The engine that was named, or the first that has a device. */
static enum status choose_engine(const struct run_options *options, const struct engine **out, uint32_t *devices)
{
    const char *reason = NULL;

    for (size_t i = 0; i < engine_count; i++) {
        const struct engine *engine = engine_rows[i].engine;

        if (options->measure.engine && options->measure.engine->engine != engine)
            continue;
        *out = engine;
        *devices = engine->device_count(&reason);
        if (*devices > 0)
            return STATUS_OK;
        if (options->measure.engine)
            return log_error(STATUS_ENVIRONMENT, "engine %s cannot run here: %s", engine->name, reason);
        log_note(options->quiet, "no GPU measured: %s; the model engine runs instead", reason);
    }
    return log_error(STATUS_ENVIRONMENT, "no engine can run here");
}

static enum status check_memory(const struct run_options *options, const struct device_info *device)
{
    for (size_t i = 0; i < options->plan.elements.count; i++) {
        const uint64_t limit = device->memory_bytes / (2 * sizeof(uint32_t));

        if (device->memory_bytes && options->plan.elements.values[i] > limit)
            return log_error(STATUS_USAGE,
                             "--elements: %" PRIu64 " need more memory than %s has; at most %" PRIu64 " elements",
                             options->plan.elements.values[i], device->name, limit);
    }
    return STATUS_OK;
}

static enum status new_run(const struct run_options *options, const struct engine *engine, const struct plan *plan,
                           uint32_t device, bool several, double start, const struct invocation *invocation)
{
    struct run run = {.options = options, .engine = engine, .start = start};
    struct result *result = &run.result;
    enum status status = result_open(result, plan->cells, plan->count);

    if (status != STATUS_OK)
        return status;
    result->engine = engine->name;
    result->seed = options->measure.seed_given ? options->measure.seed : clock_seed();
    result->max_noise = options->measure.max_noise_percent / 100;
    clock_utc(result->started_utc);
    command_line(invocation, result->argv, sizeof(result->argv));
    snprintf(result->counters_asked, sizeof(result->counters_asked), "%s", options->measure.counters.text);
    status = engine->describe(device, options->measure.card_path, &result->device);
    if (status == STATUS_OK)
        status = check_memory(options, &result->device);
    if (status == STATUS_OK) {
        result_path(options, result, device, several, run.path);
        status = run_device(&run, device, &options->measure.counters.set);
    }
    result_close(result);
    return status;
}

static enum status run_new(const struct run_options *options, const struct invocation *invocation)
{
    double start = clock_seconds();
    const struct engine *engine = NULL;
    struct plan plan = {0};
    uint32_t devices = 0;
    enum status status = choose_engine(options, &engine, &devices);

    if (status == STATUS_OK)
        status = plan_open(&options->plan, &plan);

    const size_t count = options->measure.devices.all ? devices : options->measure.devices.count;

    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        if (!options->measure.devices.all && options->measure.devices.values[i] >= devices)
            status = log_error(STATUS_USAGE, "--device: there is no device %" PRIu64 "; valid: 0 to %" PRIu32,
                               options->measure.devices.values[i], devices - 1);

    enum status worst = status;

    for (size_t i = 0; status == STATUS_OK && !signal_received && i < count; i++) {
        const uint32_t device = (uint32_t)(options->measure.devices.all ? i : options->measure.devices.values[i]);

        worst = status_worse(worst, new_run(options, engine, &plan, device, count > 1, start, invocation));
        start = clock_seconds();
    }
    plan_close(&plan);
    return worst;
}

/* -- resumed runs ------------------------------------------------------------------------------------- */

/* The device of the interrupted run, by UUID; for devices without one, by name. */
static enum status find_device(const struct engine *engine, const char *card, const struct device_info *wanted,
                               uint32_t *out)
{
    const char *reason = NULL;
    const uint32_t count = engine->device_count(&reason);

    if (count == 0)
        return log_error(STATUS_ENVIRONMENT, "engine %s cannot run here: %s", engine->name, reason);
    for (*out = 0; *out < count; (*out)++) {
        struct device_info info = {0};

        if (engine->describe(*out, card, &info) == STATUS_OK && strcmp(info.uuid, wanted->uuid) == 0 &&
            strcmp(info.name, wanted->name) == 0 && strcmp(info.driver, wanted->driver) == 0)
            return STATUS_OK;
    }
    return log_error(STATUS_ENVIRONMENT,
                     "the interrupted run was on %s %s with driver %s, which is not here; cells "
                     "of two devices or drivers do not belong in one result",
                     wanted->name, wanted->uuid, wanted->driver[0] ? wanted->driver : "(none)");
}

static const struct engine *engine_named(const char *name)
{
    for (size_t i = 0; i < engine_count; i++)
        if (strcmp(engine_rows[i].name, name) == 0)
            return engine_rows[i].engine;
    return NULL;
}

static enum status run_resumed(const struct run_options *options)
{
    struct run run = {.options = options, .start = clock_seconds()};
    struct counter_set counters = {0};
    uint32_t device = 0;
    enum status status;

    if (options->plan.given || options->measure.given || options->measure.seed_given)
        return log_error(STATUS_USAGE,
                         "--resume takes its plan from %s; leave out the options that choose cells or "
                         "how to measure them",
                         options->resume_path);
    status = result_read(options->resume_path, &run.result);
    if (status != STATUS_OK)
        return status;
    run.engine = engine_named(run.result.engine);
    result_path(options, &run.result, 0, false, run.path);
    status = counter_set_parse(run.result.counters_asked, &counters);
    if (status == STATUS_OK && run.result.complete)
        log_note(options->quiet, "%s is complete: nothing is missing", options->resume_path);
    if (status == STATUS_OK)
        status = find_device(run.engine, options->measure.card_path, &run.result.device, &device);
    if (status == STATUS_OK)
        status = run_device(&run, device, &counters);
    counter_set_close(&counters);
    result_close(&run.result);
    return status;
}

/* An interrupted run ends as the signal would have ended it, after everything is saved. */
static void end_by_signal(void)
{
    fflush(stdout);
    catch_signals(SIG_DFL);
    raise(signal_received);
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
