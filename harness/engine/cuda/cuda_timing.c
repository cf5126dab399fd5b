/* SPDX-License-Identifier: MIT */
#include "cuda_timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_length.h"
#include "log.h"
#include "neighbour.h"
#include "random.h"
#include "settling.h"

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

/* The state of sampling one item. Its samples are in the result, so that they can be saved at any time. */
struct sampling {
    struct cell_result *result;
    struct cuda_chain chain;
    struct cuda_sample sample;
    struct settling settling;
    double *totals_ns; /* of this process's samples, from the first stamp to the last */
    size_t before; /* samples of an earlier process */
    size_t ahead; /* samples of the stretch */
    bool astray; /* one of these did not count: those behind it are not in the place that is next */
    bool done;
};

/* All items that are sampled together. */
struct timing {
    struct cuda_device *device;
    const struct engine_options *options;
    const struct progress *progress;
    struct sampling *samplings;
    size_t *order; /* of a round: the item of each turn */
    size_t count, unsettled, dropped;
    size_t rounds; /* that count */
    double seconds; /* of the samples that were launched */
    bool warm; /* samples count */
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

/* Makes room for `count` values behind those that are there. */
static bool widen(double **values, size_t count)
{
    double *wide = realloc(*values, count * sizeof(**values));

    *values = wide ? wide : *values;
    return wide;
}

/* Makes room for samples and their clocks. Samples of an earlier process that cannot be gone on with are left out. */
static bool make_room(struct timing *timing, struct sampling *sampling)
{
    struct cell_time *time = &sampling->result->time;
    const uint32_t launches = time->launches_per_sample;
    size_t room = timing->options->samples_max;

    if (!time->clocks_mhz || time->code_copies < 1 || launches < 1 ||
        launches > (sampling->chain.cold ? CUDA_DRAWS_MAX : CUDA_LAUNCHES_MAX))
        time->summary.count = 0;
    sampling->before = time->summary.count;
    room = sampling->before > room ? sampling->before : room;
    return settling_open(&sampling->settling, sampling->chain.placements, timing->count, room) &&
           widen(&sampling->totals_ns, room) && widen(&time->samples_ns, room) && widen(&time->clocks_mhz, room);
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
    struct cell_time *time = &item->result->time;

    *sampling = (struct sampling){
        .result = item->result,
        .chain = {.device = timing->device, .launch = item->launch, .cold = cell->regime->flush},
        .done = item->launch->modules == 0,
    };
    if (sampling->done)
        return STATUS_OK;
    sampling->chain.placements = cuda_launch_placements(timing->device, item->launch);
    cuda_expect_cell(timing->device, item->result, CUDA_ESTIMATE_LAUNCHES);
    if (!make_room(timing, sampling))
        return fail(sampling, "out of memory for samples");
    if (!cuda_length_set(&sampling->chain, time, timing->options))
        return fail(sampling, "cannot launch");
    if (!make_places(sampling))
        return fail(sampling, "cannot make a graph");
    time->launches_per_sample = sampling->chain.launches;
    time->sites = sampling->chain.sites;
    time->code_copies = (uint32_t)fmin(sampling->chain.placements, CUDA_MODULE_COPIES);
    sampling->settling.each = sampling->chain.seconds;
    for (size_t i = 0; i < sampling->before; i++)
        sampling->settling.seconds += 1e-9 * time->samples_ns[i] * sampling->chain.launches;
    settling_look(&sampling->settling, time, timing->options);
    return STATUS_OK;
}

/* How many samples that count are of this process. */
static size_t count_own(const struct sampling *sampling)
{
    return sampling->result->time.summary.count - sampling->before;
}

/* Marks all that was sampled together if something else had the device meanwhile, and says so. */
static void flag_shared(const struct timing *timing)
{
    size_t interrupted = 0;

    for (size_t i = 0; i < timing->count; i++) {
        const struct sampling *sampling = &timing->samplings[i];

        if (!sampling->done)
            interrupted += neighbour_slices(sampling->totals_ns, count_own(sampling), sampling->chain.placements);
    }
    if (interrupted < INTERRUPTED_MANY)
        return;
    log_warning("something else has the GPU: %zu samples were interrupted; times are those of a shared GPU",
                interrupted);
    for (size_t i = 0; i < timing->count; i++)
        if (count_own(&timing->samplings[i]) > 0)
            timing->samplings[i].result->flags |= FLAG_SHARED;
}

/* -- rounds -------------------------------------------------------------------------------------------- */

/* The place of the next sample: the first that counts is in the first. */
static uint32_t next_place(struct sampling *sampling)
{
    return (uint32_t)((sampling->result->time.summary.count + sampling->ahead++) % sampling->chain.placements);
}

/* The item of a turn, which writes to the reading of that turn. */
static struct sampling *turn_sampling(const struct timing *timing, size_t turn)
{
    struct sampling *sampling = &timing->samplings[timing->order[turn]];

