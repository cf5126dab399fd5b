/* SPDX-License-Identifier: MIT
 * The phase `time` of the CUDA engine. Launches are in CUDA graphs, to exclude the host's launch
 * overhead.
 *
 * The time of a cell is the time that one more launch adds to a chain of launches in a stream.
 *
 * A sample is several draws: launches of one graph. A draw of a hot sample starts with a kernel
 * that lets the SMs come free in a random order. Lead-in launches bring the caches to the cell's
 * state. A short stretch of launches follows, and one that is longer by n. A draw of a cold sample
 * is a flush, an empty kernel, a flush and a launch. Stamps before and after each stretch read the
 * device's timer; a stamp is a kernel. The slope is the time of the long stretches less that of
 * the short ones, divided by the additional launches: fixed costs of a stretch cancel. For a
 * launch that is long by itself, the short stretch is an empty kernel, and the slope of that one
 * is added. A longer launch that fills L2 has no lead-in. (Events instead of stamps give a
 * different time in every graph, and the time depends on the length of a stretch.) If a cell's
 * data stay in L2, its graph is launched once more before, so that its commands are there, too.
 * After every sample the SM clock is probed, and the stamps are copied. Where each launch is a call
 * of the host (launch_path.h), the host stamps, when the stream is idle, and there is no graph.
 *
 * The samples of a cell take its buffer sets in turn (cuda_memory.h), each with a graph of its own.
 * Samples of all cells of a group are interleaved, each round in a new random order, until each
 * cell may stop. While the device works, the host makes the graphs of the next group; they are
 * uploaded before that group's first sample. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cuda_sampling.h"
#include "engine_cuda.h"
#include "log.h"
#include "random.h"

enum {
    /* interrupted samples of a group that show that something else uses the device */
    INTERRUPTED_MANY = 3,
    /* for a planted fault: from this round on, when some cells have settled, ... */
    FAULT_ROUND = 60,
    FAULT_ITEM = 1,       /* ... in this cell */
    DROPPED_MAX = 3,      /* rounds that may fail without a cell as the cause */
    MORE_TURNS = 7, /* extra samples of a cell in a round, at most, when few cells are left: they
                     * keep the device busy */
};
/* Rounds of this length, at least one, come before the first that counts. After graphs were made,
 * the device has been idle, and launches then take longer: by 170 ns after 22 ms (H200). */
static const double warm_seconds = 0.05;
static const double stretch_seconds = 0.25; /* of enqueued samples, so that no call waits long */

/* Cells that are sampled together. */
struct cuda_timing {
    struct cuda_device *device;
    const struct engine_options *options;
    const struct progress *progress;
    struct cuda_sampling *samplings; /* owned */
    size_t *order; /* order of a round: the item of each turn; owned */
    size_t count, unsettled, dropped;
    size_t before, planned; /* cells of earlier groups, and of all */
    size_t rounds; /* rounds that count */
    double seconds; /* of the samples launched */
    bool warm; /* samples count now */
    uint64_t random;
    bool planted; /* the fault was planted */
    bool stopped; /* the user asked to stop */
};

/* -- rounds ------------------------------------------------------------------------------------ */

/* Whether a fault is still to be planted. */
static bool awaits_fault(const struct cuda_timing *timing)
{
    const struct fault *fault = timing->options->fault;

    return fault && (fault->address || fault->endless) && !timing->planted;
}

/* Shows progress, and asks whether to stop. */
static void show_progress(struct cuda_timing *timing)
{
    timing->stopped =
        timing->progress->step(timing->progress->context, "timing",
                               timing->before + timing->count - timing->unsettled, timing->planned);
}

/* The item of a turn. It writes the reading of that turn. */
static struct cuda_sampling *turn_sampling(const struct cuda_timing *timing, size_t turn)
{
    struct cuda_sampling *sampling = &timing->samplings[timing->order[turn]];

    sampling->chain.reading = turn;
    return sampling;
}

/* Handles failed launches of the turns from `first` to end - 1. Cells whose launches did not end
 * fail; without such a cell, the samples are lost. */
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

/* Adds the samples of the turns from `first` to end - 1 to the timeline: they have ended just now,
 * and the first was launched after `launched`. */
