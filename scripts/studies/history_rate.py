#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Simulates how often `cbank history` lists a change where nothing changed, and which steps it
finds.

Checks that it lists one in no more histories than its error rate says, in docs/fleet.md. Makes the
table QUANTILES of scripts/cbank/self_normalized.py.

usage: history_rate.py --json FILE [--small]
       history_rate.py --show FILE
       history_rate.py --table FILE       prints QUANTILES

The table was chosen by seeds from 1 on: autoregressive noise, each night as the one before to 0.8,
normal or Student's t of three degrees of freedom (heavy), the larger quantile of both. Other seeds
and other noise check it: histories of one series and of 24, correlations of 0 to 0.8, and besides
those two tails

  laplace    double exponential
  skewed     exponential
  volatile   normal, times the exponential of such noise: some weeks are noisier
  spikes     normal, and one night in twenty is ten deviations slower

A history has no threshold here, so its scale does not matter. Steps of 1 % are put into one of 24
series, or into one of one, where nights do not correlate: in the middle, or anywhere with three
nights on either side. Deviations of a night: 0.06 % is what harness/compare/deviation.c has for
later nights of an H200, rounded up; 0.3 % is five times that. Found: a step of that series, dated
within one night. A step is false if it is of another series or three nights away or more. Held: the
interval of a step that was found holds 1 %. Exits 1 where the lower end of an interval of 95 % of a
rate of false histories is above the error rate.
"""

import itertools
import math
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials
from cbank import changes, self_normalized
from scipy.stats import beta

LENGTHS = (10, 12, 15, 19, 20, 30, 40, 60, 120, 240)
CORRELATION_MOST = 0.8
BEFORE = 30  # nights before the first one, so that they are as all others
CHOSEN, AT_ONCE = 1000000, 20000
CHECKED, STEPS = 2000, 400
CHECK_SEED = 1000001
CHECK_LENGTHS = (10, 13, 16, 20, 25, 30, 60)
CORRELATIONS = (0, 0.3, 0.6, 0.8)
TAILS = ("normal", "heavy", "laplace", "skewed", "volatile", "spikes")
MODEL = "NVIDIA H200"
CELL = "add/constant/per_warp/12800000/1024/hot"


def draw(rng, shape, tails):
    """Independent values of deviation 1 and mean 0."""
    if tails == "heavy":
        return rng.standard_t(3, shape) / math.sqrt(3)
    if tails == "laplace":
        return rng.laplace(size=shape) / math.sqrt(2)
    if tails == "skewed":
        return rng.exponential(size=shape) - 1
    return rng.normal(size=shape)


def correlated(values, correlation):
    """Rows of values, each as the one before to that degree."""
    for night in range(1, values.shape[1]):
        values[:, night] *= math.sqrt(1 - correlation**2)
        values[:, night] += correlation * values[:, night - 1]
    return values


def nights(rng, rows, length, correlation, tails):
    """Rows of values of histories."""
    shape = rows, BEFORE + length
    values = correlated(draw(rng, shape, tails), correlation)
    if tails == "volatile":
        values *= np.exp(correlated(rng.normal(size=shape), CORRELATION_MOST))
    if tails == "spikes":
        values += 10 * (rng.random(values.shape) < 0.05)
    return values[:, BEFORE:]


def quantiles(seed, length, tails):
    """Those of the statistic where nothing changed, at the highest correlation."""
    rng = np.random.default_rng(seed)
    found = np.concatenate(
        [
            self_normalized.statistic(nights(rng, AT_ONCE, length, CORRELATION_MOST, tails))[0]
            for _ in range(CHOSEN // AT_ONCE)
        ]
    )
    return np.quantile(found, 1 - np.array(self_normalized.TAILS)).tolist()


def steps_of(values):
    """The steps of a history, by the command's own function."""
    series = [changes.Series(CELL, 0, MODEL, row, [], False) for row in values]
    return changes.find_steps(series, 0)


def check(seed, length, series, correlation, tails, histories):
    rng = np.random.default_rng(seed)
    listed = sum(
        bool(steps_of(nights(rng, series, length, correlation, tails))) for _ in range(histories)
    )
    return {
        "runs": length,
        "series": series,
        "correlation": correlation,
        "tails": tails,
        "histories": histories,
        "listed": listed,
    }


