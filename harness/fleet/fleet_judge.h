/* SPDX-License-Identifier: MIT
 * Which GPUs of a model changed, and which differ from the others: statistics over times, without files.
 *
 * A GPU is held against its own past (fleet_step.h). What all GPUs of a driver do together, tonight's room or a new
 * driver, is taken off first: by the median over them, as in Tukey's median polish. Where it reaches the
 * threshold it is a finding of theirs. So it goes from the coarsest group to the single GPU, and each change is told of
 * the coarsest group that has nearly all of its members change alike; what is left is a GPU's own.
 *
 * A GPU is also held against the others of its model: against their median, by Qn (fleet_scale.h) and Student's t, after
 * the deviation of its last three values was allowed for.
 *
 * The noise of a value is the deviation between processes that was known before, pooled by degrees of freedom with what
 * the differences from round to round show of all GPUs together; of a GPU that is noisier than those its own.
 *
 * How many tests there are is answered by Bonferroni's inequality: each has the share false_findings / tests. What is
 * bounded so is how many false findings a verdict has on average, whatever depends on what, and that is what who is
 * called out at night wants to know. A false discovery rate would bound their share among all findings, which on a quiet
 * night is one; Holm's correction would make the verdict on a GPU depend on how many others are bad. */
#ifndef CBANK_FLEET_JUDGE_H
#define CBANK_FLEET_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "deviation.h"
#include "status.h"

/* From the coarsest on. */
enum fleet_level { FLEET_MODEL, FLEET_DRIVER, FLEET_VBIOS, FLEET_NODE, FLEET_GPU, FLEET_LEVELS };

extern const char *const fleet_level_names[FLEET_LEVELS];

enum fleet_against { FLEET_PAST, FLEET_PEERS, FLEET_AGAINST };

extern const char *const fleet_against_names[FLEET_AGAINST];

/* Times of all GPUs of a model. A round has at most one value of a GPU and a cell; a night has one round or more. */
struct fleet_times {
    size_t cells, gpus, rounds;
    double *log_ns; /* [cell][gpu][round]; NaN: none */
    bool *base; /* [gpu][round]: the baseline; NULL: a GPU's past */
    struct deviation *process; /* [cell], known before; may be of no degrees */
    size_t *groups[FLEET_LEVELS]; /* of a GPU between the model and itself: [gpu] is a number below the count */
    size_t group_counts[FLEET_LEVELS];
};

/* Whether a GPU is of a group of that level; of FLEET_GPU the group is the GPU. */
bool fleet_is_member(const struct fleet_times *times, enum fleet_level level, size_t group, size_t gpu);

struct fleet_limits {
    double threshold; /* of a GPU against its past; of a group half of it */
    double peer_threshold; /* of a GPU against the others */
    double false_findings; /* that a verdict may have on average */
};

/* What is asked for where nothing else is said. */
#define FLEET_LIMITS_DEFAULT {.threshold = 0.01, .peer_threshold = 0.03, .false_findings = 0.01}

struct fleet_change {
    enum fleet_level level;
    enum fleet_against against;
    size_t group; /* of the level; of FLEET_GPU the GPU, of FLEET_MODEL 0 */
    size_t cell;
    double change; /* of the logarithm */
    double deviation; /* of what it is held against: the multiple of the spread is change / deviation */
    double p; /* for all tests together */
    size_t last; /* values that it was seen in */
    size_t since; /* round; against the past alone */
    bool drift;
    size_t members, covered; /* GPUs of the group; those that changed alike */
};

struct fleet_changes {
    struct fleet_change *items; /* owned; by cell */
    size_t count;
};

/* Judges. STATUS_ENVIRONMENT: out of memory. The caller closes *out. */
enum status fleet_judge(const struct fleet_times *times, const struct fleet_limits *limits, struct fleet_changes *out);

/* Releases; accepts a zeroed struct. */
void fleet_changes_close(struct fleet_changes *changes);

#endif
