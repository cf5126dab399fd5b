/* SPDX-License-Identifier: MIT
 * The change of energy between two sides. */
#include "energy_change.h"

#include <math.h>

#include "student.h"
#include "text.h"
#include "text_print.h"

const char *const energy_verdict_names[ENERGY_VERDICTS] = {
    [ENERGY_NOT_TOLD] = "not told",
    [ENERGY_SAME] = "same",
    [ENERGY_LOWER] = "lower",
    [ENERGY_HIGHER] = "higher",
};

void side_energy_add(struct side_energy *to, const struct cell_energy *energy)
{
    const double joules = energy->launch.value, off = joules - to->mean;

    if (!energy->given || isnan(joules))
        return;
    to->processes++;
    to->mean += off / (double)to->processes;
    to->squares += off * (joules - to->mean);
    to->halves += (energy->launch.ci_high - energy->launch.ci_low) / 2;
    to->limits |= energy->limits;
}

/* Half of the interval of a side. */
static double half_of(const struct side_energy *side)
{
    const double count = (double)side->processes, own = side->halves / count;

    if (side->processes < 2)
        return own;
    return hypot(own, student_quantile(1 - STATS_CONFIDENCE, count - 1) *
                          sqrt(side->squares / (count - 1) / count));
}

void energy_compare(const struct side_energy *base, const struct side_energy *new_side,
                    double threshold, bool boards_differ, struct energy_change *out)
{
    double base_half, new_half;

    *out = (struct energy_change){.given = base->processes > 0 && new_side->processes > 0,
                                  .base = base->mean,
                                  .new_value = new_side->mean,
                                  .ratio = NAN,
                                  .ci_low = NAN,
                                  .ci_high = NAN,
                                  .limits = base->limits | new_side->limits};
    if (!out->given)
        return;
    base_half = half_of(base);
    new_half = half_of(new_side);
    if (base->mean <= base_half)
        return;
    out->ratio = new_side->mean / base->mean;
    out->ci_low = (new_side->mean - new_half) / (base->mean + base_half);
    out->ci_high = (new_side->mean + new_half) / (base->mean - base_half);
    if (boards_differ || base->processes < ENERGY_PROCESSES_MIN ||
        new_side->processes < ENERGY_PROCESSES_MIN)
        return;
    if (out->ci_low > 1 + threshold)
        out->verdict = ENERGY_HIGHER;
    else if (out->ci_high < 1 - threshold)
        out->verdict = ENERGY_LOWER;
    else if (out->ci_low >= 1 - threshold && out->ci_high <= 1 + threshold)
        out->verdict = ENERGY_SAME;
}

char *energy_change_text(const struct energy_change *change, char *out, size_t bytes)
{
    out[0] = '\0';
    text_join(out, bytes, "", "energy of a launch %s (%s to %s): %s",
              text_of(text_change, change->ratio - 1).text,
              text_of(text_change, change->ci_low - 1).text,
              text_of(text_change, change->ci_high - 1).text,
              energy_verdict_names[change->verdict]);
    for (size_t bit = 0; bit < ENERGY_LIMIT_COUNT; bit++)
        if (change->limits >> bit & 1)
            text_join(out, bytes, "", ", held down by %s", energy_limit_names[bit]);
    return out;
}
