/* SPDX-License-Identifier: MIT */
#include "cuda_sampling.h"

#include <math.h>
#include <stdlib.h>

#include "neighbour.h"

/* -- lengths ------------------------------------------------------------------------------------------ */

enum {
    DRAW_LAUNCHES = 12,    /* of a draw of a hot sample, at least, ... */
    DRAW_TICKS = 100,      /* ... and ticks of the timer that they last */
    SHORT_DRAWS = 4,       /* of a sample of few launches that are short, of as many launches each at least */
    ESTIMATE_SAMPLES = 3,  /* of a first estimate, ... */
    ESTIMATE_LAUNCHES = 4, /* ... and launches of each */
    LAUNCHES_LEAST = 12,   /* of a hot sample, unless it would be more than LONGER as long as asked for */
    LONGER = 10,
};

static const double reference_ns =
    15e3; /* of a short stretch, and of what is before it: what it takes to be like the end */
static const double long_ns =
    500e3; /* of a launch, beside which stamps are nothing: the short stretch has an empty kernel then */
static const double alone_ns =
    1500e3; /* of a launch that leaves nothing of its begin in L2: what ran before is nothing to it */
static const double cold_ns = 1e6; /* of cold launches in a sample, about */
static const double sites_l2_share = 0.25; /* of L2, that launches may take which read several sites */
static const double replay_ns = 100e3; /* launches that are longer do not feel where their commands are */

/* Launches that take about all_ns, `most` at most. */
static uint32_t launches_of(double all_ns, double launch_ns, uint32_t most)
{
    return (uint32_t)fmax(1, fmin(most, ceil(all_ns / launch_ns)));
}

/* ns that a kernel has to spin to add work_ns to a chain: its launch is part of the work. At least 1. */
static uint64_t slow_work(double work_ns, double launch_ns)
{
    return work_ns > launch_ns + 1 ? (uint64_t)(work_ns - launch_ns) : 1;
}

/* The median of samples of so many launches, beside as many in the short stretch. NaN when they cannot be launched. */
static double estimate_from(struct cuda_chain *chain, uint32_t launches, uint32_t reference, size_t samples)
{
    chain->lead_in = !chain->cold;
    chain->reference = chain->cold ? 0 : reference;
    chain->draws = chain->cold ? launches : 1;
    chain->launches = launches;
    chain->sites = 1;
    return cuda_sample_median(chain, samples);
}

/* About what a launch of the cell takes, from samples now: of a long one, from a launch that nothing interrupted. NaN when it
 * cannot be launched. */
static double estimate_ns(struct cuda_chain *chain)
{
    double ns = estimate_from(chain, 1, 0, 1);

    if (ns >= long_ns)
        ns = fmin(ns, estimate_from(chain, 1, 0, 1));
    return ns < long_ns ? estimate_from(chain, ESTIMATE_LAUNCHES, 1, ESTIMATE_SAMPLES) : ns;
}

/* Whether what launches of the cell read and write takes less than a share of L2. */
static bool stays_in_l2(const struct cuda_chain *chain, double share)
{
    return (double)cuda_launch_bytes(chain->device, chain->launch) < share * (double)chain->device->info->l2_bytes;
}

/* A site that was not read since others were must still be in L2 for a hot sample: it is read in the replay before. */
static uint32_t count_sites(const struct cuda_chain *chain)
{
    const bool many = chain->cold || (chain->replays && stays_in_l2(chain, sites_l2_share));

    return many ? cuda_launch_sites(chain->device, chain->launch) : 1;
}

/* The launches of a hot sample in as many draws as may be, and as many of each. What a stretch of long launches varies by is the
 * same however long it is; that of short ones varies by which SM has which block, which one draw tells badly. */
static void divide(struct cuda_chain *chain, uint32_t launches, double launch_ns)
{
    const bool is_short = launch_ns < reference_ns && launches < 2 * DRAW_LAUNCHES;
    const double ticks = launches * launch_ns / cuda_tick_ns(chain->device);
    const double wanted = is_short ? fmin(SHORT_DRAWS, launches / SHORT_DRAWS) : launches / DRAW_LAUNCHES;
    const double draws = fmin(wanted, ticks / DRAW_TICKS);

    chain->draws = (uint32_t)fmax(1, fmin(CUDA_DRAWS_MAX, draws));
    chain->launches = (launches + chain->draws - 1) / chain->draws * chain->draws;
}

