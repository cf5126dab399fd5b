/* SPDX-License-Identifier: MIT
 * The experiments, named by the rows of the table in characterize.c, and their common functions. */
#pragma once

#include "characterization.h"
#include "table.h"

enum { BANK_BYTES = CBANK_TABLE_BYTES };

/* An experiment in progress: its source, and earlier findings. */
struct experiment_run {
    struct probe_record *record;
    const struct characterization *out;
    const struct path *path;         /* the experiment's */
    const struct geometry *geometry; /* of that path; NULL unless its row requires levels */
    struct outcome *outcome;
    enum status
        /* not OK after the first error: the run continues without effect, and its outcome is
         * meaningless */
        status;
};

/* Asks about the path of the run. False, without an answer, after an error. */
bool experiment_ask(struct experiment_run *run, struct probe_request *request, uint32_t *answer);

/* Adds a copy of a number. Its texts are not copied. */
void experiment_number(struct experiment_run *run, struct number number);

/* The number without a value, and the reason. */
struct number experiment_unknown(struct number number, const char *reason);

/* Sets value, interval and samples of a number: the median of `count` samples, at most 256, with
 * its distribution-free interval. */
void experiment_median(struct number *number, const double *samples, size_t count);

/* Adds a verdict on a level (0: none) with the reason. The caller sets its other members. Beyond
 * VERDICTS_MAX, it replaces the last one. */
__attribute__((format(printf, 5, 6))) struct verdict *
experiment_verdict(struct experiment_run *run, const char *name, uint32_t level, const char *value,
                   const char *reason, ...);

/* Records why the experiment cannot run. */
void experiment_skip(struct experiment_run *run, const char *reason);

/* The outcome of experiment PREFIX_PATH; NULL if it was skipped or comes later. */
const struct outcome *experiment_outcome(const struct experiment_run *run, const char *prefix,
                                         const char *path);

/* The latency of the path's first level, by a chain of loads; NULL if there is none. */
const struct number *experiment_chain(const struct characterization *found, const char *path);

/* The cycles that timing adds to an access, by those of one that the path's first level answers;
 * NaN without a chain. */
double experiment_timing(const struct experiment_run *run, double first_level_cycles);

/* experiment_warps.c: warps that only load. */
void experiment_latency(struct experiment_run *run);
void experiment_serialization(struct experiment_run *run);
void experiment_throughput(struct experiment_run *run);

/* experiment_bandwidth.c: streams of loads. */
void experiment_bandwidth_l1(struct experiment_run *run);
void experiment_bandwidth_l2(struct experiment_run *run);
void experiment_bandwidth_memory(struct experiment_run *run);

/* experiment_cells.c: whole kernels. */
void experiment_cells(struct experiment_run *run);

/* experiment_levels.c: caches. */
void experiment_geometry(struct experiment_run *run);
void experiment_invalidation(struct experiment_run *run);
void experiment_every_sm(struct experiment_run *run);

/* experiment_sharing.c: SMs that share a level. */
void experiment_sharing(struct experiment_run *run);
