/* SPDX-License-Identifier: MIT */
#include "cuda_sample.h"

#include <math.h>

#include "stats.h"

enum { CALIBRATION_SAMPLES = 31 }; /* of the empty kernel */

/* A launch of the cell; without one, of the empty kernel. */
static bool launch_once(struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn)
{
    return launch ? cuda_launch_cell(device, launch, turn) : cuda_launch_empty(device);
}

static bool launch_many(const struct cuda_chain *chain, uint32_t place, uint32_t launches)
{
    for (uint32_t i = 0; i < launches; i++)
        if (!launch_once(chain->device, chain->launch, (struct cuda_turn){i, place}))
            return false;
    return true;
}

static bool record(const struct cuda_chain *chain, cudaEvent_t event)
{
    return CUDA(chain->device, cudaEventRecordWithFlags, event, chain->device->stream, cudaEventRecordExternal);
}

static bool enqueue_chain(const struct cuda_chain *chain, const cudaEvent_t *events, uint32_t place)
{
    return cuda_launch_stir(chain->device) && launch_many(chain, place, chain->lead_in) && record(chain, events[0]) &&
           launch_many(chain, place, chain->reference) && record(chain, events[1]) &&
           launch_many(chain, place, chain->reference + chain->launches) &&
           (chain->slow_ns == 0 || cuda_launch_spin(chain->device, chain->slow_ns)) && record(chain, events[2]);
}

/* A launch behind a flush, between two stamps, from number `stamp` on. */
static bool enqueue_pair(const struct cuda_chain *chain, const struct cuda_launch *launch, struct cuda_turn turn,
                         uint32_t stamp)
{
    struct cuda_device *device = chain->device;
    const uint64_t slow_ns = launch && turn.number == 0 ? chain->slow_ns : 0;

    return chain->between(device) && cuda_launch_stamp(device, stamp) && launch_once(device, launch, turn) &&
           (slow_ns == 0 || cuda_launch_spin(device, slow_ns)) && cuda_launch_stamp(device, stamp + 1);
}

/* A pair of the empty kernel, one of the cell; and so on. */
static bool enqueue_pairs(const struct cuda_chain *chain, uint32_t place)
{
    for (uint32_t i = 0; i < chain->launches; i++) {
        const struct cuda_turn turn = {i, place};
        const uint32_t stamp = CUDA_COLD_STAMPS * i;

        if (!enqueue_pair(chain, NULL, turn, stamp) ||
            !enqueue_pair(chain, chain->launch, turn, stamp + CUDA_COLD_STAMPS / 2))
            return false;
    }
    return true;
}

void cuda_sample_close(struct cuda_sample *sample, struct cuda_device *device)
{
    for (size_t i = 0; i < CUDA_PLACEMENTS_MAX; i++)
        if (sample->graphs[i])
            CUDA_TRY(device, cudaGraphExecDestroy, sample->graphs[i]);
    for (size_t i = 0; i < CUDA_EVENTS; i++)
        if (sample->events[i])
            CUDA_TRY(device, cudaEventDestroy, sample->events[i]);
    *sample = (struct cuda_sample){0};
}

bool cuda_sample_open(struct cuda_sample *sample, struct cuda_device *device)
{
    bool made = true;

    *sample = (struct cuda_sample){0};
    for (size_t i = 0; i < CUDA_EVENTS; i++)
        made = made && CUDA(device, cudaEventCreate, &sample->events[i]);
    if (!made)
        cuda_sample_close(sample, device);
    return made;
}

/* Captures a sample into a graph. A capture that has begun is ended, whatever failed: else no other call works. */
static bool capture(const struct cuda_sample *sample, const struct cuda_chain *chain, uint32_t place,
                    cudaGraph_t *graph)
{
    struct cuda_device *device = chain->device;
    bool captured;

    if (!CUDA(device, cudaStreamBeginCapture, device->stream, cudaStreamCaptureModeThreadLocal))
        return false;
    captured = chain->between ? enqueue_pairs(chain, place) : enqueue_chain(chain, sample->events, place);
    if (!CUDA(device, cudaStreamEndCapture, device->stream, graph)) {
        CUDA_TRY(device, cudaStreamEndCapture, device->stream, graph);
        return false;
    }
    return captured;
}

