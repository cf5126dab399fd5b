/* SPDX-License-Identifier: MIT */
#include "cuda_timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "random.h"
#include "series.h"

enum {
    SAMPLES_MIN = CUDA_PLACEMENTS_MAX, /* before an interval is believed: each place once */
    INTERRUPTED_MANY = 3,   /* samples of a group that were interrupted: something else has the device */
    MODES_ENOUGH = 60,      /* samples by which a cell of several modes is known to be one */
    EVERY_LOOK = 16,        /* samples up to which each is looked at */
    DRAW_LAUNCHES = 4,      /* of a draw of a hot sample, at least, ... */
    DRAW_TICKS = 100,       /* ... and ticks of the timer that they last */
    ESTIMATE_LAUNCHES = 4,  /* chain that the first estimate of a launch comes from, ... */
    ESTIMATE_SAMPLES = 3,   /* ... so often */
    LAUNCHES_LEAST = 8,     /* of a hot sample, unless it would be more than LONGER as long as asked for */
    LONGER = 10,
    NARROWER = 8,           /* an interval so much narrower than asked for is not made narrower still */
    FAULT_ROUND = 60,       /* with a planted fault: from here on, when some cells have settled, ... */
    FAULT_ITEM = 1,         /* ... in this one */
    DROPPED_MAX = 3,        /* rounds that may fail without a cell to put it down to */
};

static const double stretch_seconds = 0.25; /* of samples that are enqueued at a time, so that none is kept for long */
static const double settled_seconds = 4; /* of all items, for intervals narrower than asked for */
static const double reference_ns =
    150e3; /* of a short stretch, and of what is before it: what it takes to be like the end */
static const double cold_ns = 1e6; /* of cold launches in a sample, about */
static const double sites_l2_share = 0.25; /* of L2, that launches may take which read several sites */
static const double replay_ns = 100e3; /* launches that are longer do not feel where their commands are */

/* -- sampling ----------------------------------------------------------------------------------------- */

/* The state of sampling one item. Its samples are in the result, so that they can be saved at any time. */
struct sampling {
    struct cell_result *result;
    struct cuda_chain chain;
    struct cuda_sample sample;
    double *scratch; /* of a series of samples_max */
    double *totals_ns; /* of this process's samples, from the first stamp to the last */
    size_t before; /* samples of an earlier process */
    size_t warm_ups; /* samples that are still to be launched before one counts */
    bool split; /* were of several modes once: such a cell settles no sooner than it has MODES_ENOUGH */
    enum stop_reason stop; /* by the samples that there are */
    double seconds; /* of its samples so far */
    double each; /* seconds that a sample takes, about, all of it */
    bool done;
};

/* All items that are sampled together. */
struct timing {
    struct cuda_device *device;
    const struct engine_options *options;
    const struct progress *progress;
    struct sampling *samplings;
    size_t *order; /* of a round */
    size_t count, unsettled, rounds, dropped;
    uint64_t random;
    bool planted; /* the fault */
    bool stopped; /* by the user */
};

/* Whether a fault is still to be planted. */
static bool awaits_fault(const struct timing *timing)
{
    const struct fault *fault = timing->options->fault;

    return fault && (fault->address || fault->endless) && !timing->planted;
}

static enum status fail(struct sampling *sampling, const char *what)
{
    sampling->done = true;
    return cuda_fail(sampling->chain.device, sampling->result, what);
}

/* Seconds of a sample that took `ns` a launch. */
static double sample_seconds(const struct sampling *sampling, double ns)
{
    return 1e-9 * ns * sampling->chain.launches;
}

/* Launches that take about all_ns, `most` at most. */
static uint32_t launches_of(double all_ns, double launch_ns, uint32_t most)
{
    return (uint32_t)fmax(1, fmin(most, ceil(all_ns / launch_ns)));
}

/* ns that a kernel has to spin to add work_ns to a chain: its launch is part of the work. At least 1. */
static uint64_t slow_work(double work_ns, double launch_ns)
{
    return work_ns > launch_ns + 1 ? (uint64_t)(work_ns - launch_ns) : 1;
}