    sampling->chain.reading = turn;
    return sampling;
}

/* Takes over the sample that has just ended. */
static void take_sample(const struct timing *timing, size_t turn)
{
    struct sampling *const sampling = turn_sampling(timing, turn);
    const struct clock_reading *clock = cuda_clock_reading(timing->device, turn);
    const double ns = round(1e3 * cuda_sample_ns(&sampling->chain)) / 1e3; /* picoseconds: the timer ticks in ns */
    const double total_ns = cuda_sample_total_ns(&sampling->chain);
    struct settling *settling = &sampling->settling;
    struct cell_time *time = &sampling->result->time;

    /* A launch of the empty kernel that was interrupted can make it negative: that says nothing. */
    sampling->astray |= !timing->warm || ns <= 0 || time->summary.count >= timing->options->samples_max;
    if (sampling->astray)
        return;
    if (sampling->before)
        sampling->result->flags |= FLAG_RESUMED;
    time->clocks_mhz[time->summary.count] = clock->ns ? 1e3 * (double)clock->cycles / (double)clock->ns : 0;
    sampling->totals_ns[count_own(sampling)] = total_ns;
    time->samples_ns[time->summary.count++] = ns;
    settling->seconds += 1e-9 * ns * sampling->chain.launches;
    settling->each = fmax(settling->each, 1e-9 * total_ns);
    if (settling_is_due(settling, time, timing->options))
        settling_look(settling, time, timing->options);
}

/* Launches a sample, or fails its cell. */
static enum status launch_sample(struct timing *timing, size_t turn)
{
    struct sampling *const sampling = turn_sampling(timing, turn);
    struct cuda_device *device = timing->device;
    struct cuda_calls *calls = &device->calls;

    cuda_clock_clear(device, turn);
    calls->suspects[calls->suspect_count++] = (struct cuda_suspect){sampling->result, turn};
    if (awaits_fault(timing) && timing->rounds >= FAULT_ROUND && sampling == &timing->samplings[FAULT_ITEM])
        timing->planted = cuda_launch_fault(device, timing->options->fault);
    if (cuda_sample_launch(&sampling->sample, &sampling->chain, next_place(sampling)))
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
    for (size_t k = 0; k < timing->count; k++)
        timing->samplings[k].ahead = timing->samplings[k].astray = 0;
    for (; status == STATUS_OK && i < left && seconds < stretch_seconds; i++) {
        const struct sampling *sampling = turn_sampling(timing, i);

        if (!sampling->done)
            status = launch_sample(timing, i);
        timing->device->calls.expected = seconds += sampling->settling.each;
    }
    timing->seconds += seconds;
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
        struct sampling *sampling = turn_sampling(timing, i);

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
    for (size_t i = first; i < *next; i++)
        if (!turn_sampling(timing, i)->done)
            take_sample(timing, i);
    return STATUS_OK;
}

static bool is_unsettled(const struct sampling *sampling)
{
    return !sampling->done && sampling->settling.stop == STOP_NONE;
}

/* Who is sampled in a round, in which order: all that have not settled, the fewer the more often, and the one that a fault is to
 * hit. Returns how many turns there are, at most one for each item. */
static size_t choose_round(struct timing *timing)
{
    const bool faulty = awaits_fault(timing);
    size_t chosen = 0, items;

    timing->unsettled = 0;
    for (size_t i = 0; i < timing->count; i++) {
        const bool unsettled = is_unsettled(&timing->samplings[i]);

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
static enum status sample_rounds(struct timing *timing)
{
    enum status status = STATUS_OK;
    size_t chosen;

    for (; status == STATUS_OK && !timing->stopped && (chosen = choose_round(timing)) > 0;
         timing->rounds += timing->warm)
        for (size_t next = 0; status == STATUS_OK && next < chosen && !timing->stopped;)
            status = sample_stretch(timing, chosen, &next);
    for (size_t i = 0; i < timing->count; i++) {
        struct sampling *sampling = &timing->samplings[i];

        if (!sampling->done && !is_unsettled(sampling) && sampling->result->status == CELL_PENDING)
            settling_end(&sampling->settling, sampling->result, timing->options);
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
        settling_close(&timing.samplings[i].settling);
        free(timing.samplings[i].totals_ns);
    }
    free(timing.samplings);
    free(timing.order);
    return status;
}
