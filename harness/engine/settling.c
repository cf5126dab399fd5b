/* SPDX-License-Identifier: MIT */
#include "settling.h"

#include <math.h>
#include <stdlib.h>

#include "path.h"
#include "series.h"

enum {
    SAMPLES_MIN = TABLE_PLACEMENTS, /* before an interval is believed: each place once */
    MODES_ENOUGH = 60,              /* samples by which a cell of several modes is known to be one */
    EVERY_LOOK = 16,                /* samples up to which each is looked at */
    NARROWER = 8,                   /* an interval so much narrower than asked for is not made narrower still, ... */
    CHEAP = 4, /* ... once it took the CHEAPth part of its time: what is cheap is narrowed further */
    PATIENT = 4, /* times its part of the time that a cell has which will not settle */
};

static const double ample_seconds = 4; /* of all cells, for intervals narrower than asked for */

bool settling_open(struct settling *settling, uint32_t places, size_t cells, size_t samples_max)
{
    *settling = (struct settling){
        .places = places,
        .ample_seconds = ample_seconds / (double)cells,
        .scratch = calloc(SERIES_SCRATCH(samples_max), sizeof(double)),
    };
    return settling->scratch;
}

void settling_close(struct settling *settling)
{
    free(settling->scratch);
    *settling = (struct settling){0};
}

/* Samples of several modes are not told by one number. */
static bool is_one_mode(const struct series *series)
{
    return !(series->modes > 1);
}

/* What the samples say so far. */
static void describe(const struct settling *settling, const struct cell_time *time, double max_noise,
                     struct series *series, struct summary *summary)
{
    const size_t count = time->summary.count;

    series_summarize(time->samples_ns, count, settling->places, settling->scratch, series, summary);
    series_describe(time->samples_ns, count, max_noise * summary->value, settling->scratch, series);
}

/* Its part of the time, spent so often: 1, all of it. */
static double share_spent(const struct settling *settling, size_t count)
{
    return (double)count * settling->each / settling->ample_seconds;
}

/* Whether a narrow interval may stay as it is: further samples would cost more than they tell. Every place had its turn twice
 * then, or once where that was the cell's part of the time and all places agree. */
static bool is_enough(const struct settling *settling, const struct series *series, const struct summary *summary,
                      double max_noise)
{
    const double share = share_spent(settling, summary->count);

    if (summary->count < 2 * (size_t)settling->places)
        return share >= 1 && series->modes == 1 && !settling->uneven;
    return share >= 1 || NARROWER * series_own_half_width(summary) <= max_noise * sqrt(fmin(1, CHEAP * share));
}

/* Whether an interval is so wide that all samples that a cell may take would not do, as the root of their number tells. It
 * would hold the others up. */
static bool is_hopeless(const struct settling *settling, const struct summary *summary,
                        const struct engine_options *options)
{
    const double wider = stats_relative_half_width(summary) / options->max_noise;

    return summary->count >= MODES_ENOUGH && share_spent(settling, summary->count) >= PATIENT &&
           (double)summary->count * wider * wider > (double)options->samples_max;
}

/* Why sampling may stop for its series; STOP_NONE to go on. */
static enum stop_reason series_stop(struct settling *settling, const struct cell_time *time,
                                    const struct engine_options *options, bool at_limit)
{
    const bool many = time->summary.count >= MODES_ENOUGH;
    struct series series;
    struct summary summary;

    describe(settling, time, options->max_noise, &series, &summary);
    if (!is_one_mode(&series)) {
        settling->split = true;
        return many ? STOP_MODES : STOP_NONE;
    }
    if (is_hopeless(settling, &summary, options))
        return STOP_SAMPLES;
    if (stats_relative_half_width(&summary) > options->max_noise || (settling->split && !many))
        return STOP_NONE;
    return at_limit || is_enough(settling, &series, &summary, options->max_noise) ? STOP_CONVERGED : STOP_NONE;
}

void settling_look(struct settling *settling, const struct cell_time *time, const struct engine_options *options)
{
    const size_t count = time->summary.count;
    const bool last = count >= options->samples_max, late = settling->seconds >= options->seconds_max;

    settling->stop = STOP_NONE;
    if (!last && count < SAMPLES_MIN)
        return;
    settling->stop = series_stop(settling, time, options, last || late);
    if (settling->stop == STOP_NONE && (last || late))
        settling->stop = last ? STOP_SAMPLES : STOP_TIME;
}

bool settling_is_due(const struct settling *settling, const struct cell_time *time,
                     const struct engine_options *options)
{
    const size_t count = time->summary.count;
    size_t step = 1;

    while (count / step >= EVERY_LOOK)
        step *= 2;
    return count % step == 0 || count >= options->samples_max || settling->seconds >= options->seconds_max;
}

void settling_end(const struct settling *settling, struct cell_result *cell, const struct engine_options *options)
{
    struct cell_time *time = &cell->time;

    describe(settling, time, options->max_noise, &time->series, &time->summary);
    if (cell_copied_bytes(&cell->cell) > 0)
        series_widen(&time->summary, SERIES_COPIES_NS);
    settling_clock(cell, time->clocks_mhz, time->summary.count);
    free(time->clocks_mhz);
    time->clocks_mhz = NULL;
    time->stop_reason = settling->stop;
    if (settling->stop == STOP_SAMPLES || settling->stop == STOP_TIME)
        cell->flags |= FLAG_UNSTABLE;
    if (!is_one_mode(&time->series))
        cell->flags |= FLAG_MULTIMODAL;
}

void settling_clock(struct cell_result *cell, double *mhz, size_t count)
{
    static const double varied = 0.01; /* of the median: a greater range is marked */
    struct cell_time *time = &cell->time;
    size_t known = 0;

    for (size_t i = 0; i < count; i++)
        if (mhz[i] > 0)
            mhz[known++] = mhz[i];
    stats_sort(mhz, known);
    time->sm_clock_mhz = known ? stats_median(mhz, known) : NAN;
    time->cycles = time->summary.value * 1e-3 * time->sm_clock_mhz;
    if (known && mhz[known - 1] - mhz[0] > varied * time->sm_clock_mhz)
        cell->flags |= FLAG_CLOCK_VARIED;
}