/* About what a launch of the cell takes, from samples now. NaN when it cannot be launched. */
static double estimate_ns(struct cuda_chain *chain)
{
    chain->lead_in = chain->reference = chain->cold ? 0 : 1;
    chain->draws = chain->cold ? ESTIMATE_LAUNCHES : 1;
    chain->launches = ESTIMATE_LAUNCHES;
    chain->sites = 1;
    return cuda_sample_median(chain, ESTIMATE_SAMPLES);
}

/* Whether what launches of the cell read and write takes less than a share of L2. */
static bool stays_in_l2(const struct cuda_chain *chain, double share)
{
    return (double)cuda_launch_bytes(chain->device, chain->launch) < share * (double)chain->device->info->l2_bytes;
}

/* A site that was not read since others were must still be in L2 for a hot sample: it is read in the replay before. */
static uint32_t count_sites(const struct cuda_chain *chain)
{
    const bool many = chain->cold || (chain->replays && stays_in_l2(chain, sites_l2_share));

    return many ? cuda_launch_sites(chain->device, chain->launch) : 1;
}

/* The launches of a hot sample in as many draws as may be, and as many of each. */
static void divide(struct cuda_chain *chain, uint32_t launches, double launch_ns)
{
    const double ticks = launches * launch_ns / cuda_tick_ns(chain->device);

    chain->draws = (uint32_t)fmax(1, fmin(CUDA_DRAWS_MAX, fmin(launches / DRAW_LAUNCHES, ticks / DRAW_TICKS)));
    chain->launches = (launches + chain->draws - 1) / chain->draws * chain->draws;
}

/* Lengths of a hot sample's stretches. The commands of its launches are in L2 after a replay, whatever ran before; those of
 * launches that fill L2 themselves never are. */
static void size_hot(struct cuda_chain *chain, double sample_ns, double launch_ns)
{
    const double longer_ns = fmin(LAUNCHES_LEAST * launch_ns, LONGER * sample_ns);

    divide(chain, launches_of(fmax(sample_ns, longer_ns), launch_ns, CUDA_LAUNCHES_MAX), launch_ns);
    chain->reference = launches_of(reference_ns, launch_ns, CUDA_REFERENCE_LAUNCHES);
    chain->lead_in = launches_of(reference_ns, launch_ns, CUDA_LEAD_IN_LAUNCHES);
    chain->replays = launch_ns < replay_ns && stays_in_l2(chain, 1);
}

/* Lengths of a cell's samples, by those that are there, else by a first estimate of a launch. False when the cell cannot
 * be launched. */
static bool size_chain(struct sampling *sampling, const struct engine_options *options)
{
    struct cuda_chain *chain = &sampling->chain;
    const struct cell_time *time = &sampling->result->time;
    const double launch_ns = sampling->before ? time->samples_ns[sampling->before - 1] : estimate_ns(chain);

    if (isnan(launch_ns))
        return false;
    if (chain->cold)
        chain->draws = chain->launches = launches_of(cold_ns, launch_ns, CUDA_DRAWS_MAX);
    else
        size_hot(chain, options->sample_ns, launch_ns);
    chain->sites = count_sites(chain);
    /* The first time that a graph is launched is slower, and all that one behind a flush or a replay can do without, or one
     * that does not feel where its commands are. */
    sampling->warm_ups = chain->cold || chain->replays || launch_ns >= replay_ns ? 1 : chain->placements;
    if (sampling->before && chain->cold)
        chain->draws = chain->launches = time->launches_per_sample;
    else if (sampling->before)
        divide(chain, time->launches_per_sample, launch_ns);
    if (options->slow_path == chain->launch->cell->path)
        chain->slow_ns = slow_work(options->slow_share * launch_ns * chain->launches, chain->device->info->launch_ns);
    sampling->each = 1e-9 * launch_ns * (chain->draws * (chain->lead_in + 2 * chain->reference) + chain->launches) *
                     (1 + chain->replays);
    return true;
}