static void trace_samples(const struct cuda_timing *timing, size_t first, size_t end,
                          double launched)
{
    struct trace *trace = timing->options->trace;
    const double waited = clock_seconds();

    for (size_t i = first; trace && i < end; i++) {
        const struct cuda_sampling *sampling = turn_sampling(timing, i);
        const struct cuda_chain *chain = &sampling->chain;
        const uint64_t *stamps_ns = cuda_sample_reading(chain)->stamps_ns;
        const size_t last = (size_t)TOOL_DRAW_STAMPS * chain->draws - 1;

        /* Stamps of the host are not of the device's timer. */
        if (sampling->done || chain->by_host)
            continue;
        trace_between(trace, launched, stamps_ns[0], stamps_ns[last], waited);
        trace_device(trace, TRACE_SAMPLES, timing->warm ? "sample" : "warm-up", sampling->result,
                     stamps_ns[0], stamps_ns[last]);
        for (uint32_t draw = 0; draw < chain->draws; draw++, stamps_ns += TOOL_DRAW_STAMPS) {
            trace_device(trace, TRACE_STRETCHES, "short", NULL, stamps_ns[0], stamps_ns[1]);
            trace_device(trace, TRACE_STRETCHES, "long", NULL, stamps_ns[2], stamps_ns[3]);
        }
    }
}

/* While the device works, makes graphs of the `enqueued` group and releases the `past` one (NULL:
 * none). */
static void work_meanwhile(struct cuda_device *device, struct cuda_timing *past,
                           struct cuda_timing *enqueued)
{
    bool made = true;

    /* If a graph cannot be made now, its own group tries again, where a cell gets the error. */
    for (size_t i = 0; made && enqueued && i < enqueued->count; i++)
        while (made && sampling_lacks_graphs(&enqueued->samplings[i]) &&
               cuda_device_is_busy(device))
            made = sampling_make_graphs(&enqueued->samplings[i], 1);
    if (!made)
        cuda_device_error(device);
    while (past && past->count > 0 &&
           cuda_device_is_busy(device)) /* a graph takes a tenth of a millisecond */
        sampling_close(&past->samplings[--past->count]);
}

/* Launches the samples of a round from turn *next on, enough for a stretch. While the device works,
 * the host works on other groups, as above. Then it records the samples. */
static enum status sample_stretch(struct cuda_timing *timing, size_t turns, size_t *next,
                                  struct cuda_timing *past, struct cuda_timing *enqueued)
{
    struct cuda_device *device = timing->device;
    struct cuda_calls *calls = &device->calls;
    struct trace *trace = timing->options->trace;
    const double launched = clock_seconds();
    const size_t first = *next;
    enum status status = STATUS_OK;
    double seconds = 0, enqueued_at, waited_from;

    cuda_expect(device, 0);
    for (size_t k = 0; k < timing->count; k++)
        timing->samplings[k].enqueued = timing->samplings[k].discard_pending = 0;
    for (; status == STATUS_OK && *next < turns && seconds < stretch_seconds; ++*next) {
        struct cuda_sampling *sampling = turn_sampling(timing, *next);

        if (!sampling->done) {
            /* The first sample that counts is in the first buffer set. */
            const size_t number = sampling->result->time.summary.count + sampling->enqueued++;

            device->tools.readings[*next] = (struct clock_reading){0};
            calls->suspects[calls->suspect_count++] =
                (struct cuda_suspect){sampling->result, *next};
            if (awaits_fault(timing) && timing->rounds >= FAULT_ROUND &&
                sampling == &timing->samplings[FAULT_ITEM])
                timing->planted = cuda_launch_fault(device, timing->options->fault);
            if (!cuda_sample_launch(&sampling->sample, &sampling->chain,
                                    (uint32_t)(number % sampling->chain.buffer_sets))) {
                status =
                    sampling_fail(sampling, sampling->chain.by_host ? "cannot launch"
                                                                    : "cannot launch the graph");
                calls->suspect_count -= status == STATUS_OK;
            }
        }
        calls->expected = seconds += sampling->stopping_criterion.each;
    }
    timing->seconds += seconds;
    if (status != STATUS_OK)
        return status;
    enqueued_at = clock_seconds();
    trace_host(trace, TRACE_TIMING, "launch graphs", launched, enqueued_at);
    show_progress(timing);
    work_meanwhile(device, past, enqueued);
    waited_from = clock_seconds();
    trace_host(trace, TRACE_TIMING, "make graphs of the next cells", enqueued_at, waited_from);
    if (!cuda_device_wait(device))
        return drop_stretch(timing, first, *next);
    trace_host(trace, TRACE_TIMING, "wait", waited_from, clock_seconds());
    for (size_t i = first; i < *next; i++)
        if (!turn_sampling(timing, i)->done)
            sampling_take(turn_sampling(timing, i), timing->options, timing->warm);
    trace_samples(timing, first, *next, launched);
    return STATUS_OK;
}

