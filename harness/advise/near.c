/* SPDX-License-Identifier: MIT
 * What measured lookups near those that are asked about say of memory spaces. */
#include "near.h"

#include <math.h>
#include <string.h>

#include "advise.h"
#include "parameter_index.h"
#include "user_cell.h"

/* Chosen by lookups of an H200, each without its own measurement, and checked by those of an H100:
 * scripts/studies/measured_lookups.py prints both. */
static const double farthest = 3; /* distance */
static const double tied = 0.01; /* of the mean ratio to the best: this much more is as good */
static const double apart = 1.04; /* a ratio: slower where all are greater */

enum { LEAST_COUNT = 2, UNPOLLUTED_BYTES = 4096 };

/* -- distances --------------------------------------------------------------------------------- */

/* Whether lookups may differ in a parameter: its part of the distance counts instead. */
static bool may_differ(size_t parameter)
{
    return parameter == PARAMETER_table_bytes || parameter == PARAMETER_width_bytes ||
           parameter == PARAMETER_distinct || parameter == PARAMETER_warps_per_sm ||
           parameter == PARAMETER_polluter_bytes;
}

static uint32_t warps_of(const struct cell *cell)
{
    return cell->parameters[PARAMETER_warps_per_sm];
}

/* A launch with as many warps as fit is like none whose number of warps is named. */
static bool are_alike(const struct cell *a, const struct cell *b)
{
    bool alike = a->workload == b->workload && a->pattern == b->pattern &&
                 a->elements == b->elements && a->block_size == b->block_size &&
                 a->cache_state == b->cache_state && !cell_reads_file(a) &&
                 !warps_of(a) == !warps_of(b);

    for (size_t i = 0; alike && i < parameter_count; i++)
        alike = may_differ(i) || a->parameters[i] == b->parameters[i];
    return alike;
}

static double factors_of_two(double a, double b)
{
    return fabs(log2(a / b));
}

static double polluted(const struct cell *cell)
{
    return (double)cell->parameters[PARAMETER_polluter_bytes] + UNPOLLUTED_BYTES;
}

static double distance_of(const struct measured_lookup *lookup, const struct cell *cell,
                          const struct advised_facts *facts)
{
    const struct cell *measured = &lookup->cell;

    if (!are_alike(measured, cell))
        return INFINITY;
    return factors_of_two(cell_table_bytes(measured), cell_table_bytes(cell)) +
           factors_of_two(cell_table_width(measured), cell_table_width(cell)) +
           factors_of_two(lookup->addresses, facts->addresses) +
           factors_of_two(lookup->sectors, facts->sectors) +
           factors_of_two(lookup->wavefronts, facts->wavefronts) +
           (warps_of(cell) ? factors_of_two(warps_of(measured), warps_of(cell)) : 0) +
           factors_of_two(polluted(measured), polluted(cell)) / 4;
}

static bool are_same(const struct cell *a, const struct cell *b)
{
    return cell_table_bytes(a) == cell_table_bytes(b) &&
           cell_table_width(a) == cell_table_width(b) && warps_of(a) == warps_of(b) &&
           a->parameters[PARAMETER_polluter_bytes] == b->parameters[PARAMETER_polluter_bytes] &&
           a->parameters[PARAMETER_distinct] == b->parameters[PARAMETER_distinct];
}

void near_find(const struct measured *measured, const struct cell *cell,
               const struct advised_facts *facts, struct near_lookups *out)
{
    *out = (struct near_lookups){.count = 0};
    for (size_t i = 0; i < measured->count; i++) {
        const struct measured_lookup *lookup = &measured->lookups[i];
        const double distance = distance_of(lookup, cell, facts);
        size_t place = out->count;

        if (distance > farthest)
            continue;
        if (are_same(&lookup->cell, cell)) {
            *out = (struct near_lookups){.lookups = {lookup}, .count = 1, .same = true};
            return;
        }
        while (place > 0 && out->distances[place - 1] > distance)
            place--;
        if (place == NEAR_MAX)
            continue;
        out->count += out->count < NEAR_MAX;
        for (size_t k = out->count - 1; k > place; k--) {
            out->lookups[k] = out->lookups[k - 1];
            out->distances[k] = out->distances[k - 1];
        }
        out->lookups[place] = lookup;
        out->distances[place] = distance;
    }
}

/* -- memory spaces ----------------------------------------------------------------------------- */

