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
    SAMPLES_MIN = 24,       /* before an interval is believed: two of each placement */
    COMPANY_MIN = 8,        /* cells of a round at least, of those that have settled, while others have not */
    INTERRUPTED_MANY = 3,   /* samples of a group that were interrupted: something else has the device */
    MODES_ENOUGH = 60,      /* samples by which a cell of several modes is known to be one */
    EVERY_LOOK = 64,        /* samples up to which each is looked at */
    EMPTY_WINDOW = 8,       /* samples of the empty kernel that a cold sample is compared with: the latest */
    LEAD_IN_SHARE = 16,     /* and this part of a sample's launches */
    ESTIMATE_LAUNCHES = 16, /* chain that the first estimate of a launch comes from */
    FAULT_ROUND = 29,       /* with a planted fault: from here on, when some cells have settled, ... */
    FAULT_ITEM = 1,         /* ... in this one */
    DROPPED_MAX = 3,        /* rounds that may fail without a cell to put it down to */
};

static const double stretch_seconds = 0.25; /* of samples that are enqueued at a time, so that none is kept for long */

/* -- sampling ----------------------------------------------------------------------------------------- */

/* The state of sampling one item. Its samples are in the result, so that they can be saved at any time. */
struct sampling {
    struct cell_result *result;
    struct cuda_chain chain;
    struct cuda_sample sample;
    double *scratch; /* of a series of samples_max */
    double *totals_ns; /* of this process's samples, from the first event to the last */
    uint32_t placements;
    size_t before; /* samples of an earlier process */
    bool split; /* were of several modes once: such a cell settles no sooner than it has MODES_ENOUGH */
    enum stop_reason stop; /* by the samples that there are */
    double seconds; /* of its samples so far */
    double each; /* seconds that a sample takes, about */
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
    /* The empty kernel, cold: in turn with cold cells. */
    struct cuda_chain empty;
    struct cuda_sample empty_sample;
    double empty_ns[EMPTY_WINDOW];
    size_t empties;
};

static enum status fail(struct sampling *sampling, const char *what)
{
    sampling->done = true;
    return cuda_fail(sampling->chain.device, sampling->result, what);
}

/* Seconds of a sample that took `ns` a launch. */
static double sample_seconds(const struct sampling *sampling, double ns)
{
    return 1e-9 * (ns + sampling->chain.extra_ns) * sampling->chain.launches;
}

/* Launches of a sample, from how long one took in a short chain. */
static uint32_t sample_launches(double sample_ns, double launch_ns)
{
    const double launches = ceil(sample_ns / launch_ns);

    return launches < 1 ? 1 : launches > CUDA_LAUNCHES_MAX ? CUDA_LAUNCHES_MAX : (uint32_t)launches;
}

/* ns that a kernel has to spin to add work_ns to a chain: its launch is part of the work. At least 1. */
static uint64_t slow_work(double work_ns, double launch_ns)
{
    return work_ns > launch_ns + 1 ? (uint64_t)(work_ns - launch_ns) : 1;
}

/* About what a launch of the cell takes, from a sample now; of cold ones with what an empty one shows that events add.
 * NaN when it cannot be launched. */
static double estimate_ns(struct cuda_chain *chain)
{
    struct cuda_chain empty = *chain;

    chain->lead_in = chain->between ? 0 : 1;
    chain->launches = chain->between ? CUDA_COLD_LAUNCHES : ESTIMATE_LAUNCHES;
    empty.launch = NULL;
    empty.launches = CUDA_COLD_LAUNCHES;
    chain->extra_ns = chain->between ? cuda_sample_median(&empty, 1) - chain->device->info->launch_ns : 0;
    return cuda_sample_median(chain, 1);
}

/* Launches of a sample and of its lead-in: as many as the samples have that are there, else from a first estimate. False
 * when the cell cannot be launched. */
static bool size_chain(struct sampling *sampling, const struct engine_options *options)
{
    struct cuda_chain *chain = &sampling->chain;
    const struct cell_time *time = &sampling->result->time;
    const double launch_ns = sampling->before ? time->samples_ns[sampling->before - 1] : estimate_ns(chain);

    if (isnan(launch_ns))
        return false;
    chain->launches = chain->between     ? CUDA_COLD_LAUNCHES
                      : sampling->before ? time->launches_per_sample
                                         : sample_launches(options->sample_ns, launch_ns);
    chain->lead_in = chain->between ? 0 : CUDA_LEAD_IN_LAUNCHES + chain->launches / LEAD_IN_SHARE;
    if (options->slow_path == chain->launch->cell->path)
        chain->slow_ns = slow_work(options->slow_share * launch_ns * chain->launches, chain->device->info->launch_ns);
    sampling->each = 1e-9 * launch_ns * (chain->launches + chain->lead_in + 2 * CUDA_REFERENCE_LAUNCHES);
    return true;
}

