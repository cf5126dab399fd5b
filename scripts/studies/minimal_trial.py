#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Holds the times of examples/minimal/minimal.cu against those of cbank on one GPU.

Proves how far the plain measurement differs: docs/method.md says why.

usage: minimal_trial.py [--program build/cbank] [--minimal build/minimal] [--processes 5] --json
FILE [RUN OPTION...]
       minimal_trial.py --show FILE

`make all minimal` builds both programs. They take turns, so many processes each, at both sizes of
the default plan. Exits 1 when a ratio of the paths is on the other side of 1; 2 when a run fails.
"""

import os
import re
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

SIZES = ("12800000", "128000")
PATHS = ("constant", "global")
IDENTITY = "add/{path}/pseudo_random/{elements}/1024/hot"
LINE = re.compile(r"^(\w+) +([\d.]+) us a launch", re.MULTILINE)


def options(parser):
    parser.add_argument("--minimal", default="build/minimal")
    parser.add_argument("--processes", type=int, default=5)


def run_minimal(program, elements):
    """{path: nanoseconds} of one process."""
    said = trials.call(program, elements).stdout
    times = {path: 1e3 * float(us) for path, us in LINE.findall(said)}
    if set(times) != set(PATHS):
        trials.fail(f"{program} printed no times of {' and '.join(PATHS)}: {said}")
    return times


def make(arguments, rest):
    rows = [
        {"path": path, "elements": int(elements), "minimal_ns": [], "cbank_ns": []}
        for elements in SIZES
        for path in PATHS
    ]
    plan = ("--path", ",".join(PATHS), "--pattern", "pseudo_random", "--cache-state", "hot")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.processes):
            path = os.path.join(folder, f"{number}.json")
            by_size = {elements: run_minimal(arguments.minimal, elements) for elements in SIZES}
            sizes = ("--elements", ",".join(SIZES), "--counters", "none")
            trials.measure(arguments.program, path, *plan, *sizes, *rest)
            result, times = trials.read(path)
            for row in rows:
                identity = IDENTITY.format(**row)
                if identity not in times:
                    trials.fail(f"{path} has no time of {identity}")
                row["minimal_ns"].append(by_size[str(row["elements"])][row["path"]])
                row["cbank_ns"].append(times[identity]["value"])
    return {**trials.origin(result), "run_options": rest, "launches": rows}


def show(report):
    """Prints both times of each launch; returns whether both programs rank the paths alike."""
    rows = report["launches"]
    medians = {
        (row["path"], row["elements"], key): statistics.median(row[f"{key}_ns"])
        for row in rows
        for key in ("minimal", "cbank")
    }
    print(
        f"{report['device']['name']}: medians of {len(rows[0]['cbank_ns'])} processes each, in us"
    )
    print(f"{'path':<9} {'elements':>9} {'minimal':>9} {'cbank':>9} {'difference':>11}")
    for row in rows:
        launch = (row["path"], row["elements"])
        minimal, cbank = medians[(*launch, "minimal")], medians[(*launch, "cbank")]
        print(
            f"{row['path']:<9} {row['elements']:>9} {minimal / 1e3:>9.2f} {cbank / 1e3:>9.2f}"
            f" {minimal / cbank - 1:>+11.1%}"
        )
    alike = True
    for elements in map(int, SIZES):
        ratios = [
            medians["constant", elements, key] / medians["global", elements, key]
            for key in ("minimal", "cbank")
        ]
        alike &= (ratios[0] > 1) == (ratios[1] > 1)
        print(f"constant / global, {elements} elements: {ratios[0]:.2f} and {ratios[1]:.2f}")
    return alike


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
