/* SPDX-License-Identifier: MIT
 * The command run: its options, new runs, and runs that --resume continues. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "clock.h"
#include "log.h"
#include "plan_kernels.h"
#include "run.h"
#include "suite.h"
#include "user_cell.h"

#define OWN(member) .offset = offsetof(struct run_options, member)

static const struct option_row own_rows[] = {
    {.name = "suite",
     .topic = TOPIC_KERNEL,
     .help = "measure the kernel files that are installed with cbank, as --kernel does",
     .kind = &option_flag,
     .file = FILE_READ,
     .reads = suite_reads,
     OWN(suite)},
    {.name = "json",
     .topic = TOPIC_OUTPUT,
     .argument = "PATH",
     .help = "write the result to a file, into a folder (made if it ends in /), or - for stdout",
     .kind = &option_text,
     .file = FILE_WRITTEN,
     .numbered = true,
     OWN(json_path)},
    {.name = "resume",
     .topic = TOPIC_RESUME,
     .argument = "FILE",
     .help = "measure the missing cells of an interrupted result, in place",
     .kind = &option_text,
     .file = FILE_UPDATED,
     OWN(resume_path)},
    {.name = "trace",
     .topic = TOPIC_OUTPUT,
     .argument = "FILE",
     .help = "write a timeline of host and GPU, which Perfetto and chrome://tracing show",
     .kind = &option_text,
     .file = FILE_WRITTEN,
     .numbered = true,
     OWN(trace_path)},
    {.name = "retry-failed",
     .topic = TOPIC_RESUME,
     .help = "with --resume: also repeat failed cells",
     .kind = &option_flag,
     OWN(retry_failed)},
    {.name = "strict",
     .topic = TOPIC_VERDICT,
     .help = "exit 4 if a cell is inconclusive",
     .kind = &option_flag,
     OWN(strict)},
    {.name = "threshold",
     .topic = TOPIC_VERDICT,
     .argument = "PERCENT",
     .help = "with --against: change of time that counts (default 1%)",
     .kind = &option_number,
     OWN(threshold_percent),
     .given = offsetof(struct run_options, threshold_given),
     .low = 0.001,
     .high = 1000,
     .unit = "percent",
     .fallback = "1"},
    {.name = "quiet",
     .topic = TOPIC_OUTPUT,
     .help = "print only errors and warnings",
     .kind = &option_flag,
     OWN(quiet)},
};

const struct option_group run_groups[RUN_GROUP_COUNT] = {
    OPTION_GROUP(plan_option_rows, offsetof(struct run_options, plan)),
    OPTION_GROUP(kernel_option_rows, offsetof(struct run_options, plan.kernel)),
    OPTION_GROUP(measure_option_rows, offsetof(struct run_options, measure)),
    OPTION_GROUP(own_rows, 0),
    OPTION_GROUP(output_option_rows, offsetof(struct run_options, look)),
};

/* -- new runs ---------------------------------------------------------------------------------- */

/* The driver keeps what it compiles, unless it finds this when it starts: a time to compile would
 * be that of reading a file. */
static void turn_cache_off(bool jit)
{
    if (jit)
        setenv("CUDA_CACHE_DISABLE", "1", 1);
}

/* Asking a driver that nobody has used since it was loaded may take long. */
static void watch_asking(struct run_watch *watch)
{
    watch_begin(&watch->watchdog, "asking for GPUs",
                watch->watchdog_slack > 0 ? watch->watchdog_slack : 120);
}

static uint32_t device_count(struct run_watch *watch, const struct engine *engine,
                             const char **reason)
{
    uint32_t count;

    watch_asking(watch);
    count = engine->device_count(reason);
    watch_end(&watch->watchdog);
    return count;
}

static enum status describe(const struct run *run, uint32_t device, struct device_info *out)
{
    enum status status;

    watch_asking(run->watch);
    status = run->engine->describe(device, run->options->measure.card_path, out);
    watch_end(&run->watch->watchdog);
    return status;
}

/* The named engine, or the first that has a device. If the user named none and there is no device,
 * a message says that nothing is measured, even with --quiet. In continuous integration that is an
 * error: a gate must not pass by accident. */
