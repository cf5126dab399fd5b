#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Proves how often `cbank fleet` calls out without cause, and how well it finds what was planted, on made-up fleets.

usage: fleet_simulation.py --json FILE [--gpus 800] [--small]
       fleet_simulation.py --show FILE

The statistics are those of the command. The fleets have 24 cells of an H200, with the deviations between processes of the
committed calibration of 20 processes. Cells of a process share half of the variance. Boards differ by 1 %. Tails of the noise:

  resampled  differences of two processes of one plan, of an H200 and of an H100, over what was expected; both signs
  heavy      Student's t of three degrees of freedom

20 GPUs of a fleet have a step of 1.5 % in one path on the night before the last, or a drift of 3 % in 30 nights. In others a
driver makes every cell of all GPUs 1 % slower. --small: a few verdicts, as a test.
"""

import math
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import make_fleet
import trials
from cbank.fleet_statistics import LEVELS, Limits, find, judge

ROOT = make_fleet.ROOT
WINDOW, NODE, PLANTED, BOARD = 60, 8, 20, 0.01
SIZES = {"step": 0.015, "drift": 0.03, "driver": 0.01}
PROCESS_NS = 1.7  # the difference of hot cells between the processes of a pair
NORMAL = 1.959964
PAIRS = (("h200/core-matrix", "h200/second-process"), ("h100/core-matrix", "h100/second-process"))
# plant, nights, trials; of --small, too
PLAN = (("none", 101, 3, 12, 1), ("step", 60, 20, 20, 1), ("step", 14, 20, 14, 1), ("drift", 60, 20, 60, 1), ("driver", 60, 20, 20, 1))


def hot(name):
    """{cell: (time, standard error of its logarithm)} of a result."""
    times = {cell["identity"]: cell["time_ns"] for cell in make_fleet.read(f"results/{name}.json")["cells"] if cell["cache_state"] == "hot" and cell["time_ns"]}
    return {cell: (time["value"], math.log(time["ci_high"] / time["ci_low"]) / 2 / NORMAL) for cell, time in times.items() if time["ci_low"]}


def tails():
    """Differences of pairs of processes, of deviation 1 and symmetric."""
    values = []
    for pair in PAIRS:
        one, other = map(hot, pair)
        values += [math.log(other[key][0] / one[key][0]) / math.sqrt(2 * (PROCESS_NS / one[key][0]) ** 2 + one[key][1] ** 2 + other[key][1] ** 2)
                   for key in one.keys() & other.keys()]
    values = np.array(sorted(values))
    return np.concatenate([values, -values]) / np.sqrt((values ** 2).mean())


class Fleet:
    """A fleet of one trial: log_ns of shape [cells, GPUs, nights]."""

    def __init__(self, rng, gpus, nights, resampled):
        cells = make_fleet.known_cells()
        self.path = np.array([make_fleet.PATHS.index(cell["path"]) for cell, _, _ in cells])
        self.deviation = np.array([deviation for _, _, deviation in cells])
        shape = (len(cells), gpus, nights)

        def noise(shape):
            return rng.choice(resampled, shape) if resampled is not None else rng.standard_t(3, shape) / math.sqrt(3)

        boards = BOARD * (rng.normal(size=(1, gpus)) + rng.normal(size=shape[:2])) / math.sqrt(2)
        self.log_ns = boards[..., None] + self.deviation[:, None, None] * (noise((1, *shape[1:])) + noise(shape)) / math.sqrt(2)
        self.gpus, self.nights = gpus, nights

    def judge(self, nights):
        first = max(0, nights - WINDOW)
        one = np.zeros(self.gpus, dtype=int)
        groups = {"driver": one, "vbios": one, "node": np.arange(self.gpus) // NODE}
        cells = [(self.log_ns[cell, :, first:nights], (self.deviation[cell], 16)) for cell in range(len(self.path))]
        return find(judge(cells, self.gpus, groups, Limits()), groups)


def trial(rng, plant, gpus, nights, resampled):
    """Counts of one fleet."""
    fleet = Fleet(rng, gpus, nights, resampled)
    counts = dict.fromkeys(("verdicts", "planted", "found", "dated", "others"), 0)
    if plant == "none":
        return {**counts, "verdicts": nights - 1, "others": sum(len(fleet.judge(until)) for until in range(2, nights + 1))}
    since, stride = nights - (30 if plant == "drift" else 2), gpus // PLANTED
    growth = np.linspace(1 / (nights - since), 1, nights - since) if plant == "drift" else 1
    planted = set() if plant == "driver" else {stride * i for i in range(PLANTED)}
    if plant == "driver":
        fleet.log_ns[:, :, since:] += SIZES[plant]
    for gpu in planted:
        fleet.log_ns[fleet.path == rng.integers(3), gpu, since:] += SIZES[plant] * growth
    for finding in fleet.judge(nights):
        surest = finding.surest
        right = surest.change > 0 and (LEVELS[surest.level] == "model" if plant == "driver" else LEVELS[surest.level] == "gpu" and surest.group in planted)
        counts["found"] += right
        counts["dated"] += right and abs(surest.since - since) <= (plant != "driver")
        counts["others"] += not right
    return {**counts, "verdicts": 1, "planted": len(planted) or 1}


def options(parser):
    parser.add_argument("--gpus", type=int, default=800)
    parser.add_argument("--small", action="store_true")


def make(args, _rest):
    rows = []
    for plant, nights, times, small_nights, small_times in PLAN:
        for name, resampled in (("resampled", tails()), ("heavy", None)):
            row = {"plant": plant, "tails": name, "gpus": args.gpus, "nights": small_nights if args.small else nights,
                   "trials": small_times if args.small else times}
            rng = np.random.default_rng(len(rows) + 1)
            counts = [trial(rng, plant, args.gpus, row["nights"], resampled) for _ in range(row["trials"])]
            rows.append({**row, **{key: sum(of[key] for of in counts) for key in counts[0]}})
    return {"rows": rows}


def show(report):
    """A table in Markdown, of both kinds of noise together."""
    print("| planted | nights before | found | date right | other findings |\n|---|--:|--:|--:|--:|")
    names = {"none": "nothing", "step": "+1.5 %, a GPU", "drift": "+3 %, slowly", "driver": "+1 %, all"}
    for plant, nights in dict.fromkeys((row["plant"], row["nights"]) for row in report["rows"]):
        planted, found, dated, others, verdicts = (sum(row[key] for row in report["rows"] if (row["plant"], row["nights"]) == (plant, nights))
                                                   for key in ("planted", "found", "dated", "others", "verdicts"))
        past = "1 to 60" if plant == "none" else nights - (30 if plant == "drift" else 2)
        print(f"| {names[plant]} | {past} | {f'{found} of {planted}' if planted else '-'} |"
              f" {f'{dated} of {planted}' if planted and plant != 'drift' else '-'} | {others} in {verdicts} |")
    return True


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
