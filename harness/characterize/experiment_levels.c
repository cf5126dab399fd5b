/* SPDX-License-Identifier: MIT
 * Caches of a path, by single accesses and by counters. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment.h"
#include "log.h"

enum {
    STATE_REPEATS = 9,
    LEVELS_MAX = 4,
    KEPT_BYTES_MIN = 256,
    LINES = 256, /* of L2, for each SM: all slices have some */
    LINE_STEP = 2048,
};

/* -- geometry ---------------------------------------------------------------------------------- */

/* A pointer chase without a warm-up follows a launch that pointer chases the same list. Otherwise
 * L2 would first bring from memory what the host wrote, and two slow levels would look alike. */
static enum status chase(void *context, const struct probe_chase *list, uint32_t *cycles)
{
    struct experiment_run *run = context;
    struct probe_request request = {
        .kind = run->outcome->experiment.probes >> PROBE_RELAY ? PROBE_RELAY : PROBE_CHASE,
        .address = list->address,
        .count = list->count,
        .warm_up = list->warm_up,
        .timed = list->timed,
        .before = list->warm_up ? PROBE_BEFORE_NOTHING : PROBE_BEFORE_LAUNCH,
    };

    experiment_ask(run, &request, cycles);
    return run->status;
}

/* Finds the levels. */
void experiment_geometry(struct experiment_run *run)
{
    const struct experiment *row = &run->outcome->experiment;
    const struct prober prober = {run, row->bytes, row->probes >> PROBE_RELAY ? BANK_BYTES : 0,
                                  run->record->source.samples_max, chase};
    struct geometry *geometry = calloc(1, sizeof(*geometry));

    run->outcome->geometry = geometry;
    run->status =
        geometry ? geometry_find(&prober, LEVELS_MAX, geometry) : log_memory("a geometry");
    if (run->status == STATUS_OK)
        geometry->shared_carve_out = run->record->source.shared_carve_out;
}

/* -- every SM ---------------------------------------------------------------------------------- */

/* Chases the same lines on each SM in turn, where L1 holds none of them. */
void experiment_every_sm(struct experiment_run *run)
{
    const uint32_t sms = run->out->device.sm_count;
    const double timing = experiment_timing(run, run->geometry->level[0].latency.value);
    uint32_t list[LINES], cycles[LINES];
    struct probe_request request = {.kind = PROBE_CHASE,
                                    .address = list,
                                    .count = LINES,
                                    .timed = 1,
                                    .sm = 1,
                                    .before = PROBE_BEFORE_LAUNCH};
    double *samples = calloc((size_t)sms * LINES, sizeof(*samples));
    size_t n = 0;

    if (!samples)
        run->status = log_memory("latencies from every SM");
    for (uint32_t i = 0; i < LINES; i++)
        list[i] = i * LINE_STEP;
    for (; request.sm <= sms && experiment_ask(run, &request, cycles); request.sm++)
        for (uint32_t i = 0; i < LINES && cycles[0] != PROBE_NOT_AT_ONCE; i++)
            samples[n++] = cycles[i] - timing;
    if (n && isfinite(timing))
        stats_spread(samples, n, &run->outcome->latency);
    else
        experiment_skip(run, "no SM answered, or what timing adds is not known");
    free(samples);
}

/* -- regions ----------------------------------------------------------------------------------- */

/* A pointer chase of a region. */
struct region_chase {
    struct probe_request request;
    size_t judged; /* the first accesses alone count */
};

/* Lists every `step` bytes of the first `bytes`, once, for one chase at a time. */
static void list_region(struct region_chase *chase, uint32_t bytes, uint32_t step)
{
    static uint32_t listed[BANK_BYTES / 4]; /* the stack may be small */

    chase->request.address = listed;
    chase->request.count = 0;
    for (uint32_t offset = 0; offset < bytes; offset += step)
        listed[chase->request.count++] = offset;
    chase->judged = chase->request.count;
}

/* -- what launches and copies leave ------------------------------------------------------------ */

/* Chases a region after a step. Adds the share that each level answers, or as a number with this
 * name the share of `level` and those before it, which it returns. */
static double chase_after(struct experiment_run *run, struct region_chase *chase, uint32_t level,
                          enum probe_before before, const char *name)
{
    static const char *const names[] = {"share_answered_by_level_1", "share_answered_by_level_2",
                                        "share_answered_by_level_3", "share_answered_by_level_4"};
    static const char method[] =
        "accesses of a pointer chase, by the nearest latency of a level: median share of 9";
    static uint32_t cycles[BANK_BYTES / 4];
    const struct geometry *geometry = run->geometry;
    double answered[GEOMETRY_LEVELS_MAX][STATE_REPEATS] = {0}, kept = 0;

    chase->request.before = before;
    for (size_t r = 0; r < STATE_REPEATS && experiment_ask(run, &chase->request, cycles); r++)
        for (size_t i = 0, answers = 0; i < chase->judged; i++, answers = 0) {
            while (answers + 1 < geometry->level_count &&
                   cycles[i] > geometry_behind(geometry, answers))
                answers++;
            for (size_t k = answers; k < (name ? geometry->level_count : answers + 1); k++)
                answered[k][r]++;
        }
    for (uint32_t k = name ? level : 0; k < (name ? level + 1 : geometry->level_count); k++) {
        struct number number = {.name = name ? name : names[k],
                                .unit = "of the accesses",
                                .method = method,
                                .level = level + 1,
                                .stride = chase->request.address[1],
                                .before = name ? NULL : probe_before_names[before]};

        for (size_t r = 0; r < STATE_REPEATS; r++)
            answered[k][r] /= (double)chase->judged;
        experiment_median(&number, answered[k], STATE_REPEATS);
        number.samples *= chase->judged;
        experiment_number(run, number);
        kept += k <= level ? number.value : 0;
    }
    return kept;
}

