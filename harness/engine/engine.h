/* SPDX-License-Identifier: MIT
 * Engines execute a plan. An engine is a table row of hooks; run.c calls them in the order
 * below. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "counter.h"
#include "result.h"
#include "sass.h"
#include "status.h"
#include "trace.h"
#include "watchdog.h"

/* A fault that a developer plants to check that it is caught. */
struct fault {
    const char *name;
    const char *summary;
    bool output;  /* change one output element before it is checked */
    bool counter; /* add one to every exact counter that was read */
    bool memory;  /* let the allocation of the largest size fail */
    bool address; /* read out of bounds while the second cell is timed, after others have settled */
    bool endless; /* run a kernel of ten minutes there */
};

extern const struct fault faults[];
extern const size_t fault_count;

/* The options that an engine needs. */
struct engine_options {
    uint32_t device; /* ordinal, for engines with devices */
    const char *card; /* card file; NULL for the default */
    const struct counter_set *counters; /* not owned */
    uint64_t seed;
    double max_noise; /* relative half width at which sampling stops */
    double sample_ns; /* approximate length of the launches of a hot sample */
    uint32_t samples_max;
    double seconds_max; /* for each cell */
    struct watchdog *watchdog; /* guards calls that may not come back; NULL: none */
    double watchdog_slack; /* seconds that it allows in addition to the expected time; 0: the
                            * engine's own value */
    const struct fault *fault; /* planted fault, NULL for none: developers only */
    const struct path *slow_path; /* planted slowdown: cells of this path, NULL for none, ... */
    double slow_share; /* ... take longer by this share */
    struct trace *trace; /* not owned; NULL: no timeline is wanted */
};

/* Called often, preferably while the device is busy, with the progress of a phase: cells done, of
 * total. It saves the result now and then; the result must then hold everything measured. Returns
 * true when the user has asked to stop: the engine then returns STATUS_OK soon and leaves the rest
 * pending. */
struct progress {
    bool (*step)(void *context, const char *phase, size_t done, size_t total);
    void *context;
};

enum { ENGINE_REASON_BYTES = 512 };

struct engine_session;
struct diagnosis; /* see doctor.h */

/* A phase of a run. A cell that cannot go on becomes CELL_SKIPPED or CELL_FAILED with its reason;
 * the status is not OK only if nothing can go on. STATUS_FINDING: the device no longer works;
 * result->end has the reason. */
typedef enum status engine_phase(struct engine_session *session, struct result *result,
                                 const struct progress *progress);

struct engine {
    const char *name;
    const char *summary;
    bool modelled; /* its times are predictions */
    /* The number of what a sample is: draws, stretches, lead-ins, and how a time follows from them.
     * Raise it with each change of these: a result has samples of one scheme. 0: predictions. */
    uint32_t timing_scheme;

    /* Number of devices. 0 if there is none or the engine cannot run here; then *reason is a static
     * text with the reason and the remedy. */
    uint32_t (*device_count)(const char **reason);

    /* Describes one device in *out. `card` is the file of --card, for engines without devices; NULL
     * for the built-in one. */
    enum status (*describe)(uint32_t device, const char *card, struct device_info *out);

    /* Opens the device that result->device describes. On success the caller closes *out. */
    enum status (*open)(const struct engine_options *options, struct result *result,
                        struct engine_session **out);

    /* Each handles the pending cells of the result that lack its part, in this order. Any may be
     * NULL. */
    engine_phase *prepare, *verify, *time, *set_up_counting, *count, *measure_durations,
        *measure_energy;

    /* Records the state of the device in the result. It is called after every phase, even a failed
     * one, before the result is saved. NULL: nothing to record. */
    void (*observe)(struct engine_session *session, struct result *result);

    /* Records what board the device is, as far as the result does not say it. It is called after
     * the last phase, also of an interrupted run, and changes no time and no counter. NULL: there
     * are no boards. */
    void (*identify)(struct engine_session *session, struct result *result);

    /* The same for a device that nothing measures. */
    void (*identify_device)(uint32_t device, struct device_info *info);

    /* Called by another thread when a call of a phase does not come back. It gives result->end the
     * reason, fails the cell that caused it, if that is known, and touches no device. NULL: no call
     * of the engine waits for a device. */
    enum status (*stuck)(struct engine_session *session, const char *reason);

    void (*close)(struct engine_session *session); /* accepts NULL */

    /* Visits every chip whose counters the engine can name. On failure returns false, with the
     * reason, and with ENOMEM in errno when out of memory. NULL: none. */
    bool (*chips)(const struct chip_visitor *visitor, char reason[ENGINE_REASON_BYTES]);

    /* Adds the abilities and problems of this machine for the engine. NULL: nothing to add. */
    void (*diagnose)(struct diagnosis *diagnosis);
};

extern const struct engine engine_cuda;
extern const struct engine engine_model;

/* A row of the engine table. */
struct engine_row {
    const char *name;
    const struct engine *engine;
};

/* In the order of preference: `auto` means the first with a device. */
extern const struct engine_row engine_rows[];
extern const size_t engine_count;

/* -- shared by engines ------------------------------------------------------------------------- */

/* Ends a cell that cannot go on, with the reason. */
__attribute__((format(printf, 3, 4))) void
engine_end_cell(struct cell_result *cell, enum cell_status status, const char *format, ...);

/* Sets the members that the code determines; `image` is its member of the archive. The former
 * kernel is released. STATUS_ENVIRONMENT when out of memory. */
enum status engine_set_kernel(struct cell_kernel *kernel, const struct kernel_sass *sass,
                              const char *image, size_t image_bytes);

/* Allocates the counters of a cell, one for each of the set, with this status and reason and with
 * the expected values of exact counters. None of them is read yet. `reason` must outlive the
 * result. STATUS_ENVIRONMENT, logged, when out of memory. */
enum status engine_open_counters(struct cell_result *cell, const struct engine_options *options,
                                 const struct expectation *expectation, enum counter_status status,
                                 const char *reason);

/* Marks the cell if an exact counter differs from its expected value. Applies a planted fault
 * first. */
void engine_settle_counters(struct cell_result *cell, const struct fault *fault);
