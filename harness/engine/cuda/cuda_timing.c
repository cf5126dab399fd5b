/* SPDX-License-Identifier: MIT
 * The phase `time` of the CUDA engine. Launches are in CUDA graphs, to exclude the host's launch
 * overhead.
 *
 * The time of a cell is the time that one more launch adds to a chain of launches in a stream.
 *
 * A sample is one graph with several draws. A draw of a hot sample starts with a kernel that lets
 * the SMs come free in a random order. Lead-in launches bring the caches to the cell's state. A
 * short stretch of launches follows, and one that is longer by n. A draw of a cold sample is a
 * flush, an empty kernel, a flush and a launch. Stamps before and after each stretch read the
 * device's timer; a stamp is a kernel. The slope is the time of the long stretches less that of the
 * short ones, divided by the additional launches: fixed costs of a stretch cancel. For a launch
 * that is long by itself, the short stretch is an empty kernel, and the slope of that one is added.
 * A longer launch that fills L2 has no lead-in. (Events instead of stamps give a different time in
 * every graph, and the time depends on the length of a stretch.) If a cell's data stay in L2, its
 * graph is launched twice, so that its commands are there, too. After every sample the SM clock is
 * probed, and the stamps are copied.
 *
 * The samples of a cell take its buffer sets in turn (cuda_memory.h), each with a graph of its own.
 * Samples of all cells of a group are interleaved, each round in a new random order, until each
 * cell may stop. While the device works, the host makes the graphs of the next group; they are
 * uploaded before that group's first sample. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_sample.h"
#include "engine_cuda.h"
#include "log.h"
#include "random.h"
#include "sampling.h"

enum {
    /* Lengths of samples. */
    DRAW_LAUNCHES = 12,    /* in a draw of a hot sample, at least, ... */
    DRAW_TICKS = 100,      /* ... and ticks of the timer in that time */
    /* of a sample with few short launches; each has at least this many launches */
    SHORT_REPETITIONS = 4,
    ESTIMATE_SAMPLES = 3,  /* for a first estimate, ... */
    ESTIMATE_LAUNCHES = 4, /* ... and launches in each */
    /* of a hot sample, unless it would become LONGER times as long as required */
    LAUNCHES_LEAST = 12,
    LONGER = 10,
    /* Rounds. */
    /* interrupted samples of a group that show that something else uses the device */
    INTERRUPTED_MANY = 3,
    /* for a planted fault: from this round on, when some cells have settled, ... */
    FAULT_ROUND = 60,
    FAULT_ITEM = 1,       /* ... in this cell */
    DROPPED_MAX = 3,      /* rounds that may fail without a cell as the cause */
    MORE_TURNS = 7, /* extra samples of a cell in a round, at most, when few cells are left: they
                     * keep the device busy */
};

static const double reference_ns = 15e3; /* of a short stretch, and of the launches before it, so
                                          * that it resembles the end */
/* of a launch: stamps are negligible, and the short stretch is an empty kernel */
static const double long_ns = 500e3;
/* of a launch: longer ones have no lead-in, unless their data fit in L2 */
static const double alone_ns = 1500e3;
static const double cold_ns = 1e6; /* of the cold launches in a sample, approximately */
/* of L2, for launches that read several table offsets */
static const double table_offsets_l2_share = 0.25;
static const double replay_ns = 100e3; /* of a launch: the time of longer ones does not depend on
                                        * the location of their commands */

/* Rounds of this length, at least one, come before the first that counts. After graphs were made,
 * the device has been idle, and launches then take longer: by 170 ns after 22 ms (H200). */
static const double warm_seconds = 0.05;
static const double stretch_seconds = 0.25; /* of enqueued samples, so that no call waits long */

/* The state of sampling a cell. Its samples are in the result, which can therefore be saved at any
 * time. */
