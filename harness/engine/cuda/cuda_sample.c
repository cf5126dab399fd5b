/* SPDX-License-Identifier: MIT
 * The graph of a sample and what its stamps say. Draws of a hot sample follow each other in one
 * graph:
 *
 *   shuffle | lead-in | stamp | short stretch | stamp | long stretch | stamp
 *
 *   ns of a launch = (long - short) / additional launches, medians over draws */
#include "cuda_sample.h"

#include <math.h>

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

static bool stamp(const struct cuda_chain *chain, uint32_t draw, uint32_t number)
{
    return cuda_launch_stamp(chain->device, CUDA_DRAW_STAMPS * draw + number);
}

/* A planted slowdown adds its work to the first draw. */
static bool slow(const struct cuda_chain *chain, uint32_t draw)
{
    return draw > 0 || chain->slow_ns == 0 || cuda_launch_spin(chain->device, chain->slow_ns);
}

/* Enqueues the launches between the stamps of a short stretch. */
static bool launch_short(const struct cuda_chain *chain, uint32_t buffer_set, uint32_t table_offset)
{
    return chain->reference ? launch_many(chain, buffer_set, table_offset, chain->reference)
                            : cuda_launch_empty(chain->device);
}

/* -- graphs ------------------------------------------------------------------------------------ */

void cuda_sample_close(struct cuda_sample *sample, struct cuda_device *device)
{
    for (size_t i = 0; i < CUDA_BUFFER_SETS_MAX; i++)
        if (sample->graphs[i])
            CUDA_TRY(device, cudaGraphExecDestroy, sample->graphs[i]);
    *sample = (struct cuda_sample){0};
}

/* Captures the launches of a sample. NULL after a failure. */
static cudaGraph_t capture(const struct cuda_chain *chain, uint32_t buffer_set)
{
    struct cuda_device *device = chain->device;
    const uint32_t each = chain->repetitions ? chain->launches / chain->repetitions : 0;
    cudaGraph_t graph = NULL;
    bool captured =
        CUDA(device, cudaStreamBeginCapture, device->stream, cudaStreamCaptureModeThreadLocal);

    if (!captured)
        return NULL;
    if (chain->repetitions == 0)
        captured = launch_many(chain, buffer_set, 0, chain->launches);
    for (uint32_t i = 0; captured && chain->cold && i < chain->repetitions; i++)
        captured = cuda_launch_flush(device) && stamp(chain, i, 0) &&
                   launch_short(chain, buffer_set, i) && stamp(chain, i, 1) &&
                   cuda_launch_flush(device) && stamp(chain, i, 2) &&
                   launch_once(chain, i, buffer_set, i) && slow(chain, i) && stamp(chain, i, 3);
    /* The additional launches of long stretches take the table offsets in turn, from draw to
     * draw. */
    for (uint32_t i = 0; captured && !chain->cold && i < chain->repetitions; i++)
        captured = launch_sm_shuffle(device) &&
                   launch_many(chain, buffer_set, i * each, chain->lead_in) && stamp(chain, i, 0) &&
                   launch_short(chain, buffer_set, i * each) && stamp(chain, i, 1) &&
                   stamp(chain, i, 2) &&
                   launch_many(chain, buffer_set, i * each, chain->reference + each) &&
                   slow(chain, i) && stamp(chain, i, 3);
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
    for (uint32_t i = 0; i <= chain->replays; i++)
        if (!CUDA(chain->device, cudaGraphLaunch, sample->graphs[buffer_set],
                  chain->device->stream))
            return false;
    /* Not in the graph: once the probe has written, the last replay has ended. */
    return cuda_launch_clock(chain->device, chain->reading);
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
    double ns = chain->reference ? 0 : chain->repetitions * chain->device->info->launch_ns;

    for (uint32_t i = 0; i < chain->repetitions; i++, stamps_ns += CUDA_DRAW_STAMPS)
        ns += (double)(stamps_ns[3] - stamps_ns[2]) - (double)(stamps_ns[1] - stamps_ns[0]);
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
                                     .repetitions = CUDA_REPETITIONS_MAX,
                                     .launches = CUDA_LAUNCHES_MAX / 4,
                                     .buffer_sets = 1,
                                     .table_offsets = 1,
                                     .replays = 1};

    return cuda_sample_median(&chain, CALIBRATION_SAMPLES);
}
