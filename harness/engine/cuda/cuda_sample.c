/* SPDX-License-Identifier: MIT
 * The graph of a draw, and what the stamps of a sample say. The draws of a sample are launches of
 * one graph after each other:
 *
 *   shuffle | lead-in | stamp | short stretch | stamp | stamp | long stretch | stamp
 *
 *   ns of a launch = (long - short) / additional launches, medians over draws
 *
 * Where each launch is a call of the host, a sample has the same draws without the shuffle, in no
 * graph, and the host stamps when the stream is idle. */
#include "cuda_sample.h"

#include <math.h>

#include "clock.h"
#include "parallel.h"
#include "stats.h"

enum {
    CALIBRATION_SAMPLES = 31, /* of the empty kernel */
    MAKING_THREADS = 4, /* that make graphs: the driver lets more of them wait for each other */
};

/* Launches the cell, or else the empty kernel. */
static bool launch_once(const struct cuda_chain *chain, uint32_t number, uint32_t buffer_set,
                        uint32_t table_offset)
{
    const struct cuda_turn turn = {number, buffer_set, table_offset % chain->table_offsets};

    if (chain->launchable)
        return launchable_launch(chain->device, chain->launchable, turn);
    return chain->empty_blocks
               ? cuda_launch_empty_grid(chain->device, chain->empty_blocks, chain->empty_threads)
               : cuda_launch_empty(chain->device);
}

static bool launch_many(const struct cuda_chain *chain, uint32_t buffer_set, uint32_t table_offset,
                        uint32_t launches)
{
    for (uint32_t i = 0; i < launches; i++)
        if (!launch_once(chain, i, buffer_set, table_offset + i))
            return false;
    return true;
}

/* -- draws ------------------------------------------------------------------------------------- */

enum { SHORT_BEGINS, SHORT_ENDS, LONG_BEGINS, LONG_ENDS }; /* stamps of a draw */

static bool stamp(const struct cuda_chain *chain, uint32_t number)
{
    /* A planted slowdown makes the long stretch end later. */
    return cuda_launch_stamp(chain->device, number, number == LONG_ENDS ? chain->slow_ns : 0);
}

/* Enqueues the launches between the stamps of a short stretch. */
static bool launch_short(const struct cuda_chain *chain, uint32_t buffer_set, uint32_t table_offset)
{
    return chain->reference ? launch_many(chain, buffer_set, table_offset, chain->reference)
                            : cuda_launch_empty(chain->device);
}

static bool launch_cold_draw(const struct cuda_chain *chain, uint32_t buffer_set)
{
    struct cuda_device *device = chain->device;

    return cuda_launch_flush(device) && stamp(chain, SHORT_BEGINS) &&
           launch_short(chain, buffer_set, buffer_set) && stamp(chain, SHORT_ENDS) &&
           cuda_launch_flush(device) && stamp(chain, LONG_BEGINS) &&
           launch_once(chain, 0, buffer_set, buffer_set) && stamp(chain, LONG_ENDS);
}

/* The additional launches of long stretches take the table offsets in turn, from buffer set to
 * buffer set. */
static bool launch_hot_draw(const struct cuda_chain *chain, uint32_t buffer_set)
{
    const uint32_t each = chain->launches / chain->draws, first = buffer_set * each;

    return launch_sm_shuffle(chain->device) &&
           launch_many(chain, buffer_set, first, chain->lead_in) && stamp(chain, SHORT_BEGINS) &&
           launch_short(chain, buffer_set, first) && stamp(chain, SHORT_ENDS) &&
           stamp(chain, LONG_BEGINS) &&
           launch_many(chain, buffer_set, first, chain->reference + each) &&
           stamp(chain, LONG_ENDS);
}

/* Enqueues a draw, or launches alone. */
static bool launch_draw(const struct cuda_chain *chain, uint32_t buffer_set)
{
    if (chain->draws == 0)
        return launch_many(chain, buffer_set, 0, chain->launches);
    return chain->cold ? launch_cold_draw(chain, buffer_set) : launch_hot_draw(chain, buffer_set);
}

