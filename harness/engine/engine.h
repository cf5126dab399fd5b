/* SPDX-License-Identifier: MIT
 * Engines: what executes a plan. A table row of hooks; run.c calls them in the order below. */
#ifndef CBANK_ENGINE_H
#define CBANK_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "counter.h"
#include "result.h"
#include "status.h"

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
    const struct fault *fault;          /* planted fault, NULL for none: developers only */
    const struct path *slow_path;       /* planted slowdown: hot cells of this path, NULL for none, ... */
    double slow_share;                  /* ... have this share of work added to their time */
};

/* A fault that a developer plants to see that it is caught. */
struct fault {
    const char *name;
    const char *summary;
    bool output;  /* change one output element before it is checked */
    bool counter; /* add one to every exact counter that was read */
    bool memory;  /* let the allocation of the largest size fail */
};

extern const struct fault faults[];
extern const size_t fault_count;

/* Called now and then with what is done: phase, cells done of total. Returns true when the user has asked
 * to stop: the engine then returns STATUS_OK soon and leaves the rest pending. */
struct progress {
    bool (*step)(void *context, const char *phase, size_t done, size_t total);
    /* Called when what is in the result is worth saving. */
    enum status (*checkpoint)(void *context);
    void *context;
};

/* Takes findings of the doctor. */
enum finding { FINDING_OK, FINDING_WARNING, FINDING_PROBLEM };

struct diagnosis {
    /* subject: what was looked at; detail: what was seen; remedy: how to mend it, NULL when all is well. */
    void (*report)(void *context, enum finding finding, const char *subject, const char *detail, const char *remedy);
    void *context;
};

/* What a chip has of the counter table. */
struct chip_counters {
    const char *chip;   /* CUPTI's name */
    const char *reason; /* why nothing is known of the chip; NULL when it is */
    const bool *has;    /* counter_count values: whether one of the row's metrics is there */
};

struct engine_session;

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
     * be NULL. A cell that cannot go on becomes CELL_SKIPPED or CELL_FAILED with its reason; the status is
     * not OK only when nothing can go on. */
    enum status (*prepare)(struct engine_session *session, struct result *result, const struct progress *progress);
    enum status (*verify)(struct engine_session *session, struct result *result, const struct progress *progress);
    enum status (*time)(struct engine_session *session, struct result *result, const struct progress *progress);
    enum status (*set_up_counting)(struct engine_session *session, struct result *result,
                                   const struct progress *progress);
    enum status (*count)(struct engine_session *session, struct result *result, const struct progress *progress);

    void (*close)(struct engine_session *session); /* accepts NULL */

    /* Calls each for every chip whose counters the engine can name; returns false, with *reason (static
     * text), when it cannot say. NULL: none. */
    bool (*chips)(void (*each)(void *context, const struct chip_counters *chip), void *context, const char **reason);

    /* Reports what this machine can and cannot do for the engine. NULL: nothing to say. */
    void (*diagnose)(const struct diagnosis *diagnosis);
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

#endif