bool cuda_sample_place(struct cuda_sample *sample, const struct cuda_chain *chain, uint32_t place)
{
    struct cuda_device *device = chain->device;
    cudaGraphExec_t *made = &sample->graphs[place];
    cudaGraph_t graph = NULL;
    bool placed;

    placed = capture(sample, chain, place, &graph) && CUDA(device, cudaGraphInstantiateWithFlags, made, graph, 0) &&
             CUDA(device, cudaGraphUpload, *made, device->stream);
    if (graph)
        CUDA_TRY(device, cudaGraphDestroy, graph);
    return placed;
}

bool cuda_sample_launch(const struct cuda_sample *sample, const struct cuda_chain *chain, uint32_t place)
{
    for (uint32_t i = 0; i <= chain->replays; i++)
        if (!CUDA(chain->device, cudaGraphLaunch, sample->graphs[place], chain->device->stream))
            return false;
    /* Not in the graph: where it has written, the last replay has ended. */
    return cuda_launch_clock(chain->device, chain->reading);
}

/* ns from one event to another; NaN on an error. */
static double elapsed_ns(const struct cuda_chain *chain, cudaEvent_t from, cudaEvent_t to)
{
    float ms;

    return CUDA(chain->device, cudaEventElapsedTime, &ms, from, to) ? 1e6 * (double)ms : NAN;
}

/* The slope between a short chain and a long one: what is fixed in both cancels. */
static double read_chain(const struct cuda_chain *chain, const cudaEvent_t *events)
{
    return (elapsed_ns(chain, events[1], events[2]) - elapsed_ns(chain, events[0], events[1])) / chain->launches;
}

/* What the cell takes more than the empty kernel does, and what that adds to a chain. Means, since ticks of the timer are
 * long, and work that is planted is in one launch. */
static double read_pairs(const struct cuda_chain *chain, const uint64_t *stamps_ns)
{
    uint64_t cell_ns = 0, empty_ns = 0;

    for (uint32_t i = 0; i < chain->launches; i++, stamps_ns += CUDA_COLD_STAMPS) {
        empty_ns += stamps_ns[1] - stamps_ns[0];
        cell_ns += stamps_ns[3] - stamps_ns[2];
    }
    return ((double)cell_ns - (double)empty_ns) / chain->launches + chain->device->info->launch_ns;
}

static const uint64_t *stamps_of(const struct cuda_chain *chain)
{
    return chain->device->clock_readings[chain->reading].stamps_ns;
}

double cuda_sample_ns(const struct cuda_sample *sample, const struct cuda_chain *chain)
{
    return chain->between ? read_pairs(chain, stamps_of(chain)) : read_chain(chain, sample->events);
}

double cuda_sample_total_ns(const struct cuda_sample *sample, const struct cuda_chain *chain)
{
    const uint64_t *const stamps_ns = stamps_of(chain);

    return chain->between ? (double)(stamps_ns[CUDA_COLD_STAMPS * chain->launches - 1] - stamps_ns[0])
                          : elapsed_ns(chain, sample->events[0], sample->events[CUDA_EVENTS - 1]);
}

/* Median ns of a few samples of a chain, now; NaN when one fails. */
double cuda_sample_median(const struct cuda_chain *chain, size_t samples)
{
    double ns[CALIBRATION_SAMPLES], sorted[CALIBRATION_SAMPLES];
    struct summary summary = {.median = NAN};
    struct cuda_sample sample;

    if (!cuda_sample_open(&sample, chain->device))
        return NAN;
    if (!cuda_sample_place(&sample, chain, 0))
        goto out;
    for (size_t i = 0; i < samples; i++) {
        ns[i] = NAN;
        if (cuda_sample_launch(&sample, chain, 0) && cuda_device_wait(chain->device))
            ns[i] = cuda_sample_ns(&sample, chain);
        if (isnan(ns[i]))
            goto out;
    }
    stats_summarize(ns, samples, sorted, &summary);
out:
    cuda_sample_close(&sample, chain->device);
    return summary.median;
}

double cuda_time_empty_launch(struct cuda_device *device)
{
    const struct cuda_chain chain = {.device = device,
                                     .lead_in = CUDA_REFERENCE_LAUNCHES,
                                     .reference = CUDA_REFERENCE_LAUNCHES,
                                     .launches = CUDA_LAUNCHES_MAX / 4,
                                     .placements = 1,
                                     .replays = 1};

    return cuda_sample_median(&chain, CALIBRATION_SAMPLES);
}
