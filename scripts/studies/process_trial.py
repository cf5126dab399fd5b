#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Says how far processes of one plan on one GPU differ, and what that does to intervals and to the
gate.

Proves that intervals cover and that compare is silent where nothing changed, on a real GPU.

usage: process_trial.py [--program build/cbank] --json FILE RESULT...
       process_trial.py [--program build/cbank] --json FILE --run COUNT --folder FOLDER [RUN
       OPTION...] process_trial.py --show FILE

Results are of one plan, each of a process of its own, nothing changed between them. For each cell
it prints the range of its times as a share of their median, and the widest half of an interval.
Coverage says in how many processes the interval held that median. For every pair of processes it
says whether cbank compare, one process a side, fails, and how many cells it calls changed. Exits 1
when a figure is not what is asked for (LIMITS); 2 for files that are no results of one plan and
GPU.
"""

import itertools
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

# Figures that are asked for.
LIMITS = {
    "hot_range": 0.0015,
    "half_width": 0.005,
    "coverage_mean": 0.9,
    "coverage_worst": 0.75,
    "pairs_failed": 1 / 45,
    "cells_changed": 1 / 500,
}


def options(parser):
    parser.add_argument("--run", type=int, metavar="COUNT")
    parser.add_argument("--folder")


def describe_cell(identity, times):
    values = [time["value"] for time in times]
    middle = statistics.median(values)
    return {
        "identity": identity,
        "median_ns": middle,
        "range": (max(values) - min(values)) / middle,
        "coverage": sum(time["ci_low"] <= middle <= time["ci_high"] for time in times) / len(times),
        "half_width": max((time["ci_high"] - time["ci_low"]) / 2 / time["value"] for time in times),
    }


def make(arguments, rest):
    if bool(arguments.run) != bool(arguments.folder):
        trials.fail("--run and --folder go together")
    if arguments.run:
        os.makedirs(arguments.folder, exist_ok=True)
    paths = (
        [
            trials.measure(
                arguments.program,
                os.path.join(arguments.folder, f"process-{number:02}.json"),
                *rest,
            )
            for number in range(1, arguments.run + 1)
        ]
        if arguments.run
        else rest
    )
    read_all = [trials.read(path) for path in paths]
    if (
        len(paths) < 2
        or len({(result["device"]["uuid"], *times) for result, times in read_all}) != 1
    ):
        trials.fail("two results or more, of one GPU and the same cells, are needed")
    first, cells = read_all[0]
    return {
        **trials.origin(first),
        "processes": len(paths),
        "cells": [
            describe_cell(identity, [times[identity] for _, times in read_all])
            for identity in cells
        ],
        "pairs": [
            trials.compare(arguments.program, *pair) for pair in itertools.combinations(paths, 2)
        ],
    }


def figures(report):
    cells, pairs = report["cells"], report["pairs"]
    hot = [cell["range"] for cell in cells if "/hot" in cell["identity"]]
    return {
        "hot_range": max(hot, default=0),
        "half_width": max(cell["half_width"] for cell in cells),
        "coverage_mean": statistics.mean(cell["coverage"] for cell in cells),
        "coverage_worst": min(cell["coverage"] for cell in cells),
        "pairs_failed": sum(pair["failed"] for pair in pairs) / len(pairs),
        "cells_changed": sum(len(pair["changed"]) for pair in pairs)
        / sum(pair["cells"] for pair in pairs),
    }


def show(report):
    """Prints each figure with what is asked for; returns whether all are met."""
    found = figures(report)
    met = {
        name: found[name] >= limit if name.startswith("coverage") else found[name] <= limit
        for name, limit in LIMITS.items()
    }
    print(
        f"{report['device']['name']}: {report['processes']} processes, {len(report['cells'])} cells"
    )
    for name, limit in LIMITS.items():
        print(
            f"  {name:15} {100 * found[name]:7.2f} %   asked for {100 * limit:6.2f} %  "
            f" {'met' if met[name] else 'MISSED'}"
        )
    for cell in sorted(report["cells"], key=lambda cell: -cell["range"])[:5]:
        print(
            f"  range {100 * cell['range']:5.2f} %, covered {100 * cell['coverage']:3.0f} %:"
            f" {cell['identity']}"
        )
    return all(met.values())


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