/* Lengths of a cold sample; with as many launches as those of an earlier process had, 0: there were none. */
static void size_cold(struct cuda_chain *chain, uint32_t launches, double launch_ns)
{
    chain->sites = count_sites(chain);
    chain->draws = chain->launches = launches ? launches : launches_of(cold_ns, launch_ns, CUDA_DRAWS_MAX);
}

/* About as many launches, but each site as often as the others. */
static uint32_t whole_turns(uint32_t launches, uint32_t sites)
{
    return launches < sites ? launches : (launches + sites / 2) / sites * sites;
}

/* Lengths of a hot sample's stretches, likewise. The commands of its launches are in L2 after a replay, whatever ran before;
 * those of launches that fill L2 themselves never are. */
static void size_hot(struct cuda_chain *chain, uint32_t launches, double launch_ns, double sample_ns)
{
    const double longer_ns = fmin(LAUNCHES_LEAST * launch_ns, LONGER * sample_ns);
    const bool stays = stays_in_l2(chain, 1), alone = launch_ns >= alone_ns && !stays;

    chain->replays = launch_ns < replay_ns && stays;
    chain->sites = count_sites(chain);
    if (launches == 0)
        launches = whole_turns(launches_of(fmax(sample_ns, longer_ns), launch_ns, CUDA_LAUNCHES_MAX), chain->sites);
    divide(chain, launches, launch_ns);
    chain->reference = launch_ns < long_ns ? launches_of(reference_ns, launch_ns, CUDA_REFERENCE_LAUNCHES) : 0;
    chain->lead_in = alone ? 0 : launches_of(reference_ns, launch_ns, CUDA_LEAD_IN_LAUNCHES);
}

/* Fills the lengths of a chain that has its device, launch, regime and placements. They follow from the last of `time`'s samples,
 * whose number of launches is kept, or else from a first estimate, which launches the cell. False when it cannot be launched. */
static bool set_lengths(struct cuda_chain *chain, const struct cell_time *time, const struct engine_options *options)
{
    const size_t before = time->summary.count;
    const uint32_t launches = before ? time->launches_per_sample : 0;
    const double launch_ns = before ? time->samples_ns[before - 1] : estimate_ns(chain);

    if (isnan(launch_ns))
        return false;
    if (chain->cold)
        size_cold(chain, launches, launch_ns);
    else
        size_hot(chain, launches, launch_ns, options->sample_ns);
    if (options->slow_path == chain->launch->cell->path)
        chain->slow_ns = slow_work(options->slow_share * launch_ns * chain->launches, chain->device->info->launch_ns);
    chain->seconds = 1e-9 * launch_ns * (chain->draws * (chain->lead_in + 2 * chain->reference) + chain->launches) *
                     (1 + chain->replays);
    return true;
}

/* -- open and close ----------------------------------------------------------------------------------- */

enum status cuda_sampling_fail(struct cuda_sampling *sampling, const char *what)
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
static bool make_room(struct cuda_sampling *sampling, size_t planned, size_t samples_max)
{
    struct cell_time *time = &sampling->result->time;
    const uint32_t launches = time->launches_per_sample;
    size_t room;

    if (!time->clocks_mhz || time->code_copies < 1 || launches < 1 ||
        launches > (sampling->chain.cold ? CUDA_DRAWS_MAX : CUDA_LAUNCHES_MAX))
        time->summary.count = 0;
    sampling->before = time->summary.count;
    room = sampling->before > samples_max ? sampling->before : samples_max;
    return settling_open(&sampling->settling, sampling->chain.placements, planned, room) &&
           widen(&sampling->totals_ns, room) && widen(&time->samples_ns, room) && widen(&time->clocks_mhz, room);
}

/* Takes over what is known of the samples before the first of this process. */
static void describe(struct cuda_sampling *sampling)
{
    struct cell_time *time = &sampling->result->time;

    time->launches_per_sample = sampling->chain.launches;
    time->sites = sampling->chain.sites;
    time->code_copies = (uint32_t)fmin(sampling->chain.placements, CUDA_MODULE_COPIES);
    sampling->settling.each = sampling->chain.seconds;
    for (size_t i = 0; i < sampling->before; i++)
        sampling->settling.seconds += 1e-9 * time->samples_ns[i] * sampling->chain.launches;
}