/* -- by the host's clock ----------------------------------------------------------------------- */

/* Waits until the stream is idle, and reads the clock. */
static bool stamp_by_host(const struct cuda_chain *chain, uint32_t draw, uint32_t number)
{
    uint64_t *const stamps_ns = chain->device->tools.readings[chain->reading].stamps_ns;

    if (!cuda_device_wait(chain->device))
        return false;
    stamps_ns[TOOL_DRAW_STAMPS * draw + number] = clock_nanoseconds();
    return true;
}

/* Takes the draws of a sample. Each stretch begins and ends on an idle stream. */
static bool take_by_host(const struct cuda_chain *chain, uint32_t buffer_set)
{
    const uint32_t each = chain->launches / chain->draws;
    bool taken = true;

    for (uint32_t i = 0; taken && i < chain->draws; i++)
        taken = launch_many(chain, buffer_set, 0, chain->lead_in) &&
                stamp_by_host(chain, i, SHORT_BEGINS) && launch_short(chain, buffer_set, 0) &&
                stamp_by_host(chain, i, SHORT_ENDS) && stamp_by_host(chain, i, LONG_BEGINS) &&
                launch_many(chain, buffer_set, 0, chain->reference + each) &&
                stamp_by_host(chain, i, LONG_ENDS);
    /* The clock is probed without stamps of the device. */
    return taken && cuda_launch_clock(chain->device, chain->reading, 0);
}

/* -- graphs ------------------------------------------------------------------------------------ */

void cuda_sample_close(struct cuda_sample *sample, struct cuda_device *device)
{
    for (size_t i = 0; i < CUDA_BUFFER_SETS_MAX; i++)
        if (sample->graphs[i])
            CUDA_TRY(device, cudaGraphExecDestroy, sample->graphs[i]);
    *sample = (struct cuda_sample){0};
}

/* Captures the launches of a draw. NULL after a failure. */
static cudaGraph_t capture(const struct cuda_chain *chain, uint32_t buffer_set)
{
    struct cuda_device *device = chain->device;
    cudaGraph_t graph = NULL;
    bool captured =
        CUDA(device, cudaStreamBeginCapture, device->stream, cudaStreamCaptureModeThreadLocal);

    if (!captured)
        return NULL;
    captured = launch_draw(chain, buffer_set);
    /* A capture that has started must end, even after a failure: otherwise no other call works. */
    if (!CUDA(device, cudaStreamEndCapture, device->stream, &graph)) {
        CUDA_TRY(device, cudaStreamEndCapture, device->stream, &graph);
        captured = false;
    }
    if (graph && !captured) {
        CUDA_TRY(device, cudaGraphDestroy, graph);
        graph = NULL;
    }
    return graph;
}

/* Captured graphs that become executable ones. */
struct making {
    uint32_t device; /* CUDA's number: a thread starts with device 0 */
    cudaGraph_t captured[CUDA_BUFFER_SETS_MAX];
    cudaGraphExec_t *graphs; /* one for each */
    cudaError_t codes[CUDA_BUFFER_SETS_MAX];
};

static void instantiate(void *context, uint64_t first, uint64_t count)
{
    struct making *making = context;
    const cudaError_t code = cudaSetDevice((int)making->device);

    for (uint64_t i = first; i < first + count; i++)
        making->codes[i] =
            code != cudaSuccess
                ? code
                : cudaGraphInstantiateWithFlags(&making->graphs[i], making->captured[i], 0);
}

