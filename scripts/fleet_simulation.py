#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Simulates how often cbank fleet calls out without cause, and how well it finds what was planted.

usage: fleet_simulation.py --json FILE [--trial build/tests/fleet/fleet_trial] [--gpus 800] [--small]
       fleet_simulation.py --show FILE

The statistics are those of the program (tests/fleet/fleet_trial.c calls them); the fleets are made up: 24 cells of an
H200, whose deviations between processes are those of the committed calibration of 20 processes (its range over 3.735).
Half of a variance is shared by all cells of a process. Boards differ by 1 %. Tails of the noise:

  resampled  what two processes of the same plan differed by, cell by cell, on an H200 and on an H100, over what was
             expected of them, with both signs; drawn from again and again
  heavy      Student's t of three degrees of freedom, the heaviest that the gate is tried with, too

Planted are a step of 1.5 % in one path of one GPU, on the night before the last; a drift of 3 % in 30 nights, likewise; a
driver that makes every cell of all GPUs 1 % slower. Of each, 20 GPUs of a fleet have one, but of the driver. With --small
a few verdicts on small fleets: a test.
"""

import json
import math
import os
import subprocess
import sys

import trials
import upgrade

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RANGE_OF_20 = 3.735  # mean of the range of 20 normal values of deviation 1
PROCESS_NS = 1.7  # what hot cells differed by as those pairs were timed
NORMAL = 1.959964
PATHS = ("constant", "global", "readonly")
PAIRS = (("h200/core-matrix", "h200/second-process"), ("h100/core-matrix", "h100/second-process"))
KEYS = ("plant", "tails", "gpus", "nights", "trials", "verdicts", "planted", "found", "dated", "others")
# plant, nights, trials; of --small, too
PLAN = (("none", 101, 3, 12, 1), ("step", 60, 20, 20, 1), ("step", 14, 20, 14, 1), ("drift", 60, 20, 60, 1), ("driver", 60, 20, 20, 1))


def read(path, program=None):
    return upgrade.read(os.path.join(ROOT, "results", path), program)


def deviations():
    """(deviation between processes, number of the path) of each cell."""
    return [(math.log1p(cell["noise"]) / RANGE_OF_20, PATHS.index(cell["path"]))
            for cell in read("h200/gate/calibration.json")["cells"]]


def hot(name, program):
    cells = {}
    for cell in read(f"{name}.json", program)["cells"]:
        time = cell["time_ns"]
        if cell["regime"] == "hot" and time and time["ci_low"]:
            within = math.log(time["ci_high"] / time["ci_low"]) / 2 / NORMAL
            cells[cell["path"], cell["pattern"], cell["elements"]] = (time["value"], within)
    return cells


def tails(program):
    """What pairs of processes differed by, of deviation 1 and symmetric."""
    values = []
    for pair in PAIRS:
        one, other = (hot(name, program) for name in pair)
        for key in one.keys() & other.keys():
            (a, within_a), (b, within_b) = one[key], other[key]
            expected = math.sqrt(2 * (PROCESS_NS / a) ** 2 + within_a ** 2 + within_b ** 2)
            values.append(math.log(b / a) / expected)
    scale = math.sqrt(sum(value ** 2 for value in values) / len(values))
    return sorted(sign * value / scale for value in values for sign in (-1, 1))


def simulate(args, small):
    cells = "".join(f"{deviation!r} {path}\n" for deviation, path in deviations())
    noise = {"resampled": cells + "\n" + "".join(f"{value!r}\n" for value in tails(args.program)),
             "heavy": cells + "\n"}
    rows = []
    for plant, nights, times, small_nights, small_times in PLAN:
        for name, text in noise.items():
            of = (plant, args.gpus, small_nights if small else nights, small_times if small else times)
            done = subprocess.run([args.trial, *map(str, of), str(len(rows) + 1)], input=text, text=True, check=True, capture_output=True)
            row = dict(zip(KEYS, (plant, name, *of[1:])))
            rows.append({**row, **json.loads(done.stdout)})
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def show(report):
    """A table in Markdown."""
    print("| planted | tails | GPUs | nights of past | verdicts | found | right within a night | other findings |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for row in report["rows"]:
        planted = row["planted"]
        found, dated = (f"{row['found']} of {planted}", f"{row['dated']} of {planted}") if planted else ("-", "-")
        names = {"none": "nothing", "step": "+1.5 % of a GPU", "drift": "+3 % in 30 nights", "driver": "+1 % of all"}
        past = "1 to 60" if row["plant"] == "none" else row["nights"] - 2 if row["plant"] != "drift" else row["nights"] - 30
        print(f"| {names[row['plant']]} | {row['tails']} | {row['gpus']} | {past} | {row['verdicts']} | {found} |"
              f" {'-' if row['plant'] == 'drift' else dated} | {row['others']} |")
    return True


def options(parser):
    parser.add_argument("--trial", default=os.path.join(ROOT, "build/tests/fleet/fleet_trial"))
    parser.add_argument("--gpus", type=int, default=800)
    parser.add_argument("--small", action="store_true")


if __name__ == "__main__":
    trials.main(__doc__, options, lambda arguments, _: {"rows": simulate(arguments, arguments.small)}, show)
