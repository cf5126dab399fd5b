/* SPDX-License-Identifier: MIT
 * Energy by a counter that steps: rates between its steps, and the joules of a launch and of a
 * lookup with their intervals. It needs no device.
 *
 * A counter of energy shows the joules up to its last step. The device does the same work all the
 * time, so its power is the energy between two steps by the time between them, wherever in a step
 * the counter's own delay lies. The same holds for launches: the host sees some of them end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "result.h"

/* A moment at which a count was seen to grow. */
struct energy_point {
    double seconds; /* of that moment: the middle of the time in which it lies */
    double bound;   /* half of that time, seconds */
    double count;   /* from then on: joules, or launches */
};

struct energy_points {
    struct energy_point *points; /* owned */
    size_t count, room;
};

/* Adds a point; false when out of memory. */
bool energy_points_add(struct energy_points *points, struct energy_point point);

/* Releases; accepts a zeroed struct. */
void energy_points_close(struct energy_points *points);

/* Fewest points of a rate: this many batches, and the start. */
enum { ENERGY_BATCHES = 5, ENERGY_POINTS_MIN = ENERGY_BATCHES + 1 };

/* A count by time, over a stretch. */
struct energy_rate {
    double value; /* a second */
    /* Half of its 95 % interval by how it varies within the stretch, and the most that the readings
     * of its start and its end can be off by. Both a second. */
    double noise, bound;
    double seconds; /* of the stretch */
};

/* The rate between the first point and the last, of a counter that counts whole units.
 *
 * `noise` is Student's t of the means of ENERGY_BATCHES batches, stretches of equally many points:
 * neighbours depend on each other, and means of long batches hardly do (batch means: Law,
 * Simulation Modeling and Analysis, section 9.5.3). `bound` is a unit, and the time in which start
 * and end lie, by the length of the stretch; more points do not help. False: there are fewer than
 * ENERGY_POINTS_MIN points, or no time between them. */
bool energy_rate_of(const struct energy_points *points, double unit, struct energy_rate *out);

/* What a device does for a while: the same launches, or nothing. */
struct energy_load {
    struct energy_rate watts, launches; /* launches: value 0 for a device that is idle */
};

/* The mean of two stretches of the same load, before and after others. What they differ by is in
 * its bound, by half, since the truth lies between them if it goes one way. */
struct energy_rate energy_between(const struct energy_rate *before,
                                  const struct energy_rate *after);

/* Joules of one launch, with what the device takes when it is idle: watts / launches a second.
 *
 *   half = E (bw + bl) + E sqrt(nw^2 + nl^2)      b, n: bound and noise, as shares
 *
 * Noise of independent values adds as squares (JCGM 100:2008, 5.1.2); bounds add as they are. */
struct energy_value energy_of_launch(const struct energy_load *load);

/* Joules of one launch beyond idle: (watts - idle) / launches a second. */
struct energy_value energy_beyond_idle(const struct energy_load *load,
                                       const struct energy_rate *idle);

/* Joules of one lookup: what a launch takes beyond idle, less what a launch of an empty kernel with
 * the same grid does, by the lookups of a launch.
 *
 *   E = (w T - we Te - wi (T - Te)) / lookups      T: 1 / launches a second; e: empty, i: idle
 *
 * The interval is that of the sum, as above: the noise of w, T, we, Te and wi as squares, each
 * times what it is multiplied by, and their bounds as they are. */
struct energy_value energy_of_lookup(const struct energy_load *load,
                                     const struct energy_load *empty,
                                     const struct energy_rate *idle, double lookups);

/* The greatest number of joules that all differences of these readings are multiples of, by whole
 * mJ: what the counter counts in. Give it 0 and the first difference, and then what it returned. */
uint64_t energy_unit_mj(uint64_t unit_mj, uint64_t difference_mj);