struct cuda_sampling {
    struct cell_result *result;
    struct cuda_chain chain;
    struct cuda_sample sample;
    struct stopping_criterion stopping_criterion;
    double *totals_ns; /* of this process's samples, from the first stamp to the last; owned */
    size_t before; /* samples of an earlier process */
    uint32_t made; /* graphs made, of one for each buffer set */
    size_t enqueued; /* enqueued samples */
    /* one of these did not count: later ones are not in the buffer set that is next */
    bool discard_pending;
    bool done; /* it failed, or it cannot be timed */
};

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

/* -- lengths of samples ------------------------------------------------------------------------ */

/* Number of launches that take about all_ns, at most `most`. */
static uint32_t launches_of(double all_ns, double launch_ns, uint32_t most)
{
    return (uint32_t)fmax(1, fmin(most, ceil(all_ns / launch_ns)));
}

/* The median of samples with that many additional launches and as many in the short stretch. NaN if
 * they cannot be launched. */
static double estimate_from(struct cuda_chain *chain, uint32_t launches, uint32_t reference,
                            size_t samples)
{
    chain->lead_in = !chain->cold;
    chain->reference = chain->cold ? 0 : reference;
    chain->repetitions = chain->cold ? launches : 1;
    chain->launches = launches;
    chain->table_offsets = 1;
    return cuda_sample_median(chain, samples);
}

/* Whether a launch of the cell reads and writes less than a share of L2. */
static bool stays_in_l2(const struct cuda_chain *chain, double share)
{
    return (double)cuda_launch_bytes(chain->device, chain->launch) <
           share * (double)chain->device->info->l2_bytes;
}

/* Sets the lengths of a hot sample's stretches, for a launch of launch_ns; `launches` is the number
 * used by an earlier process, 0 if there was none. After a replay, the commands of the launches are
 * in L2. This does not hold for launches that fill L2 themselves. */
static void size_hot(struct cuda_chain *chain, uint32_t launches, double launch_ns,
                     double sample_ns)
{
    const bool kept = launches > 0;
    const double longer_ns = fmin(LAUNCHES_LEAST * launch_ns, LONGER * sample_ns);
    const bool stays = stays_in_l2(chain, 1), alone = launch_ns >= alone_ns && !stays;
    double wanted, ticks;

    chain->replays = launch_ns < replay_ns && stays;
    /* All table offsets must still be in L2 when they are read again: the replay reads each of
     * them. */
    chain->table_offsets = chain->replays && stays_in_l2(chain, table_offsets_l2_share)
                               ? cuda_launch_table_offsets(chain->device, chain->launch)
                               : 1;
    if (launches == 0) {
        launches = launches_of(fmax(sample_ns, longer_ns), launch_ns, CUDA_LAUNCHES_MAX);
        if (launches >= chain->table_offsets) /* every table offset equally often */
            launches =
                (launches + chain->table_offsets / 2) / chain->table_offsets * chain->table_offsets;
    }
    /* As many draws as possible, with equally many launches. For long launches, the length of a
     * stretch does not change its variation. For short ones, the assignment of blocks to SMs causes
     * the variation, and several draws average it. */
    ticks = launches * launch_ns / cuda_tick_ns(chain->device);
    wanted = launch_ns < reference_ns && launches < 2 * DRAW_LAUNCHES
                 ? fmin(SHORT_REPETITIONS, launches / SHORT_REPETITIONS)
                 : launches / DRAW_LAUNCHES;
    chain->repetitions =
        (uint32_t)fmax(1, fmin(CUDA_REPETITIONS_MAX, fmin(wanted, ticks / DRAW_TICKS)));
    while (kept &&
           launches %
               chain->repetitions) /* draws have equally many launches, and their sum stays */
        chain->repetitions--;
    chain->launches = (launches + chain->repetitions - 1) / chain->repetitions * chain->repetitions;
    chain->reference =
        launch_ns < long_ns ? launches_of(reference_ns, launch_ns, CUDA_REFERENCE_LAUNCHES) : 0;
    chain->lead_in = alone ? 0 : launches_of(reference_ns, launch_ns, CUDA_LEAD_IN_LAUNCHES);
}

