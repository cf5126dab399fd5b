/* SPDX-License-Identifier: MIT */
#include "fleet_finding.h"

#include <math.h>
#include <stdlib.h>

#include "log.h"
#include "stats.h"

static int order(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

/* Those of a finding beside each other. */
static int by_finding(const void *a, const void *b)
{
    const struct fleet_change *x = a, *y = b;
    const size_t keys[][2] = {{x->against, y->against},
                              {x->level, y->level},
                              {x->group, y->group},
                              {x->change < 0, y->change < 0},
                              {x->cell, y->cell}};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i][0] != keys[i][1])
            return order(keys[i][0], keys[i][1]);
    return 0;
}

static int by_weight(const void *a, const void *b)
{
    const struct fleet_finding *x = a, *y = b;
    const double left = fabs(x->change), right = fabs(y->change);

    if (x->slower != y->slower)
        return y->slower - x->slower;
    if (x->level != y->level)
        return order(x->level, y->level);
    return left != right ? (left < right) - (left > right) : order(x->group, y->group);
}

static bool same_finding(const struct fleet_change *a, const struct fleet_change *b)
{
    return a->against == b->against && a->level == b->level && a->group == b->group &&
           (a->change < 0) == (b->change < 0);
}

/* Whether a change against the past explains that the GPU of the other differs from the rest. */
static bool explains(const struct fleet_times *times, const struct fleet_change *past, const struct fleet_change *peers)
{
    return past->against == FLEET_PAST && past->level != FLEET_MODEL && (past->change < 0) == (peers->change < 0) &&
           fleet_is_member(times, past->level, past->group, peers->group);
}

static void drop_explained(const struct fleet_times *times, struct fleet_changes *changes)
{
    size_t kept = 0;

    for (size_t i = 0; i < changes->count; i++) {
        bool explained = false;

        for (size_t j = 0; !explained && j < kept && changes->items[i].against == FLEET_PEERS; j++)
            explained = explains(times, &changes->items[j], &changes->items[i]);
        if (!explained)
            changes->items[kept++] = changes->items[i];
    }
    changes->count = kept;
}

/* `room`: for one value a change. */
static struct fleet_finding finding_of(const struct fleet_change *changes, size_t count, double *room)
{
    struct fleet_finding out = {.level = changes->level,
                                .against = changes->against,
                                .group = changes->group,
                                .slower = changes->change > 0,
                                .changes = changes,
                                .count = count,
                                .surest = changes};

    for (size_t i = 0; i < count; i++) {
        const struct fleet_change *change = &changes[i];

        if (fabs(change->change / change->deviation) > fabs(out.surest->change / out.surest->deviation))
            out.surest = change;
        if (change->covered > out.covered) {
            out.covered = change->covered;
            out.members = change->members;
        }
        room[i] = change->change;
    }
    stats_sort(room, count);
    out.change = stats_median(room, count);
    return out;
}

enum status fleet_find(const struct fleet_times *times, struct fleet_changes *changes, struct fleet_findings *out)
{
    double *room = calloc(changes->count + 1, sizeof(*room));
    size_t end;

    *out = (struct fleet_findings){.items = calloc(changes->count + 1, sizeof(*out->items))};
    if (!room || !out->items) {
        free(room);
        return log_memory("findings of a fleet");
    }
    if (changes->count)
        qsort(changes->items, changes->count, sizeof(*changes->items), by_finding);
    drop_explained(times, changes);
    for (size_t first = 0; first < changes->count; first = end) {
        for (end = first + 1; end < changes->count; end++)
            if (!same_finding(&changes->items[first], &changes->items[end]))
                break;
        out->items[out->count++] = finding_of(&changes->items[first], end - first, room);
    }
    if (out->count)
        qsort(out->items, out->count, sizeof(*out->items), by_weight);
    free(room);
    return STATUS_OK;
}

void fleet_findings_close(struct fleet_findings *findings)
{
    free(findings->items);
    *findings = (struct fleet_findings){0};
}
