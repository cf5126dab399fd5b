/* SPDX-License-Identifier: MIT */
#include "cuda_timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_sampling.h"
#include "log.h"
#include "random.h"

enum {
    INTERRUPTED_MANY = 3,   /* samples of a group that were interrupted: something else has the device */
    FAULT_ROUND = 60,       /* with a planted fault: from here on, when some cells have settled, ... */
    FAULT_ITEM = 1,         /* ... in this one */
    DROPPED_MAX = 3,        /* rounds that may fail without a cell to put it down to */
    MORE_TURNS = 7, /* at most, of a cell in a round, when few are left: so the device does not wait for the host */
};

/* Of rounds before one counts, at least one: for up to 22 ms after graphs were made (H200), while which the device did nothing,
 * launches take 170 ns longer. */
static const double warm_seconds = 0.05;
static const double stretch_seconds = 0.25; /* of samples that are enqueued at a time, so that none is kept for long */

/* -- sampling ----------------------------------------------------------------------------------------- */

/* Cells that are sampled together. */
struct cuda_timing {
    struct cuda_device *device;
    const struct engine_options *options;
    const struct progress *progress;
    struct cuda_sampling *samplings;
    size_t *order; /* of a round: the item of each turn */
    size_t count, unsettled, dropped;
    size_t rounds; /* that count */
    double seconds; /* of the samples that were launched */
    bool warm; /* samples count */
    uint64_t random;
    bool planted; /* the fault */
    bool stopped; /* by the user */
    struct cuda_timing *past, *next; /* those before and behind it, not owned; NULL: there are none */
};

/* Whether a fault is still to be planted. */
static bool awaits_fault(const struct cuda_timing *timing)
{
    const struct fault *fault = timing->options->fault;

    return fault && (fault->address || fault->endless) && !timing->planted;
}

/* Shows how far it is; asks whether to stop. */
static void show_progress(struct cuda_timing *timing)
{
    timing->stopped =
        timing->progress->step(timing->progress->context, "timing", timing->count - timing->unsettled, timing->count);
}

/* Makes graphs for as long as the device is at work. What cannot be made now is tried again when its turn has come: then it can be
 * put down to a cell. */
static void make_ahead(struct cuda_timing *timing)
{
    bool made = true;

    for (size_t i = 0; made && timing && i < timing->count; i++)
        while (made && cuda_sampling_lacks_graphs(&timing->samplings[i]) && cuda_device_is_busy(timing->device))
            made = cuda_sampling_make_graph(&timing->samplings[i]);
    if (!made)
        cuda_device_error(timing->device);
}

/* Releases samplings for as long as the device is at work: a graph takes a tenth of a millisecond. */
static void release_past(struct cuda_timing *timing)
{
    while (timing && timing->count > 0 && cuda_device_is_busy(timing->device))
        cuda_sampling_close(&timing->samplings[--timing->count]);
}

/* Marks all that was sampled together if something else had the device meanwhile, and says so. */
static void flag_shared(const struct cuda_timing *timing)
{
    size_t interrupted = 0;

    for (size_t i = 0; i < timing->count; i++)
        interrupted += cuda_sampling_slices(&timing->samplings[i]);
    if (interrupted < INTERRUPTED_MANY)
        return;
    log_warning("something else has the GPU: %zu samples were interrupted; times are those of a shared GPU",
                interrupted);
    for (size_t i = 0; i < timing->count; i++)
        if (cuda_sampling_own(&timing->samplings[i]) > 0)
            timing->samplings[i].result->flags |= FLAG_SHARED;
}

/* -- rounds -------------------------------------------------------------------------------------------- */

/* The item of a turn, which writes to the reading of that turn. */
static struct cuda_sampling *turn_sampling(const struct cuda_timing *timing, size_t turn)
{
    struct cuda_sampling *sampling = &timing->samplings[timing->order[turn]];

    sampling->chain.reading = turn;
    return sampling;
}

/* Launches a sample, or fails its cell. */
static enum status launch_sample(struct cuda_timing *timing, size_t turn)
{
    struct cuda_sampling *const sampling = turn_sampling(timing, turn);
    struct cuda_device *device = timing->device;
    struct cuda_calls *calls = &device->calls;

    cuda_clock_clear(device, turn);
    calls->suspects[calls->suspect_count++] = (struct cuda_suspect){sampling->result, turn};
    if (awaits_fault(timing) && timing->rounds >= FAULT_ROUND && sampling == &timing->samplings[FAULT_ITEM])
        timing->planted = cuda_launch_fault(device, timing->options->fault);
    if (cuda_sampling_launch(sampling))
        return STATUS_OK;
    if (cuda_sampling_fail(sampling, "cannot launch the graph") != STATUS_OK)
        return STATUS_FINDING;
    calls->suspect_count--;
    return STATUS_OK;
}

/* Launches as many samples of a round, from one on, as make a stretch. *end is the one behind them. */
static enum status launch_stretch(struct cuda_timing *timing, size_t first, size_t left, size_t *end)
{
    enum status status = STATUS_OK;
    double seconds = 0;
    size_t i = first;