/* Sets the lengths of a chain that has its device, launch, cache state and buffer sets. They follow
 * from the last of `time`'s samples, whose number of launches is kept, or from a first estimate,
 * which launches the cell. False if it cannot be launched. */
static bool set_lengths(struct cuda_chain *chain, const struct cell_time *time,
                        const struct engine_options *options)
{
    const size_t before = time->summary.count;
    const uint32_t launches = before ? time->launches_per_sample : 0;
    double launch_ns = before ? time->samples_ns[before - 1] : estimate_from(chain, 1, 0, 1);

    /* The first estimate of a long launch is of one that nothing interrupted. */
    if (!before && launch_ns >= long_ns)
        launch_ns = fmin(launch_ns, estimate_from(chain, 1, 0, 1));
    if (!before && launch_ns < long_ns)
        launch_ns = estimate_from(chain, ESTIMATE_LAUNCHES, 1, ESTIMATE_SAMPLES);
    if (isnan(launch_ns))
        return false;
    if (chain->cold) {
        chain->table_offsets = cuda_launch_table_offsets(chain->device, chain->launch);
        chain->repetitions = chain->launches =
            launches ? launches : launches_of(cold_ns, launch_ns, CUDA_REPETITIONS_MAX);
    } else {
        size_hot(chain, launches, launch_ns, options->sample_ns);
    }
    if (options->slow_path == chain->launch->cell->path) {
        /* The launch of the spinning kernel is part of the added work. */
        const double spin_ns =
            options->slow_share * launch_ns * chain->launches - chain->device->info->launch_ns;

        chain->slow_ns = spin_ns > 1 ? (uint64_t)spin_ns : 1;
    }
    chain->seconds =
        1e-9 * launch_ns *
        (chain->repetitions * (chain->lead_in + 2 * chain->reference) + chain->launches) *
        (1 + chain->replays);
    return true;
}

/* -- sampling a cell --------------------------------------------------------------------------- */

static enum status fail(struct cuda_sampling *sampling, const char *what)
{
    sampling->done = true;
    return cuda_fail(sampling->chain.device, sampling->result, what);
}

static bool widen(double **values, size_t count)
{
    double *wide = realloc(*values, count * sizeof(**values));

    *values = wide ? wide : *values;
    return wide;
}

/* Starts sampling a cell: determines the length of its samples, which launches the cell. `planned`
 * is the number of cells that are timed in all. STATUS_OK even if the cell failed; another status
 * if the run has ended. Call sampling_close in any case. */
static enum status sampling_open(struct cuda_sampling *sampling, struct cuda_device *device,
                                 const struct cuda_launch *launch, size_t planned,
                                 const struct engine_options *options)
{
    struct cell_result *cell = sampling->result;
    struct cell_time *time = &cell->time;
    const uint32_t launches = time->launches_per_sample;
    uint32_t copies;
    size_t room;

    sampling->chain = (struct cuda_chain){.device = device,
                                          .launch = launch,
                                          .cold = cell->cell.cache_state->flush};
    if ((sampling->done = launch->modules == 0))
        return STATUS_OK;
    sampling->chain.buffer_sets = cuda_launch_buffer_sets(device, launch);
    copies = (uint32_t)fmin(sampling->chain.buffer_sets, CUDA_MODULE_COPIES);
    cuda_expect_cell(device, cell, ESTIMATE_LAUNCHES);
    /* Some samples of an earlier process cannot be continued. */
    if (!time->clocks_mhz || time->code_copies != copies || launches < 1 ||
        launches > (sampling->chain.cold ? CUDA_REPETITIONS_MAX : CUDA_LAUNCHES_MAX))
        time->summary.count = 0;
    sampling->before = time->summary.count;
    room = sampling->before > options->samples_max ? sampling->before : options->samples_max;
    if (!stopping_criterion_open(&sampling->stopping_criterion, sampling->chain.buffer_sets,
                                 planned, launch->user, room) ||
        !widen(&sampling->totals_ns, room) || !widen(&time->samples_ns, room) ||
        !widen(&time->clocks_mhz, room))
        return fail(sampling, "out of memory for samples");
    if (!set_lengths(&sampling->chain, time, options))
        return fail(sampling, "cannot launch");
    time->launches_per_sample = sampling->chain.launches;
    time->table_offsets = sampling->chain.table_offsets;
    time->code_copies = copies;
    sampling->stopping_criterion.each = sampling->chain.seconds;
    for (size_t i = 0; i < sampling->before; i++)
        sampling->stopping_criterion.seconds +=
            1e-9 * time->samples_ns[i] * sampling->chain.launches;
    stopping_criterion_look(&sampling->stopping_criterion, time, options);
    return STATUS_OK;
}

