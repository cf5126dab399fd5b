/* SPDX-License-Identifier: MIT
 * When a cell has enough samples. It stops where half its interval is a given share of its time;
 * cells of one group share the time that is left, and a cell that settles early gives up its part.
 * Samples of several modes stop it, too: no number describes them.
 *
 *   contended: a sample is longer than the shortest of its buffer set by a time slice and by 10 %
 */
#include "sampling.h"

#include <math.h>
#include <stdlib.h>

#include "launch_path.h"
#include "path.h"
#include "series.h"

/* -- groups ------------------------------------------------------------------------------------ */

enum { GROUP_FIRST = 16 }; /* cells of the first group of several */

static bool wants_group(const struct result *result, const bool *grouped, size_t i)
{
    const struct cell_result *cell = &result->cells[i];

    return !grouped[i] && cell->status == CELL_PENDING && cell->verified &&
           cell->time.stop_reason == STOP_NONE;
}

size_t timing_group_left(const struct result *result, const bool *grouped)
{
    size_t left = 0;

    for (size_t i = 0; i < result->cell_count; i++)
        left += wants_group(result, grouped, i);
    return left;
}

size_t timing_group_next(const struct result *result, bool *grouped, size_t cells[TIMING_GROUP_MAX])
{
    size_t count = 0, taken = 0, most = TIMING_GROUP_MAX;

    /* In a large plan, groups grow: graphs are made while the previous group is sampled, but not
     * those of the first group. */
    for (size_t i = 0; i < result->cell_count; i++)
        taken += grouped[i];
    if (taken + timing_group_left(result, grouped) > TIMING_GROUP_MAX && taken <= TIMING_GROUP_MAX)
        most = taken > GROUP_FIRST ? taken : GROUP_FIRST;

    for (size_t i = 0; i < result->cell_count; i++) {
        /* the cells of cell i's line that still need a group */
        size_t line[TIMING_GROUP_MAX + 1], length = 0;

        if (!wants_group(result, grouped, i))
            continue;
        for (size_t j = 0; j < result->cell_count && length <= TIMING_GROUP_MAX; j++)
            if (wants_group(result, grouped, j) &&
                cell_order_before(&result->cells[i].cell, &result->cells[j].cell, AXIS_PATH) == 0)
                line[length++] = j;
        if (count > 0 && count + length > most)
            continue;
        for (size_t k = 0; k < length && count < TIMING_GROUP_MAX; k++) {
            grouped[line[k]] = true;
            cells[count++] = line[k];
        }
    }
    return count;
}

/* -- the stopping criterion -------------------------------------------------------------------- */

enum {
    SAMPLES_MIN = TABLE_BUFFER_SETS, /* samples before an interval counts: one in each buffer set */
    MODES_ENOUGH = 60, /* samples that establish several modes */
    EVERY_LOOK = 16, /* up to this number, every sample is evaluated */
    /* an interval that many times narrower than required is not narrowed further, ... */
    NARROWER = 8,
    CHEAP = 4, /* ... once it has taken 1 / CHEAP of its share of the time */
    PATIENT = 4, /* limit for a cell that does not settle, as a multiple of its share of the time */
};

/* for all cells together, for intervals narrower than required */
static const double ample_seconds = 4;

bool stopping_criterion_open(struct stopping_criterion *stopping_criterion, uint32_t buffer_sets,
                             size_t cells, double least_seconds, size_t samples_max)
{
    *stopping_criterion = (struct stopping_criterion){
        .buffer_sets = buffer_sets,
        .ample_seconds = fmax(ample_seconds / (double)cells, least_seconds),
        .scratch = calloc(SERIES_SCRATCH(samples_max), sizeof(double)),
    };
    return stopping_criterion->scratch;
}

void stopping_criterion_close(struct stopping_criterion *stopping_criterion)
{
    free(stopping_criterion->scratch);
    *stopping_criterion = (struct stopping_criterion){0};
}

/* No single number describes samples of several modes. */
static bool is_one_mode(const struct series *series)
{
    return series->modes.value <= 1;
}

/* Summarizes the samples so far. */
static void describe(const struct stopping_criterion *stopping_criterion,
                     const struct cell_time *time, double max_noise, struct series *series,
                     struct summary *summary)
{
    const size_t count = time->summary.count;

    series_summarize(time->samples_ns, count, stopping_criterion->buffer_sets,
                     stopping_criterion->scratch, series, summary);
    series_describe(time->samples_ns, count, max_noise * summary->value,
                    stopping_criterion->scratch, series);
}

