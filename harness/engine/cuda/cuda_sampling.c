/* SPDX-License-Identifier: MIT
 * Sampling one cell. The lengths of its samples follow from a first estimate of its time:
 *
 *     hot    [lead-in][short stretch]   [short stretch + launches / draws] ... each draw
 *     cold   [flush][empty]             [flush][launch]                    ... each draw */
#include "cuda_sampling.h"

#include <math.h>
#include <stdlib.h>

enum {
    /* Lengths of samples. */
    DRAW_LAUNCHES = 12,    /* in a draw of a hot sample, at least, ... */
    DRAW_TICKS = 100,      /* ... and ticks of the timer in that time */
    /* of a sample with few short launches; each has at least this many launches */
    SHORT_DRAWS = 4,
    ESTIMATE_SAMPLES = 3,  /* for a first estimate, ... */
    ESTIMATE_LAUNCHES = 4, /* ... and launches in each */
    /* of a hot sample, unless it would become LONGER times as long as required */
    LAUNCHES_LEAST = 12,
    LONGER = 10,
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
    chain->draws = chain->cold ? launches : 1;
    chain->launches = launches;
    chain->table_offsets = 1;
    return cuda_sample_median(chain, samples);
}

/* Whether a launch of the cell reads and writes less than a share of L2. */
static bool stays_in_l2(const struct cuda_chain *chain, double share)
{
    return (double)chain->launchable->bytes < share * (double)chain->device->info->l2_bytes;
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

    chain->replays = launch_ns < replay_ns && stays && !chain->by_host;
    /* All table offsets must still be in L2 when they are read again: the replay reads each of
     * them. */
    chain->table_offsets = chain->replays && stays_in_l2(chain, table_offsets_l2_share)
                               ? launchable_table_offsets(chain->launchable)
                               : 1;
    if (launches == 0)
        launches = launches_of(fmax(sample_ns, longer_ns), launch_ns, CUDA_LAUNCHES_MAX);
    /* As many draws as possible, with equally many launches. For long launches, the length of a
     * stretch does not change its variation. For short ones, the assignment of blocks to SMs causes
     * the variation, and several draws average it. */
    ticks = launches * launch_ns / cuda_tick_ns(chain->device);
    wanted = launch_ns < reference_ns && launches < 2 * DRAW_LAUNCHES
                 ? fmin(SHORT_DRAWS, launches / SHORT_DRAWS)
                 : launches / DRAW_LAUNCHES;
    chain->draws = (uint32_t)fmax(1, fmin(TOOL_DRAWS_MAX, fmin(wanted, ticks / DRAW_TICKS)));
    while (kept &&
           launches % chain->draws) /* draws have equally many launches, and their sum stays */
        chain->draws--;
    chain->launches = (launches + chain->draws - 1) / chain->draws * chain->draws;
    chain->reference = launch_ns < long_ns || chain->by_host
                           ? launches_of(reference_ns, launch_ns, CUDA_REFERENCE_LAUNCHES)
                           : 0;
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
    uint32_t each;
    double launch_ns = before ? time->samples_ns[before - 1] : estimate_from(chain, 1, 0, 1);

    /* The first estimate of a long launch is of one that nothing interrupted. */
    if (!before && launch_ns >= long_ns)
        launch_ns = fmin(launch_ns, estimate_from(chain, 1, 0, 1));
    if (!before && launch_ns < long_ns)
        launch_ns = estimate_from(chain, ESTIMATE_LAUNCHES, 1, ESTIMATE_SAMPLES);
    if (isnan(launch_ns))
        return false;
    if (chain->cold) {
        chain->table_offsets = launchable_table_offsets(chain->launchable);
        chain->draws = chain->launches =
            launches ? launches : launches_of(cold_ns, launch_ns, TOOL_DRAWS_MAX);
    } else {
        size_hot(chain, launches, launch_ns, options->sample_ns);
    }
    each = chain->launches / chain->draws;
    if (options->slow_path == chain->launchable->cell->path) {
        /* a stamp waits for whole ticks */
        const double tick_ns = cuda_tick_ns(chain->device),
                     ticks = round(options->slow_share * launch_ns * each / tick_ns);

        chain->slow_ns = (uint64_t)(fmax(ticks, 1) * tick_ns);
    }
    chain->seconds = 1e-9 * launch_ns * (chain->lead_in + 2 * chain->reference + each) *
                     (chain->replays + chain->draws);
    return true;
}

/* -- sampling a cell --------------------------------------------------------------------------- */

enum status sampling_fail(struct cuda_sampling *sampling, const char *what)
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

