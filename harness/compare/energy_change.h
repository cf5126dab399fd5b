/* SPDX-License-Identifier: MIT
 * Energy of a launch on two sides, by the intervals of their processes. Nobody measured what
 * processes, boards and days differ by in energy, so there is no p value: only intervals that do
 * not reach the threshold tell a change, of three processes a side on one board. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "judge.h"
#include "result.h"

enum { ENERGY_PROCESSES_MIN = 3 }; /* on each side, for a verdict */

/* Joules of a launch of a cell, over the processes of a side. Zeroed: none. */
struct side_energy {
    size_t processes;
    double mean,
        squares; /* of their values: squares of what they differ from the mean by, summed */
    double halves; /* sum of halves of their intervals */
    uint32_t limits; /* of any, see result.h */
};

/* Adds a process that has joules. */
void side_energy_add(struct side_energy *to, const struct cell_energy *energy);

enum energy_verdict { ENERGY_NOT_TOLD, ENERGY_SAME, ENERGY_LOWER, ENERGY_HIGHER, ENERGY_VERDICTS };

extern const char *const energy_verdict_names[ENERGY_VERDICTS];

struct energy_change {
    bool given; /* both sides have it */
    double base, new_value; /* joules: means over processes */
    /* new / base, and its interval; NaN: not known */
    double ratio, ci_low, ci_high;
    enum energy_verdict verdict;
    uint32_t limits; /* of either side */
};

/* Compares two sides; *out is not given if one has no energy.
 *
 *   half of a side = sqrt((t s / sqrt(n))^2 + h^2)
 *   interval       = (new - half) / (base + half) to (new + half) / (base - half)
 *
 * n: processes, whose values deviate by s; h: the mean of half their own intervals.
 * t is Student's at STATS_CONFIDENCE; with one process it is h alone. The interval is wider than
 * that of a ratio of independent values. Higher or lower: it lies beyond the threshold, a share;
 * same: within it. Not told: it reaches across, or a side has fewer than ENERGY_PROCESSES_MIN
 * processes, or `boards_differ`. */
void energy_compare(const struct side_energy *base, const struct side_energy *new_side,
                    double threshold, bool boards_differ, struct energy_change *out);

/* Writes the change for people, "energy of a launch +4.10% (+2.00% to +6.30%): higher". Returns
 * out. */
char *energy_change_text(const struct energy_change *change, char *out, size_t bytes);
