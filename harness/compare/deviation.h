/* SPDX-License-Identifier: MIT
 * How much the time of a cell differs between processes of the same thing, and what follows for a ratio.
 *
 * Samples of one process share its buffers, clocks and temperature. The deviation between processes says what a second
 * process would read; the spread within one does not. Deviations are of the logarithm of a process's time: 0.01 is 1 %.
 * Each has degrees of freedom, and every interval is Student's t at those.
 *
 * Few processes know a deviation badly. It is therefore pooled with a prior, the default or a calibration, by
 * degrees of freedom. The prior is scaled first to what all cells of a cache state show together. Smyth, Linear models and
 * empirical Bayes methods for assessing differential expression in microarray experiments (2004), section 3. The prior
 * depends on the time, as in limma-trend (Law et al., voom, 2014). Degrees of freedom of a sum of variances are
 * Satterthwaite's (1946). */
#ifndef CBANK_DEVIATION_H
#define CBANK_DEVIATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "field.h"

enum deviation_origin {
    DEVIATION_UNKNOWN,
    DEVIATION_DEFAULT,     /* deviation.def */
    DEVIATION_CALIBRATED,  /* a calibration of this GPU */
    DEVIATION_OTHER_BOARD, /* one of another GPU of the model, what boards differ by added */
    DEVIATION_PROCESSES,   /* times of several processes */
    DEVIATION_ORIGINS
};

extern const char *const deviation_origin_names[DEVIATION_ORIGINS];

struct deviation {
    double value;   /* standard deviation of the logarithm of one process's time */
    double degrees; /* of freedom; 0: not known */
    enum deviation_origin origin;
};

/* The members of a deviation in a document. */
enum { DEVIATION_ROWS = 3 };
extern const struct field deviation_rows[DEVIATION_ROWS];

enum deviation_cause { CAUSE_process, CAUSE_plan, CAUSE_board, CAUSES };

/* The default deviation of a cell of `ns` for a cause (deviation.def). `cold`: caches are flushed before every launch;
 * `copies`: memory is copied. */
struct deviation deviation_default(enum deviation_cause cause, bool cold, bool copies, double ns);

/* The prior, but at least the error that times have `within` their process: these may have fewer samples than those behind
 * the prior. */
struct deviation deviation_at_least(struct deviation before, double within);

/* The deviation of the logarithms of `count` values about their mean: count - 1 degrees. */
struct deviation deviation_of(const double *values, size_t count);

/* The sum of variances weighted by `weight` each, as a deviation: Satterthwaite's degrees. It has no degrees where a part
 * with a weight is not known. */
struct deviation deviation_sum(const struct deviation *parts, const double *weights, size_t count);

/* The prior of a cell, and the deviation that was seen. */
struct deviation_evidence {
    bool flush; /* of the regime */
    struct deviation before; /* no degrees: not known */
    struct deviation own; /* between the times that were seen; no degrees: there were too few */
};

/* By how much what was seen of the cells of a regime exceeds what was known before, all together. */
struct deviation_scale {
    double factor; /* of the variance before */
    double degrees; /* of the factor; infinite where nothing was seen. The cells of a process may all move together, so
                       many tell no more of it than one */
};

/* Finds the scale of each cache state, by whether it flushes. With the factor, the cells' variances are on average what is
 * expected. It starts from 1 with the degrees of the prior, since one cell says little of all. */
void deviation_find_scales(const struct deviation_evidence *cells, size_t count, struct deviation_scale scales[2]);

/* The scaled prior pooled with the deviation that was seen, by degrees of freedom. The origin is that of the former. */
struct deviation deviation_conclude(const struct deviation_scale scales[2], const struct deviation_evidence *cell);

/* Two deviations of the same thing as one, by degrees of freedom. Either may be unknown. */
struct deviation deviation_pool(const struct deviation *one, const struct deviation *other);

/* Variance of the median of `count` >= 1 independent normal values of variance 1. */
double deviation_of_median(size_t count);

#endif