/* NaN where it was not measured. */
static double time_in(const struct measured_lookup *lookup, const struct path *path)
{
    for (size_t i = 0; i < lookup->count; i++)
        if (lookup->times[i].path == path)
            return lookup->times[i].ns;
    return NAN;
}

/* The shortest time in memory spaces that can hold the table that is asked about. */
static double best_of(const struct measured_lookup *lookup, const struct advice *advice)
{
    double best = INFINITY;

    for (size_t i = 0; i < advice->count; i++)
        best = fmin(best, time_in(lookup, advice->spaces[i].path));
    return best;
}

static struct near_space space_of(const struct advice *advice, const struct path *path)
{
    const struct near_lookups *near = &advice->near;
    const double asked = cell_table_bytes(&advice->cell);
    struct near_space out = {.least = INFINITY, .mean = 0, .most = 0};
    double weights = 0, smallest = INFINITY, largest = 0;

    for (size_t i = 0; i < near->count; i++) {
        const double ratio = time_in(near->lookups[i], path) / best_of(near->lookups[i], advice);
        const double weight = 1 / (near->distances[i] + 0.25);
        const double bytes = cell_table_bytes(&near->lookups[i]->cell);

        if (isnan(ratio))
            continue;
        out.count++;
        out.mean += weight * ratio;
        weights += weight;
        out.least = fmin(out.least, ratio);
        out.most = fmax(out.most, ratio);
        smallest = fmin(smallest, bytes);
        largest = fmax(largest, bytes);
    }
    out.mean /= weights;
    out.known =
        out.count >= (near->same ? 1 : LEAST_COUNT) && smallest <= asked && asked <= largest;
    return out;
}

/* Says why there is no answer. */
static void refuse(struct advice *advice, const char *why)
{
    advice->why = why;
    for (size_t i = 0; i < advice->count; i++)
        advice->spaces[i].standing = ADVISE_UNKNOWN;
}

/* The name of the memory space that stands for a path's kind. In no measured lookup was texture,
 * global_l2, restrict or readonly faster than global by more than `apart`, nor shared_copies than
 * shared, nor param or param_large than constant. */
static const char *kind_of(const struct path *path)
{
    switch (path->unit) {
    case UNIT_L1:
    case UNIT_L2:
    case UNIT_TEXTURE:
        return "global";
    case UNIT_IDC:
        return "constant";
    case UNIT_SHARED:
        return "shared";
    default:
        return path->name;
    }
}

/* Whether a memory space that was measured nowhere near may be the best. */
static bool may_be_best(const struct advice *advice, const struct path *path)
{
    const char *const kind = kind_of(path);

    for (size_t i = 0; i < advice->count; i++)
        if (advice->spaces[i].near.known && strcmp(advice->spaces[i].path->name, kind) == 0)
            return false;
    return true;
}

static enum advise_standing standing_of(const struct near_space *near, double best)
{
    if (!near->known)
        return ADVISE_UNKNOWN;
    if (near->mean <= best + tied && near->most <= apart)
        return ADVISE_ALIKE_FIRST;
    return near->least > apart ? ADVISE_SLOWER : ADVISE_TOO_CLOSE;
}

void near_judge(struct advice *advice)
{
    double best = INFINITY;
    size_t tie = 0;

    advice->why = NULL;
    if (advice->near.count < (advice->near.same ? 1 : LEAST_COUNT)) {
        refuse(advice, advice->near.count ? "one measured lookup alone is near"
                                          : "no measured lookups are near");
        return;
    }
    for (size_t i = 0; i < advice->count; i++) {
        struct advised_space *space = &advice->spaces[i];

        space->near = space_of(advice, space->path);
        if (space->near.known)
            best = fmin(best, space->near.mean);
    }
    for (size_t i = 0; i < advice->count; i++) {
        struct advised_space *space = &advice->spaces[i];

        space->standing = standing_of(&space->near, best);
        tie += space->standing == ADVISE_ALIKE_FIRST;
        if (!space->near.known &&
            (space->near.count ? space->near.least <= apart : may_be_best(advice, space->path)))
            tie = SIZE_MAX / 2;
    }
    if (tie == 0)
        refuse(advice, "the near lookups do not agree on a memory space");
    else if (tie > advice->count)
        refuse(advice, "a memory space that may be the best was not measured near, or with larger, "
                       "or smaller tables alone");
}