static enum status choose_engine(const struct engine_row *named, struct run_watch *watch,
                                 const struct engine **out, uint32_t *devices)
{
    const char *reason = NULL, *ci = getenv("CI");
    const bool strict = ci && *ci && strcmp(ci, "0") != 0 && strcmp(ci, "false") != 0;

    for (size_t i = 0; i < engine_count; i++) {
        *out = engine_rows[i].engine;
        if (named && named->engine != *out)
            continue;
        *devices = device_count(watch, *out, &reason);
        if (*devices == 0 && named)
            return log_error(STATUS_ENVIRONMENT, "engine %s cannot run here: %s", named->name,
                             reason);
        if (*devices == 0)
            continue;
        if (reason && strict)
            return log_error(STATUS_ENVIRONMENT,
                             "no GPU measured: %s; as CI=%.20s is set, no other engine runs unless "
                             "--engine %s asks for it",
                             reason, ci, engine_rows[i].name);
        if (reason)
            log_warning("no GPU measured: %s; the %s engine runs instead, and all its numbers are "
                        "modelled",
                        reason, (*out)->name);
        return STATUS_OK;
    }
    return log_error(STATUS_ENVIRONMENT, "no engine can run here: %s", reason);
}

/* Records what is asked for beside times and counters, of an engine that launches something. */
static void ask_for_more(const struct engine *engine, const struct measure_options *measure,
                         struct result *result)
{
    result->duration_method.given = measure->durations && !engine->modelled;
    if (measure->durations && engine->modelled)
        log_warning("--duration: the engine %s launches nothing; no duration is measured",
                    engine->name);
    result->energy_method = (struct energy_method){.given = measure->energy && !engine->modelled,
                                                   .seconds = measure->energy_seconds,
                                                   .period_ms = NAN,
                                                   .unit_mj = NAN,
                                                   .idle = {NAN, NAN, NAN}};
    if (measure->energy && engine->modelled)
        log_warning("--energy: the engine %s launches nothing; no energy is measured",
                    engine->name);
}

/* Opens run->result with the plan's cells, none of them measured, for the run's engine and device.
 * The caller closes it. */