/* A region that is chased through a level. */
struct region {
    uint32_t bytes, step;
    uint32_t level_bytes; /* what the level holds; 0: not known */
};

/* The region for a level: more than the levels before it hold, and half of what fits at most. False
 * if the geometry is not known well enough. `larger` is that of several banks, if there is one. */
static bool choose_region(const struct geometry *geometry, const struct geometry *larger,
                          uint32_t level, struct region *out)
{
    const struct geometry_level *levels = geometry->level;
    const uint32_t first = levels[0].fetch_bytes.value, fits = levels[level].fits_bytes.value;
    const uint32_t before = level ? levels[level - 1].fits_bytes.value : 0;
    const uint32_t wanted = level ? 4 * before : fits / 2;

    *out = (struct region){
        .bytes = fits && wanted > fits / 2 ? fits / 2 : wanted,
        .step = levels[level].fetch_bytes.known ? levels[level].fetch_bytes.value : first,
        .level_bytes = levels[level].capacity_bytes.known ? levels[level].capacity_bytes.value
                       : level + 1 < larger->level_count ? larger->level[level].capacity_bytes.value
                                                         : 0,
    };
    return first && (!level || before) && out->bytes >= KEPT_BYTES_MIN && out->bytes > before &&
           out->bytes <= BANK_BYTES;
}

/* Evicts a region of `judged` accesses by a chase over twice the level's size, in several banks if
 * one is too small for both. Returns the share that the level then answers; NaN if it cannot. */
static double share_of_empty(struct experiment_run *run, const struct geometry *larger,
                             const struct region *region, size_t judged, uint32_t level)
{
    const struct geometry *geometry = run->geometry;
    const uint32_t bytes = region->bytes + 2 * region->level_bytes;
    const bool relay = bytes > BANK_BYTES;
    struct region_chase both = {
        .request = {.kind = relay ? PROBE_RELAY : PROBE_CHASE, .timed = 1, .warm_up = 2}};
    double share;

    if (!region->level_bytes || bytes > region->step * BANK_BYTES / 4 ||
        (relay && (!larger || bytes > PROBE_MEMBERS * BANK_BYTES)))
        return NAN;
    list_region(&both, bytes, region->step);
    both.judged = judged;
    run->geometry = relay ? larger : geometry;
    share = chase_after(run, &both, level, PROBE_BEFORE_NOTHING, "share_answered_when_evicted");
    run->geometry = geometry;
    return share;
}

/* What a step leaves of what a level holds, by the share that it answers afterwards. */
static void judge_step(struct experiment_run *run, uint32_t level, enum probe_before after,
                       double share, double held, double empty)
{
    const bool differ = held - empty >= 0.5;
    const char *value = fabs(share - empty) <= 0.02  ? "lost"
                        : fabs(share - held) <= 0.02 ? "kept"
                                                     : "partly kept";
    struct verdict *verdict =
        experiment_verdict(run, "what_it_held_is", level + 1, differ ? value : NULL,
                           "the levels up to this one answer %.3f of the accesses after it, %.3f "
                           "after a pointer chase over twice what it holds, %.3f while it holds "
                           "them%s",
                           share, empty, held, differ ? "" : ": too near to tell what was lost");

    verdict->before = probe_before_names[after];
    verdict->share = share;
}

/* Fills each level with a region that the levels before it cannot hold. Then chases it after a
 * launch, a copy, a launch of another module, and a flush. A miss may bring in data for several
 * accesses, so even an empty level answers some of them. A level has lost the region if it answers
 * as many as an empty level, and more when it holds the region. */
void experiment_invalidation(struct experiment_run *run)
{
    const struct outcome *modules = experiment_outcome(run, "geometry", "constant_modules");
    const struct geometry *larger = modules ? modules->geometry : NULL;

    for (uint32_t level = 0; level + 1 < run->geometry->level_count; level++) {
        struct region_chase chase = {.request = {.kind = PROBE_CHASE, .timed = 1}};
        double shares[PROBE_BEFORE_COUNT] = {0}, held, empty;
        struct region region;

        if (!choose_region(run->geometry, larger ? larger : run->geometry, level, &region))
            continue;
        list_region(&chase, region.bytes, region.step);
        for (size_t after = PROBE_BEFORE_LAUNCH; after < PROBE_BEFORE_COUNT; after++)
            shares[after] = chase_after(run, &chase, level, (enum probe_before)after, NULL);
        /* In the launch that brought in the region by two chases. */
        chase.request.warm_up = 2;
        held = chase_after(run, &chase, level, PROBE_BEFORE_NOTHING, "share_answered_when_held");
        empty = share_of_empty(run, larger, &region, chase.judged, level);
        for (size_t after = PROBE_BEFORE_LAUNCH; !isnan(empty) && after < PROBE_BEFORE_COUNT;
             after++)
            judge_step(run, level, (enum probe_before)after, shares[after], held, empty);
    }
    if (!run->outcome->number_count)
        experiment_skip(run, "the geometry of no level is known well enough to fill it");
}