    cuda_expect(timing->device, 0);
    for (size_t k = 0; k < timing->count; k++)
        timing->samplings[k].ahead = timing->samplings[k].astray = 0;
    for (; status == STATUS_OK && i < left && seconds < stretch_seconds; i++) {
        const struct cuda_sampling *sampling = turn_sampling(timing, i);

        if (!sampling->done)
            status = launch_sample(timing, i);
        timing->device->calls.expected = seconds += sampling->settling.each;
    }
    timing->seconds += seconds;
    *end = i;
    return status;
}

/* The launches of a stretch failed. Cells whose launches did not end fail; without such a cell, the samples are lost. */
static enum status drop_stretch(struct cuda_timing *timing, size_t first, size_t end)
{
    struct cuda_device *device = timing->device;
    const bool lost = cuda_device_lost(device);
    char reason[CELL_REASON_BYTES];
    bool found = false;

    snprintf(reason, sizeof(reason), "a launch failed: %s", cuda_device_error(device));
    for (size_t i = first; !lost && i < end; i++) {
        struct cuda_sampling *sampling = turn_sampling(timing, i);

        if (sampling->done || cuda_clock_was_read(device, i))
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
static enum status sample_stretch(struct cuda_timing *timing, size_t left, size_t *next)
{
    const size_t first = *next;
    enum status status = launch_stretch(timing, first, left, next);

    if (status != STATUS_OK)
        return status;
    show_progress(timing);
    make_ahead(timing->next);
    release_past(timing->past);
    if (!cuda_device_wait(timing->device))
        return drop_stretch(timing, first, *next);
    for (size_t i = first; i < *next; i++)
        if (!turn_sampling(timing, i)->done)
            cuda_sampling_take(turn_sampling(timing, i), timing->options, timing->warm);
    return STATUS_OK;
}

/* Who is sampled in a round, in which order: all that have not settled, the fewer the more often, and the one that a fault is to
 * hit. Returns how many turns there are, at most one for each item. */
static size_t choose_round(struct cuda_timing *timing)
{
    const bool faulty = awaits_fault(timing);
    size_t chosen = 0, items;

    timing->unsettled = 0;
    for (size_t i = 0; i < timing->count; i++) {
        const bool unsettled = cuda_sampling_is_unsettled(&timing->samplings[i]);

        timing->unsettled += unsettled;
        if (unsettled || (faulty && i == FAULT_ITEM && !timing->samplings[i].done))
            timing->order[chosen++] = i;
    }
    items = chosen;
    for (int more = 0; more < MORE_TURNS && chosen + items <= timing->count; more++, chosen += items)
        memcpy(timing->order + chosen, timing->order, items * sizeof(*timing->order));
    random_shuffle(&timing->random, timing->order, chosen);
    timing->warm = timing->seconds >= warm_seconds;
    return chosen;
}

/* Rounds until every item may stop, or the user wants to. */
static enum status sample_rounds(struct cuda_timing *timing)
{
    enum status status = STATUS_OK;
    size_t chosen;

    for (; status == STATUS_OK && !timing->stopped && (chosen = choose_round(timing)) > 0;
         timing->rounds += timing->warm)
        for (size_t next = 0; status == STATUS_OK && next < chosen && !timing->stopped;)
            status = sample_stretch(timing, chosen, &next);
    for (size_t i = 0; i < timing->count; i++) {
        struct cuda_sampling *sampling = &timing->samplings[i];

        if (!sampling->done && !cuda_sampling_is_unsettled(sampling) && sampling->result->status == CELL_PENDING)
            settling_end(&sampling->settling, sampling->result, timing->options);
    }
    flag_shared(timing);
    return status;
}

/* -- open and close ----------------------------------------------------------------------------------- */

enum status cuda_timing_open(const struct cuda_timing_request *request, const struct timed_item *items, size_t count,
                             struct cuda_timing **out)
{
    struct cuda_timing *timing = calloc(1, sizeof(*timing));
    enum status status = STATUS_OK;

    *out = timing;
    if (!timing)
        return log_memory("samples");
    *timing = (struct cuda_timing){
        .device = request->device,
        .options = request->options,
        .progress = request->progress,
        .samplings = calloc(count + 1, sizeof(*timing->samplings)),
        .order = calloc(count + 1, sizeof(*timing->order)),
        .random = request->options->seed,
    };
    if (!timing->samplings || !timing->order)
        return log_memory("samples");
    for (timing->count = 0; status == STATUS_OK && timing->count < count; timing->count++)
        status = cuda_sampling_open(timing->device, &items[timing->count], request->planned, timing->options,
                                    &timing->samplings[timing->count]);
    return status;
}

void cuda_timing_close(struct cuda_timing *timing)
{
    if (!timing)
        return;
    for (size_t i = 0; i < timing->count; i++)
        cuda_sampling_close(&timing->samplings[i]);
    free(timing->samplings);
    free(timing->order);
    free(timing);
}

enum status cuda_timing_run(struct cuda_timing *timing, struct cuda_timing *past, struct cuda_timing *next)
{
    enum status status = STATUS_OK;

    timing->past = past;
    timing->next = next;
    timing->unsettled = timing->count;
    for (size_t i = 0; status == STATUS_OK && !timing->stopped && i < timing->count; i++) {
        status = cuda_sampling_place(&timing->samplings[i]);
        show_progress(timing);
    }
    return status == STATUS_OK ? sample_rounds(timing) : status;
}

bool cuda_timing_stopped(const struct cuda_timing *timing)
{
    return timing->stopped;
}
