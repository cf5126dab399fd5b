/* SPDX-License-Identifier: MIT */
#include "fleet_judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet_scale.h"
#include "fleet_step.h"
#include "log.h"
#include "memory.h"
#include "parallel.h"
#include "pool.h"
#include "stats.h"
#include "student.h"

enum {
    SCALE_LEAST = 12,  /* differences that tell the scale of a series by itself */
    WANDER_LEAST = 5,  /* GPUs whose median is what they do together */
    PEERS_LEAST = 4,   /* GPUs of a model that one is held against the rest of */
    PEER_VALUES = 3,   /* of a GPU that say where it is */
};

static const double covered_least = 0.85; /* of a group, whose change is then the group's */
static const double group_share = 0.5;    /* of the threshold, for groups */
static const double efficiency_of_difference = 0.37, efficiency_of_qn = 0.82;

const char *const fleet_level_names[] = {
    [FLEET_MODEL] = "model", [FLEET_DRIVER] = "driver", [FLEET_VBIOS] = "vbios",
    [FLEET_NODE] = "node",   [FLEET_GPU] = "gpu",
};
const char *const fleet_against_names[] = {[FLEET_PAST] = "past", [FLEET_PEERS] = "peers"};

bool fleet_is_member(const struct fleet_times *times, enum fleet_level level, size_t group, size_t gpu)
{
    return level == FLEET_MODEL || group == (level == FLEET_GPU ? gpu : times->groups[level][gpu]);
}

/* The work on one cell. */
struct work {
    const struct fleet_times *times;
    const struct fleet_limits *limits;
    struct fleet_changes *out;
    size_t cell;
    double tests;
    double deviation; /* of one value of the cell */
    double *left;     /* [gpu][round]: what is not explained yet, about the GPU's own level */
    double *room;     /* for one value for each GPU and round */
    double *spare, *values; /* room for 2 x rounds, or for GPUs and rounds */
    bool *base;       /* [rounds], of the values */
    size_t *rounds;   /* of the values */
    double *together; /* [rounds]: what a group does */
    bool *member;     /* [gpu] */
    double *level;    /* [gpu] where it is tonight; NaN: nowhere */
    size_t *recent;   /* [gpu] values that say so */
    struct pool pool; /* that these lie in */
    bool whole;       /* there was memory for all */
};

static double *left_of(const struct work *work, size_t gpu)
{
    return work->left + gpu * work->times->rounds;
}

static bool is_base(const struct work *work, size_t gpu, size_t round)
{
    return work->times->base && work->times->base[gpu * work->times->rounds + round];
}

static double median_of(double *values, size_t count)
{
    return count ? stats_median_unsorted(values, count) : NAN;
}

/* -- levels and noise ---------------------------------------------------------------------------------- */

/* Sets what is left of each GPU: its values about their median, over the baseline where it has one. */
static void set_left(struct work *work)
{
    const struct fleet_times *times = work->times;
    const double *log_ns = times->log_ns + work->cell * times->gpus * times->rounds;

    for (size_t gpu = 0; gpu < times->gpus; gpu++) {
        const double *own = log_ns + gpu * times->rounds;
        size_t based = 0, all = 0;
        double level;

        for (size_t i = 0; i < times->rounds; i++)
            if (!isnan(own[i]) && is_base(work, gpu, i))
                work->values[based++] = own[i];
        for (size_t i = 0; based == 0 && i < times->rounds; i++)
            if (!isnan(own[i]))
                work->values[all++] = own[i];
        level = median_of(work->values, based + all);
        for (size_t i = 0; i < times->rounds; i++)
            left_of(work, gpu)[i] = own[i] - level;
    }
}

/* Differences between two neighbouring rounds of all GPUs about their median, in `out`; returns how many. */
static size_t differences(const struct work *work, size_t round, double *out)
{
    size_t count = 0;
    double middle;

    for (size_t gpu = 0; gpu < work->times->gpus; gpu++) {
        const double *left = left_of(work, gpu);

        if (!isnan(left[round]) && !isnan(left[round - 1]))
            out[count++] = left[round] - left[round - 1];
    }
    middle = count >= WANDER_LEAST ? median_of(out, count) : 0;
    for (size_t i = 0; i < count; i++)
        out[i] = fabs(out[i] - middle);
    return count;
}

/* The deviation of one value, from all GPUs. */
static void set_deviation(struct work *work)
{
    const struct deviation *known = &work->times->process[work->cell];
    struct deviation own = {0};
    size_t count = 0;

    for (size_t round = 1; round < work->times->rounds; round++)
        count += differences(work, round, work->room + count);
    if (count)
        own = (struct deviation){.value = fleet_difference_scale(work->room, count),
                                 .degrees = efficiency_of_difference * (double)count};
    work->deviation = deviation_pool(known, &own).value;
}