/* Makes room for samples and their clocks behind those that are there. Samples that cannot be gone on with are left out. */
static bool make_room(struct sampling *sampling, uint32_t samples_max)
{
    struct cell_time *time = &sampling->result->time;
    const uint32_t launches = time->launches_per_sample;
    double *samples, *clocks;
    size_t room = samples_max;

    if (!time->clocks_mhz || time->sites < 1 || launches < 1 ||
        launches > (sampling->chain.cold ? CUDA_DRAWS_MAX : CUDA_LAUNCHES_MAX))
        time->summary.count = 0;
    sampling->before = time->summary.count;
    room = sampling->before > room ? sampling->before : room;
    sampling->scratch = calloc(SERIES_SCRATCH(room), sizeof(double));
    sampling->totals_ns = calloc(room, sizeof(double));
    samples = realloc(time->samples_ns, room * sizeof(double));
    time->samples_ns = samples ? samples : time->samples_ns;
    clocks = realloc(time->clocks_mhz, room * sizeof(double));
    time->clocks_mhz = clocks ? clocks : time->clocks_mhz;
    return sampling->scratch && sampling->totals_ns && samples && clocks;
}

/* Makes the graphs. None is made while the device times: that would slow its launches. */
static bool make_places(struct sampling *sampling)
{
    bool made = true;

    for (uint32_t i = 0; made && i < sampling->chain.placements; i++)
        made = cuda_sample_place(&sampling->sample, &sampling->chain, i);
    return made;
}

static enum status sampling_open(struct timing *timing, size_t index, const struct timed_item *item)
{
    struct sampling *sampling = &timing->samplings[index];
    const struct cell *cell = &item->result->cell;

    *sampling = (struct sampling){
        .result = item->result,
        .chain = {.device = timing->device, .launch = item->launch, .cold = cell->regime->flush, .reading = index},
        .done = item->launch->modules == 0,
    };
    if (sampling->done)
        return STATUS_OK;
    sampling->chain.placements = cuda_launch_placements(timing->device, item->launch);
    cuda_expect_cell(timing->device, item->result, ESTIMATE_LAUNCHES);
    if (!make_room(sampling, timing->options->samples_max))
        return fail(sampling, "out of memory for samples");
    if (!size_chain(sampling, timing->options))
        return fail(sampling, "cannot launch");
    if (!make_places(sampling))
        return fail(sampling, "cannot make a graph");
    item->result->time.launches_per_sample = sampling->chain.launches;
    item->result->time.sites = sampling->chain.sites;
    for (size_t i = 0; i < sampling->before; i++)
        sampling->seconds += sample_seconds(sampling, item->result->time.samples_ns[i]);
    return STATUS_OK;
}

/* Samples of several modes are not told by one number. */
static bool is_one_mode(const struct series *series)
{
    return !(series->modes > 1);
}

/* What the samples say so far. */
static void describe(const struct sampling *sampling, double max_noise, struct series *series, struct summary *summary)
{
    const struct cell_time *time = &sampling->result->time;

    series_summarize(time->samples_ns, time->summary.count, sampling->chain.placements, sampling->scratch, series,
                     summary);
    series_describe(time->samples_ns, summary->count, max_noise * summary->value, sampling->scratch, series);
}

/* Whether a narrow interval may stay as it is: every place had its turn twice, and further samples would cost more than they
 * tell. */
static bool is_enough(const struct timing *timing, const struct sampling *sampling, const struct summary *summary)
{
    const size_t count = sampling->result->time.summary.count;

    return count >= 2 * (size_t)sampling->chain.placements &&
           (NARROWER * series_own_half_width(summary) <= timing->options->max_noise ||
            (double)count * sampling->each >= settled_seconds / (double)timing->count);
}

/* Why sampling may stop for its series; STOP_NONE to go on. */
static enum stop_reason series_stop(const struct timing *timing, struct sampling *sampling, bool at_limit)
{
    const double max_noise = timing->options->max_noise;
    const bool many = sampling->result->time.summary.count >= MODES_ENOUGH;
    struct series series;
    struct summary summary;

