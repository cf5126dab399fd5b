/* SPDX-License-Identifier: MIT
 * Change points of the series of a history. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "change_point.h"
#include "history.h"
#include "log.h"
#include "memory.h"
#include "student.h"
#include "text.h"

enum { RUNS_OF_A_LEVEL = 2, RUNS_OF_A_SERIES = 2 * RUNS_OF_A_LEVEL };

/* The points of a series that count, and room for what is found of them. */
struct levels {
    const struct history_point **points; /* owned */
    double *values;                      /* owned: logarithms of the times */
    struct segment *segments;            /* owned */
    size_t count, segment_count;
    struct deviation noise;
    double threshold;
};

static const char *known(const char *text)
{
    return text ? text : "";
}

/* Deviation between processes; predictions have none. */
static struct deviation noise_of(const struct history_point *point, const struct noise *noise)
{
    const struct history_run *run = point->run;

    if (run->modelled)
        return (struct deviation){0};
    return noise_find(noise, &(struct noise_of){.cell = point->cell,
                                                .median_ns = point->time_ns,
                                                .uuid = known(run->uuid),
                                                .name = known(run->name),
                                                .driver = known(run->driver),
                                                .sha256 = known(point->sha256)});
}

/* Of the deviations within levels, and of the noise, the larger. *degrees: of freedom, infinite for the noise. */
static double spread_of(const struct levels *levels, double *degrees)
{
    const double rest = (double)levels->count - (double)levels->segment_count;
    double squares = 0, spread;

    for (size_t i = 0; i < levels->segment_count; i++)
        for (size_t k = 0; k < levels->segments[i].count; k++)
            squares += pow(levels->values[levels->segments[i].first + k] - levels->segments[i].level, 2);
    spread = rest > 0 ? sqrt(squares / rest) : 0;
    *degrees = spread > levels->noise.value ? rest : INFINITY;
    return fmax(spread, levels->noise.value);
}

static void add_with(struct history_change *change, const char *what, const char *before, const char *after)
{
    if (before && after && strcmp(before, after) != 0)
        text_join(change->with, sizeof(change->with), "; ", "%s %s -> %s", what, before, after);
}

static struct history_change change_of(const struct levels *levels, size_t segment)
{
    const struct segment *old = &levels->segments[segment - 1], *now = &levels->segments[segment];
    const struct history_point *before = levels->points[now->first - 1], *after = levels->points[now->first];
    const double size = now->level - old->level;
    double degrees, half;
    struct history_change change = {
        .cell = after->cell,
        .before = before->run,
        .after = after->run,
        .change = expm1(size),
        .runs_before = old->count,
        .runs_after = now->count,
        .noise = levels->noise,
    };

    half = spread_of(levels, &degrees) * sqrt(1 / (double)old->count + 1 / (double)now->count);
    half *= student_quantile(1 - STATS_CONFIDENCE, degrees);
    change.ci_low = expm1(size - half);
    change.ci_high = expm1(size + half);
    add_with(&change, "driver", before->run->driver, after->run->driver);
    add_with(&change, "VBIOS", before->run->vbios, after->run->vbios);
    if (before->sha256 && after->sha256 && strcmp(before->sha256, after->sha256) != 0)
        text_join(change.with, sizeof(change.with), "; ", "the code changed");
    return change;
}

/* Finds the levels of the series that begins at `first`, and adds its changes. */
static enum status find(struct history *history, size_t first, size_t end, struct levels *levels)
{
    enum status status;

    levels->count = 0;
    for (size_t i = first; i < end; i++) {
        const struct history_point *point = &history->points[i];

        if (!(point->time_ns > 0) || point->flags & FLAGS_DOUBTFUL)
            continue;
        levels->points[levels->count] = point;
        levels->values[levels->count++] = log(point->time_ns);
    }
    if (levels->count < RUNS_OF_A_SERIES)
        return STATUS_OK;
    levels->noise = noise_of(levels->points[0], &history->noise);
    status = change_point_find(levels->values, levels->count, RUNS_OF_A_LEVEL, levels->noise.value, levels->segments,
                               &levels->segment_count);
    for (size_t i = 1; status == STATUS_OK && i < levels->segment_count; i++) {
        const struct history_change change = change_of(levels, i);

        if (fabs(change.change) < levels->threshold)
            continue;
        if (!memory_grow(&history->changes, history->change_count, sizeof(change)))
            return log_memory("a history");
        history->changes[history->change_count++] = change;
    }
    return status;
}

static int latest_first(const void *a, const void *b)
{
    const struct history_change *x = a, *y = b;

    if (x->after->place != y->after->place)
        return x->after->place < y->after->place ? 1 : -1;
    return cell_order(x->cell, y->cell);
}

enum status history_find_changes(struct history *history, double threshold)
{
    struct levels levels = {
        .points = calloc(history->point_count + 1, sizeof(*levels.points)),
        .values = calloc(history->point_count + 1, sizeof(*levels.values)),
        .segments = calloc(history->point_count + 1, sizeof(*levels.segments)),
        .threshold = threshold,
    };
    enum status status = levels.points && levels.values && levels.segments ? STATUS_OK : log_memory("a history");

    for (size_t first = 0, end; status == STATUS_OK && first < history->point_count; first = end) {
        for (end = first + 1; end < history->point_count; end++)
            if (!history_same_series(&history->points[first], &history->points[end]))
                break;
        status = find(history, first, end, &levels);
    }
    if (history->change_count > 0)
        qsort(history->changes, history->change_count, sizeof(*history->changes), latest_first);
    free(levels.points);
    free(levels.values);
    free(levels.segments);
    return status;
}
