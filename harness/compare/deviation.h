/* SPDX-License-Identifier: MIT
 * The variation of a cell's time between processes that measure the same, and its effect on a
 * ratio.
 *
 * Samples of one process share its buffers, clocks and temperature. The deviation between processes
 * predicts the reading of another process; the spread within one process does not. Deviations are
 * of the logarithm of a process's time: 0.01 is 1 %. Each has degrees of freedom, and every
 * interval is Student's t at those.
 *
 * With few processes, a deviation is poorly known. It is therefore pooled with a prior, the default
 * or a calibration, by degrees of freedom. The prior is first scaled to all cells of a cache state
 * together. Smyth, Linear models and empirical Bayes methods for assessing differential expression
 * in microarray experiments (2004), section 3. The prior depends on the time, as in limma-trend
 * (Law et al., voom, 2014). Degrees of freedom of a sum of variances are Satterthwaite's (1946). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "field.h"

enum deviation_origin {
    DEVIATION_UNKNOWN,
    DEVIATION_DEFAULT,     /* nobody calibrated */
    DEVIATION_CALIBRATED,  /* a calibration of this GPU */
    DEVIATION_PROCESSES,   /* times of several processes */
    DEVIATION_BOARDS,      /* times of several GPUs of a model, or of a kind of it */
    DEVIATION_WIDEST,      /* nobody calibrated, and nothing like it was measured */
    DEVIATION_ORIGINS
};

struct deviation {
    double value;   /* standard deviation of the logarithm of one process's time */
    double
        degrees; /* of freedom: how well it is known, and how alike cells are in it; 0: not known */
    enum deviation_origin origin;
};

/* The members of a deviation in a document. */
enum { DEVIATION_ROWS = 3 };
extern const struct field deviation_rows[DEVIATION_ROWS];

/* What differs between two times. */
enum deviation_cause {
    CAUSE_PROCESS, /* the process, and with it all that its samples tell of its time */
    CAUSE_WIDEST, /* the same where nothing like it was measured: the widest that is known */
    CAUSE_OCCASION, /* minutes have passed */
    CAUSE_LATER, /* more than that: another hour, day or boot */
    CAUSE_PLAN, /* the plan, and with it where buffers lie */
    CAUSE_KIND, /* another board of the same kind (device.h) */
    CAUSE_BOARD, /* another GPU of the model, of another kind or one that is not known, where no
                    others were measured in the cell */
    CAUSE_FURTHEST, /* which no board exceeds: three times that of the cell where boards differ
                       most */
    CAUSES
};

/* Processes that begin within so many seconds are of one occasion; of no later one, for which there
 * is an assumption. The texts say what the deviations of both rest on. */
enum { OCCASION_SECONDS = 60, LATER_SECONDS = 600 };
#define OCCASION_BASIS "measured on 4 boards, 11 occasions"
#define LATER_BASIS    "assumed: no board was measured hours apart"

/* The default deviation for a cause, of a cell of `ns`. `cold`: caches are flushed
 * before every launch; `copies`: the host takes part in each. */
struct deviation deviation_default(enum deviation_cause cause, bool cold, bool copies, double ns);

/* Whether committed results have several processes of such cells on such a GPU: of a kernel of the
 * program in that memory space, by the names of model, workload and path. */
bool deviation_measured(const char *model, const char *kernel, const char *space, bool cold,
                        bool copies);

/* The deviation of the logarithms of `count` values from their mean: count - 1 degrees. */
struct deviation deviation_of(const double *values, size_t count);

/* The weighted sum of variances as a deviation, with Satterthwaite's degrees. It has none if a part
 * with a weight is not known. */
struct deviation deviation_sum(const struct deviation *parts, const double *weights, size_t count);

/* Everything that is known of a cell. */
struct deviation_evidence {
    bool flush; /* of the cache state */
    struct deviation before; /* the prior; no degrees: not known */
    struct deviation own; /* between the observed times; no degrees: there were too few */
    struct deviation concluded;
};

/* Concludes the deviation of each cell: the prior, scaled to all cells of a cache state, pooled
 * with the observed deviation by degrees of freedom. The origin is that of the prior. Between
 * boards, the prior is scaled up alone and keeps its degrees, since cells are unalike, and the
 * origin is DEVIATION_BOARDS where some were observed. */
void deviation_conclude(struct deviation_evidence *cells, size_t count, bool boards);

/* Pools two deviations of the same quantity by degrees of freedom. Either may be unknown. */
struct deviation deviation_pool(const struct deviation *first, const struct deviation *second);

/* The weight of the variance between occasions in a ratio of two sides, by the moments when their
 * processes began. An occasion ends `lasts` seconds after its first process began. The weight is 0
 * if both sides have the same share of each occasion, 2 if each has one of its own. It falls with
 * the number of occasions, not with that of processes. Sorts the moments of each side. */
double deviation_weight(double *const moments[2], const size_t counts[2], double lasts);

/* Variance of the median of `count` >= 1 independent normal values of variance 1. */
double deviation_of_median(size_t count);