    describe(sampling, max_noise, &series, &summary);
    if (!is_one_mode(&series)) {
        sampling->split = true;
        return many ? STOP_MODES : STOP_NONE;
    }
    if (stats_relative_half_width(&summary) > max_noise || (sampling->split && !many))
        return STOP_NONE;
    return at_limit || is_enough(timing, sampling, &summary) ? STOP_CONVERGED : STOP_NONE;
}

/* Why sampling may stop now; STOP_NONE to go on. */
static enum stop_reason sampling_stop(const struct timing *timing, struct sampling *sampling)
{
    const size_t count = sampling->result->time.summary.count;
    const bool last = count >= timing->options->samples_max, late = sampling->seconds >= timing->options->seconds_max;
    enum stop_reason stop;

    if (!last && count < SAMPLES_MIN)
        return STOP_NONE;
    stop = series_stop(timing, sampling, last || late);
    if (stop != STOP_NONE)
        return stop;
    return last ? STOP_SAMPLES : late ? STOP_TIME : STOP_NONE;
}

/* Whether it is time to ask so: at every sample of the first ones, then at every one of 8 to 16, so that looking at many
 * samples costs no more than taking them; and at the limits. */
static bool is_look(const struct sampling *sampling, const struct engine_options *options)
{
    const size_t count = sampling->result->time.summary.count;
    size_t step = 1;

    while (count / step >= EVERY_LOOK)
        step *= 2;
    return count % step == 0 || count >= options->samples_max || sampling->seconds >= options->seconds_max;
}

/* Says what the samples say. */
static void settle(struct sampling *sampling, const struct engine_options *options)
{
    struct cell_time *time = &sampling->result->time;

    describe(sampling, options->max_noise, &time->series, &time->summary);
    engine_settle_clock(sampling->result, time->clocks_mhz, time->summary.count);
    free(time->clocks_mhz);
    time->clocks_mhz = NULL;
    time->stop_reason = sampling->stop;
    if (sampling->stop == STOP_SAMPLES || sampling->stop == STOP_TIME)
        sampling->result->flags |= FLAG_UNSTABLE;
    if (!is_one_mode(&time->series))
        sampling->result->flags |= FLAG_MULTIMODAL;
}

/* -- neighbours --------------------------------------------------------------------------------------- */

/* A process that computes on the device, too, has it in slices of a millisecond or more, in which nothing of a sample
 * runs. Nothing of a sample's own takes as long, compared with another one of its place: none of 86,000 committed samples
 * does. Samples of other places may take twice as long. */
static const double slice_ns = 0.5e6, slice_share = 0.1, places_share = 1.5;

/* The least of totals_ns[first], [first + step] ... below [count]. */
static double least_total(const double *totals_ns, size_t first, size_t count, size_t step)
{
    double least = INFINITY;

    for (size_t i = first; i < count; i += step)
        least = fmin(least, totals_ns[i]);
    return least;
}

static bool is_longer(double total_ns, double least, double share)
{
    return total_ns > least + fmax(slice_ns, share * least);
}

/* Samples of this process that a slice was in. */
static size_t count_interrupted(const struct sampling *sampling)
{
    const size_t count = sampling->done ? 0 : sampling->result->time.summary.count - sampling->before;
    const size_t places = sampling->chain.placements;
    const double least = least_total(sampling->totals_ns, 0, count, 1);
    size_t interrupted = 0;

    for (size_t i = 0; i < count; i++)
        interrupted +=
            is_longer(sampling->totals_ns[i], least, places_share) ||
            is_longer(sampling->totals_ns[i], least_total(sampling->totals_ns, i % places, count, places), slice_share);
    return interrupted;
}

/* Marks all that was sampled together if something else had the device meanwhile, and says so. */
static void flag_shared(const struct timing *timing)
{
    size_t interrupted = 0;

    for (size_t i = 0; i < timing->count; i++)
        interrupted += count_interrupted(&timing->samplings[i]);
    if (interrupted < INTERRUPTED_MANY)
        return;
    log_warning("something else has the GPU: %zu samples were interrupted; times are those of a shared GPU",
                interrupted);
    for (size_t i = 0; i < timing->count; i++)
        if (timing->samplings[i].result->time.summary.count > timing->samplings[i].before)
            timing->samplings[i].result->flags |= FLAG_SHARED;
}

