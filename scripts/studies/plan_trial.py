#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Says how far the time of a cell depends on the rest of the plan, on this machine's GPU.

Proves the deviation between plans that compare adds where plans differ.

usage: plan_trial.py [--program build/cbank] [--processes 3] --json FILE [RUN OPTION...]
       plan_trial.py --show FILE

Plans that have cells in common (PLANS) are measured in turn, each by so many processes. Buffers of a plan lie where those
before them leave room, so that other plans have other places. For each cell that several plans have it prints the range
of the plans' medians, as a share of their median, and the widest range of a plan's own processes. Both are of times or of
cycles, whichever is less, since a GPU moves its clock by itself. Run options are added to each plan. Exits 1 when plans of a cell are further apart than BETWEEN; 2 when a run fails.
"""

import collections
import os
import statistics
import tempfile

import trials

BETWEEN = 0.005
SHOWN = 8
# Lookups that live of L1, of few warps, beside other data: kernels that have shared memory may leave them less of it.
SMALL_TABLE = ["--workload", "lookup", "--source", "uniform", "--table-bytes", "18272", "--width-bytes", "1",
               "--elements", "7579", "--block-size", "128", "--loads", "64", "--pressure-bytes", "1048576"]
PLANS = {
    "default": [],
    "short": ["--elements", "128000"],
    "loads from L2": ["--path", "global,readonly", "--pattern", "per_thread,pseudo_random", "--elements", "128000"],
    "sizes": ["--elements", "1280,12800,128000,1280000,12800000", "--path", "global,readonly,texture"],
    "patterns": ["--pattern", "per_block,per_warp,per_thread,pseudo_random,hashed,half_warp", "--elements", "128000"],
    "small table": [*SMALL_TABLE, "--path", "global,readonly"],
    "small table beside shared": [*SMALL_TABLE, "--path", "global,readonly,shared"],
}


def options(parser):
    parser.add_argument("--processes", type=int, default=3)


def make(arguments, rest):
    times, first = collections.defaultdict(lambda: collections.defaultdict(list)), None
    clocks = collections.defaultdict(lambda: collections.defaultdict(list))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.processes):
            for name, plan in PLANS.items():
                path = trials.measure(arguments.program, os.path.join(folder, f"{name}-{number}.json"), "--counters", "none",
                                      *plan, *rest)
                result, cells = trials.read(path)
                first = first or result
                for cell in result["cells"]:
                    if cell["identity"] in cells:
                        times[cell["identity"]][name].append(cell["time_ns"]["value"])
                        clocks[cell["identity"]][name].append(cell["sm_clock_mhz"])
    return {**trials.origin(first), "processes": arguments.processes, "run_options": rest, "plans": PLANS,
            "cells": [{"identity": identity, "times_ns": plans, "sm_clocks_mhz": clocks[identity]}
                      for identity, plans in times.items() if len(plans) > 1]}


def spread(values):
    return (max(values) - min(values)) / statistics.median(values)


def spreads(plans):
    """How far apart the medians of plans are, and how far the processes of one at most."""
    return spread([statistics.median(values) for values in plans.values()]), max(map(spread, plans.values()))


def unexplained(cell):
    """Those of times or of cycles, whichever is less."""
    times = cell["times_ns"]
    cycles = {name: [time * clock for time, clock in zip(times[name], clocks)]
              for name, clocks in cell["sm_clocks_mhz"].items()}
    return min(spreads(times), spreads(cycles))


def show(report):
    """Prints the cells whose plans are furthest apart; returns whether none is beyond BETWEEN."""
    rows = sorted(((*unexplained(cell), len(cell["times_ns"]), cell["identity"]) for cell in report["cells"]), reverse=True)
    beyond = sum(row[0] > BETWEEN for row in rows)
    print(f"{report['device']['name']}: {len(rows)} cells of {len(report['plans'])} plans, {report['processes']} processes each; "
          f"{beyond} with plans further apart than {BETWEEN:.1%}")
    for between, within, plans, identity in rows[:SHOWN]:
        print(f"  plans {between:.2%}, processes of one {within:.2%}, in {plans} plans: {identity}")
    return not beyond


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
