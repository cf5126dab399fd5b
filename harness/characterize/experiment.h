/* SPDX-License-Identifier: MIT
 * What the experiments of `cbank characterize` have in common, and the experiments: rows of the table in
 * characterize.c name them. */
#ifndef CBANK_EXPERIMENT_H
#define CBANK_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "characterize.h"

/* What an experiment can ask, and what those before it found. */
struct experiment_run {
    struct probe_record *record;
    struct characterization *out;
    uint32_t sm_count;
};

/* Adds a number without a value, or a verdict (value NULL: none), to what an experiment found, to be filled in: owned
 * by the outcome, good until the next is added. The texts are not copied. A number is NULL when out of memory, logged. */
struct number *experiment_number(struct outcome *outcome, const char *name, const char *unit, const char *method);
struct verdict *experiment_verdict(struct outcome *outcome, const char *name, const char *value);

/* Notes why the experiment cannot be. STATUS_OK. */
enum status experiment_skip(struct outcome *outcome, const char *reason);

/* Value and interval of a number: median of count samples, at most 256, with its distribution-free interval. */
void experiment_summarize(struct number *number, const double *samples, size_t count);

/* What the experiment PREFIX_PATH found; NULL where it was skipped or comes later. */
const struct outcome *experiment_outcome(const struct experiment_run *run, const char *prefix, const char *path);

/* Whether the probe's kernel is what the path names; else notes why not, as experiment_skip does. */
bool experiment_usable(const struct experiment_run *run, enum probe_kind kind, const struct path *path,
                       struct outcome *outcome);

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