static void sampling_close(struct cuda_sampling *sampling)
{
    cuda_sample_close(&sampling->sample, sampling->chain.device);
    stopping_criterion_close(&sampling->stopping_criterion);
    free(sampling->totals_ns);
    *sampling = (struct cuda_sampling){0};
}

static bool lacks_graphs(const struct cuda_sampling *sampling)
{
    return !sampling->done && sampling->made < sampling->chain.buffer_sets;
}

/* Makes the next `count` graphs, which calls the device and launches nothing. */
static bool make_graphs(struct cuda_sampling *sampling, uint32_t count)
{
    const bool made = cuda_sample_make(&sampling->sample, &sampling->chain, sampling->made, count);

    sampling->made += made ? count : 0;
    return made;
}

static bool is_unsettled(const struct cuda_sampling *sampling)
{
    return !sampling->done && sampling->stopping_criterion.stop == STOP_NONE;
}

/* Samples of this process that count. */
static size_t own_samples(const struct cuda_sampling *sampling)
{
    return sampling->result->time.summary.count - sampling->before;
}

/* Records a sample that has ended, if it counts, and checks whether there are enough. */
static void take_sample(struct cuda_sampling *sampling, const struct engine_options *options,
                        bool counts)
{
    const struct clock_reading *clock = cuda_sample_reading(&sampling->chain);
    /* picoseconds: the timer ticks in ns */
    const double ns = round(1e3 * cuda_sample_ns(&sampling->chain)) / 1e3;
    const double total_ns =
        (double)(clock->stamps_ns[CUDA_DRAW_STAMPS * sampling->chain.repetitions - 1] -
                 clock->stamps_ns[0]);
    struct stopping_criterion *stopping_criterion = &sampling->stopping_criterion;
    struct cell_time *time = &sampling->result->time;

    /* A cell that has settled stays so. An interrupted empty kernel can make a time negative; that
     * time is dropped. */
    sampling->discard_pending |= !counts || ns <= 0 || stopping_criterion->stop != STOP_NONE;
    if (sampling->discard_pending)
        return;
    if (sampling->before)
        sampling->result->flags |= FLAG_RESUMED;
    time->clocks_mhz[time->summary.count] =
        clock->ns ? 1e3 * (double)clock->cycles / (double)clock->ns : 0;
    sampling->totals_ns[own_samples(sampling)] = total_ns;
    time->samples_ns[time->summary.count++] = ns;
    stopping_criterion->seconds += 1e-9 * ns * sampling->chain.launches;
    stopping_criterion->each = fmax(stopping_criterion->each, 1e-9 * total_ns);
    if (!stopping_criterion_is_due(stopping_criterion, time, options))
        return;
    stopping_criterion->uneven =
        time->summary.count < 2 * (size_t)stopping_criterion->buffer_sets &&
        contended_samples(sampling->totals_ns, own_samples(sampling), 1) > 0;
    stopping_criterion_look(stopping_criterion, time, options);
}

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