def power(seed, length, series, deviation, tails, place, histories):
    rng = np.random.default_rng(seed)
    counts = dict.fromkeys(("found", "false", "held"), 0)
    for _ in range(histories):
        values = deviation * nights(rng, series, length, 0, tails)
        least = self_normalized.SIDE_LEAST
        at = length // 2 if place == "middle" else int(rng.integers(least, length - least + 1))
        values[0, at:] += math.log(1.01)
        steps = steps_of(values)
        right = [step for step in steps if step.series == 0 and abs(step.first - at) <= 1]
        counts["found"] += bool(right)
        counts["held"] += any(abs(step.change - math.log(1.01)) <= step.half for step in right)
        counts["false"] += any(step.series or abs(step.first - at) > 2 for step in steps)
    return {
        "runs": length,
        "series": series,
        "deviation": deviation,
        "tails": tails,
        "place": place,
        "histories": histories,
        **counts,
    }


def make(args, _rest):
    table = []
    if not args.small:
        cases = list(itertools.product(LENGTHS, ("normal", "heavy")))
        rows = trials.in_processes(quantiles, itertools.count(1), *zip(*cases))
        for index, length in enumerate(LENGTHS):
            largest = np.max(rows[2 * index : 2 * index + 2], axis=0)
            table.append([length, *(float(f"{value:.4g}") for value in largest)])
    share = 100 if args.small else 1
    falses = [
        (length, series, correlation, tails, CHECKED // share // (4 if series > 1 else 1))
        for length, series, correlation, tails in itertools.product(
            CHECK_LENGTHS, (1, 24), CORRELATIONS, TAILS
        )
    ]
    steps = [
        (*case, STEPS // share)
        for case in itertools.product(
            (10, 15, 20, 30, 60),
            (1, 24),
            (0.0006, 0.001, 0.003),
            ("normal", "heavy"),
            ("middle", "anywhere"),
        )
    ]
    seeds = itertools.count(CHECK_SEED)
    return {
        "quantiles": table,
        "checks": trials.in_processes(check, seeds, *zip(*falses)),
        "steps": trials.in_processes(power, seeds, *zip(*steps)),
    }


def ends(listed, histories):
    """The interval of 95 % of a rate (Clopper and Pearson 1934)."""
    low = beta.ppf(0.025, listed, histories - listed + 1) if listed else 0.0
    high = beta.ppf(0.975, listed + 1, histories - listed) if listed < histories else 1.0
    return float(low), float(high)


def summed(rows, key, **what):
    return sum(row[key] for row in rows if all(row[name] == value for name, value in what.items()))


def show_false(report):
    """A table of rates of false histories; whether none is above the error rate for certain."""
    rows, right = report["checks"], True
    lengths = sorted({row["runs"] for row in rows})
    print("| nights correlate by | " + " | ".join(f"{n} runs" for n in lengths) + " | worst case |")
    print("|--:|" + "--:|" * (len(lengths) + 1))
    for correlation in sorted({row["correlation"] for row in rows}):
        shown = []
        for length in lengths:
            of = {"runs": length, "correlation": correlation}
            listed, histories = (summed(rows, key, **of) for key in ("listed", "histories"))
            shown.append(
                f"{100 * listed / histories:.1f} (up to {100 * ends(listed, histories)[1]:.1f})"
            )
        own = [row for row in rows if row["correlation"] == correlation]
        worst = max(own, key=lambda row: row["listed"] / row["histories"])
        low, high = ends(worst["listed"], worst["histories"])
        right &= low <= changes.RATE
        shown.append(
            f"{100 * worst['listed'] / worst['histories']:.1f} (up to {100 * high:.1f}):"
            f" {worst['runs']} runs of {worst['series']} series, {worst['tails']}"
        )
        print(f"| {correlation:g} | " + " | ".join(shown) + " |")
    return right


def show(report):
    right = show_false(report)
    rows = report["steps"]
    cases = list(itertools.product((1, 24), sorted({row["deviation"] for row in rows})))
    print("\n| runs | " + " | ".join(f"{n} series, {100 * d:g} %" for n, d in cases) + " |")
    print("|--:|" + "--:|" * len(cases))
    for length in sorted({row["runs"] for row in rows}):
        shown = []
        for series, deviation in cases:
            found = []
            for place in ("middle", "anywhere"):
                of = {"runs": length, "series": series, "deviation": deviation, "place": place}
                counts = [summed(rows, key, **of) for key in ("found", "histories")]
                found.append(f"{100 * counts[0] / counts[1]:.0f}")
            shown.append(", ".join(found))
        print(f"| {length} | " + " | ".join(shown) + " |")
    return right


def options(parser):
    parser.add_argument("--small", action="store_true", help="as a test")
    parser.add_argument("--table", metavar="FILE", help="print QUANTILES by an earlier trial")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--table"]:
        for length, *numbers in trials.load(sys.argv[2])["quantiles"]:
            print(f"    {length}: ({', '.join(f'{number:g}' for number in numbers)}),")
        sys.exit(0)
    trials.main(__doc__, options, make, show)
