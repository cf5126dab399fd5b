#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Proves how often `cbank fleet` calls out without cause, and what it finds of what was planted, on
made-up fleets.

usage: fleet_power.py --json FILE [--small]
       fleet_power.py --show FILE

The statistics are those of the command. The fleets have 24 cells of an H200, with the deviations
between processes of a calibration of 20 processes. The statistics do not know it: they start from
the default, which is two to eight times less. Cells of a process share half of the variance. Boards
differ by 1 %. Tails of the noise:

  resampled  differences of two processes of one plan, of an H200 and of an H100, over what was
             expected; both signs
  heavy      Student's t of three degrees of freedom
  correlated the same, each round as the one before to 0.8; without a cause alone

Nothing is planted in 800 GPUs. In 8 GPUs, one has a step in all eight cells of one path in the last
night. In 800 GPUs, 20 have a drift of 3 % in 30 nights, or a driver makes every cell of all 1 %
slower. A step is found where a finding of that GPU and of no other says slower. The report also has
how far the cells of committed processes go together. --small: as a test.
"""

import functools
import glob
import itertools
import math
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import make_fleet
import trials
from cbank.changes import Cell
from cbank.fleet_groups import LEVELS, NO_KIND, Kinds, Limits, judge
from cbank.fleet_verdict import find

NODE, PLANTED, BOARD, DRIFT_NIGHTS = 8, 20, 0.01, 30
PROCESS_NS = 1.7  # the difference of hot cells between the processes of a pair
NORMAL = 1.959964
PAIRS = (("h200/core-matrix", "h200/second-process"), ("h100/core-matrix", "h100/second-process"))
SIZES, PASTS, RUNS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1), (1, 2, 3, 7, 30), (1, 2)
TAILS, CORRELATION = ("resampled", "heavy"), 0.8


def plan(small):
    """(what is planted, size, nights before, runs a night, GPUs, trials)."""
    many, few = (80, 8) if small else (800, 8)
    for past, runs in itertools.product((1, 7) if small else PASTS, RUNS):
        yield "none", 0, past, runs, many, 5 if small else 20
        for size in (0.03, 0.1) if small else SIZES:
            yield "step", size, past, runs, few, 5 if small else 50
    yield "drift", 0.03, 30, 1, many, 1 if small else 10
    yield "driver", 0.01, 7 if small else 58, 1, many, 1 if small else 10


def hot(name):
    """{cell: (time, standard error of its logarithm)} of a result."""
    times = {
        cell["identity"]: cell["time_ns"]
        for cell in make_fleet.read(f"results/{name}.json")["cells"]
        if cell["cache_state"] == "hot" and cell["time_ns"]
    }
    return {
        cell: (time["value"], math.log(time["ci_high"] / time["ci_low"]) / 2 / NORMAL)
        for cell, time in times.items()
        if time["ci_low"]
    }


@functools.cache
def tails():
    """Differences of pairs of processes, of deviation 1 and symmetric."""
    values = []
    for pair in PAIRS:
        one, other = map(hot, pair)
        values += [
            math.log(other[key][0] / one[key][0])
            / math.sqrt(2 * (PROCESS_NS / one[key][0]) ** 2 + one[key][1] ** 2 + other[key][1] ** 2)
            for key in one.keys() & other.keys()
        ]
    values = np.array(sorted(values))
    return np.concatenate([values, -values]) / np.sqrt((values**2).mean())


def together(chip):
    """How far the cells of committed processes go together: the mean correlation of two cells of
    one path, and of two paths; then the same of what is left beyond the median of the process's
    hot cells."""
    results = [
        make_fleet.read(os.path.relpath(path, trials.ROOT))["cells"]
        for path in sorted(
            glob.glob(os.path.join(trials.ROOT, f"results/{chip}/processes/process-*.json"))
        )
    ]
    logs = np.array(
        [
            [math.log(cell["time_ns"]["value"]) for cell in cells if cell["cache_state"] == "hot"]
            for cells in results
        ]
    )
    path = np.array([cell["path"] for cell in results[0] if cell["cache_state"] == "hot"])
    z = (logs - logs.mean(axis=0)) / logs.std(axis=0)
    same = path[:, None] == path
    pair = np.triu(np.ones_like(same), 1)
    of = [np.corrcoef(values.T) for values in (z, z - np.median(z, axis=1, keepdims=True))]
    return {
        "chip": chip,
        "processes": len(results),
        "correlations": [float(each[pair & kind].mean()) for each in of for kind in (same, ~same)],
    }


class Fleet:
    """A fleet of one trial: log_ns of shape [cells, GPUs, rounds]."""

    def __init__(self, rng, gpus, rounds, tail):
        cells = make_fleet.known_cells()
        self.path = np.array([make_fleet.PATHS.index(cell["path"]) for cell, _, _ in cells])
        self.cells = [(cell["identity"], math.log(ns)) for cell, ns, _ in cells]
        deviation = np.array([deviation for _, _, deviation in cells])
        shape = (len(cells), gpus, rounds)

        def draw(shape):
            if tail == "resampled":
                return rng.choice(tails(), shape)
            values = rng.standard_t(3, shape) / math.sqrt(3)
            for night in range(1, shape[-1] if tail == "correlated" else 0):
                values[..., night] *= math.sqrt(1 - CORRELATION**2)
                values[..., night] += CORRELATION * values[..., night - 1]
            return values

        boards = BOARD * (rng.normal(size=(1, gpus)) + rng.normal(size=shape[:2])) / math.sqrt(2)
        self.log_ns = boards[..., None] + deviation[:, None, None] * (
            draw((1, *shape[1:])) + draw(shape)
        ) / math.sqrt(2)

    def judge(self, runs):
        gpus = self.log_ns.shape[1]
        groups = {
            "driver": np.zeros(gpus, dtype=int),
            "vbios": np.zeros(gpus, dtype=int),
            "node": np.arange(gpus) // NODE,
        }
        cells = [
            Cell(identity, log_ns + usual)
            for (identity, usual), log_ns in zip(self.cells, self.log_ns)
        ]
        firsts = np.arange(0, self.log_ns.shape[2], runs)
        kinds = Kinds(np.full(gpus, NO_KIND), np.zeros(gpus, dtype=bool), "NVIDIA H200")
        return find(judge(cells, gpus, groups, Limits(), firsts=firsts, kinds=kinds), groups)


def trial(rng, plant, size, past, runs, gpus, tail):
    """Counts of one fleet: of verdicts; of what was planted, found and dated right, its cells
    that were named; of other findings."""
    late = DRIFT_NIGHTS if plant == "drift" else 2 if plant == "driver" else 1
    fleet = Fleet(rng, gpus, (past + late) * runs, tail)
    since, cells = past * runs, slice(None)
    planted = {
        "none": [],
        "driver": [None],
        "step": [int(rng.integers(gpus))],
        "drift": range(0, gpus, max(gpus // PLANTED, 1)),
    }[plant]
    growth = np.linspace(1 / late, 1, late) if plant == "drift" else 1
    for gpu in planted:
        cells = slice(None) if plant == "driver" else np.flatnonzero(fleet.path == rng.integers(3))
        fleet.log_ns[cells, slice(None) if gpu is None else gpu, since:] += (
            math.log1p(size) * growth
        )
    counts = dict.fromkeys(("found", "dated", "named", "others"), 0)
    for finding in fleet.judge(runs):
        surest = finding.surest
        of = (
            None
            if LEVELS[surest.level] == "model"
            else surest.group
            if LEVELS[surest.level] == "gpu"
            else -1
        )
        right = surest.change > 0 and of in planted
        counts["found"] += right
        counts["dated"] += right and abs(surest.since - since) <= (plant != "driver")
        counts["named"] += len(finding.changes) if right else 0
        counts["others"] += not right
    return {"verdicts": 1, "planted": len(planted), **counts}


def options(parser):
    parser.add_argument("--small", action="store_true")


def row(number, plant, size, past, runs, gpus, times, tail):
    """The findings in so many fleets. Their random numbers follow from the row's number."""
    rng = np.random.default_rng(number)
    counts = [trial(rng, plant, size, past, runs, gpus, tail) for _ in range(times)]
    return {
        "plant": plant,
        "size": size,
        "past": past,
        "runs": runs,
        "tails": tail,
        "gpus": gpus,
        **{key: sum(of[key] for of in counts) for key in counts[0]},
    }


