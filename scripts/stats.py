# SPDX-License-Identifier: MIT
"""What stands for samples, as harness/base/stats.h has it."""

import math
import statistics

TRIMMED, SAMPLES_MIN = 10, 5  # one of so many at each end; of so many samples one at least


def trimmed_mean(samples, placements):
    """(mean, its standard error) of samples that were taken on so many placements in turn: as stats_trimmed_mean. The
    error of one sample is nan."""
    count, ordered = len(samples), sorted(samples)
    cut = max(count // TRIMMED, 1) if count >= SAMPLES_MIN else 0
    low, high = ordered[cut], ordered[-1 - cut]
    mean, left = statistics.fmean(ordered[cut:count - cut]), count - 2 * cut
    if count < 2:
        return mean, math.nan
    strata = placements if placements and count >= 2 * placements else 1
    within = [min(max(sample, low), high) for sample in samples]
    each = [within[i::strata] for i in range(strata)]
    squares = sum((len(stratum) - 1) * statistics.variance(stratum) for stratum in each)
    return mean, math.sqrt(squares / (count - strata) * count) / left
