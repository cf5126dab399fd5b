/* SPDX-License-Identifier: MIT */
#include "cuda_timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "random.h"
#include "stats.h"

enum {
    SAMPLES_MIN = 20,       /* before an interval is believed: its coverage suffers from early stopping */
    LAUNCHES_MAX = 1000,    /* of one sample: bounds the size of a graph */
    LEAD_IN_LAUNCHES = 2,   /* at least */
    LEAD_IN_SHARE = 16,     /* and this part of a sample's launches */
    ESTIMATE_LAUNCHES = 16, /* chain that the first estimate of a launch comes from */
    REFERENCE_LAUNCHES = 1, /* of the short chain of a hot sample */
    COLD_LAUNCHES = 8,      /* of a cold sample */
    CALIBRATION_SAMPLES = 31, /* of the empty kernel */
    CALIBRATION_SPIN_NS = 10000, /* of the kernel before it */
    EVENTS_MAX = 2 * COLD_LAUNCHES,
};

/* What is launched: a cell, or the empty kernel. */
struct chain {
    struct cuda_device *device;
    const struct cuda_launch *launch; /* NULL: the empty kernel */
    /* Enqueued before every launch, which then stands between two events of its own; NULL: launches follow
     * each other. */
    bool (*between)(struct cuda_device *device);
    uint32_t lead_in, launches;
    double extra_ns;         /* cold: what a pair of events adds to a launch */
    uint64_t slow_ns;        /* planted slowdown: work added to the long chain */
    size_t reading;          /* where the clock probe writes */
};

struct timer {
    cudaEvent_t events[EVENTS_MAX];
    cudaGraphExec_t graph;
};

static bool launch_once(const struct chain *chain, uint32_t turn)
{
    return chain->launch ? cuda_launch_cell(chain->device, chain->launch, turn) : cuda_launch_empty(chain->device);
}

static bool launch_many(const struct chain *chain, uint32_t launches)
{
    for (uint32_t i = 0; i < launches; i++)
        if (!launch_once(chain, i))
            return false;
    return true;
}

static bool record(const struct chain *chain, cudaEvent_t event)
{
    return cudaEventRecordWithFlags(event, chain->device->stream, cudaEventRecordExternal) == cudaSuccess;
}

static bool enqueue_chain(const struct chain *chain, const cudaEvent_t *events)
{
    return launch_many(chain, chain->lead_in) && record(chain, events[0]) && launch_many(chain, REFERENCE_LAUNCHES) &&
           record(chain, events[1]) && launch_many(chain, REFERENCE_LAUNCHES + chain->launches) &&
           (chain->slow_ns == 0 || cuda_launch_spin(chain->device, chain->slow_ns)) && record(chain, events[2]);
}

static bool enqueue_pairs(const struct chain *chain, const cudaEvent_t *events)
{
    for (uint32_t i = 0; i < chain->launches; i++)
        if (!chain->between(chain->device) || !record(chain, events[2 * i]) || !launch_once(chain, i) ||
            !record(chain, events[2 * i + 1]))
            return false;
    return true;
}

/* Enqueues one sample. */
static bool enqueue_sample(const struct chain *chain, const struct timer *timer)
{
    return (chain->between ? enqueue_pairs(chain, timer->events) : enqueue_chain(chain, timer->events)) &&
           cuda_launch_clock(chain->device, chain->reading);
}

static void timer_close(struct timer *timer)
{
    if (timer->graph)
        cudaGraphExecDestroy(timer->graph);
    for (size_t i = 0; i < EVENTS_MAX; i++)
        if (timer->events[i])
            cudaEventDestroy(timer->events[i]);
    *timer = (struct timer){0};
}

