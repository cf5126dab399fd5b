/* SPDX-License-Identifier: MIT
 * Experiments on one chip: what is asked of the probes, and what follows from the answers. The same analysis runs on
 * the answers of a GPU and on a record of them. */
#ifndef CBANK_CHARACTERIZE_H
#define CBANK_CHARACTERIZE_H

#include <stddef.h>
#include <stdint.h>

#include "path.h"
#include "probe_record.h"
#include "status.h"

struct geometry; /* geometry.h */

struct experiment_run; /* experiment.h */
struct outcome;

/* What an experiment does: finds numbers and verdicts. */
typedef enum status experiment_function(struct experiment_run *run, struct outcome *outcome, const struct path *path);

/* A row of the table of experiments. */
struct experiment {
    const char *name;
    const char *what;
    experiment_function *run;
    const char *path;
    const char *other; /* experiment_crossover: the path that `path` is compared with */
    uint32_t bytes;    /* experiment_geometry: of the memory that is walked */
    enum probe_kind probe; /* the same: what walks it */
};

extern const struct experiment experiments[];
extern const size_t experiment_count;

enum { NUMBER_REASON_BYTES = 256 };

/* A number with what it takes to believe it. NaN where there is none. */
struct number {
    const char *name, *unit, *method;
    double value, low, high; /* 95 % */
    size_t samples;
    uint32_t distinct, stride, warps, level; /* what it is of; 0 where that does not apply; levels from 1 */
    uint32_t region_bytes, code_bytes;       /* the same: what is walked; straight code that is run */
    const char *before;                      /* the same; NULL */
    char reason[NUMBER_REASON_BYTES];        /* why there is none, or why it is left out of what follows; "" */
};

/* An answer in words. */
struct verdict {
    const char *name;
    const char *value; /* NULL: none */
    uint32_t level;          /* what it is of; 0 and NULL where that does not apply */
    const char *before;
    char reason[NUMBER_REASON_BYTES];
};

struct outcome {
    const struct experiment *experiment;
    const char *status; /* "ok", "skipped" */
    char reason[PROBE_TEXT_BYTES];
    struct number *numbers; /* owned */
    size_t number_count, number_room;
    struct verdict verdicts[24];
    size_t verdict_count;
    struct geometry *geometry; /* owned; NULL unless an experiment of that kind */
    uint32_t *group; /* owned: group of each SM, by its number; UINT32_MAX where none; NULL unless of that kind */
    uint32_t group_count, sm_count;
    size_t first_exchange, exchange_count; /* its own of the record */
    double seconds;
};

struct characterization {
    struct outcome *outcomes; /* owned: experiment_count */
    size_t count;             /* those that are done */
};

/* Called before each experiment. */
typedef void characterize_progress(const struct experiment *experiment, size_t done);

/* Runs all experiments. What cannot be is skipped, with the reason. STATUS_OK, or the status of the source. The caller
 * closes *out in either case. */
enum status characterize(struct probe_record *record, uint32_t sm_count, characterize_progress *progress,
                         struct characterization *out);

/* Releases; accepts a zeroed struct. */
void characterization_close(struct characterization *characterization);

/* Adds `experiments`, an array with everything that was found and every answer that it rests on. */
void characterization_write(const struct characterization *characterization, const struct probe_record *record,
                            cJSON *root);

/* Prints what was found, in short. */
void characterization_print(const struct characterization *characterization);

#endif