/* Chooses the cells of a round, and their order: all that have not settled, more often if they
 * are few, and the one that a fault should hit. Returns the number of turns, at most one for
 * each item. */
static size_t choose_round(struct cuda_timing *timing)
{
    size_t chosen = 0, items;

    timing->unsettled = 0;
    for (size_t i = 0; i < timing->count; i++) {
        const bool unsettled = sampling_is_unsettled(&timing->samplings[i]);

        timing->unsettled += unsettled;
        if (unsettled || (awaits_fault(timing) && i == FAULT_ITEM && !timing->samplings[i].done))
            timing->order[chosen++] = i;
    }
    items = chosen;
    for (int more = 0; more < MORE_TURNS && chosen + items <= timing->count;
         more++, chosen += items)
        memcpy(timing->order + chosen, timing->order, items * sizeof(*timing->order));
    random_shuffle(&timing->random, timing->order, chosen);
    timing->warm = timing->seconds >= warm_seconds;
    return chosen;
}

/* Times all items until each has settled, by the options' limits, or until the user stops it;
 * samples that a result has already count. Cells that have not settled stay pending with their
 * samples. `past` and `enqueued` as in sample_stretch. */
static enum status timing_run(struct cuda_timing *timing, struct cuda_timing *past,
                              struct cuda_timing *enqueued)
{
    const double began = clock_seconds();
    enum status status = STATUS_OK;
    size_t turns, interrupted = 0;

    timing->unsettled = timing->count;
    /* Graphs are made and uploaded before any sample counts: uploads slow launches. */
    for (size_t i = 0; status == STATUS_OK && !timing->stopped && i < timing->count; i++) {
        struct cuda_sampling *sampling = &timing->samplings[i];

        if (!sampling->done) {
            cuda_expect_cell(timing->device, sampling->result,
                             launchable_seconds(sampling->chain.launchable, 0));
            if ((sampling_lacks_graphs(sampling) &&
                 !sampling_make_graphs(sampling, sampling->chain.buffer_sets - sampling->made)) ||
                !cuda_sample_upload(&sampling->sample, &sampling->chain))
                status = sampling_fail(sampling, "cannot make a graph");
        }
        show_progress(timing);
    }
    if (status != STATUS_OK)
        return status;
    trace_host(timing->options->trace, TRACE_TIMING, "make and upload graphs", began,
               clock_seconds());
    for (; status == STATUS_OK && !timing->stopped && (turns = choose_round(timing)) > 0;
         timing->rounds += timing->warm)
        for (size_t next = 0; status == STATUS_OK && next < turns && !timing->stopped;)
            status = sample_stretch(timing, turns, &next, past, enqueued);
    for (size_t i = 0; i < timing->count; i++) {
        struct cuda_sampling *sampling = &timing->samplings[i];

        if (sampling->done)
            continue;
        if (!sampling_is_unsettled(sampling) && sampling->result->status == CELL_PENDING)
            stopping_criterion_end(&sampling->stopping_criterion, sampling->result,
                                   timing->options);
        /* Calls of the host are interrupted by the host, too. */
        if (sampling->chain.by_host)
            continue;
        interrupted += contended_samples(sampling->totals_ns, sampling_own_samples(sampling),
                                         sampling->chain.buffer_sets);
    }
    /* Something else used the device meanwhile: everything that was sampled together is flagged. */
    if (interrupted < INTERRUPTED_MANY)
        return status;
    log_warning("something else has the GPU: %zu samples were interrupted; times are those of a "
                "shared GPU",
                interrupted);
    for (size_t i = 0; i < timing->count; i++)
        if (sampling_own_samples(&timing->samplings[i]) > 0)
            timing->samplings[i].result->flags |= FLAG_CONTENDED;
    return status;
}