/* Captures a sample into a graph. */
static bool timer_open(struct timer *timer, const struct chain *chain)
{
    cudaGraph_t graph = NULL;
    bool captured = true;

    *timer = (struct timer){0};
    for (size_t i = 0; i < EVENTS_MAX; i++)
        captured = captured && cudaEventCreate(&timer->events[i]) == cudaSuccess;
    captured =
        captured && cudaStreamBeginCapture(chain->device->stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
    if (captured) {
        captured = enqueue_sample(chain, timer);
        captured = cudaStreamEndCapture(chain->device->stream, &graph) == cudaSuccess && captured;
    }
    captured = captured && cudaGraphInstantiateWithFlags(&timer->graph, graph, 0) == cudaSuccess &&
               cudaGraphUpload(timer->graph, chain->device->stream) == cudaSuccess;
    if (graph)
        cudaGraphDestroy(graph);
    if (!captured)
        timer_close(timer);
    return captured;
}

/* ns from one event to another; NaN on an error. */
static double elapsed_ns(cudaEvent_t from, cudaEvent_t to)
{
    float ms;

    return cudaEventElapsedTime(&ms, from, to) == cudaSuccess ? 1e6 * (double)ms : NAN;
}

/* The slope between a short chain and a long one: what is fixed in both cancels. */
static double read_chain(const struct chain *chain, const cudaEvent_t *events)
{
    return (elapsed_ns(events[1], events[2]) - elapsed_ns(events[0], events[1])) / chain->launches;
}

/* The mean of the pairs, less what a pair adds. */
static double read_pairs(const struct chain *chain, const cudaEvent_t *events)
{
    double total_ns = 0;

    for (uint32_t i = 0; i < chain->launches; i++)
        total_ns += elapsed_ns(events[2 * i], events[2 * i + 1]);
    return total_ns / chain->launches - chain->extra_ns;
}

/* ns of one launch, from the events of a sample that has ended; NaN on an error. */
static double timer_read(const struct timer *timer, const struct chain *chain)
{
    return chain->between ? read_pairs(chain, timer->events) : read_chain(chain, timer->events);
}

/* Median ns of a few samples of a chain, now; NaN when one fails. */
static double median_now(const struct chain *chain, size_t samples)
{
    double ns[CALIBRATION_SAMPLES], sorted[CALIBRATION_SAMPLES];
    struct summary summary = {.median = NAN};
    struct timer timer;

    if (!timer_open(&timer, chain))
        return NAN;
    for (size_t i = 0; i < samples; i++) {
        ns[i] = NAN;
        if (cudaGraphLaunch(timer.graph, chain->device->stream) == cudaSuccess && cuda_device_wait(chain->device))
            ns[i] = timer_read(&timer, chain);
        if (isnan(ns[i]))
            goto out;
    }
    stats_summarize(ns, samples, sorted, &summary);
out:
    timer_close(&timer);
    return summary.median;
}

static bool spin_between(struct cuda_device *device)
{
    return cuda_launch_spin(device, CALIBRATION_SPIN_NS);
}

struct empty_launch cuda_time_empty_launch(struct cuda_device *device)
{
    const struct chain chain = {.device = device, .lead_in = LEAD_IN_LAUNCHES, .launches = LAUNCHES_MAX / 4};
    const struct chain pairs = {.device = device, .launches = COLD_LAUNCHES, .between = spin_between};

    return (struct empty_launch){
        .chain_ns = median_now(&chain, CALIBRATION_SAMPLES),
        .pair_ns = median_now(&pairs, CALIBRATION_SAMPLES),
    };
}

/* -- sampling ----------------------------------------------------------------------------------------- */

/* The state of sampling one item. */
struct sampling {
    struct cell_result *result;
    struct chain chain;
    struct timer timer;
    double *samples_ns, *clocks_mhz, *sorted; /* samples_max each */
    size_t count;
    double seconds;                           /* of its samples so far */
    bool done;
};

static void fail(struct sampling *sampling, const char *what)
{
    engine_end_cell(sampling->result, CELL_FAILED, "%s: %s", what, cuda_device_error(sampling->chain.device));
    sampling->done = true;
}

/* Launches of a sample, from how long one took in a short chain. */
static uint32_t sample_launches(double sample_ns, double launch_ns)
{
    const double launches = ceil(sample_ns / launch_ns);

    return launches < 1 ? 1 : launches > LAUNCHES_MAX ? LAUNCHES_MAX : (uint32_t)launches;
}

/* ns that a kernel has to spin to add work_ns to a chain: its launch is part of the work. At least 1. */
static uint64_t slow_work(double work_ns, const struct empty_launch *empty)
{
    return work_ns > empty->chain_ns + 1 ? (uint64_t)(work_ns - empty->chain_ns) : 1;
}

/* Launches of a sample and of its lead-in. False when the cell cannot be launched. */
static bool size_chain(struct chain *chain, const struct empty_launch *empty, const struct engine_options *options)
{
    double estimate_ns;

    if (chain->between) {
        chain->launches = COLD_LAUNCHES;
        chain->extra_ns = empty->pair_ns - empty->chain_ns;
        return true;
    }
    chain->lead_in = 1;
    chain->launches = ESTIMATE_LAUNCHES;
    estimate_ns = median_now(chain, 1);
    if (isnan(estimate_ns))
        return false;
    chain->launches = sample_launches(options->sample_ns, estimate_ns);
    chain->lead_in = LEAD_IN_LAUNCHES + chain->launches / LEAD_IN_SHARE;
    if (options->slow_path == chain->launch->cell->path)
        chain->slow_ns = slow_work(options->slow_share * estimate_ns * chain->launches, empty);
    return true;
}

static void sampling_open(struct sampling *sampling, struct cuda_device *device, const struct timed_item *item,
                          size_t index, const struct empty_launch *empty, const struct engine_options *options)
{
    const struct cell *cell = &item->result->cell;

    *sampling = (struct sampling){
        .result = item->result,
        .chain = {.device = device,
                  .launch = item->launch,
                  .between = cell->regime->flush ? cuda_launch_flush : NULL,
                  .reading = index},
        .samples_ns = calloc(options->samples_max, sizeof(double)),
        .clocks_mhz = calloc(options->samples_max, sizeof(double)),
        .sorted = calloc(options->samples_max, sizeof(double)),
        .done = item->launch->modules == 0,
    };
    if (sampling->done)
        return;
    if (!sampling->samples_ns || !sampling->clocks_mhz || !sampling->sorted)
        fail(sampling, "out of memory for samples");
    else if (!size_chain(&sampling->chain, empty, options))
        fail(sampling, "cannot launch");
    else if (!timer_open(&sampling->timer, &sampling->chain))
        fail(sampling, "cannot make a graph");
}

static void sampling_close(struct sampling *sampling)
{
    timer_close(&sampling->timer);
    free(sampling->samples_ns);
    free(sampling->clocks_mhz);
    free(sampling->sorted);
}

/* Why sampling may stop now; STOP_NONE to go on. */
static enum stop_reason sampling_stop(struct sampling *sampling, const struct engine_options *options)
{
    struct summary summary;

    if (sampling->count < SAMPLES_MIN && sampling->count < options->samples_max)
        return STOP_NONE;
    stats_summarize(sampling->samples_ns, sampling->count, sampling->sorted, &summary);
    if (stats_relative_half_width(&summary) <= options->max_noise)
        return STOP_CONVERGED;
    if (sampling->count >= options->samples_max)
        return STOP_SAMPLES;
    return sampling->seconds >= options->seconds_max ? STOP_TIME : STOP_NONE;
}

/* Moves what was sampled into the result. */
static void settle(struct sampling *sampling, enum stop_reason reason)
{
    struct cell_time *time = &sampling->result->time;

    stats_summarize(sampling->samples_ns, sampling->count, sampling->sorted, &time->summary);
    engine_settle_clock(sampling->result, sampling->clocks_mhz, sampling->count);
    time->launches_per_sample = sampling->chain.launches;
    time->stop_reason = reason;
    free(time->samples_ns);
    time->samples_ns = sampling->samples_ns;
    sampling->samples_ns = NULL;
    if (reason != STOP_CONVERGED)
        sampling->result->flags |= FLAG_UNSTABLE;
}

/* Takes over the sample that has just ended. */
static void take_sample(struct sampling *sampling, uint32_t samples_max)
{
    const struct clock_reading *clock = &sampling->chain.device->clock_readings[sampling->chain.reading];
    const double ns = timer_read(&sampling->timer, &sampling->chain);

    if (isnan(ns)) {
        fail(sampling, "cannot read the time");
        return;
    }
    if (sampling->count >= samples_max)
        return;
    sampling->samples_ns[sampling->count] = ns;
    sampling->clocks_mhz[sampling->count] = clock->ns ? 1e3 * (double)clock->cycles / (double)clock->ns : NAN;
    sampling->count++;
    sampling->seconds += 1e-9 * (ns + sampling->chain.extra_ns) * sampling->chain.launches;
}

/* One sample of every item, in a new order. Items that have settled go on: they keep the order random for the
 * others, since a small kernel's time depends a little on what ran before it. */
static void sample_round(struct cuda_device *device, struct sampling *samplings, size_t *order, size_t count,
                         uint64_t *random, uint32_t samples_max)
{
    size_t left = 0;
    bool ended;

    for (size_t i = 0; i < count; i++)
        if (!samplings[i].done)
            order[left++] = i;
    random_shuffle(random, order, left);
    for (size_t i = 0; i < left; i++)
        if (cudaGraphLaunch(samplings[order[i]].timer.graph, device->stream) != cudaSuccess)
            fail(&samplings[order[i]], "cannot launch the graph");
    ended = cuda_device_wait(device);
    for (size_t i = 0; i < left; i++) {
        struct sampling *sampling = &samplings[order[i]];

        if (!ended && !sampling->done)
            fail(sampling, "a launch failed");
        else if (!sampling->done)
            take_sample(sampling, samples_max);
    }
}

/* How many items may not stop yet. */
static size_t count_unsettled(struct sampling *samplings, size_t count, const struct engine_options *options)
{
    size_t unsettled = 0;

    for (size_t i = 0; i < count; i++)
        unsettled += !samplings[i].done && sampling_stop(&samplings[i], options) == STOP_NONE;
    return unsettled;
}

/* Rounds until every item may stop, or the user wants to. The first round is warm-up and not counted. */
static void sample_rounds(struct cuda_device *device, struct sampling *samplings, size_t *order, size_t count,
                          const struct engine_options *options, const struct progress *progress)
{
    uint64_t random = options->seed;
    size_t unsettled = count;

    sample_round(device, samplings, order, count, &random, 0);
    while (unsettled > 0 && !progress->step(progress->context, "timing", count - unsettled, count)) {
        sample_round(device, samplings, order, count, &random, options->samples_max);
        unsettled = count_unsettled(samplings, count, options);
    }
    for (size_t i = 0; i < count; i++) {
        const enum stop_reason reason = samplings[i].done ? STOP_NONE : sampling_stop(&samplings[i], options);

        if (reason != STOP_NONE)
            settle(&samplings[i], reason);
    }
}

enum status cuda_time_items(struct cuda_device *device, struct timed_item *items, size_t count,
                            const struct empty_launch *empty, const struct engine_options *options,
                            const struct progress *progress)
{
    struct sampling *samplings = calloc(count + 1, sizeof(*samplings));
    size_t *order = calloc(count + 1, sizeof(*order));
    enum status status = STATUS_OK;

    if (!samplings || !order) {
        status = log_error(STATUS_ENVIRONMENT, "out of memory");
        goto out;
    }
    for (size_t i = 0; i < count; i++)
        sampling_open(&samplings[i], device, &items[i], i, empty, options);
    sample_rounds(device, samplings, order, count, options, progress);
out:
    for (size_t i = 0; samplings && i < count; i++)
        sampling_close(&samplings[i]);
    free(samplings);
    free(order);
    return status;
}