static enum status open_result(struct run *run, const struct plan *plan,
                               const struct device_info *device,
                               const struct invocation *invocation)
{
    /* Batch systems put the job's number into the environment; Slurm also puts the node's name
     * there. */
    static const char *const job_variables[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"};
    const struct measure_options *measure = &run->options->measure;
    const struct integers *elements = &run->options->plan.elements;
    uint64_t limit; /* elements of 4 bytes, read and written */
    const char *job = NULL, *node = getenv("SLURMD_NODENAME");
    struct result *result = &run->result;
    struct host *host = &result->host;
    struct timespec now;
    enum status status = result_open(result, plan->cells, plan->count);

    if (status != STATUS_OK)
        return status;
    result->engine = run->engine->name;
    result->timing_scheme = run->engine->timing_scheme;
    clock_gettime(CLOCK_REALTIME, &now);
    result->seed = measure->seed_given ? measure->seed
                                       : (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec;
    result->max_noise = measure->max_noise_percent / 100;
    result->sample_us = measure->sample_us;
    result->samples_max = (uint32_t)measure->samples_max;
    result->seconds_max = measure->seconds_max;
    ask_for_more(run->engine, measure, result);
    clock_utc(result->started_utc);
    command_line(invocation, result->argv, sizeof(result->argv));
    snprintf(result->counters_asked, sizeof(result->counters_asked), "%s", measure->counters.text);
    result->device = *device;
    limit = result->device.memory_bytes / (2 * sizeof(uint32_t));
    for (size_t i = 0; status == STATUS_OK && limit && i < elements->count; i++)
        if (elements->values[i] > limit)
            status = log_error(STATUS_USAGE,
                               "--elements: %" PRIu64
                               " need more memory than %s has; at most %" PRIu64 " elements",
                               elements->values[i], result->device.name, limit);
    if (measure->anonymous)
        return status;
    if (node)
        snprintf(host->name, sizeof(host->name), "%s", node);
    else
        gethostname(host->name, sizeof(host->name) - 1);
    snprintf(host->slot, sizeof(host->slot), "%s", result->device.pci_bus_id); /* of the board */
    for (size_t i = 0; i < sizeof(job_variables) / sizeof(job_variables[0]) && !job; i++)
        job = getenv(job_variables[i]);
    snprintf(host->job, sizeof(host->job), "%s", job ? job : "");
    return status;
}

/* The devices that are asked for must be among those of the engine. */
static enum status check_devices(const struct integers *asked, uint32_t devices)
{
    for (size_t i = 0; i < asked->count; i++)
        if (asked->values[i] >= devices)
            return log_error(STATUS_USAGE,
                             "--device: there is no device %" PRIu64 "; valid: 0 to %" PRIu32,
                             asked->values[i], devices - 1);
    return STATUS_OK;
}

/* Measures on a device; `shared` has what all devices have in common. Without a plan the cells are
 * those of the kernel files, which are compiled for the device. */
static enum status run_on_device(const struct run *shared, uint32_t number, const struct plan *plan,
                                 const struct invocation *invocation, bool several)
{
    const struct plan_options *options = &shared->options->plan;
    struct kernel_files files = {0};
    struct plan of_kernels = {0};
    struct run run = *shared;
    struct device_info device;
    enum status status = describe(&run, number, &device);

    run.device = number;
    if (status != STATUS_OK)
        return status;
    if (!plan) {
        status =
            plan_open_kernels(options, 10 * device.cc_major + device.cc_minor, &files, &of_kernels);
        if (status != STATUS_OK)
            goto out;
    }
    status = open_result(&run, plan ? plan : &of_kernels, &device, invocation);
    if (status != STATUS_OK)
        goto out;
    if (!plan) {
        status = result_set_kernels(&run.result, &options->kernel, &files);
        if (status != STATUS_OK)
            goto out;
    }
    status = run_device(&run, several);
out:
    result_close(&run.result);
    plan_close(&of_kernels);
    kernel_files_close(&files);
    return status;
}

/* A model knows neither users' kernels nor a driver. */
static enum status check_modelled(const struct run_options *options)
{
    const struct engine_row *engine = options->measure.engine;

    if (!engine || !engine->engine->modelled)
        return STATUS_OK;
    if (options->plan.jit)
        return log_error(STATUS_ENVIRONMENT,
                         "--jit: the driver of a GPU compiles; the engine %s has none",
                         engine->name);
    return options->plan.kernel.paths
               ? log_error(STATUS_ENVIRONMENT,
                           "--kernel: a user's kernel is measured on a GPU; the engine %s has no "
                           "model of it",
                           engine->name)
               : STATUS_OK;
}

/* Measures on one device after the other. */
static enum status run_new(const struct run_options *options, const struct invocation *invocation,
                           struct run_watch *watch, run_judge *judge)
{
    const struct integers *asked = &options->measure.devices;
    const struct engine_row *engine = options->measure.engine;
    const bool kernels = options->plan.kernel.paths, jit = options->plan.jit;
    struct index_list indices = {0};
    struct plan plan = {0};
    struct run run = {.options = options,
                      .counters = &options->measure.counters.set,
                      .judge = judge,
                      .watch = watch,
                      .indices = &indices,
                      .start = clock_seconds()};
    uint32_t devices = 0;
    size_t count;
    enum status status = plan_options_check(&options->plan);

    if (status == STATUS_OK)
        status = check_modelled(options);
    if (status != STATUS_OK)
        return status;
    if (kernels) {
        status = plan_check_kernels(&options->plan.kernel);
        if (status != STATUS_OK)
            return status;
    }
    turn_cache_off(jit);
    /* No other engine runs for want of a GPU. */
    status = choose_engine((kernels || jit) && !engine ? &engine_rows[0] : engine, watch,
                           &run.engine, &devices);
    if (status != STATUS_OK)
        return status;
    status = check_devices(asked, devices);
    if (status != STATUS_OK)
        return status;
    if (!kernels) {
        status = plan_open(&options->plan, &indices, &plan);
        if (status != STATUS_OK)
            goto out;
    }
    count = asked->all ? devices : asked->count;
    for (size_t i = 0; !interrupted() && i < count; i++) {
        const uint32_t number = (uint32_t)(asked->all ? i : asked->values[i]);

        status = status_worse(status, run_on_device(&run, number, kernels ? NULL : &plan,
                                                    invocation, count > 1));
        run.start = clock_seconds();
    }
out:
    plan_close(&plan);
    index_list_close(&indices);
    return status;
}

/* -- interrupted runs -------------------------------------------------------------------------- */

/* Locks and reads the file. Lock first: another process that resumes the file may be about to
 * end. */
static enum status open_resumed(struct run *run)
{
    const struct run_options *options = run->options;
    enum status status = STATUS_OK;

    if (!options->json_path)
        status = file_lock_take(options->resume_path, &run->file.lock);
    if (status != STATUS_OK)
        return status;
    return result_read(options->resume_path, &run->result);
}

/* Makes failed cells pending again if the user asks for it, or if the end of that run requires it.
 * Returns how many stay failed. */
static size_t reopen_cells(struct run *run)
{
    struct result *result = &run->result;
    size_t failed = 0;

    for (size_t i = 0; i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];

        if (cell->status != CELL_FAILED)
            continue;
        /* A user's kernel that fails before it is verified would fail again. */
        if (!run->options->retry_failed &&
            (!result->end.given || (cell_origin(&cell->cell)->compiled && !cell->verified))) {
            failed++;
            continue;
        }
        cell->status = CELL_PENDING;
        cell->reason[0] = '\0';
        result->complete = false;
        result->finished_utc[0] = '\0';
    }
    result->end = (struct run_end){0};
    return failed;
}

/* Finds the device of the interrupted run by its UUID, or without one by its name. */
static enum status find_device(struct run *run)
{
    const struct device_info *wanted = &run->result.device;
    const char *reason = NULL;
    const uint32_t devices = device_count(run->watch, run->engine, &reason);

    if (devices == 0)
        return log_error(STATUS_ENVIRONMENT, "engine %s cannot run here: %s", run->engine->name,
                         reason);
    for (run->device = 0; run->device < devices; run->device++) {
        struct device_info info = {0};

        if (describe(run, run->device, &info) == STATUS_OK &&
            strcmp(info.uuid, wanted->uuid) == 0 && strcmp(info.name, wanted->name) == 0 &&
            strcmp(info.driver, wanted->driver) == 0)
            return STATUS_OK;
    }
    return log_error(STATUS_ENVIRONMENT,
                     "the interrupted run was on %s %s with driver %s, which is not here; cells of "
                     "two devices or drivers do not belong in one result",
                     wanted->name, wanted->uuid, wanted->driver[0] ? wanted->driver : "(none)");
}

/* Samples of two schemes do not belong in one result. Without samples, the run takes this
 * program's. */
static enum status check_scheme(struct run *run)
{
    struct result *result = &run->result;
    const uint32_t scheme = run->engine->timing_scheme;

    for (size_t i = 0; result->timing_scheme != scheme && i < result->cell_count; i++)
        if (result->cells[i].time.summary.count > 0)
            return log_error(STATUS_ENVIRONMENT,
                             "%s has samples that were timed in another way than this program "
                             "times: resume with the cbank that began the run, or begin a new run",
                             run->options->resume_path);
    result->timing_scheme = scheme;
    return STATUS_OK;
}

static void note_complete(const struct run_options *options, size_t failed)
{
    if (failed > 0)
        log_note(options->quiet,
                 "%s: all cells are measured but %zu that failed; --retry-failed tries them again",
                 options->resume_path, failed);
    else
        log_note(options->quiet, "%s is complete: nothing is missing", options->resume_path);
}

static enum status run_resumed(const struct run_options *options, struct run_watch *watch,
                               run_judge *judge)
{
    static const struct table engines = TABLE("engine", engine_rows, engine_count);
    struct counter_set counters = {0};
    struct index_list indices = {0};
    struct kernel_files files = {0};
    struct run run = {.options = options,
                      .counters = &counters,
                      .judge = judge,
                      .watch = watch,
                      .indices = &indices,
                      .start = clock_seconds()};
    enum status status;
    size_t failed;

    if (plan_options_given(&options->plan) || options->measure.given || options->measure.seed_given)
        return log_error(STATUS_USAGE,
                         "--resume takes its plan from %s; leave out the options that choose cells "
                         "or how to measure them",
                         options->resume_path);
    status = open_resumed(&run);
    if (status != STATUS_OK)
        goto out;
    failed = reopen_cells(&run);
    result_sign(&run.result);
    run.engine = ((const struct engine_row *)table_find(&engines, run.result.engine))->engine;
    status = counter_set_parse(run.result.counters_asked, &counters);
    if (status != STATUS_OK)
        goto out;
    if (run.result.complete)
        note_complete(options, failed);
    else
        status = check_scheme(&run);
    if (status != STATUS_OK)
        goto out;
    turn_cache_off(result_has_jit(&run.result));
    status = find_device(&run);
    if (status != STATUS_OK)
        goto out;
    if (!run.engine->modelled) {
        const struct device_info *device = &run.result.device;

        status = result_give_kernels(&run.result, &options->plan.kernel,
                                     10 * device->cc_major + device->cc_minor, &files);
        if (status != STATUS_OK)
            goto out;
    }
    status = run_device(&run, false);
out:
    file_lock_release(&run.file.lock);
    counter_set_close(&counters);
    result_close(&run.result);
    kernel_files_close(&files);
    index_list_close(&indices);
    return status;
}

/* -- the command ------------------------------------------------------------------------------- */

enum status run_plan(const struct run_options *options, const struct invocation *invocation,
                     run_judge *judge)
{
    struct run_options with_suite = *options;
    struct run_watch watch = {.watchdog_slack = options->measure.watchdog_slack_seconds};
    enum status status = STATUS_OK;
    char *paths = NULL;

    if (options->suite && options->plan.kernel.paths)
        return log_error(STATUS_USAGE, "--suite: it names kernel files; leave out --kernel");
    if (options->retry_failed && !options->resume_path)
        return log_error(STATUS_USAGE, "--retry-failed goes with --resume FILE, whose failed cells "
                                       "it tries again");
    if (options->threshold_given && !options->plan.kernel.against && !options->resume_path)
        return log_error(STATUS_USAGE, "--threshold goes with --against FILE; cbank compare and "
                                       "cbank gate take it for results");
    if (options->suite)
        status = suite_paths(&paths);
    if (status != STATUS_OK)
        return status;
    if (paths) {
        with_suite.plan.kernel.paths = paths;
        options = &with_suite;
    }
    interrupt_catch();
    watchdog_open(&watch.watchdog, &(struct watchdog_end){.end = run_end_now,
                                                          .asked = interrupted,
                                                          .context = &watch});
    status = options->resume_path ? run_resumed(options, &watch, judge)
                                  : run_new(options, invocation, &watch, judge);
    watchdog_close(&watch.watchdog);
    interrupt_end();
    free(paths);
    return status;
}

const char run_details[] = "The plan is every combination of what the options select. Cells that "
                           "cannot be (a path that a chip or a\n"
                           "pattern has not, a filter too large) are skipped and say why. Each "
                           "device gets a result file of its own, and\n"
                           "is measured after the one before.\n"
                           "\n"
                           "With --kernel the plan is every memory space by every size by every "
                           "cache state of your own kernels. A file is\n"
                           "compiled once for each memory space, and kept in a cache. Output of "
                           "all of them is checked. --suite has fourteen kernels of tables that\n"
                           "people have.\n"
                           "\n"
                           "With --jit the driver compiles the kernels from PTX, by its linker, "
                           "with its own cache off. The result has what it\n"
                           "made beside the toolkit's code. It is another cell: compare --jit and "
                           "gate --jit pair the two.\n"
                           "\n"
                           "With --resume the plan, the seed and the counters are the file's: "
                           "options that choose cells or how to\n"
                           "measure them are refused. Device, driver and kernel files have to be "
                           "the same. Users' kernels are compiled\n"
                           "only from files that --kernel names: which must be those of the file.";