/* -- groups ------------------------------------------------------------------------------------ */

static void timing_close(struct cuda_timing *timing)
{
    if (!timing)
        return;
    for (size_t i = 0; i < timing->count; i++)
        sampling_close(&timing->samplings[i]);
    free(timing->samplings);
    free(timing->order);
    free(timing);
}

/* Starts the next group, which launches each cell to determine the length of its samples. *out is
 * NULL if there is none. Cells that fail become CELL_FAILED; the status is not STATUS_OK if the run
 * has ended. The caller closes *out in any case. */
static enum status open_group(struct engine_session *session, struct result *result,
                              const struct progress *progress, size_t planned,
                              struct cuda_timing **out)
{
    size_t cells[TIMING_GROUP_MAX];
    const size_t count = timing_group_next(result, session->grouped, cells);
    const double began = clock_seconds();
    struct cuda_timing *timing;
    enum status status = STATUS_OK;

    *out = NULL;
    if (count == 0)
        return STATUS_OK;
    *out = timing = calloc(1, sizeof(*timing));
    if (!timing)
        return log_memory("samples");
    *timing = (struct cuda_timing){
        .device = &session->device,
        .options = session->options,
        .progress = progress,
        .samplings = calloc(count + 1, sizeof(*timing->samplings)),
        .order = calloc(count + 1, sizeof(*timing->order)),
        .before = planned - timing_group_left(result, session->grouped) - count,
        .planned = planned,
        .random = session->options->seed,
    };
    if (!timing->samplings || !timing->order)
        return log_memory("samples");
    for (; status == STATUS_OK && timing->count < count; timing->count++) {
        timing->samplings[timing->count].result = &result->cells[cells[timing->count]];
        status = sampling_open(&timing->samplings[timing->count], &session->device,
                               session->cells[cells[timing->count]].launchable, planned,
                               session->options);
    }
    trace_host(timing->options->trace, TRACE_TIMING, "estimate lengths", began, clock_seconds());
    return status;
}

/* Reads throttle reasons and temperature. From now on, values that NVML does not give count as not
 * known. */
static void read_state(struct engine_session *session, struct result *result, uint64_t *reasons,
                       double *celsius)
{
    watch_begin(session->options->watchdog, "asking NVML", cuda_watchdog_slack(&session->device));
    result->device.throttle_known =
        result->device.throttle_known && nvml_throttle_reasons(session->nvml, reasons);
    result->temperature.known =
        result->temperature.known && nvml_temperature(session->nvml, celsius);
    watch_end(session->options->watchdog);
}

enum status cuda_time(struct engine_session *session, struct result *result,
                      const struct progress *progress)
{
    struct cuda_device *device = &session->device;
    const size_t planned = timing_group_left(result, session->grouped);
    struct device_info *info = &result->device;
    struct cuda_timing *past = NULL, *timing, *next = NULL;
    enum status status;

    cuda_loading_end(&session->loading);
    cuda_expect(device, 0);
    info->launch_ns = cuda_time_empty_launch(device);
    if (device->calls.failed && cuda_device_lost(device))
        return cuda_end_run(device, cuda_device_error(device));
    if (cuda_device_error(device)[0])
        info->launch_ns = cuda_time_empty_launch(device);
    info->throttle_known = result->temperature.known = true;
    read_state(session, result, &info->throttle_before, &result->temperature.before_celsius);
    result->temperature.after_celsius = result->temperature.before_celsius;
    status = open_group(session, result, progress, planned, &timing);
    while (status == STATUS_OK && timing && !(past && past->stopped)) {
        status = open_group(session, result, progress, planned, &next);
        if (status == STATUS_OK)
            status = timing_run(timing, past, next);
        cuda_expect(device, 0);
        read_state(session, result, &info->throttle_after, &result->temperature.after_celsius);
        /* The driver held the clock down while these cells were timed. */
        if (info->throttle_known && (info->throttle_before | info->throttle_after) & NVML_THROTTLED)
            for (size_t i = 0; i < result->cell_count; i++)
                if (result->cells[i].time.stop_reason != STOP_NONE)
                    result->cells[i].flags |= FLAG_THROTTLED;
        cuda_observe(session, result);
        timing_close(past);
        past = timing;
        timing = next;
    }
    timing_close(past);
    timing_close(timing);
    return status;
}
