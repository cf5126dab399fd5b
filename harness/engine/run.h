/* SPDX-License-Identifier: MIT
 * A run on one device: options -> plan -> engine -> result -> JSON -> table. */
#pragma once

#include "command.h"
#include "engine.h"
#include "plan.h"
#include "plan_options.h"
#include "result.h"
#include "result_file.h"
#include "trace.h"
#include "verdict.h"

struct run_options {
    struct plan_options plan;
    struct measure_options measure;
    struct output_options look;
    /* NULL: a name made up in the current folder; "-": stdout; RUN_NO_FILE */
    const char *json_path;
    const char *resume_path; /* NULL: a new run */
    const char *trace_path;  /* NULL: no timeline */
    double threshold_percent; /* of cbank spaces and --against: a difference that counts */
    bool threshold_given;     /* of cbank run */
    bool suite, retry_failed, strict, quiet;
};

#define RUN_NO_FILE "/dev/null" /* as the path: the result is not kept */

/* Judges what was measured, prints to stdout, and returns the exit code. */
typedef enum status run_judge(const struct result *result, const struct run_options *options);

/* Ends the command if a call of an engine does not come back. Everything measured is saved. */
struct run_watch {
    struct watchdog watchdog;
    double watchdog_slack; /* of --watchdog-slack; 0: not given */
    struct run *run; /* the run that is measuring; NULL: none */
};

/* The progress line on a terminal. */
struct progress_line {
    bool live;          /* stderr is a terminal, and the line is wanted */
    double last;        /* seconds: when it was last printed */
    const char *phase;
    double phase_start; /* seconds */
};

/* One device's run. */
struct run {
    const struct run_options *options;
    const struct engine *engine;
    const struct counter_set *counters;
    uint32_t device;
    /* seconds: the time at which the command started or the previous device was done */
    double start;
    struct result result;
    char path[RESULT_PATH_BYTES];
    struct result_file file;
    struct progress_line line;
    struct trace *trace; /* owned; NULL: none is wanted */
    char *trace_path;    /* owned */
    double step_at;      /* seconds: when the running step of a phase began */
    run_judge *judge;               /* NULL: none */
    struct run_watch *watch;        /* not owned */
    struct index_list *indices;     /* that cells read; not owned */
    struct engine_session *session; /* NULL until opened */
    bool measuring;                 /* the engine was ready, so there is a result to write */
    double save_at;                 /* seconds: the time of the next save */
    bool cannot_save;               /* a save has failed; the end tries again */
    bool too_large;                 /* a save was larger than cbank reads, and was told */
};

/* Measures, writes and prints. The caller owns the result (which has its cells), the path and the
 * device. `several`: there are several devices. */
enum status run_device(struct run *run, bool several);

/* The command's options, its help, and the command: a new run, or one that continues. `judge` may
 * be NULL. */
enum { RUN_GROUP_COUNT = 5 };
extern const struct option_group run_groups[RUN_GROUP_COUNT];
extern const char run_details[];
enum status run_plan(const struct run_options *options, const struct invocation *invocation,
                     run_judge *judge);

/* Ends the process from another thread if a call does not come back. Everything measured is saved.
 * It is the `end` of a watchdog, whose context is a struct run_watch. */
void run_end_now(void *context, const char *call, double seconds);