/* Why sampling may stop for this series; STOP_NONE to go on. */
static enum stop_reason series_stop(struct stopping_criterion *stopping_criterion,
                                    const struct cell_time *time,
                                    const struct engine_options *options, bool at_limit)
{
    const size_t count = time->summary.count;
    const bool many = count >= MODES_ENOUGH;
    /* The part of the cell's share of the time that the samples took: 1 is all of it. */
    const double share =
                     (double)count * stopping_criterion->each / stopping_criterion->ample_seconds,
                 max_noise = options->max_noise;
    struct series series;
    struct summary summary;
    double width, wider;
    bool enough;

    describe(stopping_criterion, time, max_noise, &series, &summary);
    if (!is_one_mode(&series)) {
        stopping_criterion->split = true;
        return many ? STOP_MODES : STOP_NONE;
    }
    /* The half width falls with the root of the number of samples. If even the largest number would
     * leave it too wide, the cell only delays the others. */
    width = stats_relative_half_width(&summary);
    wider = width / max_noise;
    if (many && share >= PATIENT && (double)count * wider * wider > (double)options->samples_max)
        return STOP_SAMPLES;
    if (width > max_noise || (stopping_criterion->split && !many))
        return STOP_NONE;
    /* More samples of a narrow interval would cost more than they reveal. This holds after two
     * samples in every buffer set, or after one if it took the cell's share of the time and all
     * buffer sets agree. */
    if (count < 2 * (size_t)stopping_criterion->buffer_sets)
        enough = share >= 1 && series.modes.value == 1 && !stopping_criterion->uneven;
    else
        enough = share >= 1 || NARROWER * series_own_half_width(&summary) <=
                                   max_noise * sqrt(fmin(1, CHEAP * share));
    return at_limit || enough ? STOP_CONVERGED : STOP_NONE;
}

void stopping_criterion_look(struct stopping_criterion *stopping_criterion,
                             const struct cell_time *time, const struct engine_options *options)
{
    const size_t count = time->summary.count;
    const bool last = count >= options->samples_max,
               late = stopping_criterion->seconds >= options->seconds_max;

    stopping_criterion->stop = STOP_NONE;
    if (!last && count < SAMPLES_MIN)
        return;
    stopping_criterion->stop = series_stop(stopping_criterion, time, options, last || late);
    if (stopping_criterion->stop == STOP_NONE && (last || late))
        stopping_criterion->stop = last ? STOP_SAMPLES : STOP_TIME;
}

bool stopping_criterion_is_due(const struct stopping_criterion *stopping_criterion,
                               const struct cell_time *time, const struct engine_options *options)
{
    const size_t count = time->summary.count;
    size_t step = 1;

    while (count / step >= EVERY_LOOK)
        step *= 2;
    return count % step == 0 || count >= options->samples_max ||
           stopping_criterion->seconds >= options->seconds_max;
}

void stopping_criterion_end(const struct stopping_criterion *stopping_criterion,
                            struct cell_result *cell, const struct engine_options *options)
{
    struct cell_time *time = &cell->time;

    describe(stopping_criterion, time, options->max_noise, &time->series, &time->summary);
    if (cell_copied_bytes(&cell->cell) > 0)
        series_widen(&time->summary, SERIES_COPIES_NS);
    stopping_criterion_clock(cell, time->clocks_mhz, time->summary.count);
    free(time->clocks_mhz);
    time->clocks_mhz = NULL;
    time->stop_reason = stopping_criterion->stop;
    if (stopping_criterion->stop == STOP_SAMPLES || stopping_criterion->stop == STOP_TIME)
        cell->flags |= FLAG_UNSTABLE;
    if (!is_one_mode(&time->series))
        cell->flags |= FLAG_MULTIMODAL;
}

void stopping_criterion_clock(struct cell_result *cell, double *mhz, size_t count)
{
    static const double varied = 0.01; /* of the median: a greater range is flagged */
    const struct launch_path *launch = cell_launch_path(&cell->cell);
    struct cell_time *time = &cell->time;
    size_t known = 0;

    for (size_t i = 0; i < count; i++)
        if (mhz[i] > 0)
            mhz[known++] = mhz[i];
    stats_sort(mhz, known);
    time->sm_clock_mhz = known ? stats_median(mhz, known) : NAN;
    /* A call of the host takes no cycles of the SMs. */
    time->cycles =
        launch && launch->by_host ? NAN : time->summary.value * 1e-3 * time->sm_clock_mhz;
    if (known && mhz[known - 1] - mhz[0] > varied * time->sm_clock_mhz)
        cell->flags |= FLAG_CLOCK_VARIED;
}

/* -- contention -------------------------------------------------------------------------------- */

/* A sample was interrupted if it exceeds the shortest one by this time and by this share of it. For
 * all buffer sets. */
static const double slice_share = 0.1, sets_share = 4;

/* The smallest of totals_ns[first], totals_ns[first + step] and so on, below index `count`. */
static double least_total(const double *totals_ns, size_t first, size_t count, size_t step)
{
    double least = INFINITY;

    for (size_t i = first; i < count; i += step)
        least = fmin(least, totals_ns[i]);
    return least;
}

static bool is_longer(double total_ns, double least, double share)
{
    return total_ns > least + fmax(CONTENDED_SLICE_NS, share * least);
}

size_t contended_samples(const double *totals_ns, size_t count, size_t buffer_sets)
{
    const double least = least_total(totals_ns, 0, count, 1);
    size_t slices = 0;

    for (size_t i = 0; i < count; i++)
        slices +=
            is_longer(totals_ns[i], least, sets_share) ||
            is_longer(totals_ns[i], least_total(totals_ns, i % buffer_sets, count, buffer_sets),
                      slice_share);
    return slices;
}
