/* SPDX-License-Identifier: MIT
 * What the experiments of `cbank characterize` have in common, and the experiments: rows of the table in
 * characterize.c name them. */
#ifndef CBANK_EXPERIMENT_H
#define CBANK_EXPERIMENT_H

#include "characterize.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { BANK_BYTES = CBANK_TABLE_BYTES };

/* An experiment under way: what it can ask, and what those before it found. */
struct experiment_run {
    struct probe_record *record;
    const struct characterization *out;
    const struct path *path;         /* the experiment's */
    const struct geometry *geometry; /* behind that path; NULL unless its row asks for levels */
    struct outcome *outcome;
    enum status status; /* not OK after the first error: the run goes on to no effect, and its outcome means nothing */
};

/* Asks about the path of the run. False, and no answer, after an error. */
bool experiment_ask(struct experiment_run *run, struct probe_request *request, uint32_t *answer);

/* Adds a copy of a number to what the run found. Its texts are not copied. */
void experiment_number(struct experiment_run *run, struct number number);

/* Sets value, interval and samples of a number: median of count samples, at most 256, with its distribution-free
 * interval. */
void experiment_median(struct number *number, const double *samples, size_t count);

/* Adds a verdict on a level, 0 on none, with the reason; what else it is of is the caller's to add. The last of too
 * many stands for those before it. */
__attribute__((format(printf, 5, 6))) struct verdict *experiment_verdict(struct experiment_run *run, const char *name,
                                                                         uint32_t level, const char *value,
                                                                         const char *reason, ...);

/* Notes why the experiment cannot be. */
void experiment_skip(struct experiment_run *run, const char *reason);

/* What the experiment PREFIX_PATH found; NULL where it was skipped or comes later. */
const struct outcome *experiment_outcome(const struct experiment_run *run, const char *prefix, const char *path);

/* The experiments, on a path. */

/* experiment_warps.c: loads of warps that do nothing else. */
experiment_function experiment_latency;
experiment_function experiment_serialization;
experiment_function experiment_crossover;
experiment_function experiment_throughput;
experiment_function experiment_activity;

/* experiment_levels.c: caches. */
experiment_function experiment_geometry;
experiment_function experiment_invalidation;
experiment_function experiment_cold;
experiment_function experiment_code;
experiment_function experiment_counts;

/* experiment_sharing.c */
experiment_function experiment_sharing;

#endif
