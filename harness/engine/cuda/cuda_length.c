/* SPDX-License-Identifier: MIT */
#include "cuda_length.h"

#include <math.h>

enum {
    DRAW_LAUNCHES = 12,    /* of a draw of a hot sample, at least, ... */
    DRAW_TICKS = 100,      /* ... and ticks of the timer that they last */
    SHORT_DRAWS = 4,       /* of a sample of few launches that are short, of as many launches each at least */
    ESTIMATE_SAMPLES = 3,  /* of a first estimate */
    LAUNCHES_LEAST = 12,   /* of a hot sample, unless it would be more than LONGER as long as asked for */
    LONGER = 10,
};

static const double reference_ns =
    15e3; /* of a short stretch, and of what is before it: what it takes to be like the end */
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

/* About what a launch of the cell takes, from samples now. NaN when it cannot be launched. */
static double estimate_ns(struct cuda_chain *chain)
{
    chain->lead_in = chain->reference = chain->cold ? 0 : 1;
    chain->draws = chain->cold ? CUDA_ESTIMATE_LAUNCHES : 1;
    chain->launches = CUDA_ESTIMATE_LAUNCHES;
    chain->sites = 1;
    return cuda_sample_median(chain, ESTIMATE_SAMPLES);
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

    chain->replays = launch_ns < replay_ns && stays_in_l2(chain, 1);
    chain->sites = count_sites(chain);
    if (launches == 0)
        launches = whole_turns(launches_of(fmax(sample_ns, longer_ns), launch_ns, CUDA_LAUNCHES_MAX), chain->sites);
    divide(chain, launches, launch_ns);
    chain->reference = launches_of(reference_ns, launch_ns, CUDA_REFERENCE_LAUNCHES);
    chain->lead_in = launches_of(reference_ns, launch_ns, CUDA_LEAD_IN_LAUNCHES);
}

bool cuda_length_set(struct cuda_chain *chain, const struct cell_time *time, const struct engine_options *options)
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