enum status sampling_open(struct cuda_sampling *sampling, struct cuda_device *device,
                          const struct launchable *launchable, size_t planned,
                          const struct engine_options *options)
{
    struct cell_result *cell = sampling->result;
    struct cell_time *time = &cell->time;
    const uint32_t launches = time->launches_per_sample;
    uint32_t copies;
    size_t room;

    sampling->chain = (struct cuda_chain){.device = device,
                                          .launchable = launchable,
                                          .by_host = launchable && launchable_by_host(launchable),
                                          .cold = cell->cell.cache_state->flush};
    if ((sampling->done = !launchable))
        return STATUS_OK;
    sampling->chain.buffer_sets = launchable_buffer_sets(launchable);
    copies = (uint32_t)fmin(sampling->chain.buffer_sets, CUDA_MODULE_COPIES);
    cuda_expect_cell(device, cell, launchable_seconds(launchable, ESTIMATE_LAUNCHES));
    /* Some samples of an earlier process cannot be continued. */
    if (!time->clocks_mhz || time->code_copies != copies || launches < 1 ||
        launches > (sampling->chain.cold ? TOOL_DRAWS_MAX : CUDA_LAUNCHES_MAX))
        time->summary.count = 0;
    sampling->before = time->summary.count;
    room = sampling->before > options->samples_max ? sampling->before : options->samples_max;
    if (!stopping_criterion_open(&sampling->stopping_criterion, sampling->chain.buffer_sets,
                                 planned, launchable->sampling_seconds, room) ||
        !widen(&sampling->totals_ns, room) || !widen(&time->samples_ns, room) ||
        !widen(&time->clocks_mhz, room))
        return sampling_fail(sampling, "out of memory for samples");
    if (!set_lengths(&sampling->chain, time, options))
        return sampling_fail(sampling, "cannot launch");
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

void sampling_close(struct cuda_sampling *sampling)
{
    cuda_sample_close(&sampling->sample, sampling->chain.device);
    stopping_criterion_close(&sampling->stopping_criterion);
    free(sampling->totals_ns);
    *sampling = (struct cuda_sampling){0};
}

bool sampling_lacks_graphs(const struct cuda_sampling *sampling)
{
    return !sampling->done && sampling->made < sampling->chain.buffer_sets;
}

bool sampling_make_graphs(struct cuda_sampling *sampling, uint32_t count)
{
    const bool made = cuda_sample_make(&sampling->sample, &sampling->chain, sampling->made, count);

    sampling->made += made ? count : 0;
    return made;
}

bool sampling_is_unsettled(const struct cuda_sampling *sampling)
{
    return !sampling->done && sampling->stopping_criterion.stop == STOP_NONE;
}

size_t sampling_own_samples(const struct cuda_sampling *sampling)
{
    return sampling->result->time.summary.count - sampling->before;
}

void sampling_take(struct cuda_sampling *sampling, const struct engine_options *options,
                   bool counts)
{
    const struct clock_reading *clock = cuda_sample_reading(&sampling->chain);
    /* picoseconds: the timer ticks in ns */
    const double ns = round(1e3 * cuda_sample_ns(&sampling->chain)) / 1e3;
    const double total_ns =
        (double)(clock->stamps_ns[TOOL_DRAW_STAMPS * sampling->chain.draws - 1] -
                 clock->stamps_ns[0]);
    struct stopping_criterion *stopping_criterion = &sampling->stopping_criterion;
    struct cell_time *time = &sampling->result->time;

    /* A cell that has settled stays so. An interrupted empty kernel can make a time negative; that
     * time is dropped. */
    sampling->timeless += counts && ns <= 0;
    if (sampling->timeless > options->samples_max) {
        sampling->done = true;
        engine_end_cell(sampling->result, CELL_FAILED, "one more launch takes no time");
        return;
    }
    sampling->discard_pending |= !counts || ns <= 0 || stopping_criterion->stop != STOP_NONE;
    if (sampling->discard_pending)
        return;
    if (sampling->before)
        sampling->result->flags |= FLAG_RESUMED;
    time->clocks_mhz[time->summary.count] =
        clock->ns ? 1e3 * (double)clock->cycles / (double)clock->ns : 0;
    sampling->totals_ns[sampling_own_samples(sampling)] = total_ns;
    time->samples_ns[time->summary.count++] = ns;
    stopping_criterion->seconds += 1e-9 * ns * sampling->chain.launches;
    stopping_criterion->each = fmax(stopping_criterion->each, 1e-9 * total_ns);
    if (!stopping_criterion_is_due(stopping_criterion, time, options))
        return;
    stopping_criterion->uneven =
        !sampling->chain.by_host &&
        time->summary.count < 2 * (size_t)stopping_criterion->buffer_sets &&
        contended_samples(sampling->totals_ns, sampling_own_samples(sampling), 1) > 0;
    stopping_criterion_look(stopping_criterion, time, options);
}
