/* SPDX-License-Identifier: MIT
 * Rates of a counter that steps, and joules with their intervals. */
#include "energy.h"

#include <math.h>
#include <stdlib.h>

#include "student.h"

/* -- points ------------------------------------------------------------------------------------ */

bool energy_points_add(struct energy_points *points, struct energy_point point)
{
    if (points->count == points->room) {
        const size_t room = 2 * points->room + 64;
        struct energy_point *wide = realloc(points->points, room * sizeof(*wide));

        if (!wide)
            return false;
        points->points = wide;
        points->room = room;
    }
    points->points[points->count++] = point;
    return true;
}

void energy_points_close(struct energy_points *points)
{
    free(points->points);
    *points = (struct energy_points){0};
}

/* -- rates ------------------------------------------------------------------------------------- */

static double rate_between(const struct energy_point *from, const struct energy_point *to)
{
    return (to->count - from->count) / (to->seconds - from->seconds);
}

/* Half the 95 % interval of the mean of the batches' rates. The last batches have a point more
 * where the points do not divide. */
static double batch_noise(const struct energy_points *points, double rate)
{
    const size_t steps = points->count - 1;
    double squares = 0;

    for (size_t i = 0; i < ENERGY_BATCHES; i++) {
        const struct energy_point *from = &points->points[i * steps / ENERGY_BATCHES],
                                  *to = &points->points[(i + 1) * steps / ENERGY_BATCHES];
        const double off = rate_between(from, to) - rate;

        squares += off * off;
    }
    return student_quantile(1 - STATS_CONFIDENCE, ENERGY_BATCHES - 1) *
           sqrt(squares / (ENERGY_BATCHES - 1) / ENERGY_BATCHES);
}

bool energy_rate_of(const struct energy_points *points, double unit, struct energy_rate *out)
{
    const struct energy_point *first = points->points, *last;

    *out = (struct energy_rate){.value = NAN, .noise = NAN, .bound = NAN};
    if (points->count < ENERGY_POINTS_MIN)
        return false;
    last = &points->points[points->count - 1];
    out->seconds = last->seconds - first->seconds;
    for (size_t i = 1; i < points->count; i++)
        if (points->points[i].seconds <= points->points[i - 1].seconds)
            return false;
    out->value = rate_between(first, last);
    out->noise = batch_noise(points, out->value);
    out->bound = (unit + fabs(out->value) * (first->bound + last->bound)) / out->seconds;
    return true;
}

struct energy_rate energy_between(const struct energy_rate *before, const struct energy_rate *after)
{
    return (struct energy_rate){
        .value = (before->value + after->value) / 2,
        .noise = hypot(before->noise, after->noise) / 2,
        .bound = (before->bound + after->bound + fabs(before->value - after->value)) / 2,
        .seconds = before->seconds + after->seconds,
    };
}

/* -- joules ------------------------------------------------------------------------------------ */

/* A sum of products with rates: its value, the squares of its noise, and its bound. */
struct sum {
    double value, squares, bound;
};

/* Adds what `factor` times the rate adds to a sum. */
static void add_watts(struct sum *sum, const struct energy_rate *watts, double factor)
{
    sum->value += watts->value * factor;
    sum->squares += pow(watts->noise * factor, 2);
    sum->bound += fabs(watts->bound * factor);
}

/* Adds what the seconds of a launch are uncertain by, which `watts` are multiplied with. */
static void add_seconds(struct sum *sum, const struct energy_rate *launches, double watts)
{
    const double joules = fabs(watts) / launches->value;

    sum->squares += pow(joules * launches->noise / launches->value, 2);
    sum->bound += joules * launches->bound / launches->value;
}

static struct energy_value value_of(const struct sum *sum, double parts)
{
    const double half = (sum->bound + sqrt(sum->squares)) / parts, value = sum->value / parts;

    return (struct energy_value){.value = value, .ci_low = value - half, .ci_high = value + half};
}

struct energy_value energy_of_launch(const struct energy_load *load)
{
    struct sum sum = {0};

    add_watts(&sum, &load->watts, 1 / load->launches.value);
    add_seconds(&sum, &load->launches, load->watts.value);
    return value_of(&sum, 1);
}

struct energy_value energy_beyond_idle(const struct energy_load *load,
                                       const struct energy_rate *idle)
{
    const double seconds = 1 / load->launches.value;
    struct sum sum = {0};

    add_watts(&sum, &load->watts, seconds);
    add_watts(&sum, idle, -seconds);
    add_seconds(&sum, &load->launches, load->watts.value - idle->value);
    return value_of(&sum, 1);
}

struct energy_value energy_of_lookup(const struct energy_load *load,
                                     const struct energy_load *empty,
                                     const struct energy_rate *idle, double lookups)
{
    const double seconds = 1 / load->launches.value, empty_seconds = 1 / empty->launches.value;
    struct sum sum = {0};

    add_watts(&sum, &load->watts, seconds);
    add_watts(&sum, &empty->watts, -empty_seconds);
    add_watts(&sum, idle, empty_seconds - seconds);
    add_seconds(&sum, &load->launches, load->watts.value - idle->value);
    add_seconds(&sum, &empty->launches, empty->watts.value - idle->value);
    return value_of(&sum, lookups);
}

uint64_t energy_unit_mj(uint64_t unit_mj, uint64_t difference_mj)
{
    while (difference_mj) {
        const uint64_t rest = unit_mj % difference_mj;

        unit_mj = difference_mj;
        difference_mj = rest;
    }
    return unit_mj;
}