/* Launches the samples of a round from turn *next on, enough for a stretch. While the device works,
 * makes graphs of the `enqueued` group and releases the `past` one (NULL: none). Then it records
 * the samples. */
static enum status sample_stretch(struct cuda_timing *timing, size_t turns, size_t *next,
                                  struct cuda_timing *past, struct cuda_timing *enqueued)
{
    struct cuda_device *device = timing->device;
    struct cuda_calls *calls = &device->calls;
    const size_t first = *next;
    enum status status = STATUS_OK;
    double seconds = 0;
    bool made = true;

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
                status = fail(sampling, "cannot launch the graph");
                calls->suspect_count -= status == STATUS_OK;
            }
        }
        calls->expected = seconds += sampling->stopping_criterion.each;
    }
    timing->seconds += seconds;
    if (status != STATUS_OK)
        return status;
    show_progress(timing);
    /* If a graph cannot be made now, its own group tries again, where a cell gets the error. */
    for (size_t i = 0; made && enqueued && i < enqueued->count; i++)
        while (made && lacks_graphs(&enqueued->samplings[i]) && cuda_device_is_busy(device))
            made = make_graphs(&enqueued->samplings[i], 1);
    if (!made)
        cuda_device_error(device);
    while (past && past->count > 0 &&
           cuda_device_is_busy(device)) /* a graph takes a tenth of a millisecond */
        sampling_close(&past->samplings[--past->count]);
    if (!cuda_device_wait(device))
        return drop_stretch(timing, first, *next);
    for (size_t i = first; i < *next; i++)
        if (!turn_sampling(timing, i)->done)
            take_sample(turn_sampling(timing, i), timing->options, timing->warm);
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
        const bool unsettled = is_unsettled(&timing->samplings[i]);

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
    enum status status = STATUS_OK;
    size_t turns, interrupted = 0;

    timing->unsettled = timing->count;
    /* Graphs are made and uploaded before any sample counts: uploads slow launches. */
    for (size_t i = 0; status == STATUS_OK && !timing->stopped && i < timing->count; i++) {
        struct cuda_sampling *sampling = &timing->samplings[i];

        if (!sampling->done) {
            cuda_expect_cell(timing->device, sampling->result, 0);
            if ((lacks_graphs(sampling) &&
                 !make_graphs(sampling, sampling->chain.buffer_sets - sampling->made)) ||
                !cuda_sample_upload(&sampling->sample, &sampling->chain))
                status = fail(sampling, "cannot make a graph");
        }
        show_progress(timing);
    }
    if (status != STATUS_OK)
        return status;
    for (; status == STATUS_OK && !timing->stopped && (turns = choose_round(timing)) > 0;
         timing->rounds += timing->warm)
        for (size_t next = 0; status == STATUS_OK && next < turns && !timing->stopped;)
            status = sample_stretch(timing, turns, &next, past, enqueued);
    for (size_t i = 0; i < timing->count; i++) {
        struct cuda_sampling *sampling = &timing->samplings[i];

        if (sampling->done)
            continue;
        if (!is_unsettled(sampling) && sampling->result->status == CELL_PENDING)
            stopping_criterion_end(&sampling->stopping_criterion, sampling->result,
                                   timing->options);
        interrupted += contended_samples(sampling->totals_ns, own_samples(sampling),
                                         sampling->chain.buffer_sets);
    }
    /* Something else used the device meanwhile: everything that was sampled together is flagged. */
    if (interrupted < INTERRUPTED_MANY)
        return status;
    log_warning("something else has the GPU: %zu samples were interrupted; times are those of a "
                "shared GPU",
                interrupted);
    for (size_t i = 0; i < timing->count; i++)
        if (own_samples(&timing->samplings[i]) > 0)
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
        status =
            sampling_open(&timing->samplings[timing->count], &session->device,
                          &session->cells[cells[timing->count]].launch, planned, session->options);
    }
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
