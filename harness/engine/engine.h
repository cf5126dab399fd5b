/* SPDX-License-Identifier: MIT
 * Engines: what executes a plan. A table row of hooks; run.c calls them in the order below. */
#ifndef CBANK_ENGINE_H
#define CBANK_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "counter.h"
#include "result.h"
#include "status.h"
#include "watchdog.h"

/* A fault that a developer plants to see that it is caught. */
struct fault {
    const char *name;
    const char *summary;
    bool output;  /* change one output element before it is checked */
    bool counter; /* add one to every exact counter that was read */
    bool memory;  /* let the allocation of the largest size fail */
    bool address; /* read out of bounds while the second cell is timed, when others have settled */
    bool endless; /* run a kernel of ten minutes there */
};

extern const struct fault faults[];
extern const size_t fault_count;

/* What an engine needs to know of the command line. */
struct engine_options {
    uint32_t device;                    /* ordinal, for engines with devices */
    const char *card;                   /* card file; NULL for the default */
    const struct counter_set *counters; /* not owned */
    uint64_t seed;
    double max_noise;                   /* stop at this relative half width */
    double sample_ns;                   /* a hot sample has launches for about this long */
    uint32_t samples_max;
    double seconds_max;                 /* for each cell */
    struct watchdog *watchdog;          /* of calls that may not come back; NULL: none */
    double patience;                    /* seconds that it gives them, beside those expected; 0: the engine says */
    const struct fault *fault;          /* planted fault, NULL for none: developers only */
    const struct path *slow_path;       /* planted slowdown: cells of this path, NULL for none, ... */
    double slow_share;                  /* ... have this share of work added to their time */
};

/* Called often, best while the device is busy, with what is done: phase, cells done of total. It saves the result now
 * and then, which holds then what was measured. Returns true when the user has asked to stop: the engine then returns
 * STATUS_OK soon and leaves the rest pending. */
struct progress {
    bool (*step)(void *context, const char *phase, size_t done, size_t total);
    void *context;
};

enum { ENGINE_REASON_BYTES = 256 };

struct engine_session;
struct diagnosis; /* see doctor.h */

/* A phase of a run. A cell that cannot go on becomes CELL_SKIPPED or CELL_FAILED with its reason; the status is not OK
 * only when nothing can go on. STATUS_FINDING: the device does not work any more, see engine_end_run. */
typedef enum status engine_phase(struct engine_session *session, struct result *result,
                                 const struct progress *progress);

struct engine {
    const char *name;
    const char *summary;
    bool modelled; /* its times are predictions */

    /* Number of devices; 0 when there is none or the engine cannot run here, with *reason saying why and
     * what to do (static text). */
    uint32_t (*device_count)(const char **reason);

    /* Fills *out for one device; card is the file of --card, NULL for the built-in one, for engines without
     * devices. */
    enum status (*describe)(uint32_t device, const char *card, struct device_info *out);

    /* Opens the device that result->device describes; on success *out is the caller's, to close. */
    enum status (*open)(const struct engine_options *options, struct result *result, struct engine_session **out);

    /* Each acts on the cells of the result that are pending and lack what it gives, in this order; any may
     * be NULL. */
    engine_phase *prepare, *verify, *time, *set_up_counting, *count;

    /* Notes in the result what became of the device: after a phase, however that ended, and before what there is is
     * saved. NULL: nothing to note. */
    void (*observe)(struct engine_session *session, struct result *result);

    /* Called by another thread when a call of a phase does not come back: does engine_end_run, and touches no device.
     * NULL: no call of it waits for a device. */
    enum status (*stuck)(struct engine_session *session, const char *reason);

    void (*close)(struct engine_session *session); /* accepts NULL */

    /* Visits every chip whose counters the engine can name; returns false, with the reason, when it cannot say, and with
     * ENOMEM in errno when memory ran out. NULL: none. */
    bool (*chips)(const struct chip_visitor *visitor, char reason[ENGINE_REASON_BYTES]);

    /* Adds what this machine can and cannot do for the engine. NULL: nothing to say. */
    void (*diagnose)(struct diagnosis *diagnosis);
};

extern const struct engine engine_cuda;
extern const struct engine engine_model;

/* A row of the engine table. */
struct engine_row {
    const char *name;
    const struct engine *engine;
};

/* In the order of preference: the first with a device is what `auto` means. */
extern const struct engine_row engine_rows[];
extern const size_t engine_count;

/* -- what engines share -------------------------------------------------------------------------------- */

/* Says that a cell cannot go on, and why. */
__attribute__((format(printf, 3, 4))) void engine_end_cell(struct cell_result *cell, enum cell_status status,
                                                           const char *format, ...);

/* Ends the run since the device does not work any more: the result says why, and which cell caused it, which fails.
 * NULL: one of `suspects` cells, or none. Returns STATUS_FINDING. */
enum status engine_end_run(struct result *result, struct cell_result *culprit, size_t suspects, const char *reason);

/* Gives a cell its counters, none of them read yet: one value for each of the set, with this status and reason, which
 * outlives the result, and with what is expected of exact ones. STATUS_ENVIRONMENT, logged, when out of memory. */
enum status engine_open_counters(struct cell_result *cell, const struct engine_options *options,
                                 const struct expectation *expectation, enum counter_status status, const char *reason);

/* Marks the cell where an exact counter is not what is expected; a planted fault comes first. */
void engine_settle_counters(struct cell_result *cell, const struct fault *fault);

#endif