/* -- rounds -------------------------------------------------------------------------------------------- */

/* Whole picoseconds: the timer ticks in nanoseconds. */
static double whole_ps(double ns)
{
    return round(1e3 * ns) / 1e3;
}

/* Takes over the sample that has just ended. */
static enum status take_sample(const struct timing *timing, struct sampling *sampling)
{
    const struct clock_reading *clock = cuda_clock_reading(timing->device, sampling->chain.reading);
    struct cell_time *time = &sampling->result->time;
    double ns;

    ns = whole_ps(cuda_sample_ns(&sampling->chain));
    /* A launch of the empty kernel that was interrupted can make it negative: that says nothing. */
    if (sampling->warm_ups > 0 || ns <= 0 || time->summary.count >= timing->options->samples_max) {
        sampling->warm_ups -= sampling->warm_ups > 0;
        return STATUS_OK;
    }
    if (sampling->before)
        sampling->result->flags |= FLAG_RESUMED;
    time->clocks_mhz[time->summary.count] = clock->ns ? 1e3 * (double)clock->cycles / (double)clock->ns : 0;
    sampling->totals_ns[time->summary.count - sampling->before] = cuda_sample_total_ns(&sampling->chain);
    time->samples_ns[time->summary.count++] = ns;
    sampling->seconds += sample_seconds(sampling, ns);
    sampling->each = fmax(sampling->each, 1e-9 * sampling->totals_ns[time->summary.count - sampling->before - 1]);
    if (is_look(sampling, timing->options))
        sampling->stop = sampling_stop(timing, sampling);
    return STATUS_OK;
}

/* The place of the next sample: the first that counts is in the first. */
static uint32_t next_place(const struct sampling *sampling)
{
    return (uint32_t)((sampling->result->time.summary.count + sampling->chain.placements - sampling->warm_ups) %
                      sampling->chain.placements);
}

/* Launches a sample, or fails its cell. */
static enum status launch_sample(struct timing *timing, struct sampling *sampling)
{
    struct cuda_device *device = timing->device;
    struct cuda_calls *calls = &device->calls;
    const uint32_t place = next_place(sampling);

    cuda_clock_clear(device, sampling->chain.reading);
    calls->suspects[calls->suspect_count++] = (struct cuda_suspect){sampling->result, sampling->chain.reading};
    if (awaits_fault(timing) && timing->rounds >= FAULT_ROUND && sampling == &timing->samplings[FAULT_ITEM])
        timing->planted = cuda_launch_fault(device, timing->options->fault);
    if (cuda_sample_launch(&sampling->sample, &sampling->chain, place))
        return STATUS_OK;
    if (fail(sampling, "cannot launch the graph") != STATUS_OK)
        return STATUS_FINDING;
    calls->suspect_count--;
    return STATUS_OK;
}

/* Launches as many samples of a round, from one on, as make a stretch. *end is the one behind them. */
static enum status launch_stretch(struct timing *timing, size_t first, size_t left, size_t *end)
{
    enum status status = STATUS_OK;
    double seconds = 0;
    size_t i = first;

    cuda_expect(timing->device, 0);
    for (; status == STATUS_OK && i < left && seconds < stretch_seconds; i++) {
        struct sampling *sampling = &timing->samplings[timing->order[i]];

        if (!sampling->done)
            status = launch_sample(timing, sampling);
        timing->device->calls.expected = seconds += sampling->each;
    }
    *end = i;
    return status;
}

/* The launches of a stretch failed. Cells whose launches did not end fail; without such a cell, the samples are lost. */
static enum status drop_stretch(struct timing *timing, size_t first, size_t end)
{
    struct cuda_device *device = timing->device;
    const bool lost = cuda_device_lost(device);
    char reason[CELL_REASON_BYTES];
    bool found = false;