enum status cuda_sampling_open(struct cuda_device *device, const struct timed_item *item, size_t planned,
                               const struct engine_options *options, struct cuda_sampling *sampling)
{
    *sampling = (struct cuda_sampling){
        .result = item->result,
        .chain = {.device = device, .launch = item->launch, .cold = item->result->cell.regime->flush},
        .done = item->launch->modules == 0,
    };
    if (sampling->done)
        return STATUS_OK;
    sampling->chain.placements = cuda_launch_placements(device, item->launch);
    cuda_expect_cell(device, item->result, ESTIMATE_LAUNCHES);
    if (!make_room(sampling, planned, options->samples_max))
        return cuda_sampling_fail(sampling, "out of memory for samples");
    if (!set_lengths(&sampling->chain, &item->result->time, options))
        return cuda_sampling_fail(sampling, "cannot launch");
    describe(sampling);
    settling_look(&sampling->settling, &item->result->time, options);
    return STATUS_OK;
}

void cuda_sampling_close(struct cuda_sampling *sampling)
{
    cuda_sample_close(&sampling->sample, sampling->chain.device);
    settling_close(&sampling->settling);
    free(sampling->totals_ns);
    *sampling = (struct cuda_sampling){0};
}

/* -- graphs ------------------------------------------------------------------------------------------- */

bool cuda_sampling_lacks_graphs(const struct cuda_sampling *sampling)
{
    return !sampling->done && sampling->made < sampling->chain.placements;
}

bool cuda_sampling_make_graph(struct cuda_sampling *sampling)
{
    const bool made = cuda_sample_make(&sampling->sample, &sampling->chain, sampling->made);

    sampling->made += made;
    return made;
}

enum status cuda_sampling_place(struct cuda_sampling *sampling)
{
    bool placed = true;

    if (sampling->done)
        return STATUS_OK;
    cuda_expect_cell(sampling->chain.device, sampling->result, 0);
    while (placed && cuda_sampling_lacks_graphs(sampling))
        placed = cuda_sampling_make_graph(sampling);
    placed = placed && cuda_sample_upload(&sampling->sample, &sampling->chain);
    return placed ? STATUS_OK : cuda_sampling_fail(sampling, "cannot make a graph");
}

/* -- samples ------------------------------------------------------------------------------------------ */

bool cuda_sampling_is_unsettled(const struct cuda_sampling *sampling)
{
    return !sampling->done && sampling->settling.stop == STOP_NONE;
}

size_t cuda_sampling_own(const struct cuda_sampling *sampling)
{
    return sampling->result->time.summary.count - sampling->before;
}

size_t cuda_sampling_slices(const struct cuda_sampling *sampling)
{
    return sampling->done
               ? 0
               : neighbour_slices(sampling->totals_ns, cuda_sampling_own(sampling), sampling->chain.placements);
}

/* The first sample that counts is in the first place. */
bool cuda_sampling_launch(struct cuda_sampling *sampling)
{
    const size_t number = sampling->result->time.summary.count + sampling->ahead++;

    return cuda_sample_launch(&sampling->sample, &sampling->chain, (uint32_t)(number % sampling->chain.placements));
}

void cuda_sampling_take(struct cuda_sampling *sampling, const struct engine_options *options, bool counts)
{
    const struct clock_reading *clock = cuda_clock_reading(sampling->chain.device, sampling->chain.reading);
    const double ns = round(1e3 * cuda_sample_ns(&sampling->chain)) / 1e3; /* picoseconds: the timer ticks in ns */
    const double total_ns = cuda_sample_total_ns(&sampling->chain);
    struct settling *settling = &sampling->settling;
    struct cell_time *time = &sampling->result->time;

    /* A cell that has settled stays so. An empty kernel that was interrupted can make a time negative: that says nothing. */
    sampling->astray |= !counts || ns <= 0 || settling->stop != STOP_NONE;
    if (sampling->astray)
        return;
    if (sampling->before)
        sampling->result->flags |= FLAG_RESUMED;
    time->clocks_mhz[time->summary.count] = clock->ns ? 1e3 * (double)clock->cycles / (double)clock->ns : 0;
    sampling->totals_ns[cuda_sampling_own(sampling)] = total_ns;
    time->samples_ns[time->summary.count++] = ns;
    settling->seconds += 1e-9 * ns * sampling->chain.launches;
    settling->each = fmax(settling->each, 1e-9 * total_ns);
    if (!settling_is_due(settling, time, options))
        return;
    settling->uneven = time->summary.count < 2 * (size_t)settling->places &&
                       neighbour_slices(sampling->totals_ns, cuda_sampling_own(sampling), 1) > 0;
    settling_look(settling, time, options);
}
