#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Proves that two builds of cbank measure the same on this GPU: code that was moved must not move a time.

usage: two_builds.py --json FILE [--processes N] OLD NEW [RUN_OPTION...]

OLD and NEW are programs. Their processes alternate, in an order that swaps each round, and run the same plan. The i-th
cell of one is compared with the i-th cell of the other, so that names of keys may differ between the builds. A time is
the median over processes of time_ns.median. Exit status: 0, or 1 if a cell fails. A cell fails if it differs by more
than 0.3 % and by more than the processes of one build. It also fails if it is not verified, or if an exact counter
differs between the builds.
"""

import argparse
import json
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

TOLERANCE = 0.003  # twice the largest spread of processes that was measured on an H100


def run(program, options):
    done = trials.call(program, "run", "--engine", "cuda", "--quiet", "--json", "-", *options, statuses=(0, 4))
    return [cell for cell in json.loads(done.stdout)["cells"] if cell["status"] == "ok"]


def exact(cell):
    return {name: counter["value"] for name, counter in cell["counters"].items() if counter["kind"] == "exact"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0], allow_abbrev=False)
    parser.add_argument("--json", required=True, help="file to write")
    parser.add_argument("--processes", type=int, default=6, help="of each build")
    parser.add_argument("old")
    parser.add_argument("new")
    arguments, options = parser.parse_known_args()
    builds = {"old": arguments.old, "new": arguments.new}
    runs = {"old": [], "new": []}
    for i in range(arguments.processes):
        for side in sorted(builds, reverse=i % 2 == 1):
            runs[side].append(run(builds[side], options))
    rows, bad = [], 0
    for i, cell in enumerate(runs["new"][0]):
        times = {side: [cells[i]["time_ns"]["median"] for cells in runs[side]] for side in runs}
        ratio = statistics.median(times["new"]) / statistics.median(times["old"])
        same_counts = exact(cell) == exact(runs["old"][0][i])
        verified = all(cells[i]["verified"] is True for side in runs for cells in runs[side])
        spread = {side: (max(values) - min(values)) / statistics.median(values) for side, values in times.items()}
        wrong = abs(ratio - 1) > max(TOLERANCE, *spread.values()) or not same_counts or not verified
        bad += wrong
        rows.append({"cell": cell.get("identity") or "/".join(str(cell[key]) for key in ("workload", "path", "pattern")),
                     "elements": cell["elements"], "ratio": ratio, "same_exact_counters": same_counts,
                     "verified": verified, "differs": wrong, "spread": spread, "time_ns": times})
    with open(arguments.json, "w", encoding="utf-8") as file:
        json.dump({"builds": builds, "options": options, "cells": rows}, file, indent=1)
    for row in rows:
        print(f"{row['cell']:50} {row['ratio']:.5f}  old {row['spread']['old']:.2%}  new {row['spread']['new']:.2%}"
              f"  {'counters equal' if row['same_exact_counters'] else 'COUNTERS DIFFER'}"
              f"{'  DIFFERS' if row['differs'] else ''}")
    print(f"{len(rows)} cells, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
