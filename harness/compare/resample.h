/* SPDX-License-Identifier: MIT
 * Resampling: how sure a ratio of medians is, when samples come in processes.
 *
 * Samples of one process share its memory placement, clocks and temperature: they are not
 * independent of each other. So processes are resampled first, and samples within each drawn process second
 * (Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 3.8). With one process on a side
 * only the spread inside it can be seen; the noise between processes is then unknown, unless calibrated. */
#ifndef CBANK_RESAMPLE_H
#define CBANK_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

/* Samples of one cell in one process. */
struct process_samples {
    const double *samples; /* not owned */
    size_t count;          /* at least 1 */
    const char *process;   /* not owned: which process it is, a text that no other has; NULL: not known */
};

/* One side of a comparison of one cell. The estimate of a side is the median of the medians of its processes. */
struct sample_side {
    const struct process_samples *processes; /* not owned */
    size_t count;                          /* at least 1 */
};

/* The ratio new / base of the estimates. */
struct ratio {
    double value;
    double ci_low, ci_high; /* percentile interval at STATS_CONFIDENCE; equal to value where nothing varies */
    double p;               /* two-sided, of the ratio being 1: (2 min(tail) + 1) / (resamples + 1), at most 1 */
    size_t resamples;       /* that p is of */
};

/* Resamples that a ratio is made of: enough for intervals, and for the tails that Holm's correction of some hundred
 * cells asks for. */
enum { RATIO_RESAMPLES = 10000 };

/* Bootstraps the ratio, from the sequence of `seed`: same input, same output, on every machine. The interval is of
 * RATIO_RESAMPLES; where those leave the thinner tail all but empty, up to `most` are taken to know p better.
 * STATUS_ENVIRONMENT when out of memory. */
enum status ratio_bootstrap(const struct sample_side *base, const struct sample_side *new_side, uint64_t seed,
                            size_t most, struct ratio *out);

/* Estimate of a side. STATUS_ENVIRONMENT when out of memory. */
enum status side_median(const struct sample_side *side, double *out);

/* Holm's step-down correction (1979): adjusted[i] of p[0 .. count - 1], monotone and at most 1.
 * STATUS_ENVIRONMENT when out of memory. */
enum status holm_adjust(const double *p, size_t count, double *adjusted);

#endif
