#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Tries cbank run --suite on this machine's GPU: how far processes differ, and what compare says of
them.

Proves on a real GPU that every kernel of the suite is verified in every memory space that fits.
Proves that compare is silent where nothing changed, and that it finds a slowdown that was planted.

usage: kernel_trial.py [--program build/cbank] [--processes 5] [--trials 20] [--slow global]
[--folder DIR] --json FILE
                       [RUN OPTION...]
       kernel_trial.py --show FILE

One process compiles and is not counted. The others calibrate: nothing else was measured of what
processes of a kernel differ by, and without that one process a side tells no change. Each pair of
them is compared. Then as many trials follow as --trials says. In each, a process measures the
kernels in one memory space alone, with 1.5 % of work added (cbank run --slow, a developer option).
It is compared with one that has no work added. --folder keeps the results, and does not measure
again what it has. Exits 1 when a figure is not what is asked for (LIMITS); without a trial there is
none of what was planted.

A change must show in times and in cycles. A process whose SM clock differs makes ranges of times
wide and comparisons inconclusive. So the report also has ranges of cycles, the SM clock of each
process, and what was said of planted cells that were not found.
"""

import contextlib
import itertools
import math
import operator
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials
from process_trial import describe_cell

SLOW_PERCENT = 1.5
# Figures that are asked for.
LIMITS = {
    "cells that were not verified": 0,
    "range of processes, median": 0.003,
    "range of processes, worst": 0.01,
    "cells changed by nothing": 0,
    "planted and not found": 0.05,
    "seconds of the suite": 60,
}


def options(parser):
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--slow", metavar="SPACE", default="global")
    parser.add_argument("--folder")


def wrong(result):
    """The cells of a result that are neither verified nor skipped, or with which something is
    wrong."""
    return {
        (
            cell["identity"],
            cell["status"],
            str(cell["reason"]),
            *cell.get("case", {}).get("findings", []),
        )
        for cell in result["cells"]
        if cell["status"] != "skipped"
        and (not cell["verified"] or cell["status"] != "ok" or cell["case"]["findings"])
    }


def seconds(result):
    return sum(phase["seconds"] for phase in result["phases"])


def describe(identity, results):
    """A cell over processes: its times, and the range of its cycles; null where a process has
    none."""
    cells = [
        next(cell for cell in result["cells"] if cell["identity"] == identity) for result in results
    ]
    cycles = [cell["cycles"] for cell in cells]
    return {
        **describe_cell(identity, [cell["time_ns"] for cell in cells]),
        "cycles_range": (
            None if None in cycles else (max(cycles) - min(cycles)) / statistics.median(cycles)
        ),
    }


def make(arguments, rest):
    program, count = arguments.program, arguments.trials
    with contextlib.ExitStack() as stack:
        folder = arguments.folder or stack.enter_context(tempfile.TemporaryDirectory())
        os.makedirs(folder, exist_ok=True)

        def measure(name, *more):
            path = os.path.join(folder, f"{name}.json")
            if os.path.exists(path):
                return path
            trials.call(
                program,
                "run",
                "--suite",
                "--quiet",
                *(rest or ["--counters", "none"]),
                *more,
                "--json",
                path,
                statuses=(0, 1, 4),
            )
            return path

        only = ["--space", arguments.slow]
        noise = os.path.join(folder, "calibration.json")
        compiled = measure("compiled")
        paths = [measure(f"process-{i}") for i in range(arguments.processes)]
        trials.call(program, "calibrate", ",".join(paths), "--json", noise)
        known = ["--calibration", noise]
        plain = [measure(f"plain-{i}", *only) for i in range(2)]
        slowed = [
            measure(f"slow-{i}", *only, "--slow", f"{arguments.slow}:{SLOW_PERCENT}")
            for i in range(count)
        ]
        read_all, (_, times) = [trials.read(path) for path in paths], trials.read(plain[0])
        first, cells = read_all[0]
        cells = [identity for identity in cells if all(identity in times for _, times in read_all)]
        results = [result for result, _ in read_all]
        clocks = [
            [cell["sm_clock_mhz"] for cell in result["cells"] if cell["sm_clock_mhz"]]
            for result in results
        ]
        return {
            **trials.origin(first),
            "trials": count,
            "compiling_seconds": seconds(trials.read(compiled)[0]),
            "sm_clocks_mhz": [statistics.median(each) if each else None for each in clocks],
            "seconds": list(map(seconds, results)),
            "planted": list(times),
            "wrong": sorted(set().union(*map(wrong, results))),
            "cells": [describe(identity, results) for identity in cells],
            "pairs": [
                trials.compare(program, *pair, *known) for pair in itertools.combinations(paths, 2)
            ],
            "slowed": [
                trials.compare(program, plain[i % 2], path, *known, planted=times)
                for i, path in enumerate(slowed)
            ],
        }


def figures(report):
    ranges, slowed, planted = (
        [cell["range"] for cell in report["cells"]],
        report["slowed"],
        report["planted"],
    )
    found = sum(f"{identity} regressed" in one["changed"] for one in slowed for identity in planted)
    values = {
        "cells that were not verified": len(report["wrong"]),
        "range of processes, median": statistics.median(ranges),
        "range of processes, worst": max(ranges),
        "cells changed by nothing": sum(len(pair["changed"]) for pair in report["pairs"]),
        "seconds of the suite": max(report["seconds"]),
    }
    if slowed:
        values["planted and not found"] = 1 - found / (len(slowed) * len(planted))
    return values


def apart_from_clocks(report):
    """Figures of what the SM clock did not change: (what it is, value) by the figure of LIMITS
    that it stands beside. The clock changes the time of one kernel and the cycles of another,
    which waits for memory: of the two ranges the smaller counts, as in compare. A value is NaN
    where the clock of the GPU is not known."""
    ranges = [
        math.nan if cell["cycles_range"] is None else min(cell["range"], cell["cycles_range"])
        for cell in report["cells"]
    ]
    equal = sum(one["clocks_equal"] for one in report["slowed"])
    missed = sum(cell["clock_ratio"] == 1 for one in report["slowed"] for cell in one["missed"])
    return {
        "range of processes, median": ("in time or cycles", statistics.median(ranges)),
        "range of processes, worst": ("in time or cycles", max(ranges)),
        "planted and not found": (
            f"of {equal} where clocks were equal",
            missed / equal if equal else math.nan,
        ),
    }


def show(report):
    """Prints each figure with what is asked for; returns whether all are met."""
    found = figures(report)
    kernels = {cell["identity"].split("/")[0] for cell in report["cells"]}
    print(
        f"{report['device']['name']}: {len(kernels)} kernels, {len(report['cells'])} cells,"
        f" {len(report['seconds'])} processes, {len(report['pairs'])} pairs; the process that"
        f" compiled took {report['compiling_seconds']:.0f} s"
    )
    for cell in sorted(report["cells"], key=lambda cell: -cell["range"])[:5]:
        print(f"  range {100 * cell['range']:5.2f} %: {cell['identity']}")
    clocks = [f"{clock:.0f}" if clock else "not known" for clock in report["sm_clocks_mhz"]]
    print(f"  SM clocks of the processes, MHz: {', '.join(clocks)}")
    missed = [cell for one in report["slowed"] for cell in one["missed"]]
    which = operator.itemgetter("identity", "verdict")
    for (identity, verdict), cells in itertools.groupby(sorted(missed, key=which), which):
        ratios, clocks = zip(
            *(
                (cell["ratio"]["value"] if cell["ratio"] else math.nan, cell["clock_ratio"])
                for cell in cells
            )
        )
        moved = (
            ""
            if min(clocks) == max(clocks) == 1
            else f", of clocks {min(clocks):.4f} to {max(clocks):.4f}"
        )
        print(
            f"  planted, {verdict}, {len(ratios)} of {report['trials']}: ratio {min(ratios):.4f} to"
            f" {max(ratios):.4f}{moved}: {identity}"
        )
    for words in report["wrong"]:
        print("  " + ", ".join(words))
    apart = apart_from_clocks(report)
    limits = {name: limit for name, limit in LIMITS.items() if name in found}
    for name, limit in limits.items():
        print(
            f"{name:30}{found[name]:10.4f}   asked for {limit:7.3f} at most  "
            f" {'met' if found[name] <= limit else 'MISSED'}"
            + (f"   {apart[name][0]}: {apart[name][1]:.4f}" if name in apart else "")
        )
    return all(found[name] <= limit for name, limit in limits.items())


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