    snprintf(reason, sizeof(reason), "a launch failed: %s", cuda_device_error(device));
    for (size_t i = first; !lost && i < end; i++) {
        struct sampling *sampling = &timing->samplings[timing->order[i]];

        if (sampling->done || cuda_clock_was_read(device, sampling->chain.reading))
            continue;
        sampling->done = found = true;
        engine_end_cell(sampling->result, CELL_FAILED, "%s", reason);
    }
    if (lost || (!found && ++timing->dropped == DROPPED_MAX))
        return cuda_end_run(device, reason);
    if (!found)
        log_warning("%s; the samples of that moment are left out", reason);
    return STATUS_OK;
}

/* Launches a stretch of a round, does what can be done meanwhile, and takes its samples. */
static enum status sample_stretch(struct timing *timing, size_t left, size_t *next)
{
    const size_t first = *next;
    enum status status = launch_stretch(timing, first, left, next);

    if (status != STATUS_OK)
        return status;
    timing->stopped =
        timing->progress->step(timing->progress->context, "timing", timing->count - timing->unsettled, timing->count);
    if (!cuda_device_wait(timing->device))
        return drop_stretch(timing, first, *next);
    for (size_t i = first; status == STATUS_OK && i < *next; i++)
        if (!timing->samplings[timing->order[i]].done)
            status = take_sample(timing, &timing->samplings[timing->order[i]]);
    return status;
}

/* Who is sampled in a round, in which order: all that have not settled, and the one that a fault is to hit. */
static size_t choose_round(struct timing *timing)
{
    size_t unsettled = 0;

    for (size_t i = 0; i < timing->count; i++)
        if (!timing->samplings[i].done &&
            (timing->samplings[i].stop == STOP_NONE || (i == FAULT_ITEM && awaits_fault(timing))))
            timing->order[unsettled++] = i;
    random_shuffle(&timing->random, timing->order, unsettled);
    return unsettled;
}

static enum status sample_round(struct timing *timing)
{
    const size_t left = choose_round(timing);
    enum status status = STATUS_OK;
    size_t next = 0;

    while (status == STATUS_OK && next < left && !timing->stopped)
        status = sample_stretch(timing, left, &next);
    timing->rounds++;
    return status;
}

/* How many items may not stop yet. */
static size_t count_unsettled(const struct timing *timing)
{
    size_t unsettled = 0;

    for (size_t i = 0; i < timing->count; i++)
        unsettled += !timing->samplings[i].done && timing->samplings[i].stop == STOP_NONE;
    return unsettled;
}

/* Rounds until every item may stop, or the user wants to. */
static enum status sample_rounds(struct timing *timing)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < timing->count; i++)
        if (!timing->samplings[i].done)
            timing->samplings[i].stop = sampling_stop(timing, &timing->samplings[i]);
    timing->unsettled = count_unsettled(timing);
    while (status == STATUS_OK && !timing->stopped && (timing->unsettled > 0 || awaits_fault(timing))) {
        status = sample_round(timing);
        timing->unsettled = count_unsettled(timing);
    }
    for (size_t i = 0; i < timing->count; i++) {
        struct sampling *sampling = &timing->samplings[i];

        if (!sampling->done && sampling->result->status == CELL_PENDING && sampling->stop != STOP_NONE)
            settle(sampling, timing->options);
    }
    flag_shared(timing);
    return status;
}

enum status cuda_time_items(struct cuda_device *device, struct timed_item *items, size_t count,
                            const struct engine_options *options, const struct progress *progress)
{
    struct timing timing = {
        .device = device,
        .options = options,
        .progress = progress,
        .samplings = calloc(count + 1, sizeof(*timing.samplings)),
        .order = calloc(count + 1, sizeof(*timing.order)),
        .count = count,
        .random = options->seed,
    };
    enum status status = timing.samplings && timing.order ? STATUS_OK : log_memory("samples");

    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        status = sampling_open(&timing, i, &items[i]);
    if (status == STATUS_OK)
        status = sample_rounds(&timing);
    for (size_t i = 0; timing.samplings && i < count; i++) {
        cuda_sample_close(&timing.samplings[i].sample, device);
        free(timing.samplings[i].scratch);
        free(timing.samplings[i].totals_ns);
    }
    free(timing.samplings);
    free(timing.order);
    return status;
}
