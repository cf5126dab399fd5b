/* SPDX-License-Identifier: MIT
 * What the experiments of `cbank characterize` have in common, and the experiments: rows of the table in
 * characterize.c name them. */
#ifndef CBANK_EXPERIMENT_H
#define CBANK_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "characterize.h"
#include "geometry.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { BANK_BYTES = CBANK_TABLE_BYTES };

/* What an experiment can ask, and what those before it found. */
struct experiment_run {
    struct probe_record *record;
    const struct characterization *out;
    const struct experiment *experiment;
    const struct path *path; /* the experiment's */
};

/* Adds a copy of a number to what an experiment found. Its texts are not copied. Out of memory is logged and noted in
 * the outcome: the caller of the experiment looks. */
void experiment_number(struct outcome *outcome, const struct number *number);

/* Sets value, interval and samples of a number: median of count samples, at most 256, with its distribution-free
 * interval. */
void experiment_median(struct number *number, const double *samples, size_t count);

/* Adds a copy of a verdict, with the reason. The last of too many stands for those before it. */
__attribute__((format(printf, 3, 4))) void experiment_verdict(struct outcome *outcome, const struct verdict *verdict,
                                                              const char *reason, ...);

/* Notes why the experiment cannot be. STATUS_OK. */
enum status experiment_skip(struct outcome *outcome, const char *reason);

/* What the experiment PREFIX_PATH found; NULL where it was skipped or comes later. */
const struct outcome *experiment_outcome(const struct experiment_run *run, const char *prefix, const char *path);

/* The geometry behind the path of the run, where at least so many levels are known; else NULL, and it is noted why the
 * experiment cannot be. */
const struct geometry *experiment_levels(const struct experiment_run *run, size_t levels, struct outcome *outcome,
                                         const char *reason);

/* Whether the probe's kernel is what the path of the run names; else notes why not, as experiment_skip does. */
bool experiment_usable(const struct experiment_run *run, enum probe_kind kind, struct outcome *outcome);

/* The experiments, on a path. STATUS_OK also where nothing was found; else the status of the source, or
 * STATUS_ENVIRONMENT out of memory. */

/* experiment_warps.c: loads of warps that do nothing else. */
experiment_function experiment_latency;
experiment_function experiment_serialization;
experiment_function experiment_crossover;
experiment_function experiment_throughput;
experiment_function experiment_activity;

/* experiment_levels.c: caches. */
experiment_function experiment_geometry;
experiment_function experiment_invalidation;
experiment_function experiment_code;
experiment_function experiment_counts;

/* experiment_sharing.c */
experiment_function experiment_sharing;

#endif
