/* SPDX-License-Identifier: MIT */
#include "ratio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "stats.h"

/* student_quantile(1 - STATS_CONFIDENCE, INFINITY), which would take longer than all else here: so many errors are from a
 * median to an end of its interval. */
static const double errors_to_end = 1.9599877075001344;

double process_median(const struct process_samples *process)
{
    return process->samples ? stats_median(process->samples, process->count) : process->median;
}

double process_error(double ci_low, double ci_high)
{
    return log(ci_high / ci_low) / 2 / errors_to_end;
}

bool process_same(const struct process_samples *one, const struct process_samples *other)
{
    if (!one->process || !other->process || strcmp(one->process, other->process) != 0 || one->count != other->count)
        return false;
    return one->samples && other->samples
               ? memcmp(one->samples, other->samples, one->count * sizeof(*one->samples)) == 0
               : process_median(one) == process_median(other);
}

/* Of the median's logarithm, from the interval that needs no distribution. */
static double standard_error(const struct process_samples *process)
{
    const size_t rank = process->samples ? stats_median_rank(process->count, STATS_CONFIDENCE) : 0;

    if (rank == 0)
        return process->samples ? NAN : process->error;
    return process_error(process->samples[rank - 1], process->samples[process->count - rank]);
}

enum status side_estimate(const struct sample_side *side, struct estimate *out)
{
    double *medians = malloc(side->count * sizeof(*medians)), squares = 0;

    if (!medians)
        return log_memory("a comparison");
    for (size_t i = 0; i < side->count; i++) {
        const double error = side->modelled ? 0 : standard_error(&side->processes[i]);

        medians[i] = process_median(&side->processes[i]);
        squares += error * error;
    }
    stats_sort(medians, side->count);
    out->ns = stats_median(medians, side->count);
    out->within = sqrt(squares / (double)side->count);
    out->own = side->modelled ? (struct deviation){0} : deviation_of(medians, side->count);
    free(medians);
    return STATUS_OK;
}

struct ratio ratio_of(double value, const struct deviation *error, struct ratio_level *level)
{
    double half;

    if (error->degrees <= 0)
        return (struct ratio){.value = value, .ci_low = NAN, .ci_high = NAN, .p = NAN};
    if (level->degrees != error->degrees)
        *level = (struct ratio_level){level->p, error->degrees, student_quantile(level->p, error->degrees)};
    half = error->value * level->t;
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