/* The deviation of one value of the series: its own where that is known and larger. */
static double series_deviation(struct work *work, const struct fleet_series *series, double least, double otherwise)
{
    if (series->count <= SCALE_LEAST)
        return fmax(least, otherwise);
    for (size_t i = 1; i < series->count; i++)
        work->spare[i - 1] = fabs(series->values[i] - series->values[i - 1]);
    return fmax(least, fleet_difference_scale(work->spare, series->count - 1));
}

/* -- one series ---------------------------------------------------------------------------------------- */

static enum status add_change(struct work *work, const struct fleet_change *change)
{
    struct fleet_changes *out = work->out;

    if (!memory_grow(&out->items, out->count, sizeof(*change)))
        return log_memory("changes of a fleet");
    out->items[out->count++] = *change;
    return STATUS_OK;
}

/* Whether a round is of the baseline, of half of the members or more. */
static bool is_base_of_members(const struct work *work, size_t round)
{
    size_t members = 0, based = 0;

    for (size_t gpu = 0; work->times->base && gpu < work->times->gpus; gpu++)
        if (work->member[gpu] && !isnan(left_of(work, gpu)[round])) {
            members++;
            based += is_base(work, gpu, round);
        }
    return based > 0 && 2 * based >= members;
}

/* The series of what the members do: of one that is a member alone, or of a group together. */
static struct fleet_series series_of(struct work *work, const double *of)
{
    struct fleet_series series = {.values = work->values, .base = work->times->base ? work->base : NULL};

    for (size_t i = 0; i < work->times->rounds; i++)
        if (!isnan(of[i])) {
            work->base[series.count] = is_base_of_members(work, i);
            work->rounds[series.count] = i;
            work->values[series.count++] = of[i];
        }
    return series;
}

static bool is_change(const struct work *work, const struct fleet_step *step)
{
    return step->change != 0 && step->p * work->tests <= work->limits->false_findings;
}

/* What a step of the series that work->rounds is of says. */
static enum status describe(const struct work *work, const struct fleet_series *series, const struct fleet_step *step,
                            struct fleet_change *change)
{
    struct fleet_date date = {0};
    const enum status status = fleet_step_date(series, step, &date);

    change->cell = work->cell;
    change->change = date.change;
    change->deviation = series->deviation;
    change->p = fmin(1, step->p * work->tests);
    change->last = step->last;
    change->since = work->rounds[date.since];
    change->drift = date.drift;
    return status;
}

/* -- groups -------------------------------------------------------------------------------------------- */

static size_t set_members(struct work *work, enum fleet_level level, size_t group)
{
    size_t count = 0;

    for (size_t gpu = 0; gpu < work->times->gpus; gpu++) {
        work->member[gpu] = fleet_is_member(work->times, level, group, gpu);
        count += work->member[gpu];
    }
    return count;
}

/* What the members do together: in each round the median of those that were there, half of them or more. */
static void set_together(struct work *work, size_t members)
{
    for (size_t i = 0; i < work->times->rounds; i++) {
        size_t count = 0;

        for (size_t gpu = 0; gpu < work->times->gpus; gpu++)
            if (work->member[gpu] && !isnan(left_of(work, gpu)[i]))
                work->values[count++] = left_of(work, gpu)[i];
        work->together[i] = count > 0 && 2 * count >= members ? median_of(work->values, count) : NAN;
    }
}

static void subtract(struct work *work)
{
    for (size_t gpu = 0; gpu < work->times->gpus; gpu++)
        for (size_t i = 0; work->member[gpu] && i < work->times->rounds; i++)
            if (!isnan(work->together[i]))
                left_of(work, gpu)[i] -= work->together[i];
}

/* Leaves those members that changed as the group did, by half as much at least; those that did by more have a change of
 * their own besides, which is left to be found. *present: of how many that can be said. */
static size_t keep_covered(struct work *work, const struct fleet_step *step, size_t since, size_t *present)
{
    size_t covered = 0;

    *present = 0;
    for (size_t gpu = 0; gpu < work->times->gpus; gpu++) {
        const double *left = left_of(work, gpu);
        size_t before = 0, after = 0;
        double change;

        if (!work->member[gpu])
            continue;
        for (size_t i = 0; i < since; i++)
            if (!isnan(left[i]) && (!work->times->base || is_base(work, gpu, i)))
                work->values[before++] = left[i];
        for (size_t i = since; i < work->times->rounds; i++)
            if (!isnan(left[i]))
                work->values[before + after++] = left[i];
        change = median_of(work->values + before, after) - median_of(work->values, before);
        *present += !isnan(change);
        work->member[gpu] = change / step->change > 0.5;
        covered += work->member[gpu];
    }
    return covered;
}

