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

double process_error(double ci_low, double ci_high)
{
    return log(ci_high / ci_low) / 2 / errors_to_end;
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

/* The standard error of the median's logarithm, from the interval that needs no distribution. All samples below the half are
 * below it: stats_median_unsorted leaves them so. */
static double error_of(double *samples, size_t count)
{
    const size_t rank = stats_median_rank(count, STATS_CONFIDENCE), half = count / 2;

    if (rank == 0)
        return NAN;
    return process_error(stats_select(samples, half, rank - 1),
                         stats_select(samples + half, count - half, count - rank - half));
}

/* Takes out of samples what the means of their placements differ by. Returns what that makes their deviation smaller by. */
static double level(double *samples, size_t count, size_t placements)
{
    double all = 0;

    for (size_t i = 0; i < count; i++)
        all += samples[i] / (double)count;
    for (size_t first = 0; first < placements; first++) {
        double mean = 0, n = 0;

        for (size_t i = first; i < count; i += placements)
            mean += (samples[i] - mean) / ++n;
        for (size_t i = first; i < count; i += placements)
            samples[i] -= mean - all;
    }
    return sqrt(1 - (double)placements / (double)count);
}

struct process_time process_of(const double *samples, size_t count, uint32_t placements, double *scratch)
{
    struct process_time out = {.count = count, .least = samples[0], .samples = sum_of(samples, count)};
    double share = 1;

    for (size_t i = 0; i < count; i++)
        out.least = fmin(out.least, samples[i]);
    out.median = stats_median_unsorted(memcpy(scratch, samples, count * sizeof(*samples)), count);
    if (placements > 1 && count >= 2 * (size_t)placements) {
        share = level(memcpy(scratch, samples, count * sizeof(*samples)), count, placements);
        stats_median_unsorted(scratch, count);
    }
    out.error = error_of(scratch, count) / share;
    return out;
}

bool process_same(const struct process_time *one, const struct process_time *other)
{
    if (!one->process || !other->process || strcmp(one->process, other->process) != 0 || one->count != other->count)
        return false;
    return one->samples && other->samples ? one->samples == other->samples : one->median == other->median;
}

enum status side_estimate(const struct sample_side *side, struct estimate *out)
{
    double *medians = malloc(side->count * sizeof(*medians)), squares = 0;

    if (!medians)
        return log_memory("a comparison");
    for (size_t i = 0; i < side->count; i++) {
        const double error = side->modelled ? 0 : side->processes[i].error;

        medians[i] = side->processes[i].median;
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