/* Makes room for samples and their clocks behind those that are there. Samples that cannot be gone on with are left out. */
static bool make_room(struct sampling *sampling, uint32_t samples_max)
{
    struct cell_time *time = &sampling->result->time;
    const uint32_t launches = time->launches_per_sample;
    const bool cold = sampling->chain.between != NULL;
    double *samples, *clocks;
    size_t room = samples_max;

    if (!time->clocks_mhz || launches < 1 || launches > CUDA_LAUNCHES_MAX || (cold && launches != CUDA_COLD_LAUNCHES))
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

static enum status sampling_open(struct timing *timing, size_t index, const struct timed_item *item)
{
    struct sampling *sampling = &timing->samplings[index];
    const struct cell *cell = &item->result->cell;

    *sampling = (struct sampling){
        .result = item->result,
        .chain = {.device = timing->device,
                  .launch = item->launch,
                  .between = cell->regime->flush ? cuda_launch_flush : NULL,
                  .reading = index},
        .done = item->launch->modules == 0,
    };
    if (sampling->done)
        return STATUS_OK;
    sampling->placements = cuda_buffers_find(timing->device, item->launch->room)->count;
    cuda_expect_cell(timing->device, item->result, ESTIMATE_LAUNCHES);
    if (!make_room(sampling, timing->options->samples_max))
        return fail(sampling, "out of memory for samples");
    if (!size_chain(sampling, timing->options))
        return fail(sampling, "cannot launch");
    if (!cuda_sample_open(&sampling->sample, timing->device))
        return fail(sampling, "cannot make events");
    item->result->time.launches_per_sample = sampling->chain.launches;
    for (size_t i = 0; i < sampling->before; i++)
        sampling->seconds += sample_seconds(sampling, item->result->time.samples_ns[i]);
    return STATUS_OK;
}

/* Samples of several modes are not told by one median. */
static bool is_one_mode(const struct series *series)
{
    return !(series->modes > 1);
}

/* What the samples say so far. */
static void describe(const struct sampling *sampling, double max_noise, struct series *series, struct summary *summary)
{
    const struct cell_time *time = &sampling->result->time;

    series_summarize(time->samples_ns, time->summary.count, sampling->placements, sampling->scratch, series, summary);
    series_describe(time->samples_ns, summary->count, max_noise * summary->median, sampling->scratch, series);
}

/* Why sampling may stop now; STOP_NONE to go on. */
static enum stop_reason sampling_stop(struct sampling *sampling, const struct engine_options *options)
{
    const size_t count = sampling->result->time.summary.count;
    const bool last = count >= options->samples_max;
    struct series series;
    struct summary summary;
    bool narrow, modes;

    if (count < SAMPLES_MIN && !last)
        return STOP_NONE;
    describe(sampling, options->max_noise, &series, &summary);
    narrow = stats_relative_half_width(&summary) <= options->max_noise;
    modes = !is_one_mode(&series);
    sampling->split = sampling->split || modes;
    if (modes && count >= MODES_ENOUGH)
        return STOP_MODES;
    if (narrow && !modes && (!sampling->split || count >= MODES_ENOUGH))
        return STOP_CONVERGED;
    if (last)
        return STOP_SAMPLES;
    return sampling->seconds >= options->seconds_max ? STOP_TIME : STOP_NONE;
}

/* Whether it is time to ask so: at every sample of the first ones, then at every one of 32 to 64, so that looking at many
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
 * runs. Nothing of a sample's own takes as long: none of 86,000 committed samples does. */
static const double slice_ns = 0.5e6, slice_share = 0.1;

/* Samples of this process that a slice was in. */
static size_t count_interrupted(const struct sampling *sampling)
{
    const size_t count = sampling->done ? 0 : sampling->result->time.summary.count - sampling->before;
    double least = INFINITY;
    size_t interrupted = 0;

    for (size_t i = 0; i < count; i++)
        least = fmin(least, sampling->totals_ns[i]);
    for (size_t i = 0; i < count; i++)
        interrupted += sampling->totals_ns[i] > least + fmax(slice_ns, slice_share * least);
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

/* -- the empty kernel ---------------------------------------------------------------------------------- */

static bool empty_open(struct timing *timing)
{
    timing->empty = (struct cuda_chain){.device = timing->device,
                                        .between = cuda_launch_flush,
                                        .launches = CUDA_COLD_LAUNCHES,
                                        .reading = timing->device->clock_reading_count - 1};
    for (size_t i = 0; i < timing->count; i++)
        if (!timing->samplings[i].done && timing->samplings[i].chain.between)
            return cuda_sample_open(&timing->empty_sample, timing->device) &&
                   cuda_sample_place(&timing->empty_sample, &timing->empty, 0);
    return true;
}

static bool empty_launch(const struct timing *timing)
{
    return !timing->empty_sample.graphs[0] || cuda_sample_launch(&timing->empty_sample, &timing->empty, 0);
}

/* Takes over the empty kernel's sample of a stretch. */
static void empty_take(struct timing *timing)
{
    const double ns = timing->empty_sample.graphs[0] ? cuda_sample_ns(&timing->empty_sample, &timing->empty) : NAN;

    if (!isnan(ns))
        timing->empty_ns[timing->empties++ % EMPTY_WINDOW] = ns;
}

/* What a pair of events adds to a cold launch, by the latest samples; NaN without any. */
static double pair_extra_ns(const struct timing *timing)
{
    const size_t count = timing->empties < EMPTY_WINDOW ? timing->empties : EMPTY_WINDOW;
    double sorted[EMPTY_WINDOW];

    for (size_t i = 0; i < count; i++)
        sorted[i] = timing->empty_ns[i];
    stats_sort(sorted, count);
    return count ? stats_median(sorted, count) - timing->device->info->launch_ns : NAN;
}

/* -- rounds -------------------------------------------------------------------------------------------- */

/* Takes over the sample that has just ended. */
static enum status take_sample(const struct timing *timing, struct sampling *sampling, uint32_t samples_max)
{
    const struct clock_reading *clock = &timing->device->clock_readings[sampling->chain.reading];
    struct cell_time *time = &sampling->result->time;
    double ns;

    sampling->chain.extra_ns = sampling->chain.between ? pair_extra_ns(timing) : 0;
    ns = cuda_sample_ns(&sampling->sample, &sampling->chain);
    if (isnan(ns))
        return fail(sampling, "cannot read the time");
    if (time->summary.count >= samples_max)
        return STATUS_OK;
    if (sampling->before)
        sampling->result->flags |= FLAG_RESUMED;
    time->clocks_mhz[time->summary.count] = clock->ns ? 1e3 * (double)clock->cycles / (double)clock->ns : 0;
    sampling->totals_ns[time->summary.count - sampling->before] =
        cuda_sample_total_ns(&sampling->sample, &sampling->chain);
    time->samples_ns[time->summary.count++] = ns;
    sampling->seconds += sample_seconds(sampling, ns);
    sampling->each = fmax(sampling->each, sample_seconds(sampling, ns));
    if (is_look(sampling, timing->options))
        sampling->stop = sampling_stop(sampling, timing->options);
    return STATUS_OK;
}

/* Whether a fault is still to be planted. */
static bool awaits_fault(const struct timing *timing)
{
    const struct fault *fault = timing->options->fault;

    return fault && (fault->address || fault->endless) && !timing->planted;
}

/* The placement of the next sample but `ahead`. */
static uint32_t next_placement(const struct sampling *sampling, size_t ahead)
{
    return (uint32_t)((sampling->result->time.summary.count + ahead) % sampling->placements);
}

/* Launches a sample, or fails its cell. */
static enum status launch_sample(struct timing *timing, struct sampling *sampling)
{
    struct cuda_device *device = timing->device;
    struct cuda_calls *calls = &device->calls;
    const uint32_t placement = next_placement(sampling, 0);

    cuda_clock_clear(device, sampling->chain.reading);
    calls->suspects[calls->suspect_count++] = (struct cuda_suspect){sampling->result, sampling->chain.reading};
    if (awaits_fault(timing) && timing->rounds >= FAULT_ROUND && sampling == &timing->samplings[FAULT_ITEM])
        timing->planted = cuda_launch_fault(device, timing->options->fault);
    if (cuda_sample_place(&sampling->sample, &sampling->chain, placement) &&
        cuda_sample_launch(&sampling->sample, &sampling->chain, placement))
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
    if (!empty_launch(timing))
        status = fail(&timing->samplings[timing->order[first]], "cannot launch the empty kernel");
    for (; status == STATUS_OK && i < left && seconds < stretch_seconds; i++) {
        struct sampling *sampling = &timing->samplings[timing->order[i]];

        if (!sampling->done)
            status = launch_sample(timing, sampling);
        timing->device->calls.expected = seconds += sampling->each;
    }
    *end = i;
    return status;
}

/* Captures the samples that come next on further placements, while the device is at work. */
static enum status place_ahead(struct timing *timing, size_t first, size_t end)
{
    enum status status = STATUS_OK;

    for (size_t i = first; status == STATUS_OK && i < end; i++) {
        struct sampling *sampling = &timing->samplings[timing->order[i]];

        if (!sampling->done && !cuda_sample_place(&sampling->sample, &sampling->chain, next_placement(sampling, 1)))
            status = fail(sampling, "cannot make a graph");
    }
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
static enum status sample_stretch(struct timing *timing, size_t left, size_t *next, uint32_t samples_max)
{
    const size_t first = *next;
    enum status status = launch_stretch(timing, first, left, next);

    if (status != STATUS_OK)
        return status;
    timing->stopped =
        timing->progress->step(timing->progress->context, "timing", timing->count - timing->unsettled, timing->count);
    status = place_ahead(timing, first, *next);
    if (status != STATUS_OK)
        return status;
    if (!cuda_device_wait(timing->device))
        return drop_stretch(timing, first, *next);
    empty_take(timing);
    for (size_t i = first; status == STATUS_OK && i < *next; i++)
        if (!timing->samplings[timing->order[i]].done)
            status = take_sample(timing, &timing->samplings[timing->order[i]], samples_max);
    return status;
}

/* Who is sampled in a round: all that have not settled and, drawn at random, as many of the others, or a few. They keep
 * the order random for the former, since a small kernel's time depends a little on what ran before it. */
static size_t choose_round(struct timing *timing)
{
    size_t unsettled = 0, left, company;

    for (size_t i = 0; i < timing->count; i++)
        if (!timing->samplings[i].done && timing->samplings[i].stop == STOP_NONE)
            timing->order[unsettled++] = i;
    left = unsettled;
    for (size_t i = 0; i < timing->count; i++)
        if (!timing->samplings[i].done && timing->samplings[i].stop != STOP_NONE)
            timing->order[left++] = i;
    random_shuffle(&timing->random, timing->order + unsettled, left - unsettled);
    company = unsettled > COMPANY_MIN ? unsettled : COMPANY_MIN;
    left = left - unsettled > company ? unsettled + company : left;
    random_shuffle(&timing->random, timing->order, left);
    return left;
}

static enum status sample_round(struct timing *timing, uint32_t samples_max)
{
    const size_t left = choose_round(timing);
    enum status status = STATUS_OK;
    size_t next = 0;

    while (status == STATUS_OK && next < left && !timing->stopped)
        status = sample_stretch(timing, left, &next, samples_max);
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

/* Rounds until every item may stop, or the user wants to. The first round is warm-up and not counted. */
static enum status sample_rounds(struct timing *timing)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < timing->count; i++)
        if (!timing->samplings[i].done)
            timing->samplings[i].stop = sampling_stop(&timing->samplings[i], timing->options);
    timing->unsettled = count_unsettled(timing);
    while (status == STATUS_OK && !timing->stopped && (timing->unsettled > 0 || awaits_fault(timing))) {
        status = sample_round(timing, timing->rounds ? timing->options->samples_max : 0);
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
    if (status == STATUS_OK && !empty_open(&timing))
        status = cuda_end_run(device, cuda_device_error(device));
    if (status == STATUS_OK)
        status = sample_rounds(&timing);
    for (size_t i = 0; timing.samplings && i < count; i++) {
        cuda_sample_close(&timing.samplings[i].sample, device);
        free(timing.samplings[i].scratch);
        free(timing.samplings[i].totals_ns);
    }
    cuda_sample_close(&timing.empty_sample, device);
    free(timing.samplings);
    free(timing.order);
    return status;
}
