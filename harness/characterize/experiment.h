/* SPDX-License-Identifier: MIT
 * The experiments, which rows of the table in characterize.c name, and what they have in common. */
#ifndef CBANK_EXPERIMENT_H
#define CBANK_EXPERIMENT_H

#include "characterization.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { BANK_BYTES = CBANK_TABLE_BYTES };

/* An experiment under way: what it can ask, and what those before it found. */
struct experiment_run {
    struct probe_record *record;
    const struct characterization *out;
    const struct path *path;         /* the experiment's */
    const struct geometry *geometry; /* behind that path; NULL unless its row asks for levels */
    struct outcome *outcome;
    enum status
        status; /* not OK after the first error: the run goes on without effect, and its outcome means nothing */
};

/* Asks about the path of the run. False, and no answer, after an error. */
bool experiment_ask(struct experiment_run *run, struct probe_request *request, uint32_t *answer);

/* Adds a copy of a number. Its texts are not copied. */
void experiment_number(struct experiment_run *run, struct number number);

/* Sets value, interval and samples of a number: the median of count samples, at most 256, with its distribution-free
 * interval. */
void experiment_median(struct number *number, const double *samples, size_t count);

/* Adds a verdict on a level (0: on none) with the reason. The caller sets its other members. Beyond VERDICTS_MAX the
 * last one is replaced. */
__attribute__((format(printf, 5, 6))) struct verdict *experiment_verdict(struct experiment_run *run, const char *name,
                                                                         uint32_t level, const char *value,
                                                                         const char *reason, ...);

/* Notes why the experiment cannot run. */
void experiment_skip(struct experiment_run *run, const char *reason);

/* The outcome of experiment PREFIX_PATH; NULL where it was skipped or comes later. */
const struct outcome *experiment_outcome(const struct experiment_run *run, const char *prefix, const char *path);

/* experiment_warps.c: loads of warps that do nothing else. */
void experiment_latency(struct experiment_run *run);
void experiment_serialization(struct experiment_run *run);
void experiment_crossover(struct experiment_run *run);
void experiment_throughput(struct experiment_run *run);
void experiment_activity(struct experiment_run *run);

/* experiment_levels.c: caches. */
void experiment_geometry(struct experiment_run *run);
void experiment_invalidation(struct experiment_run *run);
void experiment_cold(struct experiment_run *run);
void experiment_code(struct experiment_run *run);
void experiment_counts(struct experiment_run *run);

/* experiment_sharing.c: SMs that share a level. */
void experiment_sharing(struct experiment_run *run);

#endif
