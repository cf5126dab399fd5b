/* SPDX-License-Identifier: MIT
 * A run on one device: options -> plan -> engine -> result -> JSON -> table. */
#ifndef CBANK_RUN_H
#define CBANK_RUN_H

#include "command.h"
#include "engine.h"
#include "plan.h"
#include "plan_options.h"
#include "result.h"
#include "result_file.h"
#include "verdict.h"

struct run_options {
    struct plan_options plan;
    struct measure_options measure;
    struct output_options look;
    const char *json_path;   /* NULL: a name made up in the current folder; "-": stdout */
    const char *resume_path; /* NULL: a new run */
    double watchdog_slack_seconds; /* 0: not given */
    bool retry_failed, strict, quiet, sequential;
};

/* Ends the command if a call of an engine does not come back. Everything measured is saved. */
struct run_watch {
    struct watchdog watchdog;
    double watchdog_slack; /* of --watchdog-slack; 0: not given */
    struct run *run; /* the run that is measuring; NULL: none */
};

/* Starts watching. The struct must not move until run_watch_close. */
void run_watch_open(struct run_watch *watch, double watchdog_slack);
void run_watch_close(struct run_watch *watch);

/* The progress line on a terminal. */
struct progress_line {
    bool live;          /* stderr is a terminal, and the line is wanted */
    const char *phase;  /* of the last call */
    double phase_start; /* seconds */
    double last;        /* seconds: when it was last printed */
};

/* One device's run. */
struct run {
    const struct run_options *options;
    const struct engine *engine;
    const struct counter_set *counters;
    uint32_t device;
    double start; /* seconds: the time at which the command started or the previous device was done */
    struct result result;
    char path[RESULT_PATH_BYTES];
    struct result_file file;
    struct progress_line line;
    struct run_watch *watch;        /* not owned */
    struct index_list *indices;     /* that cells read; not owned */
    struct engine_session *session; /* NULL until opened */
    bool measuring;                 /* the engine was ready, so there is a result to write */
    double save_at;                 /* seconds: the time of the next save */
    bool cannot_save;               /* a save has failed; the end tries again */
    bool unsaved;                   /* the caller owns the result, which is not written */
};

/* Measures, writes and prints. The caller owns the result (which has its cells), the path and the device. `several`:
 * there are several devices. */
enum status run_device(struct run *run, bool several);

/* Measures. Nothing is written or printed: everything stays in run->result, where measured cells are CELL_OK. */
enum status run_unsaved(struct run *run);

/* Measures the plan of the command line on `count` devices in parallel, each in a process of its own. The output of each
 * process is printed when it has ended, in the order of the devices. Returns the worst exit code. */
enum status run_devices_parallel(const struct run_options *options, const struct invocation *invocation,
                                 const uint32_t *devices, size_t count);

/* Asks an engine for the number of devices, or for the description of one, with a watchdog. */
uint32_t run_device_count(struct run_watch *watch, const struct engine *engine, const char **reason);
enum status run_describe(const struct run *run, uint32_t device, struct device_info *out);

/* Opens run->result with the plan's cells, none of them measured, for the run's engine and device. The caller closes
 * it. */
enum status run_open_result(struct run *run, const struct plan *plan, const struct invocation *invocation);

#endif