/* Adds a step of the members' series, and takes it off, where nearly all of them changed so. */
static enum status take_step(struct work *work, const struct fleet_series *series, const struct fleet_step *step,
                             struct fleet_change *change)
{
    const enum status status = describe(work, series, step, change);

    if (status != STATUS_OK)
        return status;
    change->covered = keep_covered(work, step, work->rounds[series->count - step->last], &change->members);
    if (change->covered < 2 || (double)change->covered < covered_least * (double)change->members)
        return STATUS_OK;
    subtract(work);
    return add_change(work, change);
}

/* Judges the members that are set together. What the GPUs of a driver do without being a finding is taken off. */
static enum status judge_group(struct work *work, enum fleet_level level, size_t group, size_t members)
{
    struct fleet_change change = {.level = level, .group = group};
    struct fleet_series series;
    struct fleet_step step;

    set_together(work, members);
    series = series_of(work, work->together);
    series.deviation =
        series_deviation(work, &series, work->deviation * sqrt(deviation_of_median(members)), work->deviation);
    step = fleet_step_find(&series, group_share * work->limits->threshold, work->spare);
    if (is_change(work, &step))
        return take_step(work, &series, &step, &change);
    if (level == FLEET_DRIVER && members >= WANDER_LEAST)
        subtract(work);
    return STATUS_OK;
}

/* What all GPUs of a model do was judged before, and taken off where they have one driver. */
static enum status judge_level(struct work *work, enum fleet_level level)
{
    const size_t groups = level == FLEET_MODEL ? 1 : work->times->group_counts[level];
    enum status status = STATUS_OK;

    for (size_t group = 0; status == STATUS_OK && group < groups; group++) {
        const size_t members = set_members(work, level, group);

        if (members > 1 && (level <= FLEET_DRIVER || members < work->times->gpus))
            status = judge_group(work, level, group, members);
    }
    return status;
}

static enum status judge_gpus(struct work *work)
{
    enum status status = STATUS_OK;

    memset(work->member, 0, work->times->gpus * sizeof(*work->member));
    for (size_t gpu = 0; status == STATUS_OK && gpu < work->times->gpus; gpu++) {
        struct fleet_change change = {.level = FLEET_GPU, .group = gpu, .members = 1, .covered = 1};
        struct fleet_series series;
        struct fleet_step step;

        work->member[gpu] = true;
        series = series_of(work, left_of(work, gpu));
        series.deviation = series_deviation(work, &series, work->deviation, 0);
        step = fleet_step_find(&series, work->limits->threshold, work->spare);
        if (is_change(work, &step))
            status = describe(work, &series, &step, &change);
        if (status == STATUS_OK && is_change(work, &step))
            status = add_change(work, &change);
        work->member[gpu] = false;
    }
    return status;
}

/* -- peers --------------------------------------------------------------------------------------------- */

/* Where each GPU that was there in the last night is, in work->level, and those in work->values; returns how many. */
static size_t set_levels(struct work *work)
{
    const struct fleet_times *times = work->times;
    const double *log_ns = times->log_ns + work->cell * times->gpus * times->rounds;
    size_t present = 0;

    for (size_t gpu = 0; gpu < times->gpus; gpu++) {
        const double *own = log_ns + gpu * times->rounds;
        size_t count = 0;

        for (size_t i = times->rounds; i-- > 0 && count < PEER_VALUES;)
            if (!isnan(own[i]))
                work->spare[count++] = own[i];
        work->level[gpu] = median_of(work->spare, count);
        work->recent[gpu] = count;
        if (count)
            work->values[present++] = work->level[gpu];
    }
    return present;
}

/* That neither boards nor processes make such a distance. */
static double peer_p(const struct work *work, double distance, double spread, double degrees, size_t values)
{
    double least = 1;

    for (double share = 0.5; share < 0.99; share += 0.1) {
        const double board = spread > 0 ? student_p(share * distance / spread, degrees) : 0;

        least = fmin(least, board + fleet_tail(values, (1 - share) * distance / work->deviation));
    }
    return least;
}

static enum status judge_peers(struct work *work)
{
    const size_t present = set_levels(work);
    enum status status = STATUS_OK;
    double middle, spread, degrees;

    if (present < PEERS_LEAST)
        return STATUS_OK;
    stats_sort(work->values, present);
    middle = stats_median(work->values, present);
    degrees = efficiency_of_qn * (double)(present - 1);
    spread = fleet_qn(work->values, present) * sqrt(1 + deviation_of_median(present));
    for (size_t gpu = 0; status == STATUS_OK && gpu < work->times->gpus; gpu++) {
        const double distance = work->level[gpu] - middle;
        struct fleet_change change = {.level = FLEET_GPU,
                                      .against = FLEET_PEERS,
                                      .group = gpu,
                                      .cell = work->cell,
                                      .change = distance,
                                      .deviation = spread,
                                      .members = 1,
                                      .covered = 1};

        if (isnan(distance) || fabs(distance) < work->limits->peer_threshold)
            continue;
        change.last = work->recent[gpu];
        change.p = peer_p(work, fabs(distance), spread, degrees, change.last) * work->tests;
        if (change.p <= work->limits->false_findings)
            status = add_change(work, &change);
    }
    return status;
}

