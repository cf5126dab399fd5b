/* SPDX-License-Identifier: MIT */
#include "ratio.h"

#include <math.h>
#include <stdlib.h>

#include "log.h"
#include "stats.h"

/* Of the median's logarithm, from the interval that needs no distribution; `normal` is the quantile of its level. */
static double standard_error(const struct process_samples *process, double normal)
{
    const size_t rank = stats_median_rank(process->count, STATS_CONFIDENCE);

    if (rank == 0)
        return NAN;
    return log(process->samples[process->count - rank] / process->samples[rank - 1]) / 2 / normal;
}

enum status side_estimate(const struct sample_side *side, struct estimate *out)
{
    const double normal = student_quantile(1 - STATS_CONFIDENCE, INFINITY);
    double *medians = malloc(side->count * sizeof(*medians)), squares = 0;

    if (!medians)
        return log_memory("a comparison");
    for (size_t i = 0; i < side->count; i++) {
        const double error = side->modelled ? 0 : standard_error(&side->processes[i], normal);

        medians[i] = stats_median(side->processes[i].samples, side->processes[i].count);
        squares += error * error;
    }
    stats_sort(medians, side->count);
    out->ns = stats_median(medians, side->count);
    out->within = sqrt(squares / (double)side->count);
    out->own = side->modelled ? (struct deviation){0} : deviation_of(medians, side->count);
    free(medians);
    return STATUS_OK;
}

struct ratio ratio_of(double value, const struct deviation *error, double level)
{
    double half;

    if (error->degrees <= 0)
        return (struct ratio){.value = value, .ci_low = NAN, .ci_high = NAN, .p = NAN};
    half = error->value * student_quantile(level, error->degrees);
    return (struct ratio){
        .value = value,
        .ci_low = value * exp(-half),
        .ci_high = value * exp(half),
        /* Where nothing varies, equal or not is certain. */
        .p = value == 1 ? 1 : student_p(fabs(log(value)) / error->value, error->degrees),
    };
}

/* -- Holm --------------------------------------------------------------------------------------------- */

static int compare_pointed(const void *left, const void *right)
{
    const double a = **(double *const *)left, b = **(double *const *)right;

    return (a > b) - (a < b);
}

void holm_adjust(double **p, size_t count)
{
    double least = 0;

    qsort(p, count, sizeof(*p), compare_pointed);
    for (size_t i = 0; i < count; i++)
        *p[i] = least = fmax(least, fmin(1, *p[i] * (double)(count - i)));
}