bool cuda_sample_make(struct cuda_sample *sample, const struct cuda_chain *chain, uint32_t first,
                      uint32_t count)
{
    struct cuda_device *device = chain->device;
    struct making making = {.device = device->ordinal, .graphs = &sample->graphs[first]};
    cudaError_t code = cudaSuccess;
    uint32_t captured = 0;
    bool made;

    if (chain->by_host)
        return true;
    while (captured < count && (making.captured[captured] = capture(chain, first + captured)))
        captured++;
    made = captured == count && cuda_call_begin(device, "cudaGraphInstantiateWithFlags");
    if (made) {
        parallel_ranges(count, (count + MAKING_THREADS - 1) / MAKING_THREADS, instantiate, &making);
        for (uint32_t i = 0; i < count && code == cudaSuccess; i++)
            code = making.codes[i];
        made = cuda_call_end(device, "cudaGraphInstantiateWithFlags", code);
    }
    for (uint32_t i = 0; i < captured; i++)
        CUDA_TRY(device, cudaGraphDestroy, making.captured[i]);
    return made;
}

bool cuda_sample_upload(const struct cuda_sample *sample, const struct cuda_chain *chain)
{
    bool uploaded = true;

    for (uint32_t i = 0; uploaded && i < CUDA_BUFFER_SETS_MAX; i++)
        uploaded = !sample->graphs[i] ||
                   CUDA(chain->device, cudaGraphUpload, sample->graphs[i], chain->device->stream);
    return uploaded;
}

bool cuda_sample_launch(const struct cuda_sample *sample, const struct cuda_chain *chain,
                        uint32_t buffer_set)
{
    const uint32_t draws = chain->draws ? chain->draws : 1;

    if (chain->by_host)
        return take_by_host(chain, buffer_set);
    for (uint32_t i = 0; i < chain->replays + draws; i++)
        if (!CUDA(chain->device, cudaGraphLaunch, sample->graphs[buffer_set],
                  chain->device->stream))
            return false;
    /* Not in the graph: once the probe has written, the last draw has ended. */
    return cuda_launch_clock(chain->device, chain->reading, chain->draws);
}

/* -- times ------------------------------------------------------------------------------------- */

const struct clock_reading *cuda_sample_reading(const struct cuda_chain *chain)
{
    return &chain->device->tools.readings[chain->reading];
}

/* The slope between short and long stretches: costs common to both cancel. If the short one is an
 * empty kernel, its own slope is added. */
double cuda_sample_ns(const struct cuda_chain *chain)
{
    const uint64_t *stamps_ns = cuda_sample_reading(chain)->stamps_ns;
    double ns = chain->reference ? 0 : chain->draws * chain->device->info->launch_ns;

    for (uint32_t i = 0; i < chain->draws; i++, stamps_ns += TOOL_DRAW_STAMPS)
        ns += (double)(stamps_ns[LONG_ENDS] - stamps_ns[LONG_BEGINS]) -
              (double)(stamps_ns[SHORT_ENDS] - stamps_ns[SHORT_BEGINS]);
    return ns / chain->launches;
}

double cuda_sample_median(const struct cuda_chain *chain, size_t samples)
{
    double ns[CALIBRATION_SAMPLES], sorted[CALIBRATION_SAMPLES];
    struct summary summary = {.value = NAN};
    struct cuda_sample sample = {0};

    if (!cuda_sample_make(&sample, chain, 0, 1) || !cuda_sample_upload(&sample, chain))
        goto out;
    for (size_t i = 0; i < samples; i++) {
        ns[i] = NAN;
        if (cuda_sample_launch(&sample, chain, 0) && cuda_device_wait(chain->device))
            ns[i] = cuda_sample_ns(chain);
        if (isnan(ns[i]))
            goto out;
    }
    stats_summarize(ns, samples, sorted, &summary);
out:
    cuda_sample_close(&sample, chain->device);
    return summary.value;
}

double cuda_time_empty_launch(struct cuda_device *device)
{
    const struct cuda_chain chain = {.device = device,
                                     .lead_in = CUDA_LEAD_IN_LAUNCHES,
                                     .reference = CUDA_REFERENCE_LAUNCHES,
                                     .draws = TOOL_DRAWS_MAX,
                                     .launches = CUDA_LAUNCHES_MAX / 4,
                                     .buffer_sets = 1,
                                     .table_offsets = 1,
                                     .replays = 1};

    return cuda_sample_median(&chain, CALIBRATION_SAMPLES);
}