/* -- all ----------------------------------------------------------------------------------------------- */

static enum status judge_cell(struct work *work)
{
    enum status status = STATUS_OK;

    set_left(work);
    set_deviation(work);
    for (enum fleet_level level = FLEET_MODEL; status == STATUS_OK && level < FLEET_GPU; level++)
        status = judge_level(work, level);
    if (status == STATUS_OK)
        status = judge_gpus(work);
    return status == STATUS_OK ? judge_peers(work) : status;
}

/* Every group and GPU against its past, and every GPU against the others, in every cell. */
static double count_tests(const struct fleet_times *times)
{
    size_t count = 1 + 2 * times->gpus;

    for (enum fleet_level level = FLEET_DRIVER; level < FLEET_GPU; level++)
        count += times->group_counts[level];
    return (double)(count * times->cells);
}

/* Everything, and what was found in each cell. */
struct judging {
    const struct fleet_times *times;
    const struct fleet_limits *limits;
    struct fleet_changes *found; /* [cell] */
    enum status *statuses; /* [cell] */
};

/* An array of the work's. */
static void *take_array(struct work *work, size_t count, size_t bytes)
{
    void *array = pool_take(&work->pool, count * bytes);

    work->whole = work->whole && array;
    return array;
}

static enum status open_work(struct work *work)
{
    const struct fleet_times *times = work->times;
    const size_t all = times->gpus * times->rounds + 1, most = times->gpus + 2 * times->rounds + 1;

    work->tests = count_tests(times);
    work->whole = true;
    work->room = take_array(work, all, sizeof(*work->room));
    work->left = take_array(work, all, sizeof(*work->left));
    work->spare = take_array(work, most, sizeof(*work->spare));
    work->values = take_array(work, most, sizeof(*work->values));
    work->base = take_array(work, most, sizeof(*work->base));
    work->rounds = take_array(work, most, sizeof(*work->rounds));
    work->together = take_array(work, most, sizeof(*work->together));
    work->member = take_array(work, most, sizeof(*work->member));
    work->level = take_array(work, most, sizeof(*work->level));
    work->recent = take_array(work, most, sizeof(*work->recent));
    return work->whole ? STATUS_OK : log_memory("the verdict on a fleet");
}

static void judge_cells(void *context, uint64_t first, uint64_t count)
{
    const struct judging *judging = context;
    struct work work = {.times = judging->times, .limits = judging->limits};
    enum status status = open_work(&work);

    for (uint64_t i = 0; i < count; i++) {
        work.cell = first + i;
        work.out = &judging->found[work.cell];
        if (status == STATUS_OK)
            status = judge_cell(&work);
        judging->statuses[work.cell] = status;
    }
    pool_close(&work.pool);
}

/* What was found in all cells, in their order. */
static enum status gather(const struct judging *judging, struct fleet_changes *out)
{
    size_t count = 0;

    for (size_t cell = 0; cell < judging->times->cells; cell++)
        count += judging->found[cell].count;
    out->items = calloc(count + 1, sizeof(*out->items));
    if (!out->items)
        return log_memory("changes of a fleet");
    for (size_t cell = 0; cell < judging->times->cells; cell++)
        for (size_t i = 0; i < judging->found[cell].count; i++)
            out->items[out->count++] = judging->found[cell].items[i];
    return STATUS_OK;
}

enum status fleet_judge(const struct fleet_times *times, const struct fleet_limits *limits, struct fleet_changes *out)
{
    struct judging judging = {times, limits, calloc(times->cells + 1, sizeof(*judging.found)),
                              calloc(times->cells + 1, sizeof(*judging.statuses))};
    enum status status = judging.found && judging.statuses ? STATUS_OK : log_memory("the verdict on a fleet");

    *out = (struct fleet_changes){0};
    if (status == STATUS_OK)
        parallel_ranges(times->cells, 1, judge_cells, &judging);
    for (size_t cell = 0; status == STATUS_OK && cell < times->cells; cell++)
        status = judging.statuses[cell];
    if (status == STATUS_OK)
        status = gather(&judging, out);
    for (size_t cell = 0; judging.found && cell < times->cells; cell++)
        fleet_changes_close(&judging.found[cell]);
    free(judging.found);
    free(judging.statuses);
    return status;
}

void fleet_changes_close(struct fleet_changes *changes)
{
    free(changes->items);
    *changes = (struct fleet_changes){0};
}
