#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tests/data/resample.json, the reference that tests/test_resample.c checks the bootstrap against.

Needs scipy (Debian: python3-scipy). Cases of one launch a side are scipy.stats.bootstrap's own, of the ratio of
medians; cases of several launches resample launches and then samples, draw by draw, in numpy. Of each
distribution the file keeps what the test needs: quantiles a little below and above those of the 95 % interval,
between which the quantile of 10,000 resamples lies unless it is more than 4 standard errors off (the error of the
reference itself included), and the two-sided p.

    /usr/bin/python3 tests/data/make_reference.py > tests/data/resample.json
"""

import json
import sys

import numpy
import scipy
import scipy.stats

REFERENCE = 100_000
TESTED = 10_000
ERRORS = 4


def ratio_of_medians(base, new, axis=-1):
    return numpy.median(new, axis=axis) / numpy.median(base, axis=axis)


def flat(base, new, rng):
    result = scipy.stats.bootstrap((base[0], new[0]), ratio_of_medians, method="percentile", vectorized=True,
                                   n_resamples=REFERENCE, batch=1000, random_state=rng)
    return result.bootstrap_distribution


def side_estimates(launches, rng):
    estimates = numpy.empty(REFERENCE)
    for i in range(REFERENCE):
        drawn = rng.integers(len(launches), size=len(launches))
        medians = [numpy.median(launches[k][rng.integers(len(launches[k]), size=len(launches[k]))]) for k in drawn]
        estimates[i] = numpy.median(medians)
    return estimates


def hierarchical(base, new, rng):
    return side_estimates(new, rng) / side_estimates(base, rng)


def bracket(ratios, at, error):
    return [numpy.quantile(ratios, at - error, method="lower"), numpy.quantile(ratios, at + error, method="higher")]


def case(name, base, new, rng):
    # What the test reads is what was resampled, to the last digit.
    base = [numpy.round(launch, 6) for launch in base]
    new = [numpy.round(launch, 6) for launch in new]
    ratios = (flat if len(base) == len(new) == 1 else hierarchical)(base, new, rng)
    error = ERRORS * numpy.sqrt(0.025 * 0.975 * (1 / TESTED + 1 / REFERENCE))
    tail = min(numpy.mean(ratios <= 1), numpy.mean(ratios >= 1))
    return {
        "name": name,
        "base": [list(launch) for launch in base],
        "new": [list(launch) for launch in new],
        "low": bracket(ratios, 0.025, error),
        "high": bracket(ratios, 0.975, error),
        "p": min(1.0, 2 * tail),
        "p_error": 2 * ERRORS * numpy.sqrt(max(tail, 1e-4) * (1 - tail) * (1 / TESTED + 1 / REFERENCE)),
    }


def launches(rng, center, counts, between, within):
    return [center * (1 + between * rng.normal()) * (1 + within * rng.normal(size=n)) for n in counts]


def main():
    rng = numpy.random.default_rng(20261120)
    cases = [
        case("even", launches(rng, 100, [20], 0, 0.002), launches(rng, 100.1, [20], 0, 0.002), rng),
        case("odd", launches(rng, 100, [15], 0, 0.01), launches(rng, 101, [21], 0, 0.02), rng),
        case("six", launches(rng, 100, [6], 0, 0.01), launches(rng, 100, [6], 0, 0.01), rng),
        case("two and three", launches(rng, 100, [2], 0, 0.01), launches(rng, 100, [3], 0, 0.01), rng),
        case("skewed with ties", [numpy.round(rng.lognormal(3, 0.5, 101))], [numpy.round(rng.lognormal(3.1, 0.5, 100))],
             rng),
        case("many", launches(rng, 100, [1000], 0, 0.05), launches(rng, 100.2, [999], 0, 0.05), rng),
        case("five launches", launches(rng, 100, [20] * 5, 0.002, 0.002), launches(rng, 100.2, [20] * 5, 0.002, 0.002),
             rng),
        case("uneven launches", launches(rng, 100, [3, 20, 7, 1], 0.005, 0.01),
             launches(rng, 101, [4, 9, 30, 12, 2, 6, 11], 0.005, 0.01), rng),
        case("two launches and one", launches(rng, 100, [9, 10], 0.01, 0.002), launches(rng, 100.5, [12], 0, 0.01),
             rng),
    ]
    json.dump({"numpy": numpy.__version__, "scipy": scipy.__version__, "resamples": REFERENCE, "cases": cases},
              sys.stdout)
    print()


if __name__ == "__main__":
    main()
