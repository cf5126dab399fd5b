/* SPDX-License-Identifier: MIT */
#include "ratio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "series.h"
#include "stats.h"
#include "student.h"

/* student_quantile(1 - STATS_CONFIDENCE, INFINITY), which would take longer than all else here: so many errors are from a
 * value to an end of its interval. */
static const double errors_to_end = 1.9599877075001344;

double process_error(double ci_low, double ci_high)
{
    const double error = log(ci_high / ci_low) / 2 / errors_to_end;

    return isnan(error) ? NAN : sqrt(fmax(error * error - SERIES_PROCESS * SERIES_PROCESS, 0));
}

/* A sum of what each sample is mixed to, so that samples in another order give the same. Never 0. */
static uint64_t sum_of(const double *samples, size_t count)
{
    const uint64_t odd = 0x9e3779b97f4a7c15;
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t bits;

        memcpy(&bits, &samples[i], sizeof(bits));
        bits *= odd;
        sum += (bits ^ bits >> 32) * odd;
    }
    return sum ? sum : 1;
}

struct process_time process_of(const double *samples, size_t count, uint32_t placements, double *scratch)
{
    const struct trimmed_mean mean = stats_trimmed_mean(samples, count, placements, scratch);
    struct process_time out = {.count = count,
                               .value = mean.value,
                               .error = mean.error / mean.value,
                               .placed = mean.strata / mean.value,
                               .least = samples[0],
                               .samples = sum_of(samples, count)};

    for (size_t i = 0; i < count; i++)
        out.least = fmin(out.least, samples[i]);
    return out;
}

bool process_same(const struct process_time *one, const struct process_time *other)
{
    if (!one->process || !other->process || strcmp(one->process, other->process) != 0 || one->count != other->count)
        return false;
    return one->samples && other->samples ? one->samples == other->samples : one->value == other->value;
}

enum status side_estimate(const struct sample_side *side, struct estimate *out)
{
    double *values = malloc(side->count * sizeof(*values)), squares = 0, placed = 0;

    if (!values)
        return log_memory("a comparison");
    for (size_t i = 0; i < side->count; i++) {
        const double error = side->modelled ? 0 : side->processes[i].error;

        values[i] = side->processes[i].value;
        squares += error * error;
        placed += pow(side->modelled ? 0 : side->processes[i].placed, 2);
    }
    stats_sort(values, side->count);
    out->ns = stats_median(values, side->count);
    out->within = sqrt(squares / (double)side->count);
    out->placed = sqrt(placed / (double)side->count);
    out->own = side->modelled ? (struct deviation){0} : deviation_of(values, side->count);
    free(values);
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
