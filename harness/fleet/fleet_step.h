/* SPDX-License-Identifier: MIT
 * Whether the end of a series of times differs from its past, and since when. Values are logarithms of times: 0.01 is
 * 1 %.
 *
 * The last 1, 2, 3, 5, 8, 13, 21 or 30 values are held against all before them, or against a baseline, by the median of
 * each side (of an even number the one of the two in the middle that is nearer to the other side). That a median is
 * off by x takes more than half of its values beyond x, so that one bad process moves nothing: the probability is
 * that of a binomial distribution, whose share is the tail of Student's t of three degrees of freedom, the heaviest that
 * was seen to matter. Where the difference may come from both sides, the bound is the sum of the two, for the best of
 * some ways to divide the difference. p counts all lengths (Bonferroni). It rests on the deviation and on independence of
 * the values, not on a normal distribution. */
#ifndef CBANK_FLEET_STEP_H
#define CBANK_FLEET_STEP_H

#include <stdbool.h>
#include <stddef.h>

#include "status.h"

struct fleet_series {
    const double *values; /* finite, in the order of time */
    const bool
        *base; /* which are the baseline; NULL: those before the last few. Values behind the last of it are new */
    size_t count;
    double deviation; /* of one value, robust: as a normal distribution of that standard deviation has in its middle */
};

struct fleet_step {
    double change; /* of the logarithm, between the medians; 0: nothing reaches the threshold */
    double p; /* that it is chance, for all lengths together */
    size_t last; /* the values at the end that it was seen in */
};

/* The step that is least likely chance, of those whose size is `threshold` or more. scratch: room for 2 x count. */
struct fleet_step fleet_step_find(const struct fleet_series *series, double threshold, double *scratch);

/* Probability that more than half of `count` >= 1 values lie beyond z robust deviations on one side, for either side. */
double fleet_tail(size_t count, double z);

struct fleet_date {
    size_t since; /* the first value that is not of the past */
    bool drift; /* it changes slowly from there on, not at once */
    double change; /* of the logarithm: of a drift what the line rises by, else the step's */
};

/* When a step that was found began: where the level of the series jumps most in its direction (change_point.h), or where
 * the line begins that fits better than a jump does, in squares, once values that are far off alone were smoothed away.
 * A line has five values or more. STATUS_ENVIRONMENT: out of memory. */
enum status fleet_step_date(const struct fleet_series *series, const struct fleet_step *step, struct fleet_date *out);

#endif