def make(args, _rest):
    of = [(*fleet, tail) for fleet in plan(args.small) for tail in TAILS]
    of += [(*fleet, "correlated") for fleet in plan(args.small) if fleet[0] == "none"]
    return {
        "together": [together(chip) for chip in ("h200", "h100")],
        "rows": trials.in_processes(row, itertools.count(1), *zip(*of)),
    }


def summed(report, key, **what):
    """The sum of a count over rows."""
    return sum(
        row[key]
        for row in report["rows"]
        if all(row[name] == value for name, value in what.items())
    )


def show(report):
    """A table in Markdown, of both kinds of noise together: how many of 100 were found, with
    each number of runs a night."""
    sizes, pasts, runs = (
        sorted({row[key] for row in report["rows"] if row["plant"] == "step"})
        for key in ("size", "past", "runs")
    )
    print(
        "| nights before | "
        + " | ".join(f"+{100 * size:g} %" for size in sizes)
        + " | no cause | no cause, alike |\n|--:|"
        + "--:|" * (len(sizes) + 2)
    )
    for past in pasts:
        found = [
            ", ".join(
                f"{100 * summed(report, 'found', **of) / summed(report, 'planted', **of):.0f}"
                for of in (
                    {"plant": "step", "size": size, "past": past, "runs": each} for each in runs
                )
            )
            for size in sizes
        ]
        for tails_of in (TAILS, ("correlated",)):
            others, verdicts = (
                sum(summed(report, key, plant="none", past=past, tails=tail) for tail in tails_of)
                for key in ("others", "verdicts")
            )
            found.append(f"{others} in {verdicts}")
        print(f"| {past} | " + " | ".join(found) + " |")
    return True


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
